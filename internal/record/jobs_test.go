package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestJobs: a job's means are over nodes and trials, of fleets of one size.
func TestJobs(t *testing.T) {
	var data model.RunData
	for i, times := range [][]float64{{1}, {2, 4}, {3, 7}} {
		s := model.Step{ID: model.StepID(rune('a' + i)), Number: i, Workload: "w", Phase: model.Parallel, Trial: 1,
			State: model.StepComplete, Attempt: 1}
		for j, value := range times {
			task := model.Task{ID: model.TaskID(s.ID) + model.TaskID(rune('0'+j)), Node: model.NodeID(rune('x' + j))}
			s.Tasks = append(s.Tasks, task)
			data.Results = append(data.Results, model.Result{Task: task.ID, Step: s.ID, Node: task.Node, Attempt: 1,
				Outcome: model.OutcomeOK, Samples: []model.Sample{{Metric: "jobs_get", Unit: "s", Value: value, Info: true},
					{Metric: "jobs_retries", Unit: "1", Info: true}}})
		}
		data.Steps = append(data.Steps, s)
	}
	got := jobsOf(observe.Of(data))
	want := []jobView{{"w", model.Parallel, 1, map[string]float64{"get": 1}},
		{"w", model.Parallel, 2, map[string]float64{"get": 4}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if rows := jobsTable(got).Rows; len(rows) != 2 || len(rows[0].Cells) != 3+len(jobColumns) {
		t.Errorf("rows %+v", rows)
	}
}
