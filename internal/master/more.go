package master

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/plan"
)

// planMore plans the next step of a run whose steps depend on what was
// measured, waits until it may begin, and stores it. more is false when there
// is none.
func (x *execution) planMore(ctx context.Context) (more bool, err error) {
	if x.exp == nil || !x.exp.Has(model.Search) {
		return false, nil
	}
	data, err := x.data(ctx)
	if err != nil {
		return false, err
	}
	next, err := plan.NextWindow(x.exp, data)
	if err != nil {
		return false, err
	}
	if next.Judged != nil {
		x.m.ev.emit(model.Event{Run: x.run.ID, Kind: model.EventWindow, Severity: model.Info, Text: next.Judged.String()})
	}
	if next.Step == nil {
		return false, nil
	}
	if err := x.waitUntil(ctx, next.After); err != nil {
		return false, err
	}
	err = x.m.persist(ctx, "planning "+describe(*next.Step), func(ctx context.Context) error {
		return x.m.cfg.Store.AddSteps(ctx, x.run.ID, []model.Step{*next.Step})
	})
	if err != nil {
		return false, err
	}
	x.steps = append(x.steps, *next.Step)
	return true, nil
}

// waitUntil returns the cause of ctx if that is done before.
func (x *execution) waitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(at.Sub(x.m.cfg.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
