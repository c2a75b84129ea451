package ntier

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/microbench"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// microOf is what a run has of microbenchmarks. The platform of a node is the name of
// the run, or that of the configurations for which it served, or the node's label.
func microOf(run *observe.Run, name string, trials []trial) ([]microbench.Switch, []microbench.Network) {
	known := make(map[model.NodeID]string)
	for _, n := range run.Nodes() {
		known[n.ID] = Configuration{Platform: n.Labels["platform"], Type: n.Labels["type"]}.Place()
	}
	for _, t := range trials {
		for _, s := range t.Services {
			known[s.Node] = t.configuration.Place()
		}
	}
	return microbench.Read(run, func(node model.NodeID) string { return cmp.Or(name, known[node]) })
}

// switchCosts are the curves of the tiers of a configuration: of their own hosts where
// these were measured, or else of other nodes of the place that the configuration names.
// Nodes of anywhere else are no measure of it.
func (m measured) switchCosts(all []microbench.Switch) map[string]microbench.Curve {
	out := make(map[string]microbench.Curve)
	place := m.configuration.Place()
	for _, tier := range m.system.Tiers {
		out[tier] = microbench.Mean(all, func(s microbench.Switch) bool {
			return slices.ContainsFunc(m.trials, func(t trial) bool {
				own := func(x bottleneck.Service) bool { return x.Tier == tier && x.Node == s.Node }
				return t.run != nil && t.run.Run().ID == s.Run && slices.ContainsFunc(t.Services, own)
			})
		})
		if len(out[tier]) == 0 && place != "" {
			out[tier] = microbench.Mean(all, func(s microbench.Switch) bool { return s.Platform == place })
		}
	}
	return out
}

// costOfSwitches sets what a switch costs: what the user says, or what was measured.
// It returns where there were more threads than that was measured with.
func (p *Params) costOfSwitches(m *measured, all []microbench.Switch) (doubts []warning) {
	if p.SwitchCost != nil {
		m.system.SwitchCost = func(string, float64) float64 { return p.SwitchCost.Seconds() }
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	curves, name := m.switchCosts(all), m.configuration.String()
	m.system.SwitchCost = func(tier string, runnable float64) float64 { return curves[tier].At(runnable) }
	for _, tier := range m.system.Tiers {
		c, most := curves[tier], 0.0
		if len(c) == 0 {
			doubts = append(doubts, warning{name, fmt.Sprintf("what a context switch costs was measured on other nodes than "+
				"those of %s, so that it is not known there. Let the workload context_switch run on all nodes (on:)", tier)})
			continue
		}
		for _, t := range m.system.Trials {
			if v := m.system.RunnableEach(t.Users, tier); v > most { // not of NaN
				most = v
			}
		}
		if top := c[len(c)-1].Threads; most > top {
			doubts = append(doubts, warning{name, fmt.Sprintf("up to %s were runnable on a host of %s, for each of its "+
				"processors. What a context switch costs was measured with up to %.0f, and may be more here. "+
				"Add the number to threads of the workload context_switch",
				num.Count(int(math.Ceil(most)), "thread"), tier, top)})
		}
	}
	return doubts
}
