package search

import (
	"fmt"
	"math"
	"slices"
)

// adaptive is the default algorithm. It holds a belief about where the
// boundary is, and each window is where that belief is most in doubt:
//
//   - while one side of the believed boundary has no load yet, at most one step
//     of the ramp beyond what has passed (upwards) or failed (downwards);
//   - then at the median of the belief, which with reliable windows is a
//     bisection, and with others goes back to where a window was doubtful;
//   - when the loads on both sides are close enough, at these two in turn,
//     until each has enough windows for it and the belief is sure.
//
// If the confirmation contradicts, the belief moves, other loads stand beside
// its median, and the search refines again.
type adaptive struct {
	o      Options
	grid   grid
	belief belief
	tally  []tally // of each load of the grid
	trials []Trial
	last   int // the load of the last window
	next   step
}

// step is what to do next: try the load at, unless it is over.
type step struct {
	at    int
	phase Phase
	over  bool
}

func newAdaptive(o Options) *adaptive {
	g := newGrid(o)
	return &adaptive{
		o:      o,
		grid:   g,
		belief: newBelief(g, newNoise(o.ErrorRate)),
		tally:  make([]tally, len(g.loads)),
		last:   -1,
		next:   step{at: g.start, phase: Ramp},
	}
}

// Next implements Search.
func (s *adaptive) Next() (float64, Phase, bool) {
	if s.next.over {
		return 0, "", false
	}
	return s.grid.loads[s.next.at], s.next.phase, true
}

// Observe implements Search.
func (s *adaptive) Observe(passed bool) {
	if s.next.over {
		return
	}
	at := s.next.at
	s.trials = append(s.trials, Trial{Load: s.grid.loads[at], Phase: s.next.phase, Passed: passed})
	s.tally[at].add(passed)
	s.belief.observe(at, passed)
	s.last = at
	s.next = s.decide()
}

// ObserveSurely is Observe for a window that failed so plainly that hardly any
// disturbance explains it.
func (s *adaptive) ObserveSurely() {
	usual := s.belief.noise
	s.belief.noise = usual.plain()
	s.Observe(false)
	s.belief.noise = usual
}

// bracket is two loads of the grid, one on each side of the boundary as
// believed, with no load tried between them. -1 and the number of loads stand
// for sides on which nothing was tried.
type bracket struct{ below, above int }

func (s *adaptive) bracket() bracket {
	median, _ := s.belief.quantile(.5)
	b := bracket{below: median - 1, above: median}
	for b.below >= 0 && s.tally[b.below].windows() == 0 {
		b.below--
	}
	for b.above < len(s.tally) && s.tally[b.above].windows() == 0 {
		b.above++
	}
	return b
}

// close reports whether the sides are as close as they need be. The outermost
// loads are: there is nothing to try beyond them.
func (s *adaptive) close(b bracket) bool {
	switch {
	case b.below < 0:
		return b.above == 0
	case b.above == len(s.tally):
		return b.below == len(s.tally)-1
	}
	return s.grid.loads[b.above] <= s.grid.loads[b.below]*(1+s.o.Resolution)
}

// confirmed reports whether enough windows at the sides say what is believed.
func (s *adaptive) confirmed(b bracket) bool { return s.close(b) && s.sureBelow(b) && s.sureAbove(b) }

func (s *adaptive) sureBelow(b bracket) bool {
	return b.below < 0 || s.tally[b.below].surelyPassed()
}

func (s *adaptive) sureAbove(b bracket) bool {
	return b.above == len(s.tally) || s.tally[b.above].surelyFailed()
}

// decide chooses the next step.
func (s *adaptive) decide() step {
	b := s.bracket()
	switch {
	case len(s.trials) >= s.o.MaxWindows:
		return step{over: true}
	case s.close(b):
		return s.confirm(b)
	case b.below < 0 || b.above == len(s.tally):
		return step{at: s.limit(b, s.doubtful()), phase: Ramp}
	}
	return step{at: s.doubtful(), phase: Refine}
}

// doubtful is the load with the most uncertain side: of the two beside the
// median, the one with the more even odds. The lower one, if both are equal.
func (s *adaptive) doubtful() int {
	median, _ := s.belief.quantile(.5)
	low, high := max(median-1, 0), min(median, len(s.tally)-1)
	if s.belief.passes(low)-.5 > .5-s.belief.passes(high)+tiny {
		return high
	}
	return low
}

// limit keeps a step of the ramp within reach: up from the largest load that
// has ever passed, down from the smallest one known.
func (s *adaptive) limit(b bracket, at int) int {
	if b.below < 0 {
		return max(at, b.above-s.grid.ramp, 0)
	}
	passed := len(s.tally) - 1
	for passed >= 0 && s.tally[passed].passes == 0 {
		passed--
	}
	if passed < 0 {
		return min(at, s.grid.start)
	}
	return min(at, passed+s.grid.ramp, len(s.tally)-1)
}

const (
	// widest is how wide the interval may be when the search ends, in
	// resolutions. It is seldom wider once the sides are sure. Then it mostly
	// is by far, because windows at the upper side failed for what might be
	// one and the same disturbance, and another window settles that.
	widest = 4
	// patience is after how many windows at the two sides the search no longer
	// waits for it. If the boundary is not sharp, more windows would be spent
	// on an answer that stays the same.
	patience = 10
)

