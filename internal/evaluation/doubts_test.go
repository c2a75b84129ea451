package evaluation

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// last is the result of the last task: the last node, parallel.
func last(b *builder) *model.Result { return &b.Data.Results[len(b.Data.Results)-1] }

// TestDoubtsAndWarnings: each defect of the data is told, and the worse ones
// leave no verdict.
func TestDoubtsAndWarnings(t *testing.T) {
	nan := math.NaN()
	cases := []struct {
		name    string
		change  func(*builder)
		verdict Verdict
		text    string
	}{
		{"sound", func(*builder) {}, Degraded, "one parallel trial"},
		{"zero", func(b *builder) { last(b).Samples[0].Value = 0 }, Unknown, "node n05, task 01J00000000000000000000000/0006/0005: it reported rate = 0"},
		{"negative", func(b *builder) { last(b).Samples[0].Value = -3 }, Unknown, "rate = -3"},
		{"NaN", func(b *builder) { last(b).Samples[0].Value = nan }, Unknown, "rate = NaN"},
		{"infinite", func(b *builder) { last(b).Samples[0].Value = math.Inf(1) }, Unknown, "rate = +Inf"},
		{"no sample", func(b *builder) { last(b).Samples = nil }, Unknown, "node n05 of 6 gave no usable rate"},
		{"twice", func(b *builder) { r := last(b); r.Samples = append(r.Samples, r.Samples[0]) }, Unknown, "2 times instead of once"},
		{"other unit", func(b *builder) { last(b).Samples[0].Unit = "kop/s" }, Unknown, `"kop/s"`},
		{"no result", func(b *builder) { b.Data.Results = b.Data.Results[:11] }, Unknown, "node n05 of 6"},
		{"serial step invalid", func(b *builder) {
			b.Data.Steps[2].State, b.Data.Steps[2].Reason = model.StepInvalid, "timed out"
		}, Unknown, "serial on n02, trial 1: invalid, timed out"},
		{"parallel step invalid", func(b *builder) { b.Data.Steps[6].State = model.StepInvalid }, Unknown, "there are no parallel values"},
		{"no times", func(b *builder) { last(b).Started = time.Time{} }, Unknown, "without start and end times"},
		{"low overlap", func(b *builder) { last(b).Ended = b.Data.Results[6].Started.Add(4 * time.Second) }, Unknown,
			"only 40 % of the time from the first start to the last end (at least 50 % required): give every node the same running time"},
		{"short tasks", func(b *builder) {
			for i := range b.Data.Results {
				r := &b.Data.Results[i]
				r.Started = r.Started.Add(time.Duration(i) * 30 * time.Millisecond)
				r.Ended = r.Started.Add(200 * time.Millisecond)
			}
		}, Unknown, "the tasks take 200 ms and start up to 150 ms apart: let them take longer"},
		{"errors", func(b *builder) {
			last(b).Samples = append(last(b).Samples,
				model.Sample{Metric: "objectstore_errors", Value: 12, Info: true,
					Labels: map[string]string{"kind": "slow_down"}})
		}, Degraded, "work answered with errors: 12 a task of kind slow_down when all work, 0 alone"},
		{"no overlap", func(b *builder) {
			last(b).Started = b.Data.Results[6].Started.Add(time.Minute)
			last(b).Ended = last(b).Started.Add(time.Second)
		}, Unknown, "only 0 %"},
		{"poor overlap", func(b *builder) { last(b).Ended = last(b).Ended.Add(-2 * time.Second) }, Degraded, "poor overlap: all nodes were active together for 80 %"},
		{"unequal CPUs", func(b *builder) { b.Data.Nodes[1].Facts.CPUModel = "Model Y" }, Degraded, "unequal CPUs: 5 × Model X (2 cores), 1 × Model Y (2 cores)"},
		{"no facts", func(b *builder) { b.Data.Nodes[1].Facts = model.Facts{} }, Degraded, "1 node without a known CPU model"},
		{"retried", func(b *builder) {
			b.Data.Steps[0].Attempt = 2
			again := b.Data.Results[0]
			again.Attempt = 2
			b.Data.Results[0].Outcome = model.OutcomeTimeout
			b.Data.Results = append(b.Data.Results, again)
		}, Degraded, "1 task did not end well before the attempt that counts: node n00 timeout (serial, trial 1, attempt 1)"},
		{"series on some", func(b *builder) {
			last(b).Series = []model.Series{{Metric: "rate", Unit: "op", Offsets: []int64{0, 2e9, 6e9, 10e9}, Values: []float64{0, 106, 318, 530}}}
		}, Degraded, "11 tasks without a usable progress series"},
		{"series on some, which disagree", func(b *builder) {
			last(b).Series = []model.Series{{Metric: "rate", Unit: "op", Offsets: []int64{0, 2e9, 6e9, 10e9}, Values: []float64{0, 200, 600, 1000}}}
		}, Unknown, "reported rate = 53.02 op/s but its progress counter says 100 op/s, 47 % off"},
		{"two groups", func(b *builder) {
			for i := 6; i < 9; i++ {
				b.Data.Results[i].Samples[0].Value /= 4
			}
		}, Degraded, "3 nodes (n00, n01, n02) keep 12.5 % of their capacity, the other 3 nodes 50.0 %"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := plain(6, .5)
			c.change(b)
			f := one(t, b.Data, quick)
			if f.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s\n%s", f.Verdict, c.verdict, strings.Join(texts(f.Doubts), "\n"))
			}
			wantWarning(t, f, c.text)
		})
	}
}

