package design

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// Design is what a run will do, in order.
type Design struct {
	Run  model.RunID   `json:"run"`
	Name string        `json:"name"`
	Kind model.RunKind `json:"kind"`
	// Seed made the first serial order: the experiment's, or derived from the
	// run's id. It is 0 and without meaning for a batch.
	Seed  int64          `json:"seed"`
	Nodes []model.NodeID `json:"nodes"` // sorted
	// Steps are numbered from 0 in the order of execution. Tasks of one
	// workload share their Spec.Params: read only.
	Steps    []model.Step `json:"steps"`
	Estimate Estimate     `json:"estimate"`
	// Schedule is set where the run is one of many: see [Design.Repeat].
	Schedule *Repetitions `json:"schedule,omitempty"`
	// Outlook is what is known of the steps that are added as results come.
	Outlook []study.Outlook `json:"outlook,omitempty"`
	// Notes say what a reader should know before the run.
	Notes []string `json:"notes,omitempty"`
	// Later are the studies that add steps as results come.
	Later []string `json:"later,omitempty"`
}

// Estimate is how long a run takes if every attempt succeeds.
type Estimate struct {
	// Known is the time of all steps whose workload knows how long it takes,
	// in nanoseconds, without preparation and waiting for nodes.
	Known time.Duration `json:"known"`
	// UnknownSteps counts the other steps, Unknown names their workloads,
	// sorted.
	UnknownSteps int      `json:"unknown_steps"`
	Unknown      []string `json:"unknown,omitempty"`
	// Limit is the time after which the timeouts have ended every task.
	Limit time.Duration `json:"limit"`
}

// Tasks counts the tasks of all steps.
func (d Design) Tasks() int {
	n := 0
	for _, s := range d.Steps {
		n += len(s.Tasks)
	}
	return n
}
