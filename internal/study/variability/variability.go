// Package variability is the question how much a measurement varies, over what,
// and how often it must be repeated (Schad, Dittrich, Quiané-Ruiz: "Runtime
// Measurements in the Cloud: Observing, Analyzing, and Reducing Variance", VLDB
// 2010; below "the paper").
//
//  1. [Params]: what is asked; [Params.Ask] gets frames from runs, campaigns and
//     files, joins those of one metric, and keeps the metrics in question.
//  2. Each frame becomes an examination: its values sorted once, its facts, and
//     facts that follow from its times (hour, weekday, …).
//  3. Of that come the parts of a [Metric], a file each: spread and dependence,
//     bands, facts, groups, course over time, outliers, clusters, repetitions.
//  4. Advice is what the parts allow to say, each with its number.
//  5. Metrics of the same repetitions are compared ([Together]).
//  6. [Result.Document] says it; [Result.Gate] holds it to thresholds.
//
// Every alarm (bands, a fact that explains, a change, a drift) has its share of
// the error rate 1−level, so that pure noise raises any of them in at most that
// share of cases. docs/variability.md tells how to read it.
package variability

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones are known where the system has no table of them

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

const long = `Says how much measurements vary, over what, and how often to repeat them.

Sources are runs, campaigns and tables (CSV, Parquet, Go benchmarks; - is standard
input). Several sources are put together. Of every metric you get mean, median,
range, standard deviation and COV (standard deviation / mean), with intervals;
bands, with the fact that explains them best; how much of the variance each fact
explains, and which facts cannot be told apart; the distribution per group; the
decomposition by day, hour and weekday; changes of the level; outliers;
autocorrelation; and how many repetitions are missing for an interval of ±1, 2, 5
and 10 % around mean and median.

Verdicts: steady (the whole interval of the COV is at or below 5 %), varies (it is
above), unclear (it lies on both sides), bands (the values fall into bands), changes
(the level changed or drifts: one mean does not describe all of it), unknown (the
measurement does not tell, the values are running totals, or rows that something
disturbed say something else than the others).

Pure noise raises a false alarm (bands, an explaining fact, a change, a drift: any
of them) in at most 5 % of cases, or what --level leaves.

With --fail-above the exit code is 0 if the whole interval of every COV is at or
below this percentage, 3 if any is above it, and otherwise 4: the measurement does
not tell. --fail-on gives 3 where one of these is found, whatever else is, and 4
where the verdict is unknown, or unclear what varies; --fail-unless-within gives 3 unless every median is
known within this percentage, and 4 where measuring on does not help: that takes
more nodes.`

const example = `  scalebench variability latest
  scalebench variability scores.csv --value score --time at --by cpu,zone
  scalebench variability nightly --baseline own-cluster.csv
  scalebench variability scores.parquet --cutoff 320000 --zone Europe/Berlin
  zcat scores.csv.gz | scalebench variability - --fail-above 10`

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "variability", Summary: "how much measurements vary, over what, and how often to repeat them",
		Long: long, Example: example, Optional: true,
		Phases: []model.Phase{model.Parallel},
		New:    func() study.Study { return New() },
	}
}

