package attack

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

var (
	attackFor = flag.Duration("attack-for", 8*time.Second, "how long the server's memory is attacked")
	attackBy  = flag.String("attack-by", "", "only by attackers whose names contain this")
)

const (
	mib = 1 << 20
	// maxResident is what the server may hold in memory meanwhile, in bytes.
	maxResident = 200 * mib
	// hostileRate is how many messages a second the attackers send together.
	hostileRate = 100
)

// TestMemory: with a hundred hostile messages a second, of every kind that
// holders of keys can make, the server stays below 200 MB, and serves.
func TestMemory(t *testing.T) {
	w := newWorld(t, "")
	data := w.printed(4 * mib)
	before := resident(t, w.server.PID())
	attackers := w.attackers(data)
	ctx, cancel := context.WithTimeout(t.Context(), *attackFor)
	defer cancel()
	done := make(chan int64)
	go func() { done <- attack(ctx, attackers) }()
	w.works()
	sent := <-done
	w.works()
	peak := resident(t, w.server.PID())
	t.Logf("%d hostile messages in %v: at most %d MB resident, %d MB before", sent, *attackFor, peak/mib, before/mib)
	if want := int64(attackFor.Seconds() * hostileRate / 2); sent < want {
		t.Errorf("sent %d hostile messages, want at least %d", sent, want)
	}
	if peak > maxResident {
		t.Errorf("the server held %d MB, want at most %d", peak/mib, maxResident/mib)
	}
}

// attacker sends its next message; n counts them.
type attacker struct {
	name string
	send func(n int)
}

// attack lets all attackers take turns until ctx ends, and returns how many
// messages they sent.
func attack(ctx context.Context, all []attacker) int64 {
	var sent atomic.Int64
	tick := time.NewTicker(time.Second / hostileRate)
	defer tick.Stop()
	slots := make(chan struct{}, 16) // so that a slow one does not slow the others
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			for range cap(slots) {
				slots <- struct{}{}
			}
			return sent.Load()
		case <-tick.C:
		}
		slots <- struct{}{}
		a := all[n%len(all)]
		go func() {
			defer func() { <-slots }()
			a.send(n / len(all))
			sent.Add(1)
		}()
	}
}

// attackers are those that break the form, who are soon cut, and those that
// keep to it and ask for as much as it allows, each with a key of its own.
func (w *world) attackers(artifact []byte) []attacker {
	w.t.Helper()
	var out []attacker
	add := func(name string, send func(n int)) {
		if strings.Contains(name, *attackBy) {
			out = append(out, attacker{name, send})
		}
	}
	agent := func(name string) *holder { return w.joined(name, identity.RoleAgent) }
	client := func(name string) *holder { return w.joined(name, identity.RoleClient) }
	tell := func(h *holder, kind string, packed []byte) {
		data, err := h.sealed(kind, packed)
		if err == nil {
			_ = h.nc.PublishRequest(h.own(kind), h.inbox()+".x", data) // it may have been cut
		}
	}
	noise := make([]byte, 7*mib)
	rand.Read(noise)

	bombs := agent("bombs")
	add("bombs", func(n int) { tell(bombs, []string{"hello", "result", "heartbeat", "part"}[n%4], bomb()) })
	raw := agent("raw")
	add("largest payload", func(int) { tell(raw, "result", body(noise)) })
	many := squeezed([]byte(`{"samples":[` + strings.Repeat(`{},`, 5*mib) + `{}]}`))
	amplified := agent("amplified")
	add("a result of many samples", func(int) { tell(amplified, "result", many) })
	honestly := agent("honestly")
	whole := squeezed(must[[]byte](w.t)(json.Marshal(largeResult("honestly", 15*mib))))
	add("the largest result", func(int) { tell(honestly, "result", whole) })
	parts := agent("parts")
	add("parts that never complete", func(n int) { tell(parts, "part", body(part(byte(n%200), n%300, 512, noise[:mib]))) })
	callParts := client("callparts")
	add("parts of calls", func(n int) { tell(callParts, "part", body(part(byte(n%7), n%500, 512, noise[:mib]))) })
	inParts := agent("inparts")
	add("large results in parts", func(n int) {
		const count = 30
		i, id := n%(count+1), byte(n/(count+1))
		if i < count {
			tell(inParts, "part", body(part(id, i, count, noise[:mib])))
			return
		}
		tell(inParts, "result", append([]byte{packedRaw, frameParts, id}, append(make([]byte, 15), 0, 0, 0, count)...))
	})
	small := agent("small")
	labels := squeezed([]byte(`{"session":"s","node":{"id":"small","labels":{"a":"` + strings.Repeat("x", 60<<10) + `"}}}`))
	disks := squeezed([]byte(`{"session":"s","node":{"id":"small","facts":{"disks":[` + strings.Repeat("{},", 20<<10) + `{}]}}}`))
	name := strings.Repeat("m", 60<<10)
	progress := body(must[[]byte](w.t)(json.Marshal(wire.Progress{Attempt: wire.Attempt{Task: "t", Attempt: 1}, Node: "small", Progress: model.Progress{Metric: name}})))
	report := body(must[[]byte](w.t)(json.Marshal(wire.Report{Node: "small", Event: model.Event{Kind: model.EventTaskRefused, Text: name}})))
	add("small messages", func(n int) {
		switch n % 4 {
		case 0:
			tell(small, "hello", labels)
		case 1:
			tell(small, "hello", disks)
		case 2:
			tell(small, "progress", progress)
		case 3:
			tell(small, "report", report)
		}
	})
	fetcher := client("fetcher")
	add("replies never fetched", func(int) { tell(fetcher, "call", body(artifact)) })
	deafClient := client("deaf")
	ears := newDeaf()
	never := deafClient.connect(nats.SetCustomDialer(ears))
	for range 200 {
		must[*nats.Subscription](w.t)(never.SubscribeSync(w.root() + ".e.*"))
	}
	must[*nats.Subscription](w.t)(never.SubscribeSync(deafClient.inbox() + ".>"))
	check(w.t, never.Flush())
	ears.begin()
	deafClient.nc = never
	add("watches and replies never read", func(n int) {
		if n%10 == 0 {
			tell(deafClient, "watch", body(nil))
		}
		tell(deafClient, "call", body(call("data", "latest")))
	})
	text := client("text")
	largest := squeezed(call("submit", map[string]any{"text": strings.Repeat("- ", 7*mib)}))
	add("the largest call", func(int) { tell(text, "call", largest) })
	unread := client("unread")
	add("answers of hundreds of calls", func(int) { tell(unread, "call", body(call("page", "latest"))) })
	clock := agent("clock")
	add("clock questions", func(n int) {
		_ = clock.nc.PublishRequest(clock.own("clock"), clock.inbox()+".x", noise[:7*mib>>(n%8)])
	})
	tok := must[identity.Token](w.t)(identity.ParseToken(w.token()))
	tk := must[*identity.Key](w.t)(tok.Key())
	join := w.holder("join", identity.RoleAgent, tk)
	add("joins", func(n int) {
		_ = join.nc.PublishRequest(w.root()+".j", join.inbox()+".x", noise[:7*mib>>(n%8)])
	})
	begun := agent("begun")
	add("messages begun and never ended", func(int) { begun.beginMessage() })
	return out
}

