package variability

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// table is a frame in the making: rows with their facts.
type table struct {
	f     frame.Frame
	names []string
	facts []*frame.Column
}

func newTable(names ...string) *table {
	t := &table{f: frame.Frame{Key: frame.Key{Workload: "w", Metric: "score"}, Unit: "points", Better: model.Higher}, names: names}
	for _, name := range names {
		t.facts = append(t.facts, frame.NewFact(name))
	}
	return t
}

// add appends a row, half an hour after the last.
func (t *table) add(value float64, levels ...string) {
	t.at(value, int64(len(t.f.Values))*int64(30*time.Minute), levels...)
}

func (t *table) at(value float64, at int64, levels ...string) {
	t.f.Values, t.f.Times = append(t.f.Values, value), append(t.f.Times, at)
	for i, level := range levels {
		t.facts[i].Append(level)
	}
}

func (t *table) frame() frame.Frame {
	f := t.f
	for _, c := range t.facts {
		f.Facts = append(f.Facts, c.Fact())
	}
	return f
}

func ask(t *testing.T, p *Params, frames ...frame.Frame) *Result {
	t.Helper()
	r, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "here", Frames: frames}})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
}

func noise(n int, mean, sd float64) *table {
	rng, t := rand.New(rand.NewPCG(7, 7)), newTable()
	for range n {
		t.add(mean + sd*rng.NormFloat64())
	}
	return t
}

func codes(doubts []model.Doubt) []string {
	var out []string
	for _, d := range doubts {
		out = append(out, d.Code)
	}
	return out
}

// TestTwoBands: COV = √(p(1−p))·(1−r)/(1−p(1−r)) for a share p at r of the level
// (methods.md); the paper's shares and levels.
func TestTwoBands(t *testing.T) {
	for _, c := range []struct{ p, r, want float64 }{{0.22, 0.5, 0.2327}, {0.17, 0.5, 0.2053}, {0.5, 0.4815, 0.350}} {
		tab := newTable("cpu")
		for i := range 10_000 {
			v, cpu := 100.0, "Xeon"
			if i*7919%10_000 < int(c.p*10_000+0.5) {
				v, cpu = 100*c.r, "Opteron"
			}
			tab.add(v, cpu)
		}
		p := New()
		p.Cutoffs = []float64{100}
		m := ask(t, p, tab.frame()).Metrics[0]
		if math.Abs(*m.COV-c.want) > 0.0001 {
			t.Errorf("COV of %v at %v = %.4f, want %.4f", c.p, c.r, *m.COV, c.want)
		}
		// Strictly below, as in Table 2: what equals the cutoff is above it.
		if cut := m.Cutoffs[0]; math.Abs(cut.Lower.Share-c.p) > 1e-9 || cut.By == nil || cut.By.Fact != "cpu" || cut.By.V < 0.999 || cut.By.Levels[0].Level != "Opteron" {
			t.Errorf("cutoff of %v at %v = %+v by %+v", c.p, c.r, cut.Lower, cut.By)
		}
	}
}

// TestLittle: what cannot be computed is said, and nothing is refused that can be.
func TestLittle(t *testing.T) {
	values := func(vs ...float64) frame.Frame {
		tab := newTable()
		for _, v := range vs {
			tab.add(v)
		}
		return tab.frame()
	}
	for _, c := range []struct {
		name    string
		f       frame.Frame
		verdict Verdict
		code    string
		within  string // the answer
	}{
		{"one", values(3), Unknown, "too_few_values", "1 value cannot be described"},
		{"two", values(3, 4), Unknown, "too_few_values", "2 values"},
		{"none", values(), Unknown, "no_values", "no value"},
		{"constant", values(5, 5, 5, 5, 5, 5, 5, 5), Steady, "constant", "is the same in all of 8 values"},
		{"below 0", values(-1, -2, -3, -1, -2, -4, -1), Unknown, "no_cov", "not above 0"},
		{"both signs", values(-1, 20, 30, 10, 20, 40, 10, 12, 19), Varies, "negative", "varies by"},
		{"zeros", values(0, 0, 0, 0, 0, 0, 0), Unknown, "no_cov", "not above 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ask(t, New(), c.f)
			m := r.Metrics[0]
			if m.Verdict != c.verdict || !slices.Contains(codes(m.Doubts), c.code) || !strings.Contains(m.Text, c.within) {
				t.Errorf("verdict %s, doubts %v, %q; want %s, %s, %q", m.Verdict, codes(m.Doubts), m.Text, c.verdict, c.code, c.within)
			}
			everywhere(t, r)
		})
	}
}

