package pressure

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/telemetry"
)

func TestNewSeries(t *testing.T) {
	nan := math.NaN()
	r := recordedOf("", "vol-1", 10, columns{telemetry.Idle: {.5, nan, 0, 0, 0, 0}})
	r.End[5] = r.Begin[5]
	got, missing := NewSeries(&r, []float64{.1, .2, nan, 1, math.Inf(1), 1})
	want := Series{{0, 10, .1, .5, 0}, {10, 20, .2, 0, 0}, {30, 40, 1, 0, 0}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" || missing != 3 {
		t.Errorf("missing %d, want 3 (without a value, infinite, without a length); series (-want +got):\n%s",
			missing, diff)
	}
}

func TestSummary(t *testing.T) {
	s := Series{{0, 10, .2, 0, 0}, {10, 70, .8, 0, 0}, {70, 100, .4, 0, 0}}
	got, err := s.Summary()
	want := SLP{Mean: .62, P1: .2, P25: .4, P75: .8, P99: .8, Max: .8}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := (Series{}).Summary(); !errors.Is(err, stats.ErrTooFew) {
		t.Errorf("of nothing: %v, want ErrTooFew", err)
	}
	near(t, "seconds", s.Seconds(), 100)
	near(t, "step", s.Step(), 30)
	near(t, "ceiling", s.Ceiling(0), 1)
	near(t, "ceiling of a bucket", s.Ceiling(3), 3)
	near(t, "ceiling of what was seen", seriesOf(1, 1.06).Ceiling(0), 1.06)
}

func TestMeanInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	covered := 0
	for range 400 { // neighbours depend on each other
		s, x := make(Series, 300), 0.
		for i := range s {
			x = .8*x + rng.NormFloat64()
			s[i] = Period{Begin: float64(i), End: float64(i + 1), Mean: .7 + .05*x}
		}
		iv, err := s.MeanInterval()
		if err != nil {
			t.Fatal(err)
		}
		if iv.Contains(.7) {
			covered++
		}
	}
	if covered < 368 || covered > 396 { // 92 to 99 %
		t.Errorf("%d of 400 intervals hold the mean", covered)
	}
	if _, err := seriesOf(1, 1, 2, 3).MeanInterval(); !errors.Is(err, stats.ErrTooFew) {
		t.Errorf("3 periods: %v, want ErrTooFew", err)
	}
}

func TestBusiest(t *testing.T) {
	low := seriesOf(10, .2, .2, .6, .6, .2, .2)
	high := seriesOf(30, .5, .7)
	gap := append(seriesOf(10, .3, .3), Period{90, 100, .9, 0, 0})
	tests := []struct {
		name       string
		all        []Series
		length     float64
		begin, end float64
	}{
		{"one", []Series{low}, 20, 20, 40},
		{"the highest of all", []Series{low, high}, 30, 30, 60},
		{"a series shorter than the window", []Series{low}, 600, 0, 60},
		{"periods longer than the window", []Series{high}, 20, 0, 60},
		{"a window is observed", []Series{gap}, 20, 0, 20},
		{"nearly as long", []Series{low}, 66, 0, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begin, end := Busiest(tt.all, tt.length)
			near(t, "begin", begin, tt.begin)
			near(t, "end", end, tt.end)
		})
	}
}
