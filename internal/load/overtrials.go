package load

import (
	"fmt"
	"math"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Outcome is what became of one trial at a load.
type Outcome struct {
	Latencies *hdr.Histogram // ns, of operations that ended well
	Errors    float64        // share that failed
}

// OverTrials holds each term to its limit by its interval (Student, 95 %) over trials:
// the SLA is kept where all of each interval is within, and broken where all of one is
// beyond; nil: it cannot be told, as of one trial. each is how many trials kept it by
// themselves; why is what was missed, or why it cannot be told.
//
// Operations of all trials are not pooled: those of one trial depend on each other, so
// that the trial is the unit of the interval, and its percentile one value. What is held
// to the limit is the percentile that a trial has on average, not that of all
// operations together.
func (s SLA) OverTrials(of []Outcome) (kept *bool, each int, why string) {
	missed, broken := make([]bool, len(of)), false
	for _, term := range s.Terms {
		values := make([]float64, len(of))
		for i, o := range of {
			values[i] = term.of(o)
			missed[i] = missed[i] || values[i] > term.limit()
		}
		beyond, problem := term.overTrials(values)
		if problem != "" && (why == "" || beyond && !broken) {
			why = problem
		}
		broken = broken || beyond
	}
	for _, m := range missed {
		if !m {
			each++
		}
	}
	if keeps := !broken; broken || why == "" {
		kept = &keeps
	}
	return kept, each, why
}

// overTrials is whether values of trials, of which there are some, are beyond the limit,
// and why, or why that cannot be told; neither: they are within.
func (t Term) overTrials(values []float64) (beyond bool, why string) {
	name, print, limit := "errors", num.Fraction, t.limit()
	if !t.OnErrors() {
		name, print = Percentile(t.Quantile), num.Seconds
	}
	amount := func(v float64) string {
		if math.IsInf(v, 1) {
			return "never"
		}
		return print(v)
	}
	lo, hi, above := slices.Min(values), slices.Max(values), 0
	if len(values) < 2 {
		return false, fmt.Sprintf("%s %s in one trial: more trials would tell", name, amount(lo))
	}
	for _, v := range values {
		if v > limit {
			above++
		}
	}
	if mean, ci, err := stats.MeanInterval(values, stats.DefaultLevel); err == nil && !math.IsInf(mean, 0) {
		lo, hi = max(0, ci.Lo), ci.Hi
	}
	said := fmt.Sprintf("%s %s", name, amount(lo))
	if hi > lo {
		said = fmt.Sprintf("%s [%s .. %s]", name, amount(lo), amount(hi))
	}
	switch {
	case lo > limit:
		return true, fmt.Sprintf("%s, not %s", said, print(limit))
	case hi > limit:
		return false, fmt.Sprintf("%s, around %s: missed in %d of %d trials; more trials would tell", said, print(limit), above, len(values))
	}
	return false, ""
}

// limit is that of the term, in seconds or as a share.
func (t Term) limit() float64 {
	if t.OnErrors() {
		return t.Errors
	}
	return t.Latency.Seconds()
}

// of is what a trial came to. An operation that failed is slower than any limit.
func (t Term) of(o Outcome) float64 {
	switch {
	case t.OnErrors():
		return o.Errors
	case t.Quantile > 1-o.Errors && o.Errors > 0:
		return math.Inf(1)
	}
	return float64(o.Latencies.ValueAtQuantile(100*t.Quantile/(1-o.Errors))) / 1e9
}
