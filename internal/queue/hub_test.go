package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func attempt() wire.Attempt {
	return wire.Attempt{Task: model.NewTaskID(model.NewStepID(testRun, 0), 0), Attempt: 1}
}

func someResult(node model.NodeID) model.Result {
	a := attempt()
	return model.Result{Run: testRun, Step: model.NewStepID(testRun, 0), Task: a.Task, Attempt: a.Attempt, Node: node, Outcome: model.OutcomeOK}
}

func TestEveryAgentMessageArrives(t *testing.T) {
	got := make(chan any, 10)
	w := newWorld(t, Handlers{
		Hello: func(_ context.Context, h wire.Hello) (wire.HelloReply, error) {
			got <- h.Node.ID
			return wire.HelloReply{Lease: time.Minute, Version: "v1"}, nil
		},
		Heartbeat: func(h wire.Heartbeat) { got <- h },
		Ready: func(_ context.Context, r wire.Ready) (wire.ReadyReply, error) {
			got <- r
			return wire.ReadyReply{Cancel: true}, nil
		},
		Result: func(_ context.Context, r model.Result) wire.ResultReply {
			got <- r.Task
			return wire.ResultReply{Stored: true}
		},
		Chunk: func(_ context.Context, c wire.Chunk) error {
			got <- c
			return nil
		},
		Progress: func(p wire.Progress) { got <- p.Value },
		Report:   func(r wire.Report) { got <- r.Event.Text },
		Missing:  func(m wire.Missing) { got <- m },
		Readings: func(r wire.Readings) { got <- r },
		Goodbye:  func(_ context.Context, g wire.Goodbye) { got <- g },
	})
	ctx := testCtx(t)
	l, _ := w.agent(t, "n")
	expect := func(name string, want any) {
		t.Helper()
		select {
		case v := <-got:
			if diff := cmp.Diff(want, v); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		case <-ctx.Done():
			t.Fatalf("%s did not arrive", name)
		}
	}
	hello := must[wire.HelloReply](t)(l.Hello(ctx, wire.Hello{Node: model.Node{ID: "n"}, Session: "s"}))
	expect("hello", model.NodeID("n"))
	if want := (wire.HelloReply{Lease: time.Minute, Version: "v1"}); hello != want {
		t.Errorf("Hello = %+v, want %+v", hello, want)
	}
	beat := wire.Heartbeat{Node: "n", Session: "s"}
	check(t, l.Heartbeat(beat))
	expect("heartbeat", beat)
	ready := wire.Ready{Node: "n", Attempt: attempt(), ClockOffset: 5}
	if r := must[wire.ReadyReply](t)(l.Ready(ctx, ready)); !r.Cancel {
		t.Errorf("Ready = %+v, want Cancel", r)
	}
	expect("ready", ready)
	if r := must[wire.ResultReply](t)(l.Result(ctx, someResult("n"))); !r.Stored {
		t.Errorf("Result = %+v, want Stored", r)
	}
	expect("result", attempt().Task)
	chunk := wire.Chunk{Attempt: attempt(), Node: "n", Name: "stdout", Offset: 3, Data: []byte{0, 1, 255}}
	check(t, l.Chunk(ctx, chunk))
	expect("chunk", chunk)
	check(t, l.Progress(wire.Progress{Attempt: attempt(), Node: "n", Progress: model.Progress{Value: 7}}))
	expect("progress", 7.0)
	check(t, l.Report(wire.Report{Node: "n", Event: model.Event{Text: "text"}}))
	expect("report", "text")
	missing := wire.Missing{Node: "n", Inquiry: "i", Needs: []int{3}}
	check(t, l.Missing(missing))
	expect("missing", missing)
	read := wire.Readings{Node: "n", Began: time.Unix(7, 0).UTC(), Host: []model.HostSeries{{Metric: "disk.reads",
		Counter: true, Offsets: []int64{1}, Values: []float64{2}}}}
	check(t, l.Readings(read))
	expect("readings", read)
	bye := wire.Goodbye{Node: "n", Session: "s"}
	check(t, l.Goodbye(ctx, bye))
	expect("goodbye", bye)
}

