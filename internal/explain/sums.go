package explain

import (
	"github.com/scalebench/scalebench/internal/stats"
)

// sums are what a one-way analysis of variance needs to know of the levels.
type sums struct {
	n, sum []float64 // by code; sum of the values less the median
	rows   float64
	levels float64
	mean   float64 // of the rows, less the median
	// squares are those of the values less the median, summed.
	squares float64
}

// sumsOf takes the values less their median, for squares of large numbers lose
// their difference.
func (x *Rows) sumsOf(codes []uint16, levels int) sums {
	all := stats.SumLevels(x.Frame.Values, codes, levels, stats.QuantileSorted(x.Sorted, 0.5))
	s := sums{n: all.N, sum: all.Sum, squares: all.Squares}
	sum := 0.0
	for c, n := range s.n {
		s.rows += n
		sum += s.sum[c]
	}
	for _, n := range s.n {
		if n > 0 {
			s.levels++
		}
	}
	s.mean = sum / s.rows
	return s
}

// between is the sum of squares of the levels' means.
func (s sums) between() float64 {
	out := 0.0
	for c, n := range s.n {
		if n > 0 {
			d := s.sum[c]/n - s.mean
			out += n * d * d
		}
	}
	return out
}

// within is the sum of squares of the rows about their levels' means.
func (s sums) within() float64 { return max(0, s.squares-s.rows*s.mean*s.mean-s.between()) }

// of are the sums of coarser levels, of which each level here has one.
func (s sums) of(level []uint16, levels int) sums {
	out := sums{n: make([]float64, levels), sum: make([]float64, levels), rows: s.rows, mean: s.mean, squares: s.squares}
	for c, n := range s.n {
		if n > 0 {
			out.n[level[c]] += n
			out.sum[level[c]] += s.sum[c]
		}
	}
	for _, n := range out.n {
		if n > 0 {
			out.levels++
		}
	}
	return out
}
