// Package servicelevel is the question what service level a volume gives, and where its
// documentation may be believed: section 4 of AISLE (Assessing Infrastructure Service
// Level Environments), with Amazon EBS as its case.
//
//  1. [Params.Plan]: cells of volume, size of operations and share of reads, in random
//     order in each repetition. In each cell the number of operations in flight is
//     doubled until that is of no more use (design.go, depth.go). Volumes that save
//     credits are drained first (drain.go).
//  2. [Params.Answer]: what each cell came to, beside what a model expects (cells.go,
//     expected.go), with verdicts that hold together (verdict.go).
//  3. [Result.Model]: the measured cells as a model of their own (model.go).
//  4. Figures as 3 to 5 of the paper, and the table of cells (document.go).
package servicelevel

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// Phase is that of the study's steps.
const Phase model.Phase = "trial"

// Orders of the cells in a repetition.
const (
	OrderRandom    = "random"
	OrderAscending = "ascending"
)

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "servicelevel", Command: "servicelevel measured", Summary: "what service level a volume gives, and where its " +
			"model holds",
		Long: `Measures operations and bytes a second of volumes by the size of operations and the
share of reads, and compares them with what a model expects.

Verdicts of a cell: holds (the interval lies within the margin), lower or higher (it
excludes the model's value, and reaches beyond the margin), unclear (neither). Unknown:
the measurement does not tell. Intervals are over repetitions. They are wide enough that
all verdicts together hold at the confidence level (Holm).`,
		Example: "  scalebench servicelevel measured latest\n  scalebench servicelevel measured latest --format json",
		New:     func() study.Study { return New() },
		Phases:  []model.Phase{Phase}, Named: true,
		Caveats: caveats,
	}
}

// Params are the parameters of the study. The file's trials are its repetitions.
type Params struct {
	Volumes   []string    `json:"volumes,omitempty" jsonschema:"maxItems=64,uniqueItems=true" jsonschema_description:"Names of the volumes. Default: that of the workload, or all of a lab."`
	Sizes     []unit.Size `json:"sizes" jsonschema:"minItems=1,maxItems=32,uniqueItems=true" jsonschema_description:"Sizes of operations."`
	Reads     []int       `json:"reads" jsonschema:"minItems=1,maxItems=21,uniqueItems=true,minimum=0,maximum=100" jsonschema_description:"Mixes: percentages of reads."`
	Depth     int         `json:"depth,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Operations in flight. Default: 1, 2, 4 and so on, until twice as many gain less than 2 %."`
	DepthMost int         `json:"depth_most" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Most operations in flight that are tried."`
	Reduced   bool        `json:"reduced,omitempty" jsonschema_description:"Whether only corners and centre are measured: the least and the greatest size with most and fewest reads, and the middle of both. The size from which the model's limit of bytes is reached first is added."`
	Order     string      `json:"order" jsonschema:"enum=random,enum=ascending" jsonschema_description:"Order of the cells in each repetition."`
	Drain     bool        `json:"drain" jsonschema_description:"Whether credits of a volume are spent before it is measured. Otherwise cells with credits left have no verdict."`

	Models    []Expectation `json:"models,omitempty" jsonschema:"maxItems=256" jsonschema_description:"What is expected of volumes and nodes; of several that apply the least. Default: the limits of a lab's volumes."`
	ModelFile string        `json:"model_file,omitempty" flag:"model-file" from:"file" jsonschema_description:"A model of your own, YAML, which models may name."`
	Price     *prices.Host  `json:"price,omitempty" jsonschema_description:"What a node with its volumes costs, for the estimate."`

	Margin          study.Percent `json:"margin" flag:"margin" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=100" jsonschema_description:"A difference of so many percent is of no interest: the verdict is holds if there is no more."`
	Level           float64       `json:"level" flag:"level" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1" jsonschema_description:"Confidence level of all verdicts together."`
	FailUnlessHolds bool          `json:"fail_unless_holds,omitempty" flag:"fail-unless-holds" jsonschema_description:"Exit code 3 if a cell is lower or higher than expected, 4 if that is not known."`
}

