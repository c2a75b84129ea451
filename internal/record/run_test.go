package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestBatchOutcomes: of a job that was tried again only the last attempt counts.
func TestBatchOutcomes(t *testing.T) {
	step := model.Step{ID: "s", Phase: model.Batch, State: model.StepRunning, Attempt: 2, Tasks: make([]model.Task, 2)}
	v := NewOverview(observe.Of(model.RunData{Steps: []model.Step{step}, Results: []model.Result{
		{Step: "s", Task: "a", Attempt: 1, Outcome: model.OutcomeOK},
		{Step: "s", Task: "b", Attempt: 1, Outcome: model.OutcomeLost},
		{Step: "s", Task: "b", Attempt: 2, Outcome: model.OutcomeFailed},
	}}))
	want := map[model.Outcome]int{model.OutcomeOK: 1, model.OutcomeFailed: 1}
	if diff := cmp.Diff(want, v.Steps[0].Outcomes); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if len(v.Failed) != 2 || !v.Failed[0].Retried || v.Failed[1].Retried {
		t.Errorf("failed = %+v, want the lost attempt as tried again and the failed one not", v.Failed)
	}
}

// TestServingTasksAreNotMeasured: tasks that only serve are no part of what was
// at work at once.
func TestServingTasksAreNotMeasured(t *testing.T) {
	s := model.Step{ID: "s", Phase: model.Parallel, Tasks: []model.Task{
		{ID: "a", Node: "n1", Spec: model.Spec{Subject: "n1>n2"}}, {ID: "b", Node: "n2", Spec: model.Spec{Subject: "n1>n2", Role: model.RoleServe}},
		{ID: "c", Node: "n3"},
	}}
	v := newStepView(s, []model.Result{
		{Step: "s", Task: "a", Started: day, Ended: day.Add(10e9), Outcome: model.OutcomeOK},
		{Step: "s", Task: "b", Started: day.Add(-5e9), Ended: day.Add(30e9), Outcome: model.OutcomeOK},
	})
	if v.Seconds == nil || *v.Seconds != 10 || *v.SkewMS != 0 {
		t.Errorf("step took %v s with a skew of %v ms, want 10 and 0", *v.Seconds, *v.SkewMS)
	}
	if v.Outcomes[model.OutcomeOK] != 2 {
		t.Errorf("%d tasks ended well, want both", v.Outcomes[model.OutcomeOK])
	}
}

// TestNodeFacts: nodes that are not alike are told by what they differ, and the
// exceptions are marked.
func TestNodeFacts(t *testing.T) {
	var differ []model.Node
	for i := range 12 {
		differ = append(differ, fixture{nodes: 12}.node(i))
	}
	if got := differText(differ[:5]); got != "" {
		t.Errorf("differText of like nodes = %q, want nothing", got)
	}
	if got, want := differText(differ), "The nodes are not alike: they differ in CPU model, microcode"; got != want {
		t.Errorf("differText = %q, want %q", got, want)
	}
	var marked, same []string
	for _, b := range nodesSection(differ).Blocks {
		for _, f := range b.Fields {
			same = append(same, f.Label)
		}
		if b.Table == nil {
			continue
		}
		for _, row := range b.Table.Rows {
			for _, c := range row.Cells {
				if c.Tone == doc.Note {
					marked = append(marked, c.Lines...)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"AMD EPYC 9R14", "0xa101148"}, marked); diff != "" {
		t.Errorf("marked values differ (-want +got):\n%s", diff)
	}
	if !slices.Contains(same, "kernel") || slices.Contains(same, "CPU model") {
		t.Errorf("said once of all nodes: %q, want the kernel and not the CPU model", same)
	}
}

// TestState: a run that no study has anything to say of says how it stands.
func TestState(t *testing.T) {
	for state, want := range map[model.RunState]string{
		model.RunCancelled: "was cancelled", model.RunFailed: "failed", model.RunPending: "is not over", model.RunRunning: "is not over",
		model.RunInterrupted: "`scalebench resume`", model.RunDone: "no data that a study",
	} {
		if got := State(observe.Of(model.RunData{Run: model.Run{State: state}})); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", state, got, want)
		}
	}
	if got, want := State(observe.Of(batch())), "2 of 3 jobs ended as intended."; got != want {
		t.Errorf("a batch: %q, want %q", got, want)
	}
}

// TestTail: of what a task printed only the end is shown, without what steers a
// terminal.
func TestTail(t *testing.T) {
	if got := tail("  \n"); got == nil || len(got) != 0 {
		t.Errorf("tail of nothing = %#v, want an empty list, which JSON shows as one", got)
	}
	lines := tail(strings.Repeat("line\n", 20) + "a\tb\x1b[31m" + strings.Repeat("x", 500) + "\r\n")
	if len(lines) != stderrLines {
		t.Fatalf("%d lines, want %d", len(lines), stderrLines)
	}
	last := lines[len(lines)-1]
	if strings.ContainsAny(last, "\x1b\t\r") || len([]rune(last)) != longestLine+1 || !strings.HasSuffix(last, "…") {
		t.Errorf("the last line is %q", last)
	}
}
