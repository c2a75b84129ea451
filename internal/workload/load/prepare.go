package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
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
	if len(p.Agreement.Terms) == 0 || p.Recover || !p.overHTTP() {
		return nil
	}
	few := engine.Plan{Arrivals: engine.Constant, Seed: p.drawn, Stages: []engine.Stage{
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
	example := cmp.Or(usage.Pending, errors.New("no answer came in time"))
	if i := slices.IndexFunc(usage.Examples[:], func(err error) bool { return err != nil }); i >= 0 {
		example = usage.Examples[i]
	}
	return p.unanswered(counts.Due, example)
}

// redirected asks the target once more, for each kind of request, and returns
// an error that says where it sends its clients; nil if it redirects none of
// them. Drivers know the status of an answer only.
func (p *Params) redirected(ctx context.Context, within time.Duration) error {
	requests, err := p.requests()
	if err != nil {
		return err
	}
	target, err := p.standard(requests) //nolint:contextcheck // it connects to nothing yet
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r := target.Redirect(ctx)
	if r == nil {
		return nil
	}
	return fmt.Errorf("%w: %s answers %d and redirects to %s, so only the redirect would be measured: use the URL it redirects to, or accept the redirect with --expect %d, or expect: in requests",
		model.ErrUnavailable, r.From, r.Status, r.To, r.Status)
}

// Times of a recovery.
const (
	// RecoverWithin bounds it, unless the step allows more. A server that is not
	// back by then is measured as it is, and the window says so.
	RecoverWithin = 20 * time.Second
	// recoverShare of the load to come is offered meanwhile, at most
	// recoverMost in operations per second.
	recoverShare = .05
	recoverMost  = 50
	// recoverDrain is how long answers to it are waited for at least: an SLA
	// of microseconds leaves too little time to see how slow they are.
	recoverDrain = 2 * time.Second
)

// recover offers a light load until the server keeps the SLA. It says when the
// server did not do so within a time, or did not get any quicker; and reports
// whether nothing can be left of the load before.
func (p *Params) recover(ctx context.Context, env *workload.Env, within time.Duration) bool {
	if len(p.Agreement.Terms) == 0 || p.Rate == nil {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var pace pace
	for begin := time.Now(); bounded.Err() == nil; {
		w, err := p.lightSecond(bounded)
		if err == nil && len(p.Agreement.Judge(w)) == 0 || err != nil && bounded.Err() == nil {
			if took := time.Since(begin).Round(time.Second); took > RecoverWithin {
				_, _ = fmt.Fprintf(env.Stderr, "the server worked off the load before for %v\n", took)
			}
			return true // another error shows again, and is reported, with the load itself
		}
		if err == nil && pace.settled(w) {
			within = time.Since(begin).Round(100 * time.Millisecond)
			_, _ = fmt.Fprintf(env.Stderr, "the server did not keep the SLA under a light load within %v, and got no quicker: it has nothing left to work off\n", within)
			return true
		}
	}
	if ctx.Err() == nil {
		_, _ = fmt.Fprintf(env.Stderr, "the server did not keep the SLA under a light load within %v\n", within)
	}
	return false
}

// lightSecond offers a light load for a second.
func (p *Params) lightSecond(ctx context.Context) (engine.Window, error) {
	light := engine.Plan{Arrivals: engine.Constant, Stages: []engine.Stage{
		engine.Hold(max(min(recoverShare*p.Rate.Value, recoverMost), 1), time.Second),
	}}
	scorer := engine.NewScorer(len(p.driver.Ops()), 0, time.Second)
	_, err := p.driver.Run(ctx, engine.Run{Plan: light, Share: engine.All, Drain: max(p.Agreement.Drain(), recoverDrain), Each: scorer.Add})
	if err != nil {
		return engine.Window{}, err
	}
	s := scorer.Summary(p.driver.Ops(), engine.Usage{})
	total, err := s.Total()
	// All answers count as in time: a second is too short to tell who falls behind.
	return engine.Window{Scored: s.Scored, Counts: total.Counts, Replies: total.OK, Latencies: total.Latency}, err
}

// What counts as quicker than before: a backlog that is worked off gets shorter
// by nearly a second each second, which is far more.
const (
	quickerShare = .05
	quickerBy    = 10 * time.Millisecond
	// slowSeconds in a row without progress are the end: one alone may be a
	// stall of something else.
	slowSeconds = 2
)

// pace follows how quick the seconds of a recovery are.
type pace struct {
	best [2]time.Duration // of each quantile; 0 before it is known
	slow int              // seconds in a row that were not quicker
}

// settled takes a second, and reports whether the server has stopped getting
// quicker. While not even nine in ten are answered well nothing is settled.
func (p *pace) settled(w engine.Window) bool {
	if _, known := w.Latency(.9); !known {
		p.slow = 0
		return false
	}
	p.slow++
	for i, q := range [...]float64{.5, .9} {
		d, _ := w.Latency(q)
		best := p.best[i]
		if best == 0 || float64(d) < (1-quickerShare)*float64(best) && d < best-quickerBy {
			p.slow = 0
		}
		if best == 0 || d < best {
			p.best[i] = max(d, 1)
		}
	}
	return p.slow >= slowSeconds
}
