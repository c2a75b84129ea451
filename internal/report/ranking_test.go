package report

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

func TestRankingGolden(t *testing.T) {
	_, _, o := labCase()
	for name, c := range map[string]struct {
		format Format
		opts   Options
	}{
		"ranking.txt": {Text, Options{}}, "ranking-80.txt": {Text, Options{Width: 80}},
		"ranking-colored.txt": {Text, Options{Width: 140, Color: true}},
		"ranking.json":        {JSON, Options{}}, "ranking.csv": {CSV, Options{}},
	} {
		golden(t, name, func(w io.Writer) error { return Ranking(w, o.Ranking, c.format, c.opts) })
	}
	for _, f := range []Format{Text, JSON, CSV} {
		golden(t, "ranking-none."+extension(f), func(w io.Writer) error { return Ranking(w, nil, f, Options{}) })
	}
}

func TestScalingsGolden(t *testing.T) {
	_, _, o := labCase()
	linear := o.Scalings[1]
	linear.Fit, linear.Warnings = &model.ScalingFit{Model: "linear", Slope: 80e6}, []string{"two sizes of three are the same"}
	scalings := []model.Scaling{o.Scalings[0], linear}
	for _, f := range []Format{Text, JSON, CSV} {
		golden(t, "scalings."+extension(f), func(w io.Writer) error { return Scalings(w, scalings, f, Options{Width: 100}) })
	}
}

// One line a resource where the terminal is wide enough.
func TestRankingIsOneLineAResource(t *testing.T) {
	_, _, o := labCase()
	o.Ranking.Unknown = nil
	var b strings.Builder
	if err := Ranking(&b, o.Ranking, Text, Options{Width: 160}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(b.String(), "\n"), 1+len(o.Ranking.Resources); got != want {
		t.Errorf("%d lines, want %d:\n%s", got, want, b.String())
	}
}

// The page begins with the resources; bars that they show already are not
// drawn again.
func TestPageRanksResources(t *testing.T) {
	d, fs, o := labCase()
	got := renderWith(t, d, fs, o)
	for _, want := range []string{
		"Which resource?", "1. network.receive", "the sum stays at 300 Mbit/s", "What this run cannot tell",
		"Object storage was not measured.", "4 pairs do the work of 1.5 pairs.", "Serial: one pair at a time",
		"each pair loses 62.3 % of its capacity", "host01&#43;host02", "Every pair’s values", "a loss of up to 7.5 % is not excluded",
		"the total stays at 300 Mbit/s", "Beside the capacity", "What happened on the nodes meanwhile", "Trial 2, 3 of 4 pairs",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if first, next := strings.Index(got, `id="resources"`), strings.Index(got, `class="alerts"`); first < 0 || next < first {
		t.Errorf("the ranking stands at %d, the warnings at %d, want it first", first, next)
	}
	if strings.Contains(got, `id="overview"`) {
		t.Error("the bars of the ranking are drawn a second time")
	}
	o.Ranking.Resources = o.Ranking.Resources[:1]
	if got := renderWith(t, d, fs, o); !strings.Contains(got, `id="overview"`) || strings.Contains(got, "Which resource?") {
		t.Error("a run of one resource must have the bars of all metrics and no ranking")
	}
}

// Each end of a pair is shown by itself, and adds up to the pair.
func TestEndsOfPairs(t *testing.T) {
	d, fs, o := labCase()
	b := builder{data: d, findings: fs, scalings: o.Scalings, accepted: resultsByStep(d.Accepted()), fleet: newFleetView(d.Steps)}
	table := b.endsTable(fs[0])
	if table == nil || len(table.Rows) != 8 {
		t.Fatalf("table = %+v, want 2 rows for each of 4 pairs", table)
	}
	sums := make(map[string]float64)
	for _, row := range table.Rows {
		sums[row[0].Lines[0]] += row[3].Value.(float64)
	}
	for _, p := range fs[0].Pairs {
		if got := sums[string(p.Node)]; got < p.Parallel*(1-1e-9) || got > p.Parallel*(1+1e-9) {
			t.Errorf("the ends of %s add up to %v, want %v", p.Node, got, p.Parallel)
		}
	}
	if b.endsTable(fs[1]) != nil {
		t.Error("nodes by themselves have a table of ends")
	}
}

// Tasks that only serve are no part of what was at work at once.
func TestServingTasksAreNotMeasured(t *testing.T) {
	s := model.Step{ID: "s", Phase: model.Parallel, Tasks: []model.Task{
		{ID: "a", Node: "n1", Spec: model.Spec{Subject: "n1>n2"}}, {ID: "b", Node: "n2", Spec: model.Spec{Subject: "n1>n2", Role: model.RoleServe}},
		{ID: "c", Node: "n3"},
	}}
	if diff := cmp.Diff([]string{"n1>n2", "n3"}, subjectsOf(s)); diff != "" {
		t.Errorf("subjects differ (-want +got):\n%s", diff)
	}
	results := []model.Result{
		{Step: "s", Task: "a", Started: day, Ended: day.Add(10e9), Outcome: model.OutcomeOK},
		{Step: "s", Task: "b", Started: day.Add(-5e9), Ended: day.Add(30e9), Outcome: model.OutcomeOK},
	}
	v := newStepView(s, results)
	if v.Seconds == nil || *v.Seconds != 10 || *v.SkewMS != 0 {
		t.Errorf("step took %v s with a skew of %v ms, want 10 and 0", *v.Seconds, *v.SkewMS)
	}
	if v.Outcomes[model.OutcomeOK] != 2 {
		t.Errorf("%d tasks ended well, want both", v.Outcomes[model.OutcomeOK])
	}
}

func TestNoneSaysWhatIsNotExcluded(t *testing.T) {
	sharp, coarse := finding("a", 4, 0.2, -1.1, 1.5, model.VerdictNone), finding("b", 4, -3, -140, 134, model.VerdictNone)
	for _, c := range []struct {
		name     string
		findings []model.Finding
		want     string
	}{
		{"sharp", []model.Finding{sharp, sharp}, "No loss of capacity was found in any of 2 metrics."},
		{"coarse", []model.Finding{sharp, coarse}, "No loss was found for a rate. No loss could be shown for b rate, but the measurement is coarse: a loss of up to 100.0 % is not excluded (upper end of the 95 % interval)."},
		{"alone", []model.Finding{coarse}, "No loss could be shown when all 4 nodes work at once, but the measurement is coarse: a loss of up to 100.0 % is not excluded (upper end of the 95 % interval)."},
		{"two coarse", []model.Finding{finding("c", 4, 0, -20, 20, model.VerdictNone), coarse}, "No loss could be shown for c rate and b rate, but the measurement is coarse: a loss of b rate of up to 100.0 % is not excluded (upper end of the 95 % interval)."},
	} {
		if got := Summary(model.RunData{}, c.findings)[0]; got != c.want {
			t.Errorf("%s: Summary = %q, want %q", c.name, got, c.want)
		}
	}
	if got := cdiLines(coarse)[1]; got != "[-140.0, 100.0]" {
		t.Errorf("interval shown as %s, want its end at 100", got)
	}
}
