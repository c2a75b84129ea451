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

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/simulated"
	"github.com/scalebench/scalebench/test/skip"
)

func ask(t *testing.T, p *Params, frames ...frame.Frame) *Result {
	t.Helper()
	r, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "here", Frames: frames}})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
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
	skip.IfShort(t)
	for _, c := range []struct{ p, r, want float64 }{{0.22, 0.5, 0.2327}, {0.17, 0.5, 0.2053}, {0.5, 0.4815, 0.350}} {
		tab := simulated.NewTable("cpu")
		for i := range 10_000 {
			v, cpu := 100.0, "Xeon"
			if i*7919%10_000 < int(c.p*10_000+0.5) {
				v, cpu = 100*c.r, "Opteron"
			}
			tab.Add(v, cpu)
		}
		p := New()
		p.Cutoffs = []float64{100}
		m := ask(t, p, tab.Frame()).Metrics[0]
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
		tab := simulated.NewTable()
		for _, v := range vs {
			tab.Add(v)
		}
		return tab.Frame()
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

// TestFewUnits: nodes of which half are slow by chance say nothing of a fact that
// halves them, too, however exactly that fits; it is reported as what it is. Nodes
// that a lab makes anew for each repetition are as many as were made.
func TestFewUnits(t *testing.T) {
	skip.IfShort(t)
	made := func(fleet string, nodes int) Metric {
		rng, tab := rand.New(rand.NewPCG(3, 9)), simulated.NewTable(frame.FactSubject, frame.FactRepetition, model.LabelFleet, "rack")
		for r := range 11 {
			for n := range nodes {
				tab.Add(100-50*float64(n%2)+rng.NormFloat64(), fmt.Sprint("node", n), fmt.Sprint(r), fleet, []string{"a", "b"}[n%2])
			}
		}
		p := New()
		p.Cutoffs = []float64{75}
		return ask(t, p, tab.Frame()).Metrics[0]
	}
	rack := func(m Metric) explain.Effect {
		return m.Facts[slices.IndexFunc(m.Facts, func(e explain.Effect) bool { return e.Fact == "rack" })]
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
	tab := simulated.NewTable("rack")
	for i, v := range []float64{100, 50, 101, 51, 102, 52} {
		tab.Add(v, []string{"a", "b"}[i%2])
	}
	if m := ask(t, New(), tab.Frame()).Metrics[0]; !strings.Contains(m.Text, "the rack goes with 9") || len(m.Advice) > 0 && m.Advice[0].Fact == "rack" {
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
	rng, tab := rand.New(rand.NewPCG(5, 5)), simulated.NewTable("cpu", "zone", "disk")
	for range 400 {
		k := rng.IntN(2)
		tab.Add(100+20*float64(k)+rng.NormFloat64(), []string{"a", "b"}[k], []string{"x", "y"}[k], []string{"hdd", "ssd"}[rng.IntN(2)])
	}
	r := ask(t, New(), tab.Frame())
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
	skip.IfShort(t)
	percent := func(v study.Percent) *study.Percent { return &v }
	quiet, wild, few := simulated.Noise(200, 100, 1).Frame(), simulated.Noise(200, 100, 30).Frame(), simulated.Noise(3, 100, 1).Frame()
	both := simulated.NewTable() // two bands, of which the upper ends halfway
	for i := range 400 {
		both.Add(100 + float64(i%7)*.01 + 50*float64((i*7919>>3)%2)*map[bool]float64{true: 1, false: .2}[i < 200])
	}
	bad := simulated.Noise(200, 100, 1).Frame()
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
		{"bands that end", func(p *Params) { p.FailOn = []Verdict{Bands} }, both.Frame(), model.ErrThreshold},
		{"varying bands", func(p *Params) { p.FailOn = []Verdict{Varies} }, both.Frame(), model.ErrThreshold},
		{"unknown verdict", func(p *Params) { p.FailOn = []Verdict{Changes} }, few, model.ErrInvalid},
		{"median known", func(p *Params) { p.FailUnlessWithin = percent(1) }, quiet, nil},
		{"median unknown", func(p *Params) { p.FailUnlessWithin = percent(1) }, wild, model.ErrThreshold},
		{"no median", func(p *Params) { p.FailUnlessWithin = percent(1) }, few, model.ErrInvalid},
		{"none", func(*Params) {}, wild, nil},
	} {
		p := New()
		c.set(p)
		if m := ask(t, p, both.Frame()).Metrics[0]; m.Verdict != Changes || !m.Bands.Found {
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
		rng, tab := rand.New(rand.NewPCG(2, 2)), simulated.NewTable(frame.FactDisturbed)
		for i := range 200 {
			v, by := 100+rng.NormFloat64(), "no"
			if i*7919%200 < disturbed {
				v, by = v*slow, kind
			}
			tab.Add(v, by)
		}
		p := New()
		p.FailOn = []Verdict{Varies}
		r := ask(t, p, tab.Frame())
		if m := r.Metrics[0]; (m.Verdict == Unknown) != errors.Is(r.Gate(), model.ErrInvalid) {
			t.Errorf("%s: gate %v", m.Text, r.Gate())
		}
		everywhere(t, r)
		return r.Metrics[0]
	}
	m := rows(30, "others, steal", .6)
	if m.Verdict != Unknown || !slices.Contains(codes(m.Doubts), "disturbed") || len(m.Advice) > 0 ||
		!strings.Contains(m.Text, "30 of 200 values (other programs, steal)") || !strings.Contains(m.Text, "with them the COV is 15") || !strings.Contains(m.Text, "without them 0.9 %") {
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

// TestTogether: metrics of the same repetitions are compared over these.
func TestTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	names := []string{"score", "runtime", "other"}
	tabs := []*simulated.Table{simulated.NewTable(frame.FactRepetition), simulated.NewTable(frame.FactRepetition), simulated.NewTable(frame.FactRepetition)}
	for r := range 40 {
		level := rng.NormFloat64()
		for i, tab := range tabs {
			tab.F.Metric = names[i]
			for range 2 {
				tab.Add(100+[]float64{5, -8, 0}[i]*level+rng.NormFloat64(), fmt.Sprint(r))
			}
		}
	}
	r := ask(t, New(), tabs[0].Frame(), tabs[1].Frame(), tabs[2].Frame())
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

// TestOmitted: of more metrics than are compared it says how many are left out.
func TestOmitted(t *testing.T) {
	var frames []frame.Frame
	for i := range 12 + 2 {
		tab := simulated.NewTable(frame.FactRepetition)
		tab.F.Metric = fmt.Sprint("m", i)
		for r := range 6 {
			tab.Add(float64(100+(r*r+i)%7), fmt.Sprint(r))
		}
		frames = append(frames, tab.Frame())
	}
	r := ask(t, New(), frames...)
	if len(r.Together.Metrics) != 12 || r.Together.Omitted != 2 {
		t.Fatalf("%d metrics are compared, want %d and 2 omitted", len(r.Together.Metrics), 12)
	}
	if intro := togetherSection(r.Together).Intro; !strings.Contains(intro, "Of 14 metrics these are the first 12") {
		t.Errorf("the section does not say that metrics are left out: %s", intro)
	}
}

// TestBaseline: the ratio of COVs holds the truth, 20.
func TestBaseline(t *testing.T) {
	p := New()
	p.Baseline = "own"
	r, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "a", Frames: []frame.Frame{simulated.Noise(400, 100, 20).Frame()}}, {Name: "own", Frames: []frame.Frame{simulated.Noise(100, 1000, 10).Frame()}}})
	if err != nil {
		t.Fatal(err)
	}
	b := r.(*Result).Metrics[0].Baseline
	if b == nil || b.RatioCI == nil || !(b.RatioCI[0] < 20 && 20 < b.RatioCI[1]) || b.RatioCI[1]/b.RatioCI[0] > 2 {
		t.Errorf("baseline = %+v, want a ratio of about 20", b)
	}
	other := simulated.Noise(100, 1, 1).Frame()
	other.Metric = "else"
	r, err = p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "a", Frames: []frame.Frame{simulated.Noise(400, 100, 20).Frame()}}, {Name: "own", Frames: []frame.Frame{other}}})
	if err != nil || !slices.Contains(codes(r.(*Result).Doubts), "no_baseline") {
		t.Errorf("a baseline of another metric: %v, want a doubt", err)
	}
}

