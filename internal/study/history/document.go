package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{Title: "History of " + r.Name, Answer: r.answer(), More: r.Told, Verdict: r.overall(), Data: r.data()}
	for i := range r.Metrics {
		d.Sections = append(d.Sections, r.section(&r.Metrics[i]))
	}
	d.Warnings = r.warnings()
	for i := range r.Metrics {
		if m := &r.Metrics[i]; len(m.Changes) > 0 && len(r.Metrics) <= mostSaid {
			d.More = append(d.More, r.changeSaid(m))
		}
	}
	return d
}

// mostSaid is up to how many metrics have their last change in the summary.
const mostSaid = 5

// changeSaid is the last change of a metric.
func (r *Result) changeSaid(m *Metric) string {
	c := m.Changes[len(m.Changes)-1]
	scale := num.For(m.Unit, c.Before, c.After)
	when := "at " + r.clock(c.At)
	if c.At.IsZero() {
		when = "with run " + string(c.Run)
	}
	text := fmt.Sprintf("%s: the level changed from %s to %s %s", m.name(), scale.Value(c.Before, 0),
		scale.Value(c.After, 0), when)
	if len(c.Facts) > 0 {
		text += "; what else changed then: " + factList(c.Facts, c.Index)
	}
	return text + "."
}

// warnings are those of all metrics, each once.
func (r *Result) warnings() []doc.Warning {
	names := make([]string, len(r.Metrics))
	for i := range names {
		names[i] = r.Metrics[i].name()
	}
	return doc.WarningsOf(names, func(i int) []string { return r.Metrics[i].Warnings })
}

// answer says it for all metrics: what the latest run is, and the last change.
func (r *Result) answer() string {
	var odd, usual, untold []string
	for i := range r.Metrics {
		m := &r.Metrics[i]
		switch {
		case m.Latest == nil:
			untold = append(untold, m.name())
		case m.Latest.Verdict == As:
			usual = append(usual, m.name())
		default:
			odd = append(odd, m.sentence())
		}
	}
	if len(r.Metrics) == 1 {
		return r.Metrics[0].sentence() + "."
	}
	out := odd
	if len(usual) > 0 {
		out = append(out, fmt.Sprintf("the latest run is as the ones before in %d of %d metrics", len(usual), len(r.Metrics)))
	}
	if len(untold) > 0 {
		out = append(out, "too few runs tell of "+num.List(untold))
	}
	if len(odd) == 0 { // otherwise it begins with a name
		out[0] = strings.ToUpper(out[0][:1]) + out[0][1:]
	}
	return strings.Join(out, "; ") + "."
}

// sentence is what the latest run is.
func (m *Metric) sentence() string {
	x := m.Latest
	if x == nil {
		return fmt.Sprintf("%s: %s, too few to say how the latest lies to the ones before", m.name(), num.Count(len(m.Runs), "run"))
	}
	if x.Verdict == Unknown {
		at := slices.IndexFunc(m.doubts, func(d model.Doubt) bool { return d.Severity == model.Problem })
		return fmt.Sprintf("%s: whether the latest run is as the %d before is unknown: %s", m.name(), x.Before, m.doubts[at].Text)
	}
	lo, hi, word := 100*(x.CI.Lo-1), 100*(x.CI.Hi-1), "higher"
	switch {
	case x.Verdict == As:
		return fmt.Sprintf("%s: the latest run is as the %d before (%s, where %s to %s is usual)", m.name(), x.Before, num.SignedPercent(100*(x.Ratio-1)), num.SignedPercent(100*(x.Ratio/x.CI.Hi-1)), num.SignedPercent(100*(x.Ratio/x.CI.Lo-1)))
	case x.Ratio < 1:
		lo, hi, word = -hi, -lo, "lower"
	}
	if strings.HasSuffix(m.Unit, "/s") && m.Better == model.Higher {
		word = map[string]string{"higher": "faster", "lower": "slower"}[word]
	} else if m.Better != "" {
		word += " (" + string(x.Verdict) + ")"
	}
	return fmt.Sprintf("%s: the latest run is %s %s than the %d before (%s to %s)", m.name(), num.Percent(math.Abs(100*(x.Ratio-1))), word, x.Before, strings.TrimSuffix(num.Percent(lo), " %"), num.Percent(hi))
}