// everywhere renders a result in each form: warnings are in all of them.
func everywhere(t *testing.T, r *Result) {
	t.Helper()
	d := r.Document()
	for _, format := range []render.Format{render.FormatText, render.FormatHTML, render.FormatMarkdown, render.FormatJSON, render.FormatCSV} {
		var b bytes.Buffer
		if err := render.Write(&b, d, r, format, render.TextOptions{Width: 100000}); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "+Inf") {
			t.Errorf("%s has a number that is none:\n%s", format, b.String())
		}
		for _, w := range r.Metrics[0].Warnings {
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), w[:min(len(w), 40)]) && format != render.FormatHTML {
				t.Errorf("%s lacks the warning %q", format, w)
			}
		}
	}
}

// TestUnits: what is the same for all rows of a node is tested over nodes.
func TestUnits(t *testing.T) {
	make := func(nodes int, effect float64) frame.Frame {
		rng, tab := rand.New(rand.NewPCG(3, uint64(nodes))), newTable(frame.FactSubject, "cpu")
		level := rand.New(rand.NewPCG(1, 1))
		means := map[int]float64{}
		for n := range nodes {
			means[n] = 100 + 5*level.NormFloat64() + effect*float64(n%2)
		}
		for range 50 {
			for n := range nodes {
				tab.add(means[n]+rng.NormFloat64(), fmt.Sprint("node", n), []string{"Xeon", "Opteron"}[n%2])
			}
		}
		return tab.frame()
	}
	effect := func(f frame.Frame) Effect {
		m := ask(t, New(), f).Metrics[0]
		return m.Facts[slices.IndexFunc(m.Facts, func(e Effect) bool { return e.Fact == "cpu" })]
	}
	if e := effect(make(6, 0)); e.Significant || e.Units != "6 nodes" {
		t.Errorf("six nodes that differ by chance: %+v, want no effect of the processor, over 6 nodes", e)
	}
	if e := effect(make(20, 30)); !e.Significant || e.Units != "20 nodes" {
		t.Errorf("twenty nodes of two processors: %+v, want an effect over 20 nodes", e)
	}
	e := effect(make(2, 30))
	if e.P != nil || e.Significant || !strings.Contains(e.Why, "one node only") {
		t.Errorf("a node of each processor: %+v, want that node and processor cannot be told apart", e)
	}
	m := ask(t, New(), make(2, 30)).Metrics[0]
	if !slices.Contains(codes(m.Doubts), "untested") || m.Subjects == nil || m.Subjects.N != 2 || m.Subjects.ICC < 0.9 {
		t.Errorf("a node of each processor: doubts %v, subjects %+v", codes(m.Doubts), m.Subjects)
	}
}

