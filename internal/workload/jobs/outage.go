package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// outages are the times in which slots wait for a store; run.mu guards them.
type outages struct {
	waiting int           // slots that do now
	since   time.Duration // when the first of them began
	total   time.Duration // of those that are over
	why     error         // why slots waited last
}

// errDown means that the store fails as a whole, and the item is given back.
var errDown = errors.New("the store fails as a whole")

// outageError means that the store has failed for too long: the task ends.
type outageError struct {
	lasted time.Duration
	why    error
}

func (e *outageError) Error() string {
	return fmt.Sprintf("the store has failed for %s, and no item is set aside for that: %v",
		e.lasted.Round(100*time.Millisecond), e.why)
}

func (e *outageError) Unwrap() error { return e.why }

// insist repeats a get or put as long as the store fails as a whole, because that is not
// the item's fault. If the item need not be held, it is given back instead, and the slot
// waits for the store before it takes another.
func (s *slot) insist(ctx context.Context, t *store.Target, hold bool, transfer func() error) error {
	for {
		err := transfer()
		if err == nil || ctx.Err() != nil {
			return err
		}
		why := t.Down(ctx, err)
		switch {
		case why == nil:
			return err
		case !hold:
			s.down, s.why = t, why
			return errDown
		}
		if err := s.await(ctx, t, why); err != nil {
			return err
		}
	}
}

const (
	// refusalTime is how long a store may refuse all requests: a clock may be set, or
	// credentials be renewed.
	refusalTime = 30 * time.Second
	// longestPause is the longest time between two questions whether the store answers.
	longestPause = 5 * time.Second
)

// await returns when the store answers again: nil; when the time is over: errOver; or when
// the store has failed for too long.
func (s *slot) await(ctx context.Context, t *store.Target, why error) error {
	begun := s.now()
	s.waits(1, why)
	defer func() { s.waits(-1, why) }()
	for pause := 100 * time.Millisecond; why != nil; pause = min(2*pause, longestPause) {
		lasted, limit := s.now()-begun, s.longestOutage(why)
		if lasted >= limit {
			return &outageError{lasted, why}
		}
		if workload.Pause(ctx, min(pause, limit-lasted)) != nil {
			return context.Cause(ctx)
		}
		if s.past(s.now()) {
			return errOver
		}
		why = t.Probe(ctx)
	}
	return nil
}

func (p *Params) longestOutage(why error) time.Duration {
	if store.IsRefusal(why) {
		return min(p.Outage.Std(), refusalTime)
	}
	return p.Outage.Std()
}

// waits notes that a slot begins to wait for the store (1), or ends that (-1).
func (r *run) waits(more int, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == 0 {
		r.since, r.outages.why = r.now(), why
		r.env.Report.Stage(outageStage, model.StageBegun, short(why.Error()))
		r.say("the store fails, and slots wait for up to %s: %v", r.longestOutage(why), why)
	}
	if r.waiting += more; r.waiting > 0 {
		return
	}
	r.total += r.now() - r.since
	if why != nil { // the task is over
		return
	}
	r.env.Report.Stage(outageStage, model.StageDone, "")
	r.say("the store answers again after %s", (r.now() - r.since).Round(100*time.Millisecond))
}

// outageStage is the stage of a task in which slots wait for its store.
const outageStage = "outage"
