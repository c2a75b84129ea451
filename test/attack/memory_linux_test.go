package attack

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

var (
	attackWith = flag.Int("attack-with", 800, "how many hostile messages the server's memory is attacked with, a hundred a second")
	attackBy   = flag.String("attack-by", "", "only by attackers whose names contain this")
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
	if testing.Short() {
		t.Skip("the race detector takes more memory than what is measured; make test does it")
	}
	w := newWorld(t, "")
	data := w.printed(4 * mib)
	before := resident(t, w.server.PID())
	attackers := w.attackers(data)
	done := make(chan struct{})
	go func() { attack(attackers, *attackWith); close(done) }()
	w.works()
	<-done
	w.works()
	peak := resident(t, w.server.PID())
	t.Logf("%d hostile messages: at most %d MB resident, %d MB before", *attackWith, peak/mib, before/mib)
	if peak > maxResident {
		t.Errorf("the server held %d MB, want at most %d", peak/mib, maxResident/mib)
	}
}

// attacker sends its next message; n counts them.
type attacker struct {
	name string
	send func(n int)
}

// attack lets all attackers take turns, until they have sent so many messages.
func attack(all []attacker, messages int) {
	tick := time.NewTicker(time.Second / hostileRate)
	defer tick.Stop()
	var sending sync.WaitGroup
	slots := make(chan struct{}, 16) // so that a slow one does not slow the others
	for n := range messages {
		<-tick.C
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			all[n%len(all)].send(n / len(all))
		})
	}
	sending.Wait()
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
	for _, size := range []int{15 * mib, 4*mib - 1024} { // what was allowed, and is
		name := fmt.Sprintf("proper%d", size)
		proper := agent(name)
		whole := squeezed(resultOf(name, size, true))
		add("the largest result", func(int) { tell(proper, "result", whole) })
	}
	parts := agent("parts")
	add("parts that never complete", func(n int) { tell(parts, "part", body(part(byte(n%200), n%300, 512, noise[:mib]))) })
	callParts := client("callparts")
	add("parts of calls", func(n int) { tell(callParts, "part", body(part(byte(n%7), n%500, 512, noise[:mib]))) })
	for name, text := range map[string][]byte{
		"inpartstext":   resultOf("inpartstext", 23*mib, false),
		"inpartsvalues": resultOf("inpartsvalues", 9*mib-4096, true),
	} {
		inParts := agent(name)
		pieces := slices.Collect(slices.Chunk(text, mib))
		add("large results in parts", func(n int) {
			i, id := n%(len(pieces)+1), byte(n/(len(pieces)+1))
			if i < len(pieces) {
				tell(inParts, "part", squeezed(part(id, i, len(pieces), pieces[i])))
				return
			}
			frame := append([]byte{packedRaw, frameParts, id}, make([]byte, 15)...)
			tell(inParts, "result", binary.BigEndian.AppendUint32(frame, uint32(len(pieces))))
		})
	}
	small := agent("small")
	labels := squeezed([]byte(`{"session":"s","node":{"id":"small","labels":{"a":"` + strings.Repeat("x", 60<<10) + `"}}}`))
	disks := squeezed([]byte(`{"session":"s","node":{"id":"small","facts":{"disks":[` + strings.Repeat("{},", 20<<10) + `{}]}}}`))
	name := strings.Repeat("m", 60<<10)
	liar := agent("liar")
	texts := resultOf("liar", 1000, true)
	texts = bytes.Replace(texts, []byte(`"outcome"`), []byte(`"samples":[{"metric":"`+strings.Repeat("m", mib)+`","unit":"op/s"}],"outcome"`), 1)
	add("results with long names", func(int) { tell(liar, "result", squeezed(texts)) })
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
	for _, size := range []int{15 * mib, 4*mib - 1024} {
		caller := client(fmt.Sprintf("caller%d", size))
		largest := squeezed(call("submit", map[string]any{"id": "01J0000000000000000000TEST", "kind": "experiment", "text": strings.Repeat("- ", (size-1024)/2)}))
		add("the largest call", func(int) { tell(caller, "call", largest) })
	}
	templates := client("templates")
	bombers := make([][]byte, len(templateBombs))
	for i, text := range templateBombs {
		bombers[i] = body(call("submit",
			map[string]any{"id": fmt.Sprintf("01J000000000000000000TEM%02d", i), "kind": "experiment",
				"text": withTemplate(text)}))
	}
	add("files whose templates have no end", func(n int) { tell(templates, "call", bombers[n%len(bombers)]) })
	kinds := client("kinds")
	add("runs of no kind", func(int) {
		tell(kinds, "call", body(call("submit",
			map[string]any{"id": "01J0000000000000000000KIND", "kind": "zzz\x1b[31m", "text": "a"})))
	})
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

// templateBombs are templates of 30 to 70 bytes that would take the server's memory, or a
// core for ever.
var templateBombs = []string{
	`{{$x := "aaaa"}}{{range 29}}{{$x = printf "%s%s" $x $x}}{{end}}`,
	`{{range 9000000000000000000}}{{end}}`,
	`{{define "a"}}{{template "a" .}}{{template "a" .}}{{end}}{{template "a" .}}`,
	`{{range 1000000}}{{printf "%999999d" 1}}{{end}}`,
}

// withTemplate is an experiment with a service that has a file made from a template.
func withTemplate(text string) string {
	return fmt.Sprintf(`
name: template
fleet: {agents: {count: 1}}
services: [{name: web, on: {count: 1}, command: "true", files: [{path: a, template: %q}]}]
workloads: [{kind: cpu, duration: 1s}]
`, text)
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
