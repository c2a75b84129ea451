package peers

import (
	"fmt"
	"math"
	"strings"
)

// cell is a generator under a load.
type cell struct {
	contender string
	rate      float64
}

// results are what came of all rounds.
type results struct {
	names    []string // of the generators, in the order of the columns
	outcomes map[cell][]outcome
	timers   []float64            // how late a timer alone was, p99.9, in s
	warm     map[string][]float64 // how late our own were, p99.9, in s, after warming up
	truths   map[string][]truth   // of our own, by name
}

// truth is the same requests, as packets say and as the engine says; in s.
type truth struct {
	wire    [len(percentiles)]float64
	service [len(percentiles)]float64 // of the engine: from when they were sent
	latency [len(percentiles)]float64 // of the engine: from when they were due
	read    [len(percentiles)]float64 // of the engine: how late it read answers
}

// figure is a row of the table.
type figure struct {
	name string
	of   func(outcome, float64) float64 // NaN where it is not known
	// versus is the generator that others are compared with; empty: none.
	versus string
}

// reference is the generator that ours has to match.
const reference = "wrk"

const micro, mega = 1e6, 1e-6

func latency(i int) func(outcome, float64) float64 {
	return func(o outcome, _ float64) float64 { return o.latencies[i] * micro }
}

// saturated are the rows for as many requests as the connections can do. The
// latencies are of a queue that the generators themselves make: they say
// nothing of a generator.
var saturated = []figure{
	{"answers/s", func(o outcome, _ float64) float64 { return o.rate() }, reference},
	{"processor time, µs/request", func(o outcome, _ float64) float64 { return o.cpuEach() * micro }, reference},
	{"memory, MB", func(o outcome, _ float64) float64 { return float64(o.memory) * mega }, ""},
}

// paced are the rows for a rate.
var paced = []figure{
	{"answers/s", func(o outcome, _ float64) float64 { return o.rate() }, ""},
	{"due and not answered", func(o outcome, due float64) float64 { return max(due-o.answered, 0) }, ""},
	{"p50, µs", latency(0), ""},
	{"p99, µs", latency(1), ""},
	{"p99.9, µs", latency(2), ""},
	{"sent late, p99.9, µs", func(o outcome, _ float64) float64 { return o.lag * micro }, ""},
	{"processor time, µs/request", func(o outcome, _ float64) float64 { return o.cpuEach() * micro }, ""},
	{"memory, MB", func(o outcome, _ float64) float64 { return float64(o.memory) * mega }, ""},
}

// loadName is what a load is called.
func loadName(rate float64) string {
	if rate == 0 {
		return fmt.Sprintf("%d connections", connections)
	}
	return number(rate) + "/s"
}

// value is the median of the rounds.
func (r *results) value(f figure, c cell, due float64) float64 {
	return median(each(r.outcomes[c], func(o outcome) float64 { return f.of(o, due) }))
}

// ratio is the median of the ratios within rounds: the machine of one round may
// not be that of another.
func (r *results) ratio(f figure, c cell, due float64) float64 {
	if f.versus == "" || f.versus == c.contender {
		return math.NaN()
	}
	of := r.outcomes[cell{f.versus, c.rate}]
	var x []float64
	for i, o := range r.outcomes[c] {
		if i < len(of) {
			x = append(x, f.of(o, due)/f.of(of[i], due))
		}
	}
	return median(x)
}

func each[T any](all []T, f func(T) float64) []float64 {
	x := make([]float64, len(all))
	for i, a := range all {
		x[i] = f(a)
	}
	return x
}

// number has three digits at least, but for whole numbers.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x == math.Trunc(x) || x >= 100:
		return thousands(fmt.Sprintf("%.0f", x))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// thousands puts commas between groups of three digits.
func thousands(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
