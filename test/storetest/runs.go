package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// testNothingYet asks an empty store for everything, and wants "not found"
// and not an empty answer that looks like one.
func testNothingYet(t *testing.T, e env) {
	runs, err := e.s.Runs(e.ctx, store.Filter{})
	if len(runs.Runs) != 0 || runs.Matching != 0 || err != nil {
		t.Errorf("Runs = %v, %v, want none", runs, err)
	}
	f := New(1, 1, 1)
	calls := map[string]func() error{
		"Run latest":       func() error { _, err := e.s.Run(e.ctx, "latest"); return err },
		"Run":              func() error { _, err := e.s.Run(e.ctx, string(f.Run.ID)); return err },
		"Data":             func() error { _, err := e.s.Data(e.ctx, f.Run.ID); return err },
		"Printed":          func() error { _, err := e.s.Printed(e.ctx, f.Run.ID); return err },
		"Head":             func() error { _, err := e.s.Head(e.ctx, f.Steps[0].Tasks[0].ID, 1); return err },
		"Artifact":         func() error { _, err := e.s.Artifact(e.ctx, f.Steps[0].Tasks[0].ID, 1, "stdout"); return err },
		"SetRunState":      func() error { return e.s.SetRunState(e.ctx, f.Run.ID, model.RunDone, "", epoch) },
		"PutRunNodes":      func() error { return e.s.PutRunNodes(e.ctx, f.Run.ID, f.Nodes) },
		"BeginAttempt":     func() error { _, err := e.s.BeginAttempt(e.ctx, f.Steps[0].ID); return err },
		"SetStepStart":     func() error { return e.s.SetStepStart(e.ctx, f.Steps[0].ID, epoch) },
		"SetStepState":     func() error { return e.s.SetStepState(e.ctx, f.Steps[0].ID, model.StepComplete, "") },
		"PutResult":        func() error { _, err := e.s.PutResult(e.ctx, f.Result(0, 0, 1)); return err },
		"PutArtifactChunk": func() error { return e.s.PutArtifactChunk(e.ctx, f.Steps[0].Tasks[0].ID, 1, "x", 0, nil) },
		"AddEvents":        func() error { return e.s.AddEvents(e.ctx, model.Event{Run: f.Run.ID, Kind: model.EventRetry}) },
		"DeleteRun":        func() error { return e.s.DeleteRun(e.ctx, f.Run.ID) },
		"Campaign latest":  func() error { _, err := e.s.Campaign(e.ctx, "latest"); return err },
		"Repetitions":      func() error { _, err := e.s.Repetitions(e.ctx, "01NONE", 0, 0); return err },
		"Progress":         func() error { _, err := e.s.Progress(e.ctx, "01NONE"); return err },
		"PutMeasured":      func() error { return e.s.PutMeasured(e.ctx, "01NONE", 1, nil) },
		"DeleteCampaign":   func() error { return e.s.DeleteCampaign(e.ctx, "01NONE", true) },
		"Measured": func() (last error) {
			for _, err := range e.s.Measured(e.ctx, "01NONE") {
				last = err
			}
			return last
		},
		"RemoveNode": func() error { return e.s.RemoveNode(e.ctx, "nobody") },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%s: %v, want model.ErrNotFound", name, err)
		}
	}
	must(t, e.write(e.ctx))
}

// testCreateRun: the same run again is not an error, another one of its id is.
func testCreateRun(t *testing.T, e env) {
	f := New(1, 2, 2)
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps))
	must(t, e.s.SetRunState(e.ctx, f.Run.ID, model.RunRunning, "", epoch))
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps))
	got := e.data(t, e.s, f.Run.ID)
	if got.Run.State != model.RunRunning {
		t.Errorf("creating the run again set its state to %q", got.Run.State)
	}
	diff(t, "steps", f.Steps, got.Steps)

	other := f.Run
	other.Source += "# changed"
	if err := e.s.CreateRun(e.ctx, other, nil, nil); !errors.Is(err, model.ErrUsage) {
		t.Errorf("another run of the same id: %v, want model.ErrUsage", err)
	}
}

// testAddSteps: new steps join the stored ones; the same again is not an error
// and changes nothing.
func testAddSteps(t *testing.T, e env) {
	f := New(1, 2, 3)
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps[:1]))
	must(t, e.s.AddSteps(e.ctx, f.Run.ID, f.Steps[1:]))
	must(t, e.s.SetStepState(e.ctx, f.Steps[2].ID, model.StepInvalid, "a reason"))
	must(t, e.s.AddSteps(e.ctx, f.Run.ID, f.Steps[1:]))
	f.Steps[2].State, f.Steps[2].Reason = model.StepInvalid, "a reason"
	diff(t, "steps", f.Steps, e.data(t, e.s, f.Run.ID).Steps)

	if err := e.s.AddSteps(e.ctx, "another", f.Steps); !errors.Is(err, model.ErrUsage) {
		t.Errorf("steps of another run: %v, want model.ErrUsage", err)
	}
	stranger := New(2, 2, 1)
	if err := e.s.AddSteps(e.ctx, stranger.Run.ID, stranger.Steps); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("steps of a run that does not exist: %v, want model.ErrNotFound", err)
	}
}

