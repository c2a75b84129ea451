package bottleneck

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// idleHolders are holders of a soft resource that fill it without work: it was full at a
// load, and at all between it and a lower one, while the throughput grew.
type idleHolders struct {
	Resource
	since Load    // the lowest of them
	grew  float64 // the most throughput after it ÷ that at it
	freed float64 // by which part the time for which one is held, size ÷ throughput, fell
}

// filledSince finds since when a soft resource was as full as at a load; ok is false where
// that was not so before, or the time for which one is held did not fall.
func filledSince(loads []Load, l Load, r Resource, filled func(Usage) bool) (e idleHolders, ok bool) {
	if !r.Kind.Soft() {
		return idleHolders{}, false
	}
	e = idleHolders{Resource: r, since: l}
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
	t, errT := stats.TQuantile((1+level)/2, float64(len(others)-1))
	return err == nil && errT == nil && meanOf(xs) > meanOf(others)+t*sd*math.Sqrt(1/float64(len(xs))+1/float64(len(others)))
}

// heldIdle reports whether what filled a soft resource was no work, so that its limit as
// measured is not what ends the growth: the throughput grew on while it was full. Each
// was held for less time then. Where requests are known to have waited, that can be so by
// a part, as with the demand of hardware; where it is not known, it is likelier that
// none did.
func heldIdle(knee *Knee, loads []Load, l Load, r Resource) (idleHolders, bool) {
	at := l.usage(r)
	e, ok := filledSince(loads, l, r, func(u Usage) bool { return u.Full || u.Partial && !at.Full })
	before := knee != nil && float64(e.since.Users) <= knee.CI.Lo
	return e, ok && (e.freed >= smallBend || before && e.freed >= materialLoss &&
		math.IsNaN(e.since.meanIn(r, kinds[r.Kind].waiting)))
}

// withoutIdleHolders is a load without what was full with no work, which explains nothing
// there; it is kept for the answer.
func (a *analysis) withoutIdleHolders(l Load) Load {
	whole := l
	l.Usage = nil
	for _, u := range whole.Usage {
		if (u.Full || u.Partial) && !a.wasIdle(u.Resource) {
			if e, ok := heldIdle(a.Knee, a.counted, whole, u.Resource); ok {
				a.idle = append(a.idle, e)
			}
		}
		if !a.wasIdle(u.Resource) {
			l.Usage = append(l.Usage, u)
		}
	}
	return l
}

// wasIdle reports whether a resource, or that of its tier, was full with no work.
func (a *analysis) wasIdle(r Resource) bool {
	return slices.ContainsFunc(a.idle, func(x idleHolders) bool { return x.Resource == r || x.Resource == r.ofTier() })
}

// String says what is wrong with it.
func (e idleHolders) String() string {
	held := "not only work holds them (connections that are kept alive do, as a rule)"
	if e.Kind == Pool {
		held = "not only work holds its connections (threads that keep one each do, as a rule)"
	}
	return fmt.Sprintf("the %s %s full from %s on, while the throughput grew to %.2g times as much: %s, and the limit as measured is not what binds",
		e.Resource, e.was(), e.since, e.grew, held)
}

// idleDoubts are about what is not named because it was full too early, unless that is
// the reason, and about what is named and was busy early: each was held for less and less
// time.
func (a *analysis) idleDoubts() {
	for _, e := range a.idle {
		a.doubts.Warn("full_early", "%s", e)
	}
	for _, b := range a.Bottlenecks {
		e, ok := filledSince(a.counted, Load{Users: a.Load}, b.Resource, func(u Usage) bool {
			return u.Mean >= minUtilisationAtKnee
		})
		if ok && e.freed >= materialLoss {
			a.doubts.Warn("demand_falls", "the throughput grew on though the %s %s %s busy with %s, for each was held for %s "+
				"less time with more: what holds them need not be work alone",
				b.Resource, b.was(), num.Fraction(e.since.usage(b.Resource).Mean), e.since, num.Fraction(e.freed))
		}
	}
}
