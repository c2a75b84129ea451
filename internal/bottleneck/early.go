package bottleneck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// early is a soft resource that was full at a load, and at all between it and a lower
// one, while the throughput grew.
type early struct {
	Resource
	since Load    // the lowest of them
	grew  float64 // the most throughput after it ÷ that at it
	freed float64 // by which part the time for which one is held, size ÷ throughput, fell
}

// fullEarly tells since when a soft resource was as full as at a load; ok is false where
// that was not so before, or the time for which one is held did not fall.
func (s System) fullEarly(loads []Load, l Load, r Resource, filled func(Usage) bool) (e early, ok bool) {
	if !r.Kind.Soft() {
		return early{}, false
	}
	e = early{Resource: r, since: l}
	hosts, most := hostsOf(r, loads), 0.0
	var now, after []float64 // how long one is held in the trials of the load, and of all after it
	for _, x := range slices.Backward(loads) {
		if x.Users > l.Users || !x.knows(r) {
			continue
		}
		if !filled(x.usage(r)) {
			break
		}
		held := slices.DeleteFunc(perOperation(r, []Load{x}, hosts), func(v float64) bool { return v == 0 })
		if meanOf(held) > 0 { // not of NaN
			after = append(after, now...)
			e.since, e.grew, e.freed = x, most/x.Throughput, 1-meanOf(after)/meanOf(held)
			now, most = held, max(most, x.Throughput)
		}
	}
	return e, e.since.Users < l.Users && e.freed > 0 && (e.freed >= smallBend || longer(now, after))
}

// longer reports whether values are above others by more than chance: their mean above
// Student's prediction interval of the others, with the larger scatter of both. Of one
// other value nothing is known.
func longer(xs, others []float64) bool {
	sd, err := stats.SampleSD(others)
	if own, none := stats.SampleSD(xs); none == nil {
		sd = max(sd, own)
	}
	t, errT := stats.TQuantile(1-(1-level)/2, float64(len(others)-1))
	return err == nil && errT == nil && meanOf(xs) > meanOf(others)+t*sd*math.Sqrt(1/float64(len(xs))+1/float64(len(others)))
}

// unworked reports whether what filled a soft resource was no work, so that its limit as
// measured is not what ends the growth: the throughput grew on while it was full. Each
// was held for less time then. Where requests are known to have waited, that can be so by
// a part, as with the demand of hardware; where it is not known, it is likelier that
// none did.
func (s System) unworked(knee *Knee, loads []Load, l Load, r Resource) (early, bool) {
	at := l.usage(r)
	e, ok := s.fullEarly(loads, l, r, func(u Usage) bool { return u.Full || u.Partial && !at.Full })
	switch {
	case !ok:
		return e, false
	case e.freed >= smallBend:
		return e, true
	}
	before := knee != nil && float64(e.since.Users) <= knee.CI.Lo
	return e, before && e.freed >= materialLoss && math.IsNaN(e.since.meanIn(r, kindSignals[r.Kind].waiting))
}

// worked is a load without what was full with no work, which explains nothing there; it
// is kept for the answer to tell.
func (s System) worked(a *Answer, loads []Load, l Load) Load {
	whole := l
	l.Usage = nil
	for _, u := range whole.Usage {
		if e, ok := s.unworked(a.Knee, loads, whole, u.Resource); ok && (u.Full || u.Partial) && !a.wasEarly(u.Resource) {
			a.early = append(a.early, e)
		}
		if !a.wasEarly(u.Resource) {
			l.Usage = append(l.Usage, u)
		}
	}
	return l
}

// wasEarly reports whether a resource, or that of its tier, was full with no work.
func (a *Answer) wasEarly(r Resource) bool {
	return slices.ContainsFunc(a.early, func(x early) bool { return x.Resource == r || x.Resource == r.ofTier() })
}

// String says what is wrong with it.
func (e early) String() string {
	held := map[Kind]string{Threads: "not only work holds them (connections that are kept alive do, as a rule)", Pool: "not only work holds its connections (threads that keep one each do, as a rule)"}
	return fmt.Sprintf("the %s %s full from %s on, while the throughput grew to %.2g times as much: %s, and the limit as measured is not what binds",
		e.Resource, e.was(), num.Count(e.since.Users, "user"), e.grew, held[e.Kind])
}

// earlyDoubts are about what is not named because it was full too early, and about what
// is named and was busy early: each was held for less and less time.
func (s System) earlyDoubts(a *Answer, loads []Load) (out model.Doubts) {
	for _, e := range a.early {
		if !strings.Contains(a.Why, e.String()) { // else it is the reason
			out.Warn("full_early", "%s", e)
		}
	}
	for _, b := range a.Bottlenecks {
		e, ok := s.fullEarly(loads, Load{Users: a.Load}, b.Resource, func(u Usage) bool { return u.Mean >= herdLevel })
		if ok && e.freed >= materialLoss {
			out.Warn("demand_falls", "the throughput grew on though the %s %s %s busy with %s, for each was held for %s less time with more: what holds them need not be work alone",
				b.Resource, b.was(), num.Fraction(e.since.usage(b.Resource).Mean), num.Count(e.since.Users, "user"), num.Fraction(e.freed))
		}
	}
	return out
}
