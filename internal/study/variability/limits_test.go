package variability

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// columnOf is a frame of values, one a minute where timed, with a node each where
// there are some.
func columnOf(metric string, timed bool, nodes int, values ...float64) frame.Frame {
	f := frame.Frame{Key: frame.Key{Metric: metric}, Values: values}
	if timed {
		for i := range values {
			f.Times = append(f.Times, time.Date(2026, 4, 3, 0, i, 0, 0, time.UTC).UnixNano())
		}
	}
	if nodes > 0 {
		of := frame.NewFact("node")
		for i := range values {
			of.Append(fmt.Sprint("n", i%nodes))
		}
		f.Facts = append(f.Facts, of.Fact())
	}
	return f
}

// normal are so many values about 100 with this COV in percent.
func normal(n int, cov float64, seed uint64) []float64 {
	r, out := rand.New(rand.NewPCG(seed, 8)), make([]float64, n)
	for i := range out {
		out[i] = 100 + cov*r.NormFloat64()
	}
	return out
}

// wandering is a random walk: few rows of it are worth one or two.
func wandering(n int, seed uint64) []float64 {
	r, out, now := rand.New(rand.NewPCG(seed, 2)), make([]float64, n), 100.
	for i := range out {
		now += r.NormFloat64()
		out[i] = now
	}
	return out
}

// totals are those of a counter, at 19 times.
func totals() []float64 {
	out := make([]float64, 19)
	for i := range out {
		out[i] = 1e9 + float64(3000*i+i*i%17)
	}
	return out
}

// TestSidesOfTheLimit: a verdict about 5 % needs the interval on its side; --fail-on
// varies is not told where it is on both, and totals have no verdict at all.
func TestSidesOfTheLimit(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       frame.Frame
		verdict Verdict
		gate    error // of --fail-on varies
		code    string
	}{
		{"far below", columnOf("score", true, 0, normal(30, 1, 1)...), Steady, nil, ""},
		{"far above", columnOf("score", true, 0, normal(30, 20, 1)...), Varies, model.ErrThreshold, ""},
		{"at the limit", columnOf("score", true, 0, normal(30, 5, 1)...), Unclear, model.ErrInvalid, ""},
		{"few above", columnOf("score", true, 0, normal(7, 6, 1)...), Unclear, model.ErrInvalid, "few_effective"},
		{"a total", columnOf("requests", true, 0, totals()...), Unknown, model.ErrInvalid, frame.CodeTotal},
		{"a total without times", columnOf("requests", false, 0, totals()...), Unknown, model.ErrInvalid, frame.CodeTotal},
	} {
		p := New()
		p.FailOn = []Verdict{Varies}
		r := ask(t, p, c.f)
		m := r.Metrics[0]
		if err := r.Gate(); m.Verdict != c.verdict || !errors.Is(err, c.gate) || (err == nil) != (c.gate == nil) {
			t.Errorf("%s: %s %v, gate %v; want %s, %v", c.name, m.Verdict, m.COVCI, err, c.verdict, c.gate)
		}
		if c.code != "" && !slices.Contains(codes(m.Doubts), c.code) {
			t.Errorf("%s: doubts %v, want %s", c.name, codes(m.Doubts), c.code)
		}
		if (m.Verdict == Unclear) != (strings.Contains(m.Text, "above 5.0 % is unclear") ||
			strings.Contains(m.Text, "on which side")) {
			t.Errorf("%s: %q", c.name, m.Text)
		}
		everywhere(t, r)
	}
}

// TestTotalsGate: a total is small beside its level, and must not pass a threshold.
func TestTotalsGate(t *testing.T) {
	ten := study.Percent(10)
	p := New()
	p.FailAbove = &ten
	if err := ask(t, p, columnOf("requests", true, 0, totals()...)).Gate(); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("gate = %v, want that nothing is known", err)
	}
	p.Rate = true
	r := ask(t, p, columnOf("requests", true, 0, totals()...))
	if m := r.Metrics[0]; r.Gate() != nil || m.Metric != "rate(requests)" || m.N != 18 || math.Abs(m.Mean-50) > .1 {
		t.Errorf("rate %s: %d values about %v, %v; want 18 about 50 in a second", m.Metric, m.N, m.Mean, r.Gate())
	}
	p.Rate = true
	if _, err := p.Ask(t.Context(), study.Input{},
		[]study.Source{{Name: "here", Frames: []frame.Frame{
			columnOf("score", true, 0, normal(30, 1, 1)...)}}}); err == nil {
		t.Error("the rate of what is no total: no error")
	}
}

// TestEqualValuesGate: equal values keep a threshold only if all that their digits leave open
// is below it.
func TestEqualValuesGate(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 30 {
		v := float64(1 + rng.IntN(40)*rng.IntN(150))
		for _, share := range []float64{.9, 1.1} {
			p, most := New(), study.Percent(share*100*.5/v)
			p.FailAbove = &most
			err := ask(t, p, columnOf("rate", true, 0, slices.Repeat([]float64{v}, 20)...)).Gate()
			if keeps := share > 1; keeps != (err == nil) || !keeps && !errors.Is(err, model.ErrInvalid) {
				t.Errorf("all values %v, at most %v %%: gate %v", v, float64(most), err)
			}
		}
	}
}

