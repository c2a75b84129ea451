package tiers

import (
	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/kernel"
)

// group emits processor time and limits of a control group.
type group struct {
	*cgroup.Meter
	processors float64 // that the service may use
	limitsOnly bool    // others use processor time in the group, too
	gained     cgroup.Throttling
	any        bool // there is or was a limit
}

// openGroup opens the files of a group, which the directories are of.
func openGroup(dirs []string, processors float64) (*group, error) {
	m, err := cgroup.OpenMeter(dirs)
	if err != nil {
		return nil, err
	}
	return &group{Meter: m, processors: processors}, nil
}

// Parse emits the service's processor time, the tightest limit and what it did. That may be
// the limit of a group above, and may change; what is gained adds up over whichever it was.
func (g *group) Parse(out kernel.Emit) error {
	limit, did, err := g.Limit()
	if err == nil && !g.limitsOnly {
		var used float64
		if used, err = g.Used(); err == nil {
			out("cpu", used)
		}
	}
	if err != nil {
		return err
	}
	if limit > 0 {
		g.any = true
		out("quota", min(limit, g.processors))
	} else {
		out("quota", g.processors)
	}
	if g.any {
		g.gained.Add(did)
		out("throttled", g.gained.Seconds)
		out("periods", g.gained.Periods)
		out("throttled_periods", g.gained.Throttled)
	}
	return nil
}
