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
	check(t, w.hub.Dispatch(ctx, []wire.Assignment{want}))

	d := must[*Delivery](t)(l.Next(ctx))
	if d.Refused != nil {
		t.Fatalf("refused: %v", d.Refused)
	}
	got, wantJSON := toJSON(t, d.Assignment), toJSON(t, want)
	if diff := cmp.Diff(wantJSON, got); diff != "" {
		t.Errorf("assignment changed on the way (-want +got):\n%s", diff)
	}
	check(t, d.InProgress())
	check(t, d.Ack(ctx))
	if n := w.stored(t); n != 0 {
		t.Errorf("%d messages stored after the ack, want 0", n)
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	return string(must[[]byte](t)(json.Marshal(v)))
}

// stored is the number of tasks in the queue.
func (w *world) stored(t testing.TB) uint64 {
	t.Helper()
	s, err := w.hub.js.Stream(testCtx(t), w.hub.names.stream())
	check(t, err)
	return s.CachedInfo().State.Msgs
}

func TestTaskIsNotReadableInTheQueue(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	k := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: k.Public(), Role: identity.RoleAgent, Node: "n"}))
	a := assignment("n", k.Public(), 0, 1)
	a.Spec.Params = map[string]any{"command": "secret-command"}
	check(t, w.hub.Dispatch(ctx, []wire.Assignment{a}))
	s, err := w.hub.js.Stream(ctx, w.hub.names.stream())
	check(t, err)
	m, err := s.GetLastMsgForSubject(ctx, w.hub.names.task("n"))
	check(t, err)
	if bytes.Contains(m.Data, []byte("secret-command")) {
		t.Error("the queue's stored message shows the command")
	}
}

func TestDispatchTwiceStoresOnce(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	_, k := w.agent(t, "n")
	a := assignment("n", k.Public(), 0, 1)
	for range 3 {
		check(t, w.hub.Dispatch(ctx, []wire.Assignment{a}))
	}
	if n := w.stored(t); n != 1 {
		t.Errorf("%d messages stored, want 1", n)
	}
	a.Attempt = 2
	check(t, w.hub.Dispatch(ctx, []wire.Assignment{a}))
	if n := w.stored(t); n != 2 {
		t.Errorf("%d messages stored after a new attempt, want 2", n)
	}
}

func TestNakAndPurge(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	check(t, w.hub.Dispatch(ctx, []wire.Assignment{
		assignment("n", k.Public(), 0, 1), assignment("n", k.Public(), 1, 1), assignment("n", k.Public(), 2, 1),
	}))
	d := must[*Delivery](t)(l.Next(ctx))
	check(t, d.Nak(0))
	again := must[*Delivery](t)(l.Next(ctx))
	if again.Assignment.Task != d.Assignment.Task || again.Redelivered != 1 {
		t.Errorf("after Nak: %s, redelivered %d; want %s, 1", again.Assignment.Task, again.Redelivered, d.Assignment.Task)
	}
	check(t, w.hub.PurgeTasks(ctx, []model.NodeID{"n"}))
	if n := w.stored(t); n != 0 {
		t.Errorf("%d messages after the purge, want 0", n)
	}
	start := time.Now()
	err := again.Ack(ctx)
	t.Logf("ack after purge: %v after %v", err, time.Since(start))
	// The next task is delivered: the purged one does not count as pending.
	check(t, w.hub.Dispatch(ctx, []wire.Assignment{assignment("n", k.Public(), 3, 1)}))
	d = must[*Delivery](t)(l.Next(ctx))
	if want := model.NewTaskID(model.NewStepID(testRun, 0), 3); d.Assignment.Task != want {
		t.Errorf("after the purge: %s, want %s", d.Assignment.Task, want)
	}
	check(t, d.Ack(ctx))
	check(t, w.hub.RemoveNode(ctx, "n"))
	check(t, w.hub.RemoveNode(ctx, "n"))
}

// publishRaw puts bytes where a node's tasks are stored, as somebody could who
// writes to a foreign cluster.
func (w *world) publishRaw(ctx context.Context, t testing.TB, node model.NodeID, data []byte) {
	t.Helper()
	_, err := w.hub.js.PublishMsg(ctx, &nats.Msg{Subject: w.hub.names.task(node), Data: data})
	check(t, err)
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
			w.publishRaw(ctx, t, "n", c.data)
			d := must[*Delivery](t)(l.Next(ctx))
			if !errors.Is(d.Refused, c.want) {
				t.Fatalf("Refused = %v, want %v", d.Refused, c.want)
			}
			check(t, d.Ack(ctx)) // does nothing and must not hang
		})
	}
	// The refused ones are gone, and the good one runs.
	w.publishRaw(ctx, t, "n", seal(w.key, k.Public(), purposeTask, good))
	d := must[*Delivery](t)(l.Next(ctx))
	if d.Refused != nil {
		t.Fatalf("the good task was refused: %v", d.Refused)
	}
	check(t, d.Ack(ctx))
	if n := w.stored(t); n != 0 {
		t.Errorf("%d messages stored at the end, want 0", n)
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

// A context that ends soon does not keep a task from being fetched.
func TestNextWithLittleTime(t *testing.T) {
	w := newWorld(t, Handlers{})
	l, k := w.agent(t, "n")
	check(t, w.hub.Dispatch(testCtx(t), []wire.Assignment{assignment("n", k.Public(), 0, 1)}))
	ctx, cancel := context.WithTimeout(testCtx(t), 2*time.Second)
	defer cancel()
	d := must[*Delivery](t)(l.Next(ctx))
	check(t, d.Ack(ctx))
}

// A node without a consumer waits until the master made one.
func TestNextBeforeTheConsumerExists(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	k := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: k.Public(), Role: identity.RoleAgent, Node: "late"}))
	l := w.dial(t, "late", k)
	got := make(chan *Delivery, 1)
	go func() {
		if d, err := l.Next(ctx); err == nil {
			got <- d
		}
	}()
	check(t, w.hub.Dispatch(ctx, []wire.Assignment{assignment("late", k.Public(), 0, 1)}))
	check(t, w.hub.EnsureNode(ctx, "late", k.Public()))
	select {
	case d := <-got:
		check(t, d.Ack(ctx))
	case <-ctx.Done():
		t.Fatal("no task")
	}
}
