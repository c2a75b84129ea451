package plan

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// Searched is implemented by workloads that offer a load to a target, whose
// capacity the evaluation "search" looks for. Their parameters "rate" (an
// amount per second, "100op/s", of all nodes together) and "recover" (true
// where the window before has overloaded the target) are the search's.
type Searched interface {
	// Search is what is searched for. It is called on valid parameters.
	Search() (capacity.Config, error)
}

// Next is what a run that searches does next.
type Next struct {
	// Step is the window to measure; nil when all searches are over.
	Step *model.Step
	// After is when the step may begin at the earliest: searches are repeated
	// at intervals.
	After time.Time
	// Judged says what the latest window was worth; nil if there is none that
	// is complete.
	Judged *capacity.Judged
}

// NextWindow plans the next window of a run's searches from what it has
// measured so far: for each trial, each workload in turn. A search in which a
// window has become invalid (a generator was lost) is left as it is. Without
// the evaluation "search" there is nothing to do.
func NextWindow(exp *experiment.Experiment, data model.RunData) (next Next, err error) {
	if !exp.Has(model.Search) {
		return Next{}, nil
	}
	for trial := 1; trial <= exp.Trials; trial++ {
		for _, w := range exp.Workloads {
			step, judged, err := nextOf(exp, w, trial, data)
			if err != nil {
				return Next{}, fmt.Errorf("workload %s, trial %d: %w", w.Name, trial, err)
			}
			if judged != nil {
				next.Judged = judged
			}
			if step != nil {
				next.Step, next.After = step, data.Run.Started.Add(time.Duration(trial-1)*exp.Every.Std())
				return next, nil
			}
		}
	}
	return next, nil
}

// nextOf plans the next window of one search; nil when it is over. judged is
// its latest window, if that is the latest of the run.
func nextOf(exp *experiment.Experiment, w experiment.Workload, trial int, data model.RunData) (step *model.Step, judged *capacity.Judged, err error) {
	searched, ok := w.Bench.(Searched)
	if !ok {
		return nil, nil, fmt.Errorf("%w: kind %s offers no load to search with", model.ErrUsage, w.Kind)
	}
	cfg, err := searched.Search()
	if err != nil {
		return nil, nil, err
	}
	windows, broken, err := capacity.Windows(data, w.Name, trial)
	if err != nil || broken {
		return nil, nil, err
	}
	state, err := cfg.Evaluate(windows)
	if err != nil {
		return nil, nil, err
	}
	if n := len(state.Result.Windows); n > 0 && isLatest(data, w.Name, trial) {
		judged = &state.Result.Windows[n-1]
	}
	if state.Next == nil {
		return nil, judged, nil
	}
	step, err = window(exp, w, trial, data, *state.Next)
	return step, judged, err
}

// isLatest reports whether the latest step of a run belongs to this search.
func isLatest(data model.RunData, workload string, trial int) bool {
	last := data.Steps[len(data.Steps)-1]
	return last.Phase == model.Search && last.Workload == workload && last.Trial == trial
}

// window is a step in which all nodes of a workload offer a load together.
func window(exp *experiment.Experiment, w experiment.Workload, trial int, data model.RunData, order capacity.Order) (*model.Step, error) {
	spec, err := specOf(w, exp.Output)
	if err != nil {
		return nil, err
	}
	spec.Params["rate"] = strconv.FormatFloat(order.Load, 'f', -1, 64) + "op/s"
	spec.Params["recover"] = order.Recover
	nodes := slices.DeleteFunc(slices.Clone(data.Nodes), func(n model.Node) bool { return !n.Has(w.On) })
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: no node has %s", model.ErrUsage, labelList(w.On))
	}
	s := newStep(data.Run.ID, len(data.Steps), model.Search, w.Name, trial)
	s.Barrier = true
	for i, n := range nodes {
		part := spec
		part.Part, part.Parts = i, len(nodes)
		s.Tasks = append(s.Tasks, newTask(s.ID, i, n.ID, part))
	}
	return &s, nil
}