// Also messages of different kinds, for which the queue itself gives no order.
func TestOneNodesMessagesComeInOrder(t *testing.T) {
	const n = 600
	got := make(chan string, n)
	w := newWorld(t, Handlers{
		Report:    func(r wire.Report) { got <- r.Event.Text },
		Heartbeat: func(h wire.Heartbeat) { got <- h.Session },
		Progress:  func(p wire.Progress) { got <- fmt.Sprint(p.Value) },
	})
	l, _ := w.agent(t, "n")
	for first := 0; first < n; first += 120 { // a queue holds 256
		for i := first; i < first+120; i++ {
			check(t, sendNumber(l, i))
		}
		for i := first; i < first+120; i++ {
			if v := <-got; v != fmt.Sprint(i) {
				t.Fatalf("message %d says %s", i, v)
			}
		}
	}
}

// sendNumber sends a number in one of three kinds of message.
func sendNumber(l *Link, i int) error {
	switch i % 3 {
	case 0:
		return l.Heartbeat(wire.Heartbeat{Node: "n", Session: fmt.Sprint(i)})
	case 1:
		return l.Report(wire.Report{Node: "n", Event: model.Event{Text: fmt.Sprint(i)}})
	}
	a := attempt()
	a.Attempt = i + 1 // each is the first point of its attempt
	return l.Progress(wire.Progress{Attempt: a, Node: "n", Progress: model.Progress{Value: float64(i)}})
}

// A store that hangs must not make its node look dead, nor hold up others.
func TestSlowResultsHoldUpNobody(t *testing.T) {
	release, beats := make(chan struct{}), make(chan model.NodeID, 1)
	var running atomic.Int32
	all := make(chan struct{})
	const nodes = 80
	w := newWorld(t, Handlers{
		Result: func(context.Context, model.Result) wire.ResultReply {
			if running.Add(1) == nodes {
				close(all)
			}
			<-release
			return wire.ResultReply{Stored: true}
		},
		Heartbeat: func(h wire.Heartbeat) { beats <- h.Node },
	})
	ctx := testCtx(t)
	var wg sync.WaitGroup
	var last *Link
	for i := range nodes {
		node := model.NodeID(fmt.Sprintf("n%d", i))
		l, _ := w.agent(t, node)
		last = l
		wg.Go(func() {
			if r, err := l.Result(ctx, someResult(node)); err != nil || !r.Stored {
				t.Errorf("Result = %v, %v", r, err)
			}
		})
	}
	<-all // all of them are in the handler at the same time
	check(t, last.Heartbeat(wire.Heartbeat{Node: nodes79(nodes)}))
	if got := <-beats; got != nodes79(nodes) {
		t.Errorf("heartbeat of %s", got)
	}
	close(release)
	wg.Wait()
}

// A store that hangs while a node is recorded must not make it look dead
// either, and coming and going keep their order.
func TestSlowHelloHoldsUpNoHeartbeat(t *testing.T) {
	hang, entered := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(hang) })
	defer release() // the hub waits for its handlers
	order := make(chan string, 3)
	w := newWorld(t, Handlers{
		Hello: func(context.Context, wire.Hello) (wire.HelloReply, error) {
			close(entered)
			<-hang
			order <- "hello"
			return wire.HelloReply{}, nil
		},
		Heartbeat: func(wire.Heartbeat) { order <- "heartbeat" },
		Goodbye:   func(context.Context, wire.Goodbye) { order <- "goodbye" },
	})
	ctx, cancel := context.WithTimeout(testCtx(t), 10*time.Second)
	defer cancel()
	l, _ := w.agent(t, "n")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := l.Hello(ctx, wire.Hello{Node: model.Node{ID: "n"}, Session: "s"}); err != nil {
			t.Errorf("Hello: %v", err)
		}
	})
	<-entered
	wg.Go(func() {
		if err := l.Goodbye(ctx, wire.Goodbye{Node: "n", Session: "s"}); err != nil {
			t.Errorf("Goodbye: %v", err)
		}
	})
	for w.hub.queues.length("n"+queuePresence) == 0 {
		check(t, pause(ctx, time.Millisecond)) // the goodbye is on its way
	}
	check(t, l.Heartbeat(wire.Heartbeat{Node: "n", Session: "s"}))
	if got := <-order; got != "heartbeat" {
		t.Errorf("first came %s, want the heartbeat", got)
	}
	release()
	if a, b := <-order, <-order; a != "hello" || b != "goodbye" {
		t.Errorf("then came %s and %s, want hello and goodbye", a, b)
	}
	wg.Wait()
}

