package plan

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// How much of a large plan the text shows; JSON has all of it.
const (
	maxLines = 60 // steps, or tasks of a batch
	maxNodes = 8  // of one step
)

// Text writes the plan for people: what there is, how long it takes, and every
// step in order, counted from 1.
func (p Plan) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %q\n", p.Kind, p.Name)
	fmt.Fprintf(&b, "nodes     %d: %s\n", len(p.Nodes), nodeList(p.Nodes, maxNodes))
	if p.Kind == model.KindExperiment {
		p.stepsLine(&b)
	} else {
		fmt.Fprintf(&b, "tasks     %s, in this order on each node\n", count(p.Tasks(), "task"))
	}
	if len(p.Steps) > 0 {
		fmt.Fprintf(&b, "time      %s\n", p.Estimate)
	}
	p.searchLines(&b)
	if len(p.Steps) > 0 {
		b.WriteByte('\n')
		p.table(&b)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

// stepsLine says how many steps are known beforehand, if there are any.
func (p Plan) stepsLine(b *bytes.Buffer) {
	if len(p.Steps) > 0 || len(p.Searches) == 0 {
		fmt.Fprintf(b, "steps     %s with %s, seed %d\n", count(len(p.Steps), "step"), count(p.Tasks(), "task"), p.Seed)
	}
}

// String says how long a plan takes, and what of it nobody knows.
func (e Estimate) String() string {
	limit := fmt.Sprintf("at most %s by the timeouts", unit.Duration(e.Limit))
	switch {
	case e.UnknownSteps == 0:
		return fmt.Sprintf("about %s, and the time to prepare; %s", unit.Duration(e.Known), limit)
	case e.Known == 0:
		return fmt.Sprintf("not known (%s); %s", strings.Join(e.Unknown, ", "), limit)
	}
	return fmt.Sprintf("about %s, and the time to prepare, and %s of unknown length (%s); %s",
		unit.Duration(e.Known), count(e.UnknownSteps, "step"), strings.Join(e.Unknown, ", "), limit)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// table writes one line for each step of an experiment, or each task of a
// batch. Writing to a buffer cannot fail, nor can the table on top of it.
func (p Plan) table(b *bytes.Buffer) {
	var lines bytes.Buffer
	var more int
	if p.Kind == model.KindBatch {
		more = p.batchLines(&lines)
	} else {
		more = p.stepLines(&lines)
	}
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	_, _ = t.Write(lines.Bytes())
	_ = t.Flush()
	if more > 0 {
		fmt.Fprintf(b, "and %d more; --format json shows all\n", more)
	}
}

// stepLines writes the steps and returns how many it left out.
func (p Plan) stepLines(w *bytes.Buffer) (more int) {
	fmt.Fprintln(w, "STEP\tTRIAL\tPHASE\tWORKLOAD\tKIND\tNODES")
	for i, s := range p.Steps {
		if i == maxLines {
			return len(p.Steps) - i
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\n", s.Number+1, s.Trial, s.Phase, s.Workload, s.Tasks[0].Spec.Kind, p.stepNodes(s))
	}
	return 0
}

// stepNodes says what is measured in a step.
func (p Plan) stepNodes(s model.Step) string {
	measured := s.Subjects()
	switch {
	case s.Phase != model.Parallel:
		return strings.Join(measured, ", ")
	case len(s.Tasks) == len(p.Nodes):
		return fmt.Sprintf("all %d at once", len(measured))
	}
	return fmt.Sprintf("%d at once", len(measured))
}

// batchLines writes the tasks of a batch and returns how many it left out.
func (p Plan) batchLines(w *bytes.Buffer) (more int) {
	fmt.Fprintln(w, "TASK\tNODE\tCOMMAND")
	for _, s := range p.Steps {
		for i, t := range s.Tasks {
			if i == maxLines {
				return len(s.Tasks) - i
			}
			fmt.Fprintf(w, "%d\t%s\t%s\n", t.Position+1, t.Node, oneLine(fmt.Sprint(t.Spec.Params["command"])))
		}
	}
	return 0
}

// oneLine shows a command in a table: without line ends, and not endless.
func oneLine(s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return string(runes)
}