// TestPage: a million values make a page below 2 MB, which shows their density.
func TestPage(t *testing.T) {
	skip.IfShort(t)
	rng := rand.New(rand.NewPCG(6, 6))
	tab := simulated.NewTable("cpu")
	for i := range 1_000_000 {
		k := rng.IntN(3)
		tab.At([]float64{100, 200, 210}[k]+5*rng.NormFloat64(), int64(i)*int64(time.Second), []string{"a", "b", "c"}[k])
	}
	r := ask(t, New(), tab.Frame())
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
	two := simulated.Noise(40, 10, 1).Frame()
	info := simulated.Noise(40, 10, 1).Frame()
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
	r, err := New().Ask(t.Context(), study.Input{}, []study.Source{{Name: "a.csv", Frames: []frame.Frame{simulated.Noise(100, 100, 1).Frame()}}, {Name: "b.csv", Frames: []frame.Frame{simulated.Noise(100, 120, 1).Frame()}}})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.(*Result).Metrics[0]; m.N != 200 || explain.Best(m.Facts) != "source" {
		t.Errorf("%d values, best fact %q, want 200, source", m.N, explain.Best(m.Facts))
	}
}

// TestByOfFiles: --by may name what is no column: the source, and what follows from
// times. Other columns stay facts unless one of them is named.
func TestByOfFiles(t *testing.T) {
	for by, want := range map[string][]string{
		"source": {"source 2"}, "Source,node": {"source 2", "node 3"}, "hour": {"hour 12"},
		"weekday,zone": {"weekday 7", "zone 2"}, "day": {"day 9"},
	} {
		p := New()
		p.By = []string{by}
		var sources []study.Source
		for k, name := range []string{"x/res.csv", "y/res.csv"} {
			var b strings.Builder
			b.WriteString("time,node,zone,rate\n")
			rng := rand.New(rand.NewPCG(3, uint64(k)))
			for i := range 108 {
				at := time.Date(2026, 1, 5, 2*i, 0, 0, 0, time.UTC)
				fmt.Fprintf(&b, "%s,n%d,%c,%.3f\n", at.Format(time.RFC3339), i%3, 'a'+i/4%2, 100+10*float64(k)+rng.NormFloat64())
			}
			frames, _, err := files.Read(t.Context(), name, strings.NewReader(b.String()), p.Takes().Choice, files.Limits{})
			if err != nil {
				t.Fatalf("--by %s: %v", by, err)
			}
			sources = append(sources, study.Source{Name: name, Frames: frames})
		}
		r, err := p.Ask(t.Context(), study.Input{}, sources)
		if err != nil {
			t.Fatalf("--by %s: %v", by, err)
		}
		m := r.(*Result).Metrics[0]
		var got []string
		for _, g := range m.Groups {
			got = append(got, fmt.Sprint(g.Fact, " ", len(g.Groups)))
		}
		if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" || slices.Contains(codes(m.Doubts), "no_fact") {
			t.Errorf("--by %s: groups (-want +got):\n%s%v", by, diff, codes(m.Doubts))
		}
	}
	p := New()
	p.By = []string{"sources"}
	if _, _, err := files.Read(t.Context(), "x", strings.NewReader("node,rate\na,1\n"), p.Takes().Choice,
		files.Limits{}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("--by sources: %v, want a refusal", err)
	}
}

// TestSourcesTwice: rows that two sources have are told, and a source that is named
// twice is refused.
func TestSourcesTwice(t *testing.T) {
	of := func(name string) study.Source {
		return study.Source{Name: name, Frames: []frame.Frame{simulated.Noise(120, 100, 1).Frame()}}
	}
	r, err := New().Ask(t.Context(), study.Input{}, []study.Source{of("a.csv"), of("b.csv")})
	if err != nil {
		t.Fatal(err)
	}
	const want = "120 of 240 rows are in both a.csv and b.csv"
	if d := r.(*Result).Doubts; !slices.ContainsFunc(d, func(d model.Doubt) bool { return d.Severity == model.Problem && strings.HasPrefix(d.Text, want) }) {
		t.Errorf("doubts %v, want %q", d, want)
	}
	if _, err := New().Ask(t.Context(), study.Input{}, []study.Source{of("a.csv"), of("./a.csv")}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a.csv twice: %v, want a refusal", err)
	}
}
