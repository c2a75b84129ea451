package answer_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/compare"
	"github.com/scalebench/scalebench/internal/study/history"
	"github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/cpu"
	"github.com/scalebench/scalebench/test/storetest"
)

// repeat stores a campaign that is done with so many repetitions that measure this
// factor of what [measured] has, give or take a little; the first half is condensed.
// It returns their runs.
func repeat(t *testing.T, st store.Store, c model.Campaign, n int, factor float64) (runs []string) {
	t.Helper()
	c.State = model.CampaignActive // or no repetition begins
	if err := st.PutCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for number := 1; number <= n; number++ {
		due := c.Begin.Add(time.Duration(number) * time.Hour)
		rep := model.Repetition{Campaign: c.ID, Number: number, Due: due, State: model.RepetitionRun, Run: store.RepetitionRun(c.ID, number, due)}
		storetest.Save(t, st, scaled(measured(string(rep.Run), source("")), c, number, factor*(1+.01*float64(number*7%5))))
		if 2*number <= n {
			if err := campaign.Condense(t.Context(), st, rep); err != nil {
				t.Fatal(err)
			}
		}
		runs = append(runs, string(rep.Run))
	}
	c.State = model.CampaignDone
	if err := st.PutCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return runs
}

// scaled is a run of another time, as a repetition of a campaign, with the factor
// in what it measured.
func scaled(d model.RunData, c model.Campaign, number int, factor float64) model.RunData {
	later := c.Begin.Add(time.Duration(number) * time.Hour).Sub(d.Run.Created)
	d.Run.Name, d.Run.Campaign, d.Run.Repetition = c.Name, c.ID, number
	d.Run.Created, d.Run.Started, d.Run.Finished = d.Run.Created.Add(later), d.Run.Started.Add(later), d.Run.Finished.Add(later)
	for i := range d.Steps {
		d.Steps[i].StartAt = d.Steps[i].StartAt.Add(later)
	}
	for i := range d.Results {
		x := &d.Results[i]
		x.Started, x.Ended = x.Started.Add(later), x.Ended.Add(later)
		x.Samples[0].Value *= factor
		x.Host = nil
	}
	return d
}

// TestCampaigns: the history of a name has the repetitions of all its campaigns
// beside its runs, each with its run; two campaigns are compared by repetitions,
// which are no pairs though their numbers are the same; and of a single run and a
// campaign it is said that runs cannot be told from one.
func TestCampaigns(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	a := answer.Asker{Store: st, Kinds: experiment.Kinds{Workloads: workload.NewRegistry(cpu.Kind()),
		Studies: study.Registry{legacy.Adapt(compare.Kind()), legacy.Adapt(history.Kind())}}, Version: "v9",
		Now: func() time.Time { return day }}
	first := model.Campaign{ID: "01KJ3Q8Z7V3N5XW9T4B6C8D0EA", Name: "nightly", Source: source(""), Begin: day.Add(24 * time.Hour)}
	second := model.Campaign{ID: "01KJ3Q8Z7V3N5XW9T4B6C8D0EB", Name: "nightly", Source: source(""), Begin: day.Add(48 * time.Hour), Created: day}
	want := append(repeat(t, st, first, 7, 1), repeat(t, st, second, 7, .8)...)
	ask := func(kind string, into any, names ...string) {
		t.Helper()
		q := answer.Question{Study: kind, Params: params("metric", `"rate"`)}
		for _, name := range names {
			q.Sources = append(q.Sources, answer.Source{Source: study.Source{Name: name}, Stored: true})
		}
		got, err := a.Answer(t.Context(), q)
		if err != nil {
			t.Fatalf("%s of %v: %v", kind, names, err)
		}
		if err := json.Unmarshal(got.Result, into); err != nil {
			t.Fatal(err)
		}
	}
	historyOf := func() (runs []string) {
		t.Helper()
		var h struct {
			Metrics []struct {
				Phase model.Phase
				Runs  []struct{ Run string }
			}
		}
		ask("history", &h, "nightly")
		for _, m := range h.Metrics {
			if m.Phase == model.Parallel {
				for _, r := range m.Runs {
					runs = append(runs, r.Run)
				}
			}
		}
		return runs
	}
	if diff := cmp.Diff(want, historyOf()); diff != "" {
		t.Errorf("the history of two campaigns (-want +got):\n%s", diff)
	}
	alone := measured(plain, source(""))
	alone.Run.Name = "nightly"
	storetest.Save(t, st, alone)
	if diff := cmp.Diff(append([]string{plain}, want...), historyOf()); diff != "" {
		t.Errorf("the history of a run and two campaigns (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ a, b, want, says string }{
		{string(first.ID), string(second.ID), "worse by repetition, paired: false, of 7 and 7", ""},
		{plain, string(second.ID), "unknown by node, paired: true, of 2 and 2", "one side is of 1 run and the other of 7"},
	} {
		var r struct {
			Comparisons []struct {
				Phase    model.Phase
				Verdict  string
				Of       string
				Paired   bool
				A, B     struct{ N int }
				Warnings []string
			}
		}
		ask("compare", &r, c.a, c.b)
		for _, x := range r.Comparisons {
			if x.Phase == model.Parallel {
				got := fmt.Sprintf("%s by %s, paired: %v, of %d and %d", x.Verdict, x.Of, x.Paired, x.A.N, x.B.N)
				if got != c.want || !strings.Contains(strings.Join(x.Warnings, "; "), c.says) {
					t.Errorf("%s against %s: %s (%v), want %s (%s)", c.b, c.a, got, x.Warnings, c.want, c.says)
				}
			}
		}
	}
}
