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
		own := microbench.Mean(all, func(s microbench.Switch) bool {
			return slices.ContainsFunc(m.trials, func(t trial) bool {
				return t.run != nil && t.run.Run().ID == s.Run && slices.ContainsFunc(t.Services, func(x bottleneck.Service) bool { return x.Tier == tier && x.Node == s.Node })
			})
		})
		if len(own) == 0 && place != "" {
			own = microbench.Mean(all, func(s microbench.Switch) bool { return s.Platform == place })
		}
		if len(own) > 0 {
			out[tier] = own
		}
	}
	return out
}

// costOfSwitches sets what a switch costs: what the user says, or what was measured.
// It returns where there were more threads than that was measured with.
func (p *Params) costOfSwitches(m *measured, all []microbench.Switch) (doubts []string) {
	if p.SwitchCost != nil {
		m.system.SwitchCost = func(string, float64) float64 { return p.SwitchCost.Seconds() }
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	curves := m.switchCosts(all)
	m.system.SwitchCost = func(tier string, runnable float64) float64 { return curves[tier].At(runnable) }
	for _, tier := range m.system.Tiers {
		c, most := curves[tier], 0.0
		if len(c) == 0 {
			doubts = append(doubts, fmt.Sprintf("%s: what a context switch costs was measured on other nodes than those of %s: it is not known there, and its share neither; let the workload context_switch run on all nodes (on:)", m.configuration, tier))
		}
		for _, t := range m.system.Trials {
			if v := m.system.RunnableEach(t.Users, tier); v > most { // not of NaN
				most = v
			}
		}
		if len(c) > 0 && most > c[len(c)-1].Threads {
			doubts = append(doubts, fmt.Sprintf("%s: up to %s were runnable on a host of %s, for each of its processors, and what a context switch costs was measured with up to %.0f: with more it may cost more; add the number to threads of the workload context_switch",
				m.configuration, num.Count(int(math.Ceil(most)), "thread"), tier, c[len(c)-1].Threads))
		}
	}
	return doubts
}
