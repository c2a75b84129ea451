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
	if x.searches == nil {
		x.searches = plan.NewSearches(x.exp)
	}
	news, err := x.dataFrom(ctx, x.searches.Told())
	if err != nil {
		return false, err
	}
	x.searches.Without(x.givenUp)
	next, err := x.searches.Next(news)
	if err != nil {
		return false, err
	}
	if next.Latest != "" {
		x.m.ev.emit(model.Event{Run: x.run.ID, Kind: model.EventWindow, Severity: model.Info, Text: next.Latest})
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

// dataFrom is what is stored of the run from a step on.
func (x *execution) dataFrom(ctx context.Context, number int) (data model.RunData, err error) {
	err = x.m.persist(ctx, "reading run "+string(x.run.ID), func(ctx context.Context) error {
		data, err = x.m.cfg.Store.DataFrom(ctx, x.run.ID, number)
		return err
	})
	return data, err
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
