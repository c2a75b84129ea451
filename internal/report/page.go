package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
)

// page is all that the template shows, ready to print. Strings are plain text;
// the template escapes them.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Title, RunID, State, StateClass, When string
	Lead                                  string
	Summary                               []string
	Alerts                                []alert
	Ranking                               *rankingView
	CDI                                   *cdiView
	Findings                              *tableView
	Workloads                             []workloadView
	Setup                                 []field
	SourceName                            string
	Source                                string
	SameFacts                             []field
	Nodes                                 *tableView
	NodeCount                             int
	Marked                                bool // some node differs from most
	Steps                                 *tableView
	StepsFolded                           bool
	Failures                              []failureView
	Events                                *tableView
	Footer                                string
}

// field is a label with its text.
type field struct{ Label, Text string }

// link leads to a part of the page.
type link struct{ Href, Text string }

// alert is a warning at the top, with links to what it concerns.
type alert struct {
	Text  string
	Links []link
}

type failureView struct {
	Where, What string
	Stderr      string
	Retried     bool
}

// builder holds what the parts of a page are made from.
type builder struct {
	data     model.RunData
	findings []model.Finding
	over     overview
	opts     Options
	accepted map[model.StepID][]model.Result
	fleet    fleetView
	scalings []model.Scaling
	notes    []HostNote
}

func newPage(d model.RunData, findings []model.Finding, o HTMLOptions) page {
	b := builder{data: d, findings: findings, over: newOverview(d), opts: Options{Zone: o.Zone}, scalings: o.Scalings}
	b.accepted, b.fleet, b.notes = resultsByStep(d.Accepted()), newFleetView(d.Steps), HostNotes(d)
	said := Summary(d, findings)
	p := page{
		Policy: policy(), Style: template.CSS(styleSheet), Script: template.JS(script),
		Title: titleOf(d.Run), RunID: table.Clean(string(d.Run.ID)), State: table.Clean(string(d.Run.State)),
		StateClass: stateClass(d.Run.State), When: b.opts.clock(d.Run.Created),
		Lead: said[0], Summary: said[1:], Alerts: b.alerts(),
		Ranking: b.ranking(o.Ranking), Workloads: b.workloads(), Setup: b.setup(),
		SourceName: table.Clean(d.Run.SourceName), Source: strings.Join(table.CleanLines(d.Run.Source), "\n"),
		NodeCount: len(d.Nodes), Failures: b.failures(), Footer: b.footer(o),
	}
	if !p.Ranking.covers(findings) {
		p.CDI = cdiOverview(findings)
	}
	p.Alerts = append(p.Alerts, hostAlerts(p.Workloads)...)
	b.addTables(&p)
	return p
}

func (b builder) addTables(p *page) {
	if len(b.findings) > 0 {
		p.Findings = newTableView(findingsPage(b.findings), findingsFlat(b.findings))
	}
	p.SameFacts, p.Nodes = nodeFacts(b.data.Nodes)
	p.Marked = differText(b.data.Nodes) != ""
	if len(b.over.Steps) > 0 {
		p.Steps = newTableView(stepsForPeople(b.over.Steps), stepsForPrograms(b.over.Steps))
		p.StepsFolded = len(b.over.Steps) > 24
	}
	if len(b.over.Events) > 0 {
		events := eventsTable(b.over.Events, b.opts)
		p.Events = newTableView(events, events)
	}
}

func titleOf(r model.Run) string {
	if r.Name != "" {
		return table.Clean(r.Name)
	}
	return "Run " + table.Clean(string(r.ID))
}

func stateClass(s model.RunState) string {
	switch s {
	case model.RunDone:
		return "good"
	case model.RunPending, model.RunRunning:
		return "plain"
	}
	return "bad"
}

// alerts are all warnings of the run: about its state, its steps, its nodes,
// and those of the findings.
func (b builder) alerts() []alert {
	var out []alert
	out = append(out, b.stateAlerts()...)
	if text := differText(b.data.Nodes); text != "" {
		out = append(out, alert{Text: text, Links: []link{{"#nodes", "nodes"}}})
	}
	for _, g := range groupWarnings(b.findings) {
		a := alert{Text: g.text}
		for _, k := range g.findings {
			a.Links = append(a.Links, link{findingHref(k), name(b.findings[k])})
		}
		out = append(out, a)
	}
	return out
}

