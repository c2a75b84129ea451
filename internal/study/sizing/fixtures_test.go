package sizing

import (
	"context"
	"io"
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// quick is for tests that do not look at the bootstrap.
var quick = evaluation.Options{Resamples: 200}

const solo = simulated.Solo

// one returns the only finding of a run.
func one(t *testing.T, data model.RunData, opt evaluation.Options) evaluation.Finding {
	t.Helper()
	fs, err := evaluation.Findings(observe.Of(data), opt)
	if err != nil || len(fs) != 1 {
		t.Fatalf("Findings: %d, %v, want 1", len(fs), err)
	}
	return fs[0]
}

// scaled returns the only scaling of a run.
func scaled(t *testing.T, data model.RunData) evaluation.Scaling {
	t.Helper()
	out, err := evaluation.Scalings(observe.Of(data), quick)
	if err != nil || len(out) != 1 {
		t.Fatalf("Scalings: %d, %v, want 1", len(out), err)
	}
	return out[0]
}

// imported reads a table.
func imported(r io.Reader, name string) ([]evaluation.Finding, error) {
	return evaluation.Import(context.Background(), name, r, quick)
}

func answerOf(q question) (*Result, error) { return q.answer() }

func wantValue(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %v", what, want)
	} else if !(math.Abs(*got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}
