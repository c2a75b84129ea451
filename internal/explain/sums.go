package explain

import (
	"github.com/scalebench/scalebench/internal/stats"
)

// sums are what a one-way analysis of variance needs to know of the levels.
type sums struct {
	stats.LevelSums // of the values less the median
	rows            float64
	levels          float64
	mean            float64 // of the rows, less the median
}

// sumsOf takes the values less their median, for squares of large numbers lose
// their difference.
func (x *Rows) sumsOf(codes []uint16, levels int) sums {
	s := sums{LevelSums: stats.SumLevels(x.Frame.Values, codes, levels, stats.QuantileSorted(x.Sorted, 0.5))}
	sum := 0.0
	for c, n := range s.N {
		if n > 0 {
			s.levels++
		}
		s.rows += n
		sum += s.Sum[c]
	}
	s.mean = sum / s.rows
	return s
}

// between is the sum of squares of the levels' means.
func (s sums) between() float64 {
	out := 0.0
	for c, n := range s.N {
		if n > 0 {
			d := s.Sum[c]/n - s.mean
			out += n * d * d
		}
	}
	return out
}

// within is the sum of squares of the rows about their levels' means.
func (s sums) within() float64 { return max(0, s.Squares-s.rows*s.mean*s.mean-s.between()) }

// of are the sums of coarser levels, of which each level here has one.
func (s sums) of(level []uint16, levels int) sums {
	out := s
	out.N, out.Sum, out.levels = make([]float64, levels), make([]float64, levels), 0
	for c, n := range s.N {
		if n > 0 {
			if out.N[level[c]] == 0 {
				out.levels++
			}
			out.N[level[c]] += n
			out.Sum[level[c]] += s.Sum[c]
		}
	}
	return out
}
