package analysis

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// planText is one resource of a plan in a sentence.
// c is the capacity that it was held against, if there was one.
func planText(r model.PlanResource, c Capacity, nodes int, rate float64) string {
	show := func(v float64) string { return AmountText(v, r.Unit, r.Resource) }
	fleet := plural(nodes, "node")
	head := fmt.Sprintf("%s: %s: %s at %s %s %s", r.Resource, r.Answer, fleet, jobRate(rate), takes(nodes), show(r.Needed))
	if r.Capacity == nil {
		return head + "; " + c.open() + ": measure it, or give it with --capacity"
	}
	at := fmt.Sprintf("its limit is %s", show(*r.Capacity))
	if r.MeasuredAt > 0 {
		at = fmt.Sprintf("%d together had %s", r.MeasuredAt, show(*r.Capacity))
	}
	switch {
	case r.Largest != nil && r.NodeLimit == nil:
		return fmt.Sprintf("%s; not even one node works at this rate: alone it has %s and the application takes %s", head, show(*c.Alone), show(r.Demand))
	case r.NodeLimit != nil && *r.Largest == 0:
		return fmt.Sprintf("%s; %s: not even one node fits, it takes %s%s", head, at, show(r.Demand), largestRange(r))
	case r.NodeLimit != nil:
		return fmt.Sprintf("%s; %s, which is used up at %s nodes, %s; the largest useful fleet is %s, %s%s",
			head, at, PlanDigits(*r.NodeLimit), jobRate(*r.RateLimit), plural(*r.Largest, "node"), jobRate(*r.LargestRate), largestRange(r))
	case r.Answer == model.PlanFits:
		return head + "; " + at + ", and " + c.open()
	case c.Advice != "":
		return head + "; " + at + ", and " + c.open() + ": " + c.Advice
	}
	return fmt.Sprintf("%s; %s and %s: measure with %s or more", head, at, c.open(), plural(enough(r), "node"))
}

// open says why a capacity is no limit.
func (c Capacity) open() string {
	if c.Open != "" {
		return c.Open
	}
	return "no limit was seen"
}

// enough is how many nodes have to be measured to see a capacity as large as
// needed, if each adds as much as so far.
func enough(r model.PlanResource) int {
	return int(min(math.Ceil(r.Needed / *r.Capacity * float64(max(r.MeasuredAt, 1))), maxFleet))
}

// largestRange is the interval of the largest useful fleet.
func largestRange(r model.PlanResource) string {
	if r.LargestCI == nil {
		return ""
	}
	return fmt.Sprintf(" (95 %%: %d to %d)", r.LargestCI[0], r.LargestCI[1])
}

// jobRate prints jobs per second.
func jobRate(v float64) string { return PlanDigits(v) + "/s" }

// takes is the verb after so many nodes.
func takes(nodes int) string {
	if nodes == 1 {
		return "takes"
	}
	return "take"
}

// PlanDigits prints a rate of jobs or a number of nodes: four digits, more only
// where there would be no decimal.
func PlanDigits(v float64) string {
	digits := 4
	for a := math.Abs(v); a >= 1000 && digits < 15; a /= 10 {
		digits++
	}
	return unit.Digits(v, digits)
}
