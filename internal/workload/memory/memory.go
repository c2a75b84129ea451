package memory

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The tests.
const (
	Copy    = "copy"
	Triad   = "triad"
	Latency = "latency"
)

// Params are the parameters of the workload, with its state between Prepare
// and Run.
type Params struct {
	Threads  int           `json:"threads,omitempty" jsonschema:"description=Number of threads that access memory at the same time,minimum=1,maximum=4096,default=1"`
	Duration unit.Duration `json:"duration,omitempty" jsonschema:"description=How long each test takes,default=5s"`
	Size     unit.Size     `json:"size,omitempty" jsonschema:"description=Working set of each thread; without it four times the last-level cache divided among the threads and 64MiB at least"`
	Tests    []string      `json:"tests,omitempty" jsonschema:"description=What to measure and in which order,minItems=1,uniqueItems=true,enum=copy,enum=triad,enum=latency"`

	arenas []*arena // one a thread
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "memory",
		Summary: "Built-in memory benchmark: copy and triad bandwidth and random-access latency beyond the caches.",
		New: func() workload.Workload {
			return &Params{Threads: 1, Duration: unit.Duration(5 * time.Second)}
		},
	}
}

var allTests = []string{Copy, Triad, Latency}

// tests returns the tests to run: all when none is named. (A default in New
// would be overwritten element by element when parameters are decoded.)
func (p *Params) tests() []string {
	if len(p.Tests) == 0 {
		return allTests
	}
	return p.Tests
}

const (
	minDuration = 100 * time.Millisecond
	minSize     = unit.MiB
	maxSize     = 128 * unit.GiB // of each thread
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	switch {
	case p.Threads < 1 || p.Threads > 4096:
		return &workload.FieldError{Field: "threads", Problem: fmt.Sprintf("%d threads are impossible", p.Threads), Allowed: "allowed is 1 to 4096"}
	case p.Duration.Std() < minDuration:
		return &workload.FieldError{Field: "duration", Problem: fmt.Sprintf("%s is too short to measure", p.Duration), Allowed: fmt.Sprintf("allowed is %v or more", minDuration)}
	case p.Size != 0 && (p.Size < minSize || p.Size > maxSize):
		return &workload.FieldError{Field: "size", Problem: fmt.Sprintf("%s is no useful working set", p.Size), Allowed: fmt.Sprintf("allowed is %v to %v; leave it out for four times the last-level cache", minSize, maxSize)}
	}
	return p.validateTests()
}

func (p *Params) validateTests() error {
	for i, name := range p.Tests {
		field := fmt.Sprintf("tests[%d]", i)
		if !slices.Contains(allTests, name) {
			return &workload.FieldError{Field: field, Problem: fmt.Sprintf("there is no test %q", name), Allowed: "allowed is copy, triad or latency"}
		}
		if slices.Contains(p.Tests[:i], name) {
			return &workload.FieldError{Field: field, Problem: fmt.Sprintf("test %q is named twice", name), Allowed: "each test may be named once"}
		}
	}
	return nil
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration {
	return time.Duration(len(p.tests())) * p.Duration.Std()
}

// Prepare allocates the working sets and touches all of them, so that no page
// fault is left for the tests. Where on a machine with several memory nodes
// they lie, and where the threads run, is left to the kernel.
func (p *Params) Prepare(ctx context.Context, _ *workload.Env) error {
	size := p.Size
	if size == 0 {
		size = defaultSize(lastLevelCache("/sys"), p.Threads)
	}
	walks := slices.Contains(p.tests(), Latency)
	streams := slices.Contains(p.tests(), Copy) || slices.Contains(p.tests(), Triad)
	need := int64(size) * int64(p.Threads)
	if walks && streams {
		need *= 2 // links and vectors
	}
	if err := checkFits(need, available("/proc/meminfo")); err != nil {
		return err
	}
	runtime.GOMAXPROCS(p.Threads + 1)
	p.arenas = make([]*arena, p.Threads)
	var wg sync.WaitGroup
	for i := range p.arenas {
		p.arenas[i] = &arena{}
		wg.Go(func() {
			if streams {
				p.arenas[i].newVectors(int64(size))
			}
			if walks {
				p.arenas[i].newLinks(int64(size), uint64(i+1))
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// Run makes the tests one after the other. The k-th ends (k+1) durations after
// the start by the clock, so that nodes which started together stay in the
// same test. What the tests wrote is checked at the end, after the time of the
// last progress point.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	start, walked := time.Now(), make([]uint64, p.Threads)
	for i, name := range p.tests() {
		deadline := start.Add(time.Duration(i+1) * p.Duration.Std())
		t := p.test(ctx, env.Report, kinds[name], deadline)
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == Latency {
			for i, w := range t.workers {
				walked[i] = w.count.Load()
			}
		}
	}
	return p.check(walked)
}

// test makes one test on all threads and reports its metrics.
func (p *Params) test(ctx context.Context, r workload.Reporter, k kind, deadline time.Time) *team {
	t := newTeam(p.arenas)
	r.Progress(k.metric, k.unit, 0) // while it is still true
	start := time.Now()
	t.launch(ctx, deadline, k)
	workload.PublishUntil(t.done, r, k.metric, k.unit, func() float64 { return t.total() * k.weight })
	rate, step := t.rates(start)
	if ctx.Err() != nil {
		return t
	}
	r.Sample(model.Sample{Metric: k.metric, Unit: k.unit + "/s", Value: rate * k.weight, Better: model.Higher, Resource: model.ResourceMemory})
	if k.latency != "" {
		r.Sample(model.Sample{Metric: k.latency, Unit: "ns", Value: 1e9 * step, Better: model.Lower, Info: true})
	}
	return t
}

// check compares the memory of all threads with what must be in it.
func (p *Params) check(walked []uint64) error {
	for i, a := range p.arenas {
		if err := a.check(walked[i]); err != nil {
			return fmt.Errorf("thread %d: %w", i, err)
		}
	}
	return nil
}
