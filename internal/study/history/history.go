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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
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
	return study.Takes{Least: 1, Most: 1, Named: true, Choice: frame.Choice{Value: p.Value, Time: p.Time, Zone: p.Zone}}
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

// Result is the history of each metric. Its JSON form is a contract.
type Result struct {
	Name    string   `json:"name"`
	Level   float64  `json:"level"`
	Metrics []Metric `json:"metrics"`
	Told    []string `json:"told,omitempty"`

	limit *study.Percent
	zone  string
}

// Metric is the history of one metric. Null is what cannot be computed.
type Metric struct {
	Workload string        `json:"workload,omitempty"`
	Metric   string        `json:"metric"`
	Phase    model.Phase   `json:"phase,omitempty"`
	Branch   string        `json:"branch,omitempty"`
	Unit     string        `json:"unit,omitempty"`
	Better   model.Better  `json:"better,omitempty"`
	Runs     []Run         `json:"runs"` // by time
	Changes  []Change      `json:"changes"`
	Latest   *Latest       `json:"latest"` // null: too few runs before it
	Warnings []string      `json:"warnings"`
	Doubts   []model.Doubt `json:"doubts,omitempty"`
	facts    []map[string]string
	doubts   model.Doubts
	// calm are the runs by what was measured undisturbed; nil: all was.
	calm map[model.RunID]Run
}

// Run is what one run came to.
type Run struct {
	Run model.RunID `json:"run"`
	At  time.Time   `json:"at,omitzero"` // of its first value; zero: the table has no times
	// Mean is that over subjects of the mean of each, N how many there are; of one
	// subject that over its values. CI is Student's over these; null: it has none.
	Mean float64 `json:"mean"`
	// AtLeast: the run found only that it is no less, as a search that ended before it
	// had a capacity does.
	AtLeast bool            `json:"at_least,omitempty"`
	CI      *stats.Interval `json:"ci"`
	N       int             `json:"n"`

	nodes map[string]float64 // the mean of each, where nodes are known
	// worth is how many values of one node's scatter the mean is worth; squares and
	// free are the sum of squares of the values, relative to their node's mean, and
	// its degrees of freedom.
	worth, squares, free float64
}

// Change is where the level changed.
type Change struct {
	Index int         `json:"index"` // of the first run at the new level
	Run   model.RunID `json:"run"`
	At    time.Time   `json:"at,omitzero"`
	// Before and After are medians of the runs on either side, up to the next
	// changes; P is that of so clear a change by chance.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	P      float64 `json:"p"`
	Facts  []Fact  `json:"facts,omitempty"` // that changed there
}

// Fact is one that changed from one run to the next.
type Fact struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// Index is the first run that has it: that of the change, or the one before or
	// after, for where a level changes is known to about a run.
	Index int `json:"index"`
}

// Verdict is how the latest run lies to those before.
type Verdict string

// The verdict words. As: the interval holds no change. Unknown: something could
// carry the answer.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
	As     Verdict = "as before"

	Unknown Verdict = "unknown"
)

// Latest is the latest run against those before.
type Latest struct {
	Before int `json:"before"` // how many runs those are
	// Ratio is the latest over the geometric mean of those before. CI is Student's
	// for a single run: it holds what runs differ by anyway.
	Ratio   float64        `json:"ratio"`
	CI      stats.Interval `json:"ci"`
	Level   float64        `json:"level"`
	P       float64        `json:"p"`
	Q       float64        `json:"q"` // corrected for the number of metrics
	Verdict Verdict        `json:"verdict"`
	Facts   []Fact         `json:"facts,omitempty"` // that changed with this run

	estimate stats.Estimate // of the logarithm
}

func (m *Metric) name() string {
	name := frame.Key{Workload: m.Workload, Metric: m.Metric, Phase: m.Phase}.Name()
	if m.Branch != "" {
		name += " on " + m.Branch
	}
	return name
}

// metric makes one value of each run.
func (p *Params) metric(s series) Metric {
	f := s.frame
	m := Metric{Branch: s.branch, Workload: f.Workload, Metric: f.Metric, Phase: f.Phase, Unit: f.Unit,
		Better: cmp.Or(f.Better, model.Better(p.Better)), Changes: []Change{}}
	m.Runs, m.facts = p.runs(f)
	if disturbed, any := observe.Disturbed(f); any {
		calm, _ := p.runs(f.Where(func(row int) bool { return !disturbed(row) }))
		m.calm = make(map[model.RunID]Run)
		for _, r := range calm {
			m.calm[r.Run] = r
		}
	}
	order := make([]int, len(m.Runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return m.Runs[a].At.Compare(m.Runs[b].At) })
	runsBy, factsBy := make([]Run, len(order)), make([]map[string]string, len(order))
	for to, from := range order {
		runsBy[to], factsBy[to] = m.Runs[from], m.facts[from]
	}
	m.Runs, m.facts = runsBy, factsBy
	for _, d := range slices.Concat(f.Doubts, s.doubts) {
		if d.Code != frame.FactCensored { // told by the runs that it is about
			m.doubts.Add(d)
		}
	}
	return m
}

