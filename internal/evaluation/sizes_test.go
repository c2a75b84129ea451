package evaluation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// unequalTrials is a sweep in which nothing is lost: every node gives 100 op/s in
// trial 1, and 50 in trial 2.
func unequalTrials() *builder {
	b := simulated.Lossless(100, 50)
	b.Data.Run.State = model.RunDone
	return b
}

// TestSweepIsOfSameTrials: every size is of the same trials, so that whatever
// is missing, each node adds as much as it has alone.
func TestSweepIsOfSameTrials(t *testing.T) {
	const left = "left out of the growth with size, because not measured at every size: "
	lose := func(steps ...int) func(*builder) {
		return func(b *builder) {
			for _, i := range steps {
				b.Data.Steps[i].State = model.StepInvalid
			}
		}
	}
	resultsOf := func(b *builder, step int) []*model.Result {
		var out []*model.Result
		for i := range b.Data.Results {
			if b.Data.Results[i].Step == b.Data.Steps[step].ID {
				out = append(out, &b.Data.Results[i])
			}
		}
		return out
	}
	for _, c := range []struct {
		name   string
		change func(*builder)
		sizes  []int
		each   float64 // what a node has, at every size
		trials int
		text   string // the warning about trials or sizes
	}{
		{"all complete", func(*builder) {}, []int{1, 2, 3, 4}, 75, 2, ""},
		{"a serial step lost", lose(8), []int{1, 2, 3, 4}, 100, 1, left + "trial 2 (serial on n01 invalid)"},
		{"a serial value not usable", func(b *builder) { resultsOf(b, 8)[0].Samples[0].Value = 0 },
			[]int{1, 2, 3, 4}, 100, 1, left + "trial 2 (serial on n01 not usable)"},
		{"a serial step never made", func(b *builder) { b.Data.Steps = slices.Delete(b.Data.Steps, 8, 9) },
			[]int{1, 2, 3, 4}, 100, 1, left + "trial 2 (no serial step on n01)"},
		{"a size lost", lose(5), []int{1, 2, 3, 4}, 50, 1, left + "trial 1 (parallel with 3 nodes invalid)"},
		{"a value of a size missing", func(b *builder) { resultsOf(b, 12)[1].Samples = nil },
			[]int{1, 2, 3, 4}, 100, 1, left + "trial 2 (parallel with 3 nodes not usable)"},
		{"nodes one after the other", func(b *builder) {
			r := resultsOf(b, 11)[1]
			r.Started, r.Ended = r.Started.Add(9*time.Second), r.Ended.Add(9*time.Second)
		}, []int{1, 2, 3, 4}, 100, 1, left + "trial 2 (parallel with 2 nodes not usable)"},
		{"cut in trial 2", func(b *builder) { b.Data.Steps = b.Data.Steps[:12] },
			[]int{1, 2, 3, 4}, 100, 1, left + "trial 2 (no parallel step with 3 nodes, no parallel step with 4 nodes)"},
		{"no trial measured size 3", lose(5, 12), []int{1, 2, 4}, 75, 2,
			"sizes left out of the growth, because no trial that counts measured them: parallel with 3 nodes: trial 1 (parallel with 3 nodes invalid), trial 2 (parallel with 3 nodes invalid)"},
		{"no trial measured all alone", lose(0, 8), []int{2, 3, 4}, 75, 2,
			"sizes left out of the growth, because no trial that counts measured them: serial: trial 1 (serial on n00 invalid), trial 2 (serial on n01 invalid)"},
		{"each trial lacks another size", lose(5, 8), []int{1, 2, 4}, 100, 1, left + "trial 2 (serial on n01 invalid)"},
		{"one trial lacks more", lose(4, 5, 8), []int{2, 3, 4}, 50, 1, left + "trial 1 (parallel with 2 nodes invalid, parallel with 3 nodes invalid)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := unequalTrials()
			c.change(b)
			s := scaled(t, b.Data)
			var sizes []int
			for _, p := range s.Points {
				sizes = append(sizes, p.Nodes)
				wantValue(t, "total", &p.Total, c.each*float64(p.Nodes), 1e-9)
				if len(p.Totals) != c.trials {
					t.Errorf("size %d: totals %v, want %d", p.Nodes, p.Totals, c.trials)
				}
			}
			if diff := cmp.Diff(c.sizes, sizes); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
			if s.Limit != nil || s.Fit != nil && (s.Fit.Model != "linear" || s.Fit.Slope != c.each) {
				t.Errorf("limit %v, fit %+v, want none or a line with slope %v", s.Limit, s.Fit, c.each)
			}
			got := strings.Join(texts(s.Doubts), "\n")
			if !strings.Contains(got, c.text) || c.text == "" && strings.Contains(got, "left out") {
				t.Errorf("warnings %q, want %q among them", texts(s.Doubts), c.text)
			}
		})
	}
}

// TestTotalsAreNotNegative: Student's interval of two unequal totals begins
// below 0, where no capacity is; nor is there one in that of a limit.
func TestTotalsAreNotNegative(t *testing.T) {
	const student = 12.7062047362 // t(0.975, 1)
	for _, p := range scaled(t, unequalTrials().Data).Points {
		if p.CI == nil || p.CI[0] != 0 {
			t.Errorf("size %d: interval %v, want it to begin at 0", p.Nodes, p.CI)
			continue
		}
		// Totals of 100·n and 50·n have a standard error of 25·n.
		wantValue(t, "upper bound", &p.CI[1], float64(p.Nodes)*(75+student*25), 1e-6)
	}
	sizes, totals := []float64{1, 2, 3, 4, 5, 6}, []float64{100, 199, 202, 198, 201, 200}
	g, err := scalability.ChooseGrowth(sizes, totals, 0)
	if err != nil || g.Kind != scalability.Capped {
		t.Fatalf("ChooseGrowth = %+v, %v, want a cap", g, err)
	}
	coarse := sweep{resolution: resolution{parallel: .6}} // ± 1.96 · 0.6 of the cap
	if ci := coarse.capInterval(curveOfGrowth{g, sizes, totals}, quick); ci == nil || ci[0] != 0 {
		t.Errorf("interval of the cap: %v, want it to begin at 0", ci)
	}
}
