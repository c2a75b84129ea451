package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
)

// CapacityAnswer says in two sentences what was searched and what was found.
func CapacityAnswer(x capacity.Found) []string {
	head := fmt.Sprintf("%s, trial %d, %s, SLA %s", x.Workload, x.Trial, x.Target, x.Config.SLA)
	return []string{head, answerWords(x.Result)}
}

// answerWords is what a search has found, without a full stop.
func answerWords(r capacity.Result) string {
	switch r.Limit {
	case capacity.LimitTarget:
		return boundaryWords("the server", r)
	case capacity.LimitPath:
		return pathWords(r)
	case capacity.LimitGenerator:
		return "refused: " + r.GeneratorsWords() + ", not the server" + atLeastWords("; it takes ", r)
	case capacity.LimitCap:
		return fmt.Sprintf("the server takes %s or more: nothing larger was allowed", opRate(r.Passed))
	case capacity.LimitFloor:
		return fmt.Sprintf("the server takes less than %s, the smallest load allowed", opRate(r.Failed))
	case capacity.LimitUnknown:
		return "refused: another version of scalebench has searched, in another way"
	}
	if r.Failure != "" {
		return "nothing was measured: " + table.Clean(r.Failure)
	}
	if r.Passed == nil && r.Failed == nil {
		return "not over: nothing is known yet"
	}
	return fmt.Sprintf("not over: passed at %s, failed at %s so far", opRate(r.Passed), opRate(r.Failed))
}

// sentence ends what is no question yet with a full stop.
func sentence(words string) string {
	if strings.HasSuffix(words, "?") {
		return capital(words)
	}
	return capital(words) + "."
}

// furtherWarnings are those that [answerWords] does not say already.
func furtherWarnings(r capacity.Result) []string {
	answer := answerWords(r)
	var out []string
	for _, text := range r.Warnings {
		if text = table.Clean(text); text != answer {
			out = append(out, text)
		}
	}
	return out
}

// boundaryWords are the estimate, the two loads that it lies between, and its
// interval.
func boundaryWords(what string, r capacity.Result) string {
	sides := fmt.Sprintf("passed at %s, failed at %s", opRate(r.Passed), opRate(r.Failed))
	if r.Estimate == nil || !num.Finite(*r.Estimate) {
		return "what " + what + " takes was not pinned down: " + sides
	}
	words := fmt.Sprintf("%s takes %s: %s", what, estimateWords(r), sides)
	if r.CI != nil {
		words += "; 95 % interval " + opRange(*r.CI, " to ")
	}
	return words
}

// estimateWords are the estimate, and whether it is more than that.
func estimateWords(r capacity.Result) string {
	if !r.Confirmed {
		return "about " + opRate(r.Estimate) + ", not confirmed"
	}
	return opRate(r.Estimate)
}

// pathWords say why nothing is known of the server but what passed.
func pathWords(r capacity.Result) string {
	if r.Path != nil && r.Path.Breaks != nil {
		alone := r.Path.Alone.Seconds()
		s := num.For("s", alone)
		return fmt.Sprintf("refused: round trips to the server alone take %s %s, which breaks %s; nothing is known of the server",
			unit.Digits(alone/s.Factor, 3), s.Unit, termWords(*r.Path.Breaks))
	}
	return "refused: the path to the server was at its limit, not the server" + atLeastWords("; it takes ", r)
}

// atLeastWords say what is known where the server's limit was not reached.
func atLeastWords(lead string, r capacity.Result) string {
	if r.Passed == nil {
		return ""
	}
	return lead + "at least " + opRate(r.Passed)
}

// opRate prints a load; "none" where there is none.
func opRate(v *float64) string {
	if v == nil || !num.Finite(*v) {
		return "none"
	}
	return unit.Human(*v, "op/s")
}

// opRange prints two loads in the unit of the larger one.
func opRange(r [2]float64, between string) string {
	if !num.Finite(r[0]) || !num.Finite(r[1]) {
		return opRate(&r[0]) + between + opRate(&r[1])
	}
	s := num.For("op/s", r[0], r[1])
	return unit.Digits(r[0]/s.Factor, 4) + between + unit.Digits(r[1]/s.Factor, 4) + " " + s.Unit
}

// slaWords are the terms of an SLA for people: "p90 ≤ 150 ms, errors ≤ 1 %".
func slaWords(s capacity.SLA) string {
	var parts []string
	for _, t := range s.Terms {
		parts = append(parts, termWords(t))
	}
	return strings.Join(parts, ", ")
}

func termWords(t capacity.Term) string {
	if t.OnErrors() {
		return "errors ≤ " + unit.Digits(100*t.Errors, 4) + " %"
	}
	return percentile(t.Quantile) + " ≤ " + latencyWords(t.Latency)
}

// latencyWords print a limit as it was given: "150 ms", not "150.0 ms".
func latencyWords(d time.Duration) string {
	s := num.For("s", d.Seconds()*(1+1e-9)) // .001 is 1 ms and not 1000 µs
	return unit.Digits(d.Seconds()/s.Factor, 6) + " " + s.Unit
}

// percentile is the name of a quantile: "p90" of .9, "max" of 1.
func percentile(q float64) string {
	if q >= 1 {
		return "max"
	}
	return "p" + unit.Digits(100*q, 6)
}

