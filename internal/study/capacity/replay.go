package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
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
	held      bool          // it sustains the load passed
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
func (r *replay) unusable() (n int) {
	for _, j := range r.judged {
		if j.Verdict == Unusable {
			n++
		}
	}
	return n
}

// take judges a window and acts on it.
func (r *replay) take(w load.Window) {
	r.compare(w)
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

// known turns the absence of a number into nil.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
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
	if sure, ok := r.algorithm.(search.Sure); ok && j.Load == r.options.Min && r.sureAtMin(j) {
		sure.ObserveSurely()
		return
	}
	r.algorithm.Observe(passed)
}

// sureAtMin reports whether a window that was not passed at the smallest load allowed
// leaves no doubt. There is no smaller load to go on with, so where none passed
// there, more windows that tell nothing would tell no more.
func (r *replay) sureAtMin(j Assessment) bool {
	if j.Verdict == Unusable {
		return len(r.windowsAt(j.Load, Passed)) == 0
	}
	return j.Verdict == Missed && j.Hopeless()
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

func (r *replay) result() Answer {
	found := r.algorithm.Result()
	out := Answer{
		Passed: known(found.Passed), Failed: r.missedLoad(found.Failed), Confirmed: found.Confirmed,
		Windows: r.judged, Counted: r.long.counted + len(found.Trials), Doubts: slices.Clone(r.doubted),
	}
	out.Limit, out.Generators, out.Path = r.limitOf(found)
	for _, w := range found.Warnings {
		if text := r.words(w, out.Limit); text != "" {
			out.Doubts.Warn("search", "%s", text)
		}
	}
	if out.Limit == LimitDrift {
		out.Drift = &Drift{Then: r.back.load, Now: r.takesNow(out.Passed)}
		out.Passed, out.Failed = nil, nil
	}
	if r.over && (out.Limit == LimitTarget || out.Limit == LimitMachine || out.Limit == LimitGenerator) {
		out.Reserve = r.reserve(found)
	}
	if out.Limit == LimitTarget {
		found = r.withoutUnusable(found, out.Failed)
		out.Confirmed = found.Confirmed
		out.Estimate = known(found.Estimate)
		if lo, hi := known(found.Low), known(found.High); lo != nil && hi != nil {
			out.CI = &[2]float64{*lo / (1 + r.cfg.unnoticed()), *hi}
			if rate, _ := sustained(r.exhausted(found.Passed)); !r.held && rate > 0 {
				out.CI[0] = min(out.CI[0], rate)
			}
		} else if out.Estimate != nil && r.cfg.Algorithm != search.Paper {
			out.Estimate = nil
			out.Doubts.Warn("unbounded", "the windows that say something of the target do not say how much it takes at most, so no capacity is estimated; allow more windows, or search again when nothing else runs")
		}
	}
	if out.open = r.openAt(out); out.open != nil {
		// A number that cannot be vouched for is none.
		out.Estimate, out.CI = nil, nil
	}
	out.Confirmed = out.Confirmed && out.Estimate != nil
	if out.Confirmed && out.Passed != nil {
		u, _ := r.shortOfConnections(*out.Passed)
		out.Confirmed = !u.short()
	}
	r.doubt(&out)
	return out
}

// words are those of the algorithm's warning. What to do about the boundary it
// says without knowing what was at its limit: empty where that was not the target,
// for longer windows or smaller loads would not help.
func (r *replay) words(w search.Warning, limit Limit) string {
	switch {
	case len(r.judged) == 0: // the caller knows why
		return ""
	case w.About != search.AboutWindows && slices.Contains([]Limit{LimitGenerator, LimitMachine, LimitPath, LimitDrift, LimitRecords}, limit):
		return ""
	case w.About == search.AboutFloor && r.onlyUnusable(r.cfg.Min):
		return ""
	case w.About == search.AboutFloor && len(w.Loads) > 0:
		if text := r.floorWords(w.Loads[0]); text != "" {
			return text
		}
	}
	return w.Text(rate)
}

// alone is how many operations may be under way on average where each has the
// target to itself.
const alone = .25

// floorWords say why the smallest load allowed was missed where a smaller one
// would be, too: operations fail, or take too long although hardly any other is
// under way (as many as the load times how long one takes, by Little's law).
func (r *replay) floorWords(floor float64) string {
	var failed, above load.Counts
	var took time.Duration
	for _, j := range r.judged {
		switch d := service(j.Window); {
		case j.Load > floor:
			above.Add(j.Counts)
		case j.Load != floor || j.Verdict != Missed:
		case slices.ContainsFunc(j.Misses, func(m reason) bool { return m.errors }):
			failed.Add(j.Counts)
		case d > 0 && (took == 0 || d < took):
			took = d
		}
	}
	switch {
	case failed.Due > 0 && asOften(failed, above):
		return fmt.Sprintf("operations fail even at %s, the smallest load allowed (%s): look at what fails; a smaller load would hardly help", rate(floor), failed.Failures())
	case took > 0 && floor*took.Seconds() <= alone:
		return fmt.Sprintf("an operation takes %v (median) even at %s, the smallest load allowed, where hardly any other is under way: a smaller load would hardly help; allow longer latencies, or look at what the target does", num.Brief(took), rate(floor))
	}
	return ""
}

// asOften reports whether operations fail whatever the load is: nothing is answered
// well, and not for want of time, or no larger share of them failed at larger loads.
func asOften(floor, above load.Counts) bool {
	share := func(c load.Counts) float64 { return float64(c.Failed()) / float64(c.Due) }
	return floor.OK == 0 && floor.Failed() == floor.Due && floor.Errors[load.ErrTimeout] == 0 || above.Due > 0 && share(above) <= offered*share(floor)
}

// missedLoad is the load that the algorithm holds for failed, or the next one up
// that missed the SLA: that the search goes on below a load at which all windows
// were unusable does not mean that the target has failed there.
func (r *replay) missedLoad(failed float64) *float64 {
	if math.IsNaN(failed) || !r.onlyUnusable(failed) {
		return known(failed)
	}
	next := math.Inf(1)
	for _, j := range r.judged {
		if j.Load > failed && j.Load < next && r.windowsMissed(j.Load) > 0 {
			next = j.Load
		}
	}
	return known(next)
}

// onlyUnusable reports whether no window at a load says anything of the target.
func (r *replay) onlyUnusable(at float64) bool {
	tried := false
	for _, j := range r.judged {
		if j.Load == at {
			if tried = true; j.Verdict != Unusable {
				return false
			}
		}
	}
	return tried
}

// windowsMissed is by how many windows a load was rather missed than passed.
func (r *replay) windowsMissed(at float64) (n int) {
	for _, j := range r.judged {
		switch {
		case j.Load != at || j.OnReserve:
		case j.Verdict == Missed:
			n++
		case j.Verdict == Passed:
			n--
		}
	}
	return n
}

// limitOf says what was at its limit, and which generators or what of the path.
func (r *replay) limitOf(found search.Result) (Limit, []model.NodeID, *Path) {
	if !r.over {
		return LimitNone, nil, nil
	}
	if r.losses > maxLosses {
		return LimitRecords, nil, nil
	}
	if r.drifted() {
		return LimitDrift, nil, nil
	}
	if names, limit := r.generatorsLimit(found); limit != "" {
		return limit, names, nil
	}
	if found.Capped {
		return LimitCap, nil, nil
	}
	if path := r.pathLimits(found); path != nil {
		return LimitPath, nil, path
	}
	if found.Floored {
		return LimitFloor, nil, nil
	}
	return LimitTarget, nil, nil
}

// offered is up to how many times the load passed a window that missed the SLA
// for the target's sake says where that has its limit.
const offered = 2

// generatorsLimit says whether the load failed was failed for the sake of the
// generators, or of their machines, in most of its windows; and for whose, where
// it was not that of all. Empty if not. Where a larger load was missed for the
// target's sake, generators could offer it, or the target refused it: the boundary
// is below, whatever generators did in between, and the interval says how far.
// Beyond twice the load passed it would say next to nothing.
func (r *replay) generatorsLimit(found search.Result) (names []model.NodeID, limit Limit) {
	for _, j := range r.judged {
		if j.Load > found.Passed && j.Load < offered*found.Passed && r.windowsMissed(j.Load) > 0 {
			return nil, ""
		}
	}
	late, full, missed, all := 0, 0, 0, 0
	for _, j := range r.judged {
		switch {
		case j.Load != found.Failed:
		case len(j.Problems) > 0:
			late++
			for _, p := range j.Problems {
				names = append(names, p.nodes...)
				if p.machine {
					full++
				}
			}
			all = len(j.Generators)
		case j.Verdict == Missed:
			missed++
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == all {
		names = nil
	}
	switch {
	case late <= missed:
		return nil, ""
	case 2*full >= late:
		return names, LimitMachine
	}
	return names, LimitGenerator
}

// doubt adds what speaks against the result.
func (r *replay) doubt(out *Answer) {
	d := &out.Doubts
	switch out.Limit {
	case LimitGenerator:
		passed := ""
		if out.Passed != nil {
			passed = "; it takes at least the load that passed"
		}
		d.Problem("generator", "%s could not offer more load in time, so the target's capacity is unknown%s; use more or larger generators", named(out.Generators), passed)
	case LimitMachine:
		d.Problem("machine", "%s was full at the load that failed, so this search cannot tell whether the server or that machine was at its limit; stop what else runs there, or offer the load from another machine than the server's", out.machine())
	case LimitPath:
		d.Problem("path", "%s", out.pathDoubt())
	case LimitDrift:
		d.Problem("drift", "the target changed while it was measured: it took %s and later did not; look for a leak, a cache that fills, or credits that run out, and search again when it is steady", rate(out.Drift.Then))
	}
	r.doubtUnusable(out.Counted, d)
	connectionDoubts(r.judged, d)
	recordDoubts(r.judged, out.Limit == LimitRecords, d)
	if r.cfg.Algorithm != search.Paper {
		out.contradictions()
	}
	if r.long.from > 0 && out.Passed != nil && *out.Passed <= (1-r.cfg.Resolution)*r.long.passed {
		d.Warn("reserve", "the target takes more for a while, from what it has in reserve: loads that passed in short windows did not pass in windows of %v, which the result is of", r.long.scored)
	}
	if out.open != nil {
		d.Problem(out.open.code, "%s, so no capacity is estimated; %s", out.open.why, out.open.advice)
	}
	if out.Passed != nil {
		r.cfg.tooShort(d)
		r.cfg.tooFew(r.judged, d)
	}
	if r.over && !out.Confirmed && out.Limit == LimitTarget {
		why := "repeated windows disagreed, or there were too few"
		if out.Passed != nil {
			if u, _ := r.shortOfConnections(*out.Passed); u.short() {
				why = "above it operations waited for connections that the server does not allow"
			}
		}
		d.Warn("unconfirmed", "the boundary was not confirmed: %s", why)
	}
}

// doubtUnusable tells how many windows said nothing about the target. One more
// window than those that count was measured for each that was repeated.
func (r *replay) doubtUnusable(counted int, d *model.Doubts) {
	n := r.unusable()
	if n == 0 {
		return
	}
	text := fmt.Sprintf("%d of %s said nothing about the target; such a window is repeated once", n, num.Count(len(r.judged), "window"))
	if again := n - (len(r.judged) - counted); again > 0 {
		text += fmt.Sprintf(", and where the second said nothing either (%s) the search treats the load as too large", num.Count(again, "time"))
	}
	d.Warn("unusable_windows", "%s", text)
}

// contradictions counts the windows that say something else than the result.
func (a *Answer) contradictions() {
	below, above, stalls, longest := 0, 0, 0, time.Duration(0)
	for _, j := range a.Windows {
		switch {
		case j.Verdict == Missed && j.Stall > 0 && a.stoodStill(j):
			stalls, longest = stalls+1, max(longest, j.Stall)
		case a.Passed != nil && j.Verdict == Missed && j.Load <= *a.Passed && a.Reserve == nil:
			below++
		}
		if a.Failed != nil && j.Verdict == Passed && j.Load >= *a.Failed && !j.OnReserve {
			above++
		}
	}
	all := num.Count(len(a.Windows), "window")
	if stalls > 0 {
		a.Doubts.Warn("stall", "the target stood still in %d of %s, for up to %v without any answer, and not because the load was too large; these windows count as missed: look for a lock, a restart or a pause of the target", stalls, all, longest)
	}
	if below > 0 {
		a.Doubts.Warn("windows_disagree", "%d of %s missed the SLA at loads up to %s, which is reported as passed: something else disturbed them; if that is common, use longer windows or a quieter machine", below, all, loadText(a.Passed))
	}
	if above > 0 {
		a.Doubts.Warn("windows_disagree", "%d of %s kept the SLA at loads from %s up, which is reported as failed", above, all, loadText(a.Failed))
	}
}

// stoodStill reports whether a stall cannot be the load's doing: as much or more
// passed, or nothing was queued when it began.
func (a *Answer) stoodStill(j Assessment) bool {
	return a.Passed != nil && j.Load <= *a.Passed || (a.Failed == nil || j.Load <= *a.Failed) && j.StalledIdle()
}

// unfinished says that a search is not over: under way, or stopped.
func (a Answer) unfinished(underWay bool) string {
	n := num.Count(len(a.Windows), "window")
	switch {
	case underWay && len(a.Windows) == 0:
		return "the search is under way: no window is complete so far"
	case underWay:
		return "the search is under way: " + n + " so far"
	case len(a.Windows) == 0:
		return "the search was stopped before its first window was complete: resume it"
	}
	return "the search was stopped after " + n + ", before it was complete: resume it"
}