// testCreateRunAtomic: a run that cannot be stored whole leaves nothing.
func testCreateRunAtomic(t *testing.T, e env) {
	twice := New(1, 2, 2)
	twice.Steps[1].Tasks[1].ID = twice.Steps[0].Tasks[0].ID
	foreign := New(2, 1, 1)
	foreign.Steps[0].Run = "another"
	sameNode := New(3, 2, 1)
	sameNode.Nodes[1].ID = sameNode.Nodes[0].ID
	for _, f := range []Fixture{twice, foreign, sameNode} {
		if err := e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps); err == nil {
			t.Errorf("CreateRun(%s) succeeded", f.Run.ID)
		}
		if _, err := e.s.Data(e.ctx, f.Run.ID); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Data(%s): %v, want model.ErrNotFound", f.Run.ID, err)
		}
	}
}

// testRunState follows a run through its life, resumed once.
func testRunState(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	var zero time.Time
	moves := []struct {
		state             model.RunState
		at                time.Time
		started, finished time.Time
	}{
		{model.RunRunning, at(1), at(1), zero},
		{model.RunInterrupted, at(2), at(1), at(2)},
		{model.RunRunning, at(3), at(1), zero},
		{model.RunDone, at(4), at(1), at(4)},
	}
	for _, m := range moves {
		must(t, e.s.SetRunState(e.ctx, f.Run.ID, m.state, "because", m.at.Local()))
		want := f.Run
		want.State, want.Reason, want.Started, want.Finished = m.state, "because", m.started, m.finished
		got, err := e.s.Run(e.ctx, string(f.Run.ID))
		must(t, err)
		diff(t, "run "+string(m.state), want, got)
		if got.Started.Location() != time.UTC {
			t.Errorf("Started is in %v, want UTC", got.Started.Location())
		}
	}
}

func testRunLookup(t *testing.T, e env) {
	ids := []model.RunID{"01ABCDEFGH0000000000000001", "01ABCDEFGH0000000000000002", "01ABXXXXXX0000000000000003"}
	for i, id := range ids {
		r := newRun(i)
		r.ID = id
		r.Name = []string{"one", "two", "two"}[i]
		must(t, e.s.CreateRun(e.ctx, r, nil, nil))
	}
	for _, word := range []string{"latest", "running"} {
		if _, err := e.s.Run(e.ctx, word); (err == nil) != (word == "running") {
			t.Errorf("of runs that have not begun, %q is: %v", word, err)
		}
	}
	must(t, e.s.SetRunState(e.ctx, ids[0], model.RunInterrupted, "", epoch))
	must(t, e.s.SetRunState(e.ctx, ids[1], model.RunDone, "", epoch))
	tests := []struct {
		id   string
		want model.RunID
		kind error
	}{
		{string(ids[0]), ids[0], nil},
		{"01ABX", ids[2], nil},
		{"01abx", ids[2], nil},
		{"latest", ids[1], nil},
		{"running", ids[2], nil},
		{"one", ids[0], nil},
		{"two", ids[1], nil}, // which is over
		{"tw", "", model.ErrUsage},
		{"01ABC", "", model.ErrUsage}, // two
		{"01AB", "", model.ErrUsage},  // three
		{"01A", "", model.ErrUsage},   // too short
		{"", "", model.ErrUsage},
		{"01AZ", "", model.ErrNotFound},
		{"01A%", "", model.ErrNotFound}, // not a pattern
		{"____", "", model.ErrNotFound},
		{"a\x00bc", "", model.ErrNotFound},
	}
	for _, tt := range tests {
		got, err := e.s.Run(e.ctx, tt.id)
		if got.ID != tt.want || !errors.Is(err, tt.kind) {
			t.Errorf("Run(%q) = %q, %v, want %q, %v", tt.id, got.ID, err, tt.want, tt.kind)
		}
	}
	_, err := e.s.Run(e.ctx, "01ABC")
	if msg := err.Error(); !strings.Contains(msg, string(ids[0])) || !strings.Contains(msg, string(ids[1])) || strings.Contains(msg, string(ids[2])) {
		t.Errorf("Run(01ABC): %q, want the two candidates", msg)
	}
}