// TestSeriesRefused: a series that cannot tell the work in the window is not
// used, for anything.
func TestSeriesRefused(t *testing.T) {
	const sec = int64(time.Second)
	for _, c := range []struct {
		name    string
		offsets []int64
		values  []float64
		text    string
	}{
		{"decreasing", []int64{0, 5 * sec, 10 * sec}, []float64{1, 9, 8}, "it decreases from 9 to 8"},
		{"out of order", []int64{0, 9 * sec, 8 * sec}, []float64{1, 2, 3}, "not in order of time"},
		{"lengths differ", []int64{0, 9 * sec}, []float64{1, 2, 3}, "2 offsets for 3 values"},
		{"NaN", []int64{0, 9 * sec}, []float64{1, math.NaN()}, "is NaN"},
		{"before the start", []int64{-1, 9 * sec}, []float64{1, 2}, "before the start"},
		{"one point", []int64{10 * sec}, []float64{5}, "fewer than two points"},
		{"short", []int64{0, 4 * sec}, []float64{1, 5}, "it is silent for 4s of the 4s in which it is active"},
		{"begins late", []int64{0, 1800e6, 2000e6, 2200e6}, []float64{0, 1, 2, 3}, "it covers 400ms of the 2.2s in which it is active"},
		{"mostly silent", []int64{0, 1 * sec, 7 * sec, 8 * sec}, []float64{0, 10, 70, 80}, "it is silent for 6s of the 8s in which it is active"},
		{"beyond the end", []int64{0, 13 * sec}, []float64{1, 5}, "beyond the end"},
		{"silent at the end of the window", []int64{0, 1 * sec, 6 * sec, 11 * sec}, []float64{0, 10, 60, 110}, "silent for the last"},
		{"stands still", []int64{0, 5 * sec, 10 * sec}, []float64{1, 1, 1}, "stands still"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(2)
			b.Step(model.Serial, 1, result(b, 0, constant(0, 100), 1, 0))
			b.Step(model.Serial, 1, result(b, 1, constant(0, 103), 1, 0))
			bad := result(b, 1, constant(0, 54), 1, 0)
			bad.Series[0].Offsets, bad.Series[0].Values = c.offsets, c.values
			b.Step(model.Parallel, 1, result(b, 0, constant(0, 50), 1, 0), bad)
			f := one(t, b.Data, quick)
			wantWarning(t, f, "scored on whole tasks, not in the common window")
			wantWarning(t, f, c.text)
			wantValue(t, "CDI", f.CDI, 100*(1-104./203), 1e-9)
			if f.Window != "whole" {
				t.Errorf("window %q, want whole", f.Window)
			}
		})
	}
}

