// Package cpu is the built-in processor benchmark: how many operations a
// second the threads of a node complete.
//
//  1. Every thread is an operating-system thread that does one operation after
//     the other and publishes its count after each. An operation takes some
//     50 µs on a machine of 2023 and allocates nothing.
//  2. After each operation the thread looks at the clock and stops when the
//     duration is over.
//  3. The result of each operation is compared with a value computed
//     beforehand, so the compiler cannot remove the work, and a processor that
//     miscomputes is found instead of measured.
//  4. Meanwhile one goroutine sums the counts and publishes them five times a
//     second. A sum is right at the moment it is read, whether the threads
//     run or wait for a processor, to one operation a thread.
//
// The operations (see kernels.go): "integer" generates 1,024 pseudo-random
// numbers, sorts them and hashes the result; "float" integrates the Jovian
// planets over 500 steps; "mixed" alternates between the two. They work within
// the first-level cache, so that they measure the processor and not the memory.
package cpu

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload, with its state between Prepare
// and Run.
type Params struct {
	Threads  workload.Threads `json:"threads,omitzero" jsonschema_description:"Threads that compute at the same time: a number, all for one per core, or such as 2 per core."`
	Duration unit.Duration    `json:"duration,omitempty" jsonschema:"description=How long to compute,default=5s"`
	Kernel   string           `json:"kernel,omitempty" jsonschema:"description=What to compute: integer sorts and hashes; float integrates planets; mixed alternates,enum=integer,enum=float,enum=mixed,default=integer"`

	threads int // on this node
	start   [5]body
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "cpu",
		Summary: "Built-in processor benchmark: integer and floating-point operations per second of any number of threads.",
		New: func() workload.Workload {
			return &Params{Threads: workload.Threads{Number: 1}, Duration: unit.Duration(5 * time.Second), Kernel: Integer}
		},
	}
}

// The kernels.
const (
	Integer = "integer"
	Float   = "float"
	Mixed   = "mixed"
)

// metrics names the metric of each kernel. Its unit is op/s and higher is
// better; the progress series of the same name counts operations.
var metrics = map[string]string{Integer: "integer_rate", Float: "float_rate", Mixed: "cpu_rate"}

// minDuration is some 2,000 operations.
const minDuration = 100 * time.Millisecond

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return workload.Refuse(p.Duration.Std() < minDuration, "duration", fmt.Sprintf("%v or more", minDuration),
		"%s is too short to measure", p.Duration)
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.Duration.Std() }

// Prepare gives every thread a processor of the Go runtime, and one more to
// the goroutine that publishes, and warms the code up.
func (p *Params) Prepare(context.Context, *workload.Env) (err error) {
	if p.threads, err = p.Threads.On(cgroup.Cores()); err != nil {
		return err
	}
	runtime.GOMAXPROCS(p.threads + 1)
	p.start = newSystem()
	w := p.newWorker()
	for range 20 {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// Run computes for the duration.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	var steps []func() (uint64, error)
	for range p.threads {
		w := p.newWorker()
		steps = append(steps, func() (uint64, error) { return 1, w.step() })
	}
	env.Report.Progress(metrics[p.Kernel], "op", 0) // while it is still true
	t := workload.StartTeam(ctx, time.Now().Add(p.Duration.Std()), steps)
	workload.PublishUntil(t.Done(), env.Report, metrics[p.Kernel], "op", t.Total)
	rate, _, err := t.Result()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	env.Report.Sample(workload.Capacity(metrics[p.Kernel], "op/s", rate, model.ResourceCPU))
	p.Threads.Report(env.Report, p.threads)
	return nil
}

// worker is what a thread computes with.
type worker struct {
	kernel  string
	start   *[5]body
	next    int // number of the next operation
	numbers [integerLength]uint64
	system  [5]body
}

func (p *Params) newWorker() *worker { return &worker{kernel: p.Kernel, start: &p.start} }

// step does one operation and checks its result.
func (w *worker) step() error {
	n := w.next
	w.next++
	if w.kernel == Float || (w.kernel == Mixed && n%2 == 1) {
		if e := floatOp(&w.system, w.start); math.Float64bits(e) != math.Float64bits(floatEnergy) {
			return fmt.Errorf("floating-point operation %d gave %v instead of %v: this processor computes wrongly, so its results are worthless", n, e, floatEnergy)
		}
		return nil
	}
	k := n % len(integerHashes)
	if h := integerOp(&w.numbers, integerSeed(k)); h != integerHashes[k] {
		return fmt.Errorf("integer operation %d gave %#x instead of %#x: this processor computes wrongly, so its results are worthless", n, h, integerHashes[k])
	}
	return nil
}
