package observe

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// shelf is a source of one result with host series a, b and c, which notes what
// was read.
type shelf struct {
	store.Columns
	asked [][]string
}

func (*shelf) Heads(context.Context, model.RunID, int) (model.RunData, error) {
	return model.RunData{
		Run:     model.Run{ID: "R"},
		Steps:   []model.Step{{ID: "s", State: model.StepComplete, Attempt: 1, Tasks: []model.Task{{ID: "t"}}}},
		Results: []model.Result{{Task: "t", Step: "s", Attempt: 1, Outcome: model.OutcomeOK}},
	}, nil
}

func (*shelf) Events(context.Context, model.RunID) ([]model.Event, error) { return nil, nil }

func (*shelf) Printed(context.Context, model.RunID) (model.RunData, error) {
	return model.RunData{}, nil
}

func (s *shelf) Host(_ context.Context, _ model.RunID, sel store.Selection) iter.Seq2[store.Column[model.HostSeries], error] {
	s.asked = append(s.asked, sel.Metrics)
	return func(yield func(store.Column[model.HostSeries], error) bool) {
		for _, m := range []string{"a", "b", "c"} {
			if sel.Metrics == nil || slices.Contains(sel.Metrics, m) {
				yield(store.Column[model.HostSeries]{Task: "t", Attempt: 1, Value: model.HostSeries{Metric: m}}, nil)
			}
		}
	}
}

// TestNeed: what was read is not read again, and whatever was read first, series
// stand in the order of their metrics, each once.
func TestNeed(t *testing.T) {
	source := &shelf{}
	run, err := Open(t.Context(), source, "R")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		need  []string
		has   string
		reads int
	}{
		{[]string{"c", "x"}, "c", 1}, {[]string{"c"}, "c", 1}, {[]string{"a", "c"}, "a c", 2}, {nil, "a b c", 3}, {[]string{"b"}, "a b c", 3}, {nil, "a b c", 3},
	} {
		if err := run.Need(Hosts, c.need...); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range run.Accepted("s")[0].Host {
			names = append(names, x.Metric)
		}
		if got := strings.Join(names, " "); got != c.has || len(source.asked) != c.reads {
			t.Errorf("after Need(%v): %q, read %d times; want %q and %d", c.need, got, len(source.asked), c.has, c.reads)
		}
	}
	if diff := cmp.Diff([][]string{{"c", "x"}, {"a"}, nil}, source.asked); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestChecksNameTheirMetrics: every check finds in what it names all that it
// needs.
func TestChecksNameTheirMetrics(t *testing.T) {
	for _, c := range checks {
		r := model.Result{Samples: []model.Sample{{Metric: model.MetricOtherCPU, Info: true, Value: 1}}, Started: day, Ended: day.Add(10e9)}
		for _, m := range slices.Concat(c.metrics, c.of) {
			r.Host = append(r.Host, model.HostSeries{Metric: m, Offsets: []int64{0, 10e9}, Values: []float64{1, 2000}})
		}
		if _, ok := c.seen(NewHost(r, day)); !ok {
			t.Errorf("%s: not known from %v", c.kind, c.metrics)
		}
	}
}