// targetOf names what was searched: the target, or the workload where nobody
// has said what its target is.
func targetOf(x capacity.Found) string {
	if x.Target != "" {
		return table.Clean(x.Target)
	}
	return table.Clean(x.Workload)
}

// capacitySummary says in a few sentences what the searches of a run found.
func capacitySummary(found []capacity.Found) []string {
	groups := groupSearches(found)
	if len(groups) > 1 {
		return targetsSummary(groups)
	}
	g := groups[0]
	if len(g.trials) > 1 {
		return []string{trialsSentence(g), "The SLA was " + slaWords(g.trials[0].Config.SLA) + "."}
	}
	x := g.trials[0]
	return []string{
		sentence(answerWords(x.Result)),
		fmt.Sprintf("Target: %s. SLA: %s. %s", targetOf(x), slaWords(x.Config.SLA), confirmedWords(x.Result)),
	}
}

// confirmedWords say how much the answer was tried.
func confirmedWords(r capacity.Result) string {
	tried := count(len(r.Windows), "window") + " of load were measured"
	if len(r.Windows) == 1 {
		tried = "1 window of load was measured"
	}
	if r.Confirmed {
		return tried + "; both sides of the boundary were tried again."
	}
	return tried + "."
}

// trialsSentence sums up several searches of one target.
func trialsSentence(g searchGroup) string {
	values := g.estimates()
	if len(values) == 0 {
		return fmt.Sprintf("None of %s of %s found a capacity.", count(len(g.trials), "trial"), g.target)
	}
	s := fmt.Sprintf("%s takes %s", g.target, opRate(ptrTo(medianOf(values))))
	if len(values) == 1 {
		return s + fmt.Sprintf(", by the one of %s that found a capacity.", count(len(g.trials), "trial"))
	}
	lo, hi := values[0], values[0]
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	s += fmt.Sprintf(": the median of %s, from %s.", count(len(values), "trial"), opRange([2]float64{lo, hi}, " to "))
	if missing := len(g.trials) - len(values); missing > 0 {
		s += fmt.Sprintf(" %s found no capacity.", count(missing, "more trial"))
	}
	return s
}

// targetsSummary compares targets by the medians of their trials.
func targetsSummary(groups []searchGroup) []string {
	var best, least *searchGroup
	known := 0
	for i := range groups {
		g := &groups[i]
		if len(g.estimates()) == 0 {
			continue
		}
		known++
		if best == nil || medianOf(g.estimates()) > medianOf(best.estimates()) {
			best = g
		}
		if least == nil || medianOf(g.estimates()) < medianOf(least.estimates()) {
			least = g
		}
	}
	switch known {
	case 0:
		return []string{fmt.Sprintf("No capacity was found of any of %d targets.", len(groups))}
	case 1:
		return []string{fmt.Sprintf("Of %d targets, a capacity was found of %s alone: %s.", len(groups), best.target, opRate(ptrTo(medianOf(best.estimates()))))}
	}
	return []string{fmt.Sprintf("Of %d targets, %s takes the most, %s, and %s the least, %s.", len(groups),
		best.target, opRate(ptrTo(medianOf(best.estimates()))), least.target, opRate(ptrTo(medianOf(least.estimates()))))}
}

// searchGroup is the searches of one workload: trials of the same target.
type searchGroup struct {
	workload, target string // clean
	trials           []capacity.Found
}

// groupSearches groups by workload, in the order of their first searches.
func groupSearches(found []capacity.Found) []searchGroup {
	var out []searchGroup
	place := make(map[string]int)
	for _, x := range found {
		k, seen := place[x.Workload]
		if !seen {
			k = len(out)
			place[x.Workload] = k
			out = append(out, searchGroup{workload: table.Clean(x.Workload), target: targetOf(x)})
		}
		out[k].trials = append(out[k].trials, x)
	}
	return out
}

// estimates are those of the trials that have one.
func (g searchGroup) estimates() []float64 {
	var out []float64
	for _, x := range g.trials {
		if e := x.Result.Estimate; e != nil && num.Finite(*e) {
			out = append(out, *e)
		}
	}
	return out
}

// medianOf is NaN for no values.
func medianOf(values []float64) float64 {
	m, err := stats.Quantile(values, .5)
	if err != nil {
		return orNaN(nil)
	}
	return m
}

func ptrTo(v float64) *float64 { return &v }

// shortAnswer is what a trial found in a few words, for those without an
// estimate too.
func shortAnswer(r capacity.Result) string {
	switch {
	case r.Estimate != nil && num.Finite(*r.Estimate):
		return estimateWords(r)
	case r.Limit == capacity.LimitCap:
		return opRate(r.Passed) + " or more"
	case r.Limit == capacity.LimitFloor:
		return "less than " + opRate(r.Failed)
	case r.Limit == capacity.LimitGenerator:
		return "refused: " + r.GeneratorsWords()
	case r.Limit == capacity.LimitPath && r.Path != nil && r.Path.Breaks != nil:
		return "refused: round trips alone break the SLA"
	case r.Limit == capacity.LimitPath:
		return "refused: the path was at its limit"
	case r.Limit == capacity.LimitUnknown:
		return "refused: searched by another version"
	case r.Failure != "":
		return "nothing was measured"
	case r.Limit == capacity.LimitNone:
		return "not over"
	}
	return "not pinned down"
}
