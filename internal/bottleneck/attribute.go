package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// attribute names what was full beyond the knee. The first load at which anything
// was full nearly always decides; if there is none, the first at which always some
// resource was.
func (s System) attribute(a *Answer, loads []Load) {
	beyond := beyondKnee(a.Knee, loads)
	if len(beyond) == 0 {
		a.Why = "the knee is at the last load: " + loads[len(loads)-1].moreUsers()
		return
	}
	partly := ""
	for i, l := range beyond {
		causes, symptoms := s.pushBack(s.worked(a, loads, l))
		if causes = a.atKnee(loads, beyond, causes); len(causes) == 0 || s.fullUnseen(l, beyond[i+1:]) {
			continue
		}
		causes = a.atKnee(loads, beyond, l.with(causes, beyond))
		if why := l.partly(causes); why != "" {
			partly = cmp.Or(partly, why)
			continue
		}
		pattern := Single
		if len(causes) > 1 {
			pattern = Simultaneous
		}
		s.name(a, loads, l, causes, symptoms, pattern)
		return
	}
	for _, l := range beyond {
		if causes, pattern := s.inTurns(a, loads, beyond, l); pattern != "" {
			s.name(a, loads, l, causes, nil, pattern)
			return
		}
	}
	a.Suspects = s.suspects(loads)
	if a.Why = cmp.Or(partly, a.unlike(beyond), nearly(loads[len(loads)-1])); a.Why == "" {
		a.Why = cmp.Or(s.tooLate(a, loads, beyond), a.nothingFull(loads))
	}
}

// fullUnseen reports whether a resource that a load does not tell is full at the next
// that does: then the next decides.
func (s System) fullUnseen(l Load, later []Load) bool {
	return slices.ContainsFunc(s.unmeasured(l), func(r Resource) bool {
		next := slices.IndexFunc(later, func(x Load) bool { return x.knows(r) })
		return next >= 0 && later[next].usage(r).Full
	})
}

// partly says of a host that it is full, and that other hosts of its tier do not tell:
// they may be as full, or fuller. Empty: there is none.
func (l Load) partly(causes []Resource) string {
	for _, r := range causes {
		if r.Node != "" && !l.knows(r.ofTier()) {
			return fmt.Sprintf("the %s %s full with %s, and not all hosts of its tier were measured: measure the others, too", r, r.was(), num.Count(l.Users, "user"))
		}
	}
	return ""
}

// unlike says of a resource that it was full in some trials of a load, and not nearly so
// in others, hardware first. Empty: there is none.
func (a *Answer) unlike(beyond []Load) string {
	for _, soft := range []bool{false, true} {
		for _, l := range beyond {
			for _, u := range l.Usage {
				if !u.Partial || u.Node != "" || u.Kind.Soft() != soft || a.wasEarly(u.Resource) {
					continue
				}
				if full, less, known := l.byTrial(u.Resource); full > 0 && less > 0 {
					return fmt.Sprintf("the %s %s full in %d of %s with %s, and in %d less than %s busy: find out in what these differ, and measure more of them",
						u.Resource, u.was(), full, num.Count(known, "trial"), num.Count(l.Users, "user"), less, num.Fraction(nearlyFull))
				}
			}
		}
	}
	return ""
}

// nearly says of hardware that it is nearly full at the last load: several that are alike
// come to be full with many users only. Empty: there is none.
func nearly(last Load) string {
	var of []string
	for _, u := range last.Usage {
		if !u.Kind.Soft() && u.Node == "" && u.Mean >= nearlyFull && !u.Full {
			of = append(of, fmt.Sprintf("the %s was %s busy", u.Resource, num.Fraction(u.Mean)))
		}
	}
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("%s with %s, and not full: %s",
		strings.Join(of, " and "), num.Count(last.Users, "user"), last.moreUsers())
}

// byTrial is in how many trials of a load a resource was full, in how many of the others
// not even nearly so, and how many tell of it.
func (l Load) byTrial(r Resource) (full, less, known int) {
	for i := range l.seconds {
		one := Load{Usage: usageOf(l.seconds[i : i+1])}
		switch u := one.usage(r); {
		case !one.knows(r):
			continue
		case u.Full:
			full++
		case u.Mean < nearlyFull:
			less++
		}
		known++
	}
	return full, less, known
}

// nothingFull says what to do where that is so, but for what was full too early.
func (a *Answer) nothingFull(loads []Load) string {
	text, nothing := "", "nothing"
	for _, e := range a.early {
		text, nothing = text+e.String()+"; ", "nothing else"
	}
	text += nothing + " that was measured was full beyond the knee: record more of it (probes of threads and pools, the rate of links)"
	if len(loads) < fewestSuspected {
		text += fmt.Sprintf("; %s are too few to tell what grew with what is lost", num.Count(len(loads), "load"))
	}
	return text
}

