// Package cdi is the question how much capacity each node loses when all work
// at once: the Capacity Degradation Index of ScaleBench, section 2.3.
//
//  1. [Params.Design]: every node alone, in an order that rotates, then all
//     together; sizes between those where they are asked for.
//  2. [Params.Analyze] and [Params.Import]: findings, from a run or from
//     the user's own table (package evaluation).
//  3. [Result.Document]: what they mean, in words, numbers and charts.
//  4. [Result.Gate]: --fail-above.
package cdi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "cdi", Summary: "the Capacity Degradation Index, with interval and verdict",
		Long: `Computes the CDI of every metric of a run, or of your own numbers.

A CSV file has the columns node,phase,value (phase: serial or parallel) and
optionally workload, metric, unit, trial, better; or one line per node with
node,serial,parallel; or published means with
workload,metric,unit,nodes,serial_mean,parallel_mean. It may be packed with gzip.

Verdicts: none (the interval contains 0), degraded (it lies above 0), gain (it
lies below 0), unknown (the measurement does not allow an answer).

With --fail-above the exit code is 3 if the CDI of any metric is above this
percentage, and otherwise 4 if any verdict is unknown.`,
		Example: `  scalebench cdi latest
  scalebench cdi latest --format json
  scalebench cdi latest --fail-above 10
  scalebench cdi --csv numbers.csv`,
		Phases: []model.Phase{model.Serial, model.Parallel}, Top: []string{"sizes", "interleave", "rotate"},
		Tells: func(run *observe.Run) bool { return run.Has(model.Serial, model.Parallel) },
		New:   func() study.Study { return New() },
	}
}

// Params are the parameters of the study.
type Params struct {
	// Sizes, Interleave and Rotate say what is measured.
	Sizes      []int `json:"sizes,omitempty" jsonschema:"minItems=1,maxItems=100,uniqueItems=true,minimum=1" jsonschema_description:"How many nodes, or pairs of nodes, are active at once in further parallel steps, to see how the total grows: [1, 2, 4]. All of them together are always measured."`
	Interleave bool  `json:"interleave" jsonschema_description:"Whether serial and parallel steps alternate by trial, so that drift is not mistaken for degradation. Otherwise all serial steps come first."`
	Rotate     bool  `json:"rotate" jsonschema_description:"Whether the serial order rotates from trial to trial, so that each node has each turn equally often."`
	// FailAbove is the largest CDI, in percent, that is accepted; nil: any.
	FailAbove *float64 `json:"fail_above,omitempty" flag:"fail-above" jsonschema_description:"Exit code 3 if a CDI is above this percentage, 4 if a verdict is unknown."`
}

// New returns parameters with their defaults.
func New() *Params { return &Params{Interleave: true, Rotate: true} }

// Validate implements study.Study.
func (p *Params) Validate() error {
	if p.FailAbove != nil && (math.IsNaN(*p.FailAbove) || math.IsInf(*p.FailAbove, 0)) {
		return &model.InputError{Path: "fail_above", Problem: "must be a number of percent", Allowed: "such as 10 or 2.5"}
	}
	return nil
}

// Analyze implements study.Study.
func (p *Params) Analyze(_ context.Context, in study.Input) (study.Result, error) {
	findings, err := evaluation.Findings(in.Run, evaluation.Options{})
	if err != nil {
		return nil, err
	}
	return &Result{findings: findings, run: in.Run, limit: p.FailAbove, title: in.Run.Title()}, nil
}

// Import implements study.Importer: findings of the user's own numbers
// (evaluation.Import).
func (p *Params) Import(ctx context.Context, _ study.Input, name string, table io.Reader) (study.Result, error) {
	findings, err := evaluation.Import(ctx, name, table, evaluation.Options{})
	if err != nil {
		return nil, err
	}
	return &Result{findings: findings, limit: p.FailAbove, title: name}, nil
}

// Result is the findings with what they were computed from.
type Result struct {
	findings []evaluation.Finding
	run      *observe.Run // nil for a table
	limit    *float64
	title    string
}

// Findings are what was found, in the order of the steps or of the table.
func (r *Result) Findings() []evaluation.Finding { return r.findings }

// MarshalJSON implements json.Marshaler: the contract is an array of findings.
func (r *Result) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(append([]evaluation.Finding{}, r.findings...)) // never null
	if err != nil {
		return nil, fmt.Errorf("encoding findings: %w", err)
	}
	return b, nil
}

// Gate returns a model.ErrThreshold that names what is above the threshold, and
// a model.ErrInvalid that names what is unknown. An unknown finding may have a
// CDI, but not one that can be relied on, so it is only unknown.
func (r *Result) Gate() error {
	if r.limit == nil {
		return nil
	}
	limit := strconv.FormatFloat(*r.limit, 'g', -1, 64)
	if len(r.findings) == 0 {
		return fmt.Errorf("%w: no CDI to hold to the threshold of %s %% (--fail-above, or fail_above in the file)", model.ErrInvalid, limit)
	}
	var errs []error
	for _, f := range r.findings {
		name := f.Workload + " " + f.Metric
		switch {
		case f.CDI == nil || math.IsNaN(*f.CDI) || f.Verdict == evaluation.Unknown:
			errs = append(errs, fmt.Errorf("%w: %s: the verdict is unknown, so the threshold of %s %% (--fail-above, or fail_above in the file) cannot be checked", model.ErrInvalid, name, limit))
		case *f.CDI > *r.limit:
			errs = append(errs, fmt.Errorf("%w: %s: the CDI is %.4g %%, above %s %%", model.ErrThreshold, name, *f.CDI, limit))
		}
	}
	return errors.Join(errs...)
}