// runs makes one value of each run, with its facts.
func (p *Params) runs(f *frame.Frame) (out []Run, facts []map[string]string) {
	runs, rows := f.Fact(frame.FactRun).Groups()
	nodes := f.Fact(frame.FactSubject)
	for i, run := range runs {
		out = append(out, summary(f, nodes, run, rows[i], p.Level))
		facts = append(facts, factsOf(f, rows[i]))
	}
	return out, facts
}

// summary is the value of one run.
func summary(f *frame.Frame, nodes *frame.Fact, run string, rows []int32, level float64) Run {
	out := Run{Run: model.RunID(run), nodes: make(map[string]float64)}
	of := make(map[string][]float64)
	first := timeOf(f, rows[0])
	var names []string
	for _, row := range rows {
		name := ""
		if nodes != nil {
			name = nodes.Level(int(row))
		}
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], f.Values[row])
		first = min(first, timeOf(f, row))
	}
	values := of[names[0]]
	if len(names) > 1 {
		values = nil
	}
	slices.Sort(names)
	inverse, k := 0.0, float64(len(names))
	for _, name := range names {
		mean := stats.Average(of[name])
		if out.nodes[name] = mean; len(names) > 1 {
			values = append(values, mean)
		}
		inverse += 1 / float64(len(of[name]))
		if !(mean > 0) {
			continue
		}
		for _, x := range of[name] {
			out.squares += (x/mean - 1) * (x/mean - 1)
		}
		out.free += float64(len(of[name]) - 1)
	}
	out.N, out.worth = len(values), k*k/inverse
	if f.Times != nil {
		out.At = time.Unix(0, first).UTC()
	}
	out.Mean, out.CI = stats.MeanWithin(values, level)
	if ends := f.Ends; ends != nil && len(rows) == 1 && ends[rows[0]] != [2]float64{} {
		out.CI = &stats.Interval{Lo: ends[rows[0]][0], Hi: ends[rows[0]][1]}
	}
	if censored := f.Fact(frame.FactCensored); censored != nil {
		out.AtLeast = slices.ContainsFunc(rows, func(row int32) bool {
			return censored.Level(int(row)) == frame.Censored
		})
	}
	return out
}

// own are facts that tell runs, nodes or rows apart and explain nothing.
var own = []string{frame.FactRun, frame.FactRepetition, frame.FactSubject, frame.FactTrial, frame.FactBlock,
	frame.FactDisturbed, frame.FactCensored, "host", "instance"}

// factsOf is what is known of a run: each fact with all its levels there.
func factsOf(f *frame.Frame, rows []int32) map[string]string {
	out := make(map[string]string)
	for _, x := range f.Facts {
		if slices.Contains(own, x.Name) {
			continue
		}
		seen := make(map[uint16]bool)
		var levels []string
		for _, row := range rows {
			if code := x.Codes[row]; !seen[code] && code != 0 {
				seen[code] = true
				levels = append(levels, x.Levels[code])
			}
		}
		slices.Sort(levels)
		out[x.Name] = strings.Join(levels, " | ")
	}
	return out
}

