package capacity

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/stats"
)

// sentence is what a search has found: what is wrong first, then what is known.
func (a Answer) sentence() string {
	const notFound = "Capacity not found: "
	switch l := limits[a.Limit]; {
	case a.Reserve != nil:
		return fmt.Sprintf("%sthe server took %s; it sustains about %s.", notFound, a.tookOnly(), rate(a.Reserve.Sustained))
	case a.Limit == LimitTarget:
		return "The server takes " + a.boundary()
	case a.breaksAlone():
		alone := a.Path.Alone.Seconds()
		s := num.For("s", alone)
		return fmt.Sprintf("%sround trips to the server alone take %s %s, which breaks %s; nothing is known of the server.",
			notFound, num.Digits(alone/s.Factor, 3), s.Unit, termText(*a.Path.Breaks))
	case l.long != "" && a.Passed != nil:
		return notFound + a.fill(l.long) + "; it takes at least " + a.heldFor() + "."
	case l.long != "":
		return notFound + a.fill(l.long) + "."
	case a.Limit == LimitCap && a.HeldFor > 0:
		return "The server takes " + a.heldFor() + ": no larger load was allowed, and no longer window shows whether it " +
			"sustains that."
	case a.Limit == LimitCap:
		return "The server takes " + loadText(a.Passed) + " or more: no larger load was allowed."
	case a.Limit == LimitFloor && a.open != nil:
		return notFound + a.open.why + "."
	case a.Limit == LimitFloor:
		return "The server takes less than " + loadText(a.Failed) + ", the smallest load allowed."
	case strings.HasSuffix(a.Failure, "?"):
		return "Nothing was measured: " + a.Failure
	case a.Failure != "":
		return "Nothing was measured: " + strings.TrimSuffix(a.Failure, ".") + "."
	}
	return "The search is not over: " + a.soFar() + a.notMeasured() + "."
}

// soFar is what is known before the end.
func (a Answer) soFar() string {
	switch {
	case a.Passed == nil && a.Failed == nil:
		return "nothing is known yet"
	case a.Failed == nil:
		return fmt.Sprintf("at least %s; no valid window failed so far", loadText(a.Passed))
	case a.Passed == nil:
		return fmt.Sprintf("less than %s; no valid window passed so far", loadText(a.Failed))
	}
	return fmt.Sprintf("passed at %s, failed at %s so far", loadText(a.Passed), loadText(a.Failed))
}

// notMeasured names the smallest load between what passed and what failed at
// which all windows were unusable; empty without one.
func (a Answer) notMeasured() string {
	var at *tried
	for _, t := range loadsOf(a.Windows) {
		beyond := (a.Passed == nil || t.load > *a.Passed) && (a.Failed == nil || t.load < *a.Failed)
		if at == nil && beyond && t.unusable > 0 && t.passed+t.missed == 0 {
			at = &t
		}
	}
	if at == nil {
		return ""
	}
	return fmt.Sprintf("; %s not measured yet (%s)", rate(at.load), num.Count(at.unusable, "unusable window"))
}

// boundary is the estimate, the two loads that it lies between, and its
// interval.
func (a Answer) boundary() string {
	text := "a load that was not pinned down"
	if a.Estimate != nil {
		text = a.estimate()
	}
	if a.Failed == nil {
		text += fmt.Sprintf(": passed at %s, and no load missed the SLA", loadText(a.Passed))
	} else {
		text += fmt.Sprintf(": passed at %s, failed at %s", loadText(a.Passed), loadText(a.Failed))
	}
	if a.Estimate != nil && a.CI != nil {
		text += "; 95 % interval " + rangeText(*a.CI, " to ")
	}
	return text + "."
}

// estimate says whether it is more than that.
func (a Answer) estimate() string {
	if !a.Confirmed {
		return "about " + loadText(a.Estimate) + ", not confirmed"
	}
	return loadText(a.Estimate)
}

// heldFor is the load passed, and for how long at a time where it is not shown that
// the target sustains it.
func (a Answer) heldFor() string {
	if a.HeldFor == 0 {
		return loadText(a.Passed)
	}
	return loadText(a.Passed) + " for " + num.Seconds(a.HeldFor) + " at a time"
}

