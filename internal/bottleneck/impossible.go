package bottleneck

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// unitsText is what to look at where a throughput is far above what the users can ask for.
const unitsText = ": see that response and think times are in seconds, and the throughput in operations per second"

// nothingEnded is in which share of the trials no operation ended well.
func (l Load) nothingEnded() float64 {
	n := 0.0
	for _, x := range l.Throughputs {
		if x == 0 {
			n++
		}
	}
	return n / float64(max(1, len(l.Throughputs)))
}

// lawParts are X·R/N and X·Z/N of the trials that tell only one of response and think
// time, which is then the least that X·(R+Z)/N can be.
var lawParts = []struct {
	name   string
	of, no func(Trial) float64
}{
	{"response time", func(t Trial) float64 { return t.Response }, func(t Trial) float64 { return t.Think }},
	{"think time", func(t Trial) float64 { return t.Think }, func(t Trial) float64 { return t.Response }},
}

// partOfLaw is such a part of the trial with the most of it, and the mean.
func (l Load) partOfLaw(of, no func(Trial) float64) (x share) {
	var mean average
	for _, t := range l.trials {
		if v := t.Throughput * of(t) / float64(t.Users); math.IsNaN(no(t)) && !math.IsNaN(v) {
			x.worst = x.worst.worse(t.Trial, v, 0)
			mean.add(v, 1)
		}
	}
	x.mean = mean.mean()
	return x
}

// lawAtLeast is the most that such a part comes to in a trial; 0: there is none.
func (l Load) lawAtLeast() float64 {
	most := 0.0
	for _, part := range lawParts {
		if v := l.partOfLaw(part.of, part.no).worst.value(); v > most { // not of NaN
			most = v
		}
	}
	return most
}

// partDoubts are about loads at which what is known of the cycle of a user, response or
// think time, leaves no time for as many operations.
func (a *Answer) partDoubts(loads []Load) (out model.Doubts) {
	for _, part := range lawParts {
		perLoad(&out, "closed_loop", "of the users is what throughput times "+part.name+" alone comes to", loads, func(l Load) (share, model.Severity) {
			x := l.partOfLaw(part.of, part.no)
			switch v := x.worst.value(); {
			case v > 1+lawBroken && a.carries(l, loads):
				return x, model.Problem
			case v > 1+lawTolerance:
				return x, model.Warning
			}
			return share{}, ""
		}, func(_ model.Severity, at []Load) string {
			text := ", and more than 100 % cannot be"
			if slices.ContainsFunc(at, func(l Load) bool { return l.lawAtLeast() > otherUnits }) {
				text += unitsText
			}
			return text
		})
	}
	return out
}
