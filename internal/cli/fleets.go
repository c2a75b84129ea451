package cli

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/facts"
	"github.com/scalebench/scalebench/internal/fleet/agentproc"
	fleetlab "github.com/scalebench/scalebench/internal/fleet/lab"
	"github.com/scalebench/scalebench/internal/fleet/local"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/master"
	"github.com/scalebench/scalebench/internal/model"
)

// fleets makes the fleets that a server brings up itself. Their agents are
// children of this process.
func (c *common) fleets(in *instance, auth *identity.Authority) func(model.RunID, *experiment.Experiment) (master.Fleet, error) {
	return func(run model.RunID, exp *experiment.Experiment) (master.Fleet, error) {
		agents := agentproc.Config{
			Dir: c.paths.at(agentsName), Server: in.info, Log: c.log,
			Command: []string{c.env.Self, "agent", "--" + coresTogetherFlag, coresTogether()}, Environ: c.childEnviron(), Patience: exp.Timeouts.Node.Std(),
			Admit: func(node model.NodeID, key string) error {
				return auth.Admit(identity.Grant{Key: key, Role: identity.RoleAgent, Node: node, At: time.Now().UTC()})
			},
		}
		switch f := exp.Fleet; {
		case f.Local != nil:
			return local.New(f.Local.Nodes, agents), nil
		case f.Lab != nil:
			// Before the run is stored: without rights there is nothing to run.
			if err := checkLab(exp); err != nil {
				return nil, err
			}
			return fleetlab.New(fleetlab.Config{
				Spec: *f.Lab, Services: exp.HostServices(), Agents: agents, Server: in.info,
				Trouble: func(err error) { in.ServiceEnded(run, err) },
				Say:     func(text string) { in.FleetUp(run, text) },
			}), nil
		}
		return nil, nil // the user started the agents
	}
}

// childEnviron is the environment of agents that this process starts: the user's
// settings are not theirs.
func (c *common) childEnviron() []string {
	return append(environ.Without(c.env.Environ), "SCALEBENCH_CONFIG="+os.DevNull)
}

// coresTogether calibrates this machine once: its nodes would disturb each other.
// -1 where that tells nothing, so that they do not try again.
var coresTogether = sync.OnceValue(func() string {
	together := facts.Together(runtime.NumCPU())
	if together == 0 {
		together = -1
	}
	return strconv.FormatFloat(together, 'f', 4, 64)
})

// sweepLabs removes what labs of processes that were killed have left on this
// machine. It never stops a command, and holds it up for half a minute at most:
// what could not be removed is tried again by the next, and `scalebench lab
// list` shows it.
func (c *common) sweepLabs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := lab.Sweep(ctx, lab.DefaultStateDir, lab.DefaultVolumeDir, c.log); err != nil {
		c.log.Warn("removing leftover labs", "err", err)
	}
}