// confirm tries one of two sides that are close enough, or ends the search.
func (s *adaptive) confirm(b bracket) step {
	if s.sureBelow(b) && s.sureAbove(b) && (s.known(b) || s.windowsAt(b) >= patience) {
		return step{over: true}
	}
	return step{at: s.side(b), phase: Confirm}
}

// known reports whether the interval is narrow enough. Beside the outermost
// loads only one end matters.
func (s *adaptive) known(b bracket) bool {
	_, low, high := s.belief.estimate(s.grid)
	switch {
	case b.below < 0:
		return high <= s.grid.loads[b.above]
	case b.above == len(s.tally):
		return low >= s.grid.loads[b.below]
	}
	return s.narrow(low, high)
}

func (s *adaptive) narrow(low, high float64) bool {
	return high <= low*math.Pow(1+s.o.Resolution, widest)
}

func (s *adaptive) windowsAt(b bracket) int {
	sum := 0
	for _, at := range []int{b.below, b.above} {
		if at >= 0 && at < len(s.tally) {
			sum += s.tally[at].windows()
		}
	}
	return sum
}

// side chooses which side to try: the one that is not sure; if neither is, not
// the one just tried, for if the machine is disturbed, it will still be; else
// the one beyond which the boundary is more likely to be.
func (s *adaptive) side(b bracket) int {
	switch low, high := s.sureBelow(b), s.sureAbove(b); {
	case b.below < 0 || b.above < len(s.tally) && low && !high:
		return b.above
	case b.above == len(s.tally) || high && !low:
		return b.below
	case !low && !high && s.last == b.below:
		return b.above
	case !low && !high && s.last == b.above:
		return b.below
	}
	if s.belief.upTo(b.below) > s.belief.passes(b.above) {
		return b.below
	}
	return b.above
}

// Result implements Search.
func (s *adaptive) Result() Result {
	b := s.bracket()
	r := unknown()
	r.Trials = slices.Clone(s.trials)
	if len(s.trials) == 0 {
		r.Warnings = []Warning{warn(AboutBoundary, "no window was measured: nothing is known")}
		return r
	}
	passed, failed := s.reported(b)
	if passed >= 0 {
		r.Passed = s.grid.loads[passed]
	}
	if failed < len(s.tally) {
		r.Failed = s.grid.loads[failed]
	}
	r.Capped = passed == len(s.tally)-1
	r.Floored = b.below < 0 && failed == 0
	r.Confirmed = s.confirmed(b)
	r.Estimate, r.Low, r.High = s.belief.estimate(s.grid)
	r.Warnings = s.warnings(r)
	return r
}

// Fit estimates the boundary as the default algorithm does, from trials that need
// not be all of a search: a caller may know of some that they say nothing. Their
// loads are those that such a search has tried. The error is ErrOptions.
func Fit(o Options, trials []Trial) (estimate, low, high float64, err error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return math.NaN(), math.NaN(), math.NaN(), err
	}
	s := newAdaptive(o)
	for _, t := range trials {
		if at, ok := slices.BinarySearch(s.grid.loads, t.Load); ok {
			s.belief.observe(at, t.Passed)
		}
	}
	estimate, low, high = s.belief.estimate(s.grid)
	return estimate, low, high, nil
}

// reported are the loads nearest to the believed boundary with windows that
// agree with the belief; -1 and the number of loads if there is none.
func (s *adaptive) reported(b bracket) (passed, failed int) {
	passed, failed = b.below, b.above
	for passed >= 0 && !s.tally[passed].passed() {
		passed--
	}
	for failed < len(s.tally) && !s.tally[failed].failed() {
		failed++
	}
	return passed, failed
}

// tally counts the windows of one load.
type tally struct{ passes, fails int }

func (t *tally) add(passed bool) {
	if passed {
		t.passes++
	} else {
		t.fails++
	}
}

func (t tally) windows() int { return t.passes + t.fails }

// passed and failed are what most windows say.
func (t tally) passed() bool { return t.passes > t.fails }
func (t tally) failed() bool { return t.fails > t.passes }

// enough is how many windows must agree before a load is reported.
const enough = 2

func (t tally) surelyPassed() bool { return t.passed() && t.passes >= enough }
func (t tally) surelyFailed() bool { return t.failed() && t.fails >= enough }

// warnings say what is wrong with a result of the default algorithm. That it is
// not over is no doubt about it: the caller knows why.
func (s *adaptive) warnings(r Result) []Warning {
	var ws []Warning
	if s.next.over && !r.Confirmed {
		ws = append(ws, warn(AboutBoundary, fmt.Sprintf("not confirmed after %s that count, the most allowed: windows contradict each other; use longer windows, or allow more",
			windows(len(r.Trials)))))
	}
	if r.Capped {
		ws = append(ws, warn(AboutBoundary, "the largest load allowed, %s, passed: the boundary is at or above it; allow a larger load", r.Passed))
	}
	if r.Floored {
		ws = append(ws, warn(AboutFloor, "the smallest load allowed, %s, failed: the boundary is below it; allow a smaller load, or check whether the target passes at all", r.Failed))
	}
	if r.Confirmed && !r.Capped && !r.Floored && !s.narrow(r.Low, r.High) {
		ws = append(ws, warn(AboutBoundary, "the boundary is less precise than requested, between %s and %s: near it, windows pass and fail by chance; use longer windows", r.Low, r.High))
	}
	return ws
}

func windows(n int) string {
	if n == 1 {
		return "1 window"
	}
	return fmt.Sprintf("%d windows", n)
}