// Params are the parameters of the study. Percentages are numbers of percent.
type Params struct {
	Metric []string `json:"metric,omitempty" flag:"metric" jsonschema_description:"Only this metric; repeatable. Default: all that are measurements of capacity."`
	// Value, Time, By and Zone say which columns of a table are meant.
	Value string   `json:"value,omitempty" flag:"value" jsonschema_description:"Column of a table that has the values. Default: guessed, and said."`
	Time  string   `json:"time,omitempty" flag:"time" jsonschema_description:"Column of a table that has the times. Default: guessed, and said."`
	By    []string `json:"by,omitempty" flag:"by" jsonschema_description:"Fact by which the values are grouped, such as zone; repeatable, or with commas. Default: those that explain most."`
	Zone  string   `json:"zone,omitempty" flag:"zone" jsonschema_description:"Time zone of hours and weekdays, and of times that do not say theirs, such as Europe/Berlin. Default: UTC."`
	Rate  bool     `json:"rate,omitempty" flag:"rate" jsonschema_description:"The values are running totals (counters): take their differences by the second, or without times by row. Where a total began anew there is none."`
	// Cutoffs are in the unit of the values.
	Cutoffs []float64 `json:"cutoffs,omitempty" flag:"cutoff" jsonschema_description:"Value that divides the values into two bands, such as 320000; repeatable, or with commas."`
	Level   float64   `json:"level" flag:"level" jsonschema:"exclusiveMinimum=0.5,exclusiveMaximum=1" jsonschema_description:"Confidence level of intervals; what it leaves is the error rate of alarms."`
	Targets []float64 `json:"targets,omitempty" flag:"target" jsonschema:"exclusiveMinimum=0,maximum=100" jsonschema_description:"Percentage within which mean and median shall be known; repeatable, or with commas. Default: 1, 2, 5 and 10."`
	// Baseline is a source.
	Baseline study.SourceName `json:"baseline,omitempty" flag:"baseline" jsonschema_description:"Run, campaign or table with the same metric, measured where little varies, such as a machine of your own: the COVs are compared."`
	Cluster  string           `json:"cluster,omitempty" flag:"cluster" jsonschema_description:"Fact that says which rows are one cluster at one time. Default: repetition, or else trial, where several nodes took part."`
	// FailAbove, FailOn and FailUnlessWithin are gates; see [Result.Gate].
	FailAbove        *study.Percent `json:"fail_above,omitempty" flag:"fail-above" jsonschema:"minimum=0" jsonschema_description:"Exit code 3 if the whole interval of a COV is above this percentage, 4 if that cannot be told."`
	FailOn           []Verdict      `json:"fail_on,omitempty" flag:"fail-on" jsonschema:"enum=varies,enum=bands,enum=changes" jsonschema_description:"Exit code 3 if this is found of a metric, 4 if its verdict is unknown, or unclear what varies; repeatable."`
	FailUnlessWithin *study.Percent `json:"fail_unless_within,omitempty" flag:"fail-unless-within" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Exit code 3 unless the interval of every median is within this percentage of it: measure on until it is; 4 if that takes more nodes."`

	base string // the baseline's name
}

// New returns parameters with their defaults.
func New() *Params { return &Params{Level: 0.95} }

// defaultTargets are those of the table, in percent.
var defaultTargets = []float64{1, 2, 5, 10}

// Validate implements study.Study.
func (p *Params) Validate() error {
	var errs []error
	if _, err := time.LoadLocation(p.Zone); err != nil {
		errs = append(errs, &model.InputError{Path: "zone", Problem: fmt.Sprintf("%q is no time zone", p.Zone), Allowed: "use a name such as UTC or Europe/Berlin"})
	}
	for _, c := range p.Cutoffs {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			errs = append(errs, &model.InputError{Path: "cutoffs", Problem: "must be a number", Allowed: "such as 320000"})
		}
	}
	return errors.Join(errs...)
}

// Takes implements study.Measured.
func (p *Params) Takes() study.Takes {
	out := study.Takes{Least: 1, Choice: frame.Choice{Value: p.Value, Time: p.Time, By: p.by(),
		Later: slices.Concat(explain.Calendar(), slices.Collect(maps.Keys(inPaper)), []string{factSource}),
		Facts: []string{p.Cluster}, Zone: p.Zone}}
	if p.Baseline != "" {
		out.Also = []string{string(p.Baseline)}
	}
	return out
}

