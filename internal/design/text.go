package design

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// How much of a large design the text shows; JSON has all of it.
const (
	maxLines = 60 // steps, or tasks of a batch
	maxNodes = 8  // of one step
)

// Text writes the design for people: what there is, how long it takes, and every
// step in order, counted from 1.
func (d Design) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %q\n", d.Kind, d.Name)
	fmt.Fprintf(&b, "nodes     %d: %s\n", len(d.Nodes), listed(d.Nodes, maxNodes))
	if d.Kind == model.KindExperiment {
		if len(d.Steps) > 0 || len(d.Later) == 0 { // otherwise none is known beforehand
			fmt.Fprintf(&b, "steps     %s with %s, seed %d\n", num.Count(len(d.Steps), "step"), num.Count(d.Tasks(), "task"), d.Seed)
		}
	} else {
		fmt.Fprintf(&b, "tasks     %s, in this order on each node\n", num.Count(d.Tasks(), "task"))
	}
	if len(d.Steps) > 0 {
		fmt.Fprintf(&b, "time      %s\n", d.Estimate)
	}
	d.outlookLines(&b)
	if len(d.Steps) > 0 {
		b.WriteByte('\n')
		d.table(&b)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the design: %w", err)
	}
	return nil
}

// String says how long a run takes, and what of that is not known.
func (e Estimate) String() string {
	limit := fmt.Sprintf("at most %s by the timeouts", unit.Duration(e.Limit))
	switch {
	case e.UnknownSteps == 0:
		return fmt.Sprintf("about %s plus preparation; %s", unit.Duration(e.Known), limit)
	case e.Known == 0:
		return fmt.Sprintf("unknown (%s); %s", strings.Join(e.Unknown, ", "), limit)
	}
	return fmt.Sprintf("about %s plus preparation, and %s of unknown length (%s); %s",
		unit.Duration(e.Known), num.Count(e.UnknownSteps, "step"), strings.Join(e.Unknown, ", "), limit)
}

// table writes one line for each step of an experiment, or each task of a
// batch. Writing to a buffer cannot fail, nor can the table on top of it.
func (d Design) table(b *bytes.Buffer) {
	var lines bytes.Buffer
	var more int
	if d.Kind == model.KindBatch {
		more = d.batchLines(&lines)
	} else {
		more = d.stepLines(&lines)
	}
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	_, _ = t.Write(lines.Bytes())
	_ = t.Flush()
	if more > 0 {
		fmt.Fprintf(b, "and %d more; --format json shows all\n", more)
	}
}

// stepLines writes the steps and returns how many it left out.
func (d Design) stepLines(w *bytes.Buffer) (more int) {
	fmt.Fprintln(w, "STEP\tTRIAL\tPHASE\tWORKLOAD\tKIND\tNODES")
	for i, s := range d.Steps {
		if i == maxLines {
			return len(d.Steps) - i
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\n", s.Number+1, s.Trial, s.Phase, s.Workload, s.Tasks[0].Spec.Kind, d.stepNodes(s))
	}
	return 0
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

// batchLines writes the tasks of a batch and returns how many it left out.
func (d Design) batchLines(w *bytes.Buffer) (more int) {
	fmt.Fprintln(w, "TASK\tNODE\tCOMMAND")
	for _, s := range d.Steps {
		for i, t := range s.Tasks {
			if i == maxLines {
				return len(s.Tasks) - i
			}
			fmt.Fprintf(w, "%d\t%s\t%s\n", t.Position+1, t.Node, term.Cut(strings.Join(strings.Fields(fmt.Sprint(t.Spec.Params["command"])), " "), 81))
		}
	}
	return 0
}

// outlookLines write the steps that results decide. Writing to a buffer cannot
// fail.
func (d Design) outlookLines(b *bytes.Buffer) {
	if len(d.Later) > 0 && len(d.Outlook) == 0 {
		fmt.Fprintf(b, "later     steps of %s, which follow from results\n", strings.Join(d.Later, ", "))
	}
	for _, o := range d.Outlook {
		most := time.Duration(o.Trials*o.Steps) * o.Step
		fmt.Fprintf(b, "%-9s %s, %s: up to %d steps each of about %s, chosen from the results so far; at most %s, plus preparation and repeated steps\n", o.Phase,
			o.Workload, num.Count(o.Trials, "trial"), o.Steps, unit.Duration(o.Step.Round(time.Second)), unit.Duration(most.Round(time.Second)))
	}
}
