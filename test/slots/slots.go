// Package slots is a workload of tests: slots that take items from the queue of their
// step, and finish each at once. It measures the queue alone.
package slots

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/workload"
)

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{Name: "slots", Summary: "Takes items from the queue of the step.",
		New: func() workload.Workload { return &params{Slots: 1} }}
}

type params struct {
	Slots int   `json:"slots"`
	Items int64 `json:"items"`

	done atomic.Int64 // results that count
	last atomic.Int64 // when the last result was told to count, in ns since the start
}

func (p *params) Validate() error         { return nil }
func (p *params) Estimate() time.Duration { return 0 }

func (p *params) open() *jobs.Open {
	return &jobs.Open{Count: p.Items, Lease: time.Minute, Tries: jobs.MaxTries}
}

// Prepare opens the queue.
func (p *params) Prepare(ctx context.Context, env *workload.Env) error {
	if env.Jobs == nil {
		return errors.New("there is no queue of items")
	}
	_, err := env.Jobs(ctx, jobs.Call{Open: p.open()})
	return err
}

// Run works until the queue is drained.
func (p *params) Run(ctx context.Context, env *workload.Env) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	var all, helpers sync.WaitGroup
	for slot := range p.Slots {
		all.Go(func() {
			if err := p.work(ctx, env, slot, begun); err != nil {
				cancel(err)
			}
		})
	}
	helpers.Go(func() { p.tell(ctx, env) })
	all.Wait()
	err := context.Cause(ctx)
	env.Report.Progress("jobs", "job", float64(p.done.Load()))
	cancel(nil)
	helpers.Wait()
	env.Report.Sample(workload.Info("jobs_done", "1", float64(p.done.Load())))
	env.Report.Sample(workload.Info("jobs_last", "s", time.Duration(p.last.Load()).Seconds()))
	env.Report.Sample(workload.Capacity("jobs", "job/s", float64(p.done.Load())/time.Since(begun).Seconds(), ""))
	return err
}

// tell reports progress.
func (p *params) tell(ctx context.Context, env *workload.Env) {
	for workload.Pause(ctx, 500*time.Millisecond) == nil {
		env.Report.Progress("jobs", "job", float64(p.done.Load()))
	}
}

// work is the life of one slot: one call finishes an item and takes the next.
func (p *params) work(ctx context.Context, env *workload.Env, slot int, begun time.Time) error {
	c := jobs.Call{Open: p.open(), Take: 1}
	for {
		r, err := env.Jobs(ctx, c)
		if err != nil {
			return err
		}
		if n := len(c.Finish) - len(r.Refused); n > 0 {
			p.done.Add(int64(n))
			p.last.Store(int64(time.Since(begun))) // of slots that meet, either
		}
		c = jobs.Call{Take: 1}
		switch {
		case len(r.Leases) > 0:
			l, now := r.Leases[0], time.Since(begun).Seconds()
			c.Finish = []jobs.Record{{Lease: l.ID, Key: l.Key, Name: l.Name, Try: l.Try, Slot: slot, Outcome: jobs.Done,
				Begin: now, End: now}}
		case r.State.Drained:
			return nil
		default:
			if err := workload.Pause(ctx, r.Again); err != nil {
				return err
			}
		}
	}
}
