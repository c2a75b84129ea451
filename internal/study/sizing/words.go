package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
)

// passOn adds what another answer doubts. Of whatever weight it was there, here
// it leaves the answer as it is, unless something took capacity while the demand
// was measured. What it could explain is in that one's unit.
func passOn(n *model.Doubts, about string, d model.Doubt) {
	if d.Explains == nil {
		d.Severity = model.Warning
	}
	d.Text, d.Explains = about+": "+d.Text, nil
	n.Add(d)
}

// closeCall follows "fits" where an interval says that it may not.
func (r *Result) closeCall() string {
	for _, x := range r.Resources {
		if x.Answer == Fits && x.close() {
			return " by the means, but is too close to call: " + x.Resource + " may not suffice"
		}
	}
	return ""
}

// lead is the answer in a sentence or two.
func (r *Result) lead() string {
	head := fmt.Sprintf("%s take %s", jobs(r.Target), num.Count(r.Nodes, "node"))
	if r.Answer == Fits && r.NodesSafe != nil && *r.NodesSafe > r.Nodes {
		head += fmt.Sprintf(" (%d if they wait for each other)", *r.NodesSafe)
	}
	useful := func() string { return fmt.Sprintf("%s (%s)", num.Count(*r.Largest, "node"), jobs(*r.LargestRate)) }
	switch {
	case r.Answer == Unknown:
		return fmt.Sprintf("The plan contradicts its own run, so it is unknown how many nodes %s take: %s.%s",
			jobs(r.Target), r.against, r.beside)
	case r.Answer == Fails && r.Largest != nil && *r.Largest == 0:
		return fmt.Sprintf("%s, but not even one node fits: it takes more of %s than there is.", head, r.Binding)
	case r.Answer == Fails && r.Largest != nil:
		return fmt.Sprintf("%s, but the largest useful fleet is %s: %s is used up.", head, useful(), r.Binding)
	case r.Answer == Fits && r.Largest != nil:
		return fmt.Sprintf("%s, and that fits%s. The largest useful fleet is %s: then %s is used up.", head, r.closeCall(), useful(), r.Binding)
	case r.Answer == Fits:
		return head + ", and that fits what was measured" + r.closeCall() + ". No resource was shown to end growth."
	case r.Answer == Fails:
		return head + ", which is more than there is."
	}
	return head + r.openWords()
}

// openWords follow the number of nodes where it is not known whether they do.
func (r *Result) openWords() string {
	fit := true
	for _, x := range r.Resources {
		if x.Answer == Untested && x.close() {
			return ", which is too close to call: " + x.Resource + " may suffice by the intervals, or not."
		}
		fit = fit && x.Answer == Fits
	}
	if fit {
		where, _ := r.fleet().Bottleneck()
		return ", but no fleet is sure to reach that: it is unknown what so many have of " + where + "."
	}
	return ", which is more than was measured, or not measured at all: it is unknown whether that works."
}

// rateWords say what the wanted fleet does; empty where no limit is known, or
// where what is known is wrong.
func (r *Result) rateWords() string {
	if where, _ := r.fleet().Bottleneck(); where == "" || r.Rate == nil || r.Answer == Unknown {
		return ""
	}
	words := fmt.Sprintf("%s %s jobs/s", num.Do(r.Rate.Nodes, "node"), span(r.Rate.Lower, r.Rate.Upper))
	if digits(r.Rate.Lower) != digits(r.Rate.Upper) {
		words += ": the less, the more they wait for each other"
	}
	if r.RateCI != nil {
		words += fmt.Sprintf("; %s by the 95 %% intervals of what was measured", span(r.RateCI[0], r.RateCI[1]))
	}
	return words + "."
}