func (q *serialQueues) length(key string) int {
	q.Lock()
	defer q.Unlock()
	return len(q.waiting[key])
}

func nodes79(n int) model.NodeID { return model.NodeID(fmt.Sprintf("n%d", n-1)) }

func TestAgentCannotSpeakForAnother(t *testing.T) {
	w := newWorld(t, Handlers{
		Result: func(context.Context, model.Result) wire.ResultReply { return wire.ResultReply{Stored: true} },
		Hello: func(context.Context, wire.Hello) (wire.HelloReply, error) {
			return wire.HelloReply{}, nil
		},
	})
	ctx := testCtx(t)
	l, _ := w.agent(t, "mine")
	w.agent(t, "yours")
	if r, err := l.Result(ctx, someResult("yours")); !errors.Is(err, model.ErrDenied) {
		t.Errorf("a result for another node: %v, %v; want %v", r, err, model.ErrDenied)
	}
	if _, err := l.Hello(ctx, wire.Hello{Node: model.Node{ID: "yours"}, Session: "s"}); !errors.Is(err, model.ErrDenied) {
		t.Errorf("hello for another node: %v, want %v", err, model.ErrDenied)
	}
}

// Whatever key a Hello names, the master sees the one that signed it.
func TestHelloCarriesTheSignersKey(t *testing.T) {
	got := make(chan string, 1)
	w := newWorld(t, Handlers{Hello: func(_ context.Context, h wire.Hello) (wire.HelloReply, error) {
		got <- h.Node.PublicKey
		return wire.HelloReply{}, nil
	}})
	l, k := w.agent(t, "n")
	_, err := l.Hello(testCtx(t), wire.Hello{Node: model.Node{ID: "n", PublicKey: "UFORGED"}, Session: "s"})
	check(t, err)
	if key := <-got; key != k.Public() {
		t.Errorf("the master sees %q, want %q", key, k.Public())
	}
}

func TestReplaysOfLifeSignsAreRefused(t *testing.T) {
	beats := make(chan wire.Heartbeat, 10)
	w := newWorld(t, Handlers{
		Heartbeat: func(h wire.Heartbeat) { beats <- h },
		Ready: func(context.Context, wire.Ready) (wire.ReadyReply, error) {
			return wire.ReadyReply{}, nil
		},
	})
	l, k := w.agent(t, "n")
	old := must[[]byte](t)(sealFor(k, w.key.Public(), fromAgent+kindHeartbeat, bodyFrame([]byte(`{"node":"n","session":"old"}`)), time.Now()))
	check(t, w.hub.nc.Publish(w.hub.names.agent("n", kindHeartbeat), old))
	if b := <-beats; b.Session != "old" {
		t.Fatalf("heartbeat %+v", b)
	}
	check(t, w.hub.nc.Publish(w.hub.names.agent("n", kindHeartbeat), old))
	check(t, w.hub.nc.Flush())
	// Ready goes through the same queue, so the replay was handled before it.
	must[wire.ReadyReply](t)(l.Ready(testCtx(t), wire.Ready{Node: "n", Attempt: attempt()}))
	select {
	case b := <-beats:
		t.Errorf("the replay was accepted: %+v", b)
	default:
	}
}

