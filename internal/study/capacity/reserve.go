package capacity

import (
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/stats"
)

// Reserve is what a target gives beyond what it sustains: tokens of a bucket that
// lets bursts pass, credits, room in a cache or a queue.
type Reserve struct {
	// Sustained is at how many operations per second it answered well once the
	// reserve was used up; Operations is about how many more it gave before.
	Sustained  float64 `json:"sustained"`
	Operations float64 `json:"operations"`
	// Held is for how long the load passed was offered at a time, in seconds.
	Held float64 `json:"held_s"`
}

const (
	// reserveLeast is by what share more must have passed than a target answered
	// well at its limit for it to have had a reserve; reserveChance the standard
	// deviations that this must differ by.
	reserveLeast  = .03
	reserveChance = 3
	// reserveMargin is how many times as long as the reserve is known to last a
	// load is offered to show that there is none.
	reserveMargin = 1.5
)

// exhausted are the windows at the end of which a reserve is used up: those that
// missed the SLA at loads up to twice the one passed, or, where those do not tell or
// none could be offered, at that one.
func (r *replay) exhausted(passed float64) (out []Assessment) {
	for _, least := range []float64{math.Nextafter(passed, math.Inf(1)), passed} {
		out = nil
		for _, j := range r.judged[r.long.from:] {
			if j.Verdict == Missed && j.Stall == 0 && j.PathChange == nil && j.Load >= least && j.Load <= offered*passed {
				out = append(out, j)
			}
		}
		if rate, _ := sustained(out...); !math.IsNaN(rate) {
			break
		}
	}
	return out
}

// sustained is at how many operations per second the target answered well at the
// end of such windows, and its standard error; NaN without enough of them.
func sustained(windows ...Assessment) (rate, deviation float64) {
	var replies []float64
	for _, j := range windows {
		tail, _ := j.Tail()
		for _, n := range tail {
			replies = append(replies, float64(n))
		}
	}
	deviation, err := stats.SampleSD(replies)
	if err != nil {
		return math.NaN(), math.NaN()
	}
	return stats.Average(replies), max(deviation, 1) / math.Sqrt(float64(len(replies)))
}

// reserve compares the load passed with what the target sustains; nil where that
// is about as much. An overload may cost a target as much: a longer window tells.
func (r *replay) reserve(found search.Result) *Reserve {
	if r.cfg.Algorithm == search.Paper || r.long.held || !(found.Passed > 0) || r.long.passAlso(found.Passed, r.cfg.Resolution) {
		return nil
	}
	windows := r.exhausted(found.Passed)
	rate, deviation := sustained(windows...)
	more := found.Passed/(1+r.cfg.unnoticed()) - rate
	if !(more > reserveLeast*rate && more > reserveChance*deviation) {
		return nil
	}
	out := &Reserve{Sustained: rate, Held: r.heldFor(found.Passed)}
	for _, j := range windows {
		_, onset := j.Tail()
		out.Operations = max(out.Operations, (j.Load-rate)*(r.cfg.WarmUp+onset).Seconds())
	}
	for _, j := range r.judged[r.long.from:] {
		if j.Verdict == Passed {
			out.Operations = max(out.Operations, (j.Load-rate)*(r.cfg.WarmUp+j.Scored).Seconds())
		}
	}
	return out
}

// heldFor is for how long the load passed was offered at a time, in seconds.
func (r *replay) heldFor(passed float64) (longest float64) {
	for _, j := range r.judged[r.long.from:] {
		if j.Verdict == Passed && j.Load == passed {
			longest = max(longest, (r.cfg.WarmUp + j.Scored).Seconds())
		}
	}
	return longest
}

// lengthened is the part of a search that offers loads for longer, to tell what a
// target sustains from what it has in reserve.
type lengthened struct {
	proving   bool          // the next window is to show whether the load passed is sustained
	repeated  bool          // it is the second, after one that was missed and did not tell
	enough    bool          // it is long enough for that
	held      bool          // it passed: the load passed is sustained
	refuted   bool          // it was missed, and the reserve had run out
	scored    time.Duration // of its windows; 0: as usual
	from      int           // index of the first window that the result is of
	counted   int           // windows that counted before that
	passed    float64       // the load that passed before
	sustained float64       // what the target seemed to sustain then
}

