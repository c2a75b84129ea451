package attack

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/queuetest"
)

// hostile are subjects on which no holder may write, nor the server for it.
func (w *world) hostile(victim string) []string {
	r := w.root()
	out := []string{
		r + ".t.honest", r + ".o.honest", r + ".e.fleet", r + ".e.01J0000000000000000000TEST", r + ".x",
		r + ".i." + victim + ".x", r + ".i." + w.key + ".x", r + ".c." + victim + ".call", r + ".c." + victim + ".watch",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ", "_INBOX.x", "anything",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
	}
	kinds := "hello heartbeat ready result chunk progress report goodbye part fetch clock jobs"
	for kind := range strings.FieldsSeq(kinds) {
		out = append(out, r+".a.honest."+kind)
	}
	for _, s := range []string{"users", "SB_" + w.key[2:18]} {
		for _, f := range []string{"$JS.API.STREAM.CREATE.%s", "$JS.API.STREAM.DELETE.%s", "$JS.API.STREAM.PURGE.%s", "$JS.API.STREAM.MSG.GET.%s",
			"$JS.API.STREAM.MSG.DELETE.%s", "$JS.API.DIRECT.GET.%s", "$JS.API.CONSUMER.CREATE.%s", "$JS.API.CONSUMER.MSG.NEXT.%s.mine", "$JS.ACK.%s.mine.1.1.1.1.1", "$KV.%s.x", "$O.%s.x"} {
			out = append(out, fmt.Sprintf(f, s))
		}
	}
	return out
}

// requests are proper requests of a holder's, by kind.
func (h *holder) requests() map[string][]byte {
	js := func(v any) []byte { return body(must[[]byte](h.t)(json.Marshal(v))) }
	p := body(part(1, 0, 1, []byte("x")))
	if h.role == identity.RoleClient {
		return map[string][]byte{"call": body(call("runs", map[string]any{})), "part": p, "fetch": p, "watch": body(nil)}
	}
	node, at := model.NodeID(h.name), wire.Attempt{Task: "01J0000000000000000000TEST/0000/0000", Attempt: 1}
	jobs := wire.JobCall{Attempt: at, Node: node, Number: 1, Data: []byte("{}")}
	return map[string][]byte{
		"hello": js(wire.Hello{Node: model.Node{ID: node}, Session: "s"}), "heartbeat": js(wire.Heartbeat{Node: node, Session: "s"}),
		"ready": js(wire.Ready{Node: node, Attempt: at}), "result": body(resultOf(h.name, 1000, true)),
		"chunk":    body(must[[]byte](h.t)(wire.EncodeChunk(wire.Chunk{Attempt: at, Node: node, Name: "n"}))),
		"progress": js(wire.Progress{Node: node, Attempt: at}), "report": js(wire.Report{Node: node}),
		"goodbye": js(wire.Goodbye{Node: node, Session: "s"}), "part": p, "fetch": p,
		"jobs": body(must[[]byte](h.t)(wire.EncodeJobCall(jobs))),
	}
}

// seen counts what stands on subjects, without what the attackers put there.
func seen(tap *queuetest.Tap, ownData map[string]bool) map[string]int {
	out := make(map[string]int)
	for _, m := range tap.Messages() {
		if !ownData[string(m.Data)] {
			out[m.Subject]++
		}
	}
	return out
}

// TestHoldersOfKeys: with an agent's key, a client's, a token's, and with
// revoked ones, no subject but the holder's own is reached on the embedded
// queue, neither directly nor as the reply subject of a request; and the server
// works on and says what it refused.
func TestHoldersOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	victim := must[*identity.Key](t)(identity.LoadOrCreate(filepath.Join(w.dir, "data", "client.nk"), identity.RoleClient)).Public()
	master := must[*identity.Key](t)(identity.LoadOrCreate(filepath.Join(w.dir, "data", "server.nk"), identity.RoleServer))
	// The server's own key reads all that stands on the server's subjects.
	observer := must[*nats.Conn](t)(nats.Connect("nats://"+w.listen, nats.Nkey(master.Public(), master.Sign)))
	tap := queuetest.On(t, observer).Capture(w.root() + ".>")

	tok := must[identity.Token](t)(identity.ParseToken(w.token()))
	joiner := w.holder("token", identity.RoleAgent, must[*identity.Key](t)(tok.Key()))
	for _, h := range []*holder{w.joined("agent", identity.RoleAgent), w.joined("client", identity.RoleClient), joiner} {
		for _, subject := range w.hostile(victim) {
			check(t, h.nc.Publish(subject, []byte("x")))
			if !forbidden(t, h.nc, "Publish", subject) {
				t.Errorf("%s may publish on %s", h.name, subject)
			}
			if strings.HasPrefix(subject, w.root()+".e.") && h.role == identity.RoleClient {
				continue // clients hear events
			}
			if _, err := h.nc.SubscribeSync(subject); err != nil || !forbidden(t, h.nc, "Subscription", subject) {
				t.Errorf("%s may subscribe to %s: %v", h.name, subject, err)
			}
		}
		for _, subject := range []string{">", "*", w.root() + ".>", w.root() + ".a.>", w.root() + ".c.>", w.root() + ".i.>", w.root() + ".i.*", w.root() + ".t.*", "$SYS.>", "$JS.>", "_INBOX.>"} {
			if _, err := h.nc.SubscribeSync(subject); err != nil || !forbidden(t, h.nc, "Subscription", subject) {
				t.Errorf("%s may subscribe to %s: %v", h.name, subject, err)
			}
		}
	}
	before := len(tap.Messages())
	if before > 0 && seen(tap, nil)[w.root()+".x"] > 0 {
		t.Error("what is forbidden was published")
	}
	w.repliesElsewhere(tap, victim)
	w.revoked()
	w.works()
	if log := w.server.log(); !strings.Contains(log, "message refused") || !strings.Contains(log, "is cut off") || len(log) > 100_000 {
		t.Errorf("the server's log of %d bytes does not tell of what it refused:\n%.5000s", len(log), log)
	}
}