// largeResult is a proper result of about this many bytes, of a task that the
// server does not know.
func largeResult(node string, size int) model.Result {
	run := model.RunID("01J0000000000000000000TEST")
	r := model.Result{Run: run, Step: model.NewStepID(run, 0), Task: model.NewTaskID(model.NewStepID(run, 0), 0), Attempt: 1,
		Node: model.NodeID(node), Outcome: model.OutcomeOK}
	for range size / 2 / 4 {
		r.Stdout.Text += ""
	}
	s := model.Series{Metric: "m", Unit: "op", Offsets: make([]int64, size/4), Values: make([]float64, size/4)}
	r.Series = []model.Series{s}
	return r
}

// beginMessage says on a new connection that a message of 8 MB comes, and sends
// none of it.
func (h *holder) beginMessage() {
	var conn net.Conn
	nc, err := h.dial(nats.NoReconnect(), nats.SetCustomDialer(dialer(func(c net.Conn) { conn = c })))
	if err != nil {
		return // refused: so be it
	}
	h.t.Cleanup(nc.Close)
	_, _ = fmt.Fprintf(conn, "PUB %s %d\r\n%s", h.own("result"), 8<<20, bytes.Repeat([]byte("x"), 8<<10)) // it may have been cut
}

type dialer func(net.Conn)

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, wait)
	d(c)
	return c, err
}

// printed runs a command that prints this many bytes, and returns the call that
// asks for them.
func (w *world) printed(size int) []byte {
	w.t.Helper()
	file := filepath.Join(w.dir, "printed.yaml")
	check(w.t, os.WriteFile(file, fmt.Appendf(nil, `
name: printed
fleet: {agents: {count: 1}}
workloads:
  - {kind: command, command: 'head -c %d /dev/urandom | base64 | head -c %d >&2; echo 1', timeout: 20s, metrics: [{name: rate, unit: op/s, better: higher, number: true}]}
trials: 1
`, size, size), 0o600))
	w.run("run", file)
	var d model.RunData
	check(w.t, json.Unmarshal([]byte(w.run("export", "latest")), &d))
	r := d.Results[0]
	if r.Stderr.Artifact == "" {
		w.t.Fatalf("no artifact: %+v", r.Stderr)
	}
	return call("artifact", map[string]any{"task": r.Task, "attempt": r.Attempt, "name": r.Stderr.Artifact})
}

// resident is the most that a process has held in memory, in bytes.
func resident(t testing.TB, pid int) int64 {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	return must[int64](t)(strconv.ParseInt(fields[0], 10, 64)) << 10
}
