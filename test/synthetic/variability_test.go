package synthetic

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/study/variability"
)

// seeds is how many campaigns of each composition are analysed: `make
// variability-proof` takes 200.
var seeds = flag.Int("seeds", 4, "campaigns of each composition")

// analyse is the answer about a campaign.
func analyse(ctx context.Context, c Campaign) (*variability.Metric, error) {
	r, err := variability.New().Ask(ctx, study.Input{}, []study.Source{{Name: "campaign", Frames: []frame.Frame{c.Frame()}}})
	if err != nil {
		return nil, err
	}
	return &r.(*variability.Result).Metrics[0], nil
}

// each analyses a composition with every seed, two at a time, and calls f in the
// order of the seeds.
func each(t *testing.T, c Campaign, f func(seed int, c Campaign, m *variability.Metric)) {
	t.Helper()
	all := make([]*variability.Metric, *seeds)
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for seed := w; seed < len(all); seed += 2 {
				one := c
				one.Seed = uint64(seed) //nolint:gosec // small
				m, err := analyse(t.Context(), one)
				if err != nil {
					t.Error(err)
					return
				}
				all[seed] = m
			}
		})
	}
	wg.Wait()
	for seed, m := range all {
		if m == nil {
			t.FailNow()
		}
		c.Seed = uint64(seed) //nolint:gosec // small
		f(seed, c, m)
	}
}

// alarms are the kinds of alarm that a metric raises.
func alarms(m *variability.Metric) []string {
	var out []string
	if m.Bands.Found {
		out = append(out, "bands")
	}
	if len(m.Course.Changes) > 0 {
		out = append(out, "change")
	}
	if m.Course.Drift != nil && m.Course.Drift.Significant {
		out = append(out, "drift")
	}
	for _, e := range m.Facts {
		if e.Significant {
			out = append(out, e.Fact)
		}
	}
	return out
}

// Processors and zones that explain nothing.
var (
	equal = []Band{{CPU: "a", Share: 0.3, Level: 1, Noise: 0.1}, {CPU: "b", Share: 0.7, Level: 1, Noise: 0.1}}
	split = []Zone{{Name: "x", Of: map[string]float64{"a": 0.5, "b": 0.5}}, {Name: "y", Of: map[string]float64{"a": 0.5, "b": 0.5}}}
)

// TestFalseAlarms: pure noise raises any alarm, of whatever kind, in at most 5 % of
// campaigns, and intervals hold the truth in 95 %.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds, many times that under the race detector")
	}
	t.Parallel()
	for name, c := range map[string]Campaign{
		"independent":    {Times: 480, Bands: equal, Zones: split},
		"few values":     {Times: 60, Bands: equal, Zones: split, Every: 3 * time.Hour},
		"neighbours .5":  {Times: 480, Bands: equal, Zones: split, AR: 0.5},
		"neighbours .8":  {Times: 480, Bands: equal, Zones: split, AR: 0.8},
		"ten nodes":      {Times: 50, Nodes: 10, Bands: equal, Zones: split, Every: time.Hour},
		"4 halved":       {Times: 20, Nodes: 4, Kept: true, Halved: true, Bands: equal, Zones: split, Every: time.Hour},
		"6 halved":       {Times: 20, Nodes: 6, Kept: true, Halved: true, Bands: equal, Zones: split, Every: time.Hour},
		"12 halved":      {Times: 20, Nodes: 12, Kept: true, Halved: true, Bands: equal, Zones: split, Every: time.Hour},
		"ten kept nodes": {Times: 50, Nodes: 10, Kept: true, NodeNoise: 0.03, Bands: equal, Zones: split, Every: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count, raised, mean, cov := map[string]int{}, 0, 0, 0
			each(t, c, func(_ int, c Campaign, m *variability.Metric) {
				found := alarms(m)
				if c.Kept {
					// They do differ, and where half are slow there are bands.
					found = slices.DeleteFunc(found, func(a string) bool { return a == frame.FactSubject || c.Halved && a == "bands" })
				}
				for _, a := range found {
					count[a]++
				}
				if len(found) > 0 {
					raised++
				}
				if ci := m.MeanCI; ci != nil && ci[0] <= 100 && 100 <= ci[1] {
					mean++
				}
				if ci := m.COVCI; ci != nil && ci[0] <= 0.1 && 0.1 <= ci[1] {
					cov++
				}
			})
			t.Logf("%d of %d raise an alarm %v; the mean is held by %d, the COV by %d", raised, *seeds, count, mean, cov)
			if n := float64(*seeds); float64(raised) > 0.05*n+2.6*math.Sqrt(0.05*0.95*n) {
				t.Errorf("%d of %d campaigns of pure noise raise an alarm: %v, want at most 5 %%", raised, *seeds, count)
			}
			if n := float64(*seeds); !c.Kept && float64(min(mean, cov)) < 0.93*n-2.6*math.Sqrt(0.07*0.93*n) {
				t.Errorf("the interval holds the mean %d, the COV %d times of %d, want 95 %%", mean, cov, *seeds)
			}
		})
	}
}

