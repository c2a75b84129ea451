// Package cdi is the question how much capacity each node loses when all work
// at once: the Capacity Degradation Index of ScaleBench, section 2.3.
//
//  1. [Params.Plan]: every node alone, in an order that rotates, then all
//     together; sizes between those where they are asked for.
//  2. [Params.Answer]: findings, from a run or from the user's own table (package
//     evaluation).
//  3. [Result.Document]: what they mean, in words, numbers and charts.
//  4. [Result.Gate]: --fail-above.
//
// Several runs, or platforms of a table, are compared (evaluation.Compare).
package cdi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
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

Several runs are compared as platforms: each metric on each, and the differences
from the first run with their intervals. So are those of a column platform.

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
  scalebench cdi --csv numbers.csv
  scalebench cdi ec2=RUN gce=RUN -o clouds.html`,
		Caveats: evaluation.Caveats, Table: true, Several: true,
		Phases: []model.Phase{model.Serial, model.Parallel}, Top: []string{"sizes", "interleave", "rotate", "expect", "tolerance"},
		Tells: func(run *observe.Run) bool { return run.Has(model.Serial, model.Parallel) },
		New:   func() study.Study { return New() },
		Least: least,
	}
}

// least is study.Kind.Least.
func least(s study.Study) int {
	p, _ := s.(*Params) // New made it
	return slices.Max(append([]int{1}, p.Sizes...))
}

// Params are the parameters of the study.
type Params struct {
	// Sizes, Interleave and Rotate say what is measured.
	Sizes      []int `json:"sizes,omitempty" jsonschema:"minItems=1,maxItems=100,uniqueItems=true,minimum=1" jsonschema_description:"How many nodes, or pairs of nodes, are active at once in further parallel steps, to see how the total grows: [1, 2, 4]. All of them together are always measured."`
	Interleave bool  `json:"interleave" jsonschema_description:"Whether serial and parallel steps alternate by trial, so that drift is not mistaken for degradation. Otherwise all serial steps come first."`
	Rotate     bool  `json:"rotate" jsonschema_description:"Whether the serial order rotates from trial to trial, so that each node has each turn equally often."`
	// Expect is what is known beforehand, by workload.
	Expect map[string]float64 `json:"expect,omitempty" jsonschema_description:"The CDI in percent that is known beforehand, by workload, such as that of a lab by arithmetic: it is shown beside what was measured."`
	study.Common
	// FailAbove is the largest CDI, in percent, that is accepted; nil: any.
	FailAbove *study.Percent `json:"fail_above,omitempty" flag:"fail-above" jsonschema_description:"Exit code 3 if the whole interval of a CDI is above this percentage, 4 if that cannot be told."`
}

// New returns parameters with their defaults.
func New() *Params {
	return &Params{Interleave: true, Rotate: true, Common: study.Common{Tolerance: evaluation.DefaultTolerance}}
}

// Check implements study.Study.
func (p *Params) Check() ([]caveat.Caveat, error) {
	if p.FailAbove != nil && (math.IsNaN(float64(*p.FailAbove)) || math.IsInf(float64(*p.FailAbove), 0)) {
		return nil, &model.InputError{Path: "fail_above", Problem: "must be a number of percent",
			Allowed: "such as 10 or 2.5"}
	}
	return nil, nil
}

// Answer implements study.Study: of a run, or of the user's own numbers
// (evaluation.Import). Several runs, or several platforms in a table, are compared.
func (p *Params) Answer(ctx context.Context, in study.Input) (*study.Answer, error) {
	if len(in.Runs) > 1 {
		return p.compareRuns(in.Runs)
	}
	r, err := p.find(ctx, in)
	if err != nil {
		return nil, err
	}
	if platforms := evaluation.ByPlatform(r.findings); len(platforms) > 1 {
		return p.compare(platforms, r.title)
	}
	return &study.Answer{Result: r.findings, Places: evaluation.Places(r.findings), Gate: r.Gate(),
		Document: r.Document}, nil
}

func (p *Params) compareRuns(runs []study.NamedRun) (*study.Answer, error) {
	var platforms []evaluation.Platform
	for _, r := range runs {
		name := r.Title()
		findings, err := evaluation.Findings(r.Run, evaluation.Options{Tolerance: p.Tolerance})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		platforms = append(platforms, evaluation.Platform{Name: name, Run: r.Run, Findings: findings})
	}
	return p.compare(platforms, "")
}

// compare answers about several platforms. Without a title it is their names.
func (p *Params) compare(platforms []evaluation.Platform, title string) (*study.Answer, error) {
	c, err := evaluation.Compare(platforms, evaluation.Options{Tolerance: p.Tolerance})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what is wrong with the question
	}
	r := Result{findings: c.Findings, limit: p.FailAbove}
	return &study.Answer{Result: c, Places: c.Places(), Gate: r.Gate(),
		Document: func() *doc.Document { return c.Document(cmp.Or(title, strings.Join(c.Names, ", "))) }}, nil
}

func (p *Params) find(ctx context.Context, in study.Input) (*Result, error) {
	r, opt := &Result{run: in.Run(), limit: p.FailAbove}, evaluation.Options{Tolerance: p.Tolerance}
	var err error
	if in.Table != nil {
		r.title = in.Table.Name
		r.findings, err = evaluation.Import(ctx, in.Table.Name, in.Table, opt)
	} else {
		r.title = r.run.Title()
		r.findings, err = evaluation.Findings(r.run, opt)
	}
	for i, f := range r.findings {
		if v, ok := p.Expect[f.Workload]; ok {
			r.findings[i].Expected, r.findings[i].ExpectedHere = &v, expectedHere(v, f, r.run)
		}
	}
	r.findings = append([]evaluation.Finding{}, r.findings...) // the contract is an array, never null
	return r, err
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

// Result is the findings with what they were computed from. Its JSON form is the
// array of findings.
type Result struct {
	findings []evaluation.Finding
	run      *observe.Run // nil for a table
	limit    *study.Percent
	title    string
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
		name := strings.TrimSpace(f.Platform + " " + f.Workload + " " + f.Metric)
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
