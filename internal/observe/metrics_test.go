package observe

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// measured is a run of one workload: a step for each of the lists; its tasks
// reported these samples.
func measured(steps ...[]reported) *Run {
	data := model.RunData{Run: model.Run{ID: "R"}}
	for i, tasks := range steps {
		s := model.Step{ID: model.StepID(rune('a' + i)), Number: i, Phase: model.Parallel, Workload: "w", Trial: i + 1, State: model.StepComplete, Attempt: 1}
		for j, t := range tasks {
			task := model.Task{ID: model.TaskID(s.ID) + model.TaskID(rune('0'+j)), Node: t.node, Spec: model.Spec{Workload: "w", Subject: t.subject, Role: t.role}}
			outcome := model.OutcomeOK
			if t.failed {
				outcome = model.OutcomeFailed
			}
			s.Tasks = append(s.Tasks, task)
			data.Results = append(data.Results, model.Result{Task: task.ID, Step: s.ID, Node: t.node, Attempt: 1, Outcome: outcome, Samples: t.samples})
		}
		data.Steps = append(data.Steps, s)
	}
	return Of(data)
}

type reported struct {
	node    model.NodeID
	subject string
	role    model.Role
	failed  bool
	samples []model.Sample
}

func rate(v float64) []model.Sample {
	return []model.Sample{{Metric: "rate", Unit: "op/s", Better: model.Higher, Value: v}}
}

func TestMetrics(t *testing.T) {
	value := func(trial, active int, subject model.NodeID, v float64) Value {
		return Value{Phase: model.Parallel, Trial: trial, Step: trial - 1, Active: active, Subject: subject, Value: v}
	}
	rates := Metric{Workload: "w", Name: "rate", Unit: "op/s", Better: model.Higher}
	for _, c := range []struct {
		name    string
		run     *Run
		values  []Value
		leftOut []string
	}{
		{"by step and subject", measured([]reported{{node: "n2", samples: rate(2)}, {node: "n1", samples: rate(1)}}, []reported{{node: "n1", samples: rate(3)}}),
			[]Value{value(1, 2, "n1", 1), value(1, 2, "n2", 2), value(2, 1, "n1", 3)}, nil},
		{"a pair is the sum of its ends", measured([]reported{{node: "n1", subject: "n1+n2", samples: rate(5)}, {node: "n2", subject: "n1+n2", samples: rate(7)}}),
			[]Value{value(1, 1, "n1+n2", 12)}, nil},
		{"half of a pair does not count", measured([]reported{{node: "n1", subject: "n1+n2", samples: rate(5)}, {node: "n2", subject: "n1+n2"}, {node: "n3", samples: rate(4)}}),
			[]Value{value(1, 2, "n3", 4)}, []string{"parallel, trial 1: rate on n2: it reported rate 0 times instead of once"}},
		{"who serves is not measured", measured([]reported{{node: "n1", samples: rate(5)}, {node: "n2", role: model.RoleServe}}),
			[]Value{value(1, 1, "n1", 5)}, nil},
		{"twice, failed, in another unit, no number", measured([]reported{
			{node: "n0", samples: rate(1)},
			{node: "n1", samples: append(rate(5), rate(5)...)},
			{node: "n2", failed: true, samples: rate(5)},
			{node: "n3", samples: []model.Sample{{Metric: "rate", Unit: "op", Better: model.Higher, Value: 1}}},
			{node: "n4", samples: rate(math.Inf(1))},
		}), []Value{value(1, 5, "n0", 1)}, []string{
			"parallel, trial 1: rate on n1: it reported rate 2 times instead of once",
			"parallel, trial 1: rate on n2: it ended as failed",
			`parallel, trial 1: rate on n3: it reported rate in "op" (better: higher) where others report "op/s" (better: higher)`,
			"parallel, trial 1: rate on n4: it is +Inf",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := rates
			want.Values = c.values
			got := slices.Clone(c.run.Metrics())
			var left []string
			Caveats.Fill(caveat.Subject{Workload: "w"}, got[0].LeftOut)
			for _, d := range caveat.Doubts(got[0].LeftOut) {
				left = append(left, d.Text)
			}
			got[0].LeftOut = nil
			if diff := cmp.Diff([]Metric{want}, got); diff != "" {
				t.Errorf("Metrics() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.leftOut, left); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// The ends of a pair share a latency; they do not add it up.
func TestMetricsMeanOfEnds(t *testing.T) {
	rtt := func(v float64) []model.Sample {
		return []model.Sample{{Metric: "rtt", Unit: "us", Better: model.Lower, Info: true, Value: v}}
	}
	run := measured([]reported{{node: "n1", subject: "n1+n2", samples: rtt(10)}, {node: "n2", subject: "n1+n2", samples: rtt(30)}})
	if got := run.Metrics()[0].Values[0].Value; got != 20 {
		t.Errorf("the pair's rtt is %v, want the mean of 10 and 30", got)
	}
}

func TestMetricsNamed(t *testing.T) {
	run := measured([]reported{{node: "n1", samples: []model.Sample{
		{Metric: "score", Better: model.Higher, Value: 1, Labels: map[string]string{"test": "pipe", "n": "1"}},
		{Metric: "score", Better: model.Higher, Value: 2, Labels: map[string]string{"test": "fork"}},
		{Metric: "late", Better: model.Lower, Value: 3, Info: true},
	}}})
	for name, want := range map[string][]string{
		"":                      {"score{n=1,test=pipe}", "score{test=fork}"},
		"score":                 {"score{n=1,test=pipe}", "score{test=fork}"},
		"score{n=1,test=pipe}":  {"score{n=1,test=pipe}"},
		"late":                  {"late"},
		"scor":                  nil,
		"score{test=pipe,n=1}}": nil,
	} {
		metrics, err := run.MetricsNamed("metric", name)
		var got []string
		for _, m := range metrics {
			got = append(got, m.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) || err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("MetricsNamed(%q): error %v, names (-want +got):\n%s", name, err, diff)
		}
	}
	const want = `of: run R has no metric "scor"; it has score{n=1,test=pipe}, score{test=fork}, late`
	if _, err := run.MetricsNamed("of", "scor"); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if _, err := measured().MetricsNamed("of", ""); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a run without metrics: error %v, want ErrUsage", err)
	}
}

// Trials are averaged by subject; steps of fewer subjects are another treatment.
func TestSubjectsOfPhase(t *testing.T) {
	run := measured(
		[]reported{{node: "n1", samples: rate(1)}, {node: "n2", samples: rate(10)}},
		[]reported{{node: "n1", samples: rate(3)}, {node: "n2", samples: rate(20)}},
		[]reported{{node: "n1", samples: rate(1000)}},
	)
	names, means := run.Metrics()[0].Subjects(model.Parallel)
	if diff := cmp.Diff([]model.NodeID{"n1", "n2"}, names) + cmp.Diff([]float64{2, 15}, means); diff != "" {
		t.Errorf("Subjects(parallel) (-want +got):\n%s", diff)
	}
	if names, _ := run.Metrics()[0].Subjects(model.Serial); names != nil {
		t.Errorf("Subjects(serial) = %v, want none", names)
	}
}
