package master

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/wire"
)

// queueHouse is a house whose run has a task on node a and one on node b at work.
type queueHouse struct {
	*house
	run     model.RunID
	live    <-chan model.Event
	task    map[model.NodeID]wire.Assignment
	numbers map[model.NodeID]uint64
}

func newQueueHouse(t *testing.T, st store.Store) *queueHouse {
	h := &queueHouse{house: newHouse(t, st), task: make(map[model.NodeID]wire.Assignment),
		numbers: make(map[model.NodeID]uint64)}
	h.run, h.live = h.submit("queue", "pair: ab", "retries: {failed: 3}")
	h.await()
	return h
}

// await waits until both tasks of an attempt are at work.
func (h *queueHouse) await() {
	h.t.Helper()
	for range 2 {
		select {
		case as := <-h.begun:
			h.task[as.Node] = as
		case <-time.After(patience):
			h.t.Fatal("no task")
		}
	}
}

func (h *queueHouse) message(node model.NodeID, c jobs.Call) wire.JobCall {
	as := h.task[node]
	h.numbers[node]++
	return wire.JobCall{Attempt: wire.Attempt{Task: as.Task, Attempt: as.Attempt}, Node: node,
		Number: h.numbers[node], Call: c}
}

func (h *queueHouse) call(node model.NodeID, c jobs.Call) jobs.Reply {
	h.t.Helper()
	r, err := h.m.Jobs(h.t.Context(), h.message(node, c))
	if err != nil {
		h.t.Fatalf("call of %s: %v", node, err)
	}
	return r
}

func (h *queueHouse) stored() (keys []string) {
	h.t.Helper()
	list, err := h.store.RunJobs(h.t.Context(), h.run)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, j := range list {
		keys = append(keys, j.Key+" "+string(j.Outcome)+" "+string(j.Node))
	}
	return keys
}

func finish(l jobs.Lease, o jobs.Outcome) jobs.Record {
	return jobs.Record{Lease: l.ID, Key: l.Key, Try: l.Try, Outcome: o, Error: "no such codec"}
}

var threeItems = &jobs.Open{Count: 3, Lease: time.Minute, Tries: 2}

// TestJobs: items of a step go to its tasks, results are stored before they are answered,
// and the next attempt goes on with the rest.
func TestJobs(t *testing.T) {
	h := newQueueHouse(t, testStore(t))
	a := h.call("a", jobs.Call{Open: threeItems, Take: 2})
	b := h.call("b", jobs.Call{Open: threeItems, Take: 2})
	if len(a.Leases) != 2 || len(b.Leases) != 1 || b.Again == 0 {
		t.Fatalf("leases %v and %v, again after %v", a.Leases, b.Leases, b.Again)
	}
	message := h.message("a", jobs.Call{Finish: []jobs.Record{finish(a.Leases[0], jobs.Done)}, Take: 1})
	for range 2 { // the reply was lost
		r, err := h.m.Jobs(t.Context(), message)
		if err != nil || r.State.Done != 1 || r.State.Leased != 2 || len(r.Refused) > 0 {
			t.Fatalf("reply %+v, %v", r, err)
		}
	}
	if got := h.stored(); !slices.Equal(got, []string{"0 done a"}) {
		t.Errorf("stored: %v", got)
	}
	for range 2 { // its last try, too
		b = h.call("b", jobs.Call{Finish: []jobs.Record{finish(b.Leases[0], jobs.Failed)}, Take: 1})
	}
	if got := h.stored(); !slices.Equal(got, []string{"0 done a", "2 set_aside b"}) {
		t.Errorf("stored: %v", got)
	}
	h.awaitEvent("item 2 is set aside after 2 tries, the last one on node b: no such codec")

	h.fail("a")
	h.await()
	r := h.call("b", jobs.Call{Open: threeItems, Take: 3})
	if len(r.Leases) != 1 || r.Leases[0].Key != "1" || r.Leases[0].Try != 1 {
		t.Errorf("the next attempt has %+v", r)
	}
	h.endTasks(h.run)
}

// fail ends the task of a node badly, so that the step begins a new attempt.
func (h *queueHouse) fail(node model.NodeID) {
	at := wire.Attempt{Task: h.task[node].Task, Attempt: h.task[node].Attempt}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks[at] <- model.OutcomeFailed
}

func (h *queueHouse) awaitEvent(text string) {
	h.t.Helper()
	for late := time.After(patience); ; {
		select {
		case ev := <-h.live:
			if strings.Contains(ev.Text, text) {
				return
			}
		case <-late:
			h.t.Fatalf("no event says %q", text)
		}
	}
}

