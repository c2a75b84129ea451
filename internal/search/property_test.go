package search_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/search"
)

// randomOptions are options and a truth within their range.
func randomOptions(rng *rand.Rand) (search.Options, float64) {
	o := search.Options{
		Start:      math.Exp(rng.Float64()*12 - 2),
		Resolution: .01 + .2*rng.Float64(),
		Factor:     1.5 + 20*rng.Float64(),
		ErrorRate:  .01 + .1*rng.Float64(),
	}
	o.Min = o.Start / (1 + 500*rng.Float64())
	o.Max = o.Start * (1 + 5000*rng.Float64())
	return o, o.Min * math.Pow(o.Max/o.Min, rng.Float64())
}

// Without errors the result is right, whatever the options.
func TestNoErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // repeatable on purpose
	for range 500 {
		o, k := randomOptions(rng)
		s, err := search.New(o)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, sharp(k, nil))
		if !(r.Passed <= k && k < r.Failed && r.Failed <= r.Passed*(1+o.Resolution)) || !r.Confirmed || r.Capped || r.Floored {
			t.Errorf("%+v, boundary %v: passed %v, failed %v, confirmed %v, capped %v, floored %v",
				o, k, r.Passed, r.Failed, r.Confirmed, r.Capped, r.Floored)
		}
		if !(r.Passed <= r.Estimate && r.Estimate <= r.Failed && r.Low <= k && k <= r.High) || len(r.Warnings) > 0 {
			t.Errorf("%+v, boundary %v: estimate %v in [%v, %v], warnings %v", o, k, r.Estimate, r.Low, r.High, r.Warnings)
		}
	}
}

// Nighthawk's promise, without errors: its answer is within 1 % of the range's
// ends. It holds the simulation to the real thing.
func TestNighthawkNoErrors(t *testing.T) {
	for i := range 100 {
		k := truth(i, 100)
		r := run(t, newNighthawk(first, .01), sharp(k, nil))
		if !(r.Passed <= k && k < r.Failed && r.Failed < r.Passed*1.0205 && math.Abs(r.Estimate/k-1) < .0105) {
			t.Errorf("boundary %v: %v in [%v, %v]", k, r.Estimate, r.Passed, r.Failed)
		}
	}
}

// Paper's promise, without errors: the answer passes and an increment more
// fails; an increment is at most 5 % of the answer, at the rate .1.
func TestPaperNoErrors(t *testing.T) {
	for i := range 100 {
		k := truth(i, 100)
		r := run(t, newPaper(t, search.Options{MaxWindows: manyWindows}), sharp(k, nil))
		if !(r.Estimate <= k*(1+1e-9) && k < r.Failed && r.Failed <= 1.05*r.Estimate*(1+1e-9)) {
			t.Errorf("boundary %v: %v, failed %v", k, r.Estimate, r.Failed)
		}
	}
}

func TestCapped(t *testing.T) {
	s, err := search.New(search.Options{Start: 100, Max: 5000})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, s, func(float64) bool { return true })
	if r.Passed != 5000 || !math.IsNaN(r.Failed) || !math.IsNaN(r.Estimate) || r.Low != 5000 || !math.IsInf(r.High, 1) || !r.Capped || !r.Confirmed || r.Floored {
		t.Errorf("result %+v; want passed 5000, capped, confirmed", r)
	}
	wantWarning(t, r, "the largest load allowed, 5000, passed")
}

// A first load that is too high does not end the search: it goes down, as far as
// it may.
func TestStepsDown(t *testing.T) {
	o := search.Options{Start: 100, Min: 1}
	s, err := search.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, sharp(3, nil)); !(r.Passed <= 3 && r.Failed > 3) || !r.Confirmed {
		t.Errorf("boundary 3: passed %v, failed %v, confirmed %v", r.Passed, r.Failed, r.Confirmed)
	}
	if s, err = search.New(o); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, func(float64) bool { return false })
	if !math.IsNaN(r.Passed) || r.Failed != 1 || !math.IsNaN(r.Estimate) || r.Low != 0 || r.High != 1 || !r.Floored || !r.Confirmed || r.Capped {
		t.Errorf("result %+v; want failed 1, floored, confirmed", r)
	}
	wantWarning(t, r, "the smallest load allowed, 1, failed")
}

