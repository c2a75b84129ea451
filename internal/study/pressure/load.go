package pressure

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Load is what counts against a limit, a second, in each period of a recording.
//
// N operations with B bytes count at least max(N, B/unit), and less than N + B/unit: an operation of size d
// counts ⌈d/unit⌉ (paper, 4.1). Least is exact if no operation is larger than the unit, for example because the
// kernel splits there, and if all operations are multiples of it.
type Load struct {
	Least, Most []float64 // NaN: not known; Most may be infinite
	// Absent is a measure that the source lacks: nil Least, the limit has no pressure.
	Absent telemetry.Measure
	// Lacks is a measure without which the load may be larger than Least; empty: none.
	Lacks telemetry.Measure
}

// loadOn adds up what counts. A source with ops or bytes in place of both ways serves limits of their sum.
func loadOn(l levels.Level, r *telemetry.Recording) Load {
	if l.Quality != levels.Ops && l.Quality != levels.Bytes {
		name := telemetry.Measure(l.Quality)
		if l.Quality == levels.Metric {
			name = telemetry.Measure(l.Label)
		}
		if r.Rates[name] == nil {
			return Load{Absent: name}
		}
		return Load{Least: r.Rates[name], Most: r.Rates[name]}
	}
	ops, noOps := waysOf(l, r, "ops")
	bytes, noBytes := waysOf(l, r, "bytes")
	counted, scale, out := &ops, 1.0, Load{Absent: noOps, Lacks: noBytes}
	if l.Quality == levels.Bytes {
		counted, scale, out = &bytes, l.Unit, Load{Absent: noBytes, Lacks: noOps}
	}
	switch {
	case out.Absent != "":
		return Load{Absent: out.Absent}
	case l.Unit == 0:
		out.Lacks = ""
	}
	if l.Unmerged && ops != nil {
		merges, absent := waysOf(l, r, "merges")
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

// waysOf are the rates of a measure for each way of the limit, or the one of their sum.
func waysOf(l levels.Level, r *telemetry.Recording, kind string) (series [][]float64, absent telemetry.Measure) {
	for _, w := range l.Ways {
		way := string(w)
		if r.Service == telemetry.Network {
			way = map[levels.Way]string{levels.Read: "received", levels.Write: "sent"}[w]
		}
		measure := telemetry.Measure(way + "_" + kind)
		if r.Rates[measure] == nil {
			absent = cmp.Or(absent, measure)
		}
		series = append(series, r.Rates[measure])
	}
	if absent == "" {
		return series, ""
	}
	if xs := r.Rates[telemetry.Measure(kind)]; len(l.Ways) > 1 && xs != nil {
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