// words are one resource in a sentence; c is the capacity that it was compared
// with, or why there is none.
func (r Resource) words(c capacity, nodes int, rate float64) string {
	verb := "take"
	if nodes == 1 {
		verb = "takes"
	}
	head := fmt.Sprintf("%s: %s: %s at %s %s %s", r.Resource, r.Answer, num.Count(nodes, "node"), perSecond(rate), verb, r.amount(r.Needed))
	if target := r.Needed / r.Demand * rate; target < float64(nodes)*rate*(1-rounding) {
		head = fmt.Sprintf("%s: %s: %s %s %s for %s", r.Resource, r.Answer, num.Count(nodes, "node"), verb,
			r.amount(r.Needed), perSecond(target))
	}
	open := cmp.Or(c.open, "no limit was seen")
	if c.proof != "" {
		return head + "; " + c.proof
	}
	if r.Capacity == nil && r.Answer == Fits {
		return head + "; " + open
	}
	if r.Capacity == nil {
		return head + "; " + open + ": measure it, or give it with --capacity"
	}
	at := "its limit is " + r.amount(*r.Capacity)
	if r.MeasuredAt > 0 {
		at = fmt.Sprintf("%d together had %s", r.MeasuredAt, r.amount(*r.Capacity))
	}
	likely := ""
	if r.LargestCI != nil {
		likely = fmt.Sprintf(" (95 %%: %d to %d)", r.LargestCI[0], r.LargestCI[1])
	}
	switch {
	case r.Largest != nil && r.NodeLimit == nil:
		return fmt.Sprintf("%s; not even one node works at this rate: alone it has %s and the application takes %s", head, r.amount(*c.alone), r.amount(r.Demand))
	case r.NodeLimit != nil && *r.Largest == 0:
		return fmt.Sprintf("%s; %s: not even one node fits, it takes %s%s", head, at, r.amount(r.Demand), likely)
	case r.NodeLimit != nil:
		return fmt.Sprintf("%s; %s, which is used up at %s nodes, %s; the largest useful fleet is %s, %s%s",
			head, at, digits(*r.NodeLimit), perSecond(*r.RateLimit), num.Count(*r.Largest, "node"), perSecond(*r.LargestRate), likely)
	case r.Answer == Fits:
		return head + "; " + at + ", and " + open
	case c.advice != "":
		return head + "; " + at + ", and " + open + ": " + c.advice
	}
	// So many see a capacity as large as needed, if each adds as much as so far.
	enough := count(math.Ceil(r.Needed / *r.Capacity * float64(max(r.MeasuredAt, 1))))
	return fmt.Sprintf("%s; %s and %s: measure with %s or more", head, at, open, num.Count(enough, "node"))
}

// crossingWords say what it means that the demand reaches the capacity with so
// many nodes.
func (r Resource) crossingWords(at float64) string {
	switch {
	case r.Largest != nil && *r.Largest == 0:
		return "not even one node fits"
	case r.NodeLimit == nil:
		return "all that was measured is used by " + digits(at) + " nodes; it was not shown to be a limit"
	case r.RateLimit == nil:
		return "used up by " + digits(at) + " nodes"
	}
	return "used up by " + digits(at) + " nodes, " + jobs(*r.RateLimit)
}

// unknown says why a demand has no capacity to compare with, and what else was
// measured. others are the units in which the capacity is known.
func (q question) unknown(d demand, others []string, n *model.Doubts) string {
	if len(others) > 0 {
		n.Warn("units_differ", "the demand on %s is in %s, its capacity in %s: they cannot be compared; give the demand in the unit of the capacity", d.resource, unitText(d.unit), num.List(others))
		return "its capacity is known only in " + num.List(others)
	}
	var known []string
	for _, c := range q.capacities {
		if name := c.name(); c.nodes > 0 && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return "its capacity was not measured"
	}
	return fmt.Sprintf("its capacity was not measured (only that of %s)", num.List(known))
}

// sizes are the least and the most nodes that the target takes, by the interval
// of a measured node rate.
func (q question) sizes(nodes float64) (few, many float64) {
	ci := q.nodeRateCI
	switch {
	case ci == nil:
		return nodes, nodes
	case ci[0] <= 0:
		return queueing.Whole(q.target/ci[1], math.Ceil), math.Inf(1)
	}
	return queueing.Whole(q.target/ci[1], math.Ceil), queueing.Whole(q.target/ci[0], math.Ceil)
}

// noteRate warns where a measured node rate leaves the fleet's size open.
func (r *Result) noteRate(n *model.Doubts) {
	switch nodes := float64(r.Nodes); {
	case math.IsInf(r.many, 1):
		n.Warn("node_rate", "the rate of one node cannot be distinguished from 0, so the number of nodes is unknown")
	case r.few != nodes || r.many != nodes:
		n.Warn("node_rate", "by the interval of the node rate the target takes %.0f to %.0f nodes", r.few, r.many)
	}
}

