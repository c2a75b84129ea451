package objectstore

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestShapedPath measures a path of 100 Mbit/s, 12.5 MB/s by arithmetic. The
// path itself knows what it has carried in the same seconds, which is less
// where the machine is too busy to carry its rate: the measurement must agree
// with that, and never exceed the rate.
func TestShapedPath(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	const rate = 12.5e6
	g := startGateway(t)
	path := startRelay(t, strings.TrimPrefix(g.URL, "http://"), rate)
	const seconds = unit.Duration(3 * time.Second)
	tests := []struct {
		name, operation string
		meter           *meter
		change          func(*Params)
	}{
		{"put for a time", store.Put, path.up, func(p *Params) { p.Duration, p.Size, p.Concurrency = seconds, 2_000_000, 4 }},
		{"put large objects", store.Put, path.up, func(p *Params) { p.Duration, p.Size, p.Concurrency = seconds, 15_000_000, 4 }},
		{"put a number", store.Put, path.up, func(p *Params) { p.Count, p.Size, p.Concurrency = 18, 2_000_000, 4 }},
		{"get for a time", store.Get, path.down, func(p *Params) { p.Duration, p.Size, p.Concurrency, p.Objects = seconds, 2_000_000, 4, 4 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, path.url, func(p *Params) { p.Operation = tt.operation; tt.change(p) })
			b.prepare(t)
			if err := b.measure(t); err != nil {
				t.Fatal(err)
			}
			metric := "objectstore_" + tt.operation + "_throughput"
			series := b.record.Readings[metric]
			over := cmp.Or(b.Duration.Std(), series[len(series)-1].After)
			got, carried := b.record.value(metric), tt.meter.carried(b.record.Start, b.record.Start.Add(over))
			t.Logf("measured %.4g, carried %.4g, rate of the path %.4g byte/s", got, carried, rate)
			if math.Abs(got/carried-1) > 0.02 {
				t.Errorf("%s = %.4g, want the %.4g that the path carried, within 2 %%", metric, got, carried)
			}
			if got > 1.02*rate {
				t.Errorf("%s = %.4g, more than the path's %.4g", metric, got, rate)
			}
			checkSlope(t, b.record, series, tt.meter)
		})
	}
}

// checkSlope checks that the series shows what the path carried in any second
// of the test, as the scoring of a common window needs it.
func checkSlope(t *testing.T, r *log, s []workloadtest.Reading, m *meter) {
	t.Helper()
	for i := range s {
		for j := i; j < len(s); j++ {
			width := (s[j].After - s[i].After).Seconds()
			if width < 1 || s[j].After > 3*time.Second {
				continue
			}
			rate := (s[j].Value - s[i].Value) / width
			carried := m.carried(r.Start.Add(s[i].After), r.Start.Add(s[j].After))
			if math.Abs(rate/carried-1) > 0.10 {
				t.Errorf("from %v to %v the series grows by %.4g a second, the path carried %.4g", s[i].After, s[j].After, rate, carried)
				return
			}
		}
	}
}
