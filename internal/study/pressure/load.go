package pressure

import (
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
	amounts, absent := l.ways(rates, l.Quality)
	if absent != "" {
		return Load{Absent: absent}
	}
	var out Load
	ops, bytes, lacks := l.operations(rates, amounts)
	if out.Lacks = lacks; l.Unit > 0 && ops != nil && bytes != nil {
		out.Least, out.Most = l.split(ops, bytes)
	} else if l.Quality == "ops" {
		out.Least, out.Most = sum(ops), sum(ops)
	} else {
		out.Least, out.Most = sum(bytes), sum(bytes)
	}
	if out.Lacks != "" {
		out.Most = slices.Repeat([]float64{math.Inf(1)}, len(out.Least))
	}
	return out
}

// operations are the operations and the bytes of the ways, as far as the limit counts by them. amounts are those of
// its quality.
func (l Limit) operations(rates Rates, amounts [][]float64) (ops, bytes [][]float64, lacks string) {
	if ops, bytes = amounts, nil; l.Quality == "bytes" {
		ops, bytes = nil, amounts
	}
	if l.Unit > 0 && bytes == nil {
		bytes, lacks = l.ways(rates, "bytes")
	} else if l.Unit > 0 {
		ops, lacks = l.ways(rates, "ops")
	}
	if !l.Unmerged || ops == nil {
		return ops, bytes, lacks
	}
	merges, absent := l.ways(rates, "merges")
	switch {
	case absent != "":
		return ops, bytes, absent
	case len(merges) != len(ops): // ops are those of all ways
		return [][]float64{sum(append(ops, merges...))}, bytes, lacks
	}
	for w := range ops {
		ops[w] = sum([][]float64{ops[w], merges[w]})
	}
	return ops, bytes, lacks
}

// split bounds what operations count for, each way by itself if both measures have the same ways.
func (l Limit) split(ops, bytes [][]float64) (least, most []float64) {
	if len(ops) != len(bytes) {
		ops, bytes = [][]float64{sum(ops)}, [][]float64{sum(bytes)}
	}
	scale := 1.0
	if l.Quality == "bytes" {
		scale = l.Unit
	}
	var atLeast, atMost [][]float64
	for w := range ops {
		low, high := slices.Clone(ops[w]), slices.Clone(ops[w])
		for i, n := range ops[w] {
			units := bytes[w][i] / l.Unit
			low[i], high[i] = max(n, units)*scale, (n+units)*scale // NaN if either is
		}
		atLeast, atMost = append(atLeast, low), append(atMost, high)
	}
	return sum(atLeast), sum(atMost)
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

// sum adds up series of the same periods: NaN if one is; nil of none.
func sum(series [][]float64) []float64 {
	if len(series) == 0 {
		return nil
	}
	out := slices.Clone(series[0])
	for _, xs := range series[1:] {
		for i, x := range xs {
			out[i] += x
		}
	}
	return out
}
