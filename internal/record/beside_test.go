package record

import (
	"math/rand/v2"
	"slices"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// infoRun has one serial and one parallel step of two tasks each.
func infoRun(fill func(phase model.Phase, task int, r *model.Result)) *observe.Run {
	var d model.RunData
	for i, phase := range []model.Phase{model.Serial, model.Parallel} {
		s := model.Step{ID: model.NewStepID("r", i), Phase: phase, Workload: "w", Trial: 1, State: model.StepComplete, Attempt: 1}
		for k := range 2 {
			task := model.Task{ID: model.NewTaskID(s.ID, k), Node: nodeName(k)}
			s.Tasks = append(s.Tasks, task)
			r := model.Result{Step: s.ID, Task: task.ID, Node: task.Node, Attempt: 1, Outcome: model.OutcomeOK}
			fill(phase, k, &r)
			d.Results = append(d.Results, r)
		}
		d.Steps = append(d.Steps, s)
	}
	return observe.Of(d)
}

// TestHistogramsAreMergedExactly: percentiles are those of all values together: what one histogram of all of
// them says, not the mean of what each says.
func TestHistogramsAreMergedExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	all := hdr.New(1, 60_000_000, 3)
	run := infoRun(func(phase model.Phase, task int, r *model.Result) {
		h := hdr.New(1, []int64{1_000_000, 60_000_000}[task], 3) // of different ranges
		for range 5000 {
			v := int64(100 + rng.ExpFloat64()*[]float64{200, 9000}[task])
			if err := h.RecordValue(v); err != nil {
				t.Fatal(err)
			}
			if phase == model.Parallel {
				if err := all.RecordValue(v); err != nil {
					t.Fatal(err)
				}
			}
		}
		encoded, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		r.Histograms = []model.Histogram{{Metric: "rtt", Unit: "us", Encoded: string(encoded)}}
	})
	merged, keys := mergedHistograms(run, "w")
	if want := []histogramKey{{"rtt", "us", model.Serial}, {"rtt", "us", model.Parallel}}; !slices.Equal(keys, want) {
		t.Fatalf("keys = %v, want %v", keys, want)
	}
	got := merged[keys[1]].h
	for _, q := range []float64{50, 90, 99, 99.9, 100} {
		if g, w := got.ValueAtPercentile(q), all.ValueAtPercentile(q); g != w {
			t.Errorf("p%v = %d, want %d, that of all values", q, g, w)
		}
	}
	if got.TotalCount() != all.TotalCount() {
		t.Errorf("%d values, want %d", got.TotalCount(), all.TotalCount())
	}
}

// TestBrokenHistogramIsTold: a histogram that cannot be read is told, and does not spoil the others.
func TestBrokenHistogramIsTold(t *testing.T) {
	run := infoRun(func(_ model.Phase, task int, r *model.Result) {
		h := histogramOf("rtt", "us", rand.New(rand.NewPCG(1, 1)), 300, 100)
		if task == 1 {
			h.Encoded = h.Encoded[:len(h.Encoded)/2]
		}
		r.Histograms = []model.Histogram{h}
	})
	table, notes := histogramTable(run, "w")
	if table == nil || len(table.Rows) != 2 || table.Rows[0].Cells[2].Lines[0] != "100" {
		t.Fatalf("table = %+v, want a row of 100 values for each phase", table)
	}
	want := []string{
		"rtt, serial: 1 histogram could not be read and are not part of the percentiles.",
		"rtt, parallel: 1 histogram could not be read and are not part of the percentiles.",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes differ (-want +got):\n%s", diff)
	}
}

func TestInfoCells(t *testing.T) {
	for _, c := range []struct {
		metric, unit string
		values       []float64
		want         []string
	}{
		{"network_errors", "1", []float64{0, 0}, []string{"0"}},
		{"network_errors", "1", []float64{0, 3}, []string{"1.5", "[0 .. 3]"}},
		{"latency", "us", []float64{1500, 2500}, []string{"2.00 ms", "[1.50 .. 2.50]"}},
		{"rtt_p99", "us", []float64{1500, 2500}, []string{"[1.50 .. 2.50] ms"}},
		{"sysbench_cpu_latency_p95", "ms", []float64{1, 2}, []string{"[1 .. 2] ms"}},
		{"rtt_p99", "us", nil, []string{"n/a"}},
	} {
		got := infoCell(c.metric, fineScale(c.unit, c.values...), c.values).Lines
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("infoCell(%s, %v %s) differs (-want +got):\n%s", c.metric, c.values, c.unit, diff)
		}
	}
}

// TestInfoIsBesideTheCapacity: what describes a trial never gets an index, and what serves never counts.
func TestInfoIsBesideTheCapacity(t *testing.T) {
	run := infoRun(func(phase model.Phase, task int, r *model.Result) {
		v := map[model.Phase]float64{model.Serial: 100, model.Parallel: 300}[phase]
		r.Samples = []model.Sample{{Metric: "rate", Unit: "op/s", Value: 5}, {Metric: "rtt", Unit: "us", Value: v + 20*float64(task), Info: true}}
	})
	got := infoTable(run, "w")
	var heads []string
	for _, c := range got.Columns {
		heads = append(heads, c.Key)
	}
	if diff := cmp.Diff([]string{"metric", "serial", "parallel"}, heads); diff != "" {
		t.Errorf("columns differ (-want +got):\n%s", diff)
	}
	if len(got.Rows) != 1 {
		t.Fatalf("%d rows, want that of rtt alone", len(got.Rows))
	}
	for i, want := range []string{"rtt", "110.0 µs", "310.0 µs"} {
		if g := got.Rows[0].Cells[i].Lines[0]; g != want {
			t.Errorf("cell %d = %q, want %q", i, g, want)
		}
	}
	kinds := infoRun(func(phase model.Phase, _ int, r *model.Result) {
		for i, kind := range []string{"timeout", "slow_down", "server"} {
			v := map[bool]float64{true: 19}[i == 1 && phase == model.Parallel]
			r.Samples = append(r.Samples, model.Sample{Metric: "objectstore_errors", Unit: "1", Value: v,
				Labels: map[string]string{"kind": kind}, Info: true})
		}
	})
	for _, row := range infoTable(kinds, "w").Rows {
		want := map[bool]string{true: "19", false: "0"}[row.Cells[0].Lines[0] == "objectstore_errors{kind=slow_down}"]
		if got := row.Cells[2].Lines[0]; got != want {
			t.Errorf("%s: %s errors, want %s: kinds are not one metric", row.Cells[0].Lines[0], got, want)
		}
	}
	if infoTable(run, "other") != nil {
		t.Error("a workload without information has a table of it")
	}
}
