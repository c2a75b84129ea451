package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// job is a record with everything in it.
func (f Fixture) job(step, item int, lease uint64) store.Job {
	return store.Job{Step: f.Steps[step].ID, Attempt: 1, Node: f.Nodes[0].ID, Record: jobs.Record{
		Lease: lease, Key: strconv.Itoa(item), Name: fmt.Sprintf("videos/%d ü\x00.mp4", item), Try: 2, Slot: 7,
		Outcome: jobs.Done, Error: "e", Begin: 0.1, End: 1e300, Wait: 5e-324, Get: 1.0 / 3, Compute: 2, Put: 3, CPU: 4,
		In: 1<<62 + 1, Out: 5, Output: "out/" + strings.Repeat("x", 500),
	}}
}

func (e env) readJobs(t *testing.T, f Fixture) []store.Job {
	t.Helper()
	got, err := e.s.RunJobs(e.ctx, f.Run.ID)
	must(t, err)
	return got
}

// putJobs stores records and wants to hear which count.
func (e env) putJobs(t *testing.T, s store.Store, want []bool, records ...store.Job) {
	t.Helper()
	counts, err := s.PutJobs(e.ctx, records)
	must(t, err)
	if !slices.Equal(counts, want) {
		t.Errorf("PutJobs of %d records says %v, want %v", len(records), counts, want)
	}
}

func testJobs(t *testing.T, e env) {
	f := New(1, 2, 3)
	e.start(t, f)
	a, b, late := f.job(0, 0, 1), f.job(0, 1, 2), f.job(0, 0, 3)
	b.Outcome = jobs.SetAside
	e.putJobs(t, e.s, []bool{true, true, false, true}, a, b, late, a)
	e.putJobs(t, e.open(), []bool{false, true}, late, b) // from another process, and again
	other := f.job(1, 0, 1)
	e.putJobs(t, e.s, []bool{true}, other) // an item of this key in another queue
	diff(t, "jobs of the run", []store.Job{a, b, other}, e.readJobs(t, f))
	e.putJobs(t, e.s, nil)

	_, err := e.s.BeginAttempt(e.ctx, f.Steps[0].ID)
	must(t, err)
	for name, c := range map[string]struct {
		kind error
		put  func(j *store.Job)
	}{
		"of a past attempt": {model.ErrStale, func(*store.Job) {}},
		"of no step":        {model.ErrNotFound, func(j *store.Job) { j.Step = "none" }},
	} {
		j := f.job(0, 9, 1)
		c.put(&j)
		if _, err := e.s.PutJobs(e.ctx, []store.Job{j}); !errors.Is(err, c.kind) {
			t.Errorf("a job %s: %v, want %v", name, err, c.kind)
		}
	}
	if _, err := e.s.PutJobs(e.ctx, []store.Job{other, a}); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("jobs of two steps in one call: %v", err)
	}
	again := f.job(0, 2, 1)
	again.Attempt = 2
	e.putJobs(t, e.s, []bool{true}, again)
	_, _, over, err := e.s.Items(e.ctx, f.Steps[0].ID)
	must(t, err)
	diff(t, "items that are over", []jobs.Over{{Key: "0", Outcome: jobs.Done}, {Key: "1", Outcome: jobs.SetAside},
		{Key: "2", Outcome: jobs.Done}}, over)

	must(t, e.s.DeleteRun(e.ctx, f.Run.ID))
	_, _, over, err = e.s.Items(e.ctx, f.Steps[0].ID)
	if len(over) > 0 || err != nil {
		t.Errorf("jobs of a run that was deleted: %v, %v", over, err)
	}
	if _, err := e.s.RunJobs(e.ctx, f.Run.ID); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("jobs of a run that was deleted: %v", err)
	}
}

func testItems(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	step := f.Steps[0].ID
	for _, c := range []struct {
		add  jobs.Add
		want []string
		all  bool
	}{
		{jobs.Add{Names: []string{"b", "a", "\x00ü"}}, []string{"b", "a", "\x00ü"}, false},
		{jobs.Add{From: 2, Names: []string{"c"}}, []string{"b", "a", "c"}, false},
		{jobs.Add{From: 2, Names: []string{"c"}, Last: true}, []string{"b", "a", "c"}, true},
		{jobs.Add{From: 3, Last: true}, []string{"b", "a", "c"}, true},
		{jobs.Add{Names: []string{"x"}}, []string{"x"}, false},
		{jobs.Add{Last: true}, nil, true},
	} {
		must(t, e.s.PutItems(e.ctx, step, 1, c.add))
		names, all, _, err := e.open().Items(e.ctx, step)
		must(t, err)
		diff(t, fmt.Sprintf("items after %+v", c.add), c.want, names)
		if all != c.all {
			t.Errorf("items after %+v are all: %v", c.add, all)
		}
	}
	if err := e.s.PutItems(e.ctx, step, 2, jobs.Add{}); !errors.Is(err, model.ErrStale) {
		t.Errorf("items of another attempt: %v", err)
	}
}

// testConcurrentJobs: many deliver the same items at once, through two stores; each item
// has one record that counts.
func testConcurrentJobs(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	stores := []store.Store{e.s, e.open()}
	const workers, items = 16, 100
	var mu sync.Mutex
	counted := make(map[string]uint64)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var records []store.Job
			for i := range items {
				records = append(records, f.job(0, (i+w)%items, uint64(w+1)))
			}
			counts, err := stores[w%2].PutJobs(context.WithoutCancel(e.ctx), records)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i, ok := range counts {
				if key := records[i].Key; ok && counted[key] > 0 {
					t.Errorf("item %s counts twice", key)
				} else if ok {
					counted[key] = records[i].Lease
				}
			}
		})
	}
	wg.Wait()
	got := e.readJobs(t, f)
	if len(got) != items || len(counted) != items {
		t.Fatalf("%d items are stored, and %d count, of %d", len(got), len(counted), items)
	}
	for _, j := range got {
		if counted[j.Key] != j.Lease {
			t.Errorf("item %s: the record of lease %d is stored, and %d was told that it counts", j.Key, j.Lease, counted[j.Key])
		}
	}
}