// by are the facts to group by.
func (p *Params) by() []string {
	var out []string
	for _, text := range p.By {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// byOf are the facts to group by, as a frame calls them.
func (p *Params) byOf(f *frame.Frame) []string {
	out := p.by()
	for i, name := range out {
		if fact := f.Fact(name); fact != nil {
			out[i] = fact.Name
		} else {
			name = frame.Plain(name) // such as Hour, which follows from the times
			out[i] = cmp.Or(inPaper[name], name)
		}
	}
	return out
}

// inPaper are the facts of the calendar by their names in the paper's tables.
var inPaper = map[string]string{"hour_of_day": explain.FactHour, "day_of_week": explain.FactWeekday}

// Analyze implements study.Study: it asks of the run.
func (p *Params) Analyze(ctx context.Context, in study.Input) (study.Result, error) {
	if in.Run == nil {
		return nil, fmt.Errorf("%w: variability needs measurements; name a run, a campaign or a table", model.ErrUsage)
	}
	sources := []study.Source{study.OfRun(in.Run)}
	if p.Baseline != "" {
		base, err := p.open(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("opening the baseline: %w", err)
		}
		sources = append(sources, base)
	}
	return p.Ask(ctx, in, sources)
}

// open is the baseline of a file: a run or a campaign.
func (p *Params) open(ctx context.Context, in study.Input) (study.Source, error) {
	run, err := in.Open(ctx, string(p.Baseline))
	switch {
	case err == nil:
		return study.OfRun(run), nil
	case errors.Is(err, model.ErrNotFound) && in.Campaign != nil:
		return in.Campaign(ctx, string(p.Baseline))
	}
	return study.Source{}, err //nolint:wrapcheck // the caller does
}

// Ask implements study.Measured.
func (p *Params) Ask(ctx context.Context, in study.Input, sources []study.Source) (study.Result, error) {
	var base []frame.Frame
	if p.Baseline != "" && len(sources) > 0 {
		p.base, base = sources[len(sources)-1].Name, sources[len(sources)-1].Frames
		sources = sources[:len(sources)-1]
	}
	frames, err := together(sources)
	if err != nil {
		return nil, err
	}
	if frames, err = p.wanted(frames); err != nil {
		return nil, err
	}
	had := namesOf(base)
	if p.Rate {
		if base, err = baseRates(base, frames); err != nil {
			return nil, err
		}
		if frames, err = rates(frames); err != nil {
			return nil, err
		}
	}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil {
		return nil, fmt.Errorf("%w: zone: %w", model.ErrUsage, err)
	}
	r := &Result{Level: p.Level, params: p, title: titleOf(sources)}
	for _, s := range sources {
		r.Told = append(r.Told, s.Told...)
	}
	if r.Metrics, err = p.metrics(ctx, frames, base, zone, in.Progress); err != nil {
		return nil, err
	}
	r.Together = explain.Correlate(frames, p.Level)
	r.Doubts = model.Doubts{}
	if p.Baseline != "" && !slices.ContainsFunc(r.Metrics, func(m Metric) bool { return m.Baseline != nil }) {
		r.Doubts.Warn("no_baseline", "the baseline %s has none of these metrics, so that nothing is compared with it: it has %s; give the column or metric the same name", p.Baseline, had)
	}
	r.gather()
	return r, nil
}

// gather adds the doubts of all metrics to those of the result, each once.
func (r *Result) gather() {
	said := make(map[string]bool)
	for i := range r.Metrics {
		for _, d := range r.Metrics[i].Doubts {
			if d.Text = r.about(i, d.Text); !said[d.Text] {
				said[d.Text], r.Doubts = true, append(r.Doubts, d)
			}
		}
	}
	r.Warnings = model.Texts(r.Doubts)
}

// about is a text about a metric, with its name where there are several.
func (r *Result) about(i int, text string) string {
	if len(r.Metrics) == 1 {
		return text
	}
	return r.Metrics[i].Name() + ": " + text
}

// factSource tells the rows of several sources apart.
const factSource = "source"

// together joins the frames of all sources. Where there are several, a fact says
// which each row is from, and rows that several have are doubted.
func together(sources []study.Source) ([]frame.Frame, error) {
	var all []frame.Frame
	parts := make([]frame.Part, len(sources))
	for i, s := range sources {
		if slices.ContainsFunc(parts[:i], func(p frame.Part) bool { return filepath.Clean(p.Name) == filepath.Clean(s.Name) }) {
			return nil, fmt.Errorf("%w: %s is given twice, and its rows would count twice; name each source once", model.ErrUsage, s.Name)
		}
		parts[i] = frame.Part{Name: s.Name, Frames: s.Frames}
		for _, f := range s.Frames {
			if len(sources) > 1 && f.Fact(factSource) == nil {
				f.Facts = append(slices.Clip(f.Facts), sourceOf(s.Name, f.Len()))
			}
			all = append(all, f)
		}
	}
	out, err := frame.Join(all...)
	if err != nil {
		return nil, err
	}
	twice := frame.Twice(parts)
	for i := range out {
		if d, found := twice[out[i].Key]; found {
			out[i].Doubts = append(slices.Clip(out[i].Doubts), d)
		}
	}
	return out, nil
}

// sourceOf is the fact source of so many rows.
func sourceOf(name string, rows int) frame.Fact {
	column := frame.NewFact(factSource)
	for range rows {
		column.Append(name)
	}
	return column.Fact()
}

// wanted are the frames that the question is about: those that the user names,
// or else all that are no mere description.
func (p *Params) wanted(frames []frame.Frame) ([]frame.Frame, error) {
	var out []frame.Frame
	var names []string
	for _, f := range frames {
		asked := slices.ContainsFunc(p.Metric, f.Matches)
		// A run of few nodes has few start-ups: they are no question of the user's.
		if aside := f.Info || f.Workload == observe.Startup && f.Len() < fewest; asked || len(p.Metric) == 0 && !aside {
			out = append(out, f)
		}
		names = append(names, f.Metric)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(out) > 0:
		return out, nil
	case len(p.Metric) > 0:
		return nil, &model.InputError{Path: "metric", Problem: fmt.Sprintf("nothing was measured of %q", strings.Join(p.Metric, ", ")), Allowed: "there is " + strings.Join(names, ", ")}
	case len(frames) > 0:
		return nil, fmt.Errorf("%w: all that was measured are descriptions (%s); name one with --metric", model.ErrUsage, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%w: the sources hold no measurement", model.ErrUsage)
}

// rates are the frames of the rates of totals.
func rates(totals []frame.Frame) ([]frame.Frame, error) {
	out := make([]frame.Frame, len(totals))
	for i := range totals {
		rate, err := totals[i].Rates()
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the metric
		}
		out[i] = *rate
	}
	return out, nil
}

// findBase is the frame of the baseline that a metric is compared with: that of
// its key, or else the only one of its metric.
func findBase(base []frame.Frame, key frame.Key) *frame.Frame {
	for i := range base {
		if base[i].Key == key {
			return &base[i]
		}
	}
	same := func(f frame.Frame) bool { return f.Metric == key.Metric }
	if i := slices.IndexFunc(base, same); i >= 0 && !slices.ContainsFunc(base[i+1:], same) {
		return &base[i]
	}
	return nil
}

// baseRates are the rates of a baseline. What is no total is left out, and is an error
// where a metric is compared with it.
func baseRates(base, frames []frame.Frame) (out []frame.Frame, err error) {
	for i := range base {
		rate, err := base[i].Rates()
		switch {
		case err == nil:
			out = append(out, *rate)
		case slices.ContainsFunc(frames, func(f frame.Frame) bool { return findBase(base, f.Key) == &base[i] }):
			return nil, err //nolint:wrapcheck // it names the metric
		}
	}
	return out, nil
}

// namesOf are the metrics of frames, for people.
func namesOf(frames []frame.Frame) string {
	var names []string
	for _, f := range frames {
		names = append(names, f.Name())
	}
	return cmp.Or(num.List(names), "no measurements")
}

func titleOf(sources []study.Source) string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}
