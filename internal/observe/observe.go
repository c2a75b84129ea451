// Package observe is what an analysis may know of a run: what was measured and
// counts, resolved once.
//
//  1. A [Run] is made from what the store holds.
//  2. It says which attempts count, which subjects took part in which step,
//     and when.
//  3. Host checks say what else disturbed the nodes meanwhile; every study
//     shows them among its warnings.
package observe

import (
	"cmp"
	"slices"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// Run is one run as analyses see it. It is safe for concurrent use.
type Run struct {
	data     model.RunData
	accepted func() map[model.StepID][]model.Result

	disturbances func() []Disturbance
}

// Of returns the observations in what the store holds of a run.
func Of(data model.RunData) *Run {
	r := &Run{data: data}
	r.accepted = sync.OnceValue(func() map[model.StepID][]model.Result {
		out := make(map[model.StepID][]model.Result)
		for _, x := range data.Accepted() {
			out[x.Step] = append(out[x.Step], x)
		}
		for _, list := range out {
			slices.SortFunc(list, func(a, b model.Result) int { return cmp.Compare(a.Task, b.Task) })
		}
		return out
	})
	r.disturbances = sync.OnceValue(r.findDisturbances)
	return r
}

// Run is the run itself: its file, its state.
func (r *Run) Run() model.Run { return r.data.Run }

// Nodes are the nodes as they were when the run began.
func (r *Run) Nodes() []model.Node { return r.data.Nodes }

// Steps are all steps of the run, by number.
func (r *Run) Steps() []model.Step { return r.data.Steps }

// Accepted returns the results of a step that count, by task: those of the
// last attempt of a complete step, at most one a task (model.RunData.Accepted).
func (r *Run) Accepted(step model.StepID) []model.Result { return r.accepted()[step] }

// Data is everything that the store holds of the run.
func (r *Run) Data() model.RunData { return r.data }
