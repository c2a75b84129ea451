package evaluation

import (
	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

const (
	// fullQuota is the share of its quota from which on a node is held back by it.
	fullQuota = 0.9
	// mostAwake is how much more a second of a core may do because cores are kept
	// awake; more has another cause.
	mostAwake = 1.2
)

// awake takes the serial phase as if its cores had been as fast as in the parallel
// one, where hosts of a lab are held back by a quota. Alone, a host leaves a core
// that sleeps for the rest of each period, and is slow when it wakes; together hosts
// keep the cores awake. A second of a core then does some percent more work, which
// looks like a gain. What hosts share can only make it do less, so that nothing of
// the fleet explains it. It returns the factor by which it raised serial values.
func (p part) awake(steps []stepReadings, n *caveat.List) float64 {
	var alone, together []float64 // work in a second of a core
	for _, s := range steps {
		quotas := p.run.Quotas(s.step)
		for _, r := range s.readings {
			q, known := quotas[r.task]
			if !known || r.curve == nil || q.Seconds <= 0 || s.step.Phase != model.Parallel && q.Share < fullQuota {
				return 1
			}
			work := r.curve.values[len(r.curve.values)-1] / q.Seconds
			if s.step.Phase == model.Parallel {
				together = append(together, work)
			} else {
				alone = append(alone, work)
			}
		}
	}
	more, err := stats.RatioOfMeans(together, alone)
	if err != nil || more <= 1 || more > mostAwake {
		return 1
	}
	for _, s := range steps {
		for i := range s.readings {
			if s.step.Phase != model.Parallel {
				s.readings[i].scored *= more
				s.readings[i].whole *= more
			}
		}
	}
	if more > 1+worthAWord/100 {
		n.Add(wokenCores.Warn(raised{more - 1}))
	}
	return more
}
