package bottleneck

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Suspect is a signal of a tier that grew as the throughput fell behind.
type Suspect struct {
	Tier   string  `json:"tier"`
	Signal string  `json:"signal"`
	Unit   string  `json:"unit"`
	Rho    float64 `json:"rho"` // Spearman's
	P      float64 `json:"p"`
	Q      float64 `json:"q"` // corrected after Benjamini and Hochberg
	// First and Last are its means at the first and the last load.
	First Optional `json:"first"`
	Last  Optional `json:"last"`
}

// Significant reports whether so close a relation is no chance.
func (x Suspect) Significant() bool { return x.Q < 1-level && x.Rho > 0 }

// String names the signal and its tier for people.
func (x Suspect) String() string {
	texts := map[string]string{
		SignalSendQueue: "what waits to be sent (Send-Q)", SignalSwitches: "the number of context switches", SignalSwitchShare: "the share of the processors that switching takes",
		SignalRunnable: "the number of threads that run or could", SignalRunDelay: "the number of threads that wait for a processor", SignalRTT: "the round-trip time", SignalRetransmits: "the rate of retransmits",
		SignalAcceptQueue: "the accept queue", SignalOverflows: "the rate of overflows of the accept queue", SignalDrops: "the rate of dropped connections",
	}
	return cmp.Or(texts[x.Signal], x.Signal) + " of " + x.Tier
}

// hiddenSignals are those that grow without anything being full: what waits to be
// sent, what switching costs, who waits for a processor, how long a round trip
// takes (the paper, sections IV and V).
var hiddenSignals = []struct{ name, unit string }{
	{SignalSendQueue, "byte"}, {SignalSwitchShare, "1"}, {SignalSwitches, "1/s"}, {SignalRunnable, "threads"}, {SignalRunDelay, "threads"}, {SignalRTT, "ms"},
	{SignalRetransmits, "1/s"}, {SignalAcceptQueue, "connections"}, {SignalOverflows, "1/s"}, {SignalDrops, "1/s"},
}

// fewestSuspected is from how many loads on a signal can be told from chance: of four in
// one order, two of 24 orders are.
const fewestSuspected = 5

// SignalSwitchShare is switches × cost ÷ cores (methods: context-switch share).
const SignalSwitchShare = "switch_share"

// suspects ranks signals by how closely they follow what is lost of the throughput
// against a user's share at the first load. Trials with as many users are no loads of
// their own: whatever grows with the users would be sure by repeating them.
func (s System) suspects(loads []Load) []Suspect {
	var out []Suspect
	alone := loads[0].Throughput / float64(loads[0].Users)
	for _, tier := range s.Tiers {
		for _, signal := range hiddenSignals {
			var x, y []float64
			for _, l := range loads {
				if v := s.hiddenAt(l, tier, signal.name); !math.IsNaN(v) {
					x, y = append(x, v), append(y, 1-l.Throughput/alone/float64(l.Users))
				}
			}
			if rho, p, err := stats.Spearman(x, y); err == nil {
				out = append(out, Suspect{Tier: tier, Signal: signal.name, Unit: signal.unit, Rho: rho, P: p,
					First: some(s.hiddenAt(loads[0], tier, signal.name)), Last: some(s.hiddenAt(loads[len(loads)-1], tier, signal.name))})
			}
		}
	}
	return corrected(out)
}

// corrected adds the corrected p and sorts, the closest first; of equally close
// ones that which grew by more.
func corrected(out []Suspect) []Suspect {
	ps := make([]float64, len(out))
	for i, x := range out {
		ps[i] = x.P
	}
	qs, err := stats.BenjaminiHochberg(ps)
	if err != nil {
		return nil
	}
	for i := range out {
		out[i].Q = qs[i]
	}
	slices.SortStableFunc(out, func(a, b Suspect) int { return cmp.Or(cmp.Compare(b.Rho, a.Rho), cmp.Compare(b.growth(), a.growth())) })
	return out
}

func (x Suspect) growth() float64 {
	if x.First == nil || x.Last == nil || !(*x.Last > 0) {
		return 0
	}
	return *x.Last / max(*x.First, *x.Last*1e-6)
}

// hiddenAt is the mean of a signal over the hosts of a tier and the trials of a load.
func (s System) hiddenAt(l Load, tier, signal string) float64 {
	switch signal {
	case SignalSwitches:
		return sumKnown(l.meanSignal(tier, SignalSwitches), l.meanSignal(tier, SignalPreempted))
	case SignalSwitchShare:
		if s.SwitchCost == nil {
			return math.NaN()
		}
		switches := sumKnown(l.meanSignal(tier, SignalSwitches), l.meanSignal(tier, SignalPreempted))
		return switches * s.SwitchCost(tier, l.runnableEach(tier)) / l.meanSignal(tier, SignalQuota)
	}
	return l.meanSignal(tier, signal)
}

// runnableEach is how many threads are runnable for each processor of a host of a tier:
// the cost of a switch is measured with threads that take turns on one.
func (l Load) runnableEach(tier string) float64 {
	var each []float64
	for _, t := range l.trials {
		for _, x := range t.Services {
			if x.Tier == tier {
				cores := x.mean(SignalQuota)
				if has := t.Cores[x.Node]; has > 0 {
					cores = has
				}
				each = append(each, x.mean(SignalRunnable)/max(1, cores))
			}
		}
	}
	return meanOf(each)
}

// RunnableEach is the same with so many users; NaN: it is not known.
func (s System) RunnableEach(users int, tier string) float64 {
	return Load{trials: s.at(users)}.runnableEach(tier)
}

// At is the mean of a signal over the hosts of a tier with so many users; NaN: it is
// not known.
func (s System) At(users int, tier, signal string) float64 {
	return s.hiddenAt(Load{trials: s.at(users)}, tier, signal)
}

// Response is the mean response time with so many users as a tier tells it; NaN: it is
// not known.
func (s System) Response(users int, tier string) float64 {
	response, _ := Load{trials: s.at(users)}.served(tier)
	return response
}

// Total is a signal of all hosts of a tier together with so many users, mean over the
// trials in which it is known of each of them as an amount; NaN: of none.
func (s System) Total(users int, tier, signal string) float64 {
	var sums []float64
	for _, t := range s.at(users) {
		sum, hosts := 0.0, 0
		for _, x := range t.Services {
			if x.Tier == tier {
				sum, hosts = sum+x.mean(signal), hosts+1
			}
		}
		if hosts > 0 && t.Shares == nil {
			sums = append(sums, sum)
		}
	}
	return meanOf(sums)
}

// sumKnown adds what is known of two.
func sumKnown(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}