// passAlso reports whether longer windows pass about the load that passed before.
func (l lengthened) passAlso(passed, resolution float64) bool {
	return l.from > 0 && passed > (1-resolution)*l.passed
}

// unproven reports whether nothing shows that the target sustains the load passed:
// it may have a reserve, or no larger load could be offered to use one up; and no
// window passed that was long enough to tell.
func (r *replay) unproven(found search.Result) bool {
	if r.cfg.Scored <= 0 || r.cfg.Algorithm == search.Paper || r.long.held || !(found.Passed > 0) {
		return false
	}
	rate, _ := sustained(r.exhausted(found.Passed)...)
	short := r.long.scored > 0 || math.IsNaN(rate) && r.cfg.lasts(found.Passed) < longest
	return r.reserve(found) != nil || short && r.long.from == 0
}

// prove asks for a window in which a reserve runs out, if there may be one. Where none
// tells how large that is, it is as long as may be; unless the user chose the length.
func (r *replay) prove(found search.Result) (wanted bool) {
	if r.long.proving {
		return true
	}
	if r.long.scored > 0 || !r.unproven(found) {
		return false
	}
	needed := longest.Seconds()
	if s := r.reserve(found); s != nil {
		needed = reserveMargin * s.Operations / (found.Passed - s.Sustained)
	} else if r.cfg.Given || r.cfg.most() <= r.cfg.lasts(found.Passed) {
		return false
	}
	r.long.proving, r.long.scored = true, r.within(max(2*r.cfg.Scored.Seconds(), needed))
	r.long.enough = r.long.scored.Seconds() >= needed
	return true
}

// within is a length of windows in whole seconds, of those that are allowed.
func (r *replay) within(seconds float64) time.Duration {
	most := r.cfg.most()
	return min(time.Duration(math.Ceil(min(seconds, most.Seconds())))*time.Second, most)
}

// proved takes the window that was to show whether the load is sustained. If the
// reserve ran out in it, the search begins anew below that load, with windows in
// which the reserve that was seen makes little difference; unless the user chose
// their length. If it was missed and the answers do not tell why, it is repeated once.
func (r *replay) proved(j Assessment) {
	found := r.algorithm.Result()
	s := r.reserve(found)
	rate, _ := sustained(j)
	ranOut := j.Verdict == Missed && j.Stall == 0 && s != nil &&
		((1+reserveLeast)*rate < found.Passed || r.long.repeated && !r.cfg.Given)
	r.long.counted++
	if j.Verdict == Missed && !ranOut && !r.long.repeated {
		r.long.repeated = true
		return
	}
	r.long.proving = false
	r.long.held, r.long.refuted = j.Verdict == Passed && r.long.enough, ranOut
	if ranOut && !r.cfg.Given {
		r.anew(found, *s)
	}
}

// anew searches again between what is sustained and what short windows missed.
func (r *replay) anew(found search.Result, s Reserve) {
	o := r.options
	o.Start = min(max((1-2*r.cfg.Resolution)*s.Sustained, o.Min), o.Max)
	if found.Failed > 0 {
		o.Max = found.Failed
	}
	o.MaxWindows = max(o.MaxWindows-len(found.Trials), 1)
	algorithm, err := search.New(o)
	if err != nil {
		return // the bounds are as close as they may be: what is known stays
	}
	r.long.scored = max(r.long.scored, r.within(s.Operations/(r.cfg.Resolution/2*s.Sustained)))
	r.long.passed, r.long.sustained = found.Passed, s.Sustained
	r.long.from, r.long.counted = len(r.judged), r.long.counted+len(found.Trials)
	r.algorithm, r.options, r.valid, r.back = algorithm, o, nil, &back{load: math.NaN()}
}

// markReserve marks the windows that passed from a reserve: above what is sustained,
// if longer windows do not pass that, too.
func (r *replay) markReserve(passed float64) {
	also := r.long.passAlso(passed, r.cfg.Resolution)
	for i := range r.judged[:r.long.from] {
		j := &r.judged[i]
		j.OnReserve = j.Verdict == Passed && j.Load > r.long.sustained && !also
	}
}
