package corpus

import (
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// repeated is a campaign of runs, a day apart.
func repeated(runs []model.RunData) []campaign {
	c := campaign{Campaign: model.Campaign{ID: "01J2CAMPA0GN00000000000000", Name: "daily", State: model.CampaignActive, Created: simulated.Epoch,
		Source: "fleet: {local: {nodes: 2}}\nworkloads: [{name: work, kind: cpu, duration: 1s}]\n"}}
	for i := range runs {
		r := &runs[i].Run
		r.Campaign, r.Repetition = c.ID, i+1
		c.reps = append(c.reps, model.Repetition{Campaign: c.ID, Number: i + 1, Due: simulated.Epoch.Add(time.Duration(i) * 24 * time.Hour),
			State: model.RepetitionRun, Run: r.ID, RunState: r.State})
	}
	return []campaign{c}
}

// campaignCases are questions about campaigns, and about searches over several runs.
func campaignCases(t *testing.T) (out []question) {
	t.Helper()
	daily := func(n int, change func(i int, b *builder)) (all []model.RunData) {
		for i := range n {
			b := keeping(uint64(400+i), 4, 2, .9, .02)
			for k := range b.Data.Nodes {
				b.Data.Nodes[k].Labels = map[string]string{"zone": fmt.Sprintf("z%d", k%2)}
				b.Data.Nodes[k].Startups = []model.Startup{{Requested: simulated.Epoch, Took: time.Duration(30+i+k) * time.Second}}
			}
			if change != nil {
				change(i, b)
			}
			all = append(all, stored(b.Data, 60+i, "daily", i))
		}
		return all
	}
	add := func(name, study, params string, runs []model.RunData) {
		out = append(out, question{name: study + "/campaign/" + name, study: study, params: params, runs: runs, campaigns: repeated(runs), sources: []string{"daily"}})
	}
	add("steady", "variability", `{"fail_above": 20}`, daily(10, nil))
	add("by what is not there", "variability", `{"by": ["rack", "zone"]}`, daily(6, nil))
	add("disturbed", "variability", "", daily(10, func(i int, b *builder) {
		if i%2 == 0 {
			hostSees(b, model.Parallel, disturbing["others"])
		}
	}))
	add("steps failed", "variability", "", daily(8, func(i int, b *builder) { b.Data.Steps[i%5].State = model.StepInvalid }))
	add("values left out", "variability", "", daily(8, func(i int, b *builder) { b.Data.Results[7].Samples = nil }))
	add("history", "history", `{"fail_worse": 5}`, daily(12, nil))
	runs := daily(6, nil)
	out = append(out, question{name: "compare/campaign/with a run", study: "compare", runs: append(runs, stored(keeping(500, 4, 4, .8, .02).Data, 99, "single", 9)),
		campaigns: repeated(runs), sources: []string{"daily", "single"}})
	out = append(out, question{name: "variability/campaign/asked of a run", study: "variability", runs: daily(1, nil)})
	out = append(out, question{name: "variability/campaign/thresholds of another study", study: "variability", sources: []string{"gated"},
		runs: []model.RunData{stored(experimentOf(keeping(501, 4, 6, .8, .02), "study: {kind: cdi, fail_above: 5}\n").Data, 70, "gated", 0)}})
	searches := searchesInHistory(t)
	out = append(out, question{name: "history/searches", study: "history", params: `{"fail_worse": 5}`, runs: searches, sources: []string{"search"}})
	one, last := stored(searches[0], 81, "early", 0), stored(searches[5], 82, "late", 5)
	out = append(out, question{name: "compare/searches", study: "compare", runs: []model.RunData{one, last}, sources: []string{"early", "late"}})
	out = append(out, question{name: "variability/searches", study: "variability", runs: []model.RunData{one, last}, sources: []string{"early", "late"}})
	return out
}
