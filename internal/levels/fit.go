package levels

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Bins of measured values: their spread is about binSpread of their mean, and there are
// mostBins at most in each band.
const (
	binSpread = .05
	mostBins  = 10
)

// Fit adds to a model, which has a name and perhaps a source, one limit: what was measured
// of it, as a distribution (section 3.1 of the paper). Values are in the unit of the
// limit's quality, in any order. Each band of values ([stats.FindBands]) is divided into bins
// of like number, which have their harmonic mean as level. So the pressure is exactly
// that of all values, and a processor with two peaks shows two levels. Errors: a
// model.ErrUsage for no values, and for values that are no level.
func Fit(m Model, of Limit, values []float64) (*Model, error) {
	sorted := slices.Sorted(slices.Values(values))
	switch n := len(sorted); {
	case n == 0:
		return nil, model.Usagef("there are no values to fit a model to")
	case slices.ContainsFunc(sorted, func(x float64) bool { return !(x > 0 && x <= math.MaxFloat64) }):
		return nil, model.Usagef("a measured level must be greater than 0 and finite; the values reach from %v to %v",
			sorted[0], sorted[n-1])
	}
	bands, err := stats.FindBands(sorted, float64(len(sorted)), 1)
	if err != nil {
		return nil, fmt.Errorf("fitting a model: %w", err)
	}
	var bins []Value
	begin := 0
	for _, cut := range append(slices.Clone(bands.Cuts), math.Inf(1)) {
		end, _ := slices.BinarySearch(sorted, cut)
		bins = append(bins, binsOf(sorted[begin:end], float64(len(sorted)))...)
		begin = end
	}
	of.Rate = Rate{Table: Table{Values: map[string]float64{}}}
	for _, v := range distribution(bins) {
		of.Rate.Values[strconv.FormatFloat(v.Rate, 'g', -1, 64)] = v.Share
	}
	m.Limits = append(slices.Clone(m.Limits), of)
	src, err := WriteModel(&m)
	if err != nil {
		return nil, err
	}
	return Parse(m.Name, src)
}

// binsOf divides the ascending values of one band; all is the number of values of all
// bands.
func binsOf(band []float64, all float64) (out []Value) {
	n := len(band)
	if n == 0 {
		return nil
	}
	spread := 0.0
	if d, err := stats.Describe(band); err == nil && n > 1 {
		spread = d.PopulationSD / d.Mean
	}
	k := max(1, min(mostBins, n, int(math.Ceil(spread/binSpread))))
	for i := range k {
		bin := band[i*n/k : (i+1)*n/k]
		times := 0.0
		for _, x := range bin {
			times += 1 / x
		}
		out = append(out, Value{float64(len(bin)) / times, float64(len(bin)) / all})
	}
	return out
}
