package stats

import (
	"maps"
	"slices"
)

// OneWay is a one-way analysis of variance of several samples, each with levels of its
// own: whether values of one level are as alike by chance.
type OneWay struct{ between, within, groups, values float64 }

// Add adds a sample by its levels; it has at least one value.
func (o *OneWay) Add(byLevel map[string][]float64) {
	levels := slices.Sorted(maps.Keys(byLevel))
	var all []float64
	for _, level := range levels {
		all = append(all, byLevel[level]...)
	}
	mean := Average(all)
	for _, level := range levels {
		ys := byLevel[level]
		m := Average(ys)
		o.between += float64(len(ys)) * (m - mean) * (m - mean)
		for _, y := range ys {
			o.within += (y - m) * (y - m)
		}
	}
	o.groups, o.values = o.groups+float64(len(byLevel))-1, o.values+float64(len(all)-len(byLevel))
}

// P is the p-value of the F test; 1 where nothing can be tested, 0 where values differ
// between levels alone.
func (o *OneWay) P() float64 {
	if o.groups < 1 || o.values < 1 || !(o.between > 0) {
		return 1
	}
	if !(o.within > 0) {
		return 0
	}
	return FTail(o.between/o.groups/(o.within/o.values), o.groups, o.values)
}
