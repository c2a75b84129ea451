package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// floor is the flag --fail-below: the smallest capacity that a user accepts.
// Without it every one is.
type floor struct{ loadFlag }

func (f *floor) addFlag(cmd *cobra.Command) {
	cmd.Flags().Var(f, "fail-below", "exit code 3 if the server takes less than so many requests per second, 4 if that cannot be told")
}

// onlySearches refuses the flag for a run that searches for no capacity.
func (f *floor) onlySearches(d model.RunData) error {
	if f.given && !d.Has(model.Search) {
		return fmt.Errorf("%w: --fail-below is about a capacity, and run %s searches for none; leave it out", model.ErrUsage, d.Run.ID)
	}
	return nil
}

// checkCapacities holds what was found to --fail-below. A search that the
// generators or the path ended has no capacity of the target to report.
func checkCapacities(found []capacity.Found, least floor) error {
	var errs []error
	for _, f := range found {
		errs = append(errs, checkCapacity(f, least))
	}
	return worst(errs)
}

// worst is the error by which a command ends: that a capacity is too small says
// more than that another cannot be told.
func worst(errs []error) error {
	for _, err := range errs {
		if errors.Is(err, model.ErrThreshold) {
			return err
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkCapacity(f capacity.Found, least floor) error {
	r := f.Result
	switch {
	case r.Failure != "":
		return fmt.Errorf("%w: %s: nothing was measured: %s", model.ErrInvalid, f.Workload, r.Failure)
	case r.Limit == capacity.LimitUnknown:
		return fmt.Errorf("%w: %s: another version of scalebench has searched, in another way, so no capacity can be reported; search again", model.ErrInvalid, f.Workload)
	case least.given && takes(f, least.rate):
	case r.Limit == capacity.LimitGenerator:
		return fmt.Errorf("%w: %s: %s, so no capacity can be reported", model.ErrInvalid, f.Workload, r.GeneratorsWords())
	case r.Limit == capacity.LimitPath:
		return fmt.Errorf("%w: %s: the path to the target was at its limit, so no capacity of the target can be reported", model.ErrInvalid, f.Workload)
	case least.given && takesLess(f, least.rate):
		return fmt.Errorf("%w: %s: less than %v requests per second passed", model.ErrThreshold, f.Workload, least.rate)
	case least.given:
		return fmt.Errorf("%w: %s: whether %v requests per second pass cannot be told: too few windows say so; allow more (--windows), a larger load (--max), or go on with `scalebench resume`",
			model.ErrInvalid, f.Workload, least.rate)
	}
	return nil
}

// surely is how many windows must say so for it to be told: one may be chance.
const surely = 2

// takes reports whether the target surely takes a load.
func takes(f capacity.Found, load float64) bool {
	r := f.Result
	if r.Passed == nil || *r.Passed < load {
		return false
	}
	passed, missed := windowsBetween(f, load, *r.Passed)
	return r.Confirmed || passed >= surely && passed > missed
}

// takesLess reports whether it surely does not.
func takesLess(f capacity.Found, load float64) bool {
	r := f.Result
	if r.Failed == nil || r.Passed != nil && *r.Passed >= load || r.Limit != capacity.LimitTarget && r.Limit != capacity.LimitFloor {
		return false
	}
	passed, missed := windowsBetween(f, *r.Failed, load)
	return r.Confirmed || missed >= surely && missed > passed
}

// windowsBetween counts the windows that kept the SLA and those that missed it
// for the target's sake, at loads from low to high.
func windowsBetween(f capacity.Found, low, high float64) (passed, missed int) {
	for _, w := range f.Result.Windows {
		nearRTT := f.Config.Algorithm == search.Paper && w.Phase == search.Ramp // not by the SLA
		switch {
		case nearRTT || w.Load < low || w.Load > high:
		case w.Verdict == capacity.Passed:
			passed++
		case w.Verdict == capacity.Missed:
			missed++
		}
	}
	return passed, missed
}
