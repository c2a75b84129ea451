package storetest

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// testDuplicate: the first result is kept, whatever comes later.
func testDuplicate(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	first := f.Result(0, 0, 1)
	e.put(t, first)
	again := func(why string) {
		t.Helper()
		later := first
		later.Outcome, later.Samples, later.Series = model.OutcomeFailed, nil, nil
		if stored, err := e.s.PutResult(e.ctx, later); stored || err != nil {
			t.Errorf("PutResult %s = %v, %v, want false, nil", why, stored, err)
		}
		diff(t, "results "+why, []model.Result{first}, e.data(t, e.s, f.Run.ID).Results)
	}
	again("a second time")
	_, err := e.s.BeginAttempt(e.ctx, first.Step)
	must(t, err)
	again("when its attempt is over")
}

func testStale(t *testing.T, e env) {
	f := New(1, 2, 1)
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps))
	refused := func(attempt int) {
		t.Helper()
		if stored, err := e.s.PutResult(e.ctx, f.Result(0, 0, attempt)); stored || !errors.Is(err, model.ErrStale) {
			t.Errorf("PutResult(attempt %d) = %v, %v, want false, model.ErrStale", attempt, stored, err)
		}
	}
	refused(1) // none has begun
	for range 2 {
		_, err := e.s.BeginAttempt(e.ctx, f.Steps[0].ID)
		must(t, err)
	}
	refused(1)
	refused(3)
	refused(0)
	e.put(t, f.Result(0, 0, 2))
	diff(t, "results", []model.Result{f.Result(0, 0, 2)}, e.data(t, e.s, f.Run.ID).Results)
}

// testWrongTask: a result must be of the node, step and run of its task.
func testWrongTask(t *testing.T, e env) {
	f := New(1, 2, 2)
	e.start(t, f)
	tests := map[string]func(*model.Result){
		"no such task":  func(r *model.Result) { r.Task += "9" },
		"another node":  func(r *model.Result) { r.Node = f.Nodes[1].ID },
		"another step":  func(r *model.Result) { r.Step = f.Steps[1].ID },
		"another run":   func(r *model.Result) { r.Run = "01ANOTHER" },
		"nothing named": func(r *model.Result) { r.Node, r.Step, r.Run = "", "", "" },
	}
	for name, change := range tests {
		r := f.Result(0, 0, 1)
		change(&r)
		if stored, err := e.s.PutResult(e.ctx, r); stored || !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%s: PutResult = %v, %v, want false, model.ErrNotFound", name, stored, err)
		}
	}
	diff(t, "results", []model.Result(nil), e.data(t, e.s, f.Run.ID).Results)
}

func testNotFinite(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	tests := map[string]func(*model.Result){
		"NaN":             func(r *model.Result) { r.Samples[1].Value = math.NaN() },
		"+Inf":            func(r *model.Result) { r.Samples[1].Value = math.Inf(1) },
		"-Inf":            func(r *model.Result) { r.Series[0].Values[3] = math.Inf(-1) },
		"host series":     func(r *model.Result) { r.Host[1].Values[2] = math.NaN() },
		"and 3 values":    func(r *model.Result) { r.Host[1].Values = r.Host[1].Values[:3] },
		"2 offsets":       func(r *model.Result) { r.Series[0].Offsets = r.Series[0].Offsets[:2] },
		"cannot be store": func(r *model.Result) { r.Ended = r.Ended.AddDate(1000, 0, 0) },
	}
	for want, change := range tests {
		r := f.Result(0, 0, 1)
		change(&r)
		stored, err := e.s.PutResult(e.ctx, r)
		if stored || !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("PutResult = %v, %v, want false, model.ErrInvalid naming %s", stored, err, want)
		}
	}
	e.put(t, f.Result(0, 0, 1))
}

// putAll delivers results from many goroutines at once and returns what
// PutResult answered to each.
func putAll(ctx context.Context, results []model.Result, to ...store.Store) (stored []bool, errs []error) {
	stored, errs = make([]bool, len(results)), make([]error, len(results))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i, r := range results {
		wg.Go(func() {
			<-begin
			stored[i], errs[i] = to[i%len(to)].PutResult(ctx, r)
		})
	}
	close(begin)
	wg.Wait()
	return stored, errs
}

// testMixedBatch delivers good and bad results together: no bad one may take
// a good one with it.
func testMixedBatch(t *testing.T, e env) {
	f := New(1, 40, 2)
	e.start(t, f)
	_, err := e.s.BeginAttempt(e.ctx, f.Steps[1].ID)
	must(t, err)
	var results []model.Result
	var kinds []error
	for i := range f.Nodes {
		missing := f.Result(0, i, 1)
		missing.Task += "x"
		results = append(results, f.Result(0, i, 1), f.Result(1, i, 1), missing)
		kinds = append(kinds, nil, model.ErrStale, model.ErrNotFound)
	}
	stored, errs := putAll(e.ctx, results, e.s)
	for i, r := range results {
		if stored[i] != (kinds[i] == nil) || !errors.Is(errs[i], kinds[i]) {
			t.Errorf("PutResult(%s) = %v, %v, want %v", r.Task, stored[i], errs[i], kinds[i])
		}
	}
	if got := len(e.data(t, e.s, f.Run.ID).Results); got != len(f.Nodes) {
		t.Errorf("%d results are stored, want %d", got, len(f.Nodes))
	}
}