// TestJobsOfOthers: a call is refused that is not of an open task of the current attempt
// on the calling node.
func TestJobsOfOthers(t *testing.T) {
	h := newQueueHouse(t, testStore(t))
	h.call("a", jobs.Call{Open: threeItems, Take: 1})
	for name, change := range map[string]func(*wire.JobCall){
		"another node's task":   func(c *wire.JobCall) { c.Node = "b" },
		"a past attempt":        func(c *wire.JobCall) { c.Attempt.Attempt-- },
		"an attempt to come":    func(c *wire.JobCall) { c.Attempt.Attempt++ },
		"a task of no step":     func(c *wire.JobCall) { c.Task = model.NewTaskID(model.NewStepID(h.run, 9), 0) },
		"a run that is not":     func(c *wire.JobCall) { c.Task = "R/0000/0000" },
		"a run that is strange": func(c *wire.JobCall) { c.Task = "x" },
	} {
		c := h.message("a", jobs.Call{Open: threeItems, Take: 1})
		change(&c)
		if r, err := h.m.Jobs(t.Context(), c); !errors.Is(err, model.ErrStale) || len(r.Leases) > 0 {
			t.Errorf("%s: %+v, %v; want it refused", name, r, err)
		}
	}
	wrong := h.message("a", jobs.Call{Open: &jobs.Open{Count: 4, Lease: time.Minute, Tries: 2}})
	if _, err := h.m.Jobs(t.Context(), wrong); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("another kind of queue: %v", err)
	}
	h.endTasks(h.run)
	h.awaitState(h.run, "")
	last := h.message("a", jobs.Call{Take: 1})
	for until := time.Now().Add(patience); ; {
		_, err := h.m.Jobs(t.Context(), last)
		if errors.Is(err, model.ErrStale) {
			break
		}
		if last.Number++; time.Now().After(until) {
			t.Fatalf("a task that has ended: %v", err)
		}
	}
}

// TestForgedCalls: a task that says what only another task may say changes nothing.
func TestForgedCalls(t *testing.T) {
	h := newQueueHouse(t, testStore(t))
	open := &jobs.Open{Lease: time.Minute, Tries: 1}
	a := h.m.attemptOf(h.run)
	a.Lock()
	a.tasks[h.task["b"].Task].Spec.Part = 1
	a.Unlock()
	forged := jobs.Add{Names: []string{"forged"}, Last: true}
	for _, c := range []jobs.Call{{Open: open, Add: &forged}, {Add: &forged}} {
		if _, err := h.m.Jobs(t.Context(), h.message("b", c)); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("names of a task that may give none: %v", err)
		}
	}
	l := h.call("a", jobs.Call{Open: open, Add: &jobs.Add{Names: []string{"x", "y"}, Last: true}, Take: 1}).Leases[0]
	if r := h.call("b", jobs.Call{Renew: []uint64{l.ID}}); !slices.Equal(r.Lost, []uint64{l.ID}) {
		t.Errorf("another's lease is renewed: %+v", r)
	}
	for _, o := range []jobs.Outcome{jobs.Done, jobs.Failed, jobs.Returned} {
		r := h.call("b", jobs.Call{Finish: []jobs.Record{finish(l, o)}})
		if (len(r.Refused) == 1) != (o == jobs.Done) || r.State.Leased != 1 || r.State.Done+r.State.SetAside != 0 {
			t.Errorf("another's lease is finished as %s: %+v", o, r)
		}
	}
	for _, o := range []jobs.Outcome{jobs.Done, jobs.SetAside} { // as a task of a queue in NATS says it
		for _, key := range []string{"0", "1", "2"} {
			c := h.message("b", jobs.Call{Finish: []jobs.Record{{Key: key, Try: 1, Outcome: o}}})
			if _, err := h.m.Jobs(t.Context(), c); !errors.Is(err, model.ErrInvalid) {
				t.Errorf("item %s, which another has or nobody, is finished as %s: %v", key, o, err)
			}
		}
	}
	if got := h.stored(); len(got) > 0 {
		t.Errorf("stored: %v", got)
	}
	if r := h.call("a", jobs.Call{Finish: []jobs.Record{finish(l, jobs.Done)}, Take: 9}); len(r.Leases) != 1 ||
		r.Leases[0].Name != "y" || r.State.Done != 1 {
		t.Errorf("the rightful task: %+v", r)
	}
	h.endTasks(h.run)
}

// faulty is a store that does not store jobs when it is told not to.
type faulty struct {
	store.Store
	fails bool
}

func (f *faulty) PutJobs(ctx context.Context, records []store.Job) ([]bool, error) {
	if f.fails {
		return nil, model.Unavailablef("the disk is full")
	}
	return f.Store.PutJobs(ctx, records)
}

