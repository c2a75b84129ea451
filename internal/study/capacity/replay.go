package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// maxRedo is how often a window is repeated that says nothing about the target,
// before that itself is what it says.
const maxRedo = 1

// A search in which other windows told nothing when they were repeated does not
// repeat any more; and it ends once so many windows, and most of all, tell nothing.
// At the smallest load, with nothing below it to go on with, fewer are enough.
const (
	maxAtMin    = 2
	mostFutile  = 3
	mostUseless = 18
)

// Next is the window to measure next.
type Next struct {
	Load  float64 // operations per second
	Phase search.Phase
	// Recover says that the last window was missed: the target may still be
	// working off what it was given, and has to be let go of it first.
	Recover bool
	// RecoverWithin is how long that may take; 0: as long as usual.
	RecoverWithin time.Duration
	// Scored is for how long the load is offered after the warm-up.
	Scored time.Duration
}

// begin is a search without a window so far.
func (c Config) begin() (*replay, error) {
	algorithm, err := search.New(c.Options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	r := &replay{cfg: c, algorithm: algorithm, options: c.Options}
	r.ask()
	return r, nil
}

// takeAll takes windows. That they are not those which the search asks for is
// model.ErrInvalid.
func (r *replay) takeAll(windows []load.Window) error {
	for _, w := range windows {
		if r.over || w.Load != r.next.Load {
			return fmt.Errorf("%w: window %d offered %v operations/s, which this search has not asked for", model.ErrInvalid, len(r.judged)+1, w.Load)
		}
		r.take(w)
	}
	return nil
}

// replay goes through the windows of a search.
type replay struct {
	cfg       Config
	algorithm search.Search
	options   search.Options // of the algorithm
	next      Next
	over      bool
	redone    int           // how often the next window was repeated
	losses    int           // in how many windows records were lost
	futile    int           // how many windows were repeated and told nothing again
	long      lengthened    // windows that tell what the target sustains
	baseline  load.Window   // windows' round-trip times are compared with its
	rebased   bool          // the baseline was passed
	settled   []int         // those of judged by which the path had changed for good
	congested *load.Window  // the path as it was in a window missed for its sake, twice
	light     time.Duration // the shortest that answers took on average, from when they were sent
	lighting  bool          // the next window is to show that
	lit       bool          // there was one
	backlog   backlog       // what the target may have left of missed windows
	back      *back         // the return to an earlier load; nil: none
	judged    []Assessment
	valid     []search.Trial // what the algorithm was told of windows that say something of the target
	doubted   model.Doubts
}

// ask takes the next window from the algorithm.
func (r *replay) ask() {
	rate, phase, ok := r.algorithm.Next()
	useless := r.useless()
	if ok = ok && !useless; !ok && !useless {
		switch found := r.algorithm.Result(); {
		case r.unlit(found):
			r.lighting, r.lit = true, true
			rate, phase, ok = max(lightShare*found.Passed, r.cfg.Min), search.Confirm, true
		case r.prove(found):
			rate, phase, ok = found.Passed, search.Confirm, true
		}
	}
	if !ok && r.back == nil {
		r.back = r.earlier()
	}
	if !ok && r.back.open() {
		rate, phase, ok = r.back.load, search.Confirm, true
	}
	r.over, r.redone = !ok, 0
	r.next = Next{Load: rate, Phase: phase, Scored: r.cfg.lasts(rate)}
	if r.long.proving || r.long.from > 0 {
		r.next.Scored = max(r.next.Scored, r.long.scored)
	}
}

// lightShare of the load passed is a light load.
const lightShare = .25

// unlit reports whether operations waited for connections in windows that decide,
// and it is not known how long answers take under a light load.
func (r *replay) unlit(found search.Result) bool {
	return r.light == 0 && !r.lit && r.cfg.Algorithm != search.Paper && slices.ContainsFunc(r.judged, func(j Assessment) bool {
		return j.Verdict == Missed && j.Load > found.Passed && j.Load <= offered*found.Passed && j.Share(j.Counts.Waited) > waitedShare
	})
}

// useless reports whether the search gets nowhere: most windows say nothing about
// the target.
func (r *replay) useless() bool {
	n := r.unusable()
	return n >= mostUseless && 2*n > len(r.judged)
}

// unusable is how many windows say nothing about the target.
func (r *replay) unusable() int {
	return len(only(r.judged, func(j Assessment) bool { return j.Verdict == Unusable }))
}

// take judges a window and acts on it.
func (r *replay) take(w load.Window) {
	// The shortest round trips so far are the nearest to those without a load: while no
	// window has been passed, they are the baseline. A lower load that does not fill the
	// path is so no change of it.
	if !r.rebased && r.lighter(w) {
		r.baseline = w
	}
	j := r.judge(w)
	defer func() { r.next.RecoverWithin = r.backlog.take(j, r.cfg.WarmUp) }()
	switch {
	case j.Verdict == Passed:
		r.rebase(w)
	case j.Verdict == Missed:
	case j.RecordsLost != nil: // what is gone is loaded again, and the window repeated
		r.losses++
		r.judged = append(r.judged, j)
		r.over, r.next.Recover = r.losses > maxLosses, true
		return
	case r.redone < maxRedo && r.futile < mostFutile && (j.Load > r.options.Min || len(r.windowsAt(j.Load, Unusable)) < maxAtMin):
		r.redone++
		r.judged = append(r.judged, j)
		r.next.Recover = true
		return
	case len(j.Problems) > 0 || j.Backlog != nil:
		r.futile++
		// More load than this cannot be offered. The search goes on below,
		// where the target may have its limit; if not, its result says so.
	default:
		// The load may have made the path what it is; a window that passes
		// will tell. It is missed, and those like it are not repeated again.
		r.congested = &w
		j.Verdict = Missed
	}
	r.judged = append(r.judged, j)
	switch {
	case r.lighting:
		r.lighting, r.long.counted = false, r.long.counted+1
	case r.long.proving:
		r.proved(j)
	case r.back.open():
		r.back.take(j.Verdict)
	default:
		r.observe(j)
	}
	r.ask()
	r.next.Recover = j.Verdict != Passed
}

// observe tells the algorithm what came of a window. Where its ramp accepts
// windows by another rule than the SLA, it is told of the SLA, too.
func (r *replay) observe(j Assessment) {
	passed := j.Verdict == Passed
	if j.Verdict != Unusable {
		r.valid = append(r.valid, search.Trial{Load: j.Load, Phase: j.Phase, Passed: passed})
	}
	if both, ok := r.algorithm.(search.RampRule); ok {
		both.ObserveRamp(passed, len(r.cfg.SLA.Judge(j.Window)) == 0)
		return
	}
	// There is no load below the smallest allowed to go on with, so where none passed
	// there, more windows that tell nothing would tell no more.
	sure, ok := r.algorithm.(search.Sure)
	hopeless := j.Verdict == Missed && j.Hopeless() || j.Verdict == Unusable && len(r.windowsAt(j.Load, Passed)) == 0
	if ok && j.Load == r.options.Min && hopeless {
		sure.ObserveSurely()
		return
	}
	r.algorithm.Observe(passed)
}

// Review computes what a search has found, from its windows in order.
func (c Config) Review(windows []load.Window) (Answer, error) {
	r, err := c.begin()
	if err == nil {
		err = r.takeAll(windows)
	}
	if err != nil {
		return Answer{}, err
	}
	return r.result(), nil
}