// testConcurrentSame delivers one result many times at once, through two
// stores: exactly one delivery stores it.
func testConcurrentSame(t *testing.T, e env) {
	f := New(1, 4, 1)
	e.start(t, f)
	other := e.open()
	for position := range f.Nodes {
		results := make([]model.Result, 50)
		for i := range results {
			results[i] = f.Result(0, position, 1)
		}
		stored, errs := putAll(e.ctx, results, e.s, other)
		count := 0
		for i := range results {
			must(t, errs[i])
			if stored[i] {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%d of %d deliveries stored the result, want 1", count, len(results))
		}
	}
	diff(t, "results", f.Results(), e.data(t, e.s, f.Run.ID).Results)
}

// testConcurrentMany delivers many results at once through two stores, each
// twice.
func testConcurrentMany(t *testing.T, e env) {
	f := New(1, 60, 2)
	e.start(t, f)
	results := append(f.Results(), f.Results()...)
	stored, errs := putAll(e.ctx, results, e.s, e.open(), e.s)
	half := len(results) / 2
	for i := range half {
		must(t, errs[i])
		must(t, errs[i+half])
		if stored[i] == stored[i+half] {
			t.Errorf("deliveries of %s stored: %v and %v, want one", results[i].Task, stored[i], stored[i+half])
		}
	}
	diff(t, "results", f.Results(), e.data(t, e.s, f.Run.ID).Results)
}

// testConcurrentBegin: every caller gets a number of its own.
func testConcurrentBegin(t *testing.T, e env) {
	f := New(1, 1, 1)
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps))
	stores := []store.Store{e.s, e.open()}
	const n = 40
	numbers := make(chan int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			attempt, err := stores[i%2].BeginAttempt(e.ctx, f.Steps[0].ID)
			if err != nil {
				t.Error(err)
			}
			numbers <- attempt
		})
	}
	wg.Wait()
	close(numbers)
	seen := make(map[int]bool)
	for a := range numbers {
		if seen[a] || a < 1 || a > n {
			t.Errorf("attempt %d came twice or is not in 1 to %d", a, n)
		}
		seen[a] = true
	}
}

// testPutAgainstBegin lets results and new attempts race. Once BeginAttempt has
// returned, nothing is added to the attempts before: a step could otherwise be
// scored and then change.
func testPutAgainstBegin(t *testing.T, e env) {
	const attempts, tasks = 25, 8
	f := New(1, tasks, 1)
	must(t, e.s.CreateRun(e.ctx, f.Run, f.Nodes, f.Steps))
	other := e.open()
	var wg sync.WaitGroup
	want := make(map[int]int) // results of each attempt when the next had begun
	for attempt := 0; attempt < attempts; attempt++ {
		for position := range tasks {
			wg.Go(func() {
				_, err := e.s.PutResult(e.ctx, f.Result(0, position, attempt))
				if err != nil && !errors.Is(err, model.ErrStale) {
					t.Error(err)
				}
			})
		}
		_, err := other.BeginAttempt(e.ctx, f.Steps[0].ID)
		must(t, err)
		want[attempt] = perAttempt(e.data(t, other, f.Run.ID))[attempt]
	}
	wg.Wait()
	got := perAttempt(e.data(t, e.s, f.Run.ID))
	for attempt, n := range want {
		if got[attempt] != n {
			t.Errorf("attempt %d had %d results when the next had begun, and %d in the end", attempt, n, got[attempt])
		}
	}
}

// perAttempt counts results.
func perAttempt(d model.RunData) map[int]int {
	n := make(map[int]int)
	for _, r := range d.Results {
		n[r.Attempt]++
	}
	return n
}

// testPutAgainstDelete lets results and the deletion of their run race:
// nothing fails in another way than "not found", and nothing is left.
func testPutAgainstDelete(t *testing.T, e env) {
	other := e.open()
	for round := range 5 {
		f := New(round, 30, 2)
		e.start(t, f)
		deleted := make(chan error, 1)
		go func() { deleted <- other.DeleteRun(e.ctx, f.Run.ID) }()
		stored, errs := putAll(e.ctx, f.Results(), e.s)
		must(t, <-deleted)
		for i, err := range errs {
			if err != nil && (stored[i] || !errors.Is(err, model.ErrNotFound)) {
				t.Errorf("PutResult during the deletion: %v, %v", stored[i], err)
			}
		}
		if _, err := e.s.Data(e.ctx, f.Run.ID); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Data after the deletion: %v, want model.ErrNotFound", err)
		}
	}
}

// testDelete: the run is gone with all that hangs on it, and no other is.
func testDelete(t *testing.T, e env) {
	f, kept := New(1, 3, 2), New(2, 3, 2)
	for _, x := range []Fixture{f, kept} {
		e.start(t, x)
		must(t, e.s.PutArtifactChunk(e.ctx, x.Steps[0].Tasks[0].ID, 1, "stdout", 0, []byte("x")))
		for _, r := range x.Results() {
			e.put(t, r)
		}
		must(t, e.s.AddEvents(e.ctx, model.Event{Run: x.Run.ID, Kind: model.EventRetry, Time: epoch}))
	}
	want := e.data(t, e.s, kept.Run.ID)
	must(t, e.s.DeleteRun(e.ctx, f.Run.ID))
	diff(t, "the other run", want, e.data(t, e.s, kept.Run.ID))
	_, err := e.s.Artifact(e.ctx, f.Steps[0].Tasks[0].ID, 1, "stdout")
	if !errors.Is(err, model.ErrNotFound) {
		t.Errorf("Artifact of the deleted run: %v, want model.ErrNotFound", err)
	}
	if err := e.s.DeleteRun(e.ctx, f.Run.ID); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("DeleteRun again: %v, want model.ErrNotFound", err)
	}
	// The same ids can be used again, and nothing old shows through.
	e.start(t, f)
	got := e.data(t, e.s, f.Run.ID)
	if n := len(got.Results) + len(got.Events) + len(got.Artifacts); n != 0 {
		t.Errorf("a new run of the same id has %d old rows", n)
	}
}
