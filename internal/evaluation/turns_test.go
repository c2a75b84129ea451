package evaluation

import (
	"math"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// turn is one of several tests that a task does one after the other, with the
// node's rate in it.
type turn struct {
	metric string
	line   polyline
}

// inTurns is a task of several tests, each with its own value and counter, as
// the memory workload does them: 0 is published when a test begins.
func inTurns(b *builder, node int, turns ...turn) model.Result {
	start := turns[0].line.start()
	r := b.Reported(node, start, turns[len(turns)-1].line.end(), 1)
	r.Samples = nil
	for _, x := range turns {
		one := result(b, node, x.line, .2, 0)
		one.Series[0].Metric, one.Samples[0].Metric = x.metric, x.metric
		for i := range one.Series[0].Offsets { // since the task's start
			one.Series[0].Offsets[i] += int64(math.Round(1e9 * (x.line.start() - start)))
		}
		r.Series, r.Samples = append(r.Series, one.Series...), append(r.Samples, one.Samples...)
	}
	return r
}

// steady is work at one rate.
func steady(from, to, rate float64) polyline {
	return polyline{[]float64{from, to}, []float64{0, rate * (to - from)}}
}

// TestTestsInTurn: three tests of 5 s each, one after the other, on three
// nodes that start at 0, 0.5 and 1 s. Copies share 120 op/s evenly: while all
// three copy, from 1 to 5 s, each gets 40, before and after that more. Triads
// are not in each other's way.
func TestTestsInTurn(t *testing.T) {
	solo := []float64{98, 100, 105} // mean 101
	starts := []float64{0, .5, 1}
	copies := []polyline{ // at most solo when one copies, 60 when two do
		{[]float64{0, .5, 1, 5}, []float64{0, 49, 79, 239}},
		{[]float64{.5, 1, 5, 5.5}, []float64{0, 30, 190, 220}},
		{[]float64{1, 5, 5.5, 6}, []float64{0, 160, 190, 242.5}},
	}
	b := newBuilder(3)
	for i, s := range solo {
		b.Step(model.Serial, 1, inTurns(b, i, turn{"copy", steady(0, 5, s)}, turn{"triad", steady(5, 10, 2*s)}, turn{"latency", steady(10, 15, 10)}))
	}
	rs := make([]model.Result, 3)
	for i, s := range starts {
		triad := 2 * solo[i] * []float64{.99, 1, 1.01}[i]
		rs[i] = inTurns(b, i, turn{"copy", copies[i]}, turn{"triad", steady(s+5, s+10, triad)}, turn{"latency", steady(s+10, s+15, 10)})
	}
	b.Step(model.Parallel, 1, rs...)
	fs, err := Findings(observe.Of(b.Data), quick)
	if err != nil || len(fs) != 3 {
		t.Fatalf("CDI gave %d findings, %v, want 3", len(fs), err)
	}
	want := []struct {
		metric string
		cdi    float64
		kept   []float64
	}{
		{"copy", 100 * (1 - 40/101.), []float64{40, 40, 40}},
		{"triad", 100 * (1 - (.99*98+100+1.01*105)/303), []float64{.99 * 196, 200, 1.01 * 210}},
		{"latency", 0, []float64{10, 10, 10}},
	}
	for i, w := range want {
		f := fs[i]
		wantValue(t, w.metric+": CDI", f.CDI, w.cdi, 1e-6)
		// Active together for 4 s of the 6 s in which any node did this test.
		wantValue(t, w.metric+": overlap", f.Overlap, 4/6., 1e-9)
		wantValue(t, w.metric+": start skew", f.StartSkewMS, 1000, 1e-6)
		if f.Metric != w.metric || f.Window != "common" {
			t.Errorf("finding %d: %s in the window %q, want %s, common\n%q", i, f.Metric, f.Window, w.metric, texts(f.Doubts))
		}
		for k, p := range f.Pairs {
			wantValue(t, w.metric+", node "+string(p.Node), &p.Parallel, w.kept[k], 1e-6)
		}
	}
	if fs[0].Verdict != Degraded {
		t.Errorf("verdict of copy: %s, want degraded\n%q", fs[0].Verdict, texts(fs[0].Doubts))
	}
}

// TestCounterBreaksOff: a counter that ends long before those of the other nodes
// shortens the time in which all are known to work; the verdict is unknown.
func TestCounterBreaksOff(t *testing.T) {
	b := newBuilder(2)
	b.Step(model.Serial, 1, result(b, 0, constant(0, 100), 1, 0))
	b.Step(model.Serial, 1, result(b, 1, constant(0, 103), 1, 0))
	cut := result(b, 1, constant(0, 54), 1, 0)
	s := &cut.Series[0]
	n := slices.Index(s.Offsets, 4e9) + 1
	s.Offsets, s.Values = s.Offsets[:n], s.Values[:n]
	b.Step(model.Parallel, 1, result(b, 0, constant(0, 50), 1, 0), cut)
	f := one(t, b.Data, quick)
	wantValue(t, "overlap", f.Overlap, .4, 1e-9)
	if f.Verdict != Unknown {
		t.Errorf("verdict %s, want unknown", f.Verdict)
	}
}
