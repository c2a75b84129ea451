package bottleneck

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// attribute names what was full beyond the knee. The first load at which anything
// was full nearly always decides; if there is none, the first at which always some
// resource was.
func (a *analysis) attribute() {
	if a.beyond = beyondKnee(a.Knee, a.counted); len(a.beyond) == 0 {
		a.Why = "the knee is at the last load: " + a.last().moreUsers()
		return
	}
	partly := ""
	for i, l := range a.beyond {
		causes, symptoms := a.pushBack(a.withoutIdleHolders(l))
		if causes = a.atKnee(causes); len(causes) == 0 || a.fullUnmeasured(l, a.beyond[i+1:]) {
			continue
		}
		causes = a.atKnee(a.withEquallyBusy(l, causes))
		if why := l.partlyMeasured(causes); why != "" {
			partly = cmp.Or(partly, why)
			continue
		}
		pattern := Single
		if len(causes) > 1 {
			pattern = Simultaneous
		}
		a.name(l, causes, symptoms, pattern)
		return
	}
	for _, l := range a.beyond {
		if causes, pattern := a.inTurns(l); pattern != "" {
			a.name(l, causes, nil, pattern)
			return
		}
	}
	a.Suspects = a.suspects(a.counted)
	if a.Why = cmp.Or(partly, a.trialsDiffer(), a.last().nearlyFull()); a.Why == "" {
		a.Why = a.tooLate()
	}
	if a.Why == "" {
		a.Why = a.nothingFull()
	}
}

// fullUnmeasured reports whether a resource that a load does not tell is full at the next
// that does: then the next decides.
func (a *analysis) fullUnmeasured(l Load, later []Load) bool {
	return slices.ContainsFunc(a.unmeasured(l), func(r Resource) bool {
		next := slices.IndexFunc(later, func(x Load) bool { return x.knows(r) })
		return next >= 0 && later[next].usage(r).Full
	})
}

// partlyMeasured says of a host that it is full, and that other hosts of its tier do not
// tell: they may be as full, or fuller. Empty: there is none.
func (l Load) partlyMeasured(causes []Resource) string {
	for _, r := range causes {
		if r.Node != "" && !l.knows(r.ofTier()) {
			return fmt.Sprintf("the %s %s full with %s, and not all hosts of its tier were measured: measure the others, too",
				r, r.was(), l)
		}
	}
	return ""
}