// TestWide: an interval that contains 0 and a loss of interest is unclear, and
// says what would settle it.
func TestWide(t *testing.T) {
	b := newBuilder(2)
	b.Step(model.Serial, 1, b.Reported(0, 0, 10, 100))
	b.Step(model.Serial, 1, b.Reported(1, 0, 10, 101))
	b.Step(model.Parallel, 1, b.Reported(0, 0, 10, 99), b.Reported(1, 0, 10, 103))
	f := one(t, b.Data, quick)
	if f.Verdict != Unclear {
		t.Errorf("verdict %s, want unclear", f.Verdict)
	}
	wantWarning(t, f,
		"unclear: a loss of up to 19.7 % cannot be excluded, nor that there is none; 3 or more trials would tell for these nodes")
	wantWarning(t, f, "only 2 nodes")
	wide := quick
	wide.Tolerance = 30
	if f := one(t, b.Data, wide); f.Verdict != None {
		t.Errorf("with a tolerance of 30 points: verdict %s, want none", f.Verdict)
	}

	last(b).Samples[0].Value = 20
	f = one(t, b.Data, quick)
	if f.Verdict != Unknown {
		t.Errorf("verdict of an interval that holds a total loss: %s, want unknown", f.Verdict)
	}
}

// TestNothingVanishes: a workload without a phase, a result or a second node
// still has a finding that says so.
func TestNothingVanishes(t *testing.T) {
	onlySerial := newBuilder(2)
	onlySerial.Step(model.Serial, 1, onlySerial.Reported(0, 0, 1, 5))
	onlyParallel := newBuilder(2)
	onlyParallel.Step(model.Parallel, 1, onlyParallel.Reported(0, 0, 1, 5), onlyParallel.Reported(1, 0, 1, 7))
	failed := plain(2, 1)
	for i := range failed.Data.Steps {
		failed.Data.Steps[i].State = model.StepInvalid
	}
	single := newBuilder(1)
	single.Step(model.Serial, 1, single.Reported(0, 0, 1, 5))
	single.Step(model.Parallel, 1, single.Reported(0, 0, 1, 4))
	for _, c := range []struct {
		name string
		data model.RunData
		text string
		cdi  bool
	}{
		{"only serial", onlySerial.Data, "there are no parallel values", false},
		{"only parallel", onlyParallel.Data, "there are no serial values", false},
		{"nothing valid", failed.Data, "no valid result reported a metric", false},
		{"one node", single.Data, "one node in 1 trial has no interval", true},
	} {
		f := one(t, c.data, quick)
		wantWarning(t, f, c.text)
		if f.Verdict != Unknown || f.CI != nil || (f.CDI != nil) != c.cdi {
			t.Errorf("%s: verdict %s, interval %v, CDI %v, want unknown, none, present %v", c.name, f.Verdict, f.CI, f.CDI, c.cdi)
		}
	}
	if _, err := Findings(observe.Of(model.RunData{}), quick); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Findings of a run without phases: %v, want ErrUsage", err)
	}
}

// equalRatios is a run in which every node keeps exactly 80 %.
func equalRatios() model.RunData {
	b := newBuilder(2)
	b.Step(model.Serial, 1, b.Reported(0, 0, 1, 100))
	b.Step(model.Serial, 1, b.Reported(1, 0, 1, 100))
	b.Step(model.Parallel, 1, b.Reported(0, 0, 1, 80), b.Reported(1, 0, 1, 80))
	return b.Data
}

