package jobs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/load"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/workload"
)

// run is the state of Run.
type run struct {
	*Params

	env     *workload.Env
	environ []string // of commands
	start   time.Time
	slots   int
	fracs   *store.Fractions
	until   store.Until   // the deadline, and the reading published last
	over    time.Duration // when all items of a drained queue were: later readings are of that time; 0: not yet

	// crossed counts the slots that have ended what they began before the deadline. The
	// others go on meanwhile, so that nobody works on a fleet that idles.
	crossed atomic.Int64
	stopped atomic.Bool  // all have: nothing more is taken
	lookups atomic.Int64 // requests for objects whose events have keys that can be read in several ways

	mu   sync.Mutex
	held map[uint64]context.CancelCauseFunc // what ends the execution, by lease
	ends []func()                           // of slots that have left
	stats
	outages
}

// Why executions end early.
var (
	errLost     = errors.New("the lease of the item is over")
	errOver     = errors.New("the time is over")
	errHopeless = errors.New("too many items have failed")
)

// Run implements workload.Workload.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	if p.source == nil {
		return errors.New("jobs: Run was called before Prepare")
	}
	r := p.newRun(env)
	if err := r.work(ctx); err != nil && !errors.Is(err, errHopeless) {
		return err
	}
	r.report()
	return r.judge()
}

func (p *Params) newRun(env *workload.Env) *run {
	r := &run{Params: p, env: env, environ: p.environ(env), slots: p.slots(), held: map[uint64]context.CancelCauseFunc{},
		stats: p.newStats(), start: time.Now()}
	r.until = store.Until{Deadline: p.Duration.Std(), Publish: func(after time.Duration, n float64) {
		env.Report.ProgressAt(jobsMetric, jobsUnit, after, n)
	}}
	r.fracs = store.NewFractions(func(after time.Duration, n float64) {
		if r.over == 0 || r.until.After < r.over {
			r.until.Add(min(after, cmp.Or(r.over, after)), n)
		}
	})
	for _, t := range r.targets() { // what was staged is none of the jobs'
		t.Recorder = store.NewRecorder(t.Operation, r.start, nil)
	}
	return r
}

// now is the time since the start.
func (r *run) now() time.Duration { return time.Since(r.start) }

// past reports whether the deadline is over, where there is one.
func (r *run) past(t time.Duration) bool { return r.Duration > 0 && t >= r.Duration.Std() }

// cross notes that a slot has ended what it began before the deadline. After the last one
// nothing more is taken, and what can be given back ends.
func (r *run) cross() {
	if r.crossed.Add(1) < int64(r.slots) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped.Store(true)
	if r.source.free() {
		for _, end := range r.held {
			end(errOver)
		}
	}
}

// work has the slots work until their time is over or the queue is drained.
func (r *run) work(ctx context.Context) error {
	r.fracs.Read(0)
	before := load.ProcessorTime()
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	failing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	group, within := errgroup.WithContext(failing)
	var others errgroup.Group
	others.Go(func() error {
		store.ReadOften(beside.Done(), r.start, r.until.Deadline, r.fracs.Read)
		return nil
	})
	others.Go(func() error { return r.renew(beside, fail) })
	if q, ok := r.source.(*messages); ok && len(r.names) > 0 {
		others.Go(func() error { return q.feed(beside, r.names, r.slots*r.env.Parts) })
	}
	for n := range r.slots {
		group.Go(func() error { return r.newSlot(n).serve(within) })
	}
	err := group.Wait()
	cancel()
	err = errors.Join(err, others.Wait())
	r.own = load.ProcessorTime() - before - r.functions
	r.finish()
	return err
}

// finish takes the last reading. That of a drained queue is when all items were over: the
// slots have learned that later.
func (r *run) finish() {
	now := r.now()
	r.makespan = cmp.Or(r.makespan, now)
	if r.Duration == 0 {
		r.over = r.makespan
	}
	for _, end := range r.ends {
		end()
	}
	r.fracs.Read(now)
}

// renew keeps the leases of what is worked on, three times in each lease, and ends the
// executions of those that are over.
func (r *run) renew(ctx context.Context, fail context.CancelCauseFunc) error {
	for workload.Pause(ctx, r.Lease.Std()/3) == nil {
		leases := r.leases()
		if len(leases) == 0 {
			continue
		}
		lost, err := r.source.renew(ctx, leases)
		if err != nil && ctx.Err() == nil {
			fail(err)
			return nil
		}
		r.mu.Lock()
		for _, id := range lost {
			if end, ok := r.held[id]; ok {
				end(errLost)
			}
		}
		r.mu.Unlock()
	}
	return nil
}

func (r *run) leases() (ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.held {
		ids = append(ids, id)
	}
	return ids
}