// tookOnly is the load passed, and for how long, of a target with a reserve.
func (a Answer) tookOnly() string {
	return loadText(a.Passed) + " for " + num.Seconds(a.Reserve.Held) + " only"
}

// brief is what a trial found in a few words, for those without an estimate too.
func (a Answer) brief() string {
	const notFound = "not found: "
	switch l := limits[a.Limit]; {
	case a.Estimate != nil:
		return a.estimate()
	case a.Reserve != nil:
		return notFound + a.tookOnly()
	case a.Limit == LimitCap && a.HeldFor > 0:
		return a.heldFor()
	case a.Limit == LimitCap:
		return loadText(a.Passed) + " or more"
	case a.Limit == LimitFloor && a.open != nil:
		return notFound + "no window shows what the server takes"
	case a.Limit == LimitFloor:
		return "less than " + loadText(a.Failed)
	case a.breaksAlone():
		return notFound + "round trips alone break the SLA"
	case l.short != "":
		return notFound + a.fill(l.short)
	case a.Failure != "":
		return "nothing was measured"
	case a.Limit == LimitNone:
		return "not over"
	}
	return "not pinned down"
}

// failing says how operations failed in the windows that missed the SLA by that;
// empty where none did.
func (a Answer) failing() string {
	n, c := a.failed()
	if n == 0 {
		return ""
	}
	return num.Count(n, "window") + " missed the SLA by errors: " + c.Failures() + "."
}

// failed adds up the windows that missed the SLA by errors.
func (a Answer) failed() (n int, c load.Counts) {
	windows := only(a.Windows, func(w Assessment) bool {
		return w.Verdict == Missed && slices.ContainsFunc(w.Misses, func(m reason) bool { return m.errors })
	})
	return len(windows), total(windows).Counts
}

// effort says how much the answer was tried; empty where it was not.
func (a Answer) effort() string {
	n := len(a.Windows)
	if n == 0 {
		return ""
	}
	text := num.Count(n, "window") + " of load were measured"
	if n == 1 {
		text = "1 window of load was measured"
	}
	if a.Confirmed {
		text += "; both sides of the boundary were tried again"
	}
	return text + "."
}

// group is the searches of one workload: trials of the same target.
type group struct {
	workload, target string
	trials           []Search
}

// groups of searches by workload, in the order of their first searches.
func groups(searches []Search) (out []group) {
	for _, s := range searches {
		i := slices.IndexFunc(out, func(g group) bool { return g.workload == s.Workload })
		if i < 0 {
			i = len(out)
			out = append(out, group{workload: s.Workload, target: s.Target})
			if s.Target == "" {
				out[i].target = s.Workload
			}
		}
		out[i].trials = append(out[i].trials, s)
	}
	return out
}

// estimates are those of the trials that have one.
func (g group) estimates() (out []float64) {
	for _, s := range g.trials {
		if e := s.Answer.Estimate; e != nil {
			out = append(out, *e)
		}
	}
	return out
}

// median of the estimates; NaN where there is none.
func (g group) median() float64 { return stats.Median(g.estimates()) }

// takes is the median of the estimates with its doubt: how many of them were not
// confirmed.
func (g group) takes() string {
	n := len(g.estimates())
	doubtful := 0
	for _, s := range g.trials {
		if s.Answer.Estimate != nil && !s.Answer.Confirmed {
			doubtful++
		}
	}
	switch text := rate(g.median()); {
	case doubtful == 0:
		return text
	case n == 1:
		return "about " + text + " (not confirmed)"
	default:
		return fmt.Sprintf("%s (%d of %s not confirmed)", text, doubtful, num.Count(n, "estimate"))
	}
}

// summary says in a few sentences what the searches of a run found.
func summary(all []group) []string {
	if len(all) > 1 {
		return []string{compared(all)}
	}
	g := all[0]
	if len(g.trials) > 1 {
		return []string{g.summary(), "SLA: " + slaText(slices.Values(g.trials[0].Config.SLA.Terms)) + "."}
	}
	s := g.trials[0]
	sla := slaText(slices.Values(s.Config.SLA.Terms))
	about := fmt.Sprintf("Target: %s. SLA: %s. %s", g.target, sla, s.Answer.effort())
	words := []string{s.Answer.sentence(), strings.TrimSpace(about)}
	if text := s.Answer.failing(); text != "" {
		words = append(words, text)
	}
	return words
}