// TestFewUnits: nodes of which half are slow by chance say nothing of a fact that
// halves them, too, however exactly that fits; it is reported as what it is. Nodes
// that a lab makes anew for each repetition are as many as were made.
func TestFewUnits(t *testing.T) {
	made := func(fleet string, nodes int) Metric {
		rng, tab := rand.New(rand.NewPCG(3, 9)), newTable(frame.FactSubject, frame.FactRepetition, model.LabelFleet, "rack")
		for r := range 11 {
			for n := range nodes {
				tab.add(100-50*float64(n%2)+rng.NormFloat64(), fmt.Sprint("node", n), fmt.Sprint(r), fleet, []string{"a", "b"}[n%2])
			}
		}
		p := New()
		p.Cutoffs = []float64{75}
		return ask(t, p, tab.frame()).Metrics[0]
	}
	rack := func(m Metric) Effect {
		return m.Facts[slices.IndexFunc(m.Facts, func(e Effect) bool { return e.Fact == "rack" })]
	}
	for nodes, p := range map[int]float64{4: 1. / 3, 6: 1. / 10, 8: 1. / 35} {
		m := made("", nodes)
		if e := rack(m); e.P == nil || math.Abs(*e.P-p) > 1e-9 || e.Significant || e.Omega2 < .9 || !strings.Contains(e.Why, "from "+e.Units+" alone") {
			t.Errorf("%d nodes: %+v, want p %.3f, which says nothing, with its omega²", nodes, e, p)
		}
		if by := m.Cutoffs[0].By; by == nil || by.Fact != frame.FactSubject || !strings.Contains(m.Text, "the node explains 99") || !strings.Contains(m.Text, "(or the rack") || !slices.Contains(codes(m.Doubts), "untested") {
			t.Errorf("%d nodes: the cutoff by %+v, %q, %v; want it by the node, and that it may be the rack, which cannot be tested", nodes, m.Cutoffs[0].By, m.Text, codes(m.Doubts))
		}
		if slices.ContainsFunc(m.Advice, func(a Advice) bool { return a.Fact == "rack" }) {
			t.Errorf("%d nodes: advice %+v, want none about the rack", nodes, m.Advice)
		}
	}
	tab := newTable("rack")
	for i, v := range []float64{100, 50, 101, 51, 102, 52} {
		tab.add(v, []string{"a", "b"}[i%2])
	}
	if m := ask(t, New(), tab.frame()).Metrics[0]; !strings.Contains(m.Text, "the rack goes with 9") || len(m.Advice) > 0 && m.Advice[0].Fact == "rack" {
		t.Errorf("six values: %q, %+v; want that the rack goes with them, and no advice", m.Text, m.Advice)
	}
	if e := rack(made("", 12)); !e.Significant {
		t.Errorf("12 nodes: %+v, want that the rack explains: one way in 462 to deal it out does as well", e)
	}
	if e := rack(made(model.FleetLab, 4)); !e.Significant || e.Units != "44 rows" {
		t.Errorf("4 nodes of a lab, made 11 times: %+v, want that the rack explains, over 44", e)
	}
}

// TestConfounded: two facts that tell the same are both named, and one of them is
// advised about.
func TestConfounded(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(5, 5)), newTable("cpu", "zone", "disk")
	for range 400 {
		k := rng.IntN(2)
		tab.add(100+20*float64(k)+rng.NormFloat64(), []string{"a", "b"}[k], []string{"x", "y"}[k], []string{"hdd", "ssd"}[rng.IntN(2)])
	}
	r := ask(t, New(), tab.frame())
	m := r.Metrics[0]
	if len(m.Confounded) != 1 || m.Confounded[0].V < 0.99 || !slices.Contains(codes(m.Doubts), "confounded") {
		t.Fatalf("confounded = %+v, doubts %v", m.Confounded, codes(m.Doubts))
	}
	if m.Bands.By == nil || len(m.Bands.By.Same) != 1 {
		t.Errorf("bands are told by %+v, want both facts", m.Bands.By)
	}
	over := 0
	for _, l := range m.seriesFigure().Figure.Panels[0].Chart.Layers {
		if l.Mark == chart.Band && len(l.Y) == 1 {
			over++
		}
	}
	if over != 2 || len(m.Bands.Bands) != 2 {
		t.Errorf("%d of %d bands in the figure over time, want 2", over, len(m.Bands.Bands))
	}
	reports := 0
	for _, a := range m.Advice {
		if a.Code == "report_fact" {
			reports++
			if !strings.Contains(a.Text, "cannot be told apart") {
				t.Errorf("advice %q does not say that two facts tell the same", a.Text)
			}
		}
	}
	if reports != 1 {
		t.Errorf("%d facts to report, want 1: %+v", reports, m.Advice)
	}
	everywhere(t, r)
}

