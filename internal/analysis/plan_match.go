package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// capacitiesOf finds the capacities that a demand may be held against: of the
// same resource in the same unit. others are the units of the rest.
func (in PlanInput) capacitiesOf(d Demand) (fit []Capacity, others []string) {
	for _, c := range in.Capacities {
		switch {
		case !c.Is(d.Resource):
		case c.Unit == d.Unit:
			fit = append(fit, c)
		default:
			others = append(others, c.otherUnit(d.Unit))
		}
	}
	return fit, others
}

// capacityFor is the one that counts: where several workloads measured it, the
// least.
func (in PlanInput) capacityFor(d Demand, n *notes) (Capacity, bool) {
	fit, others := in.capacitiesOf(d)
	if len(fit) == 0 {
		if len(others) > 0 {
			n.warn("the demand on %s is in %s, its capacity in %s: they cannot be compared; give the demand in the unit of the capacity", d.Resource, unitText(d.Unit), list(others))
		}
		return Capacity{}, false
	}
	if whole := slices.DeleteFunc(slices.Clone(fit), func(c Capacity) bool { return c.Partial }); len(whole) > 0 {
		fit = whole
	}
	least := slices.MinFunc(fit, func(a, b Capacity) int { return cmp.Compare(a.Total, b.Total) })
	if len(fit) > 1 {
		n.warn("%s was measured in %d ways; the least capacity counts, that of %s: name another as WORKLOAD/METRIC", d.Resource, len(fit), least.Source)
	}
	return least, true
}

// unknown says why there is no capacity to hold a demand against, and what
// else was measured.
func (in PlanInput) unknown(d Demand) string {
	if _, others := in.capacitiesOf(d); len(others) > 0 {
		return "its capacity is known only in " + list(others)
	}
	var known []string
	for _, c := range in.Capacities {
		if name := c.name(); c.Nodes > 0 && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return "its capacity was not measured"
	}
	return fmt.Sprintf("its capacity was not measured (only that of %s)", list(known))
}

// otherUnit names the capacity's unit, and why it has none of cores where that
// is asked for.
func (c Capacity) otherUnit(wanted string) string {
	if wanted == unitCore && c.NoCores != "" {
		return fmt.Sprintf("%s (%s)", unitText(c.Unit), c.NoCores)
	}
	return unitText(c.Unit)
}

// unitText is a unit for people.
func unitText(name string) string {
	if name == "" {
		return "no unit (a bare number)"
	}
	return fmt.Sprintf("%q", name)
}

// Unjudged lists the resources whose answer rests on a capacity without a
// verdict: whether it is a limit, and how sure it is, is not known.
func Unjudged(in PlanInput) []string {
	var out []string
	for _, d := range in.Demands {
		if c, ok := in.capacityFor(d, new(notes)); ok && c.Doubt != "" {
			out = append(out, d.Resource)
		}
	}
	return out
}

// noteUnused warns of limits that somebody gave and no demand uses.
func (in PlanInput) noteUnused(n *notes) {
	for _, c := range in.Capacities {
		used := slices.ContainsFunc(in.Demands, func(d Demand) bool { return c.Is(d.Resource) && c.Unit == d.Unit })
		if c.Nodes == 0 && !used {
			n.warn("the capacity given for %s (%s) counts for nothing: there is no demand on it in that unit", c.name(), AmountText(c.Total, c.Unit, c.Resource))
		}
	}
}

// noteCapacity warns where the answer hangs on what is not known well.
func noteCapacity(d Demand, c Capacity, r model.PlanResource, n *notes) {
	if c.Doubt != "" {
		n.warn("the capacity of %s has no verdict (%s): the answer rests on its bare number", d.Resource, c.Doubt)
	}
	if c.Limited && c.Caution != "" {
		n.warn("%s", c.Caution)
	}
	noteAlone(d, c, n)
	noteClose(d, c, r, n)
	for _, text := range c.Warnings {
		n.warn("%s: %s", d.Resource, text)
	}
}

// noteAlone warns of a demand that one node alone can hardly serve.
func noteAlone(d Demand, c Capacity, n *notes) {
	if c.Alone == nil || d.least() <= *c.Alone*(1+rounding) || d.beyondOne(c) {
		return
	}
	why := "that is within the interval over nodes: whether a node works at this rate is too close to call"
	if d.Measured {
		why = "the node that was measured could do more than those of the capacity, or was measured differently"
	}
	n.warn("one node alone has %s of %s and the application takes %s: %s", AmountText(*c.Alone, c.Unit, d.Resource), d.Resource, AmountText(d.Amount, d.Unit, d.Resource), why)
}

// noteClose warns where demand and capacity cannot be told apart.
func noteClose(d Demand, c Capacity, r model.PlanResource, n *notes) {
	if c.CI == nil && d.CI == nil {
		return
	}
	lo, hi := rangeOf(c.Total, c.CI)
	dLo, dHi := rangeOf(d.Amount, d.CI)
	t := r.Needed / d.Amount
	if t*dLo <= hi && lo < t*dHi {
		n.warn("%s is too close to call: the fleet takes %s and there is %s, both within their intervals", d.Resource, AmountText(r.Needed, d.Unit, d.Resource), AmountText(c.Total, c.Unit, d.Resource))
	}
}

// doubtOf is why a finding has no verdict, and the rest of its warnings.
func doubtOf(f model.Finding) (doubt string, rest []string) {
	const mark = "verdict unknown: "
	for _, w := range f.Warnings {
		if text, ok := strings.CutPrefix(w, mark); ok && doubt == "" {
			doubt = text
			continue
		}
		rest = append(rest, w)
	}
	if f.Verdict == model.VerdictUnknown && doubt == "" {
		doubt = "there is no interval"
	}
	return doubt, rest
}