// noteDemands warns of what makes the run doubtful that rate and demands were
// measured in. What was said of its capacities need not be said again.
func (q question) noteDemands(n *model.Doubts) {
	for _, d := range q.doubts {
		said := func(note model.Doubt) bool { return strings.HasSuffix(note.Text, ": "+d.Text) }
		if !q.oneRun || !slices.ContainsFunc(*n, said) {
			passOn(n, d.about, d.Doubt)
		}
	}
	resources := make(map[string][]string) // by doubt
	for _, d := range q.demands {
		resources[d.doubt] = append(resources[d.doubt], d.resource)
	}
	for _, d := range q.demands {
		if d.doubt != "" {
			n.Warn("few_nodes", "the demand on %s %s", num.List(resources[d.doubt]), d.doubt)
		}
	}
}

// noteUnused warns of given limits that no demand uses.
func (q question) noteUnused(n *model.Doubts) {
	for _, c := range q.capacities {
		used := slices.ContainsFunc(q.demands, func(d demand) bool { return c.is(d.resource) && c.unit == d.unit })
		if c.nodes == 0 && !used {
			n.Warn("unused_capacity", "the capacity given for %s (%s) is not used: no demand on it has that unit", c.name(), evaluation.AmountText(c.total, c.unit, c.resource))
		}
	}
}

// noteCapacity warns where the answer hangs on what is not known well.
func noteCapacity(d demand, c capacity, r Resource, n *model.Doubts) {
	if c.doubt != "" {
		n.Warn("no_verdict", "the capacity of %s has no verdict (%s): the answer uses the bare number", d.resource, c.doubt)
	}
	if c.limited && c.caution != "" {
		n.Warn("limit_unclear", "%s", c.caution)
	}
	noteAlone(d, c, r, n)
	if lo, _ := ends(c.total, c.ci); r.Answer != Fails && lo < r.most*(1-rounding) &&
		r.least <= r.mostSeen()*(1+rounding) {
		n.Warn("too_close", "%s is too close to call: the target takes %s and there is %s, both within their intervals",
			d.resource, r.amount(r.Needed), r.amount(c.total))
	}
	for _, w := range c.warnings {
		passOn(n, d.resource, w)
	}
}

// noteAlone warns of a demand that one node alone can hardly serve.
func noteAlone(d demand, c capacity, r Resource, n *model.Doubts) {
	if c.alone == nil || d.least() <= *c.alone*(1+rounding) || d.beyondOne(c) {
		return
	}
	why := "that is within the interval over nodes: whether a node works at this rate is too close to call"
	if d.measured {
		why = "the node that was measured could do more than those of the capacity, or was measured differently"
	}
	n.Warn("one_node", "one node alone has %s of %s and the application takes %s: %s", r.amount(*c.alone), d.resource, d.text(), why)
}

// text is the demand for people.
func (d demand) text() string { return evaluation.AmountText(d.amount, d.unit, d.resource) }

// amount prints an amount of the resource.
func (r Resource) amount(v float64) string {
	if !num.Finite(v) {
		return num.Missing
	}
	return evaluation.AmountText(v, r.Unit, r.Resource)
}

// unitText is a unit for people.
func unitText(name string) string {
	if name == "" {
		return "no unit (a bare number)"
	}
	return fmt.Sprintf("%q", name)
}

// jobs prints a rate of jobs by its name, perSecond in short.
func jobs(rate float64) string {
	if !num.Finite(rate) {
		return num.Missing
	}
	return digits(rate) + " jobs/s"
}

// span prints a band of rates: "5.2 to 6.1".
func span(lower, upper float64) string {
	lo, hi := digits(lower), digits(upper)
	if lo == hi {
		return hi
	}
	return lo + " to " + hi
}

func perSecond(rate float64) string { return digits(rate) + "/s" }

// digits prints a rate of jobs or a number of nodes: four digits, more only
// where there would be no decimal.
func digits(v float64) string {
	n := 4
	for a := math.Abs(v); a >= 1000 && n < 15; a /= 10 {
		n++
	}
	return num.Digits(v, n)
}
