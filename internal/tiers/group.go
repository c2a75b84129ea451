package tiers

import "github.com/scalebench/scalebench/internal/cgroup"

// group emits processor time and limits of a control group.
type group struct {
	*cgroup.Meter
	limit  limit
	gained cgroup.Throttling
	any    bool // there is or was a limit
}

// limit is what the control groups do not show.
type limit struct {
	processors float64        // that the service may use
	given      func() float64 // cores, 0: none; may be nil
}

// cores is the tightest of the limits; own, 0 for none, is that of the control
// groups.
func (l limit) cores(own float64) float64 {
	cores := l.processors
	if own > 0 {
		cores = min(cores, own)
	}
	if l.given != nil {
		if g := l.given(); g > 0 {
			cores = min(cores, g)
		}
	}
	return cores
}

// openGroup opens the files of a group, which the directories are of.
func openGroup(dirs []string, l limit) (*group, error) {
	m, err := cgroup.OpenMeter(dirs)
	if err != nil {
		return nil, err
	}
	return &group{Meter: m, limit: l}, nil
}

func (g *group) close() { g.Close() }

// read emits the service's processor time, and what limits it.
func (g *group) read(out func(string, float64)) error {
	own, did, err := g.Limit()
	if err != nil {
		return err
	}
	used, err := g.Used()
	if err != nil {
		return err
	}
	out("cpu", used)
	g.emitLimit(own, did, out)
	return nil
}

// readLimit emits what limits the processes of the group, and nothing of what they use.
func (g *group) readLimit(out func(string, float64)) error {
	own, did, err := g.Limit()
	if err == nil {
		g.emitLimit(own, did, out)
	}
	return err
}

// emitLimit emits the tightest limit and what it did. It may be that of a group above,
// and may change; what is gained adds up over whichever it was.
func (g *group) emitLimit(own float64, did cgroup.Throttling, out func(string, float64)) {
	out("quota", g.limit.cores(own))
	if g.any = g.any || own > 0; g.any {
		g.gained.Add(did)
		out("throttled", g.gained.Seconds)
		out("periods", g.gained.Periods)
		out("throttled_periods", g.gained.Throttled)
	}
}
