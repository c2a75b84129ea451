// Package observe is what an analysis may know of a run: what was measured and
// counts, resolved once and no sooner than it is asked for.
//
//  1. A [Run] begins with its heads: run, nodes, steps, and the results
//     without what is large.
//  2. What an analysis needs beside that (counters of progress, what the
//     monitor saw, histograms, printed texts) is read when it says so
//     ([Run.Need]), the metrics that it names and nothing else.
//  3. It says which attempts count, which subjects took part in which step,
//     and when, and what each came to ([Run.Metrics]).
//  4. Host checks say what else disturbed the nodes meanwhile
//     ([Run.Disturbances]); package answer adds them to the warnings of every
//     study.
package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Source is where observations come from; a store is one.
type Source interface {
	store.Columns
	Printed(ctx context.Context, id model.RunID) (model.RunData, error)
}

// Part is something large that results have.
type Part string

// Series are counters of progress, Hosts what the monitor and the workload
// recorded, Texts what was printed.
const (
	Series     Part = "series"
	Hosts      Part = "host series"
	Histograms Part = "histograms"
	Texts      Part = "texts"
)

// Run is one run as analyses see it. It is safe for concurrent use; what it
// returns is to be read only.
type Run struct {
	ctx    context.Context // of the question that opened it
	source Source          // nil: everything is here
	data   model.RunData
	place  map[key]int // of a result in data.Results

	mu       sync.Mutex
	have     map[Part]map[string]bool        // by metric; "": all of them
	accepted map[model.StepID][]model.Result // nil: not resolved since the last part came
	failed   error

	disturbances func() []Disturbance
	metrics      func() []Metric
}

type key struct {
	task    model.TaskID
	attempt int
}

// Open returns the observations of a stored run, which are read while ctx
// lasts.
func Open(ctx context.Context, source Source, id model.RunID) (*Run, error) {
	data, err := source.Heads(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	if data.Events, err = source.Events(ctx, id); err != nil {
		return nil, err
	}
	r := Of(data)
	r.ctx, r.source, r.place = ctx, source, make(map[key]int, len(data.Results))
	for i, x := range data.Results {
		r.place[key{x.Task, x.Attempt}] = i
	}
	return r, nil
}

// Of returns the observations in data that are complete already.
func Of(data model.RunData) *Run {
	r := &Run{data: data, have: make(map[Part]map[string]bool)}
	r.disturbances = sync.OnceValue(r.findDisturbances)
	r.metrics = sync.OnceValue(r.findMetrics)
	return r
}

// Run is the run itself: its file, its state.
func (r *Run) Run() model.Run { return r.data.Run }

// Title is the name of the run, for people.
func (r *Run) Title() string {
	if name := r.data.Run.Name; name != "" {
		return name
	}
	return "Run " + string(r.data.Run.ID)
}

// Nodes are the nodes as they were when the run began.
func (r *Run) Nodes() []model.Node { return r.data.Nodes }

// Steps are all steps of the run, by number.
func (r *Run) Steps() []model.Step { return r.data.Steps }

// Events are those of the run, by time.
func (r *Run) Events() []model.Event { return r.data.Events }

// Has reports whether the run has a step in one of these phases.
func (r *Run) Has(phases ...model.Phase) bool { return r.data.Has(phases...) }

// Results are those of all attempts, with the parts that were asked for.
func (r *Run) Results() []model.Result { return r.data.Results }

// Accepted returns the results of a step that count, by task: those of the
// last attempt of a complete step, at most one a task (model.RunData.Accepted).
func (r *Run) Accepted(step model.StepID) []model.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accepted == nil {
		r.accepted = make(map[model.StepID][]model.Result)
		for _, x := range r.data.Accepted() {
			r.accepted[x.Step] = append(r.accepted[x.Step], x)
		}
		for _, list := range r.accepted {
			slices.SortFunc(list, func(a, b model.Result) int { return cmp.Compare(a.Task, b.Task) })
		}
	}
	return r.accepted[step]
}

// Need reads a part of all results, whole or only these metrics of it, each
// once. What cannot be read is an error, which [Run.Err] repeats.
func (r *Run) Need(p Part, metrics ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.have[p]
	if r.source == nil || have[""] {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return have[m] })
	if len(metrics) > 0 && len(missing) == 0 {
		return nil
	}
	if err := r.read(p, missing); err != nil {
		err = fmt.Errorf("reading the %s of run %s: %w", p, r.data.Run.ID, err)
		r.failed = errors.Join(r.failed, err)
		return err
	}
	if have == nil {
		have = make(map[string]bool)
		r.have[p] = have
	}
	have[""] = len(metrics) == 0
	for _, m := range missing {
		have[m] = true
	}
	r.accepted = nil
	return nil
}

// Err is why something that was needed could not be read; nil where all could.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// read adds metrics of a part to the results; none: it reads all anew.
func (r *Run) read(p Part, metrics []string) error {
	id, sel := r.data.Run.ID, store.Selection{Metrics: metrics}
	switch p {
	case Series:
		return fill(r, r.source.Series(r.ctx, id, sel), sel, func(x *model.Result) *[]model.Series { return &x.Series }, func(s model.Series) string { return s.Metric })
	case Hosts:
		return fill(r, r.source.Host(r.ctx, id, sel), sel, func(x *model.Result) *[]model.HostSeries { return &x.Host }, func(s model.HostSeries) string { return s.Metric })
	case Histograms:
		return fill(r, r.source.Histograms(r.ctx, id, sel), sel, func(x *model.Result) *[]model.Histogram { return &x.Histograms }, func(h model.Histogram) string { return h.Metric })
	}
	data, err := r.source.Printed(r.ctx, id)
	if err != nil {
		return err
	}
	for _, x := range data.Results {
		if i, ok := r.place[key{x.Task, x.Attempt}]; ok {
			r.data.Results[i].Stdout, r.data.Results[i].Stderr = x.Stdout, x.Stderr
		}
	}
	return nil
}

// fill puts columns into the results that have them, those of one result in the
// order of their metrics. Results that came since the run was opened are passed
// over. Lists that were given away stay as they are.
func fill[T any](r *Run, columns iter.Seq2[store.Column[T], error], sel store.Selection, list func(*model.Result) *[]T, metric func(T) string) error {
	got := make(map[int][]T)
	for c, err := range columns {
		if err != nil {
			return err
		}
		if i, ok := r.place[key{c.Task, c.Attempt}]; ok {
			got[i] = append(got[i], c.Value)
		}
	}
	for i := range r.data.Results {
		into := list(&r.data.Results[i])
		if sel.Metrics != nil && len(*into) > 0 {
			got[i] = slices.Concat(*into, got[i])
			slices.SortStableFunc(got[i], func(a, b T) int { return cmp.Compare(metric(a), metric(b)) })
		}
		*into = got[i]
	}
	return nil
}