// TestDifferentFleets: trials on different nodes have no common n.
func TestDifferentFleets(t *testing.T) {
	b := plain(2, .5)
	b.Step(model.Serial, 2, b.Reported(0, 0, 10, 100))
	b.Step(model.Serial, 2, b.Reported(2, 0, 10, 101))
	b.Step(model.Parallel, 2, b.Reported(0, 0, 10, 50), b.Reported(2, 0, 10, 51))
	f := one(t, b.Data, quick)
	wantWarning(t, f, "the parallel trials ran on different nodes (n00, n01 and n00, n02)")
	if f.Verdict != Unknown {
		t.Errorf("verdict %s, want unknown", f.Verdict)
	}
}

// TestIntervalsDisagree: with few nodes the bootstrap is bolder than Fieller's
// interval, which the verdict follows where there is one trial.
func TestIntervalsDisagree(t *testing.T) {
	b := newBuilder(4)
	for i, v := range []float64{100, 101, 99, 100} {
		b.Step(model.Serial, 1, b.Reported(i, 0, 10, v))
	}
	b.Step(model.Parallel, 1, b.Reported(0, 0, 10, 99), b.Reported(1, 0, 10, 92), b.Reported(2, 0, 10, 98), b.Reported(3, 0, 10, 93))
	f := one(t, b.Data, quick)
	if f.Verdict != Unclear || f.BCa == nil || f.BCa[0] <= 0 || *f.CI != *f.CINodes {
		t.Errorf("verdict %s, bootstrap %v, interval %v, want unclear, a bootstrap above 0, and Fieller's interval %v", f.Verdict, f.BCa, f.CI, f.CINodes)
	}
}

// TestSeed: the bootstrap follows the run's seed unless another is given.
func TestSeed(t *testing.T) {
	b := plain(6, .5)
	first := one(t, b.Data, quick)
	same := one(t, b.Data, Options{Resamples: 200, Seed: 7})
	other := one(t, b.Data, Options{Resamples: 200, Seed: 8})
	if *first.BCa != *same.BCa || *first.BCa == *other.BCa {
		t.Errorf("bootstrap %v by the run's seed 7, %v by 7, %v by 8, want the first two equal and the last not", *first.BCa, *same.BCa, *other.BCa)
	}
}

// TestNothingScatters: where nothing scatters, the interval is what the instrument
// resolves. Only a loss that was copied into all rows of a file says nothing.
func TestNothingScatters(t *testing.T) {
	steady := func(nodes, trials int, serial, parallel float64) model.RunData {
		b := newBuilder(nodes)
		for trial := 1; trial <= trials; trial++ {
			for i := range nodes {
				b.Step(model.Serial, trial, b.Reported(i, 0, 10, serial))
			}
			var rs []model.Result
			for i := range nodes {
				rs = append(rs, b.Reported(i, 0, 10, parallel))
			}
			b.Step(model.Parallel, trial, rs...)
		}
		return b.Data
	}
	for _, c := range []struct {
		name    string
		data    model.RunData
		verdict Verdict
		cdi     float64
	}{
		{"a volume at its rate", steady(6, 1, 117, 117), None, 0},
		{"with three trials", steady(6, 3, 117, 117), None, 0},
		{"one node, two trials", steady(1, 2, 190.5, 190.5), None, 0},
		{"half of a limit", steady(4, 3, 100, 50), Degraded, 50},
		{"unequal nodes that keep the same share", equalRatios(), Degraded, 20},
	} {
		f := one(t, c.data, quick)
		wantWarning(t, f, "nothing scatters")
		if f.Verdict != c.verdict || f.CI == nil || f.CI[0] > c.cdi || f.CI[1] < c.cdi || f.CI[1]-f.CI[0] > 2 {
			t.Errorf("%s: %s, interval %v, %q, want %s with %v in 2 points at most", c.name, f.Verdict, f.CI,
				texts(f.Doubts), c.verdict, c.cdi)
		}
	}
	for _, c := range []struct {
		name, rows string
		verdict    Verdict
	}{
		{"a volume at its rate", "a,117.0,117.0\nb,117.0,117.0\nc,117.0,117.0\n", None},
		{"nodes that lose nothing", "a,117.2,117.2\nb,98.1,98.1\nc,105.3,105.3\n", None},
		{"a share of each", "a,100.0,80.0\nb,50.0,40.0\nc,75.0,60.0\n", Degraded},
		{"a mean in every row", "a,100,90\nb,100,90\nc,100,90\n", Unknown},
	} {
		fs, err := Import(t.Context(), "t.csv", strings.NewReader("node,serial,parallel\n"+c.rows), quick)
		if err != nil {
			t.Fatal(err)
		}
		if fs[0].Verdict != c.verdict {
			t.Errorf("%s: %s, %v, %q, want %s", c.name, fs[0].Verdict, fs[0].CI, texts(fs[0].Doubts), c.verdict)
		}
	}
}

