package capacity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/search"
)

// TestPaperRamp: the paper's ramp looks at the median only. A load that it
// accepts, at which 15 % of the answers take 400 ms, did not keep p90=150ms and
// is none that passed.
func TestPaperRamp(t *testing.T) {
	cfg := config(t)
	cfg.Algorithm, cfg.Fraction = search.Paper, 2
	w := newWorld(1000)
	var windows []load.Window
	s, err := cfg.Evaluate(nil)
	for ; err == nil && s.Next != nil; s, err = cfg.Evaluate(windows) {
		x := w.offer(*s.Next)
		if x.Load >= 300 && x.Load <= w.target {
			n := x.Counts.Due
			x.Latencies.Reset()
			histogram.RecordMany(x.Latencies, int64(time.Millisecond), n-n*15/100)
			histogram.RecordMany(x.Latencies, int64(400*time.Millisecond), n*15/100)
		}
		windows = append(windows, x)
	}
	if err != nil {
		t.Fatal(err)
	}
	var loads []float64
	for _, x := range s.Answer.Windows {
		loads = append(loads, x.Load)
	}
	if want := []float64{100, 200, 400, 800, 1600, 800}; !slices.Equal(loads, want) {
		t.Fatalf("loads %v, want the paper's %v", loads, want)
	}
	if p := s.Answer.Passed; p == nil || *p != 200 {
		t.Errorf("passed %v, want 200, the largest load that kept the SLA", p)
	}
	if !slices.ContainsFunc(s.Answer.Warnings(), func(w string) bool { return strings.Contains(w, "the ramp's rule accepted") }) {
		t.Errorf("warnings %q: none is about the ramp", s.Answer.Warnings())
	}
}
