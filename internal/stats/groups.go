package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Split is a division of values into a lower and an upper group.
type Split struct {
	Low, High         int     // how many values are in each, at least two
	LowMean, HighMean float64 // in the unit of the values
	// Distinct says that values of one normal distribution would seldom be
	// divided this cleanly: in fewer than 1 case in 100, by simulation.
	Distinct bool
}

// TwoGroups divides at least four values into two groups of at least two so
// that the sum of squares within them, W, is least, and tests the division
// against one normal distribution (L. Engelman and J. A. Hartigan, "Percentage
// points of a test for clusters", J. Am. Stat. Assoc. 64(328), 1969). Under
// the normal, ln(T/W), T the total sum of squares, is about normal with mean
// −ln(1−2/π) + 2.4/(n−2) and variance 1/(n−2) (J. A. Hartigan, Clustering
// Algorithms, 1975, section 4.8). It is a hint for a warning: a flat
// distribution of many values can be taken for two groups.
func TwoGroups(xs []float64) (Split, error) {
	if err := check(xs, 4); err != nil {
		return Split{}, fmt.Errorf("two groups: %w", err)
	}
	sorted, scale := scaled(xs)
	slices.Sort(sorted)
	total := squaresAbout(sorted)
	if scale == 0 || math.Sqrt(total) <= noSpread {
		return Split{}, fmt.Errorf("two groups: %w", ErrNoSpread)
	}
	cut, within := bestCut(sorted)
	split := Split{
		Low: cut, High: len(sorted) - cut,
		LowMean:  scale * stat.Mean(sorted[:cut], nil),
		HighMean: scale * stat.Mean(sorted[cut:], nil),
	}
	split.Distinct = clean(total, within, len(sorted))
	return split, nil
}

// clean reports whether the division is cleaner than one normal distribution
// gives. The approximation has too light a tail for few values: z = 2.7 + 9/n
// keeps false alarms near one in two hundred. No scatter within the groups is as
// clean as can be.
func clean(total, within float64, n int) bool {
	if within <= total*noSpread {
		return true
	}
	z := 2.7 + 9/float64(n)
	mean := -math.Log(1-2/math.Pi) + 2.4/float64(n-2)
	return math.Log(total/within) > mean+z/math.Sqrt(float64(n-2))
}

// bestCut returns where to divide ascending values, and the sum of squares
// that is left. Running sums find the cuts that may be best, up to rounding;
// only those are computed in full, which takes as long as all values each.
func bestCut(sorted []float64) (cut int, within float64) {
	n, mean, all := float64(len(sorted)), stat.Mean(sorted, nil), squaresAbout(sorted)
	roughly, sum := make([]float64, len(sorted)), 0.0 // the sum of the values up to the cut, about the mean
	for i, x := range sorted[:len(sorted)-1] {
		sum += x - mean
		k := float64(i + 1)
		roughly[i+1] = all - sum*sum/k - sum*sum/(n-k) // the sum of all about the mean is 0
	}
	least := slices.Min(roughly[2 : len(sorted)-1])
	rounding := all * min(n*1e-15, 1e-11)
	within = math.Inf(1)
	for k := 2; k <= len(sorted)-2; k++ {
		if roughly[k] > least+rounding {
			continue
		}
		if w := squaresAbout(sorted[:k]) + squaresAbout(sorted[k:]); w < within {
			cut, within = k, w
		}
	}
	return cut, within
}

// squaresAbout is the sum of squared distances from the mean.
func squaresAbout(xs []float64) float64 {
	mean := stat.Mean(xs, nil)
	var sum float64
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return sum
}

// ProportionsZ compares two shares, k1 of n1 and k2 of n2: by how many standard
// deviations of their difference, if both are of one population, the first is
// larger (A. Agresti, Categorical Data Analysis, section 3.1). 0 where nothing
// was counted, or the shares are equal.
func ProportionsZ(k1, n1, k2, n2 float64) float64 {
	if !(n1 > 0) || !(n2 > 0) || k1*n2 == k2*n1 {
		return 0
	}
	pooled := (k1 + k2) / (n1 + n2)
	return (k1/n1 - k2/n2) / math.Sqrt(pooled*(1-pooled)*(1/n1+1/n2))
}
