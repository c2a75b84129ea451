package compare

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// TestDisturbed: a verdict that only disturbed rows carry is unknown, with both
// numbers; one that stands without them is kept, and the node's own CPU limit is no
// disturbance.
func TestDisturbed(t *testing.T) {
	// by has a row for each value: those from the n-th on are disturbed, with n = -1
	// two of three, and their values have the factor.
	by := func(kind string, values []float64, n int, factor float64) (out []row) {
		for i, v := range values {
			facts := map[string]string{frame.FactDisturbed: "no"}
			if n >= 0 && i >= n || n < 0 && i%3 > 0 {
				facts[frame.FactDisturbed], v = kind, v*factor
			}
			out = append(out, row{at: math.NaN(), value: v, facts: facts})
		}
		return out
	}
	long := append(some[:8:8], 101.5, 99.8, 100.3, 98.9, 102.6, 100.1)
	for name, c := range map[string]struct {
		a, b  []row
		want  Verdict
		gate  error
		words string
	}{
		"the disturbed carry it":     {by("no", long, 14, 1), by("others, steal", long, -1, .5), Unknown, model.ErrInvalid, "with all rows worse (-"},
		"and the others tell":        {by("no", long, 14, 1), by("others, steal", long, -1, .5), Unknown, model.ErrInvalid, "without the 9 that were disturbed unclear ("},
		"without them too":           {by("no", other, 8, 1), by("steal", some, 7, .9), Worse, model.ErrThreshold, ""},
		"all of one side":            {by("no", other, 8, 1), by("pause", some, 0, 1), Unknown, model.ErrInvalid, "something disturbed all that was measured of B, and at most half of that of A"},
		"all of the other":           {by("pause", other, 0, 1), by("pause", some, 4, 1), Unknown, model.ErrInvalid, "of A, and at most half of that of B"},
		"all of one, most of both":   {by("pause", other, 2, 1), by("pause", some, 0, 1), Worse, model.ErrThreshold, ""},
		"all of both":                {by("pause", other, 0, 1), by("steal", some, 0, 1), Worse, model.ErrThreshold, ""},
		"its own limit":              {by("no", other, 8, 1), by("throttled", some, 0, 1), Worse, model.ErrThreshold, ""},
		"its own limit and another":  {by("no", other, 8, 1), by("steal, throttled", some, 0, 1), Unknown, model.ErrInvalid, "of B, and at most half of that of A"},
		"most of one side":           {by("no", other, 8, 1), by("steal", some, 1, 1), Unknown, model.ErrInvalid, "too little is left without that (8 + 1 values)"},
		"most of both":               {by("steal", other, 1, 1), by("steal", some, 2, 1), Worse, model.ErrThreshold, ""},
		"unclear, and clear without": {by("no", other, 8, 1), by("steal", some, -1, 1.3), Unknown, model.ErrInvalid, "disturbed worse"},
	} {
		p, five := New(), study.Percent(5)
		p.FailWorse = &five
		res, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "A", Frames: []frame.Frame{table("x", c.a)}}, {Name: "B", Frames: []frame.Frame{table("x", c.b)}}})
		if err != nil {
			t.Fatal(err)
		}
		r := res.(*Result)
		got := r.Comparisons[0]
		if said := strings.Join(got.Warnings, "; "); got.Verdict != c.want || !strings.Contains(said, c.words) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.Verdict, said, c.want, c.words)
		}
		if got := r.Gate(); !errors.Is(got, c.gate) {
			t.Errorf("%s: gate %v, want %v", name, got, c.gate)
		}
	}
}

// TestDoubtsOfASplit: what is known of a whole source is not said of each part.
func TestDoubtsOfASplit(t *testing.T) {
	var all []row
	for i, v := range append(some[:8:8], other...) {
		all = append(all, row{at: math.NaN(), value: v, facts: map[string]string{"zone": fmt.Sprint(i / 8)}})
	}
	f := table("x", all)
	f.Doubts = []model.Doubt{{Code: "steal", Severity: model.Warning, Text: "stolen time"}}
	p := New()
	p.By = "zone"
	res, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "run", Frames: []frame.Frame{f}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.(*Result).Comparisons[0].Warnings; strings.Join(got, "; ") != "stolen time" {
		t.Errorf("warnings %q, want that of the run, once", got)
	}
}
