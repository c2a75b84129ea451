package capacity

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestFailure: a search that ended before its first window says what its
// generator found, not that a generator failed; what other tasks and earlier
// attempts say does not count.
func TestFailure(t *testing.T) {
	spec := model.Spec{Kind: "load", Params: map[string]any{"target": "http://a.test/", "sla": "p90=100ms"}}
	step := model.Step{
		ID: "s", Workload: "w", Trial: 1, Phase: model.Search, State: model.StepInvalid, Attempt: 2, Reason: "node a: lost: gone",
		Tasks: []model.Task{{Node: "a", Spec: spec}, {Node: "b", Spec: spec}},
	}
	results := []model.Result{
		{Step: "s", Attempt: 1, Outcome: model.OutcomeFailed, Error: "preparing: unavailable: not yet"},
		{Step: "other", Attempt: 2, Outcome: model.OutcomeFailed, Error: "preparing: unavailable: another"},
		{Step: "s", Attempt: 2, Outcome: model.OutcomeCancelled, Error: "another task of the step ended early"},
	}
	const silent = "the target answered none of 5 requests"
	answered := append(results, model.Result{Step: "s", Attempt: 2, Outcome: model.OutcomeFailed, Error: "preparing: unavailable: " + silent})
	for _, c := range []struct {
		name    string
		results []model.Result
		want    string
	}{
		{"no answer", answered, silent},
		{"a lost node", results, step.Reason},
	} {
		found, err := newStudy().searchesOf(observe.Of(model.RunData{Steps: []model.Step{step}, Results: c.results}))
		if err != nil {
			t.Fatal(err)
		}
		r := found[0].Answer
		if r.Failure != c.want || len(r.Warnings()) != 1 || !strings.HasSuffix(r.Warnings()[0], ": "+c.want) {
			t.Errorf("%s: %q, warnings %q; want %q alone", c.name, r.Failure, r.Warnings(), c.want)
		}
	}
}

// TestUnderWay: a search that is not over is under way as long as its run is,
// and stopped where that is not.
func TestUnderWay(t *testing.T) {
	x := begin(t, setup(1, "web"))
	x.run(t, capacityServer{730}, 2)
	for state, want := range map[model.RunState]string{
		model.RunPending:     "the search is under way: 2 windows so far",
		model.RunRunning:     "the search is under way: 2 windows so far",
		model.RunInterrupted: "the search was stopped after 2 windows, before it was complete: resume it",
		model.RunCancelled:   "the search was stopped after 2 windows, before it was complete: resume it",
	} {
		x.data.Run.State = state
		found, err := asked().searchesOf(observe.Of(x.data))
		if err != nil {
			t.Fatal(err)
		}
		if got := found[0].Answer.Warnings(); len(got) == 0 || got[0] != want {
			t.Errorf("%s: warnings %q, want %q first", state, got, want)
		}
	}
}

// TestStoredSLA: what a new file may not have, runs that are stored may.
func TestStoredSLA(t *testing.T) {
	for _, text := range []string{"p90=150ms,errors=0.1", "p90=150ms,p90=100ms"} {
		entry := map[string]any{"target": "http://a.test/", "sla": text}
		if c, _, err := newStudy().configFor(entry, "load"); err != nil || len(c.SLA.Terms) < 2 {
			t.Errorf("the SLA %q of a stored task: %v, %v", text, c.SLA, err)
		}
		asked := newStudy()
		asked.SLA = text
		if err := asked.Validate(); err == nil {
			t.Errorf("the SLA %q of a file is accepted", text)
		}
	}
}
