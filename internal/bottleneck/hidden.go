package bottleneck

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
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
	First *float64 `json:"first"`
	Last  *float64 `json:"last"`

	words string
}

// Significant reports whether so close a relation is no chance.
func (x Suspect) Significant() bool { return x.Q < 1-level && x.Rho > 0 }

// String names the signal and its tier for people.
func (x Suspect) String() string { return x.words + " of " + x.Tier }

// hiddenSignals are those that grow without anything being full: what waits to be
// sent or read, what switching costs, who waits for a processor, how long a round trip
// takes (the paper, sections IV and V).
var hiddenSignals = []struct{ name, unit, words string }{
	{SignalSendQueue, "byte", "what waits to be sent (Send-Q)"},
	{SignalReceiveQueue, "byte", "what waits to be read (Recv-Q)"},
	{SignalSwitchShare, "1", "the share of the processors that switching takes"},
	{SignalSwitches, "1/s", "the number of context switches"},
	{SignalRunnable, "threads", "the number of threads that run or could"},
	{SignalRunDelay, "threads", "the number of threads that wait for a processor"},
	{SignalRTT, "ms", "the round-trip time"},
	{SignalRetransmits, "1/s", "the rate of retransmits"}, {SignalAcceptQueue, "connections", "the accept queue"},
	{SignalOverflows, "1/s", "the rate of overflows of the accept queue"},
	{SignalDrops, "1/s", "the rate of dropped connections"},
}

// fewestSuspected is from how many loads on a signal can be distinguished from chance: of four in
// one order, two of 24 orders are.
const fewestSuspected = 5

// SignalSwitchShare is switches × cost ÷ cores (methods: context-switch share).
const SignalSwitchShare = "switch_share"

// suspects ranks signals by how closely they follow what is lost of the throughput
// against a user's share at the first load, the closest first; of equally close ones
// that which grew by more. Trials with as many users are no loads of their own: whatever
// grows with the users would be sure by repeating them.
func (s System) suspects(loads []Load) []Suspect {
	var out []Suspect
	var ps []float64
	alone := loads[0].Throughput / float64(loads[0].Users)
	for _, tier := range s.Tiers {
		for _, signal := range hiddenSignals {
			var x, y []float64
			for _, l := range loads {
				if v := s.At(l, tier, signal.name); !math.IsNaN(v) {
					x, y = append(x, v), append(y, 1-l.Throughput/alone/float64(l.Users))
				}
			}
			if rho, p, err := stats.Spearman(x, y); err == nil {
				first, last := s.At(loads[0], tier, signal.name), s.At(loads[len(loads)-1], tier, signal.name)
				out, ps = append(out, Suspect{Tier: tier, Signal: signal.name, Unit: signal.unit, Rho: rho, P: p,
					First: num.IfFinite(first), Last: num.IfFinite(last), words: signal.words}), append(ps, p)
			}
		}
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

// At is the mean of a signal over the hosts of a tier and the trials of a load; NaN: it
// is not known.
func (s System) At(l Load, tier, signal string) float64 {
	if signal != SignalSwitches && signal != SignalSwitchShare {
		return l.meanSignal(tier, signal)
	}
	var switches average // of both kinds, where one may not be known
	switches.add(l.meanSignal(tier, SignalSwitches), 1)
	switches.add(l.meanSignal(tier, SignalPreempted), 1)
	switch {
	case switches.weight == 0 || signal == SignalSwitchShare && s.SwitchCost == nil:
		return math.NaN()
	case signal == SignalSwitches:
		return switches.sum
	}
	return switches.sum * s.SwitchCost(tier, l.runnableEach(tier)) / l.meanSignal(tier, SignalQuota)
}

// runnableEach is how many threads are runnable for each processor of a host of a tier:
// the cost of a switch is measured with threads that take turns on one.
func (l Load) runnableEach(tier string) float64 {
	var each []float64
	for t, x := range l.services(Resource{Tier: tier}) {
		cores := meanOf(x.Signals[SignalQuota])
		if has := t.Cores[x.Node]; has > 0 {
			cores = has
		}
		each = append(each, meanOf(x.Signals[SignalRunnable])/max(1, cores))
	}
	return meanOf(each)
}

// RunnableEach is the same with so many users; NaN: it is not known.
func (s System) RunnableEach(users int, tier string) float64 {
	return Load{trials: s.at(users)}.runnableEach(tier)
}

// Total is a signal of all hosts of a tier together, mean over the trials of a load in
// which it is known of each of them as an amount; NaN: of none.
func (l Load) Total(tier, signal string) float64 {
	var sums []float64
	for _, t := range l.trials {
		sum, hosts := 0.0, 0
		for _, x := range t.Services {
			if x.Tier == tier {
				sum, hosts = sum+meanOf(x.Signals[signal]), hosts+1
			}
		}
		if hosts > 0 && t.Shares == nil {
			sums = append(sums, sum)
		}
	}
	return meanOf(sums)
}
