package peers

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// table is the results in Markdown.
func (r *results) table(rates []float64, window time.Duration) string {
	var b strings.Builder
	b.WriteString("| load | | " + strings.Join(r.names, " | ") + " |\n")
	b.WriteString("|---|---" + strings.Repeat("|---:", len(r.names)) + "|\n")
	for _, rate := range rates {
		figures := paced
		if rate == 0 {
			figures = saturated
		}
		for _, f := range figures {
			r.row(&b, f, rate, job{rate: rate, window: window}.due())
		}
	}
	fmt.Fprintf(&b, "\nAt %s, a timer alone on the same processor is late by %s µs at p99.9", loadName(truthRate), number(median(r.timers)*micro))
	for _, name := range r.names {
		if late, ours := r.warm[name]; ours {
			fmt.Fprintf(&b, "; %s, after warming up for %v, sends late by %s µs", name, warmUp, number(median(late)*micro))
		}
	}
	b.WriteString(".\n\n")
	return b.String() + r.truth()
}

func (r *results) row(b *strings.Builder, f figure, rate, due float64) {
	fmt.Fprintf(b, "| %s | %s", loadName(rate), f.name)
	for _, name := range r.names {
		c := cell{name, rate}
		switch ratio := r.ratio(f, c, due); {
		case len(r.outcomes[c]) == 0:
			b.WriteString(" | closed loop only")
		case math.IsNaN(ratio):
			b.WriteString(" | " + number(r.value(f, c, due)))
		default:
			fmt.Fprintf(b, " | %s (%.2f ×)", number(r.value(f, c, due)), ratio)
		}
	}
	b.WriteString(" |\n")
}

// truth is a table of its own: the engine, as it is and spinning, against the
// packets.
func (r *results) truth() string {
	var b strings.Builder
	b.WriteString("| the same requests, µs | p50 | p99 | p99.9 |\n|---|---:|---:|---:|\n")
	for _, name := range r.names {
		if all, ours := r.truths[name]; ours {
			truthRows(&b, name, all)
		}
	}
	return b.String()
}

func truthRows(b *strings.Builder, name string, all []truth) {
	for _, row := range []struct {
		name string
		of   func(truth, int) float64
	}{
		{name + ": on the wire, from the request's packet to the answer's", func(x truth, i int) float64 { return x.wire[i] * micro }},
		{name + ", from when they were sent", func(x truth, i int) float64 { return x.service[i] * micro }},
		{"ratio to the wire", func(x truth, i int) float64 { return x.service[i] / x.wire[i] }},
		{name + ", from when they were due", func(x truth, i int) float64 { return x.latency[i] * micro }},
		{"ratio to the wire", func(x truth, i int) float64 { return x.latency[i] / x.wire[i] }},
		{name + ", read after the kernel had it", func(x truth, i int) float64 { return x.read[i] * micro }},
	} {
		b.WriteString("| " + row.name)
		for i := range percentiles {
			b.WriteString(" | " + number(median(each(all, func(x truth) float64 { return row.of(x, i) }))))
		}
		b.WriteString(" |\n")
	}
}
