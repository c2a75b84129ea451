package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Requests that are sent before a window of a search.
const (
	firstRequests = 5
	firstRate     = 50 // in requests per second
	// firstWithin is how long their answers are waited for.
	firstWithin = 10 * time.Second
)

// answers reports, for a search over HTTP, that the target answers none of a few
// requests: then it is not there, or the URL is wrong, and a search would go on
// for many minutes to find nothing. Data stores are connected to anyway. After
// a window that was missed the target may well be silent, and nobody asks.
func (p *Params) answers(ctx context.Context) error {
	if p.SLA == "" || p.Recover || !p.overHTTP() {
		return nil
	}
	few := engine.Plan{Arrivals: engine.Constant, Seed: uint64(p.Seed), Stages: []engine.Stage{
		engine.Hold(firstRate, firstRequests*time.Second/firstRate),
	}}
	var counts engine.Counts
	usage, err := p.driver.Run(ctx, engine.Run{Plan: few, Share: engine.All, Drain: min(p.Timeout.Std(), firstWithin), Each: func(s engine.Second) {
		for _, op := range s.Ops {
			counts.Add(op.Counts)
		}
	}})
	if err != nil || counts.OK > 0 {
		return err
	}
	example := errors.New("no answer came in time")
	if i := slices.IndexFunc(usage.Examples[:], func(err error) bool { return err != nil }); i >= 0 {
		example = usage.Examples[i]
	}
	return fmt.Errorf("%w: the target %s answered none of %d requests: %w; is it up, and the URL right?", model.ErrUnavailable, p.Target, counts.Due, example)
}
