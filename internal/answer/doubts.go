package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// opener opens a run as [store.Reader.Run] finds it.
type opener func(ctx context.Context, name string) (*observe.Run, error)

// reading is the runs that a study reads: the one in question, and those that
// it opens.
type reading struct {
	open     opener
	main     *observe.Run // nil: none
	common   study.Common // of the main one
	campaign func(context.Context, string) (study.Source, error)
	others   []*observe.Run
	all      []study.NamedRun
}

// reading is a question about one run, so far.
func (a Asker) reading(run *observe.Run) (*reading, error) {
	common, err := a.common(run.Run().Asked)
	return &reading{open: a.open, main: run, campaign: a.campaign, common: common, all: []study.NamedRun{{Run: run}}}, err
}

// named opens a run of a question about several, and takes the name before it apart.
// A run whose own name is the whole argument comes first: names may hold "=".
func (open opener) named(ctx context.Context, kind study.Kind, arg string) (name string, run *observe.Run, err error) {
	run, err = open(ctx, arg)
	if before, after, ok := strings.Cut(arg, "="); ok && kind.Several && errors.Is(err, model.ErrNotFound) {
		name = before
		run, err = open(ctx, after)
	}
	return name, run, err
}

// several opens the further runs of a question.
func (r *reading) several(ctx context.Context, kind study.Kind, name string, more []string) error {
	if !kind.Several {
		if len(more) > 0 {
			return fmt.Errorf("%w: %s is about one run", model.ErrUsage, kind.Name)
		}
		return nil
	}
	r.all[0].Name = name
	for _, arg := range more {
		name, run, err := r.open.named(ctx, kind, arg)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.all, func(x study.NamedRun) bool { return x.Run.Run().ID == run.Run().ID }) {
			return fmt.Errorf("%w: run %s is given twice; give each once", model.ErrUsage, run.Run().ID)
		}
		r.all, r.others = append(r.all, study.NamedRun{Name: name, Run: run}), append(r.others, run)
	}
	return nil
}

// another is study.Input.Open.
func (r *reading) another(ctx context.Context, name string) (*observe.Run, error) {
	run, err := r.open(ctx, name)
	if err == nil && (r.main == nil || run.Run().ID != r.main.Run().ID) {
		r.others = append(r.others, run)
	}
	return run, err
}

func (r *reading) input() study.Input {
	return study.Input{Runs: r.all, Open: r.another, Campaign: r.campaign, Common: r.common, Disturbances: r.caveats}
}

// caveats are what disturbed the nodes of all runs that were read so far.
func (r *reading) caveats() []caveat.Caveat {
	var out []caveat.Caveat
	if r.main != nil {
		out = r.main.Caveats()
	}
	for _, run := range r.others {
		for _, c := range run.Caveats() {
			c.Run = run.Run().ID
			out = append(out, c)
		}
	}
	return out
}

// fill puts what disturbed the nodes into the places of an answer, and makes the
// texts. No study needs a line for it.
func fill(kind study.Kind, found *study.Answer, disturbances []caveat.Caveat) {
	table := slices.Concat(kind.Caveats, observe.Caveats)
	for _, p := range found.Places {
		for _, d := range disturbances {
			known := func(c caveat.Caveat) bool { return c.SameDisturbance(d, p.About) }
			if !p.Own && concerns(d, p.About) && !slices.ContainsFunc(*p.Caveats, known) {
				*p.Caveats = append(*p.Caveats, d)
			}
		}
		table.FillPlace(p)
	}
}

// concerns reports whether a disturbance is about a part of a result.
func concerns(d caveat.Caveat, place caveat.Subject) bool {
	return d.Run != "" || d.Workload == "" || place.Workload == "" || d.Workload == place.Workload
}

// err is what could not be read of the runs.
func (r *reading) err() error {
	var errs []error
	if r.main != nil {
		errs = append(errs, r.main.Err())
	}
	for _, run := range r.others {
		errs = append(errs, run.Err())
	}
	return errors.Join(errs...)
}

// warnOnce adds a warning unless one of the document says it already, be it
// without the name of the workload, as findings do.
func warnOnce(d *doc.Document, w doc.Warning) {
	bare := w.Text
	if name, rest, ok := strings.Cut(w.Text, ": "); ok && !strings.Contains(name, " ") {
		bare = rest
	}
	if !slices.ContainsFunc(d.Warnings, func(x doc.Warning) bool { return strings.Contains(x.Text, bare) }) {
		d.Warnings = append(d.Warnings, w)
	}
}
