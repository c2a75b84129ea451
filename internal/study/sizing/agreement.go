package sizing

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
)

// Measured is what several nodes did at once in the run that the demand comes
// from, beside the band for as many.
type Measured struct {
	Nodes int                  `json:"nodes"`
	Rate  float64              `json:"rate"` // jobs per second
	CI    *evaluation.Interval `json:"ci"`   // over trials; nil with one
	Lower float64              `json:"lower"`
	Upper float64              `json:"upper"`
}

// slack is how far beyond an end of the band, as a part of it, a measured rate
// may lie: of eleven fleets of transcoders, measured in a lab, eight lay within,
// one 3 % above it, and two 3 and 9 % below (docs/methods.md has the table).
const slack = 0.1

// agree sets what the demand's run measured beside the plan. If it lies, with
// its interval, outside of the widest band that the intervals of rate, demand and
// capacity allow, the plan does not describe that run, and so no other fleet: the
// answer is unknown.
func (q question) agree(r *Result, n *model.Doubts) {
	r.Measured = []Measured{}
	if r.Rate == nil {
		return // not even one node works at this rate
	}
	f := q.fleets(r)
	var against *contradiction
	for _, m := range q.together.points {
		b := f.Band(m.Nodes)
		m.Lower, m.Upper = b.Lower, b.Upper
		r.Measured = append(r.Measured, m)
		c := contradiction{Measured: m, lower: min(f.Slowest.Least(m.Nodes), f.Slowest.Upper(m.Nodes)),
			upper: f.Fastest.Upper(m.Nodes)}
		if c.off() > 1 && (against == nil || c.off() > against.off()) {
			against = &c
		}
	}
	if against != nil {
		q.refuse(r, *against, n)
	}
}

// fleets are the networks by the figures themselves, and by the ends of the intervals
// with which a fleet is slowest, and fastest.
func (q question) fleets(r *Result) queueing.Ends {
	lo, hi := ends(q.nodeRate, q.nodeRateCI)
	return queueing.Ends{Fleet: r.fleet(), Slowest: fleetOf(lo, r.Slots, r.Resources, Resource.slowest),
		Fastest: fleetOf(hi, r.Slots, r.Resources, Resource.fastest)}
}

// widen adds what the intervals leave open of what the wanted fleet does.
func (q question) widen(r *Result) {
	if r.Rate == nil {
		return
	}
	widest := q.fleets(r).Interval(r.Nodes)
	if widest.Lower < r.Rate.Lower*(1-rounding) || widest.Upper > r.Rate.Upper*(1+rounding) {
		r.RateCI = &[2]float64{widest.Lower, widest.Upper}
	}
}

// contradiction is a measured rate that the plan does not allow; lower and upper
// are the ends of the widest band.
type contradiction struct {
	Measured
	lower, upper float64
}

// off is by which factor it lies beyond the slack, at most 1 within.
func (c contradiction) off() float64 {
	lo, hi := ends(c.Rate, c.CI)
	return max(lo/(c.upper*(1+slack)), c.lower*(1-slack)/hi)
}

// refuse takes the answer back, and what is said of each resource: only what was
// given and measured stays.
func (q question) refuse(r *Result, c contradiction, n *model.Doubts) {
	why := q.blame(r, c)
	for i := range r.Resources {
		x := &r.Resources[i]
		x.Answer, x.Text = Unknown, ""
		x.RateLimit, x.NodeLimit, x.Largest, x.LargestCI, x.LargestRate = nil, nil, nil, nil, nil
	}
	r.Answer, r.Binding, r.Largest, r.LargestRate = Unknown, "", nil, nil
	r.NodesSafe, r.RateSafe, r.RateCI = nil, nil, nil
	if m := q.did(); m != nil && m.Nodes != c.Nodes {
		r.beside = fmt.Sprintf(" In that run %s did %s.", num.Count(m.Nodes, "node"), jobs(m.Rate))
	}
	r.against = fmt.Sprintf("%s did %s in run %s, the plan says %s", num.Count(c.Nodes, "node"), jobs(c.Rate), q.together.run, span(c.Lower, c.Upper))
	*n = append(model.Doubts{{
		Code: "contradicts_run", Severity: model.Problem, Workload: q.together.workload, Phase: model.Parallel,
		Text: r.against + ": " + why,
	}}, *n...)
}

// blame says which figure does not describe what was measured, and what to do.
func (q question) blame(r *Result, c contradiction) string {
	const otherwise = "; if the plan is for other conditions than those of the run, give --node-rate and --demand-per-job in place of --demand-run"
	lo, _ := ends(c.Rate, c.CI)
	_, fastest := ends(q.nodeRate, q.nodeRateCI)
	where, _ := r.fleet().Bottleneck()
	switch {
	case lo <= c.upper:
		return "something that the plan does not know holds the nodes back; measure the capacity of what they share, or give its limit with --capacity" + otherwise
	case lo > float64(c.Nodes)*fastest*(1+slack):
		what := "measure one node alone again, for as long as several"
		if q.rateGiven {
			what = "leave --node-rate out, and give --target in what the run counts"
		}
		return "the rate of one node, " + perSecond(q.nodeRate) + ", does not describe what was measured; " + what + otherwise
	}
	return "the demand on " + where + " or its capacity does not describe what was measured; give what a job takes with --demand-per-job, or the limit with --capacity" + otherwise
}
