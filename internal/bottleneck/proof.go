package bottleneck

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/internal/stats"
)

// Proof is what became of making the suspect faster: trials with it as it was and
// with Factor times as much of it, with the same users, beyond the knee.
type Proof struct {
	Resource Resource `json:"resource"`
	Users    int      `json:"users"`
	Factor   float64  `json:"factor"`
	Trials   int      `json:"trials"` // of each kind, at least
	Before   float64  `json:"before"` // throughput
	After    float64  `json:"after"`
	// Predicted is how many times the throughput should be with Factor, by the
	// demands of the trials as it was: up to the next limit, and to what so many
	// users can ask for.
	Predicted float64 `json:"predicted"`
	// Gain is After ÷ Before; CI is null with fewer than two trials of each.
	Gain float64         `json:"gain"`
	CI   *stats.Interval `json:"ci"`
	// Outcome is confirmed where the whole interval of the gain is above 1 and half
	// of the growth that was predicted, refuted where it is below, and else unclear.
	Outcome Outcome `json:"outcome"`
	// Why it is unclear, or was not made.
	Why string `json:"why,omitempty"`
}

// Outcome of a proof.
type Outcome string

// What a proof may come to. NotMade: it could not be, and Why says for what.
const (
	Confirmed Outcome = "confirmed"
	Refuted   Outcome = "refuted"
	Unclear   Outcome = "unclear"
	NotMade   Outcome = "not_made"
)

// took is which part of a raise must have reached the resource.
const took = .8

// Prove holds the trials with a faster suspect against those without. The trials of the
// system are those from which the suspect was named.
func Prove(s System, r Resource, factor float64, before, after []Trial) Proof {
	if s.Thresholds == (Thresholds{}) {
		s.Thresholds = Defaults()
	}
	users := before[0].Users
	arms := []Load{s.sumUpOf(users, before), s.sumUpOf(users, after)}
	as, raised := arms[0], arms[1]
	p := Proof{Resource: r, Users: users, Factor: factor, Trials: min(len(before), len(after)), Outcome: Unclear,
		Before: as.Throughput, After: raised.Throughput, Gain: raised.Throughput / as.Throughput, Predicted: s.predicted(as, r, factor)}
	if _, ci, err := stats.RatioOfIndependentMeans(raised.values, as.values, level); err == nil {
		p.CI = &ci
	}
	p.Why = s.spoiled(arms)
	if got := s.capacity(r, after) / s.capacity(r, before); p.Why == "" && !(got > 1+took*(factor-1)) {
		p.Why = "the limit was not raised by as much: give its node more, or the service a limit of its own"
	}
	if p.Why == "" {
		p.decide()
	}
	return p
}

// decide compares the gain with half of the growth that was predicted.
func (p *Proof) decide() {
	switch half := 1 + (p.Predicted-1)/2; {
	case p.Predicted < 1+2*repeatability:
		p.Why = "no growth was to be expected: so many users cannot ask for more, or another resource is as full"
	case p.CI == nil:
		p.Why = "an interval takes two trials of each kind, with throughputs that differ"
	case p.CI.Lo > half:
		p.Outcome = Confirmed
	case p.CI.Hi < half:
		p.Outcome = Refuted
	default:
		p.Why = fmt.Sprintf("the interval of the gain has %.2f in it, with half of that growth: more trials would tell", half)
	}
}

// spoiled says why trials of a proof do not count, as those of other loads; empty: they
// do. Users who found no link are no reason: both kinds of trials have the same pages.
func (s System) spoiled(arms []Load) string {
	loads := arms
	if all := s.loads(); len(all) > 0 { // what the generator adds is held against the first load
		loads = append([]Load{s.sumUp(all[0])}, arms...)
	}
	s.refuse(loads)
	arms = loads[len(loads)-len(arms):]
	for _, l := range arms {
		if l.Refused != "" {
			return "the load generator binds: " + l.Refused
		}
	}
	a := Answer{Load: arms[0].Users}
	for _, d := range slices.Concat(a.lawDoubts(arms), a.errorDoubts(arms)) {
		if d.Code != doubtNoWay {
			return d.Text
		}
	}
	return ""
}

// capacity is how much there is of a resource, on average over trials.
func (s System) capacity(r Resource, trials []Trial) float64 {
	var of []float64
	for _, t := range trials {
		if x, ok := s.resources(t)[r]; ok {
			of = append(of, x.capacity)
		}
	}
	return meanOf(of)
}

// predicted is how many times the throughput should be: the suspect allows Factor
// times as much, each other resource what its utilisation leaves, and the users ask
// for no more than N/(R0+Z), of which R0, their response time alone, is that at the
// first load, or at least the sum of the demands where no other load is known.
func (s System) predicted(l Load, r Resource, factor float64) float64 {
	gain := factor
	for _, u := range l.Usage {
		if u.Node == "" && !u.Kind.Soft() && u.Resource != r && u.Mean > 0 {
			gain = min(gain, 1/u.Mean)
		}
	}
	if d, ok := s.alone(l); ok && l.Think != nil {
		gain = min(gain, float64(l.Users)/(d+*l.Think)/l.Throughput)
	}
	return max(1, gain)
}

// alone is the response time at the first load, or else the sum of the demands in
// seconds of the resources as they are.
func (s System) alone(l Load) (seconds float64, ok bool) {
	if all := s.loads(); len(all) > 0 && all[0] < l.Users {
		if first := s.sumUp(all[0]); first.Response != nil {
			return *first.Response, true
		}
	}
	var laws Laws
	laws.demands([]Load{l}, nil)
	return queueing.Closed{Stations: laws.stations()}.Total(), len(laws.Demands) > 0
}
