package search

import (
	"fmt"
	"math"
	"slices"
)

// paper is Algorithm 1 of the paper on black-box throughput (section II), line
// by line, with what is wrong with it:
//
//   - the increment is half of what the text describes, which is Rate times the
//     gap of the last two loads of the ramp;
//   - it returns the last load less an increment; if the first fine step
//     failed, that load was never tried, and the one above it, which was, had
//     failed the SLA;
//   - if the first load fails, nothing is known to pass below it;
//   - nothing stops it upwards, and a window that fails by chance ends the
//     ramp or the search.
//
// What is not the paper's: it ends after MaxWindows, or when the next load
// would be above Max.
type paper struct {
	o      Options
	load   float64 // T_test
	inc    float64
	fine   bool // in the phase FineTuning
	over   bool
	answer float64 // what the paper returns; NaN before
	trials []Trial
	kept   []*bool // whether each trial kept the SLA; nil: it is not known
}

// RampRule is implemented by algorithms with a ramp that accepts windows by
// another rule than the SLA: an accepted window may have broken the SLA, and its
// load did not pass.
type RampRule interface {
	// ObserveRamp is Observe for a window of the ramp: accepted by the rule,
	// which decides about the next load; keptSLA decides about the result.
	// After the ramp it is Observe of keptSLA. Observe alone, in the ramp,
	// leaves unknown whether an accepted window kept the SLA.
	ObserveRamp(accepted, keptSLA bool)
}

func newPaper(o Options) *paper { return &paper{o: o, load: o.Start, answer: math.NaN()} }

// Next implements Search.
func (p *paper) Next() (float64, Phase, bool) {
	switch {
	case p.over:
		return 0, "", false
	case p.fine:
		return p.load, Refine, true
	}
	return p.load, Ramp, true
}

// Observe implements Search. A window that the ramp's rule refuses counts as
// one that broke the SLA; of one that it accepts only ObserveRamp can tell.
func (p *paper) Observe(passed bool) {
	if !p.fine && passed {
		p.observe(true, nil)
		return
	}
	p.observe(passed, &passed)
}

// ObserveRamp implements RampRule. A load that the rule refuses did not pass,
// even if it kept the SLA.
func (p *paper) ObserveRamp(accepted, ok bool) {
	switch {
	case p.fine:
		p.observe(ok, &ok)
	case !accepted && ok:
		p.observe(false, nil)
	default:
		p.observe(accepted, &ok)
	}
}

func (p *paper) observe(passed bool, kept *bool) {
	load, phase, ok := p.Next()
	if !ok {
		return
	}
	p.trials = append(p.trials, Trial{Load: load, Phase: phase, Passed: passed})
	p.kept = append(p.kept, kept)
	switch {
	case !p.fine && passed:
		p.load *= 2
	case !p.fine:
		p.fine = true
		p.load /= 2
		p.inc = p.o.Rate * (p.load / 2) // half of the gap, which is the load to which it goes back
	case passed:
		p.load += p.inc
	default:
		p.answer = p.load - p.inc
		p.over = true
	}
	p.over = p.over || len(p.trials) >= p.o.MaxWindows || p.load > p.o.Max
}

// broke reports whether a trial is known to have broken the SLA.
func (p *paper) broke(i int) bool { return p.kept[i] != nil && !*p.kept[i] }

// Result implements Search.
func (p *paper) Result() Result {
	r := unknown()
	r.Trials = slices.Clone(p.trials)
	r.Passed, r.Failed = p.lastSaid()
	r.Estimate = p.answer
	// A cap that broke the SLA is not a lower bound of the capacity.
	r.Capped = p.load > p.o.Max && !p.broke(len(p.kept)-1)
	r.Warnings = append(p.warnings(r), p.rampWarnings(r)...)
	return r
}

// lastSaid returns the largest load that kept the SLA in its last window, and
// the smallest above it that broke it in its last window.
func (p *paper) lastSaid() (passed, failed float64) {
	last := map[float64]bool{}
	for i, t := range p.trials {
		if p.kept[i] != nil {
			last[t.Load] = *p.kept[i]
		}
	}
	passed, failed = math.NaN(), math.NaN()
	for load, ok := range last {
		if ok && !(passed >= load) {
			passed = load
		}
	}
	for load, ok := range last {
		if !ok && !(load <= passed) && !(failed <= load) {
			failed = load
		}
	}
	return passed, failed
}

func (p *paper) warnings(r Result) []Warning {
	ws := []Warning{warn(AboutWindows, "the paper's algorithm does not repeat windows: a single wrong window gives a wrong result; the default algorithm repeats both sides of its result")}
	switch {
	case !p.over: // the caller knows why
	case p.load > p.o.Max && !r.Capped:
		ws = append(ws, warn(AboutBoundary, "the ramp's rule accepted all loads up to the largest allowed, %s, so the algorithm has no answer: use a smaller fraction or the default algorithm", p.o.Max))
	case r.Capped:
		ws = append(ws, warn(AboutBoundary, "the next load would exceed the largest allowed, %s: the boundary may be anywhere above; allow a larger load", p.o.Max))
	case math.IsNaN(p.answer):
		ws = append(ws, warn(AboutBoundary, fmt.Sprintf("no answer after %s that count, the most allowed; allow more", windows(len(p.trials)))))
	}
	if len(p.trials) > 0 && !p.trials[0].Passed {
		ws = append(ws, warn(AboutBoundary, "the first load, %s, failed, so the algorithm has no lower bound: start lower", p.trials[0].Load))
	}
	if !math.IsNaN(p.answer) && !passedAt(p.trials, p.answer) {
		ws = append(ws, warn(AboutBoundary, "the paper's answer, %s, was never tested", p.answer))
	}
	return ws
}

// rampWarnings say where the ramp's rule and the SLA disagree.
func (p *paper) rampWarnings(r Result) (ws []Warning) {
	broke := 0
	for i, t := range p.trials {
		if t.Phase == Ramp && t.Passed && p.broke(i) {
			broke++
		}
	}
	if broke > 0 {
		ws = append(ws, warn(AboutWindows, fmt.Sprintf("the ramp's rule accepted %s that broke the SLA: these loads did not pass", windows(broke))))
	}
	if math.IsNaN(r.Passed) && slices.ContainsFunc(p.trials, func(t Trial) bool { return t.Passed }) {
		ws = append(ws, warn(AboutBoundary, "the ramp's rule accepted loads, but no load is known to keep the SLA; start lower, or use the default algorithm"))
	}
	return ws
}

// passedAt reports whether a load was tried with success in the fine tuning, up
// to rounding: the algorithm adds the increment and subtracts it again.
func passedAt(trials []Trial, load float64) bool {
	return slices.ContainsFunc(trials, func(t Trial) bool {
		return t.Phase == Refine && t.Passed && math.Abs(t.Load-load) <= tiny*load
	})
}