// overall is the worst of the verdicts.
func (r *Result) overall() doc.Tag {
	tag := doc.Tag{Word: string(As), Tone: doc.Good}
	rank := 0
	for _, m := range r.Metrics {
		next, at := doc.Tag{Word: string(As), Tone: doc.Good}, 0
		switch {
		case m.Latest == nil || m.Latest.Verdict == Unknown:
			next, at = doc.Tag{Word: "unknown", Tone: doc.Doubt}, 3
		case m.Latest.Verdict == Worse:
			next, at = doc.Tag{Word: string(Worse), Tone: doc.Bad}, 4
		case m.Latest.Verdict == Better:
			next, at = doc.Tag{Word: string(Better), Tone: doc.Gain}, 1
		case m.Latest.Verdict != As:
			next, at = doc.Tag{Word: string(m.Latest.Verdict), Tone: doc.Note}, 2
		}
		if at > rank {
			tag, rank = next, at
		}
	}
	return tag
}

// section is one metric: its figure, its changes, its runs.
func (r *Result) section(m *Metric) doc.Section {
	s := doc.Section{Title: m.name(), Words: num.Count(len(m.Runs), "run"), Blocks: []doc.Block{r.figure(m)}}
	if len(r.Metrics) > 1 {
		s.Intro = m.sentence() + "."
	}
	if len(m.Changes) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Table: r.changesTable(m)})
	}
	if x := m.Latest; x != nil && x.Verdict != As && x.Verdict != Unknown && len(x.Facts) > 0 {
		s.Blocks = append(s.Blocks, doc.Para("Changed with the latest run: "+factList(x.Facts, len(m.Runs)-1)+"."))
	}
	s.Blocks = append(s.Blocks, r.runsTable(m)...)
	return s
}

// factList names facts that changed, those of another run with where.
func factList(facts []Fact, at int) string {
	var out []string
	for _, f := range facts {
		from, to := f.From, f.To
		if from == "" {
			from = "not known"
		}
		if to == "" {
			to = "not known"
		}
		text := fmt.Sprintf("%s: %s → %s", frame.InWords(f.Name), from, to)
		if f.Index < at {
			text += " (a run before)"
		} else if f.Index > at {
			text += " (a run later)"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func (r *Result) changesTable(m *Metric) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "at", Head: "changed at"}, {Key: "run", Head: "with run"}, doc.Number("before", "before"),
		doc.Number("after", "after"),
		doc.Number("change", "change"), doc.Number("p", "p"), {Key: "facts", Head: "what else changed", Wrap: 30},
	}}
	for _, c := range m.Changes {
		scale := num.For(m.Unit, c.Before, c.After)
		change := num.Missing
		if c.Before > 0 {
			change = num.SignedPercent(100 * (c.After/c.Before - 1))
		}
		facts := factList(c.Facts, c.Index)
		if facts == "" {
			facts = "nothing that is recorded"
		}
		t.Add(doc.Of(c.At, r.clock(c.At)), doc.Say(string(c.Run)), doc.Of(c.Before, scale.Value(c.Before, 0)), doc.Of(c.After, scale.Value(c.After, 0)),
			doc.Of(nil, change), doc.Of(c.P, fmt.Sprintf("%.4f", c.P)), doc.Say(facts))
	}
	return t
}

// clock is a time in the zone of the question.
func (r *Result) clock(at time.Time) string {
	if at.IsZero() {
		return num.Missing
	}
	zone, err := time.LoadLocation(r.zone)
	if err != nil {
		zone = time.UTC
	}
	return at.In(zone).Format("2006-01-02 15:04 MST")
}

// mostRows is how many runs the table for people has.
const mostRows = 20

// runsTable is the latest runs; a run that begins another level is marked.
func (r *Result) runsTable(m *Metric) []doc.Block {
	t := &doc.Table{Columns: []doc.Column{{Key: "at", Head: "time"}, {Key: "run", Head: "run"},
		doc.Number("mean", "mean"), doc.Number("ci", "interval"), {Key: "n", Head: "n", Right: true,
			Tip: "nodes, or values of one node"}, {Key: "change", Head: "level"}}}
	scale := num.For(m.Unit, m.means()...)
	first := max(0, len(m.Runs)-mostRows)
	for i := first; i < len(m.Runs); i++ {
		x := m.Runs[i]
		interval, level := num.Missing, ""
		if x.CI != nil {
			interval = scale.Interval(x.CI.Lo, x.CI.Hi)
		}
		mean := scale.Value(x.Mean, 0)
		if x.AtLeast {
			mean = "≥ " + mean
		}
		if m.changesAt(i) {
			level = "changes here"
		}
		t.Add(doc.Of(x.At, r.clock(x.At)), doc.Say(string(x.Run)), doc.Of(x.Mean, mean).As(doc.Strong),
			doc.Of(nil, interval), doc.Int(x.N), doc.Say(level).As(doc.Note))
	}
	out := []doc.Block{{Table: t}}
	if first > 0 {
		out = append(out, doc.Remark(fmt.Sprintf("The latest %d of %d runs; the CSV has all.", mostRows, len(m.Runs))))
	}
	return out
}

