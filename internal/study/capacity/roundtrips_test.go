package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// TestRoundTrips: handshakes count by the load of their window, as a share of what the target
// takes; a search that found nothing has none.
func TestRoundTrips(t *testing.T) {
	takes := 1000.0
	window := func(rate, rtt float64) Assessment {
		h := histogram.New(int64(time.Second))
		histogram.RecordMany(h, int64(20*time.Millisecond), 100)
		return Assessment{Window: load.Window{Load: rate, RTT: []float64{rtt, rtt, rtt}, Latencies: h,
			Counts: load.Counts{Due: 100, OK: 100}}}
	}
	found := Search{Answer: Answer{Estimate: &takes, Windows: []Assessment{
		window(100, .001), window(500, .001), window(700, .002), window(800, .003), window(1200, .003)}}}
	open := Search{Answer: Answer{Windows: []Assessment{window(100, .1)}}}
	g := group{trials: []Search{found, open}}
	got := g.roundTrips()
	if len(got.took[atLow]) != 6 || len(got.took[between]) != 3 || len(got.took[atHigh]) != 6 ||
		len(got.dots.X) != 5 || got.dots.Y[0] < .019 {
		t.Errorf("handshakes by level: %v; windows %v", got.took, got.dots)
	}
	b := g.roundTripFigure()
	if b.Empty() || len(b.Figure.Panels) != 2 || len(b.Figure.Panels[0].Chart.Layers) != 2 {
		t.Fatalf("the figure is %+v", b)
	}
	if x := b.Figure.Panels[0].Chart.Layers[1].X; x[len(x)-1] != .003 {
		t.Errorf("round trips at high load end at %v, want 3 ms", x)
	}
	if note := b.Figure.Note; !strings.Contains(note, "is 1.00 ms up to 50 %") ||
		!strings.Contains(note, "and 3.00 ms from 80 %") {
		t.Errorf("the words are %q", note)
	}
	if b := (group{trials: []Search{open}}).roundTripFigure(); !b.Empty() {
		t.Errorf("without a capacity there is a figure: %+v", b)
	}
}
