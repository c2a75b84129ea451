package cpu

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload, with its state between Prepare
// and Run.
type Params struct {
	Threads  int           `json:"threads,omitempty" jsonschema:"description=Number of threads that compute at the same time,minimum=1,maximum=4096,default=1"`
	Duration unit.Duration `json:"duration,omitempty" jsonschema:"description=How long to compute,default=5s"`
	Kernel   string        `json:"kernel,omitempty" jsonschema:"description=What to compute: integer sorts and hashes; float integrates planets; mixed alternates,enum=integer,enum=float,enum=mixed,default=integer"`

	start [5]body
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "cpu",
		Summary: "Built-in processor benchmark: integer and floating-point operations per second of any number of threads.",
		New: func() workload.Workload {
			return &Params{Threads: 1, Duration: unit.Duration(5 * time.Second), Kernel: Integer}
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
	switch {
	case p.Threads < 1 || p.Threads > 4096:
		return &workload.FieldError{Field: "threads", Problem: fmt.Sprintf("%d threads are impossible", p.Threads), Allowed: "allowed is 1 to 4096"}
	case p.Duration.Std() < minDuration:
		return &workload.FieldError{Field: "duration", Problem: fmt.Sprintf("%s is too short to measure", p.Duration), Allowed: fmt.Sprintf("allowed is %v or more", minDuration)}
	case metrics[p.Kernel] == "":
		return &workload.FieldError{Field: "kernel", Problem: fmt.Sprintf("there is no kernel %q", p.Kernel), Allowed: "allowed is integer, float or mixed"}
	}
	return nil
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.Duration.Std() }

// Prepare gives every thread a processor of the Go runtime, and one more to
// the goroutine that publishes, and warms the code up.
func (p *Params) Prepare(context.Context, *workload.Env) error {
	runtime.GOMAXPROCS(p.Threads + 1)
	p.start = newSystem()
	w := p.newWorker()
	for range 20 {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// Run computes for the duration. The rate is the sum over threads of each
// one's operations by the time from the common start to its own last
// operation: a thread that overran because it had to wait for a processor is
// charged for the wait.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	t := newTeam(p)
	env.Report.Progress(metrics[p.Kernel], "op", 0) // while it is still true
	start := time.Now()
	t.launch(ctx, start, start.Add(p.Duration.Std()))
	workload.PublishUntil(t.done, env.Report, metrics[p.Kernel], "op", t.total)
	rate, err := t.result(start)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	env.Report.Sample(model.Sample{Metric: metrics[p.Kernel], Unit: "op/s", Value: rate, Better: model.Higher, Resource: model.ResourceCPU})
	return nil
}
