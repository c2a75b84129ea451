package evaluation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPlatformsOfTable2: published means of several platforms have the paper's CDIs side by side,
// and differences without an interval.
func TestPlatformsOfTable2(t *testing.T) {
	table, err := os.Open("../../examples/clouds.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close() //nolint:errcheck // read only
	findings, err := Import(t.Context(), "clouds.csv", table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compare(ByPlatform(findings), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float64{ // by metric and platform
		{.7026, 5.5015, 24.3731, 15.8276}, {0, 5.1318, 46.9729, 52.3095}, {-1.5693, -.2431, 1.4168, 13.8298},
		{1.7301, 90.3727, 70.8955, 63.1854},
	}
	for i, f := range p.Findings {
		if w := want[i/4][i%4]; f.Platform != p.Names[i%4] || math.Abs(*f.CDI-w) > 5e-4 {
			t.Errorf("%s on %s: CDI %.4f, want %.4f on %s", f.Name(), f.Platform, *f.CDI, w, p.Names[i%4])
		}
	}
	for i, d := range p.Differences {
		w := want[i/3][i%3+1] - want[i/3][0]
		if d.Base != "A" || math.Abs(*d.Points-w) > 1e-3 || d.CI != nil || d.Verdict != UnknownDifference {
			t.Errorf("difference %d = %+v, want %.4f points, no interval, and no verdict", i, d, w)
		}
	}
	if d := p.Document("x"); len(d.Sections[0].Blocks[1].Table.Rows) != 16 || len(p.data().Rows) != 16 {
		t.Errorf("the tables have %d and %d rows, want 16", len(d.Sections[0].Blocks[1].Table.Rows), len(p.data().Rows))
	}
}

// onPlatform is a platform of n nodes of which each keeps a share of its capacity, with
// scatter.
func onPlatform(rng *rand.Rand, name string, n int, kept, sd float64) Platform {
	tab := Table{Workload: "disk", Metric: "write", Unit: "MB/s", Better: model.Higher}
	for i := range n {
		serial := 100 * (1 + sd*rng.NormFloat64())
		tab.Add(fmt.Sprint("n", i), model.Serial, 1, serial, 2)
		tab.Add(fmt.Sprint("n", i), model.Parallel, 1, kept*100*(1+sd*rng.NormFloat64()), 3)
	}
	return Platform{Name: name, Findings: []Finding{tab.Finding(Options{Resamples: 10})}}
}

// TestDifference: the interval holds the truth in about 95 % of cases, and platforms
// that lose the same are told apart in 5 % at most.
func TestDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 2))
	const cases = 4000
	held, alarms := 0, 0
	for i := range cases {
		a, b, n := .4+.6*rng.Float64(), .4+.6*rng.Float64(), 3+rng.IntN(10)
		if i%2 == 0 {
			b = a
		}
		p, err := Compare([]Platform{onPlatform(rng, "a", n, a, .01+.05*rng.Float64()),
			onPlatform(rng, "b", n, b, .01+.05*rng.Float64())}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Differences[0]
		if d.CI.Contains(100 * (a - b)) {
			held++
		}
		certain := d.Verdict == More || d.Verdict == Less
		if i%2 == 0 && certain {
			alarms++
		}
		if math.Abs(a-b) > .3 && d.Verdict != map[bool]DifferenceIs{true: More, false: Less}[a > b] {
			t.Errorf("case %d: %.0f %% and %.0f %% kept give %s %v", i, 100*a, 100*b, d.Verdict, *d.CI)
		}
	}
	t.Logf("%d of %d hold the truth, %d of %d equal platforms raise an alarm", held, cases, alarms, cases/2)
	if held < cases*94/100 || held > cases*965/1000 || alarms > cases/2*5/100 {
		t.Errorf("of %d, %d hold the truth, and %d of equal platforms raise an alarm; want 94 to 96.5 %%, and 5 %% or fewer",
			cases, held, alarms)
	}
}

// TestNoDifference: what does not allow an answer leaves none.
func TestNoDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 3))
	kept, other := onPlatform(rng, "a", 8, .9, .01), onPlatform(rng, "b", 8, .5, .01)
	disturbed := onPlatform(rng, "b", 8, .8, .01)
	disturbed.Findings[0].Possible = &Interval{-5, 25}
	plain, explained := onPlatform(rng, "b", 8, .5, .01), 5.0
	plain.Findings[0].Verdict, plain.Findings[0].Possible = Unknown, &Interval{44, 51}
	stranger := disturbedApart.Problem(struct{}{})
	stranger.Explains = &explained
	plain.Findings[0].Doubts.Add(stranger)
	alone := onPlatform(rng, "b", 8, .5, .01)
	alone.Findings[0].Workload = "other"
	for name, c := range map[string]struct {
		b       Platform
		verdict DifferenceIs
		code    string
	}{
		"difference": {other, More, ""}, "fewer nodes": {onPlatform(rng, "b", 4, .5, .01), UnknownDifference, "other_size"},
		"disturbed":     {disturbed, UnknownDifference, "disturbed_apart"},
		"plain, though": {plain, More, ""},
		"no verdict":    {onPlatform(rng, "b", 1, .5, .01), UnknownDifference, "platform_unknown"},
		"other metrics": {alone, "", ""},
	} {
		p, err := Compare([]Platform{kept, c.b}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.verdict == "" {
			if len(p.Differences) != 0 || len(p.Findings) != 2 {
				t.Errorf("%s: %d differences of %d findings, want none of 2", name, len(p.Differences), len(p.Findings))
			}
			p.Document("x")
			continue
		}
		d := p.Differences[0]
		coded := false
		for _, x := range d.Doubts {
			coded = coded || string(x.Code) == c.code
		}
		if d.Verdict != c.verdict || coded != (c.code != "") {
			t.Errorf("%s: %s with %v, want %s with %q", name, d.Verdict, d.Doubts, c.verdict, c.code)
		}
		p.Document("x")
	}
	_, err := Compare([]Platform{kept, kept}, Options{})
	if err == nil || !strings.Contains(err.Error(), `two runs are called "a"`) {
		t.Errorf("two platforms of one name give %v", err)
	}
	d := Difference{}
	d.noteParameters(map[string]any{"size": "4KiB", "path": "/a"}, map[string]any{"size": "1MiB", "path": "/a", "ramp": 1})
	if got, want := d.Doubts[0].Args.(parametersApart).Names, []string{"ramp", "size"}; len(got) != 2 ||
		string(got[0]) != want[0] || !slices.Contains(want, string(got[1])) {
		t.Errorf("parameters %v differ, want %v", got, want)
	}
}
