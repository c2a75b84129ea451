package evaluation

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// quick is for tests that do not look at the bootstrap.
var quick = Options{Resamples: 200}

// one returns the only finding.
func one(t *testing.T, data model.RunData, opt Options) Finding {
	t.Helper()
	fs, err := Findings(observe.Of(data), opt)
	if err != nil {
		t.Fatalf("CDI: %v", err)
	}
	if len(fs) != 1 {
		t.Fatalf("CDI gave %d findings, want 1", len(fs))
	}
	return fs[0]
}

// texts are the texts of caveats.
func texts(all caveat.List) []string {
	all = slices.Clone(all)
	slices.Concat(Caveats, observe.Caveats).Fill(caveat.Subject{}, all)
	var out []string
	for _, text := range all.Texts() {
		out = append(out, string(text))
	}
	return out
}

// warned reports whether some warning contains the text.
func warned(f Finding, text string) bool {
	return slices.ContainsFunc(texts(f.Doubts), func(w string) bool { return strings.Contains(w, text) })
}

func wantWarning(t *testing.T, f Finding, text string) {
	t.Helper()
	if !warned(f, text) {
		t.Errorf("no warning contains %q:\n%s", text, strings.Join(texts(f.Doubts), "\n"))
	}
}

func wantValue(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %v", what, want)
	} else if !(math.Abs(*got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

// TestCommonWindowTruth: four nodes share 200 op/s, start up to 2 s late and
// have unequal work. While all are active each gets 50 op/s; the early
// finishers leave more to the rest, which must not count.
func TestCommonWindowTruth(t *testing.T) {
	solo := []float64{98, 100, 102, 104} // mean 101
	starts := []float64{0, .4, 1.1, 2}
	work := []float64{700, 1500, 1100, 2000}
	b := newBuilder(4)
	jobs := make([]job, 4)
	for i := range jobs {
		jobs[i] = job{starts[i], work[i], solo[i]}
		b.Step(model.Serial, 1, result(b, i, constant(0, solo[i]), 1, .3))
	}
	lines := shared(jobs, 200)
	rs := make([]model.Result, 4)
	for i, l := range lines {
		rs[i] = result(b, i, l, .9, .25+.1*float64(i))
	}
	b.Step(model.Parallel, 1, rs...)
	f := one(t, b.Data, quick)

	wantValue(t, "CDI", f.CDI, 100*(1-50/101.), 1e-6)
	if f.Window != "common" || f.Unit != "op/s" || f.Nodes != 4 {
		t.Errorf("window %q, unit %q, %d nodes, want common, op/s, 4", f.Window, f.Unit, f.Nodes)
	}
	for _, p := range f.Pairs {
		if math.Abs(p.Parallel-50) > 1e-6 {
			t.Errorf("node %s: parallel %v, want 50", p.Node, p.Parallel)
		}
	}
	firstEnd, lastEnd := lines[0].end(), lines[3].end()
	for _, l := range lines {
		firstEnd, lastEnd = min(firstEnd, l.end()), max(lastEnd, l.end())
	}
	wantValue(t, "overlap", f.Overlap, (firstEnd-2)/lastEnd, 1e-6)
	wantValue(t, "start skew", f.StartSkewMS, 2000, 1e-6)
	wantValue(t, "end spread", f.EndSpreadMS, 1000*(lastEnd-firstEnd), 1e-3)
	if f.CDIWhole == nil || *f.CDIWhole > *f.CDI-3 {
		t.Errorf("CDI on whole tasks = %v, want well below %v: the late part was uncontended", f.CDIWhole, *f.CDI)
	}
	wantWarning(t, f, "nodes that finished early")
}

// TestStartUpDoesNotCount: workloads that need time before they work, in both
// phases or in one, are scored by the time in which they work.
func TestStartUpDoesNotCount(t *testing.T) {
	late := func(start, idle, rate float64) polyline {
		return polyline{[]float64{start, start + idle, start + idle + 10}, []float64{0, 0, 10 * rate}}
	}
	b := newBuilder(2)
	b.Step(model.Serial, 1, result(b, 0, late(0, 1.7, 100), .5, 0))
	b.Step(model.Serial, 1, result(b, 1, late(0, .2, 104), .5, 0))
	b.Step(model.Parallel, 1, result(b, 0, late(0, .3, 50), .5, 0), result(b, 1, late(0, 1.1, 52), .5, 0))
	f := one(t, b.Data, quick)
	wantValue(t, "CDI", f.CDI, 50, 1e-6)
	if f.Window != "common" {
		t.Errorf("window %q, want common", f.Window)
	}
}

// TestKnownTruths: with noise of 1 to 2 % a fleet without contention is not
// called degraded, and one that loses three quarters is.
func TestKnownTruths(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  int
		spread float64 // of the nodes' speeds
		kept   float64
		noise  float64
		want   Verdict
		atmost float64 // points between CDI and truth
	}{
		{"2 nodes, no contention", 2, .01, 1, .015, None, 5},
		{"4 nodes, three quarters lost", 4, .1, .25, .02, Degraded, 2},
		{"4 nodes, no contention", 4, .1, 1, .015, None, 5},
		{"20 nodes, a tenth lost", 20, .1, .9, .02, Degraded, 2},
		{"20 nodes, a tenth gained", 20, .1, 1.1, .02, Gain, 2},
	} {
		const runs = 40
		right, wrong := 0, 0
		for seed := range uint64(runs) {
			f := one(t, noisyRun(rand.New(rand.NewPCG(seed, 2)), c.nodes, 3, c.spread, c.kept, c.noise), quick)
			wantValue(t, c.name+": CDI", f.CDI, 100*(1-c.kept), c.atmost)
			switch f.Verdict {
			case c.want:
				right++
			case Unclear, Unknown:
			default:
				wrong++
			}
		}
		// At level 0.95 one run in twenty may err where the truth is "none".
		if right < runs-6 || wrong > 4 {
			t.Errorf("%s: of %d runs %d have the verdict %s and %d another that is clear, want at least %d and at most 4", c.name, runs, right, c.want, wrong, runs-6)
		}
	}
}

// TestIntervalHoldsTruth: over 200 simulated runs with noise of known size,
// the interval that carries the verdict holds the truth in 93 to 98 %: one that
// has to find out whether trials differ is a little wide where they do not.
func TestIntervalHoldsTruth(t *testing.T) {
	const runs = 200
	for _, c := range []struct {
		nodes, trials int
		kept          float64
	}{{4, 3, .25}, {8, 2, .8}, {20, 1, 1}} {
		held := 0
		for seed := range uint64(runs) {
			f := one(t, noisyRun(rand.New(rand.NewPCG(seed, 1)), c.nodes, c.trials, .1, c.kept, .02), Options{Resamples: 100})
			if f.CI != nil && f.CI.Contains(100*(1-c.kept)) {
				held++
			}
		}
		t.Logf("%d nodes, %d trials: %.1f %%", c.nodes, c.trials, 100*float64(held)/runs)
		if share := float64(held) / runs; share < .93 || share > .98 {
			t.Errorf("%d nodes: the interval held the truth in %.3f of %d runs, want 0.93 to 0.98", c.nodes, share, runs)
		}
	}
}

// TestProperties: the unit of measurement and the names and order of nodes
// change nothing, and CDI = 100·(1 − E).
func TestProperties(t *testing.T) {
	base := noisyRun(rand.New(rand.NewPCG(3, 3)), 7, 2, .1, .7, .03)
	want := one(t, base, quick)
	wantValue(t, "CDI by equation 9", want.CDI, 100*(1-*want.Parallel.Total/(float64(want.Nodes)**want.Serial.Mean)), 1e-12)

	scaled := noisyRun(rand.New(rand.NewPCG(3, 3)), 7, 2, .1, .7, .03)
	for _, r := range scaled.Results {
		r.Samples[0].Value *= 4096
		for i := range r.Series[0].Values {
			r.Series[0].Values[i] *= 4096
		}
	}
	got := one(t, scaled, quick)
	wantValue(t, "CDI scaled", got.CDI, *want.CDI, 1e-9)
	wantValue(t, "interval scaled", &got.CI[0], want.CI[0], 1e-9)
	wantValue(t, "bootstrap scaled", &got.BCa[1], want.BCa[1], 1e-9)

	permuted := noisyRun(rand.New(rand.NewPCG(3, 3)), 7, 2, .1, .7, .03)
	slices.Reverse(permuted.Results)
	slices.Reverse(permuted.Nodes)
	slices.Reverse(permuted.Steps)
	if diff := cmp.Diff(want, one(t, permuted, quick)); diff != "" {
		t.Errorf("another order of results, nodes and steps (-want +got):\n%s", diff)
	}

	renamed := noisyRun(rand.New(rand.NewPCG(3, 3)), 7, 2, .1, .7, .03)
	rename := func(id model.NodeID) model.NodeID { return nodeName(int('9' - id[2])) }
	for i := range renamed.Results {
		renamed.Results[i].Node = rename(renamed.Results[i].Node)
	}
	for i := range renamed.Nodes {
		renamed.Nodes[i].ID = rename(renamed.Nodes[i].ID)
	}
	for _, s := range renamed.Steps {
		for i := range s.Tasks {
			s.Tasks[i].Node = rename(s.Tasks[i].Node)
		}
	}
	got = one(t, renamed, quick)
	wantValue(t, "CDI of permuted nodes", got.CDI, *want.CDI, 1e-9)
	wantValue(t, "interval of permuted nodes", &got.CI[1], want.CI[1], 1e-9)
}

// TestCounterAgainstSample: two answers of one workload that differ are told,
// in the same unit and in different ones.
func TestCounterAgainstSample(t *testing.T) {
	for _, c := range []struct{ unit, text string }{
		{"op/s", "node n00 reported rate = 50 op/s but its progress counter says 100 op/s, 50 % off"},
		{"kop/s", "node n00 reported rate = 50 kop/s but its progress counter says 100 op/s, 50 % off"},
	} {
		b := newBuilder(2)
		b.Step(model.Serial, 1, result(b, 0, constant(0, 100), 1, 0))
		b.Step(model.Serial, 1, result(b, 1, constant(0, 103), 1, 0))
		b.Step(model.Parallel, 1, result(b, 0, constant(0, 50), 1, 0), result(b, 1, constant(0, 54), 1, 0))
		for i := range b.Data.Results {
			b.Data.Results[i].Samples[0].Unit = c.unit
		}
		f := one(t, b.Data, quick)
		if warned(f, "progress counter says") {
			t.Errorf("%s: sample and counter agree, and yet: %q", c.unit, texts(f.Doubts))
		}
		b.Data.Results[0].Samples[0].Value = 50
		f = one(t, b.Data, quick)
		wantWarning(t, f, c.text)
		if f.Unit != "op/s" {
			t.Errorf("%s: unit %q, want op/s, that of the counter", c.unit, f.Unit)
		}
	}
}

// TestReciprocal: of a duration, 1/value is the capacity.
func TestReciprocal(t *testing.T) {
	b := plain(6, 1)
	for i := range b.Data.Results {
		s := &b.Data.Results[i].Samples[0]
		s.Metric, s.Unit, s.Better = "elapsed", "s", model.Lower
		s.Value = 10 + .1*float64(i%4)
		if i >= 6 {
			s.Value *= 2
		}
	}
	f := one(t, b.Data, quick)
	if !f.Reciprocal || f.Unit != "1/s" || f.Verdict != Degraded {
		t.Errorf("reciprocal %v, unit %q, verdict %s, want true, 1/s, degraded", f.Reciprocal, f.Unit, f.Verdict)
	}
	wantValue(t, "CDI", f.CDI, 50, 1)
}

// TestRepetitions: the index of each trial, and a warning when trials differ
// more than nodes can explain.
func TestRepetitions(t *testing.T) {
	steady := one(t, noisyRun(rand.New(rand.NewPCG(5, 5)), 10, 3, .1, .8, .01), quick)
	if len(steady.CDITrials) != 3 || warned(steady, "trials differ") || warned(steady, "one parallel trial") {
		t.Errorf("steady run: trials %v, warnings %q, want 3 trials and no warning about them", steady.CDITrials,
			texts(steady.Doubts))
	}
	b := newBuilder(10)
	rng := rand.New(rand.NewPCG(6, 6))
	for trial, kept := range []float64{.9, .6, .75} {
		for i := range 10 {
			b.Step(model.Serial, trial+1, b.Reported(i, 0, 10, 100*(1+.01*rng.NormFloat64())))
		}
		rs := make([]model.Result, 10)
		for i := range rs {
			rs[i] = b.Reported(i, 0, 10, 100*kept*(1+.01*rng.NormFloat64()))
		}
		b.Step(model.Parallel, trial+1, rs...)
	}
	f := one(t, b.Data, quick)
	wantWarning(t, f, "trials differ more than what happens within them explains (CDI from")
	for i, want := range []float64{10, 40, 25} {
		wantValue(t, "CDI of a trial", &f.CDITrials[i], want, 2)
	}
}

// TestOrder: findings come in the order of the steps and of the samples.
func TestOrder(t *testing.T) {
	b := plain(3, .5)
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		s := r.Samples[0]
		s.Labels = map[string]string{"test": "pipe", "copies": "2"}
		r.Samples = append(r.Samples, s)
	}
	other := plain(3, .5)
	for _, s := range other.Data.Steps {
		old := s.ID
		s.Number += 100
		s.ID, s.Workload = model.NewStepID(s.Run, s.Number), "more"
		b.Data.Steps = append(b.Data.Steps, s)
		for _, r := range other.Data.Results {
			if r.Step == old {
				r.Step = s.ID
				b.Data.Results = append(b.Data.Results, r)
			}
		}
	}
	fs, err := Findings(observe.Of(b.Data), quick)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fs {
		got = append(got, f.Workload+" "+f.Metric)
	}
	if diff := cmp.Diff([]string{"work rate", "work rate{copies=2,test=pipe}", "more rate"}, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestCounterOfASlowStart: a value that counts from the start agrees with a
// counter whose first moments were lucky or not, as where nodes share a
// processor: the two are about different times.
func TestCounterOfASlowStart(t *testing.T) {
	b := newBuilder(2)
	slow := func(i int) model.Result { // half of the work is in the first second of four
		return result(b, i, polyline{[]float64{0, 1, 4}, []float64{0, 200, 400}}, .5, 0)
	}
	b.Step(model.Serial, 1, slow(0))
	b.Step(model.Serial, 1, slow(1))
	b.Step(model.Parallel, 1, slow(0), slow(1))
	for i := range b.Data.Results {
		b.Data.Results[i].Samples[0].Value = 100
	}
	if f := one(t, b.Data, quick); code(f, "counter_disagrees") != nil {
		t.Errorf("the counter agrees since its start, and yet: %q", texts(f.Doubts))
	}
}