// summary sums up several searches of one target.
func (g group) summary() string {
	values := g.estimates()
	if len(values) == 0 {
		return fmt.Sprintf("Capacity not found in any of %s of %s.", num.Count(len(g.trials), "trial"), g.target)
	}
	text := fmt.Sprintf("%s takes %s", g.target, g.takes())
	if len(values) == 1 {
		return text + fmt.Sprintf(", by the one of %s that found a capacity.", num.Count(len(g.trials), "trial"))
	}
	text += fmt.Sprintf(": the median of %s, from %s.", num.Count(len(values), "trial"), rangeText([2]float64{slices.Min(values), slices.Max(values)}, " to "))
	if missing := len(g.trials) - len(values); missing > 0 {
		text += fmt.Sprintf(" %s found no capacity.", num.Count(missing, "more trial"))
	}
	return text
}

// compared compares targets by the medians of their trials.
func compared(all []group) string {
	known := slices.DeleteFunc(slices.Clone(all), func(g group) bool { return math.IsNaN(g.median()) })
	switch len(known) {
	case 0:
		return fmt.Sprintf("Capacity not found for any of %d targets.", len(all))
	case 1:
		return fmt.Sprintf("Of %d targets, a capacity was found only for %s: %s.", len(all), known[0].target, known[0].takes())
	}
	byMedian := func(a, b group) int { return cmp.Compare(a.median(), b.median()) }
	best, least := slices.MaxFunc(known, byMedian), slices.MinFunc(known, byMedian)
	text := fmt.Sprintf("Of %d targets, %s takes the most, %s, and %s the least, %s.", len(all), best.target, best.takes(), least.target, least.takes())
	if n := len(all) - len(known); n > 0 {
		text += fmt.Sprintf(" The capacity of %s was not found.", num.Count(n, "other"))
	}
	return text
}

// without counts the trials that have no estimate, and names a few; empty where
// there is none.
func (g group) without() string {
	const most = 6
	var named []string
	for _, s := range g.trials {
		if s.Answer.Estimate == nil {
			named = append(named, fmt.Sprintf("trial %d (%s)", s.Trial, s.Answer.brief()))
		}
	}
	n := len(named)
	if n == 0 {
		return ""
	}
	text := num.Count(n, "trial") + " without an estimate: " + strings.Join(named[:min(n, most)], ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

// rate is a load for people.
func rate(v float64) string { return num.Human(v, "op/s") }

// loadText is rate of a load that may be missing.
func loadText(v *float64) string {
	if v == nil {
		return "none"
	}
	return rate(*v)
}

// rangeText prints two loads in the unit of the larger one.
func rangeText(r [2]float64, between string) string {
	s := num.For("op/s", r[0], r[1])
	return num.Digits(r[0]/s.Factor, 4) + between + num.Digits(r[1]/s.Factor, 4) + " " + s.Unit
}

// slaText are the terms of an SLA for people: "p90 ≤ 150 ms, errors ≤ 1 %".
func slaText(terms iter.Seq[load.Term]) string {
	var parts []string
	for t := range terms {
		parts = append(parts, termText(t))
	}
	return strings.Join(parts, ", ")
}

func termText(t load.Term) string {
	if t.OnErrors() {
		return "errors ≤ " + num.Digits(100*t.Errors, 4) + " %"
	}
	return load.Percentile(t.Quantile) + " ≤ " + limitText(t.Latency)
}

// limitText prints a limit as it was given: "150 ms", not "150.0 ms".
func limitText(d time.Duration) string {
	s := num.For("s", d.Seconds()*(1+1e-9)) // .001 is 1 ms and not 1000 µs
	return num.Digits(d.Seconds()/s.Factor, 6) + " " + s.Unit
}

// quantile is NaN for no values.
func quantile(xs []float64, q float64) float64 {
	v, err := stats.Quantile(xs, q)
	if err != nil {
		return math.NaN()
	}
	return v
}