// An agent that was restarted after its host's clock was set back is heard.
func TestClockSetBack(t *testing.T) {
	w := newWorld(t, Handlers{Hello: func(context.Context, wire.Hello) (wire.HelloReply, error) { return wire.HelloReply{}, nil }})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	hello := wire.Hello{Node: model.Node{ID: "n"}, Session: "s"}
	must[wire.HelloReply](t)(l.Hello(ctx, hello))
	check(t, l.Close())
	back := must[*Link](t)(DialAgent(ctx, w.conn.Info(), k, "n", DialOptions{Now: func() time.Time { return time.Now().Add(-time.Hour) }}))
	defer func() { _ = back.Close() }()
	must[wire.HelloReply](t)(back.Hello(ctx, hello))
}

func TestCallsOfAnySize(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	w := newWorld(t, Handlers{API: func(_ context.Context, c Caller, verb string, body []byte) ([]byte, error) {
		if c.Name != "cli" || c.Role != identity.RoleClient || verb != "echo" {
			return nil, fmt.Errorf("caller %+v, verb %q", c, verb)
		}
		return body, nil
	}})
	c := w.client(t)
	src := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 511, 512, 100_000, embeddedPayload - 1, embeddedPayload, embeddedPayload + 1, 3*embeddedPayload + 17} {
		body := make([]byte, size)
		_, _ = src.Read(body) // random: it does not compress; never fails
		got, err := c.Call(testCtx(t), "echo", body)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("echo of %d bytes: %d bytes, %v", size, len(got), err)
		}
	}
	if n := heldBytes(w.hub.parts) + heldBytes(w.hub.replies); n != 0 {
		t.Errorf("%d bytes of parts still held", n)
	}
}

func heldBytes(x *transfers) int {
	x.Lock()
	defer x.Unlock()
	return x.held
}

func TestErrorsKeepTheirKind(t *testing.T) {
	kinds := errorKinds()[1:]
	w := newWorld(t, Handlers{API: func(_ context.Context, _ Caller, verb string, body []byte) ([]byte, error) {
		if verb == "plain" {
			return nil, errors.New("no kind")
		}
		return nil, fmt.Errorf("run x: %w", kinds[body[0]])
	}})
	c := w.client(t)
	for i, kind := range kinds {
		_, err := c.Call(testCtx(t), "fail", []byte{byte(i)})
		if !errors.Is(err, kind) {
			t.Errorf("error %v, want %v", err, kind)
		}
	}
	_, err := c.Call(testCtx(t), "plain", nil)
	for _, kind := range kinds {
		if err == nil || errors.Is(err, kind) {
			t.Errorf("error without a kind = %v, is %v", err, kind)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	w := newWorld(t, Handlers{})
	c := w.client(t)
	check(t, w.hub.Close())
	w.hub = nil
	if _, err := c.Call(testCtx(t), "echo", nil); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("call without a hub: %v, want %v", err, model.ErrUnavailable)
	}
}

func TestLargeResultsAndChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	got := make(chan model.Result, 1)
	w := newWorld(t, Handlers{
		Result: func(_ context.Context, r model.Result) wire.ResultReply {
			got <- r
			return wire.ResultReply{Stored: true}
		},
		Chunk: func(_ context.Context, c wire.Chunk) error {
			if len(c.Data) != wire.MaxChunk {
				return fmt.Errorf("%d bytes", len(c.Data))
			}
			return nil
		},
	})
	ctx := testCtx(t)
	l, _ := w.agent(t, "n")
	r := someResult("n")
	text := make([]byte, 3*embeddedPayload)
	for i := range text { // printable and random: 6 of 8 bits
		text[i] = byte(' ' + rand.IntN(64))
	}
	r.Stdout.Text = string(text)
	if reply, err := l.Result(ctx, r); err != nil || !reply.Stored {
		t.Fatalf("Result = %v, %v", reply, err)
	}
	if (<-got).Stdout.Text != r.Stdout.Text {
		t.Error("the result changed on the way")
	}
	check(t, l.Chunk(ctx, wire.Chunk{Attempt: attempt(), Node: "n", Name: "stdout", Data: make([]byte, wire.MaxChunk)}))
}