// TestGate: thresholds are held against intervals, and what is unknown passes none.
func TestGate(t *testing.T) {
	percent := func(v study.Percent) *study.Percent { return &v }
	quiet, wild, few := noise(200, 100, 1).frame(), noise(200, 100, 30).frame(), noise(3, 100, 1).frame()
	both := newTable() // two bands, of which the upper ends halfway
	for i := range 400 {
		both.add(100 + float64(i%7)*.01 + 50*float64((i*7919>>3)%2)*map[bool]float64{true: 1, false: .2}[i < 200])
	}
	bad := noise(200, 100, 1).frame()
	bad.Doubts = []model.Doubt{{Code: "steal", Severity: model.Problem, Text: "the hypervisor took half of the time"}}
	for _, c := range []struct {
		name string
		set  func(p *Params)
		f    frame.Frame
		want error
	}{
		{"far below", func(p *Params) { p.FailAbove = percent(5) }, quiet, nil},
		{"far above", func(p *Params) { p.FailAbove = percent(5) }, wild, model.ErrThreshold},
		{"in between", func(p *Params) { p.FailAbove = percent(30) }, wild, model.ErrInvalid},
		{"too few", func(p *Params) { p.FailAbove = percent(30) }, few, model.ErrInvalid},
		{"a problem", func(p *Params) { p.FailAbove = percent(30) }, bad, model.ErrInvalid},
		{"verdict", func(p *Params) { p.FailOn = []Verdict{Varies} }, wild, model.ErrThreshold},
		{"other verdict", func(p *Params) { p.FailOn = []Verdict{Bands, Changes} }, wild, nil},
		{"bands that end", func(p *Params) { p.FailOn = []Verdict{Bands} }, both.frame(), model.ErrThreshold},
		{"varying bands", func(p *Params) { p.FailOn = []Verdict{Varies} }, both.frame(), model.ErrThreshold},
		{"unknown verdict", func(p *Params) { p.FailOn = []Verdict{Changes} }, few, model.ErrInvalid},
		{"median known", func(p *Params) { p.FailUnlessWithin = percent(1) }, quiet, nil},
		{"median unknown", func(p *Params) { p.FailUnlessWithin = percent(1) }, wild, model.ErrThreshold},
		{"no median", func(p *Params) { p.FailUnlessWithin = percent(1) }, few, model.ErrInvalid},
		{"none", func(*Params) {}, wild, nil},
	} {
		p := New()
		c.set(p)
		if m := ask(t, p, both.frame()).Metrics[0]; m.Verdict != Changes || !m.Bands.Found {
			t.Fatalf("%q, want a change and bands", m.Text)
		}
		if err := ask(t, p, c.f).Gate(); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: gate = %v, want %v", c.name, err, c.want)
		}
	}
}

