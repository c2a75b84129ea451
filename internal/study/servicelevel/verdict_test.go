package servicelevel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
)

// TestVerdicts: volumes with random limits that keep the model, or give less or more.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 1))
	for k := range 12 {
		ops, bytes := 100+rng.Float64()*4000, (10+rng.Float64()*300)*(1<<20)
		times := []float64{1, .8, 1.2}[k%3]
		want := []Verdict{Holds, Lower, Higher}[k%3]
		w := newWorld(1, 5, map[string]volume{"": {ops: times * ops, bytes: times * bytes, latency: .0005, noise: .004}})
		w.seed = uint64(k)
		p := params(ops, bytes)
		w.run(t, p)
		r, _ := w.result(t, p)
		if len(r.Cells) != 9 || len(r.Doubts) > 0 {
			t.Errorf("%d cells, caveats %v", len(r.Cells), r.Doubts)
		}
		for _, c := range r.Cells {
			if truth := times * min(ops/math.Ceil(float64(c.Size)/(256<<10)),
				bytes/float64(c.Size)); math.Abs(c.Ops.Mean/truth-1) > .02 || math.Abs(c.Ops.Seconds.Five[2]/truth-1) > .02 {
				t.Errorf("%s: %.5g ops/s, in seconds %.5g; want %.5g", c.name(), c.Ops.Mean, c.Ops.Seconds.Five[2], truth)
			}
			if c.Verdict != want || !c.Saturated || len(c.Ops.Repetitions) != 5 {
				t.Errorf("%s at %g times its model: %s, saturated %v, %d repetitions; want %s", c.name(), times, c.Verdict,
					c.Saturated, len(c.Ops.Repetitions), want)
			}
		}
	}
}

// TestWays: where reads and writes have limits of their own, a mix has two verdicts.
func TestWays(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 5, map[string]volume{"": {ops: 300, bytes: 60 << 20, apart: true, latency: .0005, noise: .004}})
	p := params(1, 1)
	p.Reads = New().Reads
	p.ModelFile = "model: own\nlimits:\n- {of: ops, ways: each, unit: 256KiB, rate: 300}\n- {of: bytes, ways: each, " +
		"rate: 60MiB/s}\n"
	w.run(t, p)
	r, _ := w.result(t, p)
	for _, c := range r.Cells {
		var ways []string
		for _, x := range c.Compared {
			ways = append(ways, x.Way)
		}
		want := map[int][]string{100: {""}, 75: {"read"}, 50: {"read", "write"}, 25: {"write"}, 0: {""}}[c.Reads]
		if !cmp.Equal(ways, want) || c.Verdict != Holds {
			t.Errorf("%s: ways %q, %s", c.name(), ways, c.Verdict)
		}
	}
}

// TestFewInFlight: with one operation in flight the latency may bind. Nothing is said
// against the limit, but a limit that was reached was reached.
func TestFewInFlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		depth   int
		latency float64
		want    Verdict
		code    string
	}{{1, .01, Unknown, "latency"}, {2, .01, Unknown, "not_saturated"}, {1, .0001, Holds, ""}, {0, .01, Holds, ""}, {0,
		10, Unknown, "not_saturated"}} {
		w := newWorld(1, 5, map[string]volume{"": {ops: 300, bytes: 1 << 30, latency: c.latency, noise: .002}})
		p := params(300, 1<<30)
		p.Depth, p.Sizes = c.depth, []unit.Size{4 * unit.KiB}
		w.run(t, p)
		r, _ := w.result(t, p)
		code := ""
		if len(r.Doubts) > 0 {
			code = string(r.Doubts[0].Code)
		}
		if r.Cells[0].Verdict != c.want || code != c.code {
			t.Errorf("depth %d, latency %g s: %s with %q, want %s with %q", c.depth, c.latency, r.Cells[0].Verdict, code,
				c.want, c.code)
		}
	}
}

// TestErrorRate: of many families of comparisons, whatever their truths, at most 5 % have a
// verdict that is wrong, and those that are far from the bounds get theirs.
func TestErrorRate(t *testing.T) {
	t.Parallel()
	const families, of = 1500, 20
	bounds := stats.Interval{Lo: math.Log(.95), Hi: math.Log(1.05)}
	truths := []float64{0, bounds.Lo, bounds.Hi, -.2, 1e-9}
	rng := rand.New(rand.NewPCG(5, 1))
	wrong, told := 0, 0
	for range families {
		var all []*Comparison
		var truth []float64
		for k := range of {
			x := &Comparison{}
			mean := truths[k%len(truths)]
			for range 5 {
				x.logs = append(x.logs, mean+.01*rng.NormFloat64())
			}
			all, truth = append(all, x), append(truth, mean)
		}
		judge(all, bounds, .95)
		bad := false
		for k, x := range all {
			m := truth[k]
			bad = bad || x.Verdict == Holds && (m <= bounds.Lo || m >= bounds.Hi) || x.Verdict == Lower && m >= 0 ||
				x.Verdict == Higher && m <= 0
			if m == -.2 && x.Verdict == Lower {
				told++
			}
		}
		if bad {
			wrong++
		}
	}
	t.Logf("%d of %d families have a wrong verdict", wrong, families)
	if limit := .05*families + 3*math.Sqrt(.05*.95*families); float64(wrong) > limit {
		t.Errorf("%d of %d families have a wrong verdict, want at most %.0f", wrong, families, limit)
	}
	if told < families*of/len(truths)*9/10 {
		t.Errorf("%d of %d comparisons at 82 %% are lower", told, families*of/len(truths))
	}
}

