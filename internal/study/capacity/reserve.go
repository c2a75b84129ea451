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

// exhausted are the windows that missed the SLA at loads up to twice the one
// passed, at the end of which a reserve is used up.
func (r *replay) exhausted(passed float64) (out []Assessment) {
	for _, j := range r.judged[r.long.from:] {
		if j.Verdict == Missed && j.Stall == 0 && j.PathChange == nil && j.Load > passed && j.Load <= offered*passed {
			out = append(out, j)
		}
	}
	return out
}

// sustained is at how many operations per second the target answered well at the
// end of such windows, and its standard error; NaN without enough of them.
func sustained(windows []Assessment) (rate, deviation float64) {
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
	if r.cfg.Algorithm == search.Paper || r.held || !(found.Passed > 0) || found.Passed > (1-r.cfg.Resolution)*r.long.passed && r.long.from > 0 {
		return nil
	}
	windows := r.exhausted(found.Passed)
	rate, deviation := sustained(windows)
	more := found.Passed/(1+r.cfg.unnoticed()) - rate
	if !(more > reserveLeast*rate && more > reserveChance*deviation) {
		return nil
	}
	out := &Reserve{Sustained: rate}
	for _, j := range windows {
		_, onset := j.Tail()
		out.Operations = max(out.Operations, (j.Load-rate)*(r.cfg.WarmUp+onset).Seconds())
	}
	for _, j := range r.judged[r.long.from:] {
		if lasted := (r.cfg.WarmUp + j.Scored).Seconds(); j.Verdict == Passed {
			out.Operations = max(out.Operations, (j.Load-rate)*lasted)
			if j.Load == found.Passed {
				out.Held = max(out.Held, lasted)
			}
		}
	}
	return out
}

// lengthened is the part of a search that offers loads for longer, to tell what a
// target sustains from what it has in reserve.
type lengthened struct {
	proving bool          // the next window is to show whether the load passed is sustained
	enough  bool          // it is long enough for that
	scored  time.Duration // of its windows; 0: as usual
	from    int           // index of the first window that the result is of
	counted int           // windows that counted before that
	passed  float64       // the load that passed before: longer windows pass it, too
}

// prove asks for a window in which the reserve runs out, if there may be one.
func (r *replay) prove(found search.Result) (wanted bool) {
	if r.long.scored > 0 || r.cfg.Scored <= 0 {
		return false
	}
	s := r.reserve(found)
	if s == nil {
		return false
	}
	needed := reserveMargin * s.Operations / (found.Passed - s.Sustained)
	r.long.proving, r.long.scored = true, r.within(max(2*r.cfg.Scored.Seconds(), needed))
	r.long.enough = r.long.scored.Seconds() >= needed
	return true
}

// within is a length of windows in whole seconds, of those that are allowed.
func (r *replay) within(seconds float64) time.Duration {
	most := r.cfg.most()
	return min(time.Duration(math.Ceil(min(seconds, most.Seconds())))*time.Second, most)
}

// proved takes the window that was to show whether the load is sustained. If it is
// not, the search begins anew below that load, with windows in which the reserve
// that was seen makes little difference; unless the user chose their length.
func (r *replay) proved(j Assessment) {
	found := r.algorithm.Result()
	s := r.reserve(found)
	r.long.proving, r.long.counted = false, r.long.counted+1
	switch {
	case s == nil || j.Verdict == Unusable:
	case j.Verdict == Passed:
		r.held = r.long.enough
	case !r.cfg.Given:
		r.anew(found, *s)
	}
}

// anew searches between what is sustained and what passed for a while.
func (r *replay) anew(found search.Result, s Reserve) {
	o := r.options
	o.Max = found.Passed
	o.Start = min(max((1-2*r.cfg.Resolution)*s.Sustained, o.Min), o.Max)
	o.MaxWindows = max(o.MaxWindows-len(found.Trials), 1)
	algorithm, err := search.New(o)
	if err != nil {
		return // the bounds are as close as they may be: what is known stays
	}
	for i := range r.judged {
		r.judged[i].OnReserve = r.judged[i].Verdict == Passed && r.judged[i].Load > s.Sustained
	}
	r.long.scored = max(r.long.scored, r.within(s.Operations/(r.cfg.Resolution/2*s.Sustained)))
	r.long.passed = found.Passed
	r.long.from, r.long.counted = len(r.judged), r.long.counted+len(found.Trials)
	r.algorithm, r.options, r.valid, r.back = algorithm, o, nil, &back{load: math.NaN()}
}
