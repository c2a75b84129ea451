// Package compare is the question whether B differs from A, by how much, and how
// sure that is. What is compared are measurements, wherever they came from: runs,
// campaigns, files, or the parts of one of them.
//
//  1. [Params.Ask] names the sides and finds the metrics that both have
//     (sides.go).
//  2. Rows that depend on each other are taken together: what is left are
//     independent values, or pairs of them (layout.go).
//  3. The deciding test gives the ratio B/A with its interval (estimate.go); the
//     usual other tests stand beside it.
//  4. Several metrics are corrected for their number, and each gets its verdict
//     (verdict.go).
//  5. [Result.Document] says it; words.go has the sentences.
//
// [Params.Design] measures two workloads in turns on the same nodes, a duet, so
// that what changes with time meets both alike. docs/compare.md explains the rules
// and shows how often a verdict is wrong.
package compare

import (
	"context"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

const long = `Says by how much B differs from A, and how sure that is: two runs, campaigns or
tables of any study, or two parts of one (--by). Of more than two sources the
first is the base that each of the others is held against.

Values that depend on each other are taken together first: trials of one node,
what was measured at once, successive values of a series. Where both sides have
the same nodes, or were measured in turns, values are paired.

Verdicts: better, worse (of a metric without direction: higher, lower) if the
interval of the ratio B/A does not hold 1; equivalent if it lies within --margin,
and those of the mean and of percentiles do; unclear if it tells neither; unknown
if the measurement allows no answer. The interval is that of Hodges and Lehmann on
logarithms, by how much a typical value differs; with --means that of the ratio of
means. With several metrics the intervals are corrected after Benjamini and Hochberg.

With --fail-worse the exit code is 0 if the whole interval of every metric, and
those of its mean and percentiles, are at most so much worse, 3 if the whole
interval of any is more than that worse, and otherwise 4: the measurement does not
tell.`

const example = `  scalebench compare before.csv after.csv --better lower
  scalebench compare 01JD2M 01JD5X --fail-worse 5%
  scalebench compare latest --by zone=us-east-1c,us-east-1d
  scalebench compare latest --by cpu_model --margin 10%`

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "compare", Summary: "whether B differs from A, by how much, and how sure that is",
		Long: long, Example: example, Named: true,
		Phases: []model.Phase{model.Parallel, model.Serial},
		New:    func() study.Study { return New() },
	}
}

// Params are the parameters of the study.
type Params struct {
	// A and B are workloads of a file that are measured in turns, or of a run.
	A string `json:"a,omitempty" flag:"a" jsonschema_description:"The workload that is the base."`
	B string `json:"b,omitempty" flag:"b" jsonschema_description:"The workload that is compared with it."`
	// By splits one source; empty: it is not split.
	By      string `json:"by,omitempty" flag:"by" jsonschema_description:"Split one source by this fact, and say which levels where it has more than two: zone=us-east-1c,us-east-1d."`
	Metric  string `json:"metric,omitempty" flag:"metric" jsonschema_description:"The metric. Default: each that both sides have and that is a capacity."`
	Better  string `json:"better,omitempty" flag:"better" jsonschema:"enum=higher,enum=lower" jsonschema_description:"Which direction is better, of metrics that do not say it."`
	Pair    string `json:"pair,omitempty" flag:"pair" jsonschema_description:"Pair values with the same level of this fact, or of several (node,hour); none: pair nothing. Default: what was measured on the same nodes or in turns is paired."`
	Cluster string `json:"cluster,omitempty" flag:"cluster" jsonschema_description:"Rows with the same level of this fact depend on each other and count as one. Default: those of a node, trial, run or repetition."`
	Means   bool   `json:"means,omitempty" flag:"means" jsonschema_description:"Compare means, instead of typical values."`

	Margin study.Percent `json:"margin" flag:"margin" jsonschema:"exclusiveMinimum=0,maximum=1000" jsonschema_description:"A difference of so many percent is of no interest: the verdict is equivalent if there is no more."`
	Level  float64       `json:"level" flag:"level" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1" jsonschema_description:"Confidence level of the intervals."`

	Value string `json:"value,omitempty" flag:"value" jsonschema_description:"The column of files that has the values."`
	Time  string `json:"time,omitempty" flag:"time" jsonschema_description:"The column of files that has the times."`
	Zone  string `json:"zone,omitempty" flag:"zone" jsonschema_description:"Time zone of times that do not say theirs, such as Europe/Berlin."`

	FailWorse *study.Percent `json:"fail_worse,omitempty" flag:"fail-worse" jsonschema:"minimum=0" jsonschema_description:"Exit code 3 if B is more than so many percent worse by its whole interval, 4 if that cannot be told."`
}