// TestIntervalsAgree: the interval that is shown says what the verdict says.
func TestIntervalsAgree(t *testing.T) {
	t.Parallel()
	bounds := stats.Interval{Lo: math.Log(.95), Hi: math.Log(1.05)}
	rng := rand.New(rand.NewPCG(6, 1))
	for range 500 {
		var all []*Comparison
		for range 1 + rng.IntN(30) {
			x, mean := &Comparison{}, .1*rng.NormFloat64()
			for range 2 + rng.IntN(6) {
				x.logs = append(x.logs, mean+.02*rng.NormFloat64())
			}
			all = append(all, x)
		}
		judge(all, bounds, .95)
		for _, x := range all {
			lo, hi := math.Log(x.CI.Lo), math.Log(x.CI.Hi)
			inside, apart := lo >= bounds.Lo && hi <= bounds.Hi, lo > 0 || hi < 0
			if told := *x.P <= .05; told != (inside || apart) {
				t.Fatalf("p %v, interval %v, verdict %s", *x.P, *x.CI, x.Verdict)
			}
		}
	}
}

// TestOneRepetition has no interval, and says so.
func TestOneRepetition(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1, map[string]volume{"": fast})
	p := params(300, 60<<20)
	w.run(t, p)
	r, _ := w.result(t, p)
	if r.Cells[0].Verdict != Unclear || len(r.Doubts) != 1 || r.Doubts[0].Code != "no_interval" {
		t.Errorf("%s, caveats %v", r.Cells[0].Verdict, r.Doubts)
	}
}

// TestGate: lower is 3, unclear is 4.
func TestGate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ops    float64
		trials int
		want   error
	}{"holds": {300, 5, nil}, "lower": {400, 5, model.ErrThreshold}, "higher": {200, 5, model.ErrThreshold},
		"one repetition": {300, 1, model.ErrInvalid}} {
		w := newWorld(1, c.trials, map[string]volume{"": fast})
		p := params(c.ops, 60<<20)
		p.Sizes, p.FailUnlessHolds = []unit.Size{4 * unit.KiB}, true
		w.run(t, p)
		if _, answer := w.result(t, p); !errors.Is(answer.Gate, c.want) || c.want == nil && answer.Gate != nil {
			t.Errorf("%s: gate %v, want %v", name, answer.Gate, c.want)
		}
	}
}

// TestModel: the measured cells are a model that is read back.
func TestModel(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 3, map[string]volume{"data": fast})
	p := params(300, 60<<20)
	p.Volumes = []string{"data"}
	w.run(t, p)
	r, answer := w.result(t, p)
	text, err := r.Model("own", "data", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	m, err := levels.Parse("own.yaml", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	l, err := m.Levels(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.At(64<<10, .5).Ops; math.Abs(got/300-1) > .01 {
		t.Errorf("64 KiB: %g ops/s, want 300", got)
	}
	if _, err := r.Model("own", "log", time.Now()); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a volume that was not measured: %v", err)
	}
	d := answer.Document()
	if !strings.Contains(d.Answer, "18 of 18 cells") || d.Figure() == nil || len(d.Table().Rows) != 18 {
		t.Errorf("document: %q, %d rows", d.Answer, len(d.Table().Rows))
	}
}

// TestPerSecond: the rates of whole seconds, from readings at any times.
func TestPerSecond(t *testing.T) {
	t.Parallel()
	s := model.Series{Offsets: []int64{1e9, 1.5e9, 2.25e9, 3e9, 3.2e9}, Values: []float64{0, 50, 125, 275, 999}}
	if got := perSecond(s); !slices.Equal(got, []float64{100, 175}) {
		t.Errorf("%v", got)
	}
	if got := perSecond(model.Series{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestCheck: what stands wrong has its place.
func TestCheck(t *testing.T) {
	t.Parallel()
	p := New()
	p.Models = []Expectation{{Model: "aws-gp2", Inputs: map[string]any{"gib": 100.0}}, {Model: "aws-gp2",
		Inputs: map[string]any{"gibs": 100.0}}, {Model: "no-such"}}
	_, err := p.Check()
	var paths []string
	for _, one := range model.Single(err) {
		if bad, ok := errors.AsType[*model.InputError](one); ok {
			paths = append(paths, bad.Path)
		}
	}
	if len(paths) < 3 || !strings.HasPrefix(paths[0], "models.1.inputs") || paths[len(paths)-1] != "models.2.model" {
		t.Errorf("paths %q of %v", paths, err)
	}
	if got := fmt.Sprint(inputs(map[string]any{"iops": 160000.0, "tier": "P10",
		"gib": 1.5})); got != "map[gib:1.5 iops:160000 tier:P10]" {
		t.Errorf("inputs are %s", got)
	}
}
