// Package contextswitch measures what a context switch costs a processor, against
// the number of threads that take turns on it (lmbench's lat_ctx; McVoy and Staelin,
// "lmbench: portable tools for performance analysis", USENIX 1996; fig. 5 of the
// n-tier paper).
//
//  1. So many threads of the operating system stand in a ring of pipes, all bound to
//     one processor. A byte goes around: each thread reads it, which makes it sleep
//     until the one before has written, and writes it for the next.
//  2. Between two batches of rounds all threads sleep. Then their processor time and
//     their context switches are read, as the kernel counts them: no clock that goes
//     on while the host is held back by a limit, or while others work, is in it.
//  3. In turns with the batches one thread, on the same processor, writes and reads
//     as many pipes without ever sleeping: what passing the byte costs by itself.
//  4. A switch costs what a batch took less its passes, by its switches. The value of
//     a number of threads is the median of its batches.
package contextswitch

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// What the workload reports, each with the label threads.
const (
	MetricTime = "context_switch_time" // ns of processor time
	metricPass = "context_switch_pass" // ns that passing the byte takes without a switch
	metricEach = "context_switches_per_pass"
	LabelCount = "threads"
)

// Params are the parameters of the workload.
type Params struct {
	Threads  []int         `json:"threads,omitempty" jsonschema:"maxItems=50,uniqueItems=true,minimum=2,maximum=2000" jsonschema_description:"How many threads take turns on one processor, each number by itself. Default: 2, 8, 40, 100 and 400."`
	Duration unit.Duration `json:"duration,omitempty" jsonschema:"description=How long each number of threads is measured,default=1s"`

	cpu int // of those that this process may use
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "context_switch",
		Summary: "Processor time of a context switch against the number of threads that take turns.",
		New:     func() workload.Workload { return &Params{Duration: unit.Duration(time.Second)} },
	}
}

// counts are the numbers of threads. (A default in New would be overwritten element
// by element when parameters are decoded.)
func (p *Params) counts() []int {
	if len(p.Threads) == 0 {
		return []int{2, 8, 40, 100, 400}
	}
	return slices.Sorted(slices.Values(p.Threads))
}

const (
	leastDuration = 100 * time.Millisecond
	batches       = 9
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return workload.Refuse(p.Duration.Std() < leastDuration, "duration", fmt.Sprintf("%v or more", leastDuration),
		"%s is too short to measure", p.Duration)
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration {
	return time.Duration(len(p.counts())) * p.Duration.Std()
}

// Prepare chooses the processor, and finds out now what this system cannot do.
// Nodes that share a machine are spread over its processors by their names.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	cpus, err := processors()
	if err != nil {
		return err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(env.Node)) // never fails
	p.cpu = cpus[int(h.Sum32()%uint32(len(cpus)))]
	_, err = p.measure(ctx, slices.Max(p.counts()), leastDuration/batches)
	return err
}

// Run measures one number of threads after the other.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	for _, n := range p.counts() {
		c, err := p.measure(ctx, n, p.Duration.Std())
		if err != nil {
			return err
		}
		for i, x := range []model.Sample{
			{Metric: MetricTime, Unit: "ns", Value: c.nanoseconds}, {Metric: metricPass, Unit: "ns", Value: c.pass},
			{Metric: metricEach, Unit: "1", Value: c.each},
		} {
			x.Better, x.Info, x.Labels = model.Lower, i > 0, map[string]string{LabelCount: strconv.Itoa(n)}
			env.Report.Sample(x)
		}
	}
	return nil
}

// cost is what a switch between so many threads costs: medians of the batches.
type cost struct {
	nanoseconds float64
	pass        float64 // ns
	each        float64 // switches a pass, of all batches
}

// batch is what the kernel counted of the threads of a ring.
type batch struct {
	passes, switches int64
	cpu, pass        float64 // ns; pass: of one without a switch
}

// fewestSwitches is how many a pass must cause: a byte that goes to another thread of
// the same processor causes one. Fewer were not on one processor, or not counted.
const fewestSwitches = .9

// measure measures one number of threads for so long.
func (p *Params) measure(ctx context.Context, threads int, d time.Duration) (cost, error) {
	of, err := rounds(ctx, threads, p.cpu, d)
	if err != nil {
		return cost{}, fmt.Errorf("%d threads: %w", threads, err)
	}
	var each, pass []float64
	var switches, passes int64
	for _, b := range of {
		switches, passes = switches+b.switches, passes+b.passes
		each, pass = append(each, (b.cpu-float64(b.passes)*b.pass)/float64(max(1, b.switches))), append(pass, b.pass)
	}
	c := cost{nanoseconds: stats.Median(each), pass: stats.Median(pass), each: float64(switches) / float64(passes)}
	switch {
	case c.each < fewestSwitches:
		return c, fmt.Errorf("the kernel counted %d context switches when a byte was passed %d times between %d threads of processor %d: this system does not count them, or not all threads are on one processor; use another kind of node, or the switch_cost that you know", switches, passes, threads, p.cpu)
	case !(c.nanoseconds > 0):
		return c, fmt.Errorf("switching between %d threads took no more processor time than passing a byte (%.0f ns): the kernel's clock is too coarse here; use another kind of node", threads, c.pass)
	}
	return c, nil
}
