package bottleneck

import (
	"math"

	"github.com/scalebench/scalebench/internal/model"
)

// unitsText is what to look at where a throughput is far above what the users can ask for.
const unitsText = ": see that response and think times are in seconds, and the throughput in operations per second"

// nothingEnded is in which share of the trials no operation ended well.
func (l Load) nothingEnded() float64 {
	n := 0.0
	for _, x := range l.values {
		if x == 0 {
			n++
		}
	}
	return n / float64(max(1, len(l.values)))
}

// lawAtLeast is the least that X·(R+Z)/N can be in the trial that tells only one of
// response and think time, and most of it: what is not known is not below 0. It is 0 where
// there is none.
func (l Load) lawAtLeast() float64 {
	most := 0.0
	for _, t := range l.trials {
		if v := t.Throughput * sumKnown(t.Response, t.Think) / float64(t.Users); math.IsNaN(t.Response) != math.IsNaN(t.Think) && v > most {
			most = v
		}
	}
	return most
}

// partDoubts are about loads at which what is known of the cycle of a user, response or
// think time, leaves no time for as many operations.
func (a *Answer) partDoubts(loads []Load) (out model.Doubts) {
	known := "think time"
	for _, l := range loads {
		if l.Think == nil {
			known = "response time"
		}
	}
	perLoad(&out, "closed_loop", "of the users is what throughput times "+known+" alone comes to", loads, func(l Load) (share, model.Severity) {
		switch v := l.lawAtLeast(); {
		case v > 1+lawBroken && (a.Load == 0 || a.Load == l.Users):
			return ofAll(v), model.Problem
		case v > 1+lawTolerance:
			return ofAll(v), model.Warning
		}
		return share{}, ""
	}, func(model.Severity, []Load) string {
		return ", and more than 100 % cannot be" + unitsText
	})
	return out
}