// quiet is a campaign without what its noise adds: the same seed draws the same
// effects.
func quiet(c Campaign) Campaign {
	c.Noise = 0
	c.Bands = slices.Clone(c.Bands)
	for i := range c.Bands {
		c.Bands[i].Noise = 0
	}
	return c
}

// explained is what effects make of the variance of a campaign with noise of 10 %
// of the mean 100.
func explained(c Campaign) float64 {
	sd, _ := stats.PopulationSD(quiet(c).Frame().Values)
	return sd * sd / (sd*sd + 100)
}

// recovery is one composition, and what must be found in it.
type recovery struct {
	name string
	c    Campaign
	// found is what is wrong with an answer; empty: nothing.
	wrong func(c Campaign, m *variability.Metric) string
}

// TestRecovery: of campaigns of known composition, what they are made of is found,
// in at least 95 % of them.
func TestRecovery(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds, many times that under the race detector")
	}
	t.Parallel()
	for _, r := range append(recoveries, moreRecoveries...) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			missed, why := 0, map[string]int{}
			each(t, r.c, func(_ int, c Campaign, m *variability.Metric) {
				if text := r.wrong(c, m); text != "" {
					missed++
					why[text]++
				}
			})
			t.Logf("%d of %d are missed: %v", missed, *seeds, why)
			if n := float64(*seeds); float64(missed) > 0.05*n+2.6*math.Sqrt(0.05*0.95*n) {
				t.Errorf("%d of %d are missed: %v, want at most 5 %%", missed, *seeds, why)
			}
		})
	}
}

