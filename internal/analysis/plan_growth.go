package analysis

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// checkGrowth holds a limit that the index shows against the growth over sizes:
// a loss is no limit if the sum still grew with n. Where the sizes cannot tell
// it stays one, with a caution.
func (c *Capacity) checkGrowth(f model.Finding, scalings []model.Scaling) {
	if !c.Limited {
		return
	}
	s, known := scalingOf(f, scalings)
	switch {
	case !known || s.Fit == nil: // fewer than three sizes, or too few totals
		c.Caution = fmt.Sprintf("that %s ends growth rests on its loss at one size: a limit that all share cannot be told from a loss that each node has for itself; measure more sizes", c.name())
	case len(s.Groups) > 0:
		c.Caution = fmt.Sprintf("the limits of %s are those of single groups of nodes: nodes of another group may have more", c.name())
	case s.Limit != nil:
	case s.Fit.Knee == nil:
		c.grows("the sum was still growing with n")
	default:
		c.pastKnee(s)
	}
}

// pastKnee judges totals past a knee that stay on no one level. Those that fall
// end growth as well as a limit does.
func (c *Capacity) pastKnee(s model.Scaling) {
	var sizes, totals []float64
	for _, p := range s.Points {
		for _, total := range p.Totals {
			sizes, totals = append(sizes, float64(p.Nodes)), append(totals, total)
		}
	}
	curve := stats.Growth{Slope: s.Fit.Slope, Capped: true, Cap: *s.Fit.Cap, Knee: *s.Fit.Knee}
	l, err := stats.LevelOff(curve, sizes, totals, level, 0)
	switch {
	case err != nil: // fewer than two sizes past the knee
		c.Caution = fmt.Sprintf("the sum of %s seems to stop growing, but only one size lies past that point: measure more sizes", c.name())
	case l.Slope.Hi < 0:
	case l.Slope.Lo > 0:
		c.grows("the sum was still growing with n, more slowly")
	default:
		c.grows("the sum may still have been growing with n")
	}
}

// grows takes back a limit.
func (c *Capacity) grows(how string) { c.Limited, c.Open = false, how }

// name is the capacity's for people.
func (c *Capacity) name() string {
	if c.Resource != "" {
		return c.Resource
	}
	return c.Workload + "/" + c.Metric
}

// scalingOf finds the growth of a finding's metric.
func scalingOf(f model.Finding, scalings []model.Scaling) (model.Scaling, bool) {
	i := slices.IndexFunc(scalings, func(s model.Scaling) bool {
		return s.Workload == f.Workload && s.Metric == f.Metric && s.Unit == f.Unit
	})
	if i < 0 {
		return model.Scaling{}, false
	}
	return scalings[i], true
}
