package stats

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Noise is the relative standard deviation of one observation, with the degrees
// of freedom of its estimate.
type Noise struct{ SD, Degrees float64 }

// SizeTotals are the observations of one size.
type SizeTotals struct {
	Size, Mean, Count float64
}

// BySize joins the observations of each size, ascending. noise is what they
// scatter within the sizes, relative to the mean of each; its degrees of freedom
// are 0 where every size has one observation.
func BySize(n, y []float64) (sizes []SizeTotals, noise Noise, err error) {
	if err := checkGrowth(n, y, 1); err != nil {
		return nil, Noise{}, fmt.Errorf("totals by size: %w", err)
	}
	ns, ys := bySize(n, y)
	var squares float64
	for size, ys := range equalSizes(ns, ys) {
		mean := Average(ys)
		for _, v := range ys {
			squares += (v/mean - 1) * (v/mean - 1)
		}
		noise.Degrees += float64(len(ys) - 1)
		sizes = append(sizes, SizeTotals{size, mean, float64(len(ys))})
	}
	if noise.Degrees > 0 {
		noise.SD = math.Sqrt(squares / noise.Degrees)
	}
	return sizes, noise, nil
}

// bySize returns the observations in the order of their sizes.
func bySize(n, y []float64) (ns, ys []float64) {
	ns, rows := SortRows(n)
	for _, row := range rows {
		ys = append(ys, y[row])
	}
	return ns, ys
}

// checkGrowth is checkPairs for sizes and capacities.
func checkGrowth(n, y []float64, least int) error {
	if err := checkPairs(n, y, least); err != nil {
		return err
	}
	if slices.Min(n) <= 0 {
		return fmt.Errorf("a size of %v, want above 0: %w", slices.Min(n), ErrArgument)
	}
	return nil
}

// equalSizes are the sizes of ascending ones, and the observations of each.
func equalSizes(ns, ys []float64) iter.Seq2[float64, []float64] {
	return func(yield func(float64, []float64) bool) {
		for from, to := 0, 0; from < len(ns); from = to {
			for ; to < len(ns) && ns[to] == ns[from]; to++ {
			}
			if !yield(ns[from], ys[from:to]) {
				return
			}
		}
	}
}

// Of a peak: the chance that a fall is claimed of totals that do not fall, and the share
// of the peak below which a fall does not count.
const peakLevel, leastFall = 0.01, 0.05

// Peak returns the size with the largest mean, where it is surely larger than
// that of the largest size: beyond 5 %, and by a t test at 1 % with the Bonferroni
// correction for the sizes that the peak was chosen from. ok is false where totals
// do not surely fall.
func Peak(sizes []SizeTotals, noise Noise) (peak SizeTotals, ok bool) {
	if len(sizes) < 3 {
		return SizeTotals{}, false
	}
	last := sizes[len(sizes)-1]
	peak = slices.MaxFunc(sizes, func(a, b SizeTotals) int { return cmp.Compare(a.Mean, b.Mean) })
	t, err := TQuantile(1-peakLevel/float64(len(sizes)-1), noise.Degrees)
	if err != nil || !(last.Mean < peak.Mean*(1-leastFall)) {
		return SizeTotals{}, false
	}
	// In logarithms errors are alike.
	fall := math.Log(peak.Mean / last.Mean)
	return peak, fall > t*noise.SD*math.Sqrt(1/peak.Count+1/last.Count)
}