func testRuns(t *testing.T, e env) {
	var want []model.Run
	for i := range 5 {
		f := New((i*2)%5, 1, 1) // 0 2 4 1 3
		e.start(t, f)
	}
	for i := 4; i >= 0; i-- {
		run := New(i, 1, 1).Run
		run.Source = "" // lists are without
		want = append(want, run)
	}
	for _, limit := range []int{0, 1, 3, 5, 9} {
		got, err := e.s.Runs(e.ctx, store.Filter{Limit: limit})
		must(t, err)
		n := limit
		if n == 0 || n > len(want) {
			n = len(want)
		}
		diff(t, "runs", store.RunList{Runs: want[:n], Matching: len(want)}, got)
	}
}

// testRunsFiltered: every condition by itself, and together; the limit counts
// what matches.
func testRunsFiltered(t *testing.T, e env) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 12, 0, 0, 0, time.UTC) }
	for i, r := range []model.Run{
		{Name: "CPU-overcommit", State: model.RunDone, Created: day(1)},
		{Name: "cpu_100%", State: model.RunFailed, Created: day(2)},
		{Name: "capacity of shop", State: model.RunRunning, Server: "dead", Created: day(3)},
		{Name: "jobs!", Kind: model.KindBatch, State: model.RunPending, Server: "other", Created: day(4)},
		{Name: "größe", State: model.RunPending, Created: day(5)},
	} {
		r.ID = model.RunID(string(rune('a' + i)))
		if r.Kind == "" {
			r.Kind = model.KindExperiment
		}
		steps := New(1, 1, 1).Steps
		steps[0].ID, steps[0].Run, steps[0].Tasks = model.NewStepID(r.ID, 0), r.ID, nil
		steps[0].Study = map[bool]string{true: "capacity", false: "cdi"}[r.ID == "c"]
		must(t, e.s.CreateRun(e.ctx, r, nil, steps))
	}
	states := func(s ...model.RunState) []model.RunState { return s }
	for _, tt := range []struct {
		f        store.Filter
		want     string
		matching int
	}{
		{store.Filter{}, "edcba", 5},
		{store.Filter{Name: "cpu"}, "ba", 2},
		{store.Filter{Name: "CPU*"}, "ba", 2},
		{store.Filter{Name: "*shop"}, "c", 1},
		{store.Filter{Name: "shop*"}, "", 0}, // a pattern is of the whole
		{store.Filter{Name: "cpu?over*"}, "a", 1},
		{store.Filter{Name: "u_1"}, "b", 1}, // no patterns of the database
		{store.Filter{Name: "0%"}, "b", 1},
		{store.Filter{Name: "%"}, "b", 1},
		{store.Filter{Name: "_over"}, "", 0},
		{store.Filter{Name: "s!"}, "d", 1},
		{store.Filter{Name: "röß"}, "e", 1},
		{store.Filter{Name: "'; --"}, "", 0},
		{store.Filter{States: states(model.RunDone)}, "a", 1},
		{store.Filter{States: states(model.RunPending, model.RunFailed)}, "edb", 3},
		{store.Filter{States: states(model.RunRunning)}, "c", 1},
		{store.Filter{States: states(model.RunRunning), Ended: "dead"}, "", 0},
		{store.Filter{States: states(model.RunInterrupted), Ended: "dead"}, "c", 1},
		{store.Filter{States: states(model.RunPending), Ended: "dead"}, "ed", 2},
		{store.Filter{Kind: model.KindBatch}, "d", 1},
		{store.Filter{Study: "capacity"}, "c", 1},
		{store.Filter{Study: "cdi"}, "edba", 4},
		{store.Filter{Study: "c%"}, "", 0},
		{store.Filter{Since: day(4)}, "ed", 2},
		{store.Filter{Until: day(3)}, "ba", 2},
		{store.Filter{Since: day(2), Until: day(4).Local()}, "cb", 2},
		{store.Filter{Limit: 2}, "ed", 5},
		{store.Filter{Name: "c", Limit: 1}, "c", 3},
		{store.Filter{Name: "cpu", States: states(model.RunDone), Study: "cdi", Kind: model.KindExperiment, Since: day(1), Limit: 1}, "a", 1},
	} {
		list, err := e.s.Runs(e.ctx, tt.f)
		must(t, err)
		got := ""
		for _, r := range list.Runs {
			got += string(r.ID)
		}
		if got != tt.want || list.Matching != tt.matching {
			t.Errorf("Runs(%+v) = %q of %d, want %q of %d", tt.f, got, list.Matching, tt.want, tt.matching)
		}
	}
}

func testRunNodes(t *testing.T, e env) {
	f, other := New(1, 3, 1), New(2, 3, 1)
	e.start(t, f)
	e.start(t, other)
	changed := f.Nodes[1]
	changed.Facts = model.Facts{CPUModel: "known now"}
	changed.Startups = changed.Startups[:1]
	added := newNode(7)
	must(t, e.s.PutRunNodes(e.ctx, f.Run.ID, []model.Node{added, changed}))
	diff(t, "nodes", []model.Node{f.Nodes[0], changed, f.Nodes[2], added}, e.data(t, e.s, f.Run.ID).Nodes)
	diff(t, "nodes of the other run", other.Nodes, e.data(t, e.s, other.Run.ID).Nodes)
}

