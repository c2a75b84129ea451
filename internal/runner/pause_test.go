package runner

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters: the JSON tags are the keys of the experiment
// file, the jsonschema tags feed `scalebench schema`.
type Params struct {
	Duration unit.Duration `json:"duration,omitempty" jsonschema:"description=How long to pause,default=1s"`
}

// Kind describes the workload; New sets the defaults.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "pause",
		Summary: "Counts naps of a millisecond: how precisely this node wakes up.",
		New:     func() workload.Workload { return &Params{Duration: unit.Duration(time.Second)} },
	}
}

// Validate says what is wrong and what is allowed.
func (p *Params) Validate() error {
	if p.Duration.Std() < 10*time.Millisecond {
		return &model.InputError{Path: "duration", Problem: p.Duration.String() + " is too short", Allowed: "use 10ms or more"}
	}
	return nil
}

// Estimate is for the plan.
func (p *Params) Estimate() time.Duration { return p.Duration.Std() }

// Prepare does what must not be timed: here nothing.
func (p *Params) Prepare(context.Context, *workload.Env) error { return nil }

// Run works until its time is over, publishes the work done since its start,
// and reports one value for the whole. It ends early when ctx does.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	nap := time.NewTicker(time.Millisecond)
	defer nap.Stop()
	var naps float64
	env.Report.Progress("nap_rate", "op", naps)
	start := time.Now()
	for time.Since(start) < p.Duration.Std() {
		select {
		case <-nap.C:
			naps++
			env.Report.Progress("nap_rate", "op", naps)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	env.Report.Sample(model.Sample{
		Metric: "nap_rate", Unit: "op/s", Better: model.Higher,
		Value: naps / time.Since(start).Seconds(),
	})
	return nil
}

// End of the example.

// TestDocumentedWorkload runs the example above as any other workload, and
// checks that docs/workloads.md shows it word for word.
func TestDocumentedWorkload(t *testing.T) {
	cfg := config(t, map[string]any{"duration": "300ms"})
	cfg.Spec.Kind = "pause"
	o := begun(t, cfg).Wait()
	want(t, o, model.OutcomeOK, "")
	if len(o.Samples) != 1 || o.Samples[0].Value <= 0 || len(o.Series) != 1 || len(o.Series[0].Offsets) < 3 {
		t.Errorf("samples %v, series %v; want one each, with points", o.Samples, o.Series)
	}
	doc, code := read(t, "../../docs/workloads.md"), read(t, "pause_test.go")
	if got := between(t, doc, ")\n\n// Params are", "\n```"); got != between(t, code, ")\n\n// Params are", "\n\n// End of the example.") {
		t.Errorf("docs/workloads.md shows another example than this file:\n%s", got)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// between returns the text from one mark to the next other mark.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, ok := strings.Cut(text, from)
	text, _, end := strings.Cut(text, to)
	if !ok || !end {
		t.Fatalf("no text between %q and %q", from, to)
	}
	return text
}