func (b builder) stateAlerts() []alert {
	var out []alert
	if r := b.data.Run; r.State != model.RunDone {
		text := "The run is " + table.Clean(string(r.State))
		if r.Reason != "" {
			text += ": " + table.Clean(r.Reason)
		}
		a := alert{Text: text}
		if len(b.over.Steps) > 0 {
			a.Links = []link{{"#steps", "steps"}}
		}
		out = append(out, a)
	}
	invalid := 0
	for _, s := range b.over.Steps {
		invalid += one(s.State == model.StepInvalid)
	}
	if invalid > 0 {
		text := count(invalid, "step") + " of " + fmt.Sprint(len(b.over.Steps)) + " not valid and not scored"
		out = append(out, alert{Text: text, Links: []link{{"#steps", "steps"}}})
	}
	if n := len(b.over.Failed); n > 0 {
		text := count(n, "attempt") + " at a task did not end as intended"
		out = append(out, alert{Text: text, Links: []link{{"#failures", "failures"}}})
	}
	return out
}

// hostAlerts tell at the top what the monitor saw, one line a workload.
func hostAlerts(workloads []workloadView) []alert {
	var out []alert
	for _, w := range workloads {
		if w.Host == nil || len(w.Host.Notes) == 0 {
			continue
		}
		text := w.Host.Notes[0]
		if more := len(w.Host.Notes) - 1; more > 0 {
			text += fmt.Sprintf("; and %s more", count(more, "observation"))
		}
		out = append(out, alert{Text: text, Links: []link{{"#" + w.Host.ID, w.Name + " monitor"}}})
	}
	return out
}

func findingHref(k int) string { return fmt.Sprintf("#f%d", k) }

func (b builder) failures() []failureView {
	var out []failureView
	for _, f := range b.over.Failed {
		out = append(out, failureView{
			Where: f.where(), What: f.what(), Stderr: strings.Join(f.Stderr, "\n"), Retried: f.Retried,
		})
	}
	return out
}

func (b builder) footer(o HTMLOptions) string {
	s := "Made by scalebench"
	if o.Version != "" {
		s += " " + table.Clean(o.Version)
	}
	if t := b.opts.clock(o.Generated); t != "" {
		s += " on " + t
	}
	return s + ". This page is self-contained and loads nothing."
}

// cdiView is the overview of all findings.
type cdiView struct {
	Rows []cdiRow
	Axis template.HTML
}

type cdiRow struct {
	Href, Workload, Metric  string
	Figure                  template.HTML
	Value, Interval, Worth  string
	Verdict, Symbol, Trials string
}

func cdiOverview(findings []model.Finding) *cdiView {
	if len(findings) == 0 {
		return nil
	}
	chart := figure.CDI(cdiRows(findings))
	v := &cdiView{Axis: chart.Axis}
	for i, f := range findings {
		v.Rows = append(v.Rows, newCDIRow(i, f, chart.Rows[i]))
	}
	return v
}

func cdiRows(findings []model.Finding) []figure.CDIRow {
	rows := make([]figure.CDIRow, len(findings))
	for i, f := range findings {
		rows[i] = figure.CDIRow{
			Name: name(f), CDI: f.CDI, CI: (*[2]float64)(shownInterval(f.CI)), Trials: f.CDITrials, Verdict: string(verdictOf(f)),
		}
	}
	return rows
}

func newCDIRow(i int, f model.Finding, drawing template.HTML) cdiRow {
	r := cdiRow{
		Href: findingHref(i), Workload: table.Clean(f.Workload), Metric: table.Clean(f.Metric), Figure: drawing,
		Verdict: string(verdictOf(f)), Symbol: symbol(verdictOf(f)), Value: minus(optional(f.CDI, num.Percent)),
	}
	r.Interval = minus(intervalText(f.CI))
	if f.CDI != nil && num.Finite(*f.CDI) {
		r.Worth = fmt.Sprintf("%s do the work of %s", subjects(f), worthText(f))
	}
	return r
}

// symbol says the verdict to those who do not see colours.
func symbol(v model.Verdict) string {
	return map[model.Verdict]string{
		model.VerdictDegraded: "▼", model.VerdictGain: "▲", model.VerdictNone: "●", model.VerdictUnknown: "?",
	}[v]
}

// minus replaces the hyphen before a digit by the sign that is as wide as the
// digits, for reading; what is copied keeps the hyphen.
func minus(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '-' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
			b.WriteString("−")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
