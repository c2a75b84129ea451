package levelfit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

func fit(t *testing.T, p *Params, frames ...frame.Frame) (*Result, error) {
	t.Helper()
	a, err := p.Answer(context.Background(), study.Input{Sources: []study.Source{{Name: "cpu.csv", Frames: frames}}})
	if err != nil {
		return nil, err
	}
	return a.Result.(*Result), nil //nolint:forcetypeassert // a test
}

// TestTwoPeaks: a processor that comes in two kinds has two levels, with the shares in which
// they were drawn, and the file is a model with the same pressure as the values.
func TestTwoPeaks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 20 {
		low := 50 + 50*rng.Float64()
		high, share := low*(1.4+rng.Float64()), .2+.6*rng.Float64()
		var values []float64
		inverse, slow := 0., 0.
		for range 200 {
			x := high
			if rng.Float64() < share {
				x, slow = low, slow+1
			}
			x *= 1 + .005*rng.NormFloat64()
			values, inverse = append(values, x), inverse+1/x
		}
		r, err := fit(t, &Params{Name: "m5-large"}, frame.Frame{Key: frame.Key{Metric: "score"}, Unit: "points",
			Values: values})
		if err != nil {
			t.Fatal(err)
		}
		below := 0.
		for _, v := range r.Levels {
			if v.Rate < (low+high)/2 {
				below += v.Share
			}
			if near := min(math.Abs(v.Rate/low-1), math.Abs(v.Rate/high-1)); near > .02 {
				t.Errorf("a level of %g between the peaks %g and %g", v.Rate, low, high)
			}
		}
		if math.Abs(below-slow/200) > 1e-9 || r.Values != 200 || len(r.Doubts) > 0 {
			t.Errorf("share of the slow kind %g, want %g; doubts %v", below, slow/200, r.Doubts)
		}
		m, err := levels.Parse("m.yaml", []byte(r.File))
		if err != nil {
			t.Fatal(err)
		}
		of, err := m.Levels(nil)
		if err != nil || math.Abs(of.Limits[0].Rate.Pressure(100)/(100*inverse/200)-1) > 1e-6 {
			t.Errorf("%v: pressure %g, of the values %g", err, of.Limits[0].Rate.Pressure(100), 100*inverse/200)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	a, b := frame.Frame{Key: frame.Key{Metric: "score"}, Values: []float64{1, 2}},
		frame.Frame{Key: frame.Key{Metric: "time"}, Values: []float64{1, -2}}
	for name, tt := range map[string]struct {
		metric string
		frames []frame.Frame
		want   string
	}{
		"several":   {"", []frame.Frame{a, b}, "metric: there are several metrics; use one of score, time"},
		"unknown":   {"x", []frame.Frame{a}, `metric: there is no metric "x"`},
		"negative":  {"time", []frame.Frame{a, b}, "greater than 0"},
		"no values": {"", []frame.Frame{{Key: frame.Key{Metric: "score"}}}, "no values"},
	} {
		if _, err := fit(t, &Params{Metric: tt.metric}, tt.frames...); !errors.Is(err, model.ErrUsage) ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if r, err := fit(t, &Params{}, a); err != nil || len(r.Doubts) != 1 || r.Doubts[0].Code != "few_values" {
		t.Errorf("two values: %+v, %v, want a doubt", r, err)
	}
}
