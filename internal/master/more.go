package master

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// decideMore asks the design what comes next in a run in which results decide,
// waits until it may begin, and stores it. more is false when the run is over.
func (x *execution) decideMore(ctx context.Context) (more bool, err error) {
	if x.exp == nil {
		return false, nil
	}
	if x.sequence == nil {
		if err := x.begin(ctx); err != nil {
			return false, err
		}
	}
	news, err := x.dataFrom(ctx, x.sequence.Told())
	if err != nil {
		return false, err
	}
	x.sequence.Lost(slices.Collect(maps.Keys(x.givenUp)))
	steps, after, latest, err := x.sequence.Next(observe.Of(news))
	if err != nil {
		return false, err
	}
	if latest != "" {
		x.m.ev.emit(model.Event{Run: x.run.ID, Kind: model.EventWindow, Severity: model.Info, Text: latest})
	}
	if len(steps) == 0 {
		return false, nil
	}
	if err := x.waitUntil(ctx, after); err != nil {
		return false, err
	}
	err = x.m.persist(ctx, "planning "+describe(steps[0]), func(ctx context.Context) error {
		return x.m.cfg.Store.AddSteps(ctx, x.run.ID, steps)
	})
	if err != nil {
		return false, err
	}
	x.steps = append(x.steps, steps...)
	return true, nil
}

// begin makes the sequence of a run from its file and the nodes that it began
// with.
func (x *execution) begin(ctx context.Context) error {
	data, err := x.dataFrom(ctx, len(x.steps))
	if err == nil {
		x.sequence, err = design.NewSequence(x.exp, data.Run, data.Nodes)
	}
	return err
}

// dataFrom is what is stored of the run from a step on.
func (x *execution) dataFrom(ctx context.Context, number int) (data model.RunData, err error) {
	err = x.m.persist(ctx, "reading run "+string(x.run.ID), func(ctx context.Context) error {
		data, err = x.m.cfg.Store.DataFrom(ctx, x.run.ID, number)
		return err
	})
	return data, err
}

// restFrom is how long a wait for its time must be, for a run to give its nodes
// back meanwhile: shorter than that, bringing a fleet up again takes longer.
const restFrom = 5 * time.Second

// waitUntil returns when it is time, or with the cause of ctx if that is done
// before. A run that waits for long holds nothing: its fleet goes down, others
// may use its nodes, and when it is time it gets in line again.
func (x *execution) waitUntil(ctx context.Context, at time.Time) error {
	rests := at.Sub(x.m.cfg.Now()) > restFrom
	if rests {
		x.down(ctx)
		x.m.leases.release(x.run.ID)
		x.sayWaiting(ctx, model.RunRunning, fmt.Sprintf("waiting until %s; other runs may use its nodes until then",
			at.UTC().Format("2006-01-02 15:04:05 UTC")))
	}
	timer := time.NewTimer(at.Sub(x.m.cfg.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	if !rests {
		return nil
	}
	x.claim = x.claim.again()
	x.m.leases.request(x.claim)
	if err := x.acquire(ctx, model.RunRunning); err != nil {
		return err
	}
	x.m.setRunState(ctx, x.run.ID, model.RunRunning, "")
	missing, err := x.up(ctx)
	for _, id := range missing {
		x.givenUp[id] = true // the steps go on without it
	}
	return err
}
