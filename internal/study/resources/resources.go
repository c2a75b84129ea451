// Package resources is the question which resource is lost first when all nodes
// work, and what limits it (ScaleBench, sections 5.3 and 5.4).
//
//  1. [Params.Answer] takes the findings and scalings of a run (package
//     evaluation), and ranks the resources by what is lost of them.
//  2. What the data exclude on their way, and what they point to, becomes findings
//     with evidence: channels, rates of calls, the network, links.
//  3. Several runs are compared: [Platforms].
//  4. [Result.Document] names all of this, and what the run cannot tell.
//
// What it needs is measured by the study cdi, at several fleet sizes where limits
// are to be seen.
package resources

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "resources", Summary: "which resource is lost first, and what limits it",
		Long: `Ranks the resources of a run by how much of them a node loses when all nodes
work, names the limits that nodes share where the totals show one, and says what
the run cannot tell. It says what the data exclude on their way: channels that some
nodes share, the rate of calls, the network. A run over several fleet sizes (sizes: [1, 2, 4] in the
experiment file) shows the totals against the size as well.

A CSV file has the columns of cdi --csv. A column resource names what a metric is a
capacity of, such as cpu, memory, disk.read, network.send or objectstore.get.
Without it each metric is ranked by itself.

Several runs, or the platforms of a column platform, are compared: each resource by the
metric that loses most of it on any platform, with the differences from the first.

The JSON has the ranking, the scalings, the findings on the way ("path"), and under "unranked" what has no verdict;
the CSV one line a size.`,
		Example: `  scalebench resources latest
  scalebench resources latest --format json
  scalebench resources ec2=RUN gce=RUN
  scalebench resources --csv clouds.csv`,
		Caveats: slices.Concat(caveats, pathFindings, evaluation.Caveats), Several: true, Table: true,
		Tells: func(run *observe.Run) bool { return run.Has(model.Serial, model.Parallel) },
		New:   func() study.Study { return &Params{} },
	}
}

// Params are the parameters of the study: none.
type Params struct{}

// Check implements study.Study.
func (*Params) Check() ([]caveat.Caveat, error) { return nil, nil }

// Answer implements study.Study: of a run, or of the user's own numbers
// (evaluation.Import). Several runs, or several platforms in a table, are compared.
func (p *Params) Answer(ctx context.Context, in study.Input) (*study.Answer, error) {
	results, title, err := find(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(results) > 1 {
		return compare(results, title, in.Common.Tolerance)
	}
	r := results[0]
	return &study.Answer{Result: r, Places: r.places(), Silent: r.silent(), Document: r.Document}, nil
}

// find has a result for each platform; title is that of several in a table.
func find(ctx context.Context, in study.Input) (out []*Result, title string, err error) {
	opt := evaluation.Options{Tolerance: in.Common.Tolerance}
	if in.Table != nil {
		findings, err := evaluation.Import(ctx, in.Table.Name, in.Table, opt)
		if err != nil {
			return nil, "", err //nolint:wrapcheck // it names the file
		}
		for _, x := range evaluation.ByPlatform(findings) {
			out = append(out, newResult(cmp.Or(x.Name, in.Table.Name), x, nil))
		}
		return out, in.Table.Name, nil
	}
	for _, x := range in.Runs {
		findings, err := evaluation.Findings(x.Run, opt)
		scalings, errScalings := evaluation.Scalings(x.Run, opt)
		switch err := cmp.Or(err, errScalings); {
		case err != nil && len(in.Runs) > 1:
			return nil, "", fmt.Errorf("%s: %w", x.Title(), err)
		case err != nil:
			return nil, "", err //nolint:wrapcheck // it names the run
		}
		platform := evaluation.Platform{Name: x.Title(), Run: x.Run, Findings: findings}
		out = append(out, newResult(x.Run.Title(), platform, scalings))
	}
	return out, "", nil
}

func newResult(title string, of evaluation.Platform, scalings []evaluation.Scaling) *Result {
	return &Result{Ranking: rank(of.Findings, scalings), Path: path(of.Findings, scalings), Scalings: scalings,
		Unranked: slices.DeleteFunc(append([]evaluation.Finding{}, of.Findings...), evaluation.Finding.Answered),
		title:    title, platform: of}
}

// Result is the ranking, and how the total of each metric grew with the size of
// the fleet. Its JSON form is a contract that scripts rely on.
type Result struct {
	Ranking Ranking `json:"ranking"`
	// Path is what the data exclude on their way, and what they point to.
	Path     caveat.List          `json:"path,omitempty"`
	Scalings []evaluation.Scaling `json:"scalings"`
	// Unranked are the findings without a verdict, with what speaks against them.
	Unranked     []evaluation.Finding `json:"unranked"`
	caveat.Notes                      // of what disturbed the nodes

	title    string
	platform evaluation.Platform // with all findings, those without a rank as well
}

// places are those of the result itself, and of its parts.
func (r *Result) places() []caveat.Place { return append(r.parts(), r.Places()...) }

// parts are the places of its parts.
func (r *Result) parts() []caveat.Place {
	parts := slices.Concat(evaluation.Places(r.platform.Findings), evaluation.Places(r.Unranked))
	for i := range r.Ranking.Resources {
		f := &r.Ranking.Resources[i].Finding
		parts = append(parts, caveat.Place{About: caveat.Subject{Workload: f.Workload}, Caveats: &f.Doubts,
			Warnings: &f.Warnings})
	}
	for i := range r.Scalings {
		s := &r.Scalings[i]
		parts = append(parts, caveat.Place{About: caveat.Subject{Workload: s.Workload}, Caveats: &s.Doubts,
			Warnings: &s.Warnings})
	}
	parts = append(parts, caveat.Place{Caveats: &r.Ranking.unknown, Warnings: &r.Ranking.Unknown},
		caveat.Place{Caveats: &r.Path})
	for i := range parts {
		parts[i].Own = true
	}
	return parts
}

// silent: no resource has a rank, and no total is worth a curve.
func (r *Result) silent() bool {
	return len(r.Ranking.Resources) == 0 && !slices.ContainsFunc(r.Scalings, shown)
}
