package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// doubtUnexplained says that what was measured explains the peak only within a share.
const doubtUnexplained = "peak_unexplained"

// unexplained doubts what is named and has a part left at every load from the one that
// decided on: the throughput could have grown into it, and a limit that was not measured
// may be why it did not. What takes turns is judged by its seconds instead.
func (a *analysis) unexplained() {
	if a.Pattern != Single && a.Pattern != Simultaneous {
		return
	}
	named := slices.MinFunc(a.Bottlenecks, func(x, y Evidence) int {
		return cmp.Compare(a.left(x.Resource), a.left(y.Resource))
	})
	left := a.left(named.Resource)
	if left <= Repeatability || slices.ContainsFunc(a.doubts, func(d model.Doubt) bool {
		return d.Code == doubtNearlyFull
	}) {
		return
	}
	peak, busy := 0.0, 0.0
	for _, l := range a.counted {
		peak = max(peak, l.Throughput)
		if l.Users >= a.Load && l.knows(named.Resource) {
			busy = max(busy, l.occupied(named.Resource))
		}
	}
	gain := left * peak
	a.Unexplained = num.IfFinite(left)
	hidden := "a lock or another limit that was not measured"
	if named.Kind.Link() {
		hidden = "headers that its counter leaves out, or " + hidden
	}
	text := fmt.Sprintf("the %s %s at most %s busy beyond the knee, which explains the peak only within %s (%s): "+
		"%s may hold the rest; raise what is named (proof: true), or measure more of the application",
		named.Resource, named.was(), num.Fraction(busy), num.Fraction(left), num.For("op/s", gain).Value(gain, 0), hidden)
	a.doubts.Add(model.Doubt{Code: doubtUnexplained, Severity: model.Warning, Explains: &gain, Text: text})
}

// left is by which share the throughput could grow until a resource is as full as the model
// has it with so many users, at the load with the least, from the one that decided on.
func (a *analysis) left(r Resource) float64 {
	least := math.Inf(1)
	for _, l := range a.counted {
		if l.Users >= a.Load && l.knows(r) {
			least = min(least, a.Laws.utilisation(l, r)/l.occupied(r)-1)
		}
	}
	return least
}

// occupied is which share of a resource was taken: its utilisation, or that of its busiest
// host, for which the others wait. A processor that its limit held back has no more to
// give in that period, and what requests wait for is full.
func (l Load) occupied(r Resource) float64 {
	if r.Kind.Soft() && l.meanIn(r, kinds[r.Kind].waiting) > 0 {
		return 1
	}
	most := l.usage(r).Mean
	for _, u := range l.Usage {
		if r.Node == "" && u.ofTier() == r {
			most = max(most, u.Mean)
		}
	}
	if held := l.held(r.Tier); r.Kind == CPU && r.Node == "" && held > most { // not of NaN
		most = held
	}
	return most
}

// utilisation of hardware with so many users by the model, which nothing limits but what
// was measured; 1 where there is no model.
func (l *Laws) utilisation(at Load, r Resource) float64 {
	point := slices.IndexFunc(l.Points, func(p Point) bool { return p.Users == at.Users && p.Model != nil })
	demand := slices.IndexFunc(l.Demands, func(d Demand) bool { return d.Resource == r })
	if point < 0 || demand < 0 {
		return 1
	}
	d := l.Demands[demand]
	each, _ := d.best()
	return min(1, (d.Idle+each**l.Points[point].Model)/d.Capacity)
}