// mostIntervals is up to how many runs have their interval in the figure.
const mostIntervals = 200

// figure is the runs over time, with the level between changes.
func (r *Result) figure(m *Metric) doc.Block {
	x, place := chart.Axis{Kind: chart.Time, Zone: r.zone}, func(i int) float64 { return seconds(m.Runs[i].At) }
	if m.Runs[0].At.IsZero() {
		x, place = chart.Axis{Label: "run"}, func(i int) float64 { return float64(i + 1) }
	}
	y := chart.Axis{Label: m.Metric, Unit: m.Unit, Tight: true}
	var at, lo, hi chart.Values
	words := "a dot is the mean of a run, the line through it the interval over its nodes"
	if len(m.Runs) > mostIntervals {
		words = "a dot is the mean of a run"
	}
	for i, run := range m.Runs {
		at = append(at, place(i))
		if run.CI != nil && len(m.Runs) <= mostIntervals {
			lo, hi = append(lo, run.CI.Lo), append(hi, run.CI.Hi)
		} else {
			lo, hi = append(lo, math.NaN()), append(hi, math.NaN())
		}
	}
	layers := []chart.Layer{{Mark: chart.Rule, Role: chart.Interval, X: at, Y: lo, Y2: hi}}
	layers = append(layers, chart.Scatter(x, y, chart.Dots{X: at, Y: m.means()})...)
	if len(m.Changes) > 0 {
		var from, to, level, when chart.Values
		last := at[0]
		for _, c := range m.Changes {
			when = append(when, place(c.Index))
			from, to, level, last = append(from, last), append(to, place(c.Index)), append(level, c.Before),
				place(c.Index)
		}
		from, to, level = append(from, last), append(to, at[len(at)-1]), append(level, m.Changes[len(m.Changes)-1].After)
		layers = append(layers,
			chart.Layer{Mark: chart.Rule, Role: chart.Estimate, X: from, X2: to, Y: level, Name: "median between changes"},
			chart.Layer{Mark: chart.Rule, Role: chart.Limit, X: when, Name: "change of level"})
	}
	return doc.Plot("", words, chart.Chart{Title: m.name() + " over its runs", X: x, Y: y, Layers: layers})
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }

// dataColumns are the columns of the CSV form, and their keys in the rows of data: a
// contract.
var dataColumns = []string{"workload", "metric", "phase", "unit", "better", "run=run_run", "at=run_at",
	"mean=run_mean", "mean_lo=run_ci_lo",
	"mean_hi=run_ci_hi", "n=run_n", "change", "latest_ratio", "latest_lo=latest_ci_lo", "latest_hi=latest_ci_hi",
	"verdict=latest_verdict",
	"warnings", "branch", "at_least=run_at_least"}

// data is a row a run; what is about the latest stands in its row.
func (r *Result) data() *doc.Table {
	type row struct {
		*Metric
		Run      Run      `json:"run"`
		Change   bool     `json:"change"`
		Latest   *Latest  `json:"latest"`
		Warnings []string `json:"warnings"`
	}
	var rows []row
	for i := range r.Metrics {
		m := &r.Metrics[i]
		for k, run := range m.Runs {
			rows = append(rows, row{Metric: m, Run: run, Change: m.changesAt(k)})
		}
		last := &rows[len(rows)-1]
		last.Latest, last.Warnings = m.Latest, m.Warnings
	}
	return doc.Flatten(rows, "", dataColumns...)
}

// changesAt reports whether another level begins with a run.
func (m *Metric) changesAt(run int) bool {
	return slices.ContainsFunc(m.Changes, func(c Change) bool { return c.Index == run })
}
