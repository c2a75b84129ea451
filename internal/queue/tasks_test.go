package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func TestTaskTravels(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	l, k := w.agent(t, "node-1.example:7")
	want := assignment("node-1.example:7", k.Public(), 0, 1)
	check(t, w.hub.Dispatch(want))

	d := must[Delivery](t)(l.Next(ctx))
	if d.Refused != nil {
		t.Fatalf("refused: %v", d.Refused)
	}
	got, wantJSON := toJSON(t, d.Assignment), toJSON(t, want)
	if diff := cmp.Diff(wantJSON, got); diff != "" {
		t.Errorf("assignment changed on the way (-want +got):\n%s", diff)
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	return string(must[[]byte](t)(json.Marshal(v)))
}

func TestTaskIsNotReadableOnItsWay(t *testing.T) {
	w := newWorld(t, Handlers{})
	k := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: k.Public(), Role: identity.RoleAgent, Node: "n"}))
	seen := must[*nats.Subscription](t)(w.hub.nc.SubscribeSync(w.hub.names.task("n")))
	a := assignment("n", k.Public(), 0, 1)
	a.Spec.Params = map[string]any{"command": "secret-command"}
	check(t, w.hub.Dispatch(a))
	if m := must[*nats.Msg](t)(seen.NextMsg(10 * time.Second)); bytes.Contains(m.Data, []byte("secret-command")) {
		t.Error("the message shows the command")
	}
}

// What is dispatched again is handed out again: the agent's journal tells
// repetitions, the queue does not.
func TestDispatchAgain(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	for range 3 {
		check(t, w.hub.Dispatch(assignment("n", k.Public(), 0, 1)))
	}
	for range 3 {
		d := must[Delivery](t)(l.Next(ctx))
		check(t, d.Refused)
	}
}

// publishRaw sends bytes where a node receives its tasks, as an intruder on a
// foreign cluster could.
func (w *world) publishRaw(t testing.TB, node model.NodeID, data []byte) {
	t.Helper()
	check(t, w.hub.nc.Publish(w.hub.names.task(node), data))
}

func TestTasksThatMustNotRun(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	other := newKey(t, identity.RoleAgent)
	foreign := newKey(t, identity.RoleServer)
	good := assignment("n", k.Public(), 0, 1)
	seal := func(by *identity.Key, to, purpose string, a wire.Assignment) []byte {
		return must[[]byte](t)(sealFor(by, to, purpose, []byte(toJSON(t, a)), time.Now()))
	}
	flip := func(data []byte, at int) []byte {
		data[(at+len(data))%len(data)] ^= 1
		return data
	}
	change := func(f func(*wire.Assignment)) wire.Assignment { a := good; f(&a); return a }
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"no envelope", []byte("run this"), ErrForged},
		{"empty", nil, ErrForged},
		{"another server", seal(foreign, k.Public(), purposeTask, good), ErrForged},
		{"signed by an agent", seal(other, k.Public(), purposeTask, good), ErrForged},
		{"signed by this agent itself", seal(k, k.Public(), purposeTask, good), ErrForged},
		{"changed signature", flip(seal(w.key, k.Public(), purposeTask, good), -1), ErrForged},
		{"changed content", flip(seal(w.key, k.Public(), purposeTask, good), -70), ErrForged},
		{"changed time", flip(seal(w.key, k.Public(), purposeTask, good), 40), ErrForged},
		{"another purpose", seal(w.key, k.Public(), purposeOrder, good), ErrForged},
		{"encrypted for another", seal(w.key, other.Public(), purposeTask, good), ErrForged},
		{"signed, not encrypted", must[[]byte](t)(identity.Seal(w.key, purposeTask, []byte(toJSON(t, good)), time.Now())), ErrForged},
		{"another node", seal(w.key, k.Public(), purposeTask, change(func(a *wire.Assignment) { a.Node = "m" })), ErrNotMine},
		{"another key", seal(w.key, k.Public(), purposeTask, change(func(a *wire.Assignment) { a.NodeKey = other.Public() })), ErrNotMine},
		{"expired", seal(w.key, k.Public(), purposeTask, change(func(a *wire.Assignment) { a.Expires = time.Now().Add(-time.Second) })), ErrExpired},
		{"no timeout", seal(w.key, k.Public(), purposeTask, change(func(a *wire.Assignment) { a.Spec.Timeout = 0 })), ErrUnusable},
		{"not JSON", must[[]byte](t)(sealFor(w.key, k.Public(), purposeTask, []byte("{"), time.Now())), ErrUnusable},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.publishRaw(t, "n", c.data)
			d := must[Delivery](t)(l.Next(ctx))
			if !errors.Is(d.Refused, c.want) {
				t.Fatalf("Refused = %v, want %v", d.Refused, c.want)
			}
		})
	}
	// After the refused ones the good one runs.
	w.publishRaw(t, "n", seal(w.key, k.Public(), purposeTask, good))
	d := must[Delivery](t)(l.Next(ctx))
	if d.Refused != nil {
		t.Fatalf("the good task was refused: %v", d.Refused)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	w := newWorld(t, Handlers{})
	l, _ := w.agent(t, "n")
	ctx, cancel := context.WithCancel(testCtx(t))
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := l.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v, want %v", err, context.Canceled)
	}
}

func TestNextEndsWithTheLink(t *testing.T) {
	w := newWorld(t, Handlers{})
	l, _ := w.agent(t, "n")
	time.AfterFunc(50*time.Millisecond, func() { _ = l.Close() })
	if _, err := l.Next(testCtx(t)); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("Next = %v, want %v", err, model.ErrUnavailable)
	}
}