// TestDisturbed: where rows that something disturbed decide, nothing is known; where
// all were, the answer says so; where they change nothing, or it was the node's own
// limit, they count as others do.
func TestDisturbed(t *testing.T) {
	rows := func(disturbed int, kind string, slow float64) Metric {
		rng, tab := rand.New(rand.NewPCG(2, 2)), newTable(frame.FactDisturbed)
		for i := range 200 {
			v, by := 100+rng.NormFloat64(), "no"
			if i*7919%200 < disturbed {
				v, by = v*slow, kind
			}
			tab.add(v, by)
		}
		p := New()
		p.FailOn = []Verdict{Varies}
		r := ask(t, p, tab.frame())
		if m := r.Metrics[0]; (m.Verdict == Unknown) != errors.Is(r.Gate(), model.ErrInvalid) {
			t.Errorf("%s: gate %v", m.Text, r.Gate())
		}
		everywhere(t, r)
		return r.Metrics[0]
	}
	m := rows(30, "others, steal", .6)
	if m.Verdict != Unknown || !slices.Contains(codes(m.Doubts), "disturbed") || len(m.Advice) > 0 ||
		!strings.Contains(m.Text, "30 of 200 values (others, steal)") || !strings.Contains(m.Text, "with them the COV is 15") || !strings.Contains(m.Text, "without them 0.9 %") {
		t.Errorf("15 %% of the rows at .6: %s, %q, %+v; want that it is unknown, both COVs, and no advice", m.Verdict, m.Text, m.Advice)
	}
	if m := rows(30, "steal", 1); m.Verdict != Steady || slices.Contains(codes(m.Doubts), "disturbed") {
		t.Errorf("disturbed without effect: %q, %v; want steady, no doubt", m.Text, codes(m.Doubts))
	}
	if m := rows(30, observe.KindThrottled, .6); m.Verdict == Unknown {
		t.Errorf("held back by their own limit: %q, want that it is known", m.Text)
	}
	if m := rows(198, "steal", 1); m.Verdict != Steady || !slices.Contains(codes(m.Doubts), "disturbed") || !strings.Contains(m.Text, "something disturbed 198 of 200 values (steal)") {
		t.Errorf("nearly all disturbed: %q, %v; want that in the answer", m.Text, codes(m.Doubts))
	}
}

// TestClusterSizes: the COV by size is its mean square over all ways to draw.
func TestClusterSizes(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(2, 3)), newTable(frame.FactRepetition, frame.FactSubject)
	values := make([][]float64, 6)
	for r := range values {
		for n := range 4 {
			v := 100 + 10*rng.NormFloat64()
			values[r] = append(values[r], v)
			tab.at(v, int64(r)*int64(time.Hour), fmt.Sprint(r), fmt.Sprint("node", n))
		}
	}
	m := ask(t, New(), tab.frame()).Metrics[0]
	if m.Clusters == nil || m.Clusters.Nodes != 4 || m.Clusters.N != 6 {
		t.Fatalf("clusters = %+v, want 6 of 4 nodes", m.Clusters)
	}
	var all []float64
	for _, c := range values {
		all = append(all, c...)
	}
	grand := mean(all)
	for i, size := range []int{1, 2, 4} {
		got := m.Clusters.Sizes[i]
		// The variance of the means of all ways to draw, independently from each
		// cluster: drawn very often.
		sum, draws := 0.0, 200_000
		for range draws {
			var means []float64
			for _, c := range values {
				perm := rng.Perm(4)[:size]
				s := 0.0
				for _, k := range perm {
					s += c[k]
				}
				means = append(means, s/float64(size))
			}
			mm, ss := mean(means), 0.0
			for _, v := range means {
				ss += (v - mm) * (v - mm)
			}
			sum += ss / 5
		}
		if want := math.Sqrt(sum/float64(draws)) / grand; got.Size != size || math.Abs(got.COV/want-1) > 0.01 {
			t.Errorf("COV of %d nodes = %+v, want %.5f", size, got, want)
		}
	}
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// TestGroupsOfNeighbours: the COV of a group is known as badly as its rows are alike,
// besides what the fact itself explains.
func TestGroupsOfNeighbours(t *testing.T) {
	width := func(ar float64) float64 {
		rng, tab, past := rand.New(rand.NewPCG(6, 1)), newTable("cpu"), 0.0
		for range 600 {
			past = ar*past + math.Sqrt(1-ar*ar)*rng.NormFloat64()
			k := rng.IntN(2)
			tab.add(100+100*float64(k)+10*past, []string{"a", "b"}[k])
		}
		p := New()
		p.By = []string{"cpu"}
		g := ask(t, p, tab.frame()).Metrics[0].Groups[0].Groups[0]
		return g.COVCI[1] / g.COVCI[0]
	}
	if free, alike := width(0), width(.9); math.Log(alike) < 2*math.Log(free) {
		t.Errorf("the interval of a group's COV spans a factor of %.2f of independent rows and %.2f of neighbours that are alike, want that far wider", free, alike)
	}
}

