// Package bottleneck says which tier of an application binds, from trials at
// growing numbers of users. It knows nothing of runs and stores: its input is
// plain, so that it is tested against systems with a known answer.
//
//  1. A [System] is one configuration: its tiers, and a [Trial] for each number of
//     users and repetition, with what every host did in each second.
//  2. Each load is summed up (load.go): throughput, response time, the laws, and
//     how full each [Resource] was (resource.go). Loads at which the generator
//     binds are refused (generator.go).
//  3. The knee of the throughput is a broken stick's (knee.go).
//  4. [Analyze] names what was full beyond the knee (attribute.go), tells
//     push-back from its cause, and ranks what is left if nothing was (hidden.go).
//  5. Demands, bounds and the exact model stand beside it (laws.go), and
//     [Prove] compares what a faster suspect should give with what it gave.
//
// The method and its sources are in docs/ntier.md.
package bottleneck

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Signals of a service, by the names under which they are recorded. Counters come
// as rates here, states as they are.
const (
	SignalCPU           = "cpu"                  // cores used
	SignalQuota         = "quota"                // cores allowed
	SignalThrottled     = "throttled"            // seconds of waiting a second
	SignalPeriods       = "periods"              // a second
	SignalHeld          = "throttled_periods"    // a second
	SignalRunnable      = "runnable"             // threads
	SignalRunDelay      = "run_delay"            // threads that wait for a processor, on average
	SignalSwitches      = "switches_voluntary"   // a second
	SignalPreempted     = "switches_involuntary" // a second
	SignalSendQueue     = "send_queue"           // bytes
	SignalSendQueueMax  = "send_queue_max"       // bytes, of one connection
	SignalRetransmits   = "retransmits"          // a second
	SignalRTT           = "rtt"                  // ms
	SignalAcceptQueue   = "accept_queue"         // connections
	SignalAcceptLimit   = "accept_limit"
	SignalOverflows     = "listen_overflows" // a second
	SignalDrops         = "listen_drops"     // a second
	SignalSent          = "tx_bytes"         // a second
	SignalReceived      = "rx_bytes"         // a second
	SignalLink          = "link"             // bytes a second
	SignalThreads       = "threads_busy"
	SignalThreadsMax    = "threads_max"
	SignalThreadsQueue  = "threads_queue"
	SignalPool          = "pool_active"
	SignalPoolMax       = "pool_max"
	SignalPoolWaiting   = "pool_waiting"
	SignalConnections   = "connections"
	SignalResponse      = "response" // seconds of answers a second
	SignalRequests      = "requests" // a second
	SignalProbeFailed   = "probe_failed"
	SignalBusy          = "busy" // of a generator: share of its time
	SignalLag           = "lag"  // of a generator: ms that sends were late
	leastLoads          = 4      // loads that a knee takes
	millisecond         = 1e-3
	worthMentioning     = .01
	tooManyErrors       = .1
	materialLoss        = .1 // of the growth without a knee
	herdLevel           = .8 // what binds is at least so busy where the knee ends
	nearlyFull          = .9 // of hardware behind a full pool
	shortCPU            = .7 // of the first tier, which may then read its requests late
	smallBend           = .5 // of the slope before it is no knee
	repeatability       = .01
	level               = stats.DefaultLevel
	FewestSeconds       = 5
	generatorBusy       = .9
	generatorLate       = .5 // of the response time
	generatorDifference = .1
	lawTolerance        = .05
	lawBroken           = .15
)

// System is one configuration of an application.
type System struct {
	Name string
	// Tiers are the services in the order in which a request reaches them.
	Tiers  []string
	Trials []Trial
	// Thresholds; zero: those of [Defaults].
	Thresholds Thresholds
	// SwitchCost is how many seconds of processor a context switch costs on the
	// hosts of a tier where so many threads are runnable, as measured; nil, NaN: not
	// known.
	SwitchCost func(tier string, runnable float64) float64
}

// Thresholds say when a resource is full. The cut-offs are ours.
type Thresholds struct {
	// Saturated is the utilisation from which on a second counts as full, of
	// links Link: what a shaper counts has headers that not every counter has.
	Saturated float64
	Link      float64
	// Full is the share of seconds from which on a resource is full, Mean the
	// utilisation over all of them that says the same; Partial is the share from
	// which on it is so at times.
	Full, Mean, Partial float64
}

// Defaults are the thresholds of the method (docs/ntier.md).
func Defaults() Thresholds {
	return Thresholds{Saturated: .95, Link: .9, Full: .9, Mean: .97, Partial: .1}
}

// Trial is one repetition with one number of users. What is not known is NaN.
type Trial struct {
	Users      int
	Trial      int
	Throughput float64 // operations a second that ended well, in the run
	Response   float64 // mean, in seconds
	Think      float64 // mean that was drawn, in seconds
	Errors     float64 // share of the operations
	NoWay      float64 // share of the operations after which a user found no way to go on, and went home
	Unfinished int     // operations that had not ended when the trial did
	Generators []Generator
	Services   []Service
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

// mean of a signal over the seconds in which it is known; NaN: never.
func (s Service) mean(signal string) float64 { return meanOf(s.Signals[signal]) }

func meanOf(xs []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range xs {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
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
	var out []Trial
	for _, t := range s.Trials {
		if t.Users == users {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b Trial) int { return cmp.Compare(a.Trial, b.Trial) })
	return out
}

// depth is the place of a tier from the users, 0 the first; those that are not
// named come last.
func (s System) depth(tier string) int {
	if i := slices.Index(s.Tiers, tier); i >= 0 {
		return i
	}
	return len(s.Tiers)
}

// Optional is a number that may be missing: null in JSON.
type Optional *float64

// some is x, or nothing where it is not finite.
func some(x float64) Optional {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