// tooLate says of hardware that it was full, and why it is not named: it was not busy
// where the throughput bends, or bends elsewhere itself. Empty: there is none.
func (s System) tooLate(a *Answer, loads, beyond []Load) string {
	for _, l := range beyond {
		full := slices.DeleteFunc(always(l), func(r Resource) bool { return r.Kind.Soft() })
		if len(full) == 0 {
			continue
		}
		a.Later = l.usages(full)
		r, first := full[0], telling(beyond, full[0])
		text := fmt.Sprintf("the %s is full with %s, and was %s busy with %s, where the throughput bends already",
			r, num.Count(l.Users, "user"), num.Fraction(first.usage(r).Mean), num.Count(first.Users, "user"))
		if saved, ok := s.cheaper(loads, r, loads[len(loads)-1]); ok {
			text += "; " + saved
		}
		return text + ": measure more loads between, and beyond"
	}
	return ""
}

// usages are those of some resources.
func (l Load) usages(of []Resource) []Usage {
	var out []Usage
	for _, u := range l.Usage {
		if slices.Contains(of, u.Resource) {
			out = append(out, u)
		}
	}
	return out
}

// always are the resources that were full nearly all the time.
func always(l Load) (out []Resource) {
	for _, u := range l.Usage {
		if u.Full && l.Counts(u) {
			out = append(out, u.Resource)
		}
	}
	return out
}

// with adds to what is full the hardware that is nearly full, if it is as full as the
// other, or becomes full at a later load. As full is held to all loads beyond the knee up
// to this one: where an earlier one did not decide, it tells as much of both.
func (l Load) with(causes []Resource, beyond []Load) []Resource {
	mean := func(r Resource) float64 {
		var of []float64
		for _, x := range beyond {
			if x.Users <= l.Users && x.knows(r) {
				of = append(of, x.usage(r).Mean)
			}
		}
		return meanOf(of)
	}
	least := math.Inf(1)
	for _, r := range causes {
		if !r.Kind.Soft() && r.Node == "" {
			least = min(least, asFull*mean(r))
		}
	}
	var out []Resource
	for _, u := range l.Usage {
		nearly := !u.Kind.Soft() && u.Node == "" && u.Mean >= nearlyFull && !math.IsInf(least, 1)
		meets := nearly && (mean(u.Resource) >= least || slices.ContainsFunc(beyond, func(x Load) bool { return x.Users > l.Users && x.usage(u.Resource).Full }))
		if meets || slices.Contains(causes, u.Resource) {
			out = append(out, u.Resource)
		}
	}
	return out
}

// inTurns are hardware resources of which always one was full, but none always; no
// pattern: there are none. Soft ones that were full at times are left out where any
// hardware was: they are its symptoms. They are held to the knee as single ones are:
// each bends there, and in each second one of them was busy where it ends, on average.
// Where a trial has one value for all of its seconds, these tell of no turns.
func (s System) inTurns(a *Answer, loads, beyond []Load, l Load) (of []Resource, p Pattern) {
	if slices.ContainsFunc(l.trials, func(t Trial) bool { return t.Shares != nil }) {
		return nil, ""
	}
	for _, soft := range []bool{false, true} {
		for _, u := range s.worked(a, loads, l).Usage {
			if u.Partial && u.Node == "" && u.Kind.Soft() == soft &&
				a.bendsAtKnee(loads, telling(beyond, u.Resource), u.Resource) {
				of = append(of, u.Resource)
			}
		}
		one, _ := together(l.seconds, of)
		if len(of) >= 2 && one >= FullShare && busiest(telling(beyond, of...).seconds, of) >= herdLevel {
			if alternate(l.seconds, of) {
				return of, Oscillating
			}
			return of, Concurrent
		}
		if len(of) > 0 {
			break
		}
	}
	return nil, ""
}

// busiest is the utilisation of the busiest of several resources in each second, on
// average over the seconds in which all are known.
func busiest(trials []map[Resource]seconds, of []Resource) float64 {
	var most []float64
	for _, t := range trials {
		for i := range t[of[0]].use {
			top := 0.0
			for _, r := range of {
				if use := t[r].use; i < len(use) {
					top = max(top, use[i]) // NaN, if one is
				}
			}
			most = append(most, top)
		}
	}
	return meanOf(most)
}

