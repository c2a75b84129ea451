package capacity

import (
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// maxRedo is how often a window is repeated that says nothing about the target,
// before that itself is what it says.
const maxRedo = 1

// Order is the window to measure next.
type Order struct {
	Load  float64 // operations per second
	Phase search.Phase
	// Recover says that the last window was missed: the target may still be
	// working off what it was given, and has to be let go of it first.
	Recover bool
}

// State is where a search stands.
type State struct {
	// Next is nil when the search is over.
	Next   *Order
	Result Result
}

// Evaluate computes where a search stands after these windows, which are all
// it has had, in order. Windows that another search has asked for are
// model.ErrUsage.
func (c Config) Evaluate(windows []Window) (State, error) {
	r, taken, err := c.replay(windows)
	if err != nil {
		return State{}, err
	}
	if taken < len(windows) {
		return State{}, fmt.Errorf("%w: window %d offered %v operations/s, which this search has not asked for; was it made by another version of scalebench?",
			model.ErrUsage, taken+1, windows[taken].Load)
	}
	return r.state(), nil
}

// replay goes through windows as long as they are what the search asks for.
func (c Config) replay(windows []Window) (r *replay, taken int, err error) {
	if err := c.Check(); err != nil {
		return nil, 0, err
	}
	algorithm, err := c.search()
	if err != nil {
		return nil, 0, err
	}
	r = &replay{cfg: c, algorithm: algorithm}
	r.ask()
	for i, w := range windows {
		if r.over || w.Load != r.order.Load {
			return r, i, nil
		}
		r.take(w)
	}
	return r, len(windows), nil
}

// replay goes through the windows of a search.
type replay struct {
	cfg       Config
	algorithm search.Search
	order     Order
	over      bool
	redone    int           // how often the window ordered was repeated
	baseline  Window        // windows' round-trip times are compared with its
	rebased   bool          // the baseline was passed
	settled   []int         // those of judged by which the path had changed for good
	congested *Window       // the path as it was in a window missed for its sake, twice
	light     time.Duration // the shortest median answer, from when it was sent
	judged    []Judged
	warnings  []string
}

// ask takes the next order from the algorithm.
func (r *replay) ask() {
	load, phase, ok := r.algorithm.Next()
	r.over, r.redone = !ok, 0
	r.order = Order{Load: load, Phase: phase}
}

// take judges a window and acts on it.
func (r *replay) take(w Window) {
	w.Phase = r.order.Phase
	r.compare(w)
	j := r.judge(w)
	switch {
	case j.Verdict == Passed:
		r.rebase(w)
	case j.Verdict == Missed:
	case r.redone < maxRedo:
		r.redone++
		r.judged = append(r.judged, j)
		r.order.Recover = true
		return
	case len(j.Generators) > 0:
		// More load than this cannot be offered. The search goes on below,
		// where the target may have its limit; if not, its result says so.
	default:
		// The load may have made the path what it is; a window that passes
		// will tell. It is missed, and those like it are not repeated again.
		r.congested = &w
		j.Verdict = Missed
	}
	r.judged = append(r.judged, j)
	r.observe(j)
	r.ask()
	r.order.Recover = j.Verdict != Passed
}

// judge says what a window is worth.
func (r *replay) judge(w Window) Judged {
	j := Judged{Window: w, Misses: r.misses(w), Nearest: r.cfg.SLA.nearest(w)}
	j.PathShift, j.PathChange = r.cfg.SLA.pathOf(r.baseline, w)
	j.PathChanged = j.PathChange != ""
	if len(j.Misses) == 0 {
		j.Verdict = Passed
		if d := w.service(); d > 0 && (r.light == 0 || d < r.light) {
			r.light = d
		}
		return j
	}
	for _, p := range r.cfg.SLA.Health(w, r.cfg.SLA.Drain(), r.light) {
		j.Generators, j.AtFault = append(j.Generators, p.Text), append(j.AtFault, p.Nodes...)
	}
	j.Verdict = Missed
	if len(j.Generators) > 0 || j.PathChanged && !r.knownPath(w) {
		j.Verdict = Unusable
	}
	return j
}

// misses says by which measure a window was missed: the SLA, or, in the ramp of
// the paper's algorithm, nearness of the median to the round-trip time.
func (r *replay) misses(w Window) []string {
	if r.cfg.Algorithm == search.Paper && w.Phase == search.Ramp {
		return r.cfg.nearRTT(w)
	}
	return r.cfg.SLA.Judge(w)
}

// nearRTT accepts a window if in more than half of its seconds the median
// latency exceeds the round-trip time by no more than Fraction of it, and the
// load was achieved (black-box throughput paper, section II.B, which leaves
// Fraction open). A second without an answer fails.
func (c Config) nearRTT(w Window) []string {
	if len(w.RTT) == 0 {
		return []string{"no round-trip time is known, which the paper's ramp needs"}
	}
	rtt := median(w.RTT)
	near := 0
	for _, s := range w.Seconds {
		if s.OK > 0 && s.Median-rtt <= c.Fraction*rtt {
			near++
		}
	}
	var misses []string
	if 2*near <= len(w.Seconds) {
		misses = append(misses, fmt.Sprintf("the median was near the round-trip time of %v in %d of %d seconds only",
			time.Duration(rtt*1e9).Round(time.Microsecond), near, len(w.Seconds)))
	}
	if share := w.share(w.Counts.OK); !(share >= achievedAtLeast) {
		misses = append(misses, fmt.Sprintf("%s of the load was answered, not %s", about(share), percent(achievedAtLeast)))
	}
	return misses
}

func (r *replay) state() State {
	s := State{Result: r.result()}
	if !r.over {
		order := r.order
		s.Next = &order
	}
	return s
}

// known turns the absence of a number into nil.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
