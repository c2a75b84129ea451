// Package history is the question how one experiment's results went over its runs:
// when they changed, what else changed then, and whether the latest run is as the
// ones before.
//
//  1. [Params.Ask] makes one value of each run: the mean over nodes of the means
//     over trials, with its interval ([Run]). In a table, rows of one run, one time or
//     one commit are a run, and each branch is a series of its own (table.go).
//  2. Changes of level come from stats.ChangePoints, with the facts that are others
//     from then on ([Change]).
//  3. The latest run is held against those before it, back to the last change
//     ([Latest]): runs are what is independent here, not trials.
//  4. [Result.Document] shows it over time, [Result.Gate] is --fail-worse.
package history

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

const long = `Shows the results of one experiment over all runs of its name, repetitions of a
campaign among them: the mean of each run with its interval, when the level changed,
which facts of nodes and program changed then, and whether the latest run is as the
ones before it, back to the last change (at most 50).

A table (CSV, Parquet, Go benchmarks; - is standard input) is answered as well: a row or
several rows a run. Rows of one run are those of one level of the column run, or else
of one time. Commit, version and other columns are facts. Each branch is a series of
its own; --branch takes one, and --branch all puts them together.

A change needs 10 runs or more to be seen; to judge the latest run it takes 3 before
it. With several metrics both are corrected for their number.

With --fail-worse the exit code is 0 if the latest run is, by the whole interval of
every metric, at most so much worse than those before, 3 if it is more than that
worse by the whole interval of any, and otherwise 4: the runs do not tell.`

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "history", Summary: "one experiment's results over its runs, with change points", Long: long,
		Example: "  scalebench history nightly\n  scalebench history nightly.csv --value latency --better lower\n  " +
			"scalebench history nightly --metric rate --fail-worse 5%",
		New: func() study.Study { return &Params{Level: stats.DefaultLevel} },
	}
}

// Params are the parameters of the study.
type Params struct {
	Metric string  `json:"metric,omitempty" flag:"metric" jsonschema_description:"The metric. Default: each that is a capacity."`
	Better string  `json:"better,omitempty" flag:"better" jsonschema:"enum=higher,enum=lower" jsonschema_description:"Which direction is better, of metrics that do not say it."`
	Level  float64 `json:"level" flag:"level" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1" jsonschema_description:"Confidence level of the intervals."`
	Zone   string  `json:"zone,omitempty" flag:"zone" jsonschema_description:"Time zone in which times are shown, and of times in a table that do not say theirs, such as Europe/Berlin; UTC otherwise."`
	// Value, Time and Branch are about tables.
	Value     string         `json:"value,omitempty" flag:"value" jsonschema_description:"Column of a table that has the values. Default: guessed, and said."`
	Time      string         `json:"time,omitempty" flag:"time" jsonschema_description:"Column of a table that has the times. Default: guessed, and said."`
	Branch    string         `json:"branch,omitempty" flag:"branch" jsonschema_description:"Only this branch; all: every branch in one series. Default: each is a series of its own."`
	FailWorse *study.Percent `json:"fail_worse,omitempty" flag:"fail-worse" jsonschema:"minimum=0" jsonschema_description:"Exit code 3 if the latest run is more than so many percent worse than those before by its whole interval, 4 if that cannot be told."`
}

// Validate implements study.Study.
func (p *Params) Validate() error {
	if _, err := time.LoadLocation(p.Zone); err != nil {
		return &model.InputError{Path: "zone", Problem: fmt.Sprintf("there is no time zone %q", p.Zone), Allowed: "a name such as Europe/Berlin or UTC"}
	}
	return nil
}

// Takes implements study.Measured.
func (p *Params) Takes() study.Takes {
	return study.Takes{Least: 1, Most: 1, Named: true, Choice: frame.Choice{Value: p.Value, Time: p.Time, Zone: p.Zone, NoBy: true}}
}

// Analyze implements study.Study: of one run there is no history.
func (p *Params) Analyze(context.Context, study.Input) (study.Result, error) {
	return nil, &model.InputError{Problem: "history is about all runs of a name",
		Allowed: "`scalebench history NAME`, or a table: `scalebench history FILE.csv`"}
}

// Ask implements study.Measured.
func (p *Params) Ask(ctx context.Context, _ study.Input, sources []study.Source) (study.Result, error) {
	s := sources[0]
	r := &Result{Name: s.Name, Level: p.Level, Told: s.Told, limit: p.FailWorse, zone: p.Zone}
	var names []string
	for i := range s.Frames {
		f := &s.Frames[i]
		names = append(names, f.Name())
		if f.Len() == 0 { // all searches that were to find it found nothing
			continue
		}
		if p.Metric == "" && (f.Info || f.Workload == observe.Startup) || p.Metric != "" && !f.Matches(p.Metric) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("looking at the runs: %w", err)
		}
		branches, err := p.branches(f)
		if err != nil {
			return nil, err
		}
		for _, one := range branches {
			r.Metrics = append(r.Metrics, p.metric(one))
		}
	}
	if len(r.Metrics) == 0 {
		return nil, &model.InputError{Path: "metric", Problem: "no run of this name has such a metric", Allowed: "they have " + num.List(names)}
	}
	for i := range r.Metrics {
		p.changes(&r.Metrics[i], len(r.Metrics))
	}
	return r, p.judge(r.Metrics)
}