// Expectation is a model with its inputs, and of what it is expected.
type Expectation struct {
	Model  string            `json:"model" jsonschema:"required,minLength=1" jsonschema_description:"Name of a model: scalebench servicelevel models lists them."`
	Inputs map[string]any    `json:"inputs,omitempty" jsonschema_description:"Inputs of the model by name: {gib: 100, iops: 300}."`
	Volume string            `json:"volume,omitempty" jsonschema_description:"Name of the volume. Default: all."`
	On     map[string]string `json:"on,omitempty" jsonschema_description:"Labels of the nodes. Default: all nodes."`
}

// New returns parameters with their defaults: the paper's design, but for the depth.
func New() *Params {
	return &Params{
		Sizes: []unit.Size{4 * unit.KiB, 32 * unit.KiB, 64 * unit.KiB, 256 * unit.KiB, 1024 * unit.KiB},
		Reads: []int{100, 75, 50, 25, 0}, DepthMost: 256, Order: OrderRandom, Drain: true, Margin: 5,
		Level: stats.DefaultLevel,
	}
}

// refuse is the error about a parameter.
func refuse(path, problem, allowed string) error {
	return &model.InputError{Path: path, Problem: problem, Allowed: allowed}
}

// Check implements study.Study.
func (p *Params) Check() ([]caveat.Caveat, error) {
	var errs []error
	for i, s := range p.Sizes {
		if s <= 0 {
			errs = append(errs, refuse(fmt.Sprintf("sizes.%d", i), s.String()+" is no size of an operation", "such as 4KiB"))
		}
	}
	for i := range p.Models {
		_, err := p.levelsOf(i)
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Answer implements study.Study.
func (p *Params) Answer(_ context.Context, in study.Input) (*study.Answer, error) {
	if in.Run() == nil {
		return nil, fmt.Errorf("%w: name a run whose file has study: {kind: servicelevel}", model.ErrUsage)
	}
	r, err := p.read(in.Run())
	if err != nil {
		return nil, err
	}
	r.compare(p)
	return &study.Answer{Result: r, Places: r.Places(), Gate: p.gate(r), Document: r.document}, nil
}

// gate holds every cell to its model.
func (p *Params) gate(r *Result) error {
	if !p.FailUnlessHolds {
		return nil
	}
	held := 0
	for _, c := range r.Cells {
		switch c.Verdict {
		case Lower, Higher:
			return fmt.Errorf("%w: %s: the service level is %s than expected (--fail-unless-holds)", model.ErrThreshold,
				c.name(), c.Verdict)
		case Holds:
			held++
		}
	}
	if held == 0 || held < len(r.Cells) {
		return fmt.Errorf("%w: the model holds in %d of %s, and of the others that is not known (--fail-unless-holds)",
			model.ErrInvalid, held, num.Count(len(r.Cells), "cell"))
	}
	return nil
}

// cellList are arguments of caveats about cells.
type cellList struct {
	Cells []CellName `json:"cells"`
}

func (o cellList) text() string {
	const most = 3
	text := string(o.Cells[0])
	for _, c := range o.Cells[1:min(most, len(o.Cells))] {
		text += "; " + string(c)
	}
	if more := len(o.Cells) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// about makes a caveat about cells: what happened, their names, what to do.
func about(code caveat.Code, what, do string) caveat.Def[cellList] {
	return caveat.Define(code, func(o cellList) string { return fmt.Sprintf("%s (%s); %s", what, o.text(), do) })
}

var (
	latency = about("latency", "one operation was in flight, so that the latency may be the bottleneck and not the limit",
		"measure with a greater depth")
	notSaturated = about("not_saturated", "more operations in flight may do more", "measure with a greater depth")
	burst        = about("burst", "credits were left by the model, so that a burst was measured", "use drain: true")
	noInterval   = about("no_interval", "there is no interval, for there is one repetition, or all are the same",
		"use trials: 5")
	noModel = about("no_model", "no model says what is expected", "add models to the study")
	caveats = caveat.Table{latency, notSaturated, burst, noInterval, noModel}
)

// bounds are the logarithms of the ratios between which a difference is of no interest.
func (p *Params) bounds() stats.Interval {
	m := float64(p.Margin) / 100
	return stats.Interval{Lo: math.Log1p(-m), Hi: math.Log1p(m)}
}
