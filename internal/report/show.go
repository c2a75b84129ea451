package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Show prints one run: its state, its times, its fleet, its steps with their
// outcomes, what failed and why, and the events that matter. JSON is one
// object; CSV has one line per step.
func Show(w io.Writer, d model.RunData, f Format, o Options) error {
	return show(w, newOverview(d), f, o)
}

func show(w io.Writer, v overview, f Format, o Options) error {
	switch f {
	case JSON:
		return writeJSON(w, v)
	case CSV:
		return stepsForPrograms(v.Steps).WriteCSV(w)
	case Text:
		return showText(w, v, o)
	}
	return unknownFormat(f)
}

func showText(w io.Writer, v overview, o Options) error {
	for _, part := range []func(io.Writer, overview, Options) error{showHead, showSteps, showFailed, showEvents} {
		if err := part(w, v, o); err != nil {
			return err
		}
	}
	return nil
}

func showHead(w io.Writer, v overview, o Options) error {
	r := v.Run
	title := table.Clean(fmt.Sprintf("Run %s  %s", r.ID, r.Name)) + "  "
	state := stateCell(r.State)
	if o.Color {
		title = table.Paint(title, table.Strong)
		state.Lines[0] = table.Paint(state.Lines[0], state.Style)
	}
	lines := []string{title + state.Lines[0]}
	for _, field := range headFields(v, o) {
		for i, l := range table.Wrap(field[1], o.proseWidth()-11) {
			label := field[0]
			if i > 0 {
				label = ""
			}
			lines = append(lines, fmt.Sprintf("  %-9s%s", label, l))
		}
	}
	return writeLines(w, lines...)
}

// headFields are label and text pairs; those without text are left out.
func headFields(v overview, o Options) [][2]string {
	r := v.Run
	var ids []string
	for _, id := range v.Fleet {
		ids = append(ids, string(id))
	}
	file := fmt.Sprintf("%s (%s), seed %d, scalebench %s", r.SourceName, r.Kind, r.Seed, r.Version)
	times := "created " + o.clock(r.Created)
	if !r.Started.IsZero() {
		times += ", started " + o.clock(r.Started)
	}
	if t := tookText(r); t != "" {
		times += ", took " + t
	}
	all := [][2]string{
		{"reason", r.Reason}, {"file", file}, {"time", times},
		{"fleet", count(len(ids), "node") + ": " + strings.Join(ids, ", ")},
	}
	var out [][2]string
	for _, f := range all {
		if f[1] != "" {
			out = append(out, [2]string{f[0], table.Clean(f[1])})
		}
	}
	return out
}

// count says "1 node", "2 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func showSteps(w io.Writer, v overview, o Options) error {
	if len(v.Steps) == 0 {
		return nil
	}
	if err := writeLines(w, ""); err != nil {
		return err
	}
	return stepsForPeople(v.Steps).WriteText(w, o.text())
}

func stepsForPeople(steps []stepView) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "number", Head: "step", Align: table.Right}, {Key: "workload", Head: "workload"},
		{Key: "phase", Head: "phase"}, {Key: "trial", Head: "trial", Align: table.Right},
		{Key: "state", Head: "state"}, {Key: "attempts", Head: "attempts", Align: table.Right},
		{Key: "outcomes", Head: "outcomes"}, {Key: "seconds", Head: "time", Align: table.Right},
		{Key: "start_skew_ms", Head: "skew", Align: table.Right}, {Key: "reason", Head: "reason"},
	}}
	for _, s := range steps {
		state := table.Text(string(s.State))
		if s.State == model.StepInvalid {
			state = state.As(table.Bad)
		}
		reason := table.Text(s.Reason)
		reason.Lines = table.Wrap(reason.Lines[0], 40)
		t.Add(table.Of(s.Number, strconv.Itoa(s.Number+1)), table.Text(s.Workload), table.Text(string(s.Phase)),
			table.Of(s.Trial, strconv.Itoa(s.Trial)), state, table.Of(s.Attempts, strconv.Itoa(s.Attempts)),
			table.Of(nil, outcomesText(s)), table.Of(s.Seconds, blank(s.Seconds, num.Seconds)),
			table.Of(s.SkewMS, blank(s.SkewMS, num.Millis)), reason)
	}
	return t
}

// blank prints a value, or nothing where there is none to expect.
func blank(p *float64, print func(float64) string) string {
	if p == nil {
		return ""
	}
	return print(*p)
}

// outcomeColumns are the outcomes in the order of the CSV's columns.
var outcomeColumns = []model.Outcome{
	model.OutcomeOK, model.OutcomeFailed, model.OutcomeTimeout, model.OutcomeLost,
	model.OutcomeCancelled, model.OutcomeRefused,
}

func stepsForPrograms(steps []stepView) *table.Table {
	t := &table.Table{}
	keys := []string{"number", "phase", "workload", "trial", "state", "reason", "attempts", "tasks"}
	for _, c := range outcomeColumns {
		keys = append(keys, string(c))
	}
	for _, key := range append(keys, "started", "seconds", "start_skew_ms") {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for _, s := range steps {
		row := []table.Cell{
			table.Of(s.Number), table.Of(string(s.Phase)), table.Of(s.Workload), table.Of(s.Trial),
			table.Of(string(s.State)), table.Of(s.Reason), table.Of(s.Attempts), table.Of(s.Tasks),
		}
		for _, c := range outcomeColumns {
			row = append(row, table.Of(s.Outcomes[c]))
		}
		t.Add(append(row, table.Of(s.Started), table.Of(s.Seconds), table.Of(s.SkewMS))...)
	}
	return t
}

func showFailed(w io.Writer, v overview, o Options) error {
	if len(v.Failed) == 0 {
		return nil
	}
	lines := []string{"", "Tasks that did not end as intended"}
	for _, f := range v.Failed {
		lines = append(lines, wrapped("  ", f.where(), o)...)
		lines = append(lines, wrapped("    ", f.what(), o)...)
		for _, l := range f.Stderr {
			lines = append(lines, wrapped("      | ", l, o)...)
		}
	}
	return writeLines(w, lines...)
}

// wrapped breaks text into lines that all begin with lead.
func wrapped(lead, text string, o Options) []string {
	lines := table.Wrap(text, o.proseWidth()-len(lead))
	for i, l := range lines {
		lines[i] = lead + l
	}
	return lines
}

func showEvents(w io.Writer, v overview, o Options) error {
	if len(v.Events) == 0 {
		return nil
	}
	if err := writeLines(w, "", "Events"); err != nil {
		return err
	}
	return eventsTable(v.Events, o).WriteText(w, o.text())
}

func eventsTable(events []model.Event, o Options) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "time", Head: "time"}, {Key: "severity", Head: "severity"}, {Key: "kind", Head: "what"},
		{Key: "node", Head: "node"}, {Key: "text", Head: "text"},
	}}
	for _, e := range events {
		style := table.Note
		if e.Severity == model.Problem {
			style = table.Bad
		}
		text := table.Text(e.Text)
		text.Lines = table.Wrap(text.Lines[0], 60)
		t.Add(table.Of(e.Time, o.clock(e.Time)), table.Text(string(e.Severity)).As(style),
			table.Text(string(e.Kind)), table.Text(string(e.Node)), text)
	}
	return t
}
