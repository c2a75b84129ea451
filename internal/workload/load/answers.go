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
	// firstWithin is how long their answers are waited for, unless the SLA
	// allows more.
	firstWithin = 10 * time.Second
)

// firstWithin is how long the target may take for its first answer.
func (p *Params) firstWithin() time.Duration {
	return min(p.Timeout.Std(), max(firstWithin, p.drain()))
}

// answers reports, for a search over HTTP, that the target answers none of a few
// requests: then it is not there, or the URL is wrong, and a search would go on
// for many minutes to find nothing. Data stores are connected to anyway. After
// a window that was missed the target may well be silent, and nobody asks. A
// target that only redirects is refused, too: its capacity is not what anybody
// means.
func (p *Params) answers(ctx context.Context) error {
	if p.SLA == "" || p.Recover || !p.overHTTP() {
		return nil
	}
	few := engine.Plan{Arrivals: engine.Constant, Seed: uint64(p.Seed), Stages: []engine.Stage{
		engine.Hold(firstRate, firstRequests*time.Second/firstRate),
	}}
	within := p.firstWithin()
	var counts engine.Counts
	usage, err := p.driver.Run(ctx, engine.Run{Plan: few, Share: engine.All, Drain: within, Each: func(s engine.Second) {
		for _, op := range s.Ops {
			counts.Add(op.Counts)
		}
	}})
	if err != nil || counts.OK > 0 {
		return err
	}
	if counts.Errors[engine.ErrStatus] > 0 {
		if err := p.redirected(ctx, within); err != nil {
			return err
		}
	}
	example := errors.New("no answer came in time")
	if i := slices.IndexFunc(usage.Examples[:], func(err error) bool { return err != nil }); i >= 0 {
		example = usage.Examples[i]
	}
	return fmt.Errorf("%w: the target %s answered none of %d requests: %w; check that it is running and that the URL is right", model.ErrUnavailable, p.Target, counts.Due, example)
}
