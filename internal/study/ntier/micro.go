package ntier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
)

// microKinds are workloads that measure nodes and connections beside the trials (the
// paper's microbenchmarks, sections IV and V).
var microKinds = []string{"context_switch", "network"}

// What these workloads report, by name.
const (
	switchMetric      = "context_switch_time{threads="
	receiveMetric     = "network_receive_throughput"
	sendMetric        = "network_send_throughput"
	idleMetric        = "rtt_idle_p50"
	loadedMetric      = "rtt_p50"
	tailMetric        = "rtt_p99"
	retransmitsMetric = "network_retransmits"
)

// Switching is what a context switch costs on a node, with so many threads that take
// turns. A platform is that of a configuration's name.
type Switching struct {
	Platform string       `json:"platform,omitempty"`
	Node     model.NodeID `json:"node"`
	Threads  int          `json:"threads"`
	// Cost is the mean over trials in ns of processor time, CI its interval; null: one
	// trial.
	Cost   float64         `json:"cost_ns"`
	CI     *stats.Interval `json:"ci"`
	Trials int             `json:"trials"`

	run model.RunID
}

// Network is what the connections of a node, or between a pair of them, carry:
// means over trials. Null is what was not measured.
type Network struct {
	Platform   string       `json:"platform,omitempty"`
	Subject    model.NodeID `json:"subject"`
	Throughput *float64     `json:"throughput"` // bytes a second, received and sent
	// Times of round trips in seconds: the median of the idle network, and while it is
	// full, with the 99th percentile.
	Idle        *float64 `json:"rtt_idle"`
	Loaded      *float64 `json:"rtt_loaded"`
	Tail        *float64 `json:"rtt_loaded_p99"`
	Retransmits *float64 `json:"retransmits"` // segments a trial
	Trials      int      `json:"trials"`
}

// beside are the steps of microbenchmarks: one node, or pair of nodes, at a time, and
// no service.
func beside(setup study.Setup) []study.Treatment {
	none := make(map[string]study.ServiceLevel)
	for _, s := range setup.Services {
		none[s.Name] = study.ServiceLevel{Count: -1}
	}
	var out []study.Treatment
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, w := range setup.Workloads {
			for i := 0; slices.Contains(microKinds, w.Kind) && i < w.Subjects; i++ {
				out = append(out, study.Treatment{Phase: Phase, Label: w.Name + " alone", Workload: w.Name, Trial: trial, Active: []int{i}, Services: none})
			}
		}
	}
	return out
}

// microOf is what a run has of microbenchmarks, whatever the phase. The platform is
// the name of the run, or that of the configurations for which a node served, or the
// node's label.
func microOf(run *observe.Run, name string, trials []trial) (out []Switching, network []Network) {
	places := placesOf(run, name, trials)
	for _, m := range microMetrics(run) {
		bySubject := alone(m)
		text, isSwitch := strings.CutPrefix(m.Name, switchMetric)
		threads, _ := strconv.Atoi(strings.TrimSuffix(text, "}")) // a label that the workload made
		for node, values := range bySubject {
			mean, ci, err := stats.MeanInterval(values, stats.DefaultLevel)
			switch {
			case isSwitch:
				s := Switching{Platform: places(node), Node: node, Threads: threads, Cost: mean, Trials: len(values), run: run.Run().ID}
				if err == nil {
					s.CI = &ci
				}
				out = append(out, s)
			default:
				network = takeNetwork(network, places(node), node, m.Name, mean, len(values))
			}
		}
	}
	slices.SortFunc(out, func(a, b Switching) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Threads, b.Threads))
	})
	slices.SortFunc(network, func(a, b Network) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Subject, b.Subject))
	})
	return out, network
}

// microMetrics are what workloads of these kinds reported.
func microMetrics(run *observe.Run) []observe.Metric {
	is := make(map[string]bool)
	for _, s := range run.Steps() {
		for _, t := range s.Tasks {
			is[s.Workload] = is[s.Workload] || slices.Contains(microKinds, t.Spec.Kind)
		}
	}
	return slices.DeleteFunc(slices.Clone(run.Metrics()), func(m observe.Metric) bool { return !is[m.Workload] })
}

// alone are the values of each subject, of those steps in which the fewest worked at
// once.
func alone(m observe.Metric) map[model.NodeID][]float64 {
	out, least := make(map[model.NodeID][]float64), math.MaxInt
	for _, v := range m.Values {
		least = min(least, v.Active)
	}
	for _, v := range m.Values {
		if v.Active == least {
			out[v.Subject] = append(out[v.Subject], v.Value)
		}
	}
	return out
}

