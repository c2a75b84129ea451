// Package bottleneck says which tier of an application binds, from trials at
// growing numbers of users. It knows nothing of runs and stores: its input is
// plain, so that it is tested against systems with a known answer.
//
//  1. A [System] is one configuration: its tiers, and a [Trial] for each number of
//     users and repetition, with what every host did in each second.
//  2. Each load is summed up (load.go): throughput, response time, the laws, and
//     how full each [Resource] was (resource.go, usage.go). Loads at which the
//     generator binds are refused (generator.go).
//  3. The knee of the throughput is where its asymptotes meet (knee.go).
//  4. [Analyze] (answer.go) names what was full beyond the knee (attribute.go), leaves
//     out what was full without work (idle.go), tells push-back from its cause
//     (pushback.go), and ranks what is left if nothing was (hidden.go). What speaks
//     against it are doubts (doubts.go), and what it leaves of the peak
//     (unexplained.go).
//  5. Demands, bounds and the exact model stand beside it (laws.go), and
//     [Prove] compares what more of the suspects should give with what it gave
//     (raise.go, proof.go).
//
// The method and its sources are in docs/ntier.md.
package bottleneck

import (
	"cmp"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// System is one configuration of an application.
type System struct {
	Name string
	// Tiers are the services in the order in which a request reaches them.
	Tiers []string
	// Front is the service that users reach first, where that is not the first tier;
	// empty: it is, or is not known.
	Front  string
	Trials []Trial
	// SwitchCost is how many seconds of processor a context switch costs on the
	// hosts of a tier where so many threads are runnable on each processor, as
	// measured; nil, NaN: not known.
	SwitchCost func(tier string, runnable float64) float64
}

// Trial is one repetition with one number of users. What is not known is NaN.
type Trial struct {
	Users      int
	Trial      int
	Throughput float64 // operations a second that ended well, in the run
	Response   float64 // mean, in seconds
	Think      float64 // mean that was drawn, in seconds
	Errors     float64 // share of the operations
	NoLink     float64 // share of the operations after which a user found no way to go on, and went home
	Unfinished int     // operations that had not ended when the trial did
	Generators []Generator
	Services   []Service
	// Responses is the mean response time of each second; none: not known.
	Responses []float64
	// Cores are the processors of each node, for all that runs on it; none: not
	// known.
	Cores map[model.NodeID]float64
	// Shares: what services use are shares of all that their tier has, on so many
	// hosts, and not amounts; nil: they are amounts.
	Shares map[string]int
}

// Generator is what offered the load.
type Generator struct {
	Node model.NodeID
	Busy float64 // share of its time that it worked
	Lag  float64 // by how many seconds its sends were late, 99th percentile
}

// Service is one host of a tier.
type Service struct {
	Tier string
	Node model.NodeID
	// Signals are values of each second of the run, all of one length; NaN: not
	// known then.
	Signals map[string][]float64
}

// meanOf is the mean of the values that are known; NaN: there is none.
func meanOf(xs []float64) float64 {
	var a average
	for _, x := range xs {
		a.add(x, 1)
	}
	return a.sum / a.weight
}

// loads are the numbers of users, ascending.
func (s System) loads() []int {
	var out []int
	for _, t := range s.Trials {
		out = append(out, t.Users)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// at are the trials with so many users, by number.
func (s System) at(users int) []Trial {
	out := slices.DeleteFunc(slices.Clone(s.Trials), func(t Trial) bool { return t.Users != users })
	slices.SortStableFunc(out, func(a, b Trial) int { return cmp.Compare(a.Trial, b.Trial) })
	return out
}

// depth is the place of a tier from the users, 0 the first; those that are not
// named come last. Hosts that several tiers share are as deep as the deepest.
func (s System) depth(tier string) int {
	deepest := -1
	for _, one := range (Resource{Tier: tier}).Tiers() {
		deepest = max(deepest, slices.Index(s.Tiers, one))
	}
	if deepest < 0 {
		return len(s.Tiers)
	}
	return deepest
}
