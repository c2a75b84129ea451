package objectstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
)

// reading is a counter at a time.
type reading struct {
	after time.Duration
	bytes int64
}

func TestSeries(t *testing.T) {
	const s = time.Second
	type point struct { // a reading, short enough for a table
		After time.Duration
		Value float64
	}
	tests := []struct {
		name     string
		deadline time.Duration
		readings []reading
		want     []point
		sample   float64
	}{
		{"between readings", 10 * s, []reading{{0, 0}, {9 * s, 900}, {11 * s, 1100}, {15 * s, 1200}}, []point{{0, 0}, {9 * s, 450}, {10 * s, 500}}, 50},
		{"at a reading", 10 * s, []reading{{0, 0}, {10 * s, 900}, {11 * s, 1100}}, []point{{0, 0}, {10 * s, 450}}, 45},
		{"by count", 0, []reading{{0, 0}, {9 * s, 900}, {15 * s, 1200}}, []point{{0, 0}, {9 * s, 450}, {15 * s, 600}}, 40},
		{"nothing done in time", 10 * s, []reading{{0, 0}, {10 * s, 0}, {15 * s, 7}}, []point{{0, 0}, {10 * s, 0}}, 0},
	}
	for _, tt := range tests {
		r := newLog(t)
		r.Start = time.Now().Add(-time.Minute)
		one := &series{metric: "m", unit: "op", scale: 2, report: r}
		one.until = store.Until{Deadline: tt.deadline, Publish: one.publish}
		for _, x := range tt.readings {
			one.add(x.after, x.bytes)
		}
		one.sample()
		var got []point
		for _, x := range r.Readings["m"] {
			got = append(got, point(x))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: published (-want +got):\n%s", tt.name, diff)
		}
		if got := r.Find("m"); got.Value != tt.sample || (got.Metric != "") != (tt.sample > 0) {
			t.Errorf("%s: sample %v, want %v", tt.name, got, tt.sample)
		}
	}
}
