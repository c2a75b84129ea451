package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestFailure: a search that ended before its first window says what its
// generator found, not that a generator failed; what other tasks and earlier
// attempts say does not count.
func TestFailure(t *testing.T) {
	step := model.Step{
		ID: "s", Workload: "w", Trial: 1, Phase: model.Search, State: model.StepInvalid, Attempt: 2, Reason: "node a: lost: gone",
		Tasks: []model.Task{{Node: "a"}, {Node: "b"}},
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
		found, err := Find(model.RunData{Steps: []model.Step{step}, Results: c.results}, map[string]Config{"w": searchConfig(t)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := found[0].Result
		if r.Failure != c.want || len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0], ": "+c.want) {
			t.Errorf("%s: %q, warnings %q; want %q alone", c.name, r.Failure, r.Warnings, c.want)
		}
	}
}

func searchConfig(t *testing.T) Config {
	t.Helper()
	c := Defaults()
	var err error
	if c.SLA, err = ParseSLA("p90=100ms"); err != nil {
		t.Fatal(err)
	}
	c.WarmUp, c.Scored = time.Second, time.Second
	return c
}
