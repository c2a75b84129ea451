package variability

import (
	"slices"

	"github.com/scalebench/scalebench/internal/explain"
)

// mostGroupings is how many explaining facts are shown in groups, besides --by.
const mostGroupings = 4

// groupings are the distributions by the facts that the user names, by those that
// explain something, and by hour and weekday where they do.
func (x *examined) groupings(by []string, effects []explain.Effect) []explain.Grouping {
	names := slices.Clone(by)
	first := explain.Best(effects)
	if first != "" && !explain.Passing(first) && !slices.Contains(names, first) {
		names = append(names, first)
	}
	for _, e := range effects {
		if e.Significant && !explain.Passing(e.Fact) && len(names) < len(by)+mostGroupings && !slices.Contains(names, e.Fact) {
			names = append(names, e.Fact)
		}
	}
	var facts []*explain.Fact
	for _, name := range names {
		switch fact := x.Fact(name); {
		case fact != nil:
			facts = append(facts, fact)
		case slices.ContainsFunc(x.Constant, func(c explain.Constant) bool { return c.Fact == name }):
			x.Doubts.Warn("one_level", "%s is the same in all rows, so that there is nothing to group by it", name)
		case slices.Contains(x.Alike, name):
			x.Doubts.Warn("too_many_levels", "%s has a value of its own for nearly each row, so that there are no groups by it", name)
		default:
			x.Doubts.Warn("no_fact", "there is no fact %s to group by; there is %s", name, x.FactNames())
		}
	}
	out := make([]explain.Grouping, len(facts))
	explain.InParallel(x.Ended, len(out), func(i int) { out[i] = x.Group(facts[i]) })
	return out
}
