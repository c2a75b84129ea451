package variability

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/frame"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/skip"
)

// many are frames of so many metrics that vary by 1 to 13 %.
func many(metrics, rows int) []frame.Frame {
	rng := rand.New(rand.NewPCG(5, 5))
	out := make([]frame.Frame, metrics)
	for i := range out {
		zone := frame.NewFact("zone")
		f := frame.Frame{Key: frame.Key{Metric: fmt.Sprintf("a_metric_with_a_usual_name_%d", i)}}
		for k := range rows {
			f.Values = append(f.Values, 100*(1+0.01*float64(1+i%13)*rng.NormFloat64()))
			f.Times = append(f.Times, int64(k)*int64(time.Hour))
			zone.Append(string(rune('a' + k/5%2)))
		}
		f.Facts = []frame.Fact{zone.Fact()}
		out[i] = f
	}
	return out
}

// TestMetricsBesideEachOther: what is found does not depend on how many processors
// look for it, each metric is told of, and all are in the JSON form.
func TestMetricsBesideEachOther(t *testing.T) {
	const metrics = 60
	frames := many(metrics, 30)
	ask := func() []byte {
		var told atomic.Int64
		r, err := New().Ask(t.Context(), study.Input{Progress: func(done, of int) {
			if told.Add(1); done < 1 || done > of || of != metrics {
				t.Errorf("progress: %d of %d", done, of)
			}
		}}, []study.Source{{Name: "many", Frames: frames}})
		if err != nil || told.Load() != metrics {
			t.Fatalf("%d metrics were told of, %v, want %d", told.Load(), err, metrics)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := ask()
	before := runtime.GOMAXPROCS(1)
	alone := ask()
	runtime.GOMAXPROCS(before)
	if !bytes.Equal(first, alone) {
		t.Error("several processors find something else than one")
	}
}

// TestAnalysisEnds: an answer that is no longer wanted ends at once, also in the
// middle of a metric.
func TestAnalysisEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var told atomic.Int64
	_, err := New().Ask(ctx, study.Input{Progress: func(int, int) {
		if told.Add(1) == 3 {
			cancel()
		}
	}}, []study.Source{{Name: "many", Frames: many(2000, 20)}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if n := told.Load(); n > 100 {
		t.Errorf("%d metrics were analysed after that", n)
	}
}

// TestPageOfManyMetrics: the page stays below 2 MB, and says what it leaves out.
func TestPageOfManyMetrics(t *testing.T) {
	some := many(mostSections+5, 60)
	r, err := New().Ask(t.Context(), study.Input{}, []study.Source{{Name: "many", Frames: some}})
	if err != nil {
		t.Fatal(err)
	}
	all := r.(*Result)
	for i := range 5000 - len(all.Metrics) { // analysing as many would take too long here
		m := all.Metrics[i]
		m.Metric = fmt.Sprintf("a_metric_with_a_usual_name_%d", len(all.Metrics))
		all.Metrics = append(all.Metrics, m)
	}
	all.Doubts = nil
	all.gather()
	var page bytes.Buffer
	if err := render.Write(&page, all.Document(), nil, render.FormatHTML, render.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 2_000_000 {
		t.Errorf("the page has %d bytes, want no more than 2 MB", page.Len())
	}
	for _, want := range []string{"These are the 1,000 of 5,000 metrics that vary most.", "The 15 that vary most have a section below."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := len(all.Document().Table().Rows); got != 5000 {
		t.Errorf("the table for programs has %d rows, want 5000", got)
	}
}

// TestManyFactsThatTellTheSame: all pairs are in the result, and the text stays
// readable.
func TestManyFactsThatTellTheSame(t *testing.T) {
	skip.IfShort(t)
	const facts = 80
	f := many(1, 500)[0]
	for i := range f.Values {
		f.Values[i] *= 1 + 0.5*float64(f.Facts[0].Codes[i])
	}
	for i := range facts - 1 {
		same := f.Facts[0]
		same.Name = fmt.Sprintf("zone%d", i)
		f.Facts = append(f.Facts, same)
	}
	r, err := New().Ask(t.Context(), study.Input{}, []study.Source{{Name: "facts", Frames: []frame.Frame{f}}})
	if err != nil {
		t.Fatal(err)
	}
	m := r.(*Result).Metrics[0]
	if want := facts * (facts - 1) / 2; len(m.Confounded) != want || len(m.Facts) < facts {
		t.Errorf("%d pairs and %d facts, want %d and %d", len(m.Confounded), len(m.Facts), want, facts)
	}
	var text bytes.Buffer
	if err := render.Write(&text, r.Document(), nil, render.FormatText, render.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3,155 more pairs of facts tell nearly the same", "or one of 74 others"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if lines := strings.Count(text.String(), "\n"); lines > 250 {
		t.Errorf("the text has %d lines", lines)
	}
}