// TestManyPairs: more pairs of node and run than a fact can tell apart are said.
func TestManyPairs(t *testing.T) {
	tab := newTable(frame.FactSubject, frame.FactRepetition)
	for i := range 4 * 17_000 * 2 {
		tab.at(float64(i*7919%1000), int64(i/8)*int64(time.Minute), fmt.Sprint(i%4), fmt.Sprint(i/8))
	}
	x := examine(new(tab.frame()), New(), time.UTC)
	if x.nodeOfRun != nil || !slices.Contains(codes(x.doubts), "too_many_levels") {
		t.Errorf("68,000 pairs: %v, want a doubt", codes(x.doubts))
	}
}

// TestTogether: metrics of the same repetitions are compared over these.
func TestTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	names := []string{"score", "runtime", "other"}
	tabs := []*table{newTable(frame.FactRepetition), newTable(frame.FactRepetition), newTable(frame.FactRepetition)}
	for r := range 40 {
		level := rng.NormFloat64()
		for i, tab := range tabs {
			tab.f.Metric = names[i]
			for range 2 {
				tab.add(100+[]float64{5, -8, 0}[i]*level+rng.NormFloat64(), fmt.Sprint(r))
			}
		}
	}
	r := ask(t, New(), tabs[0].frame(), tabs[1].frame(), tabs[2].frame())
	if r.Together == nil || len(r.Together.Pairs) != 3 {
		t.Fatalf("together = %+v, want three pairs", r.Together)
	}
	for _, p := range r.Together.Pairs {
		related := p.A == "w score" && p.B == "w runtime"
		if p.Significant != related || related && p.Rho > -0.9 {
			t.Errorf("%s and %s: %+v, want related %v", p.A, p.B, p, related)
		}
	}
	everywhere(t, r)
}

// TestUnrelated: metrics that have nothing to do with each other seem related in no
// more cases than the level leaves, also where each depends on its past; intervals
// are those of the level.
func TestUnrelated(t *testing.T) {
	for phi, least := range map[float64]float64{0: 0.93, 0.5: 0.9, 0.8: 0.8} {
		significant, held := 0, 0
		const seeds = 200
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 99))
			var frames []frame.Frame
			for _, name := range []string{"a", "b"} {
				tab, x := newTable(frame.FactRepetition), rng.NormFloat64()
				tab.f.Metric = name
				for r := range 40 {
					tab.add(100+5*x, fmt.Sprint(r))
					x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
				}
				frames = append(frames, tab.frame())
			}
			// Through the question once: it takes longer.
			together := compareMetrics(frames, 0.95)
			if seed == 0 {
				together = ask(t, New(), frames...).Together
			}
			if together.Pairs[0].Significant {
				significant++
			}
			if ci := together.Metrics[0].COVCI; ci != nil && ci[0] <= 0.05 && 0.05 <= ci[1] {
				held++
			}
		}
		t.Logf("φ = %v: the COV is held by %d of %d", phi, held, seeds)
		if few := seeds*least - 3*math.Sqrt(seeds*least*(1-least)); float64(held) < few {
			t.Errorf("φ = %v: the COV is held by %d of %d intervals, want at least %.0f", phi, held, seeds, few)
		}
		// Three SD of the binomial distribution above 5 %.
		if most := seeds*0.05 + 3*math.Sqrt(seeds*0.05*0.95); float64(significant) > most {
			t.Errorf("φ = %v: %d of %d unrelated pairs are significant, want at most %.0f", phi, significant, seeds, most)
		}
	}
}

