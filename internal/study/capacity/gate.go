package capacity

import (
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// Gate implements study.Result. A search that the generators or the path ended
// has no capacity of the target to report. Of several, that a capacity is too
// small says more than that another cannot be told.
func (r *Result) Gate() error {
	if len(r.Searches) == 1 && r.Searches[0].Answer.Failure != "" {
		return fmt.Errorf("%w: %s", model.ErrNothing, r.Searches[0].Answer.Failure)
	}
	var first error
	for _, s := range r.Searches {
		err := s.gate(r.least)
		if errors.Is(err, model.ErrThreshold) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// gate holds one search to the least capacity that is accepted; 0: any is. As
// every threshold it is held against the interval where there is one, and
// against the windows else.
func (s Search) gate(least float64) error {
	a, kind, asked := s.Answer, model.ErrInvalid, least > 0
	var why string
	switch {
	case a.Failure != "":
		why = "nothing was measured: " + a.Failure
	case a.open != nil:
		why = a.open.why + ", so no capacity can be reported; " + a.open.advice
	case asked && a.CI == nil && a.HeldFor > 0 && s.takes(least):
		why = fmt.Sprintf("it is unknown whether the target sustains %v requests per second: it took %s; "+
			"leave out --window (duration in a file), or allow longer windows", least, a.heldFor())
	case asked && s.takes(least):
		return nil
	case asked && a.Limit == LimitNone:
		kind, why = model.ErrUnfinished, fmt.Sprintf("whether %v requests per second pass is not known; "+
			"continue with `scalebench resume`, with the threshold again", least)
	case limits[a.Limit].gate != "":
		why = a.fill(limits[a.Limit].gate)
	case !asked:
		return nil
	case s.takesLess(least):
		kind, why = model.ErrThreshold, fmt.Sprintf("less than %v requests per second passed", least)
	case a.CI != nil:
		why = fmt.Sprintf("it is unknown whether %v requests per second pass: the capacity is %s to %s; "+
			"use longer windows, or a threshold outside of this interval", least, rate(a.CI[0]), rate(a.CI[1]))
	default:
		why = fmt.Sprintf("it is unknown whether %v requests per second pass: too few windows show it; allow more "+
			"windows (--windows) or a larger load (--max), or continue with `scalebench resume`", least)
	}
	return fmt.Errorf("%w: %s: %s", kind, s.Workload, why)
}

// surely is how many windows must say so for it to be told: one may be chance.
const surely = 2

// takes reports whether the target surely takes a load.
func (s Search) takes(rate float64) bool {
	a := s.Answer
	switch {
	case a.CI != nil:
		return a.CI[0] >= rate
	case a.Passed == nil || *a.Passed < rate:
		return false
	}
	passed, missed := s.windowsBetween(rate, *a.Passed)
	return a.Confirmed || passed >= surely && passed > missed
}

// takesLess reports whether it surely does not.
func (s Search) takesLess(rate float64) bool {
	a := s.Answer
	if a.CI != nil {
		return a.CI[1] < rate
	}
	if a.Failed == nil || a.Passed != nil && *a.Passed >= rate || a.Limit != LimitTarget && a.Limit != LimitFloor {
		return false
	}
	passed, missed := s.windowsBetween(*a.Failed, rate)
	return a.Confirmed || missed >= surely && missed > passed
}

// windowsBetween counts the windows that kept the SLA and those that missed it
// for the target's sake, at loads from low to high.
func (s Search) windowsBetween(low, high float64) (passed, missed int) {
	for _, w := range s.Answer.Windows {
		nearRTT := s.Config.Algorithm == search.Paper && w.Phase == search.Ramp // not by the SLA
		switch {
		case nearRTT || w.Load < low || w.Load > high:
		case w.Verdict == Passed:
			passed++
		case w.Verdict == Missed:
			missed++
		}
	}
	return passed, missed
}
