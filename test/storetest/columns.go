package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// oddMetrics are names that a key of an index could not hold, or that could be
// taken for something else.
var oddMetrics = []string{"", strings.Repeat("long", 2000), strings.Repeat("long", 2000) + "er", "a\x00b", "\xff",
	"sha256:1", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} // the last is that of the first

// startColumns stores two runs. The first has a step with two attempts and
// results with odd and repeated metrics.
func startColumns(t *testing.T, e env) Fixture {
	f, other := New(1, 3, 4), New(2, 3, 4)
	for _, f := range []Fixture{f, other} {
		e.start(t, f)
		for i, r := range f.Results() {
			if i == 4 {
				for j, name := range oddMetrics {
					r.Series = append(r.Series, model.Series{Metric: name, Unit: "op", Offsets: []int64{1, 2}, Values: []float64{float64(j), 7}})
					r.Histograms = append(r.Histograms, model.Histogram{Metric: "latency", Second: j + 1, Encoded: name})
				}
				r.Host = append(r.Host, r.Host[1], r.Host[0])
			}
			if i == 5 {
				r.Series, r.Host, r.Histograms = nil, nil, nil
			}
			e.put(t, r)
		}
	}
	_, err := e.s.BeginAttempt(e.ctx, f.Steps[1].ID)
	must(t, err)
	e.put(t, f.Result(1, 2, 2))
	return f
}

// testHeads: heads are the run without what is large, alone or all, and with
// what was printed.
func testHeads(t *testing.T, e env) {
	f := startColumns(t, e)
	for from := range len(f.Steps) + 1 {
		want, err := e.s.DataFrom(e.ctx, f.Run.ID, from)
		must(t, err)
		for i := range want.Results {
			r := &want.Results[i]
			r.Series, r.Host, r.Histograms = nil, nil, nil
		}
		if from == 0 {
			got, err := e.s.Printed(e.ctx, f.Run.ID)
			must(t, err)
			diff(t, "heads with what was printed", want, got)
		}
		for i := range want.Results {
			r := &want.Results[i]
			r.Stdout.Text, r.Stderr.Text = "", ""
			got, err := e.s.Head(e.ctx, r.Task, r.Attempt)
			must(t, err)
			diff(t, "one head", *r, got)
		}
		got, err := e.s.Heads(e.ctx, f.Run.ID, from)
		must(t, err)
		diff(t, fmt.Sprintf("heads from step %d on", from), want, got)
	}
	events, err := e.s.Events(e.ctx, f.Run.ID)
	if whole, werr := e.s.Data(e.ctx, f.Run.ID); err != nil || werr != nil || !reflect.DeepEqual(events, whole.Events) {
		t.Errorf("Events = %v, %v; Data has %v, %v", events, err, whole.Events, werr)
	}
	if _, err := e.s.Events(e.ctx, "another"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("Events of another run: %v, want model.ErrNotFound", err)
	}
	if _, err := e.s.Heads(e.ctx, "another", 0); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("Heads of a run that does not exist: %v, want model.ErrNotFound", err)
	}
}

// testColumns: what is read column by column is what Data has.
func testColumns(t *testing.T, e env) {
	f := startColumns(t, e)
	d := e.data(t, e.s, f.Run.ID)
	selections := []store.Selection{
		{},
		{Metrics: []string{"throughput"}},
		{Metrics: []string{"written", "cpu.user", "throughput", "latency", "net.rx_bytes", "written"}},
		{Metrics: oddMetrics},
		{Metrics: []string{"nothing has this"}},
		{Metrics: []string{}},
		{Metrics: []string{"cpu.user", "first_byte", ""}},
	}
	for _, sel := range selections {
		compareColumns(t, "series", sel, d, e.s.Series(e.ctx, f.Run.ID, sel),
			func(r model.Result) []model.Series { return r.Series }, func(x model.Series) string { return x.Metric })
		compareColumns(t, "host series", sel, d, e.s.Host(e.ctx, f.Run.ID, sel),
			func(r model.Result) []model.HostSeries { return r.Host }, func(x model.HostSeries) string { return x.Metric })
		compareColumns(t, "histograms", sel, d, e.s.Histograms(e.ctx, f.Run.ID, sel),
			func(r model.Result) []model.Histogram { return r.Histograms }, func(x model.Histogram) string { return x.Metric })
	}
}

// compareColumns wants what a selection has of d, in the order of its results.
func compareColumns[T any](t *testing.T, what string, sel store.Selection, d model.RunData,
	columns iter.Seq2[store.Column[T], error], of func(model.Result) []T, metric func(T) string) {
	t.Helper()
	var want, got []store.Column[T]
	for _, r := range d.Results {
		list := slices.Clone(of(r))
		slices.SortStableFunc(list, func(a, b T) int { return strings.Compare(metric(a), metric(b)) })
		for _, x := range list {
			if sel.Metrics == nil || slices.Contains(sel.Metrics, metric(x)) {
				want = append(want, store.Column[T]{Task: r.Task, Attempt: r.Attempt, Value: x})
			}
		}
	}
	for x, err := range columns {
		must(t, err)
		got = append(got, x)
	}
	// Names that are no keys of an index come in an order of their own.
	for from := 0; from < len(got); {
		to := from
		for to < len(got) && got[to].Task == got[from].Task && got[to].Attempt == got[from].Attempt {
			to++
		}
		slices.SortStableFunc(got[from:to], func(a, b store.Column[T]) int { return strings.Compare(metric(a.Value), metric(b.Value)) })
		from = to
	}
	diff(t, fmt.Sprintf("%s of %v", what, sel), want, got)
}

// testColumnsEnd: a loop over columns can be left, can read more, and tells
// why it ended.
func testColumnsEnd(t *testing.T, e env) {
	f := startColumns(t, e)
	for range 20 { // more than there are connections
		for _, err := range e.s.Host(e.ctx, f.Run.ID, store.Selection{}) {
			must(t, err)
			if _, err := e.s.Heads(e.ctx, f.Run.ID, 0); err != nil {
				t.Errorf("Heads within a loop: %v", err)
			}
			break
		}
	}
	ends := func(ctx context.Context, what string, id model.RunID, kind error) {
		t.Helper()
		var last error
		n := 0
		for _, err := range e.s.Series(ctx, id, store.Selection{}) {
			last = err
			n++
		}
		if !errors.Is(last, kind) || n != 1 {
			t.Errorf("%s: the loop had %d turns and ended with %v, want %v", what, n, last, kind)
		}
	}
	ends(e.ctx, "no such run", "another", model.ErrNotFound)
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	ends(ctx, "cancelled", f.Run.ID, context.Canceled)
	must(t, e.s.Close())
	ends(e.ctx, "closed", f.Run.ID, model.ErrUnavailable)
}
