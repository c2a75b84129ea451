package explain

import (
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// index is which value of the series a row belongs to.
func (s series) index(row int) int {
	if s.from == nil {
		return row
	}
	i, _ := slices.BinarySearch(s.from, int32(row)) //nolint:gosec // a row
	return i
}

// divided are the values of a series between changes.
func (s series) divided(values []float64, changes []Change) (out [][]float64) {
	from := 0
	for _, c := range changes {
		to := s.index(c.Row - 1)
		out, from = append(out, values[from:to]), to
	}
	return append(out, values[from:])
}

// runs are the means of values of a series that follow each other with one level, and where each of these
// begins.
func (f *Fact) runs(values []float64, s series) (means []float64, first []int) {
	n, last := 0.0, uint16(0)
	for i, v := range values {
		if c := f.Codes[s.first(i)]; i == 0 || c != last {
			means, first, last, n = append(means, 0), append(first, i), c, 0
		}
		n++
		k := len(means) - 1
		means[k] += (v - means[k]) / n
	}
	return means, first
}

// seriesOf is the series of other values of the same rows.
func (x *Rows) seriesOf(values []float64) series {
	if x.inTime.from == nil {
		return series{values: values}
	}
	out := series{from: x.inTime.from, values: make([]float64, len(x.inTime.values))}
	for i := range out.values {
		m, _ := stats.Mean(values[out.from[i]:out.from[i+1]])
		out.values[i] = m
	}
	return out
}

// without takes what facts explain out of a series, one after the other.
func (s series) without(facts []*Fact) []float64 {
	out := s.values
	for k, fact := range facts {
		all, _ := stats.Mean(out)
		n, sum := make([]float64, len(fact.Levels)), make([]float64, len(fact.Levels))
		for i, v := range out {
			c := fact.Codes[s.first(i)]
			n[c]++
			sum[c] += v - all
		}
		from := out
		if k == 0 {
			out = make([]float64, len(from)) // the series stays as it is
		}
		for i, v := range from {
			c := fact.Codes[s.first(i)]
			out[i] = v - sum[c]/n[c]
		}
	}
	return out
}
