package design

import (
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// estimate adds up the steps: they run one after another, the tasks of a step
// at once, except that a node runs its own tasks in turn; a step may have to wait
// for its time. times holds the time of one task of each step; 0 or nothing
// means that it is not known.
func estimate(steps []model.Step, times map[model.StepID]time.Duration) Estimate {
	var e Estimate
	unknown := map[string]bool{}
	for _, s := range steps {
		known, limit := stepTime(s, times[s.ID])
		e.Known = max(e.Known, s.NotBefore) + known
		e.Limit = max(e.Limit, s.NotBefore) + limit
		if known == 0 {
			e.UnknownSteps++
			unknown[s.Workload] = true
		}
	}
	e.Unknown = slices.Sorted(maps.Keys(unknown))
	return e
}

// stepTime is the time of a step and its bound: those of the node that has
// most to do.
func stepTime(s model.Step, task time.Duration) (known, limit time.Duration) {
	perNode := map[model.NodeID]time.Duration{}
	limits := map[model.NodeID]time.Duration{}
	for _, t := range s.Tasks {
		perNode[t.Node] += task
		limits[t.Node] += t.Spec.Timeout
	}
	for n := range limits {
		known, limit = max(known, perNode[n]), max(limit, limits[n])
	}
	return known, limit
}