// TestJobsWaitForTheStore: what could not be stored is not answered, and is executed when
// it comes again.
func TestJobsWaitForTheStore(t *testing.T) {
	st := &faulty{Store: testStore(t)}
	h := newQueueHouse(t, st)
	l := h.call("a", jobs.Call{Open: threeItems, Take: 1}).Leases[0]
	st.fails = true
	message := h.message("a", jobs.Call{Finish: []jobs.Record{finish(l, jobs.Done)}, Take: 1})
	for range 3 {
		if r, err := h.m.Jobs(t.Context(), message); !errors.Is(err, model.ErrUnavailable) || len(r.Leases) > 0 {
			t.Errorf("reply %+v, %v", r, err)
		}
	}
	st.fails = false
	r, err := h.m.Jobs(t.Context(), message)
	if err != nil || r.State.Done != 1 || len(r.Leases) != 1 || len(r.Refused) > 0 {
		t.Errorf("reply %+v, %v", r, err)
	}
	if got := h.stored(); !slices.Equal(got, []string{"0 done a"}) {
		t.Errorf("stored: %v", got)
	}
	h.endTasks(h.run)
}

// TestNamesOfItems: names are stored before they are answered, and the next attempt has
// them.
func TestNamesOfItems(t *testing.T) {
	h := newQueueHouse(t, testStore(t))
	open := &jobs.Open{Lease: time.Minute, Tries: 1}
	if r := h.call("b", jobs.Call{Open: open, Take: 1}); r.State.Ready || r.Again == 0 {
		t.Errorf("before any name: %+v", r)
	}
	h.call("a", jobs.Call{Open: open, Add: &jobs.Add{Names: []string{"x", "y"}}})
	if r := h.call("b", jobs.Call{Take: 1}); len(r.Leases) > 0 {
		t.Errorf("before all names: %+v", r)
	}
	h.call("a", jobs.Call{Add: &jobs.Add{From: 2, Last: true}})
	l := h.call("b", jobs.Call{Take: 1}).Leases[0]
	if l.Name != "x" {
		t.Errorf("first item %+v", l)
	}
	h.call("b", jobs.Call{Finish: []jobs.Record{finish(l, jobs.Done)}})
	h.fail("a")
	h.await()
	if r := h.call("b", jobs.Call{Open: open, Take: 9}); len(r.Leases) != 1 || r.Leases[0].Name != "y" {
		t.Errorf("the next attempt has %+v", r)
	}
	h.endTasks(h.run)
}

// TestLostLeaseIsSetAside: who has an item and says no more of it loses it to others, and
// an item that all lose is set aside, with the node that had it last.
func TestLostLeaseIsSetAside(t *testing.T) {
	h := newQueueHouse(t, testStore(t))
	open := &jobs.Open{Count: 1, Lease: jobs.MinLease, Tries: 1}
	l := h.call("a", jobs.Call{Open: open, Take: 1}).Leases[0]
	for until := time.Now().Add(patience); len(h.stored()) == 0; {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the clock of leases is the system's
		if r := h.call("b", jobs.Call{Take: 1}); len(r.Leases) > 0 || time.Now().After(until) {
			t.Fatalf("reply %+v", r)
		}
	}
	if got := h.stored(); !slices.Equal(got, []string{"0 set_aside a"}) {
		t.Errorf("stored: %v", got)
	}
	r := h.call("a", jobs.Call{Finish: []jobs.Record{finish(l, jobs.Done)}, Renew: []uint64{l.ID}})
	if !slices.Equal(r.Refused, []uint64{l.ID}) || !slices.Equal(r.Lost, []uint64{l.ID}) || !r.State.Drained {
		t.Errorf("a late result: %+v", r)
	}
	h.endTasks(h.run)
}

// TestToldOfFewItems: people are told of the first items that are set aside; the store has
// all.
func TestToldOfFewItems(t *testing.T) {
	h := newQueueHouse(t, testStore(t))
	r := h.call("a", jobs.Call{Open: &jobs.Open{Count: 100, Lease: time.Minute, Tries: 1}, Take: 100})
	var failed []jobs.Record
	for _, l := range r.Leases {
		failed = append(failed, finish(l, jobs.Failed))
	}
	h.call("a", jobs.Call{Finish: failed})
	h.endTasks(h.run)
	if n := len(h.stored()); n != 100 {
		t.Errorf("%d items are stored as set aside", n)
	}
	told := 0
	for ev := range h.live {
		if ev.Kind == model.EventItemSetAside {
			told++
		}
		if ev.Kind == model.EventStepEnded {
			break
		}
	}
	if told != maxTold {
		t.Errorf("people were told of %s items", strconv.Itoa(told))
	}
}