// TestConstantTrials: equal rows of several trials are no copies. What their digits
// resolve gives the interval.
func TestConstantTrials(t *testing.T) {
	for _, c := range []struct {
		nodes, trials    int
		serial, parallel string
		lo, hi           float64
	}{
		{5, 3, "88.5", "44.2", 49.5, 50.6},
		{2, 2, "12", "9", 19, 31},
		{1, 3, "88.5", "44.2", 49.5, 50.6},
		{12, 5, "1000.25", "800.125", 19.5, 20.5},
	} {
		rows := "node,phase,value,trial\n"
		for node := range c.nodes {
			for trial := range c.trials {
				rows += fmt.Sprintf("n%d,serial,%s,%d\nn%d,parallel,%s,%d\n", node, c.serial, trial+1, node, c.parallel, trial+1)
			}
		}
		fs, err := Import(t.Context(), "t.csv", strings.NewReader(rows), quick)
		if err != nil {
			t.Fatal(err)
		}
		f := fs[0]
		wantWarning(t, f, "nothing scatters")
		if f.Verdict != Degraded || f.CI == nil || f.CI[0] < c.lo || f.CI[1] > c.hi || f.CI[0] == f.CI[1] {
			t.Errorf("%d nodes, %d trials of %s and %s: %s, %v, %q", c.nodes, c.trials, c.serial, c.parallel,
				f.Verdict, f.CI, texts(f.Doubts))
		}
	}
}

// TestWarningsOfWorkloads: what is said alike of two workloads is told of both; what is said
// alike of two metrics is told once, with links to both.
func TestWarningsOfWorkloads(t *testing.T) {
	of := func(workload, metric string, all ...caveat.Caveat) Finding {
		f := Finding{Workload: workload, Metric: metric, Doubts: all}
		Caveats.Fill(caveat.Subject{Workload: workload}, f.Doubts)
		return f
	}
	errors := func(workload string) caveat.Caveat {
		return failedAttempts.At(model.Warning, caveat.Subject{Workload: workload}, attempts{"refused", 3, 0})
	}
	little := func(most float64) caveat.Caveat {
		return unclear.Warn(undecided{Of: OfNodes, Most: most, Resolved: true})
	}
	findings := []Finding{of("v", "rate", errors("v"), little(18.7001)), of("w", "rate", errors("w"), little(18.7002))}
	got := Warnings(findings, nil, func(i int) string { return fmt.Sprintf("#f%d", i) }, nil)
	var said []string
	for _, w := range got {
		said = append(said, fmt.Sprint(len(w.Links), " ", strings.Fields(w.Text)[0]))
	}
	if diff := cmp.Diff([]string{"1 v", "2 unclear:", "1 w"}, said); diff != "" {
		t.Errorf("links and beginnings of warnings (-want +got):\n%s", diff)
	}
}