// changed are the facts that are others in run i than in the one before.
func (m *Metric) changed(i int) []Fact {
	var out []Fact
	if i < 1 || i >= len(m.facts) {
		return nil
	}
	for name, to := range m.facts[i] {
		if from := m.facts[i-1][name]; from != to {
			out = append(out, Fact{name, from, to, i})
		}
	}
	slices.SortFunc(out, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// fewestRuns is how many runs before the latest tell how much runs differ.
const fewestRuns = 3

// mostBefore is with how many runs the latest is compared at most.
const mostBefore = 50

// changes finds where the level changed. The level of the test is divided by the
// number of metrics (Bonferroni), so that a history without changes shows any with
// the probability 1−Level.
func (p *Params) changes(m *Metric, metrics int) {
	found, err := stats.ChangePoints(m.means(), (1-p.Level)/float64(metrics), 1)
	if errors.Is(err, stats.ErrTooFew) {
		m.doubts.Warn("few_runs", "%s: changes of level are looked for from 10 runs on", num.Count(len(m.Runs), "run"))
	}
	if err != nil {
		return
	}
	for _, c := range m.definite(found) {
		one := Change{Index: c.Index, Run: m.Runs[c.Index].Run, At: m.Runs[c.Index].At, Before: c.Before, After: c.After, P: c.P}
		for _, i := range []int{c.Index, c.Index - 1, c.Index + 1} {
			one.Facts = append(one.Facts, m.changed(i)...)
		}
		m.Changes = append(m.Changes, one)
	}
}

func (m *Metric) means() []float64 {
	out := make([]float64, len(m.Runs))
	for i, r := range m.Runs {
		out[i] = r.Mean
	}
	return out
}

// judge holds the latest run of each metric against those before.
func (p *Params) judge(metrics []Metric) error {
	var ps []float64
	var of []*Metric
	for i := range metrics {
		m := &metrics[i]
		if m.Latest = m.latest(); m.Latest != nil {
			ps, of = append(ps, m.Latest.P), append(of, m)
		}
	}
	qs, levels, err := stats.SelectedLevels(ps, p.Level)
	if err != nil {
		return fmt.Errorf("correcting for the number of metrics: %w", err)
	}
	for i, m := range of {
		x := m.Latest
		x.Q, x.Level = qs[i], levels[i]
		if x.CI, err = x.estimate.Interval(levels[i]); err != nil {
			return fmt.Errorf("the interval of the latest run: %w", err)
		}
		x.CI = stats.Interval{Lo: math.Exp(x.CI.Lo), Hi: math.Exp(x.CI.Hi)}
		x.Verdict = verdict(x.CI, m.Better)
		m.undisturbed()
		m.sameNodes()
		m.censored()
		if slices.ContainsFunc(m.doubts, func(d model.Doubt) bool { return d.Severity == model.Problem }) {
			x.Verdict = Unknown
		}
	}
	for i := range metrics {
		m := &metrics[i]
		m.Doubts, m.Warnings = m.doubts, model.Texts(m.doubts)
	}
	return nil
}

// undisturbed asks again of what was measured undisturbed alone, and doubts a verdict
// that is another then.
func (m *Metric) undisturbed() {
	x, last := m.Latest, len(m.Runs)-1
	if m.calm == nil {
		return
	}
	var before []Run
	for _, r := range m.Runs[last-x.Before : last] {
		if calm, has := m.calm[r.Run]; has {
			before = append(before, calm)
		}
	}
	latest, has := m.calm[m.Runs[last].Run]
	if !has && 2*len(before) >= x.Before {
		m.doubts.Problem("disturbed", "all of the latest run was disturbed, and most of the %d before were not; measure again", x.Before)
	} else if !has {
		m.doubts.Warn("disturbed", "all of the latest run was disturbed, as were most of the %d before: how much of its difference is due to that cannot be told; measure again undisturbed", x.Before)
	}
	if !has || len(before) < fewestRuns {
		return // those before were disturbed as much as the latest
	}
	m.again("disturbed", before, latest, "what disturbed the nodes", "without what was disturbed")
}

func verdict(ci stats.Interval, better model.Better) Verdict {
	up := ci.Lo > 1
	switch {
	case !up && ci.Hi >= 1:
		return As
	case better == "":
		return map[bool]Verdict{true: Higher, false: Lower}[up]
	}
	return map[bool]Verdict{true: Better, false: Worse}[up == (better == model.Higher)]
}

// latest is the latest run against those before it, back to the last change; nil
// where those do not tell. The means of runs are taken to be independent and their
// logarithms normal: the interval is that of the difference of a single value from
// the mean of n others, s·√(1+1/n) with n−1 degrees of freedom.
func (m *Metric) latest() *Latest {
	last := len(m.Runs) - 1
	from := max(0, last-mostBefore)
	for _, c := range m.Changes {
		if c.Index <= last-fewestRuns {
			from = max(from, c.Index)
		}
	}
	n := last - from
	if n < fewestRuns {
		m.doubts.Warn("few_before", "%s before the latest: %d or more tell how much runs differ", num.Count(max(n, 0), "run"), fewestRuns)
		return nil
	}
	for _, r := range m.Runs[from:] {
		if !(r.Mean > 0) {
			m.doubts.Warn("not_positive", "run %s has the mean %v: the latest run is compared by ratios, which need values above 0", r.Run, r.Mean)
			return nil
		}
	}
	e, err := against(m.Runs[from:last], m.Runs[last])
	if err != nil {
		m.doubts.Warn("no_scatter", "the %d runs before the latest are all equal: they do not tell how much runs differ", n)
		return nil
	}
	return &Latest{Before: n, Ratio: math.Exp(e.Mean), P: e.P(0), Facts: m.changed(last), estimate: e}
}

// against is the logarithm of a run over the geometric mean of those before. Errors:
// stats.ErrNoSpread.
func against(before []Run, run Run) (stats.Estimate, error) {
	logs, n := make([]float64, len(before)), float64(len(before))
	for i, r := range before {
		logs[i] = math.Log(r.Mean)
	}
	mean, err := stats.Mean(logs)
	if err != nil {
		return stats.Estimate{}, fmt.Errorf("comparing a run: %w", err)
	}
	sd, err := stats.SampleSD(logs)
	if err == nil && !(sd > 1e-12) {
		err = stats.ErrNoSpread
	}
	if err != nil {
		return stats.Estimate{}, fmt.Errorf("comparing a run: %w", err)
	}
	return stats.Estimate{Mean: math.Log(run.Mean) - mean, Var: sd*sd*(1+1/n) + fewer(before, run), Degrees: n - 1}, nil
}

// fewer is by how much the mean of a run scatters more than those before do, because
// it is that of fewer values.
func fewer(before []Run, run Run) float64 {
	squares, free, inverse := run.squares, run.free, 0.0
	for _, r := range before {
		squares, free, inverse = squares+r.squares, free+r.free, inverse+1/r.worth
	}
	more := 1/run.worth - inverse/float64(len(before))
	if free < 1 || !(more > 0) {
		return 0
	}
	return squares / free * more
}

// sameNodes asks again of the nodes alone that the latest run and those before have
// in common, and doubts a verdict that is another then: without its fastest node a
// run is slower. Where they have none in common, nodes are made anew for each run.
func (m *Metric) sameNodes() {
	x, last := m.Latest, len(m.Runs)-1
	window := m.Runs[last-x.Before:]
	shared, differ := maps.Clone(m.Runs[last].nodes), false
	for _, r := range window[:x.Before] {
		for name := range shared {
			if _, has := r.nodes[name]; !has {
				delete(shared, name)
			}
		}
		differ = differ || len(r.nodes) != len(m.Runs[last].nodes)
	}
	if len(shared) == 0 || !differ && len(shared) == len(m.Runs[last].nodes) {
		return
	}
	runs := slices.Clone(window)
	for i, r := range window {
		sum := 0.0
		for name := range shared {
			sum += r.nodes[name]
		}
		runs[i].Mean = sum / float64(len(shared))
	}
	m.again("nodes", runs[:x.Before], runs[x.Before], "that not all runs have the same nodes", fmt.Sprintf("on the %s that all of them have", num.Count(len(shared), "node")))
}

// again doubts the verdict, where it is another by these means of runs.
func (m *Metric) again(code string, before []Run, latest Run, why, without string) {
	x := m.Latest
	e, err := against(before, latest)
	if err != nil || math.IsNaN(e.Mean) {
		return
	}
	ci, err := e.Interval(x.Level)
	if err != nil {
		return
	}
	if word := verdict(stats.Interval{Lo: math.Exp(ci.Lo), Hi: math.Exp(ci.Hi)}, m.Better); word != x.Verdict {
		m.doubts.Problem(code, "%s may carry the answer: with all that was measured the latest run is %s (%s), %s %s (%s); measure again", why, x.Verdict, num.SignedPercent(100*(x.Ratio-1)), without, word, num.SignedPercent(100*math.Expm1(e.Mean)))
	}
}

// Gate implements study.Result.
func (r *Result) Gate() error {
	if r.limit == nil {
		return nil
	}
	limit := study.Limit{Most: float64(*r.limit), Unit: "%", By: "--fail-worse, or fail_worse in the file"}
	var errs []error
	for _, m := range r.Metrics {
		what := m.name() + ": what the latest run is worse by"
		switch x := m.Latest; {
		case x == nil || x.Verdict == Unknown:
			errs = append(errs, limit.Unknown(m.name()+": the runs do not tell whether the latest is worse"))
		case m.Better == model.Higher:
			errs = append(errs, limit.Check(what, 100*(1-x.CI.Hi), 100*(1-x.CI.Lo)))
		case m.Better == model.Lower:
			errs = append(errs, limit.Check(what, 100*(x.CI.Lo-1), 100*(x.CI.Hi-1)))
		default:
			errs = append(errs, limit.Unknown(m.name()+": it is not known which direction is better (--better says it)"))
		}
	}
	return errors.Join(errs...)
}