// TestKnownCorrelation: the interval of a rank correlation holds that of the
// population, 6/π·asin(ρ/2) of normal values, in about as many of 200 tables as the
// level says, from rows of which each repetition has two.
func TestKnownCorrelation(t *testing.T) {
	const seeds, rho = 200, -0.8
	truth, held := 6/math.Pi*math.Asin(rho/2), 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 77))
		a, b := newTable(frame.FactRepetition), newTable(frame.FactRepetition)
		a.f.Metric, b.f.Metric = "score", "runtime"
		for r := range 30 {
			x, z := rng.NormFloat64(), rng.NormFloat64()
			y := rho*x + math.Sqrt(1-rho*rho)*z
			for _, apart := range []float64{-1, 1} {
				a.add(100+5*x+apart, fmt.Sprint(r))
				b.add(60+20*y+apart, fmt.Sprint(r))
			}
		}
		p := compareMetrics([]frame.Frame{a.frame(), b.frame()}, 0.95).Pairs[0]
		if p.RhoCI == nil || p.RhoCI[0] > p.Rho || p.RhoCI[1] < p.Rho {
			t.Fatalf("seed %d: %+v, want an interval about rho", seed, p)
		}
		if p.RhoCI[0] <= truth && truth <= p.RhoCI[1] {
			held++
		}
	}
	t.Logf("%d of %d intervals hold %.3f", held, seeds, truth)
	if held < 184 || held > 199 {
		t.Errorf("%d of %d intervals hold %.3f, want about 190", held, seeds, truth)
	}
}

// TestOmitted: of more metrics than are compared it says how many are left out.
func TestOmitted(t *testing.T) {
	var frames []frame.Frame
	for i := range mostTogether + 2 {
		tab := newTable(frame.FactRepetition)
		tab.f.Metric = fmt.Sprint("m", i)
		for r := range 6 {
			tab.add(float64(100+(r*r+i)%7), fmt.Sprint(r))
		}
		frames = append(frames, tab.frame())
	}
	r := ask(t, New(), frames...)
	if len(r.Together.Metrics) != mostTogether || r.Together.Omitted != 2 {
		t.Fatalf("%d metrics are compared, want %d and 2 omitted", len(r.Together.Metrics), mostTogether)
	}
	if intro := r.Together.section().Intro; !strings.Contains(intro, "Of 14 metrics these are the first 12") {
		t.Errorf("the section does not say that metrics are left out: %s", intro)
	}
}

// TestBaseline: the ratio of COVs holds the truth, 20.
func TestBaseline(t *testing.T) {
	p := New()
	p.Baseline = "own"
	r, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "a", Frames: []frame.Frame{noise(400, 100, 20).frame()}}, {Name: "own", Frames: []frame.Frame{noise(100, 1000, 10).frame()}}})
	if err != nil {
		t.Fatal(err)
	}
	b := r.(*Result).Metrics[0].Baseline
	if b == nil || b.RatioCI == nil || !(b.RatioCI[0] < 20 && 20 < b.RatioCI[1]) || b.RatioCI[1]/b.RatioCI[0] > 2 {
		t.Errorf("baseline = %+v, want a ratio of about 20", b)
	}
	other := noise(100, 1, 1).frame()
	other.Metric = "else"
	r, err = p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "a", Frames: []frame.Frame{noise(400, 100, 20).frame()}}, {Name: "own", Frames: []frame.Frame{other}}})
	if err != nil || !slices.Contains(codes(r.(*Result).Doubts), "no_baseline") {
		t.Errorf("a baseline of another metric: %v, want a doubt", err)
	}
}

