package pressure

import (
	"cmp"
	"math"
	"slices"
)

// Rates returns the rates a second of one measure, in each period of a recording (NaN: not known), by the
// names of package telemetry: read_ops, write_bytes, cpu. Nil: the source does not have the measure.
type Rates func(measure string) []float64

// Limit is what a level of a service (package levels) counts.
type Limit struct {
	Quality string   // ops, bytes; any other is the name of a measure, such as cpu
	Ways    []string // read, write; both: one limit for their sum
	// Unit is a size in bytes: an operation counts once for each started unit, or its bytes count for whole units.
	// 0: it counts as it is.
	Unit     float64
	Unmerged bool // operations count before the kernel merges them
	Network  bool // read is received, write is sent
}

// Load is what counts against a limit, a second, in each period.
//
// N operations with B bytes count at least max(N, B/unit), and less than N + B/unit: an operation of size d
// counts ⌈d/unit⌉ (paper, 4.1). Least is exact if no operation is larger than the unit, for example because the
// kernel splits there, and if all operations are multiples of it.
type Load struct {
	Least, Most []float64 // NaN: not known; Most may be infinite
	// Absent is a measure that the source lacks: nil Least, the limit has no pressure.
	Absent string
	// Lacks is a measure without which the load may be larger than Least; empty: none.
	Lacks string
}

// Load adds up what counts. A source with ops or bytes in place of both ways serves limits of their sum.
func (l Limit) Load(rates Rates) Load {
	if l.Quality != "ops" && l.Quality != "bytes" {
		out := Load{Least: rates(l.Quality), Most: rates(l.Quality)}
		if out.Least == nil {
			out.Absent = l.Quality
		}
		return out
	}
	ops, noOps := l.ways(rates, "ops")
	bytes, noBytes := l.ways(rates, "bytes")
	counted, scale, out := &ops, 1.0, Load{Absent: noOps, Lacks: noBytes}
	if l.Quality == "bytes" {
		counted, scale, out = &bytes, l.Unit, Load{Absent: noBytes, Lacks: noOps}
	}
	switch {
	case out.Absent != "":
		return Load{Absent: out.Absent}
	case l.Unit == 0:
		out.Lacks = ""
	}
	if l.Unmerged && ops != nil {
		merges, absent := l.ways(rates, "merges")
		if out.Lacks = cmp.Or(out.Lacks, absent); merges != nil {
			ops = combine(ops, merges, func(n, m float64) float64 { return n + m })
		}
	}
	if out.Least, out.Most = sum(*counted), sum(*counted); l.Unit > 0 && ops != nil && bytes != nil {
		out.Least = sum(combine(ops, bytes, func(n, b float64) float64 { return max(n, b/l.Unit) * scale }))
		out.Most = sum(combine(ops, bytes, func(n, b float64) float64 { return (n + b/l.Unit) * scale }))
	}
	if out.Lacks != "" {
		out.Most = slices.Repeat([]float64{math.Inf(1)}, len(out.Least))
	}
	return out
}

// combine combines two measures in each period: way by way, or of all ways if one of them has no others.
func combine(a, b [][]float64, value func(a, b float64) float64) [][]float64 {
	if len(a) != len(b) {
		a, b = [][]float64{sum(a)}, [][]float64{sum(b)}
	}
	out := make([][]float64, len(a))
	for w := range a {
		for i := range a[w] {
			out[w] = append(out[w], value(a[w][i], b[w][i])) // NaN if either is
		}
	}
	return out
}

// ways are the series of a measure for each way of the limit, or the one of their sum.
func (l Limit) ways(rates Rates, kind string) (series [][]float64, absent string) {
	prefix := map[string]string{"read": "read_", "write": "write_"}
	if l.Network {
		prefix = map[string]string{"read": "received_", "write": "sent_"}
	}
	for _, w := range l.Ways {
		xs := rates(prefix[w] + kind)
		if xs == nil && absent == "" {
			absent = prefix[w] + kind
		}
		series = append(series, xs)
	}
	if absent == "" {
		return series, ""
	}
	if xs := rates(kind); len(l.Ways) > 1 && xs != nil {
		return [][]float64{xs}, ""
	}
	return nil, absent
}

// sum adds up series of the same periods: NaN if one is.
func sum(series [][]float64) []float64 {
	out := slices.Clone(series[0])
	for _, xs := range series[1:] {
		for i, x := range xs {
			out[i] += x
		}
	}
	return out
}
