package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

func finding(workload string, nodes int, cdi, lo, hi float64, v model.Verdict) model.Finding {
	return model.Finding{
		Workload: workload, Metric: "rate", Nodes: nodes, CDI: &cdi, CI: &model.Interval{lo, hi}, Verdict: v,
	}
}

func TestSummary(t *testing.T) {
	bad := finding("cpu", 4, 75, 74, 76, model.VerdictDegraded)
	worse := finding("disk", 20, 90.4, 89, 92, model.VerdictDegraded)
	fine := finding("memory", 4, 0.2, -1.1, 1.5, model.VerdictNone)
	better := finding("network", 4, -8, -9, -7, model.VerdictGain)
	unknown := model.Finding{Workload: "io", Metric: "rate", Nodes: 2, Verdict: model.VerdictUnknown, Warnings: []string{"only 2 nodes."}}
	job := model.RunData{
		Run:     model.Run{Kind: model.KindBatch, State: model.RunDone},
		Steps:   []model.Step{{ID: "s", Phase: model.Batch, State: model.StepComplete, Attempt: 1, Tasks: make([]model.Task, 2)}},
		Results: []model.Result{{Step: "s", Task: "a", Attempt: 1, Outcome: model.OutcomeOK}, {Step: "s", Task: "b", Attempt: 1, Outcome: model.OutcomeFailed}},
	}
	for _, c := range []struct {
		name     string
		data     model.RunData
		findings []model.Finding
		want     []string
	}{
		{"one degraded", model.RunData{}, []model.Finding{bad}, []string{
			"cpu rate: when all 4 nodes work at once, each node loses 75.0 % of its capacity (95 % interval 74.0 to 76.0 %).",
			"Together the 4 nodes do the work of 1.0 node.",
		}},
		{"one of two", model.RunData{}, []model.Finding{fine, bad}, []string{
			"One of 2 metrics degrades: when all 4 nodes work at once, each node loses 75.0 % of its capacity (95 % interval 74.0 to 76.0 %) in cpu rate.",
			"Together the 4 nodes do the work of 1.0 node.",
			"No loss was found for memory rate.",
		}},
		{"the worst leads", model.RunData{}, []model.Finding{bad, worse, better, unknown}, []string{
			"2 of 4 metrics degrade when nodes work at once. The worst is disk rate: with 20 nodes, each node loses 90.4 % of its capacity (95 % interval 89.0 to 92.0 %).",
			"Together the 20 nodes do the work of 1.9 nodes.",
			"Capacity per node is higher at once than alone for network rate: look for what the serial evaluation suffered from.",
			"The measurement does not allow a verdict on io rate: only 2 nodes.",
		}},
		{"no loss", model.RunData{}, []model.Finding{fine}, []string{
			"No loss of capacity was found when all 4 nodes work at once; a loss of up to 1.5 % is not excluded (upper end of the 95 % interval).",
		}},
		{"unknown", model.RunData{}, []model.Finding{unknown}, []string{
			"The measurement does not allow a verdict: only 2 nodes.",
		}},
		{"a verdict without a number", model.RunData{}, []model.Finding{{Workload: "x", Verdict: model.VerdictDegraded}}, []string{
			"The measurement does not allow a verdict; the warnings say why.",
		}},
		{"cancelled", model.RunData{Run: model.Run{State: model.RunCancelled, Reason: "by ana."}}, nil, []string{
			"This run was cancelled before a degradation could be computed.", "Reason: by ana.",
		}},
		{"nothing to compare", model.RunData{Run: model.Run{State: model.RunDone}}, nil, []string{
			"This run has no complete pair of a serial and a parallel evaluation: no degradation can be computed.",
		}},
		{"batch", job, nil, []string{"1 of 2 jobs ended as intended."}},
	} {
		if diff := cmp.Diff(c.want, Summary(c.data, c.findings)); diff != "" {
			t.Errorf("%s: Summary differs (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestBarsGeometry(t *testing.T) {
	var b strings.Builder
	fs := []model.Finding{
		finding("a", 4, 100, 100, 100, model.VerdictDegraded), finding("b", 4, 0, 0, 0, model.VerdictNone),
		{Workload: "c", Metric: "rate", Verdict: model.VerdictUnknown},
	}
	if err := Bars(&b, fs, Options{Width: 80, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	full := strings.Count(lines[0], "#") + strings.Count(lines[0], "=")
	if axis := strings.Index(lines[3], "100 %") + len("100 %") - strings.Index(lines[3], "0"); full != axis-1 {
		t.Errorf("a bar of 100 %% has %d cells, the axis %d:\n%s", full, axis-1, b.String())
	}
	for _, line := range lines[1:3] {
		if strings.ContainsAny(line, "#=") || !strings.Contains(line, "|") {
			t.Errorf("want the zero line and no bar: %q", line)
		}
	}
}

// Jobs of a batch are tried again each by itself: the step's outcomes count
// the last attempt at each.
func TestBatchOutcomes(t *testing.T) {
	step := model.Step{ID: "s", Phase: model.Batch, State: model.StepRunning, Attempt: 2, Tasks: make([]model.Task, 2)}
	d := model.RunData{Steps: []model.Step{step}, Results: []model.Result{
		{Step: "s", Task: "a", Attempt: 1, Outcome: model.OutcomeOK},
		{Step: "s", Task: "b", Attempt: 1, Outcome: model.OutcomeLost},
		{Step: "s", Task: "b", Attempt: 2, Outcome: model.OutcomeFailed},
	}}
	v := newOverview(d)
	want := map[model.Outcome]int{model.OutcomeOK: 1, model.OutcomeFailed: 1}
	if diff := cmp.Diff(want, v.Steps[0].Outcomes); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if len(v.Failed) != 2 || !v.Failed[0].Retried || v.Failed[1].Retried {
		t.Errorf("failed = %+v, want the lost attempt as tried again and the failed one not", v.Failed)
	}
}