func near(what string, got, want, tolerance float64) string {
	if math.Abs(got-want) > tolerance {
		return fmt.Sprintf("%s is %.4g, want %.4g ± %.2g", what, got, want, tolerance)
	}
	return ""
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func hasAdvice(m *variability.Metric, code, fact, text string) string {
	for _, a := range m.Advice {
		if a.Code == code && a.Fact == fact && strings.Contains(a.Text, text) {
			return ""
		}
	}
	return fmt.Sprintf("no advice %s about %s with %q", code, fact, text)
}

// explains is what is wrong with how much a fact explains.
func explains(m *variability.Metric, fact string, share float64) string {
	for _, e := range m.Facts {
		switch {
		case e.Fact != fact:
		case !e.Significant:
			return fact + " does not stand out"
		default:
			return near(fact+" explains", e.Omega2, share, 0.06)
		}
	}
	return "there is no fact " + fact
}

var recoveries = []recovery{
	{"bands by processor", Paper(0), func(c Campaign, m *variability.Metric) string {
		if len(m.Bands.Bands) != 2 || m.Bands.By == nil || m.Bands.By.Fact != "cpu_model" {
			return fmt.Sprintf("bands %d by %v", len(m.Bands.Bands), m.Bands.By)
		}
		lower, upper := m.Bands.Bands[0], m.Bands.Bands[1]
		share := lower.Share
		twoBands := math.Sqrt(share*(1-share)) * 0.5 / (1 - share*0.5)
		return first(
			near("share of the lower band", share, 0.22, 3*0.011),
			near("COV", *m.COV, twoBands, 0.005),
			near("COV of the lower band", *lower.COV, 0.02, 0.004), near("COV of the upper band", *upper.COV, 0.01, 0.001),
			near("level", lower.Mean/upper.Mean, 0.5, 0.005),
			hasAdvice(m, "take_level", "zone", "take zone us-east-1d: the COV falls from 2"),
			hasAdvice(m, "report_fact", "cpu_model", "99."))
	}},
	{"a step", Campaign{Times: 1440, Bands: equal, Steps: []Step{{At: 0.6, By: 0.08}}}, func(c Campaign, m *variability.Metric) string {
		if len(m.Course.Changes) != 1 || m.Verdict != variability.Changes {
			return fmt.Sprintf("%d changes, %s", len(m.Course.Changes), m.Verdict)
		}
		change := m.Course.Changes[0]
		return first(near("row of the change", float64(change.Row), 0.6*1440, 60), near("relative", change.Relative, 0.08, 0.02), hasAdvice(m, "level_changed", "", change.At.Format("2006-01-02")))
	}},
	{"a step among processors", Campaign{Times: 960, Bands: Paper(0).Bands, Steps: []Step{{At: 0.5, By: 0.03}}}, func(c Campaign, m *variability.Metric) string {
		if len(m.Course.Changes) != 1 || m.Course.Changes[0].Besides != "cpu_model" {
			return fmt.Sprint(len(m.Course.Changes), " changes")
		}
		return first(near("row of the change", float64(m.Course.Changes[0].Row), 480, 20), near("relative", m.Course.Changes[0].Relative, 0.03, 0.01))
	}},
	{"drift", Campaign{Times: 960, Bands: equal, Drift: 0.1}, func(c Campaign, m *variability.Metric) string {
		if m.Course.Drift == nil || !m.Course.Drift.Significant || len(m.Course.Changes) > 0 {
			return fmt.Sprint("no drift, changes: ", len(m.Course.Changes))
		}
		return near("drift", m.Course.Drift.Relative, 0.1/1.05, 0.04)
	}},
	{"hours", Campaign{Times: 960, Bands: equal, Hour: 0.08}, func(c Campaign, m *variability.Metric) string {
		return first(explains(m, "hour", explained(c)), hasAdvice(m, "measure_longer", "hour", "explains"))
	}},
	{"weekdays", Campaign{Times: 1344, Bands: equal, Weekday: 0.1}, func(c Campaign, m *variability.Metric) string {
		if explained(c) < 0.25 {
			return "" // seven draws may be alike
		}
		return first(explains(m, "weekday", explained(c)), hasAdvice(m, "measure_longer", "weekday", "explains"))
	}},
	{"days", Campaign{Times: 960, Bands: equal, Day: 0.05}, func(c Campaign, m *variability.Metric) string {
		day := m.Decomposition.Levels[0]
		sd, _ := stats.SampleSD(quiet(c).Frame().Values)
		return first(explains(m, "day", explained(c)), near("between days", *day.BetweenCorrected, sd/100, 0.015), near("within a day", *day.InCorrected, 0.1, 0.01))
	}},
}

var moreRecoveries = []recovery{
	{"outliers", Campaign{Times: 960, Bands: equal, Outliers: 0.01}, func(c Campaign, m *variability.Metric) string {
		far := 0
		for _, v := range c.Frame().Values {
			if v > 200 {
				far++
			}
		}
		return near("outliers", float64(m.Outliers.N), float64(far), 1)
	}},
	{"neighbours", Campaign{Times: 960, Bands: equal, AR: 0.6}, func(c Campaign, m *variability.Metric) string {
		if !m.Dependence.Dependent {
			return "not dependent"
		}
		return first(near("effective n", math.Log(m.Dependence.EffectiveN), math.Log(960*0.4/1.6), 0.45), near("repetitions for 5 %", math.Log(float64(*m.Repetitions[2].Mean)), math.Log(18*4), 0.45))
	}},
	{"repetitions", Campaign{Times: 720, Bands: equal}, func(c Campaign, m *variability.Metric) string {
		for i, want := range []float64{387, 99, 18, 7} { // t(.975, n−1)·.1/√n ≤ r
			if text := near(fmt.Sprintf("repetitions for ±%v", m.Repetitions[i].Target), float64(*m.Repetitions[i].Mean)/want, 1, 0.25); text != "" {
				return text
			}
		}
		return ""
	}},
	{"clusters", Campaign{Times: 60, Nodes: 20, Every: time.Hour, Bands: Paper(0).Bands, Mixed: 0.15}, func(c Campaign, m *variability.Metric) string {
		if m.Clusters == nil || m.Clusters.Nodes != 20 || len(m.Clusters.Mixes) == 0 || m.Clusters.Mixes[0].Fact != "cpu_model" {
			return fmt.Sprintf("clusters %+v", m.Clusters)
		}
		whole := m.Clusters.Sizes[len(m.Clusters.Sizes)-1]
		if whole.COV < 1.2*whole.Independent {
			return "the mix does not show in the means of clusters"
		}
		return first(near("explained by the mix", m.Clusters.Mixes[0].R2, 1, 0.02), near("slope", math.Abs(m.Clusters.Mixes[0].Slope), 50, 2), hasAdvice(m, "same_mix", "cpu_model", "share of"))
	}},
	{"kept nodes", Campaign{Times: 60, Nodes: 8, Every: time.Hour, Kept: true, NodeNoise: 0.1, Bands: []Band{{CPU: "a", Share: 1, Level: 1, Noise: 0.03}}}, func(c Campaign, m *variability.Metric) string {
		if m.Subjects == nil || m.Subjects.ICC < 0.5 {
			return "nodes are not told apart"
		}
		if m.Dependence.EffectiveN > 20 {
			return fmt.Sprintf("8 nodes are worth %.0f values", m.Dependence.EffectiveN)
		}
		return near("within a node", *m.Subjects.Within, 0.03, 0.01)
	}},
}