// TestRateOfBaseline: with a baseline, rates are those of the metric that is compared; what else
// it has may fall.
func TestRateOfBaseline(t *testing.T) {
	base := study.Source{Name: "base", Frames: []frame.Frame{
		columnOf("score", true, 0, normal(30, 1, 1)...), columnOf("requests", true, 0, totals()...)}}
	here := study.Source{Name: "here", Frames: []frame.Frame{columnOf("requests", true, 0, totals()...)}}
	p := New()
	p.Rate, p.Baseline = true, "base"
	res, err := p.Ask(t.Context(), study.Input{}, []study.Source{here, base})
	if err != nil || res.(*Result).Metrics[0].Baseline == nil {
		t.Errorf("%v; want that the rates are compared", err)
	}
	base.Frames = base.Frames[:1]
	base.Frames[0].Metric = "requests"
	if _, err := p.Ask(t.Context(), study.Input{}, []study.Source{here, base}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a baseline that is no total: %v, want a usage error", err)
	}
}

// TestSettledBy: as many times as many values as an unclear verdict says mostly tell.
func TestSettledBy(t *testing.T) {
	told, asked := 0, 0
	for seed := range uint64(30) {
		m := ask(t, New(), columnOf("score", true, 0, normal(40, 6, seed)...)).Metrics[0]
		if m.Verdict != Unclear || m.SettledBy == nil {
			continue
		}
		values := normal(40, 100**m.COV, seed+100)
		for i := range uint64(*m.SettledBy) {
			values = append(values, normal(40, 100**m.COV, seed+1000*(i+2))...)
		}
		asked++
		if v := ask(t, New(), columnOf("score", true, 0, values...)).Metrics[0].Verdict; v == Varies || v == Steady {
			told++
		}
	}
	if asked < 10 || 10*told < 4*asked {
		t.Errorf("%d of %d unclear verdicts were settled by as many values as they say", told, asked)
	}
}

// TestNoBound: an interval without bound is none, and the reason is said.
func TestNoBound(t *testing.T) {
	none := 0
	for seed := range uint64(40) {
		r := ask(t, New(), columnOf("score", true, 0, wandering(15, seed)...))
		m := r.Metrics[0]
		if m.COVCI == nil {
			none++
			if !slices.Contains(codes(m.Doubts), "no_interval") || !strings.Contains(m.Text, "independent ones") {
				t.Errorf("%q, %v: want why there is no interval", m.Text, codes(m.Doubts))
			}
		} else if m.COVCI[1] > 100**m.COV {
			t.Errorf("the interval of a COV of %v is %v", *m.COV, m.COVCI)
		}
		if ci := m.MeanCI; ci != nil && ci[1]-ci[0] > 30**m.SD {
			t.Errorf("the interval of the mean is %v", ci)
		}
		if none == 1 {
			everywhere(t, r)
		}
	}
	if none == 0 {
		t.Error("no walk is worth so little")
	}
}

// TestEqualValues: values that do not scatter are steady within their digits; where
// nothing tells the rows apart they may be copies.
func TestEqualValues(t *testing.T) {
	equal := func(v float64) []float64 { return slices.Repeat([]float64{v}, 12) }
	noise := func(v float64) []float64 {
		values := equal(v)
		values[3] = math.Nextafter(v, 2*v)
		return values
	}
	for _, c := range []struct {
		name   string
		f      frame.Frame
		most   float64 // upper end of the COV; 0: none
		doubts bool
	}{
		{"at its limit", columnOf("rate", true, 0, equal(117.5)...), .05 / 117.5, false},
		{"of nodes", columnOf("rate", false, 4, equal(117)...), .5 / 117, false},
		{"small", columnOf("rate", true, 0, equal(.00125)...), .5e-5 / .00125, false},
		{"copies", columnOf("rate", false, 0, equal(117.5)...), .05 / 117.5, true},
		{"few digits", columnOf("rate", true, 0, equal(3)...), 0, true},
		{"a round number", columnOf("rate", true, 0, equal(120)...), .5 / 120, false},
		{"a rounder one", columnOf("rate", true, 0, equal(3000)...), .5 / 3000, false},
		{"tiny", columnOf("rate", true, 0, equal(1.25e-13)...), .5e-15 / 1.25e-13, false},
		{"rounding of sums", columnOf("rate", true, 0, noise(117.5)...), .05 / 117.5, false},
		{"rounding of sums, few digits", columnOf("rate", true, 0, noise(.3)...), 0, true},
	} {
		r := ask(t, New(), c.f)
		m := r.Metrics[0]
		if m.Verdict != Steady || slices.Contains(codes(m.Doubts), "constant") != c.doubts {
			t.Errorf("%s: %s, %q, %v; want steady", c.name, m.Verdict, m.Text, codes(m.Doubts))
		}
		if (m.COVCI != nil) != (c.most > 0) ||
			m.COVCI != nil && (m.COVCI[0] != 0 || m.COVCI[1] > c.most*(1+1e-9) ||
				c.most > 1e-9 && m.COVCI[1] < c.most*(1-1e-9)) {
			t.Errorf("%s: the COV is within %v, want up to %v", c.name, m.COVCI, c.most)
		}
		everywhere(t, r)
	}
}
