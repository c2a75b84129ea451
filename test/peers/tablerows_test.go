package peers

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestTable: medians of the rounds, ratios within rounds, and what is not known
// left open.
func TestTable(t *testing.T) {
	at := func(answered float64, cpu time.Duration) outcome {
		o := unknown()
		o.answered, o.took, o.cpu, o.memory = answered, 2*time.Second, cpu, 5e6
		return o
	}
	r := &results{names: []string{"scalebench", "wrk"}, outcomes: map[cell][]outcome{
		{"scalebench", 0}:    {at(200_000, 2*time.Second), at(100_000, time.Second), at(180_000, time.Second)},
		{"wrk", 0}:           {at(100_000, time.Second), at(100_000, time.Second), at(90_000, time.Second)},
		{"scalebench", 1000}: {at(1990, time.Second)},
	}, truths: map[string][]truth{"scalebench": {{wire: [3]float64{40e-6, 1e-3, 2e-3}, service: [3]float64{50e-6, 1e-3, 3e-3}, latency: [3]float64{60e-6, 1e-3, 4e-3}, read: [3]float64{30e-6, 1e-3, 2e-3}}}}}
	got := r.table([]float64{0, 1000}, 2*time.Second)
	for _, want := range []string{
		"| load | | scalebench | wrk |\n|---|---|---:|---:|\n",
		"| 64 connections | answers/s | 90,000 (2.00 ×) | 50,000 |\n",
		"| 64 connections | processor time, µs/request | 10 (1.00 ×) | 10 |\n",
		"| 64 connections | memory, MB | 5 | 5 |\n",
		"| 1,000/s | due and not answered | 10 | closed loop only |\n",
		"| 1,000/s | p99.9, µs | – | closed loop only |\n",
		"| scalebench, from when they were sent | 50 | 1,000 | 3,000 |\n",
		"| ratio to the wire | 1.25 | 1 | 1.50 |\n",
		"| scalebench, read after the kernel had it | 30 | 1,000 | 2,000 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table has no row\n%s\n%s", want, got)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, x := range []struct {
		of   []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1}, 2.5}, {[]float64{math.NaN(), 7}, 7}, {nil, math.NaN()}} {
		if got := median(x.of); got != x.want && !(math.IsNaN(got) && math.IsNaN(x.want)) {
			t.Errorf("median(%v) = %v, want %v", x.of, got, x.want)
		}
	}
}
