package evaluation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
)

// watched is what the monitor sees of a task of ten seconds on a machine with
// two cores: how many of them the task and others used.
func watched(r model.Result, own, others float64) model.Result {
	const cores, seconds = 2, 10
	counter := func(metric string, total float64) {
		r.Host = append(r.Host, model.HostSeries{Metric: metric, Counter: true, Offsets: []int64{0, seconds * 1e9}, Values: []float64{0, total}})
	}
	counter("cpu.user", seconds*(own+others))
	counter("cpu.idle", seconds*(cores-own-others))
	counter("cpu.steal", 0)
	r.Host = append(r.Host, model.HostSeries{Metric: "cpu.cores", Offsets: []int64{0, seconds * 1e9}, Values: []float64{cores, cores}})
	r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: others, Better: model.Lower, Info: true})
	return r
}

// strangerRun measures nodes with two busy threads each; while all of them work a
// stranger takes so many cores of each, and none of fewer nodes, of these sizes.
func strangerRun(nodes int, cores float64, sizes ...int) model.RunData {
	b := newBuilder(nodes)
	for trial := 1; trial <= 3; trial++ {
		var rs []model.Result
		for i := range nodes {
			wobble := 1 + .002*float64((i+trial)%3-1)
			b.Step(model.Serial, trial, watched(result(b, i, constant(0, 200*wobble), .25, .1), 2, 0))
		}
		for i := range nodes {
			wobble := 1 + .002*float64((i+2*trial)%3-1)
			rs = append(rs, watched(result(b, i, constant(0, 100*(2-cores)*wobble), .25, .1), 2-cores, cores))
		}
		for _, size := range sizes {
			var few []model.Result
			for i := range size {
				few = append(few, watched(result(b, i, constant(0, 200), .25, .1), 2, 0))
			}
			b.Step(model.Parallel, trial, few...)
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}

func code(f Finding, code caveat.Code) *caveat.Caveat {
	i := slices.IndexFunc(f.Doubts, func(d caveat.Caveat) bool { return d.Code == code })
	if i < 0 {
		return nil
	}
	return &f.Doubts[i]
}

// A stranger on the nodes in the parallel phase looks like a loss of capacity.
// What it took is known, and the verdict is not.
func TestStranger(t *testing.T) {
	quiet := one(t, strangerRun(6, 0), Options{Resamples: 100})
	if quiet.Verdict != None || code(quiet, "others") != nil {
		t.Errorf("without a stranger: %s, %+v; want none, and no doubt about others", quiet.Verdict, quiet.Doubts)
	}
	if b, err := json.Marshal(quiet); err != nil || !strings.Contains(string(b), `"doubts":[`) {
		t.Errorf("JSON %s, %v; want an array of doubts, be it empty", b, err)
	}
	// Little is told only where it decides.
	for _, cores := range []float64{.038, .06, .2, .5, 1} {
		f := one(t, strangerRun(6, cores), Options{Resamples: 100})
		d := code(f, "others")
		if f.Verdict != Unknown || d == nil || d.Severity != model.Problem || d.Explains == nil {
			t.Errorf("%v cores: %s, %+v; want unknown, for the others", cores, f.Verdict, f.Doubts)
			continue
		}
		wantValue(t, "explains", d.Explains, 100*cores/2, .6)
		if possible := f.Possible; !possible.Contains(0) {
			t.Errorf("%v cores: the interval can have been %v without them, want 0 in it", cores, possible)
		}
	}
}

// pauseRun measures nodes without a loss; for a second of the ten those named
// stand still in a phase.
func pauseRun(nodes int, phase model.Phase, paused ...int) model.RunData {
	b := newBuilder(nodes)
	measure := func(i int, now model.Phase) model.Result {
		if now != phase || !slices.Contains(paused, i) {
			return result(b, i, constant(0, 100), .25, .1)
		}
		r := result(b, i, polyline{[]float64{0, 4, 5, 10}, []float64{0, 400, 400, 900}}, .25, .1)
		s := &r.Series[0]
		for k := len(s.Offsets) - 1; k >= 0; k-- {
			if at := float64(s.Offsets[k]) / 1e9; at > 4 && at < 5 {
				s.Offsets, s.Values = slices.Delete(s.Offsets, k, k+1), slices.Delete(s.Values, k, k+1)
			}
		}
		return r
	}
	for trial := 1; trial <= 2; trial++ {
		var rs []model.Result
		for i := range nodes {
			b.Step(model.Serial, trial, measure(i, model.Serial))
		}
		for i := range nodes {
			rs = append(rs, measure(i, model.Parallel))
		}
		b.Step(model.Parallel, trial, rs...)
	}
	return b.Data
}

// A pause of all nodes, or of one, is found against the clock.
func TestPause(t *testing.T) {
	for _, c := range []struct {
		name     string
		phase    model.Phase
		paused   []int
		explains float64
	}{
		{"all, parallel", model.Parallel, []int{0, 1, 2, 3}, 10},
		{"all, serial", model.Serial, []int{0, 1, 2, 3}, 10},
		{"one, parallel", model.Parallel, []int{2}, 2.5},
		{"one, serial", model.Serial, []int{2}, 2.5},
	} {
		f := one(t, pauseRun(4, c.phase, c.paused...), Options{Resamples: 100, Tolerance: 2})
		d := code(f, "pause")
		if d == nil || d.Explains == nil {
			t.Errorf("%s: %s, %+v; want a pause", c.name, f.Verdict, f.Doubts)
			continue
		}
		wantValue(t, c.name+": explains", d.Explains, c.explains, 1.2)
		if f.Verdict == Degraded || f.Verdict == Gain || !f.Possible.Contains(0) {
			t.Errorf("%s: %s, %v, possibly %v; the truth is 0", c.name, f.Verdict, f.CI, f.Possible)
		}
	}
	if f := one(t, pauseRun(4, ""), Options{Resamples: 100}); code(f, "pause") != nil {
		t.Errorf("without a pause: %+v", f.Doubts)
	}
}

// An interval that contains 0 and is wide is unclear, with what would settle it.
func TestUnclear(t *testing.T) {
	for _, c := range []struct {
		iv   Interval
		want Verdict
	}{
		{Interval{-1, 2}, None},
		{Interval{-10, 10}, None},
		{Interval{-10.1, 3}, Unclear},
		{Interval{-26.8, 50.9}, Unclear},
		{Interval{0.1, 2}, Degraded},
		{Interval{-2, -0.1}, None},
		{Interval{-12, -0.1}, Gain},
	} {
		if got := verdictOf(c.iv, DefaultTolerance); got != c.want {
			t.Errorf("verdictOf(%v) = %s, want %s", c.iv, got, c.want)
		}
	}
}

// TestTotalLoss: no interval goes beyond a total loss, however much trials differ.
func TestTotalLoss(t *testing.T) {
	b := trials(2)
	end := b.Data.Steps[len(b.Data.Steps)-1] // the parallel one of the second trial
	for i := range b.Data.Results {
		if r := &b.Data.Results[i]; r.Step == end.ID {
			r.Samples[0].Value *= .01
			r.Series = nil
		}
	}
	f := one(t, b.Data, quick)
	if f.Verdict != Unknown || code(f, "too_wide") == nil {
		t.Errorf("%s, %+v; want unknown, because it is too wide", f.Verdict, f.Doubts)
	}
	for name, i := range map[string]*Interval{"ci": f.CI, "ci_fleet": f.CIFleet, "ci_nodes": f.CINodes, "ci_bca": f.BCa, "ci_possible": f.Possible} {
		if i != nil && i[1] > 100 {
			t.Errorf("%s ends at %v, want 100 at most", name, i[1])
		}
	}
}

// TestUncontended: whole tasks that were active together for four fifths of the
// time hide a part of the degradation, and that is in what the index can be.
func TestUncontended(t *testing.T) {
	b := plain(6, .9)
	last(b).Ended = last(b).Ended.Add(-2 * time.Second)
	f := one(t, b.Data, quick)
	d := code(f, "overlap")
	if f.Window != WindowWhole || d == nil || d.Explains == nil || f.Verdict != Degraded {
		t.Fatalf("%s, %s, %+v; want degraded on whole tasks with a doubt about the overlap", f.Window, f.Verdict, f.Doubts)
	}
	// E = 0.2 + 0.8·E' of 90 %: E' is 87.5 %.
	wantValue(t, "explains", d.Explains, 2.5, .3)
	wantValue(t, "upper end", &f.Possible[1], 100-100*(1-f.CI[1]/100-.2)/.8, 1e-9)
	if f.Possible[0] != f.CI[0] {
		t.Errorf("the lower end is %v, want that of the interval %v", f.Possible[0], f.CI[0])
	}
}

// TestStrangerInASweep: quiet steps of fewer nodes do not make a stranger
// smaller that worked while all nodes did.
func TestStrangerInASweep(t *testing.T) {
	d := strangerRun(6, .2, 2, 4)
	f := one(t, d, Options{Resamples: 100})
	if f.Verdict != Unknown || !f.Possible.Contains(0) {
		t.Errorf("%s, possibly %v; want unknown, and 0 possible", f.Verdict, f.Possible)
	}
}

// TestUnequalJobs: the progress of a command is what it prints. A job that takes
// longer is no pause of the machine.
func TestUnequalJobs(t *testing.T) {
	d := pauseRun(4, model.Parallel, 0, 1, 2, 3)
	for i := range d.Steps {
		for k := range d.Steps[i].Tasks {
			d.Steps[i].Tasks[k].Spec.Kind = "command"
		}
	}
	if f := one(t, d, Options{Resamples: 100}); code(f, "pause") != nil {
		t.Errorf("%+v; want no pause", f.Doubts)
	}
}

// TestSteal: time that the machine's host took from processors that wanted to run
// can explain a loss, also where others of them had nothing to do.
func TestSteal(t *testing.T) {
	const cores, seconds = 8, 10
	measure := func(r model.Result, stolen float64) model.Result {
		counter := func(metric string, total float64) {
			r.Host = append(r.Host, model.HostSeries{Metric: metric, Counter: true, Offsets: []int64{0, seconds * 1e9}, Values: []float64{0, total}})
		}
		counter("cpu.user", seconds*(1-stolen)) // one thread
		counter("cpu.steal", seconds*stolen)
		counter("cpu.idle", seconds*(cores-1))
		return r
	}
	run := func(stolen float64) model.RunData {
		b := newBuilder(6)
		for trial := 1; trial <= 3; trial++ {
			var rs []model.Result
			for i := range 6 {
				wobble := 1 + .002*float64((i+trial)%3-1)
				b.Step(model.Serial, trial, measure(result(b, i, constant(0, 100*wobble), .25, .1), 0))
				rs = append(rs, measure(result(b, i, constant(0, 100*(1-stolen)*wobble), .25, .1), stolen))
			}
			b.Step(model.Parallel, trial, rs...)
		}
		return b.Data
	}
	for _, stolen := range []float64{.04, .3} { // .5 and 3.8 % of the machine's time
		f := one(t, run(stolen), Options{Resamples: 100})
		d := code(f, "steal")
		if f.Verdict != Unknown || d == nil || d.Explains == nil || *d.Explains < 100*stolen-.5 || !f.Possible.Contains(0) {
			t.Errorf("%v of a processor stolen: %s %v, possible %v, %+v; want unknown", stolen, f.Verdict, *f.CI, f.Possible, f.Doubts)
		}
	}
}