// placesOf tells the platform of a node, or of the first of a pair.
func placesOf(run *observe.Run, name string, trials []trial) func(model.NodeID) string {
	known := make(map[model.NodeID]string)
	for _, n := range run.Nodes() {
		known[n.ID] = Configuration{Platform: n.Labels["platform"], Type: n.Labels["type"]}.Place()
	}
	for _, t := range trials {
		for _, s := range t.Services {
			known[s.Node] = t.configuration.Place()
		}
	}
	return func(subject model.NodeID) string {
		if name != "" {
			return name
		}
		for node, place := range known {
			if subject == node || strings.HasPrefix(string(subject), string(node)+" ") {
				return place
			}
		}
		return ""
	}
}

// takeNetwork adds one metric of the network to its row.
func takeNetwork(all []Network, place string, subject model.NodeID, metric string, mean float64, trials int) []Network {
	n := Network{Platform: place, Subject: subject, Trials: trials}
	i := slices.IndexFunc(all, func(x Network) bool { return x.Subject == subject && x.Platform == place })
	if i >= 0 {
		n = all[i]
	}
	us := mean / 1e6
	switch metric {
	case receiveMetric, sendMetric:
		if n.Throughput != nil {
			mean += *n.Throughput
		}
		n.Throughput = &mean
	case idleMetric:
		n.Idle = &us
	case loadedMetric:
		n.Loaded = &us
	case tailMetric:
		n.Tail = &us
	case retransmitsMetric:
		n.Retransmits = &mean
	default:
		return all
	}
	if i < 0 {
		return append(all, n)
	}
	all[i] = n
	return all
}

// curve is what switching costs against the number of threads, ascending, in seconds.
type curve []struct{ threads, cost float64 }

// at interpolates over the logarithm of the number of threads; beyond what was
// measured it is the nearest. NaN: nothing was measured.
func (c curve) at(threads float64) float64 {
	if len(c) == 0 {
		return math.NaN()
	}
	for i, x := range c {
		switch {
		case !(threads > x.threads) && i == 0: // or it is not known
			return x.cost
		case threads <= x.threads:
			before := c[i-1]
			share := math.Log(threads/before.threads) / math.Log(x.threads/before.threads)
			return before.cost + share*(x.cost-before.cost)
		}
	}
	return c[len(c)-1].cost
}

// curveOf is the mean over those nodes that are wanted.
func curveOf(all []Switching, wanted func(Switching) bool) curve {
	sum, n := make(map[int]float64), make(map[int]float64)
	for _, s := range all {
		if wanted(s) {
			sum[s.Threads], n[s.Threads] = sum[s.Threads]+s.Cost/1e9, n[s.Threads]+1
		}
	}
	var out curve
	for threads := range sum {
		out = append(out, struct{ threads, cost float64 }{float64(threads), sum[threads] / n[threads]})
	}
	slices.SortFunc(out, func(a, b struct{ threads, cost float64 }) int { return cmp.Compare(a.threads, b.threads) })
	return out
}

// switchCosts are the curves of the tiers of a configuration: of their own hosts where
// these were measured, or else of hosts of the same platform.
func (m measured) switchCosts(all []Switching) map[string]curve {
	out := make(map[string]curve)
	for _, tier := range m.system.Tiers {
		own := curveOf(all, func(s Switching) bool {
			return slices.ContainsFunc(m.trials, func(t trial) bool {
				return t.run != nil && t.run.Run().ID == s.run && slices.ContainsFunc(t.Services, func(x bottleneck.Service) bool { return x.Tier == tier && x.Node == s.Node })
			})
		})
		if len(own) == 0 {
			own = curveOf(all, func(s Switching) bool { return s.Platform == m.configuration.Place() })
		}
		if len(own) > 0 {
			out[tier] = own
		}
	}
	return out
}

// costOfSwitches sets what a switch costs: what the user says, or what was measured.
// It returns where there were more threads than that was measured with.
func (p *Params) costOfSwitches(m *measured, all []Switching) (doubts []string) {
	if p.SwitchCost != nil {
		m.system.SwitchCost = func(string, float64) float64 { return p.SwitchCost.Seconds() }
		return nil
	}
	curves := m.switchCosts(all)
	if len(curves) == 0 {
		return nil
	}
	m.system.SwitchCost = func(tier string, runnable float64) float64 { return curves[tier].at(runnable) }
	for _, tier := range m.system.Tiers {
		c, most := curves[tier], 0.0
		for _, t := range m.system.Trials {
			if v := m.system.At(t.Users, tier, bottleneck.SignalRunnable); v > most { // not of NaN
				most = v
			}
		}
		if len(c) > 0 && most > c[len(c)-1].threads {
			doubts = append(doubts, fmt.Sprintf("%s: up to %s were runnable on a host of %s, and what a context switch costs was measured with up to %.0f: with more it may cost more; add the number to threads of the workload context_switch",
				m.configuration, num.Count(int(math.Ceil(most)), "thread"), tier, c[len(c)-1].threads))
		}
	}
	return doubts
}
