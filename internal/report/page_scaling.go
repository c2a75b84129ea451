package report

import (
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
)

// scalingView is how one metric's total grew with the size of the fleet.
type scalingView struct {
	Name, Noun string
	Words      []string
	Warnings   []string
	Unit       string
	Plot       *figure.Plot
	Ideal, Fit bool
	Table      *tableView
}

// curveSizes is how many sizes make a curve: of two, one is the serial phase
// and the other the finding itself.
const curveSizes = 3

// scalingOf shows the scalings of a workload that say more than its finding.
func (b builder) scalingOf(workload string) []scalingView {
	var out []scalingView
	for _, s := range b.scalings {
		if s.Workload != workload || len(s.Points) < curveSizes && s.Limit == nil && len(s.Groups) == 0 && len(s.Warnings) == 0 {
			continue
		}
		out = append(out, newScalingView(s))
	}
	return out
}

func newScalingView(s model.Scaling) scalingView {
	v := scalingView{Name: table.Clean(s.Metric), Noun: noun(s.Of), Words: scalingWords(s)}
	for _, w := range s.Warnings {
		v.Warnings = append(v.Warnings, table.Clean(w))
	}
	if len(s.Points) < curveSizes {
		return v
	}
	g := growthOf(s)
	v.Unit, v.Ideal, v.Fit = g.Scale.Unit, g.Ideal != nil, g.Slope != nil
	if plot, ok := figure.DrawGrowth(g); ok {
		v.Plot = &plot
	}
	v.Table = newTableView(scalingTable(s), scalingFlat([]model.Scaling{s}))
	return v
}

// growthOf is a scaling as the figure takes it.
func growthOf(s model.Scaling) figure.Growth {
	g := figure.Growth{
		Title: scalingTitle(s), Noun: noun(s.Of) + "s", Scale: scalingScale(s),
	}
	for _, p := range s.Points {
		g.Sizes = append(g.Sizes, figure.GrowthSize{Nodes: p.Nodes, Total: p.Total, Totals: p.Totals})
	}
	if serial, ok := idealOf(s); ok {
		g.Ideal = &serial
	}
	if s.Fit != nil && num.Finite(s.Fit.Slope) {
		g.Slope = &s.Fit.Slope
	}
	if s.Fit != nil && s.Fit.Cap != nil && num.Finite(*s.Fit.Cap) {
		g.Cap = s.Fit.Cap
		g.Limit = "the total stays at " + g.Scale.Value(*g.Cap, 0)
		if s.Limit != nil && s.Limit.Among != "" {
			g.Limit += " (" + table.Clean(s.Limit.Among) + ")"
		}
	}
	return g
}