func testSteps(t *testing.T, e env) {
	f := New(1, 1, 2)
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps))
	id, want := f.Steps[1].ID, f.Steps[1]
	check := func(what string) {
		t.Helper()
		got := e.data(t, e.s, f.Run.ID)
		diff(t, what, want, got.Steps[1])
		diff(t, "the other step", f.Steps[0], got.Steps[0])
	}
	begin := func(attempt int) {
		t.Helper()
		got, err := e.s.BeginAttempt(e.ctx, id)
		if got != attempt || err != nil {
			t.Fatalf("BeginAttempt = %d, %v, want %d", got, err, attempt)
		}
		want.Attempt, want.State, want.StartAt, want.Reason = attempt, model.StepRunning, time.Time{}, ""
		check("step begun")
	}
	begin(1)
	must(t, e.s.SetStepStart(e.ctx, id, epoch))
	want.StartAt = epoch
	check("step started")
	must(t, e.s.SetStepState(e.ctx, id, model.StepInvalid, "node lost"))
	want.State, want.Reason = model.StepInvalid, "node lost"
	check("step invalid")
	begin(2)
}

func testFleet(t *testing.T, e env) {
	// Sorted byte by byte, not as a dictionary would.
	ids := []model.NodeID{"B", "a", "b.1", "b:1"}
	var want []model.Node
	for i, id := range ids {
		n := newNode(i)
		n.ID = id
		want = append(want, n)
	}
	for _, i := range []int{2, 0, 3, 1} {
		must(t, e.s.PutNode(e.ctx, model.Node{ID: want[i].ID, PublicKey: "old"}))
	}
	for _, n := range want {
		must(t, e.s.PutNode(e.ctx, n))
	}
	got, err := e.s.Nodes(e.ctx)
	must(t, err)
	diff(t, "nodes", want, got)
	must(t, e.s.RemoveNode(e.ctx, "a"))
	got, err = e.s.Nodes(e.ctx)
	must(t, err)
	want = append(want[:1:1], want[2:]...)
	diff(t, "nodes after one was removed", want, got)
	for _, left := range []time.Time{epoch.Add(time.Nanosecond), {}} { // its agent leaves, and is back
		want[1].Left = left
		must(t, e.s.PutNode(e.ctx, want[1]))
		got, err = e.s.Nodes(e.ctx)
		must(t, err)
		diff(t, fmt.Sprintf("nodes after one left at %v", left), want, got)
	}
}

// testReopen closes the store and opens it again.
func testReopen(t *testing.T, e env) {
	f := New(1, 2, 1)
	e.start(t, f)
	e.put(t, f.Result(0, 0, 1))
	f.Nodes[0].Left = epoch
	f.Nodes[0].Startups = nil // of the nodes of runs only
	must(t, e.s.PutNode(e.ctx, f.Nodes[0]))
	want := e.data(t, e.s, f.Run.ID)
	must(t, e.s.Close())
	again := e.open()
	diff(t, "run after reopening", want, e.data(t, again, f.Run.ID))
	nodes, err := again.Nodes(e.ctx)
	must(t, err)
	diff(t, "nodes after reopening", f.Nodes[:1], nodes)
}

// testOpenAtOnce opens one new place from many sides.
func testOpenAtOnce(t *testing.T, open func() (store.Store, error)) {
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := open()
			if err != nil {
				t.Errorf("opening the store: %v", err)
				return
			}
			if err := errors.Join(env{s: s}.write(t.Context()), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// write writes something that no test reads.
func (e env) write(ctx context.Context) error {
	return e.s.AddEvents(ctx, model.Event{Kind: model.EventRetry})
}

func testCancelled(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, putErr := e.s.PutResult(ctx, f.Result(0, 0, 1))
	_, dataErr := e.s.Data(ctx, f.Run.ID)
	for _, err := range []error{putErr, dataErr, e.write(ctx)} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, model.ErrUnavailable) {
			t.Errorf("with a cancelled context: %v, want context.Canceled", err)
		}
	}
	must(t, e.write(e.ctx))
}

func testClosed(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	must(t, e.s.Close())
	_, putErr := e.s.PutResult(e.ctx, f.Result(0, 0, 1))
	_, dataErr := e.s.Data(e.ctx, f.Run.ID)
	for _, err := range []error{putErr, dataErr, e.write(e.ctx)} {
		if !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("after Close: %v, want model.ErrUnavailable", err)
		}
	}
	must(t, e.s.Close())
}