// Of a day on a machine with many disks every other reading is left out until the
// result fits; its first and what was measured of the task stay.
func TestLongResultsBecomeCoarser(t *testing.T) {
	got := make(chan model.Result, 1)
	w := newWorld(t, Handlers{Result: func(_ context.Context, r model.Result) wire.ResultReply {
		got <- r
		return wire.ResultReply{Stored: true}
	}})
	l, _ := w.agent(t, "n")
	r := someResult("n")
	const points, metrics = 8000, 200
	offsets, values := make([]int64, points), make([]float64, points)
	for i := range offsets {
		offsets[i], values[i] = int64(i)*1e10, 1e9*rand.Float64()
	}
	for m := range metrics {
		r.Host = append(r.Host, model.HostSeries{Metric: fmt.Sprint("disk.", m), Offsets: offsets, Values: values})
	}
	counted := model.HostSeries{Metric: "load_replies_second", Offsets: offsets, Values: values}
	r.Host = append(r.Host, counted)
	if reply, err := l.Result(testCtx(t), r); err != nil || !reply.Stored {
		t.Fatalf("Result = %v, %v", reply, err)
	}
	stored := <-got
	last := stored.Host[metrics-1]
	if n := len(last.Offsets); n >= points || n < points/8 || last.Values[0] != values[0] || last.Offsets[1]%1e10 != 0 {
		t.Errorf("%d of %d readings of the host, %v, %v", n, points, last.Offsets[:2], last.Values[:2])
	}
	if !cmp.Equal(stored.Samples, r.Samples) || !cmp.Equal(stored.Host[metrics], counted) {
		t.Error("what the workload has measured has changed")
	}
	if len(r.Host[0].Offsets) != points {
		t.Error("the agent's own result has changed")
	}
}

func TestOrders(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	a, _ := w.agent(t, "a.1")
	b, _ := w.agent(t, "b:2")
	c, _ := w.agent(t, "c")
	at := time.Now().Add(time.Second).Round(0)
	want := wire.Order{Kind: wire.OrderStart, Run: testRun, Step: model.NewStepID(testRun, 0), Attempt: 1, At: at}
	check(t, w.hub.Order(ctx, want, []model.NodeID{"a.1", "b:2"}))
	for _, l := range []*Link{a, b} {
		if diff := cmp.Diff(want, <-l.Orders()); diff != "" {
			t.Errorf("order at %s (-want +got):\n%s", l.node, diff)
		}
	}
	// An order that the master did not sign is dropped, the next is heard.
	forged := must[[]byte](t)(identity.Seal(newKey(t, identity.RoleServer), purposeOrder, []byte(toJSON(t, want)), at))
	check(t, w.hub.nc.Publish(w.hub.names.order("c"), forged))
	cancel := wire.Order{Kind: wire.OrderCancel, Run: testRun, Step: want.Step, Attempt: 1, Reason: "r"}
	check(t, w.hub.Order(ctx, cancel, []model.NodeID{"c"}))
	if got := <-c.Orders(); got.Kind != wire.OrderCancel {
		t.Errorf("the forged order was heard: %+v", got)
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx, cancel := context.WithCancel(testCtx(t))
	c := w.client(t)
	one := must[<-chan model.Event](t)(c.Events(ctx, testRun))
	all := must[<-chan model.Event](t)(c.Events(ctx, ""))
	check(t, w.hub.PublishEvent(model.Event{Text: "fleet", Kind: model.EventNodeJoined}))
	check(t, w.hub.PublishEvent(model.Event{Run: testRun, Text: "first"}))
	if e := <-one; e.Text != "first" {
		t.Errorf("run's event %q, want first", e.Text)
	}
	if e := <-all; e.Text != "fleet" {
		t.Errorf("event %q, want fleet", e.Text)
	}
	if e := <-all; e.Text != "first" {
		t.Errorf("event %q, want first", e.Text)
	}
	// A revocation changes the key; who is still admitted does not notice.
	w.hub.events.renew()
	w.hub.events.get(time.Now())
	check(t, w.hub.PublishEvent(model.Event{Run: testRun, Text: "second"}))
	if e := <-one; e.Text != "second" {
		t.Errorf("event %q, want second", e.Text)
	}
	cancel()
	for e := range one { // until it is closed
		t.Errorf("event %+v after the end", e)
	}
}
