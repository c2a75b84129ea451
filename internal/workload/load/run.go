package load

import (
	"context"
	"fmt"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Prepare opens the driver. The first node then makes sure that the server
// answers at all, or, where asked to, waits until it has worked off the load
// before.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	if o := env.Offer; o != nil { // the step sets the load
		p.Rate, p.Recover, p.Seed = &unit.Rate{Value: o.Rate, Base: unit.Operations}, o.Recover, o.Seed
	}
	if p.Rate == nil && p.Users == 0 {
		return fmt.Errorf("%w: no load is given: set rate: or users:, or use evaluations: [search], which chooses the rate", model.ErrUsage)
	}
	var err error
	if p.driver, err = p.open(ctx, env); err != nil {
		return err
	}
	if env.Part > 0 {
		return nil
	}
	if p.Recover {
		p.recover(ctx, env, recoverWithin)
	}
	return p.answers(ctx)
}

// Run offers the load and reports what became of it.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	scorer := engine.NewScorer(len(p.driver.Ops()), p.WarmUp.Std(), p.scored())
	start := time.Now()
	progress := progress{report: env.Report, start: start}
	probes := p.probe(ctx, start)
	warm := start.Add(p.WarmUp.Std())
	segments := countSegments(ctx, warm, warm.Add(p.scored()))
	usage, err := p.driver.Run(ctx, engine.Run{
		Plan: p.plan(), Share: engine.Share{Index: env.Part, Of: env.Parts}, Start: start, Drain: p.drain(),
		Each: func(s engine.Second) {
			scorer.Add(s)
			progress.add(s)
		},
	})
	handshakes, arrived := probes(), segments()
	if err != nil {
		return fmt.Errorf("offering load to %s: %w", p.address(), err)
	}
	summary := scorer.Summary(p.driver.Ops(), usage)
	summary.RTT, summary.Segments = p.meanwhile(handshakes), arrived
	for _, example := range usage.Examples {
		if example != nil {
			_, _ = fmt.Fprintln(env.Stderr, example) // kept with the task; the counts do not depend on it
		}
	}
	return summary.Report(env.Report)
}

// plan is the load of all nodes together.
func (p *Params) plan() engine.Plan {
	whole := p.WarmUp.Std() + p.scored()
	plan := engine.Plan{Arrivals: engine.Arrivals(p.Arrivals), Seed: uint64(p.Seed)}
	if p.Users > 0 {
		plan.Closed = &engine.Closed{Users: p.Users, Think: p.Think.Std(), Duration: whole}
		return plan
	}
	plan.Stages = []engine.Stage{engine.Hold(p.Rate.Value, whole)}
	return plan
}

// probe makes handshakes beside the load, until the function returned is
// called.
func (p *Params) probe(ctx context.Context, start time.Time) (end func() []engine.Handshake) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []engine.Handshake, 1)
	go func() { done <- prober{address: p.address(), every: p.Handshakes.Std()}.run(ctx, start) }()
	return func() []engine.Handshake {
		cancel()
		return <-done
	}
}

// meanwhile leaves out what was measured while warming up and draining.
func (p *Params) meanwhile(all []engine.Handshake) []engine.Handshake {
	var out []engine.Handshake
	for _, h := range all {
		if h.At >= p.WarmUp.Std() && h.At < p.WarmUp.Std()+p.scored() {
			out = append(out, h)
		}
	}
	return out
}

// progress publishes answers as they come.
type progress struct {
	report workload.Reporter
	start  time.Time
	sum    float64
}

func (p *progress) add(s engine.Second) {
	p.sum += float64(s.Replies)
	// The last second may be shorter.
	at := min(time.Duration(s.Index+1)*time.Second, time.Since(p.start))
	p.report.ProgressAt(engine.MetricThroughput, "op", at, p.sum)
}
