package jobs

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) {
	s3test.SetCredentials()
	goleak.VerifyTestMain(m)
}

// server is the queue of a step as a server keeps it: the real queue, and records in
// memory.
type server struct {
	t testing.TB

	mu     sync.Mutex
	q      *jobs.Queue
	number map[string]uint64 // of the last call, by task
	stored map[string]jobs.Record
	ahead  time.Duration // of its clock
}

func newServer(t testing.TB) *server {
	return &server{t: t, q: jobs.New(), number: map[string]uint64{}, stored: map[string]jobs.Record{}}
}

// callerFor is workload.Env.Jobs of a task.
func (s *server) callerFor(task string) func(context.Context, jobs.Call) (jobs.Reply, error) {
	return func(ctx context.Context, c jobs.Call) (jobs.Reply, error) {
		if err := ctx.Err(); err != nil {
			return jobs.Reply{}, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now().Add(s.ahead)
		for _, e := range s.q.Expire(now) {
			s.q.Settle(e.Record, s.store(e.Record), now)
		}
		s.number[task]++
		turn, reply, err := s.q.Begin(task, s.number[task], c, now)
		if err != nil || turn == nil {
			return reply, err
		}
		var storage []jobs.Storage
		for _, r := range turn.Records {
			storage = append(storage, s.store(r))
		}
		return s.q.End(turn, true, storage, now)
	}
}

func (s *server) store(r jobs.Record) jobs.Storage {
	if _, ok := s.stored[r.Key]; ok {
		return jobs.Known
	}
	s.stored[r.Key] = r
	return jobs.Stored
}

// records are those of an outcome, by the name of the item.
func (s *server) records(o jobs.Outcome) map[string]jobs.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]jobs.Record{}
	for _, r := range s.stored {
		if r.Outcome == o {
			out[r.Name] = r
		}
	}
	return out
}

// later moves the server's clock.
func (s *server) later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// task is one task of a test.
type task struct {
	*Params
	workloadtest.Record

	env            *workload.Env
	stdout, stderr bytes.Buffer
}

// newTask makes the part-th of so many tasks.
func newTask(t *testing.T, s *server, params string, part, parts int) *task {
	t.Helper()
	p, ok := workloadtest.Parse(t, Kind(), params).(*Params)
	if !ok {
		t.Fatal("New returns something else")
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("Validate(%s) = %v", params, err)
	}
	b := &task{Params: p}
	b.T = t
	b.env = &workload.Env{
		Part: part, Parts: parts, Dir: t.TempDir(), Environ: os.Environ(), Jobs: s.callerFor(string(rune('a' + part))),
		Stdout: &b.stdout, Stderr: &b.stderr, Report: &b.Record,
	}
	t.Cleanup(func() {
		if err := b.Cleanup(context.Background(), b.env); err != nil {
			t.Errorf("Cleanup() = %v", err)
		}
	})
	return b
}

// runAll prepares the tasks, one after the other, for the first names the items, and runs all
// of them at once.
func runAll(t *testing.T, tasks ...*task) (errs []error) {
	t.Helper()
	for i, b := range tasks {
		if err := b.Prepare(t.Context(), b.env); err != nil {
			t.Fatalf("Prepare() of task %d = %v\n%s", i, err, b.stderr.String())
		}
	}
	errs = make([]error, len(tasks))
	var wg sync.WaitGroup
	for i, b := range tasks {
		b.Start = time.Now()
		wg.Go(func() { errs[i] = b.Run(t.Context(), b.env) })
	}
	wg.Wait()
	return errs
}

// ran fails the test if a task failed.
func ran(t *testing.T, tasks ...*task) {
	t.Helper()
	for i, err := range runAll(t, tasks...) {
		if err != nil {
			t.Fatalf("Run() of task %d = %v\n%s", i, err, tasks[i].stderr.String())
		}
	}
}

// last is the end of the series of jobs.
func (b *task) last() workloadtest.Reading {
	s := b.Readings[jobsMetric]
	if len(s) == 0 {
		b.T.Fatal("no series of jobs")
	}
	return s[len(s)-1]
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