// The search never offers more than a step of the ramp above what has passed.
func TestOverload(t *testing.T) {
	for i := range 100 {
		k := truth(i, 100)
		pass := alone(.05)(k, rand.New(rand.NewPCG(uint64(i), 2))) //nolint:gosec // repeatable on purpose
		largest := first / 10
		s := ours.begin(t)
		for load, _, ok := s.Next(); ok; load, _, ok = s.Next() {
			if load > 10*largest*(1+1e-4) {
				t.Fatalf("boundary %v: tried %v when %v was the largest load passed", k, load, largest)
			}
			passed := pass(load)
			if passed {
				largest = max(largest, load)
			}
			s.Observe(passed)
		}
	}
}

// A search can be stopped after any window and taken up again.
func TestReplay(t *testing.T) {
	fresh := func() search.Search { return ours.begin(t) }
	pass := bursts(.05, 4)(5432, rand.New(rand.NewPCG(3, 3))) //nolint:gosec // repeatable on purpose
	whole := run(t, fresh(), pass)
	for n := range len(whole.Trials) + 1 {
		s := fresh()
		replay(t, s, whole.Trials[:n])
		if n == 0 {
			wantWarning(t, s.Result(), "no window was measured")
		}
		replay(t, s, whole.Trials[n:])
		if diff := cmp.Diff(whole, s.Result(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("stopped after %d windows (-whole +resumed):\n%s", n, diff)
		}
	}
}

// Fit says of all windows of a search what the search says; without a window
// that failed it says something else.
func TestFit(t *testing.T) {
	s := ours.begin(t)
	whole := run(t, s, bursts(.05, 4)(5432, rand.New(rand.NewPCG(3, 3)))) //nolint:gosec // repeatable on purpose
	estimate, low, high, err := search.Fit(search.Options{Start: first, Min: 1, Max: 1e8}, whole.Trials)
	if err != nil || estimate != whole.Estimate || low != whole.Low || high != whole.High {
		t.Errorf("of all windows: %v in [%v, %v], %v; want %v in [%v, %v]", estimate, low, high, err, whole.Estimate, whole.Low, whole.High)
	}
	passed := slices.DeleteFunc(slices.Clone(whole.Trials), func(x search.Trial) bool { return !x.Passed })
	if _, _, high, err := search.Fit(search.Options{Start: first, Min: 1, Max: 1e8}, passed); err != nil || high <= whole.High {
		t.Errorf("of windows that passed alone: up to %v, %v; want more than %v", high, err, whole.High)
	}
	if _, _, _, err := search.Fit(search.Options{}, nil); !errors.Is(err, search.ErrOptions) {
		t.Errorf("without a first load: %v, want ErrOptions", err)
	}
}

// replay tells a search of windows, which must be of the loads that it asks for.
func replay(t *testing.T, s search.Search, trials []search.Trial) {
	t.Helper()
	for i, trial := range trials {
		load, phase, ok := s.Next()
		if !ok || load != trial.Load || phase != trial.Phase {
			t.Fatalf("window %d is at %v (%s, over %v), want %v (%s)", i+1, load, phase, !ok, trial.Load, trial.Phase)
		}
		s.Observe(trial.Passed)
	}
}

// Where the smallest load allowed fails plainly, two windows tell; otherwise it
// takes as many as there may be disturbances in a row.
func TestFailsPlainly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 25)) //nolint:gosec // repeatable on purpose
	for range 200 {
		o, _ := randomOptions(rng)
		o.Min = o.Start
		for _, plainly := range []bool{true, false} {
			s, err := search.New(o)
			if err != nil {
				t.Fatal(err)
			}
			sure, ok := s.(search.Sure)
			if !ok {
				t.Fatalf("%T does not know windows that fail plainly", s)
			}
			for _, _, more := s.Next(); more; _, _, more = s.Next() {
				if plainly {
					sure.ObserveSurely()
				} else {
					s.Observe(false)
				}
			}
			r := s.Result()
			if !r.Floored || !r.Confirmed || r.Failed != o.Start || plainly != (len(r.Trials) == 2) || len(r.Trials) > 10 {
				t.Fatalf("%+v, plainly %v: floored %v, confirmed %v, failed %v, %d windows", o, plainly, r.Floored, r.Confirmed, r.Failed, len(r.Trials))
			}
		}
	}
}
