package design

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
)

// How much of a large design the text shows; JSON has all of it.
const (
	maxLines = 60 // steps, or tasks of a batch
	maxNodes = 8  // of one step
)

// Document says what there is, how long it takes, and every step in order,
// counted from 1.
func (d Design) Document() *doc.Document {
	facts := []doc.Field{{Label: "nodes", Text: fmt.Sprintf("%d: %s", len(d.Nodes), listed(d.Nodes, maxNodes))}}
	say := func(label, format string, args ...any) {
		facts = append(facts, doc.Field{Label: label, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case d.Kind != model.KindExperiment:
		say("tasks", "%s, in this order on each node", num.Count(d.Tasks(), "task"))
	case len(d.Steps) > 0 || len(d.Later) == 0: // otherwise none is known beforehand
		say("steps", "%s with %s, seed %d", num.Count(len(d.Steps), "step"), num.Count(d.Tasks(), "task"), d.Seed)
	}
	if len(d.Steps) > 0 {
		say("time", "%s", d.Estimate)
	}
	for _, text := range d.services() {
		say("service", "%s", text)
	}
	for _, text := range d.Notes {
		say("note", "%s", text)
	}
	if d.Schedule != nil {
		say("schedule", "%s", d.Schedule.Text)
		say("next", "%s", d.Schedule.next())
	}
	if len(d.Later) > 0 && len(d.Outlook) == 0 {
		say("later", "steps of %s, which follow from results", strings.Join(d.Later, ", "))
	}
	for _, o := range d.Outlook {
		most := time.Duration(o.Trials*o.Steps) * o.Step
		say(string(o.Phase), "%s, %s: up to %d steps each of about %s, chosen from the results so far; at most %s, plus preparation and repeated steps",
			o.Workload, num.Count(o.Trials, "trial"), o.Steps, num.Seconds(o.Step.Seconds()), num.Seconds(most.Seconds()))
		if o.Note != "" {
			say("note", "%s", o.Note)
		}
	}
	var blocks []doc.Block
	if len(d.Steps) > 0 {
		t, more := d.table()
		blocks = append(blocks, doc.Block{Table: t})
		if more > 0 {
			blocks = append(blocks, doc.Remark(fmt.Sprintf("and %d more; --format json shows all", more)))
		}
	}
	return &doc.Document{Title: fmt.Sprintf("%s %q", d.Kind, d.Name), About: facts, Sections: []doc.Section{{Blocks: blocks}}}
}

// services says on which nodes each service runs: in all steps, or in the first
// where they differ.
func (d Design) services() (out []string) {
	first := model.Step{}
	more := ""
	for i, s := range d.Steps {
		if i == 0 {
			first = s
		} else if !reflect.DeepEqual(s.Services, first.Services) {
			more = " in step 1; it differs from step to step, --format json shows all"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first.Services)) {
		l := first.Services[name]
		limits := ""
		if l.CPU > 0 {
			limits += fmt.Sprintf(", %v cores each", l.CPU)
		}
		if l.Memory > 0 {
			limits += fmt.Sprintf(", %s each", num.Bytes(l.Memory))
		}
		out = append(out, fmt.Sprintf("%s on %s%s%s", name, listed(l.Nodes, maxNodes), limits, more))
	}
	return out
}

// String says how long a run takes, and what of that is not known.
func (e Estimate) String() string {
	known, limit := num.Seconds(e.Known.Seconds()), fmt.Sprintf("at most %s by the timeouts", num.Seconds(e.Limit.Seconds()))
	switch {
	case e.UnknownSteps == 0:
		return fmt.Sprintf("about %s plus preparation; %s", known, limit)
	case e.Known == 0:
		return fmt.Sprintf("unknown (%s); %s", strings.Join(e.Unknown, ", "), limit)
	}
	return fmt.Sprintf("about %s plus preparation, and %s of unknown length (%s); %s",
		known, num.Count(e.UnknownSteps, "step"), strings.Join(e.Unknown, ", "), limit)
}

// table has one row for each step of an experiment, or each task of a batch; more
// is how many it leaves out.
func (d Design) table() (t *doc.Table, more int) {
	if d.Kind == model.KindBatch {
		t = d.taskTable()
	} else {
		t = d.stepTable()
	}
	more = max(0, len(t.Rows)-maxLines)
	t.Rows = t.Rows[:len(t.Rows)-more]
	return t, more
}

func (d Design) stepTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "step", Head: "step", Right: true}, {Key: "trial", Head: "trial", Right: true}, {Key: "phase", Head: "phase"},
		{Key: "workload", Head: "workload"}, {Key: "kind", Head: "kind"}, {Key: "nodes", Head: "nodes"},
	}}
	labelled := slices.ContainsFunc(d.Steps, func(s model.Step) bool { return s.Label != "" })
	if labelled {
		t.Columns = append(t.Columns, doc.Column{Key: "label", Head: "what"})
	}
	for _, s := range d.Steps {
		cells := []doc.Cell{doc.Int(s.Number + 1), doc.Int(s.Trial), doc.Say(string(s.Phase)), doc.Say(s.Workload), doc.Say(s.Tasks[0].Spec.Kind), doc.Say(d.stepNodes(s))}
		if labelled {
			cells = append(cells, doc.Say(s.Label))
		}
		t.Add(cells...)
	}
	return t
}

func (d Design) stepNodes(s model.Step) string {
	measured := s.Subjects()
	switch {
	case len(measured) == 1:
		return measured[0]
	case len(s.Tasks) == len(d.Nodes):
		return fmt.Sprintf("all %d at once", len(measured))
	}
	return fmt.Sprintf("%d at once", len(measured))
}

func (d Design) taskTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "task", Head: "task", Right: true}, {Key: "node", Head: "node"}, {Key: "command", Head: "command", Wrap: 40},
	}}
	for _, s := range d.Steps {
		for _, task := range s.Tasks {
			command := strings.Join(strings.Fields(fmt.Sprint(task.Spec.Params["command"])), " ")
			t.Add(doc.Int(task.Position+1), doc.Say(string(task.Node)), doc.Of(command, term.Cut(command, 81)))
		}
	}
	return t
}
