package master

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/wire"
)

// TestArtifactsAreBounded: what is kept of an artifact belongs to the attempt
// that is under way at the node's own task, has a known name, and fits its
// limit and the run's quota. What comes again takes no room.
func TestArtifactsAreBounded(t *testing.T) {
	h := newHouse(t, testStore(t))
	id, live := h.submit("one", "node: a", "output: {artifact: 512KiB}")
	h.awaitTasks(1)
	full := make([]byte, wire.MaxChunk)
	own := wire.Chunk{Attempt: wire.Attempt{Task: model.TaskID(id) + "/0000/0000", Attempt: 1}, Node: "a", Name: "stdout", Data: full}
	put := func(name string, want error, change func(*wire.Chunk)) {
		t.Helper()
		c := own
		if change != nil {
			change(&c)
		}
		if err := h.m.Chunk(t.Context(), c); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	put("the first part", nil, nil)
	put("another node's task", model.ErrNotFound, func(c *wire.Chunk) { c.Node = "b" })
	h.m.artifacts[id].read = time.Time{}
	put("a task that is none", model.ErrNotFound, func(c *wire.Chunk) { c.Task = model.TaskID(id) + "/0009/0000" })
	put("a task that is none, again", model.ErrUnavailable, func(c *wire.Chunk) { c.Task = model.TaskID(id) + "/0009/0000" })
	put("an unknown name", model.ErrUsage, func(c *wire.Chunk) { c.Name = "../stdout" })
	put("an odd offset", model.ErrUsage, func(c *wire.Chunk) { c.Offset = 1 })
	put("an attempt that has not begun", model.ErrStale, func(c *wire.Chunk) { c.Attempt.Attempt = 2 })
	put("more than the limit", model.ErrQuota, func(c *wire.Chunk) { c.Offset = 2 * wire.MaxChunk })
	h.m.cfg.RunQuota = 2 * wire.MaxChunk
	put("the second part", nil, func(c *wire.Chunk) { c.Offset = wire.MaxChunk })
	put("the first part again", nil, nil)
	put("more than the quota", model.ErrQuota, func(c *wire.Chunk) { c.Name = "stderr" })
	put("again", model.ErrQuota, func(c *wire.Chunk) { c.Name = "stderr" })
	h.m.mu.Lock()
	delete(h.m.artifacts, id)
	h.m.mu.Unlock()
	put("more than the quota, counted anew", model.ErrQuota, func(c *wire.Chunk) { c.Name = "stderr" })
	h.m.cfg.RunQuota = 0
	h.m.outages(func() { h.m.noRoom = "full" })
	put("a disk without room", model.ErrUnavailable, func(c *wire.Chunk) { c.Name = "stderr" })
	h.m.checkRoom(t.Context())
	h.m.artifacts[id].read = time.Time{}
	put("a task of a step that was added", model.ErrStale, func(c *wire.Chunk) { c.Task = h.addStep(id) }) // it has not begun
	h.end(id)
	put("after the result", model.ErrStale, func(c *wire.Chunk) { c.Name = "stderr" })
	d, err := h.store.Data(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if kept := h.m.artifacts[id].total; kept != 2*wire.MaxChunk {
		t.Errorf("%d bytes count as kept, want the two parts that are stored", kept)
	}
	if len(d.Artifacts) != 1 || d.Artifacts[0].Size != 2*wire.MaxChunk {
		t.Errorf("artifacts %+v, want one of two parts", d.Artifacts)
	}
	if n := countEvents(live, model.EventQuota); n != 2 { // it was counted anew once
		t.Errorf("people were told %d times that the quota is used up, want 2", n)
	}
}

// addStep adds a step like the first one to a run, and returns its task.
func (h *house) addStep(id model.RunID) model.TaskID {
	h.t.Helper()
	d, err := h.store.Data(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	s := d.Steps[0]
	s.ID, s.Number, s.State, s.Attempt = model.NewStepID(id, 1), 1, model.StepPending, 0
	task := s.Tasks[0]
	task.ID = model.TaskID(s.ID) + "/0000"
	s.Tasks = []model.Task{task}
	if err := h.store.AddSteps(h.t.Context(), id, []model.Step{s}); err != nil {
		h.t.Fatal(err)
	}
	return task.ID
}

func countEvents(live <-chan model.Event, kind model.EventKind) (n int) {
	for len(live) > 0 {
		if ev := <-live; ev.Kind == kind {
			n++
		}
	}
	return n
}

// TestEventsAreBounded: an agent that reports without end fills neither the log
// nor the store.
func TestEventsAreBounded(t *testing.T) {
	h := newHouse(t, testStore(t))
	id, _ := h.submit("one", "node: a")
	h.awaitTasks(1)
	const reports = 1000
	for range reports {
		h.m.Report(wire.Report{Node: "a", Event: model.Event{Kind: model.EventTaskRefused, Text: "no"}})
	}
	h.end(id)
	h.stop()
	events, err := h.store.Events(t.Context(), id)
	n := 0
	for _, ev := range events {
		if ev.Kind == model.EventTaskRefused {
			n++
		}
	}
	if most := 2 * (tellsPerMinute + 1); err != nil || n == 0 || n > most { // a minute may end meanwhile
		t.Errorf("%d events of %d reports are stored, %v; want at most %d", n, reports, err, most)
	}
}

// small is a store with little room.
type small struct {
	store.Store
	free atomic.Int64
}

func (s *small) Room(context.Context) (store.Room, error) {
	return store.Room{Free: s.free.Load(), Disk: 100 << 30}, nil
}

// TestRoom: a store with too little room pauses runs before their next step and
// takes no new ones, and people are told once; the run goes on when there is
// room.
func TestRoom(t *testing.T) {
	const gib = 1 << 30
	st := &small{Store: testStore(t)}
	st.free.Store(90 * gib)
	h := newHouse(t, st)
	for _, c := range []struct {
		room  store.Room
		keep  int64
		lacks bool
	}{
		{store.Room{Free: 1 * gib, Disk: 100 * gib}, 0, false},
		{store.Room{Free: 200 << 20, Disk: 100 * gib}, 0, true},
		{store.Room{Free: 200 << 20, Disk: gib}, 0, false}, // more than 5 %
		{store.Room{Free: 40 << 20, Disk: gib}, 0, true},
		{store.Room{Free: 2 * gib, Disk: 100 * gib}, 3 * gib, true},
		{store.Room{Used: 900 * gib, Free: -1, Disk: -1}, 0, false},
		{store.Room{Used: 2000 * gib, Free: -1, Disk: -1}, 0, true},
	} {
		m := Master{cfg: Config{KeepFree: c.keep, StoreQuota: 1000 * gib}}
		if got := m.lacks(c.room); (got != "") != c.lacks {
			t.Errorf("lacks(%+v), %d kept free: %q, want %v", c.room, c.keep, got, c.lacks)
		}
	}
	id, live := h.submit("one", "node: a", "trials: 2")
	h.awaitTasks(1)
	st.free.Store(0)
	h.m.checkRoom(t.Context())
	h.m.storeAnswered(t.Context(), model.ErrUnavailable) // a full disk fails, too
	h.endTasks(id)
	h.awaitState(id, "paused: the disk is nearly full")
	if _, err := h.m.Submit(t.Context(), aJob()); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("a new run: %v, want %v", err, model.ErrUnavailable)
	}
	st.free.Store(90 * gib)
	h.m.checkRoom(t.Context())
	h.m.storeAnswered(t.Context(), nil)
	h.awaitTasks(1)
	h.end(id)
	h.checkDone(id)
	told := make(map[model.EventKind]int)
	for len(live) > 0 {
		told[(<-live).Kind]++
	}
	if told[model.EventNoRoom] != 1 || told[model.EventRoom] != 1 || told[model.EventStoreFailing]+told[model.EventStoreBack] != 0 {
		t.Errorf("people were told %v, want that there is no room and that there is, once each", told)
	}
}