// trialsDiffer says of a resource that it was full in some trials of a load, and not nearly
// so in others, hardware first. Empty: there is none.
func (a *analysis) trialsDiffer() string {
	for _, soft := range []bool{false, true} {
		for _, l := range a.beyond {
			for _, u := range l.Usage {
				if !u.Partial || u.Node != "" || u.Kind.Soft() != soft || a.wasIdle(u.Resource) {
					continue
				}
				if full, less, known := l.byTrial(u.Resource); full > 0 && less > 0 {
					return fmt.Sprintf("the %s %s full in %d of %s with %s, and in %d less than %s busy: find out in what these differ, and measure more of them",
						u.Resource, u.was(), full, num.Count(known, "trial"), l, less, num.Fraction(nearlyFull))
				}
			}
		}
	}
	return ""
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

// nearlyFull says of hardware that it is nearly full at the last load: several that are
// alike come to be full with many users only. Empty: there is none.
func (l Load) nearlyFull() string {
	var of []string
	for _, u := range l.Usage {
		if !u.Kind.Soft() && u.Node == "" && u.Mean >= nearlyFull && !u.Full {
			of = append(of, fmt.Sprintf("the %s was %s busy", u.Resource, num.Fraction(u.Mean)))
		}
	}
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("%s with %s, and not full: %s", strings.Join(of, " and "), l, l.moreUsers())
}

// tooLate says of hardware that it was full, and why it is not named: it was not busy
// where the throughput bends, or bends elsewhere itself. Empty: there is none.
func (a *analysis) tooLate() string {
	for _, l := range a.beyond {
		full := slices.DeleteFunc(always(l), func(r Resource) bool { return r.Kind.Soft() })
		if len(full) == 0 {
			continue
		}
		a.Later = l.usages(full)
		r, first := full[0], firstThatKnows(a.beyond, full[0])
		text := fmt.Sprintf("the %s is full with %s, and was %s busy with %s, where the throughput bends already",
			r, l, num.Fraction(first.usage(r).Mean), first)
		if saved := a.cheaper(r); saved != "" {
			text += "; " + saved
		}
		return text + ": measure more loads between, and beyond"
	}
	return ""
}

// nothingFull says what to do where that is so, but for what was full too early.
func (a *analysis) nothingFull() string {
	text, nothing := "", "nothing"
	for _, e := range a.idle {
		text, nothing = text+e.String()+"; ", "nothing else"
	}
	a.idle = nil // they are the reason, and no doubts
	text += nothing + " that was measured was full beyond the knee: record more of it (probes of threads and pools, the rate of links)"
	if len(a.counted) < fewestSuspected {
		text += fmt.Sprintf("; %s are too few to tell what grew with what is lost", num.Count(len(a.counted), "load"))
	}
	return text
}

// usages are those of some resources.
func (l Load) usages(of []Resource) []Usage {
	return slices.DeleteFunc(slices.Clone(l.Usage), func(u Usage) bool { return !slices.Contains(of, u.Resource) })
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

// withEquallyBusy adds to what is full the hardware that is nearly full, if it is as full
// as the other, or becomes full at a later load. As full is held to all loads beyond the
// knee up to this one: where an earlier one did not decide, it tells as much of both.
func (a *analysis) withEquallyBusy(l Load, causes []Resource) (out []Resource) {
	mean := func(r Resource) float64 {
		var of []float64
		for _, x := range a.beyond {
			if x.Users <= l.Users && x.knows(r) {
				of = append(of, x.usage(r).Mean)
			}
		}
		return meanOf(of)
	}
	least := math.Inf(1)
	for _, r := range causes {
		if !r.Kind.Soft() && r.Node == "" {
			least = min(least, equallyBusy*mean(r))
		}
	}
	for _, u := range l.Usage {
		nearly := !u.Kind.Soft() && u.Node == "" && u.Mean >= nearlyFull && !math.IsInf(least, 1)
		later := func(x Load) bool { return x.Users > l.Users && x.usage(u.Resource).Full }
		if nearly && (mean(u.Resource) >= least || slices.ContainsFunc(a.beyond, later)) ||
			slices.Contains(causes, u.Resource) {
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
func (a *analysis) inTurns(l Load) (of []Resource, p Pattern) {
	if slices.ContainsFunc(l.trials, func(t Trial) bool { return t.Shares != nil }) {
		return nil, ""
	}
	for _, soft := range []bool{false, true} {
		for _, u := range a.withoutIdleHolders(l).Usage {
			if u.Partial && u.Node == "" && u.Kind.Soft() == soft &&
				a.bendsAtKnee(firstThatKnows(a.beyond, u.Resource), u.Resource) {
				of = append(of, u.Resource)
			}
		}
		one, _ := together(l.seconds, of)
		if len(of) >= 2 && one >= FullShare && busiest(firstThatKnows(a.beyond, of...).seconds, of) >= minUtilisationAtKnee {
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
				var x, y []float64
				for k := range min(len(t[a].use), len(t[b].use)) {
					if u, v := t[a].use[k], t[b].use[k]; !math.IsNaN(u) && !math.IsNaN(v) {
						x, y = append(x, u), append(y, v)
					}
				}
				if rho, p, _, err := stats.SpearmanOfSeries(x, y); err == nil {
					ps, rhos = append(ps, p), append(rhos, rho)
				}
			}
		}
	}
	qs, err := stats.Holm(ps)
	against := 0 // less those that go along
	for i, q := range qs {
		if q < 1-level && rhos[i] < 0 {
			against++
		} else if q < 1-level {
			against--
		}
	}
	return err == nil && against > 0
}

// name fills the answer with the bottlenecks of a load.
func (a *analysis) name(l Load, causes []Resource, symptoms []Symptom, p Pattern) {
	a.Verdict, a.Pattern, a.Load, a.Symptoms = Named, p, l.Users, symptoms
	for _, u := range l.usages(causes) {
		e := Evidence{Usage: u}
		e.SendQueue, e.Sender = a.sendQueue(l, u.Resource)
		if at, ok := bends(a.counted, u.Resource); ok && at.P < 1-level {
			e.Bend = &at.CI
		}
		if u.Kind == CPU {
			e.Held = num.IfFinite(l.held(u.Tier))
		}
		a.Bottlenecks = append(a.Bottlenecks, e)
		if p == Single || p == Simultaneous {
			a.nearlyFullDoubt(u)
		}
	}
	if len(causes) > 1 {
		one, _ := together(l.seconds, causes)
		a.OneFull = num.IfFinite(one)
	}
	named := slices.Clone(causes)
	for _, x := range symptoms {
		named = append(named, x.Resource)
	}
	for _, later := range a.counted {
		for _, u := range later.Usage {
			if later.Users > l.Users && u.Full && u.Node == "" && !slices.Contains(named, u.Resource) && !a.wasIdle(u.Resource) {
				a.Later, named = append(a.Later, u), append(named, u.Resource)
			}
		}
	}
}

// doubtNearlyFull is that more of a symptom may give more throughput.
const doubtNearlyFull = "nearly_full"

// nearlyFullDoubt is about hardware that is nearly full, and named because what waits for
// it is.
func (a *analysis) nearlyFullDoubt(u Usage) {
	for _, x := range a.Symptoms {
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
		beside := slices.ContainsFunc(r.Tiers(), func(own string) bool {
			d := s.depth(own) - s.depth(tier)
			return d == 1 || d == -1
		})
		if v := l.meanSignal(tier, SignalSendQueue); beside && !(v <= most) && !math.IsNaN(v) {
			most, sender = v, tier
		}
	}
	return num.IfFinite(most), sender
}

// services are those of a resource, of all trials of a load; without a kind, of its tiers.
func (l Load) services(r Resource) iter.Seq2[Trial, Service] {
	return func(yield func(Trial, Service) bool) {
		for _, t := range l.trials {
			for _, x := range t.Services {
				if r.Of(x.Tier) && (r.Node == "" || r.Node == x.Node) && !yield(t, x) {
					return
				}
			}
		}
	}
}

// meanSignal is the mean over the hosts of a tier, or of several that share hosts, and
// the trials of a load; NaN: not known.
func (l Load) meanSignal(tier, signal string) float64 { return l.meanIn(Resource{Tier: tier}, signal) }

// meanIn is the same of the hosts of a resource.
func (l Load) meanIn(r Resource, signal string) float64 {
	var values []float64
	for _, x := range l.services(r) {
		values = append(values, meanOf(x.Signals[signal]))
	}
	return meanOf(values)
}