// alternate reports whether the utilisations of two of the resources go against
// each other, by Spearman's correlation over the seconds of each trial, with as
// many values as they are worth (autocorrelation), Holm's correction for the pairs
// and trials, and without one that goes the other way.
func alternate(trials []map[Resource]seconds, of []Resource) bool {
	var ps, rhos []float64
	for _, t := range trials {
		for i, a := range of {
			for _, b := range of[:i] {
				x, y := known(t[a].use, t[b].use)
				if rho, p, _, err := stats.SpearmanOfSeries(x, y); err == nil {
					ps, rhos = append(ps, p), append(rhos, rho)
				}
			}
		}
	}
	qs, err := stats.Holm(ps)
	if err != nil {
		return false
	}
	against, along := 0, 0
	for i, q := range qs {
		if q < 1-level && rhos[i] < 0 {
			against++
		} else if q < 1-level {
			along++
		}
	}
	return against > along
}

// name fills the answer with the bottlenecks of a load.
func (s System) name(a *Answer, loads []Load, l Load, causes []Resource, symptoms []Symptom, p Pattern) {
	a.Verdict, a.Pattern, a.Load, a.Symptoms = Named, p, l.Users, symptoms
	for _, u := range l.usages(causes) {
		e := Evidence{Usage: u}
		e.SendQueue, e.Sender = s.sendQueue(l, u.Resource)
		if at, ok := bends(loads, u.Resource); ok && at.P < 1-level {
			e.Bend = &at.CI
		}
		if u.Kind == CPU {
			e.Held = num.IfFinite(l.held(u.Tier))
		}
		a.Bottlenecks = append(a.Bottlenecks, e)
		if p == Single || p == Simultaneous {
			a.notQuite(u, symptoms)
		}
	}
	if len(causes) > 1 {
		one, _ := together(l.seconds, causes)
		a.OneFull = num.IfFinite(one)
	}
	told := slices.Clone(causes)
	for _, x := range symptoms {
		told = append(told, x.Resource)
	}
	for _, later := range loads {
		for _, u := range later.Usage {
			if later.Users > l.Users && u.Full && u.Node == "" && !slices.Contains(told, u.Resource) && !a.wasEarly(u.Resource) {
				a.Later, told = append(a.Later, u), append(told, u.Resource)
			}
		}
	}
}

// doubtNearlyFull is that more of a symptom may give more throughput.
const doubtNearlyFull = "nearly_full"

// notQuite doubts hardware that is nearly full, and named because what waits for it is.
func (a *Answer) notQuite(u Usage, symptoms []Symptom) {
	for _, x := range symptoms {
		if x.Of == u.Resource && !u.Full {
			a.doubts.Warn(doubtNearlyFull,
				"the %s was %s busy, and not full, where the %s %s: more of the latter may give up to %s "+
					"more throughput",
				u.Resource, num.Fraction(u.Mean), x.Resource, x.was(), num.Fraction(1/u.Mean-1))
		}
	}
}

// sendQueue is what waits to be sent through a link: on its own hosts, or for what
// they receive on those of the tier beside them where most does.
func (s System) sendQueue(l Load, r Resource) (queue *float64, sender string) {
	if r.Kind != LinkIn {
		return num.IfFinite(l.meanSignal(r.Tier, SignalSendQueue)), ""
	}
	most := math.NaN()
	for _, tier := range s.Tiers {
		v := l.meanSignal(tier, SignalSendQueue)
		if beside := slices.ContainsFunc(tiersIn(r.Tier), func(own string) bool { d := s.depth(own) - s.depth(tier); return d == 1 || d == -1 }); beside && !(v <= most) && !math.IsNaN(v) {
			most, sender = v, tier
		}
	}
	return num.IfFinite(most), sender
}

// meanSignal is the mean over the hosts of a tier, or of several that share hosts, and
// the trials of a load; NaN: not known.
func (l Load) meanSignal(tier, signal string) float64 { return l.meanIn(Resource{Tier: tier}, signal) }

// meanIn is the same of the hosts of a resource.
func (l Load) meanIn(r Resource, signal string) float64 {
	var values []float64
	for _, t := range l.trials {
		for _, x := range t.Services {
			if r.Of(x.Tier) && (r.Node == "" || r.Node == x.Node) {
				values = append(values, x.mean(signal))
			}
		}
	}
	return meanOf(values)
}

// known are the pairs of values of which both are known.
func known(a, b []float64) (x, y []float64) {
	for i := range min(len(a), len(b)) {
		if a[i] == a[i] && b[i] == b[i] { //nolint:gocritic // not NaN
			x, y = append(x, a[i]), append(y, b[i])
		}
	}
	return x, y
}
