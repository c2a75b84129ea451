// Package record is what is on record of runs, nodes and labs, as documents:
// lists of them, one run in brief, and the parts of a run's page that no
// question owns: how it was made, on what, what happened on the nodes
// meanwhile, what failed.
package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// Overview is one run in brief; its JSON form is that of `scalebench show`.
type Overview struct {
	Run   model.Run      `json:"run"`
	Fleet []model.NodeID `json:"fleet"`
	// Startup is how long nodes took to come up, in seconds, the last time that
	// the run's fleet was asked for them.
	Startup map[model.NodeID]float64 `json:"startup_s,omitempty"`
	Steps   []stepView               `json:"steps"`
	// Stages are what services and workloads went through, of the attempts that
	// count, and at the end how the run was analysed.
	Stages []stageView `json:"stages,omitempty"`
	// Jobs are what jobs took that a fleet did.
	Jobs   []jobView     `json:"jobs,omitempty"`
	Failed []failure     `json:"failed"` // of every attempt, in order
	Events []model.Event `json:"events"` // warnings and problems
	// Doubts are what else disturbed the nodes while the run was measured;
	// Warnings their texts.
	Doubts   []model.Doubt `json:"doubts,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	// Findings are the results so far of studies that decide as they go, by the
	// studies' names.
	Findings map[string]json.RawMessage `json:"findings,omitempty"`
}

// stepView is one step with its outcome.
type stepView struct {
	Number   int                   `json:"number"`
	Phase    model.Phase           `json:"phase"`
	Workload string                `json:"workload"`
	Trial    int                   `json:"trial"`
	State    model.StepState       `json:"state"`
	Reason   string                `json:"reason,omitempty"`
	Attempts int                   `json:"attempts"`
	Tasks    int                   `json:"tasks"`
	Outcomes map[model.Outcome]int `json:"outcomes"` // of the attempts that count
	Started  time.Time             `json:"started,omitzero"`
	Seconds  *float64              `json:"seconds"` // first start to last end; nil when unknown
	SkewMS   *float64              `json:"start_skew_ms"`
}

// failure is one attempt at a task that did not end as intended.
type failure struct {
	Step     int           `json:"step"`
	Phase    model.Phase   `json:"phase"`
	Workload string        `json:"workload"`
	Trial    int           `json:"trial"`
	Node     model.NodeID  `json:"node"`
	Attempt  int           `json:"attempt"`
	Outcome  model.Outcome `json:"outcome"`
	ExitCode *int          `json:"exit_code"`
	Error    string        `json:"error"`
	// Stderr is the last lines that the workload printed there.
	Stderr []string `json:"stderr"`
	// Retried says that a later attempt of the step took its place.
	Retried bool `json:"retried"`
}

// What is shown of a failed task's stderr: the end, where tools say why they
// stop.
const (
	stderrLines = 8
	longestLine = 400
)

// stageView is a stage of a task, or of the run as a whole.
type stageView struct {
	Step    *int         `json:"step"` // null: of the run
	Node    model.NodeID `json:"node"`
	Service string       `json:"service,omitempty"`
	Name    string       `json:"stage"`
	// At is when it began, in seconds since the agreed start of the step, or since
	// the task's first stage where the step did not start; of the run's, since the run
	// began.
	At      float64 `json:"at"`
	Seconds float64 `json:"seconds"`
	Note    string  `json:"note,omitempty"`
	Error   string  `json:"error,omitempty"`
}

func stagesOf(s model.Step, results []model.Result) []stageView {
	var out []stageView
	for _, r := range results {
		if replaced(s, r, results) {
			continue
		}
		late := 0.0 // how long after the agreed start it began
		if !r.Started.IsZero() && !s.StartAt.IsZero() {
			late = r.Started.Sub(s.StartAt).Seconds()
		}
		for _, x := range r.Stages {
			out = append(out, stageView{Step: &s.Number, Node: r.Node, Service: x.Service, Name: x.Name, Note: x.Note, Error: x.Error,
				At: late + float64(x.Started)/1e9, Seconds: float64(x.Ended-x.Started) / 1e9})
		}
	}
	slices.SortStableFunc(out, func(a, b stageView) int { return cmp.Compare(a.At, b.At) })
	return out
}

// stageAnalyse is the stage of a run in which studies were asked about it.
const stageAnalyse = "analyse"

// analyses are the stages in which the run was analysed at its end: more than one where
// it was resumed since.
func analyses(run *observe.Run) (out []stageView) {
	var began time.Time
	for _, e := range run.Events() {
		switch e.Kind {
		case model.EventAnalysisStarted:
			began = e.Time
		case model.EventAnalysisEnded:
			if began.IsZero() { // so many events were there that the first was left out
				continue
			}
			s := stageView{Name: stageAnalyse, At: began.Sub(run.Run().Started).Seconds(), Seconds: e.Time.Sub(began).Seconds(), Note: e.Text}
			if e.Severity != model.Info {
				s.Note, s.Error = "", e.Text
			}
			out, began = append(out, s), time.Time{}
		}
	}
	return out
}

func stagesTable(stages []stageView) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		number("step", "step"), number("at", "at"), column("service", "service"),
		column("node", "node"), column("stage", "stage"), number("seconds", "took"), {Key: "note", Head: "note", Wrap: 60},
	}}
	for _, s := range stages {
		note := say(s.Note)
		if s.Error != "" {
			note = say(s.Error).As(doc.Bad)
		}
		step := say("run")
		if s.Step != nil {
			step = doc.Int(*s.Step + 1)
		}
		t.Add(step, doc.Of(s.At, fmt.Sprintf("%+.1f s", s.At)), say(s.Service), say(s.Node),
			say(strings.ReplaceAll(s.Name, "_", " ")), doc.Of(s.Seconds, num.Seconds(s.Seconds)), note)
	}
	return t
}

// NewOverview sums a run up.
func NewOverview(run *observe.Run) Overview {
	results := run.Results()
	if slices.ContainsFunc(results, func(r model.Result) bool { return r.Outcome != model.OutcomeOK }) {
		_ = run.Need(observe.Texts) // run.Err tells
		results = run.Results()
	}
	v := Overview{Run: run.Run(), Fleet: model.NodeIDs(run.Nodes()), Startup: map[model.NodeID]float64{},
		Steps: []stepView{}, Failed: []failure{},
		Events: []model.Event{}}
	for _, n := range run.Nodes() {
		if i := len(n.Startups) - 1; i >= 0 {
			v.Startup[n.ID] = n.Startups[i].Took.Seconds()
		}
	}
	byStep := make(map[model.StepID][]model.Result)
	for _, r := range results {
		byStep[r.Step] = append(byStep[r.Step], r)
	}
	for _, s := range run.Steps() {
		v.Steps = append(v.Steps, newStepView(s, byStep[s.ID]))
		v.Failed = append(v.Failed, failures(s, byStep[s.ID])...)
		v.Stages = append(v.Stages, stagesOf(s, byStep[s.ID])...)
	}
	for _, e := range run.Events() {
		if e.Severity != model.Info {
			v.Events = append(v.Events, e)
		}
	}
	v.Stages = append(v.Stages, analyses(run)...)
	v.Jobs = jobsOf(run)
	v.Doubts = run.Doubts()
	v.Warnings = model.Texts(v.Doubts)
	return v
}

func newStepView(s model.Step, results []model.Result) stepView {
	v := stepView{
		Number: s.Number, Phase: s.Phase, Workload: s.Workload, Trial: s.Trial, State: s.State, Reason: s.Reason,
		Attempts: s.Attempt, Tasks: len(s.Tasks), Outcomes: map[model.Outcome]int{},
	}
	var times observe.Times
	for _, r := range results {
		if replaced(s, r, results) {
			continue
		}
		v.Outcomes[r.Outcome]++
		if !serves(s, r) { // that is no part of the overlap
			times.Add(r.Started, r.Ended)
		}
	}
	if times.N == 0 {
		return v
	}
	seconds := times.LastEnd.Sub(times.FirstStart).Seconds()
	v.Started, v.Seconds = times.FirstStart, &seconds
	if s.Phase == model.Parallel {
		skew := float64(times.Skew()) / float64(time.Millisecond)
		v.SkewMS = &skew
	}
	return v
}

// replaced reports whether a later attempt took the place of this result. A
// step is tried again as a whole, but the jobs of a batch each by itself.
func replaced(s model.Step, r model.Result, all []model.Result) bool {
	if s.Phase != model.Batch {
		return r.Attempt < s.Attempt
	}
	for _, other := range all {
		if other.Task == r.Task && other.Attempt > r.Attempt {
			return true
		}
	}
	return false
}

func failures(s model.Step, results []model.Result) []failure {
	var out []failure
	for _, r := range results {
		if r.Outcome == model.OutcomeOK {
			continue
		}
		out = append(out, failure{
			Step: s.Number, Phase: s.Phase, Workload: s.Workload, Trial: s.Trial, Node: r.Node, Attempt: r.Attempt,
			Outcome: r.Outcome, ExitCode: r.ExitCode, Error: r.Error, Stderr: tail(r.Stderr.Text),
			Retried: replaced(s, r, results),
		})
	}
	return out
}

// tail returns the last lines of an output; never nil.
func tail(text string) []string {
	if strings.TrimSpace(text) == "" {
		return []string{}
	}
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	lines = lines[max(0, len(lines)-stderrLines):]
	for i, l := range lines {
		l = term.Clean(strings.ReplaceAll(strings.TrimRight(l, "\r"), "\t", "    "))
		if r := []rune(l); len(r) > longestLine {
			l = string(r[:longestLine]) + "…"
		}
		lines[i] = l
	}
	return lines
}

// what says how it ended.
func (f failure) what() string {
	s := string(f.Outcome)
	if f.ExitCode != nil {
		s += fmt.Sprintf(", exit code %d", *f.ExitCode)
	}
	switch {
	case s == string(model.OutcomeCancelled) && strings.HasPrefix(f.Error, s):
		s = f.Error // "cancelled by the user"
	case f.Error != "":
		s += ": " + f.Error
	}
	if f.Retried {
		s += " (tried again)"
	}
	return s
}

// Document shows the run: its state, its times, its fleet, its steps with their
// outcomes, what failed and why, and the events that matter. Its table for
// programs has a column for the warnings of each step's workload, still empty.
func (v Overview) Document() *doc.Document {
	r, data := v.Run, stepsTable(v.Steps)
	data.Columns = append(data.Columns, doc.ForPrograms("warnings")...)
	for i := range data.Rows {
		data.Rows[i].Cells = append(data.Rows[i].Cells, doc.Of(""))
	}
	d := &doc.Document{
		Title: fmt.Sprintf("Run %s  %s", r.ID, r.Name), Verdict: stateTag(r.State),
		About: v.about(), Warnings: v.warnings(), Data: data,
	}
	if len(v.Steps) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "steps", Blocks: []doc.Block{{Table: stepsTable(v.Steps)}}})
	}
	if len(v.Jobs) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "jobs", Title: "Where the time of a job goes",
			Blocks: []doc.Block{{Table: jobsTable(v.Jobs)}}})
	}
	if len(v.Stages) > 0 {
		shown := v.Stages[max(0, len(v.Stages)-stagesShown):]
		s := doc.Section{ID: "stages", Title: "Stages", Blocks: []doc.Block{{Table: stagesTable(shown)}}}
		if more := len(v.Stages) - len(shown); more > 0 {
			s.Intro = fmt.Sprintf("The last %d; %d before them are in JSON.", len(shown), more)
		}
		d.Sections = append(d.Sections, s)
	}
	d.Sections = append(d.Sections, v.trouble()...)
	return d
}

// stagesShown is how many stages people see.
const stagesShown = 100

// warnings are what is doubtful, each once, with the steps in which it was.
func (v Overview) warnings() []doc.Warning {
	var out []doc.Warning
	for i, d := range v.Doubts {
		if slices.ContainsFunc(v.Doubts[:i], func(x model.Doubt) bool { return x.Text == d.Text }) {
			continue
		}
		text := d.Text
		if len(d.Steps) > 0 {
			steps, word := slices.Clone(d.Steps), "step"
			for k := range steps {
				steps[k]++ // people count from 1
			}
			if len(steps) > 1 {
				word = "steps"
			}
			text += "; in " + word + " " + num.Ranges(steps)
		}
		out = append(out, doc.Warning{Text: text})
	}
	return out
}

// about are the facts beside the title.
func (v Overview) about() []doc.Field {
	r := v.Run
	times := "created " + clock(r.Created)
	if !r.Started.IsZero() {
		times += ", started " + clock(r.Started)
	}
	if t := tookText(r); t != "" {
		times += ", took " + t
	}
	startup := ""
	if len(v.Startup) > 0 {
		took := slices.Collect(maps.Values(v.Startup))
		startup = num.Seconds(slices.Min(took))
		if most := num.Seconds(slices.Max(took)); most != startup {
			startup += " to " + most
		}
		startup += " from the request until a node was usable"
	}
	return fields("reason", r.Reason,
		"file", fmt.Sprintf("%s (%s), seed %d, scalebench %s", r.SourceName, r.Kind, r.Seed, r.Version),
		"time", times, "fleet", num.Count(len(v.Fleet), "node")+": "+joined(v.Fleet), "start-up", startup)
}

// trouble are the sections about what failed and what happened.
func (v Overview) trouble() []doc.Section {
	var out []doc.Section
	if len(v.Failed) > 0 {
		s := doc.Section{ID: "failures", Title: "Tasks that did not end as intended"}
		for _, f := range v.Failed {
			which := fmt.Sprintf("step %d: %s %s on %s, attempt %d: ", f.Step+1, f.Workload, f.Phase.OfTrial(f.Trial), f.Node, f.Attempt) // steps count from 1 for people
			s.Blocks = append(s.Blocks, doc.Para(which+f.what()))
			if len(f.Stderr) > 0 {
				s.Blocks = append(s.Blocks, doc.Block{Code: &doc.Code{Text: strings.Join(f.Stderr, "\n")}})
			}
		}
		out = append(out, s)
	}
	if len(v.Events) > 0 {
		out = append(out, doc.Section{ID: "events", Title: "Events", Blocks: []doc.Block{{Table: eventsTable(v.Events)}}})
	}
	return out
}

// outcomeColumns are the outcomes in the order of the columns.
var outcomeColumns = []model.Outcome{
	model.OutcomeOK, model.OutcomeFailed, model.OutcomeTimeout, model.OutcomeLost,
	model.OutcomeCancelled, model.OutcomeRefused,
}

func stepsTable(steps []stepView) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "step", Head: "step", Right: true, For: doc.People}, hidden("number"),
		column("phase", "phase"), column("workload", "workload"), number("trial", "trial"),
		column("state", "state"), hidden("reason"),
		number("attempts", "attempts"), hidden("tasks"),
		{Key: "outcomes", Head: "outcomes", For: doc.People},
	}}
	for _, c := range outcomeColumns {
		t.Columns = append(t.Columns, hidden(string(c)))
	}
	t.Columns = append(t.Columns, hidden("started"), number("seconds", "time"),
		number("start_skew_ms", "skew"), doc.Column{Key: "why", Head: "reason", For: doc.People, Wrap: 40})
	for _, s := range steps {
		state := say(s.State)
		if s.State == model.StepInvalid {
			state = state.As(doc.Bad)
		}
		row := []doc.Cell{
			people(fmt.Sprint(s.Number + 1)), doc.Of(s.Number), say(s.Phase), say(s.Workload),
			doc.Int(s.Trial), state, doc.Of(s.Reason), doc.Int(s.Attempts),
			doc.Of(s.Tasks), people(s.outcomes()),
		}
		for _, c := range outcomeColumns {
			row = append(row, doc.Of(s.Outcomes[c]))
		}
		t.Add(append(row, timeCell(s.Started), doc.Of(s.Seconds, optional(s.Seconds, num.Seconds)),
			doc.Of(s.SkewMS, optional(s.SkewMS, num.Millis)), people(s.Reason))...)
	}
	return t
}

// outcomes counts outcomes, the good ones first: "3 ok, 1 timeout".
func (s stepView) outcomes() string {
	var out []string
	for _, o := range outcomeColumns {
		if n := s.Outcomes[o]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(out) == 0 {
		return fmt.Sprintf("none of %d", s.Tasks)
	}
	return strings.Join(out, ", ")
}

func eventsTable(events []model.Event) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		column("time", "time"), column("severity", "severity"), column("kind", "what"),
		column("node", "node"), {Key: "text", Head: "text", Wrap: 60},
	}}
	for _, e := range events {
		tone := doc.Note
		if e.Severity == model.Problem {
			tone = doc.Bad
		}
		t.Add(timeCell(e.Time), say(e.Severity).As(tone), say(e.Kind), say(e.Node), say(e.Text))
	}
	return t
}

// stateTag is the state of a run with its tone.
func stateTag(s model.RunState) doc.Tag {
	tone := map[model.RunState]doc.Tone{
		model.RunFailed: doc.Bad, model.RunIncomplete: doc.Bad, model.RunInterrupted: doc.Bad,
		model.RunCancelled: doc.Note, model.RunRunning: doc.Good, model.RunDone: doc.Good,
	}[s]
	return doc.Tag{Word: string(s), Tone: tone}
}

// took is how long a run ran; ok is false while it does or if it never began.
func took(r model.Run) (d time.Duration, ok bool) {
	if r.Started.IsZero() || r.Finished.Before(r.Started) {
		return 0, false
	}
	return r.Finished.Sub(r.Started), true
}

func tookText(r model.Run) string {
	if d, ok := took(r); ok {
		return num.Seconds(d.Seconds())
	}
	return ""
}

// clock prints a time to the second, "" for none. All times are UTC, wherever
// a document is made and read.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 MST")
}

// minute is when something began, where lines must be short.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

func timeCell(t time.Time) doc.Cell {
	if t.IsZero() {
		return doc.Cell{}
	}
	return doc.Of(t.UTC().Format(time.RFC3339Nano), clock(t))
}

// optional prints a value, or nothing without one.
func optional(p *float64, print func(float64) string) string {
	if p == nil {
		return ""
	}
	return print(*p)
}

func joined[T ~string](names []T) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}