// repliesElsewhere sends requests that want their answers on others' subjects,
// each key two of them; with a third it would be cut.
func (w *world) repliesElsewhere(tap *queuetest.Tap, victim string) {
	w.t.Helper()
	own := make(map[string]bool)
	var last *holder
	n := 0
	replies := w.hostile(victim)
	for i, reply := range replies {
		if i%2 == 0 {
			last = w.joined(fmt.Sprintf("n%d", i), []identity.Role{identity.RoleAgent, identity.RoleClient}[i/2%2])
		}
		kinds := last.requests()
		kind := slices.Sorted(maps.Keys(kinds))[n%len(kinds)]
		n++
		data := last.seal(kind, kinds[kind])
		own[string(data)] = true
		check(w.t, last.nc.PublishRequest(last.own(kind), reply, data))
		check(w.t, last.nc.Flush())
	}
	// What the server answers later it has handled later, in each queue.
	end := w.joined("end", identity.RoleAgent)
	before := seen(tap, own)
	if text, ok := end.ask("ready", end.requests()["ready"], wait); !ok || text != "" {
		w.t.Errorf("a proper request: %q, %v", text, ok)
	}
	for subject := range seen(tap, own) {
		// The honest agent's own messages stand on its subjects.
		if slices.Contains(replies, subject) && !strings.HasPrefix(subject, w.root()+".a.honest.") && !strings.HasPrefix(subject, w.root()+".e.") &&
			!strings.HasPrefix(subject, w.root()+".c."+victim) {
			w.t.Errorf("the server wrote on %s (%d messages before)", subject, before[subject])
		}
	}
	// A third one has its sender cut, and the server says so.
	for range 3 {
		check(w.t, end.nc.PublishRequest(end.own("part"), "anything", end.seal("part", end.requests()["part"])))
	}
	w.poll("it to be cut", func() bool { return strings.Contains(w.server.log(), end.name+" is cut off for 1m0s") })
}

// revoked: keys that were admitted and are not any more.
func (w *world) revoked() {
	w.t.Helper()
	for _, role := range []identity.Role{identity.RoleAgent, identity.RoleClient} {
		h := w.joined("was-"+string(role), role)
		kind := map[identity.Role]string{identity.RoleAgent: "ready", identity.RoleClient: "call"}[role]
		if text, ok := h.ask(kind, h.requests()[kind], wait); !ok || text != "" {
			w.t.Fatalf("before it is revoked: %q, %v", text, ok)
		}
		w.run("nodes", "--remove", h.name)
		if w.external == "" {
			w.poll("its connection to end", func() bool { return !h.nc.IsConnected() })
			if nc, err := h.dial(nats.NoReconnect()); err == nil {
				nc.Close()
				w.t.Errorf("a revoked %s connects", role)
			}
			continue
		}
		if text, ok := h.ask(kind, h.requests()[kind], wait); !ok || !strings.Contains(text, "does not admit this key") {
			w.t.Errorf("a revoked %s is told %q, %v", role, text, ok)
		}
	}
}

// TestHoldersOfKeysOnACluster: the same on a NATS server of the user's, with
// JetStream, on which the attackers may write and read everything: the server
// writes nowhere for them, and a stream of the user's stays as it is.
func TestHoldersOfKeysOnACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, natsServer(t))
	victim := must[*identity.Key](t)(identity.LoadOrCreate(filepath.Join(w.dir, "data", "client.nk"), identity.RoleClient)).Public()
	nc := must[*nats.Conn](t)(nats.Connect(w.external))
	defer nc.Close()
	js := must[nats.JetStreamContext](t)(nc.JetStream())
	must[*nats.StreamInfo](t)(js.AddStream(&nats.StreamConfig{Name: "users", Subjects: []string{"users.>"}}))
	must[*nats.PubAck](t)(js.Publish("users.data", []byte("x")))
	tap := queuetest.Connect(t, w.external).Capture(">")
	w.repliesElsewhere(tap, victim)
	w.revoked()
	w.works()
	if info := must[*nats.StreamInfo](t)(js.StreamInfo("users")); info.State.Msgs != 1 {
		t.Errorf("the user's stream has %d messages, want 1", info.State.Msgs)
	}
}

// TestForeignTasks: with an agent's key no other node's task gets a result, and
// no task that there is not.
func TestForeignTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	before := w.works()
	h := w.joined("mine", identity.RoleAgent)
	r := before.Results[0]
	for name, change := range map[string]func(*model.Result){
		"in another's name":  func(*model.Result) {},
		"in its own name":    func(r *model.Result) { r.Node = "mine" },
		"another attempt":    func(r *model.Result) { r.Node, r.Attempt = "mine", 2 },
		"a task that is not": func(r *model.Result) { r.Node, r.Task = "mine", r.Task[:len(r.Task)-1]+"7" },
	} {
		r := r
		change(&r)
		h.ask("result", squeezed(must[[]byte](t)(json.Marshal(r))), 5*time.Second)
		var after model.RunData
		check(t, json.Unmarshal([]byte(w.run("export", "latest")), &after))
		if diff := cmp.Diff(before.Results, after.Results); diff != "" {
			t.Errorf("a result %s changed the run (-before +after):\n%s", name, diff)
		}
	}
}