// TestCalendar: hours and days are those of the zone, through the nights in which
// clocks are turned, and in zones that are half an hour off.
func TestCalendar(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		for at := time.Date(2026, 3, 20, 0, 7, 0, 0, time.UTC); at.Month() < 12; at = at.Add(13 * time.Minute) {
			times = append(times, at.UnixNano())
		}
		facts := calendar(times, zone)
		for i, at := range times {
			local := time.Unix(0, at).In(zone)
			want := []string{hourName(local.Hour()), local.Weekday().String(), local.Format(time.DateOnly)}
			for k := range want {
				if got := facts[k].Level(i); got != want[k] {
					t.Fatalf("%s of %v = %q, want %q", facts[k].Name, local, got, want[k])
				}
			}
		}
		codes, k := hours(times, zone)
		for i := 1; i < len(times); i++ {
			a, b := time.Unix(0, times[i-1]).In(zone), time.Unix(0, times[i]).In(zone)
			same := codes[i] == codes[i-1]
			if _, before := a.Zone(); same && a.Hour() != b.Hour() {
				if _, after := b.Zone(); before == after {
					t.Fatalf("%v and %v are one hour", a, b)
				}
			}
		}
		if k < 24*250 {
			t.Errorf("%d hours in nine months", k)
		}
	}
}

// TestPage: a million values make a page below 2 MB, which shows their density.
func TestPage(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	tab := newTable("cpu")
	for i := range 1_000_000 {
		k := rng.IntN(3)
		tab.at([]float64{100, 200, 210}[k]+5*rng.NormFloat64(), int64(i)*int64(time.Second), []string{"a", "b", "c"}[k])
	}
	r := ask(t, New(), tab.frame())
	var page bytes.Buffer
	if err := render.HTML(&page, r.Document()); err != nil {
		t.Fatal(err)
	}
	if n := page.Len(); n > 2<<20 || n < 100<<10 {
		t.Errorf("the page has %d bytes, want at most 2 MB", n)
	}
	if b, err := json.Marshal(r); err != nil || len(b) > 100<<10 {
		t.Errorf("the result has %d bytes of JSON: %v, want at most 100 kB", len(b), err)
	}
}

// TestUser: what a user may do wrong, and what comes of it.
func TestUser(t *testing.T) {
	two := noise(40, 10, 1).frame()
	info := noise(40, 10, 1).frame()
	info.Metric, info.Info = "elapsed", true
	for name, c := range map[string]struct {
		set  func(p *Params)
		want string
	}{
		"metric":  {func(p *Params) { p.Metric = []string{"sore"} }, `nothing was measured of "sore"`},
		"zone":    {func(p *Params) { p.Zone = "Mars/Olympus" }, "no time zone"},
		"no rows": {func(p *Params) { p.Metric = []string{""} }, "nothing was measured"},
	} {
		p := New()
		c.set(p)
		err := p.Validate()
		if err == nil {
			_, err = p.Ask(context.Background(), study.Input{}, []study.Source{{Name: "a", Frames: []frame.Frame{two, info}}})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if r := ask(t, New(), two, info); len(r.Metrics) != 1 {
		t.Errorf("%d metrics, want only that which is a capacity", len(r.Metrics))
	}
	p := New()
	p.Metric = []string{"elapsed"}
	if r := ask(t, p, two, info); len(r.Metrics) != 1 || r.Metrics[0].Metric != "elapsed" {
		t.Errorf("metrics = %+v, want that which was asked for", r.Metrics)
	}
	p = New()
	p.By, p.Cutoffs = []string{"colour, w"}, []float64{1000}
	if m := ask(t, p, two).Metrics[0]; !slices.Contains(codes(m.Doubts), "no_fact") || !slices.Contains(codes(m.Doubts), "cutoff") {
		t.Errorf("doubts = %v, want that there is no such fact, and nothing beyond the cutoff", codes(m.Doubts))
	}
}

// TestSources: rows of several sources are told apart by the fact "source".
func TestSources(t *testing.T) {
	r, err := New().Ask(t.Context(), study.Input{}, []study.Source{{Name: "a.csv", Frames: []frame.Frame{noise(100, 100, 1).frame()}}, {Name: "b.csv", Frames: []frame.Frame{noise(100, 120, 1).frame()}}})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.(*Result).Metrics[0]; m.N != 200 || best(m.Facts) != "source" {
		t.Errorf("%d values, best fact %q, want 200, source", m.N, best(m.Facts))
	}
}
