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

Verdicts: degraded (the 95 % interval lies above 0), none (it does not, and reaches
no further than --tolerance points), gain (it lies below 0, and reaches further),
unclear (it contains 0 and is wider than for none), unknown (the measurement does
not allow an answer).

With --fail-above the exit code is 0 if the whole interval of every metric, wider
by what disturbances can explain (ci_possible in JSON), is at or below this
percentage, 3 if the whole interval of any is above it, and otherwise 4: the
measurement does not tell.`,
		Example: `  scalebench cdi latest
  scalebench cdi latest --format json
  scalebench cdi latest --fail-above 10
  scalebench cdi --csv numbers.csv`,
		Phases: []model.Phase{model.Serial, model.Parallel}, Top: []string{"sizes", "interleave", "rotate", "expect", "tolerance"},
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
	// Expect is what is known beforehand, by workload.
	Expect map[string]float64 `json:"expect,omitempty" jsonschema_description:"The CDI in percent that is known beforehand, by workload, such as that of a lab by arithmetic: it is shown beside what was measured."`
	// Tolerance is how many points of the index are of no interest.
	Tolerance float64 `json:"tolerance" flag:"tolerance" jsonschema:"exclusiveMinimum=0,maximum=100" jsonschema_description:"Points of the CDI that are of no interest: the verdict is none if the interval is not above 0 and reaches no further."`
	// FailAbove is the largest CDI, in percent, that is accepted; nil: any.
	FailAbove *study.Percent `json:"fail_above,omitempty" flag:"fail-above" jsonschema_description:"Exit code 3 if the whole interval of a CDI is above this percentage, 4 if that cannot be told."`
}

// New returns parameters with their defaults.
func New() *Params {
	return &Params{Interleave: true, Rotate: true, Tolerance: evaluation.DefaultTolerance}
}

// Validate implements study.Study.
func (p *Params) Validate() error {
	if p.FailAbove != nil && (math.IsNaN(float64(*p.FailAbove)) || math.IsInf(float64(*p.FailAbove), 0)) {
		return &model.InputError{Path: "fail_above", Problem: "must be a number of percent", Allowed: "such as 10 or 2.5"}
	}
	return nil
}

// Points implements study.Tolerant.
func (p *Params) Points() float64 { return p.Tolerance }

// Analyze implements study.Study.
func (p *Params) Analyze(_ context.Context, in study.Input) (study.Result, error) {
	findings, err := evaluation.Findings(in.Run, evaluation.Options{Tolerance: p.Tolerance})
	if err != nil {
		return nil, err
	}
	return p.result(findings, in.Run, in.Run.Title()), nil
}

// Import implements study.Importer: findings of the user's own numbers
// (evaluation.Import).
func (p *Params) Import(ctx context.Context, _ study.Input, name string, table io.Reader) (study.Result, error) {
	findings, err := evaluation.Import(ctx, name, table, evaluation.Options{Tolerance: p.Tolerance})
	if err != nil {
		return nil, err
	}
	return p.result(findings, nil, name), nil
}

func (p *Params) result(findings []evaluation.Finding, run *observe.Run, title string) *Result {
	for i, f := range findings {
		if v, ok := p.Expect[f.Workload]; ok {
			findings[i].Expected, findings[i].ExpectedHere = &v, expectedHere(v, f, run)
		}
	}
	return &Result{findings: findings, run: run, limit: p.FailAbove, title: title}
}

// expectedHere is what is expected of a processor's capacity, by arithmetic that
// takes cores for independent, where they slow each other down; nil of other
// resources, or if that was not calibrated.
func expectedHere(cdi float64, f evaluation.Finding, run *observe.Run) *float64 {
	if run == nil || evaluation.Category(f.Resource) != model.ResourceCPU {
		return nil
	}
	serial, okS := run.CoreSpeed(f.Workload, model.Serial)
	parallel, okP := run.CoreSpeed(f.Workload, model.Parallel)
	if !okS || !okP {
		return nil
	}
	here := 100 * (1 - (1-cdi/100)*parallel/serial)
	return &here
}

// Result is the findings with what they were computed from.
type Result struct {
	findings []evaluation.Finding
	run      *observe.Run // nil for a table
	limit    *study.Percent
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

// Gate holds every CDI to the threshold by its interval (study.Limit). An
// unknown finding may have a CDI, but not one that can be relied on.
func (r *Result) Gate() error {
	if r.limit == nil {
		return nil
	}
	limit := study.Limit{Most: float64(*r.limit), Unit: "%", By: "--fail-above, or fail_above in the file"}
	if len(r.findings) == 0 {
		return limit.Unknown("no CDI was found")
	}
	var errs []error
	for _, f := range r.findings {
		name := f.Workload + " " + f.Metric
		if f.CDI == nil || f.Possible == nil || f.Verdict == evaluation.Unknown {
			errs = append(errs, limit.Unknown(name+": the verdict is unknown"))
			continue
		}
		what := name + ": the CDI"
		if *f.Possible != *f.CI {
			what += ", with what disturbed it,"
		}
		errs = append(errs, limit.Check(what, f.Possible[0], f.Possible[1]))
	}
	return errors.Join(errs...)
}
