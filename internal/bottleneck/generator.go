package bottleneck

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// refuse says of each load whether the generator binds there, in which case it says
// nothing about the application: its loop is busy, its sends are late, or what the
// client waits beyond what the first tier takes grows with the users, with nothing
// in the first tier to explain it (the paper's section IV; its clients were the
// bottleneck above 3,000 users). Where users reach another service before that tier, the
// wait may be there, and refuses nothing.
func (s System) refuse(loads []Load) {
	first, from := math.NaN(), Load{}
	for i := range loads {
		l := &loads[i]
		l.Refused = l.busyGenerator()
		beyond := s.beyondServer(*l)
		if math.IsNaN(first) { // nobody waits less than a server takes: where a cold one began to answer before the run, both have other requests
			first, from = max(0, beyond), *l
		}
		if l.Refused == "" && l.Response != nil && beyond-first-l.unsure(s.Tiers[0]) > max(generatorDifference**l.Response, millisecond) && !s.firstTierExplains(loads, *l) {
			l.beyond = fmt.Sprintf("the users waited %s longer than the %s tier took, %s longer than with %s, and nothing in that tier explains it",
				num.Seconds(beyond), s.Tiers[0], num.Seconds(beyond-first), from)
			if s.Front == "" {
				l.Refused = l.beyond
			}
		}
		if _, below := valid(loads[:i]); l.Refused == "" && below != nil {
			l.Refused = fmt.Sprintf("the load generator was the limit from %s on", below)
		}
	}
}

// inFront is the doubt about what users wait in front of the first tier, where they reach
// another service before it. The growth may have ended there.
func (a *analysis) inFront() {
	var at []Load
	for _, l := range a.counted {
		if l.beyond != "" && a.Front != "" {
			at = append(at, l)
		}
	}
	if len(at) == 0 {
		return
	}
	more := ""
	if len(at) > 1 {
		more = fmt.Sprintf(" and at %d of the larger loads", len(at)-1)
	}
	text := fmt.Sprintf("something between users and %s takes time: %s, first with %s%s; they reach %s before it, and "+
		"that, or the load generator, may be what binds: name it as the first tier (tiers: [%s, …])",
		a.Tiers[0], at[0].beyond, at[0], more, a.Front, a.Front)
	a.doubts.Warn("front", "%s", text)
	ended := a.Knee == nil || float64(at[len(at)-1].Users) >= a.Knee.CI.Lo
	if ended && a.ExcludedFromRanking == "" {
		a.ExcludedFromRanking = text
	}
}

// moreGenerators is what to do where the generator binds.
const moreGenerators = "give the users another node, or a faster one"

// busyGenerator is what the generators say of themselves.
func (l Load) busyGenerator() string {
	busy, late := 0.0, 0.0
	for _, t := range l.trials {
		for _, g := range t.Generators {
			if g.Busy > busy { // not of NaN
				busy = g.Busy
			}
			if g.Lag > late {
				late = g.Lag
			}
		}
	}
	switch {
	case busy >= generatorBusy:
		return fmt.Sprintf("a generator was busy for %s of the time", num.Fraction(busy))
	case l.Response != nil && late > max(generatorLate**l.Response, 5*millisecond):
		return fmt.Sprintf("a generator sent one in a hundred of its requests %s late or more, with a mean response time of %s", num.Seconds(late), num.Seconds(*l.Response))
	}
	return ""
}

// beyondServer is the mean response time of the users less that of the first tier,
// and less what waits there before it is accepted or read, for want of a processor
// (Little: number over rate); NaN where it is not known. What waits for a thread is in
// the response time of servers that tell of such a queue.
func (s System) beyondServer(l Load) float64 {
	if len(s.Tiers) == 0 {
		return math.NaN()
	}
	response, waiting := l.Served(s.Tiers[0])
	return value(l.Response) - response - waiting
}

// Served is the mean response time as a tier tells it, of the hosts that tell of both time
// and requests, and what waits there before; NaN where none does.
func (l Load) Served(tier string) (response, waiting float64) {
	answered := 0.0
	for _, x := range l.services(Resource{Tier: tier}) {
		a, b := meanOf(x.Signals[SignalResponse]), meanOf(x.Signals[SignalRequests])
		if math.IsNaN(a) || !(b > 0) {
			continue
		}
		response, answered = response+a, answered+b
		for _, queue := range []string{SignalAcceptQueue, SignalRunDelay} {
			if w := meanOf(x.Signals[queue]); w > 0 {
				waiting += w
			}
		}
	}
	return response / answered, waiting / answered
}

// unsure is how much of what users waited beyond a tier may be chance: half of Student's
// interval over the seconds of all trials; 0: these do not tell. Users count what was due
// in a second, and a tier what it answered: what is held up at its ends is in one of both.
func (l Load) unsure(tier string) float64 {
	var apart []float64
	for _, t := range l.trials {
		for i, response := range t.Responses {
			took, answered := 0.0, 0.0
			for _, x := range t.Services {
				if a, b := x.Signals[SignalResponse], x.Signals[SignalRequests]; x.Tier == tier && i < min(len(a), len(b)) {
					took, answered = took+a[i], answered+b[i]
				}
			}
			if d := response - took/answered; !math.IsNaN(d) && answered > 0 {
				apart = append(apart, d)
			}
		}
	}
	mean, ci := stats.MeanWithin(apart, level)
	if ci == nil {
		return 0
	}
	return mean - ci.Lo
}

// firstTierExplains reports whether something of the first tier was short, so that
// what its own clock does not see may have waited for it: a process that is held back
// by its quota reads its requests late.
func (s System) firstTierExplains(loads []Load, l Load) bool {
	for _, u := range l.Usage {
		if u.Of(s.Tiers[0]) && (u.Full || u.Partial || u.Kind == CPU && u.Mean >= shortCPU) {
			if _, idle := heldIdle(nil, loads, l, u.Resource); !idle {
				return true
			}
		}
	}
	return l.held(s.Tiers[0]) >= partialShare
}

// held is in which share of their periods the processors of a tier were held back;
// NaN: not known.
func (l Load) held(tier string) float64 {
	periods := l.meanSignal(tier, SignalPeriods)
	if !(periods > 0) {
		return math.NaN()
	}
	return l.meanSignal(tier, SignalHeld) / periods
}
