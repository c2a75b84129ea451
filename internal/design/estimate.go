package design

import (
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// estimate adds up the steps: they run one after another, the tasks of a step
// at once, except that a node runs its own tasks in turn.
func estimate(steps []model.Step, workloads map[string]prepared) Estimate {
	var e Estimate
	unknown := map[string]bool{}
	for _, s := range steps {
		known, limit := stepTime(s, workloads[s.Workload].time)
		e.Known += known
		e.Limit += limit
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