// DefaultMargin is the difference, in percent, that is of no interest unless the
// user says otherwise.
const DefaultMargin = 2

// New returns parameters with their defaults.
func New() *Params { return &Params{Margin: DefaultMargin, Level: stats.DefaultLevel} }

// Validate implements study.Study.
func (p *Params) Validate() error {
	switch fact, _, _ := strings.Cut(p.By, "="); {
	case (p.A == "") != (p.B == ""):
		return &model.InputError{Path: map[bool]string{true: "a", false: "b"}[p.A == ""], Problem: "is missing", Allowed: "name both workloads, a and b"}
	case p.A != "" && p.A == p.B:
		return &model.InputError{Path: "b", Problem: "is the same as a", Allowed: "name another workload; for A against A give the file two workloads alike"}
	case p.By != "" && p.A != "":
		return &model.InputError{Path: "by", Problem: "the sides are workloads already", Allowed: "give by, or a and b"}
	case p.By != "" && fact == "":
		return &model.InputError{Path: "by", Problem: "has no fact", Allowed: "such as zone, or zone=us-east-1c,us-east-1d"}
	}
	return nil
}

// Takes implements study.Measured.
func (p *Params) Takes() study.Takes {
	t := study.Takes{Least: 2, Choice: frame.Choice{Value: p.Value, Time: p.Time, Facts: p.facts(), Zone: p.Zone}}
	if p.By != "" || p.A != "" {
		t.Least, t.Most = 1, 1
	}
	return t
}

// facts are those that the parameters name.
func (p *Params) facts() []string {
	by, _, _ := strings.Cut(p.By, "=")
	return append(p.pairs(), by, p.Cluster)
}

// pairs are the facts of which each level is a pair.
func (p *Params) pairs() []string {
	if p.Pair == "" || p.Pair == "none" {
		return nil
	}
	return strings.Split(p.Pair, ",")
}

// Analyze implements study.Study: the workloads of a run that its file names.
func (p *Params) Analyze(ctx context.Context, in study.Input) (study.Result, error) {
	if p.A == "" && p.By == "" {
		return nil, &model.InputError{Problem: "the file does not say what is compared in this run", Allowed: "name two workloads, a and b, or a fact with --by"}
	}
	return p.Ask(ctx, in, []study.Source{study.OfRun(in.Run)})
}

// Ask implements study.Measured.
func (p *Params) Ask(ctx context.Context, _ study.Input, sources []study.Source) (study.Result, error) {
	sides, told, err := p.sides(sources)
	if err != nil {
		return nil, err
	}
	if err := p.checkFacts(sides); err != nil {
		return nil, err
	}
	r := &Result{Base: sides[0].Name, Level: p.Level, Margin: float64(p.Margin), Told: told, limit: p.FailWorse}
	for _, s := range sides[1:] {
		r.Others = append(r.Others, s.Name)
		matched, told, err := p.match(sides[0], s)
		if err != nil {
			return nil, err
		}
		r.Told = append(r.Told, told...)
		for _, m := range matched {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("comparing: %w", err)
			}
			r.Comparisons = append(r.Comparisons, p.compare(m))
		}
	}
	if err := p.judge(r.Comparisons); err != nil {
		return nil, err
	}
	r.Geomeans = geomeans(r.Comparisons)
	return r, nil
}
