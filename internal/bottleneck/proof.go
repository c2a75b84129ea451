package bottleneck

import (
	"math"

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
	// Outcome is confirmed where the whole interval of the gain is above half of
	// what was predicted, refuted where it is below, and else unclear.
	Outcome Outcome `json:"outcome"`
	// Why it is unclear, where that is not the width of the interval.
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

// Prove holds the trials with a faster suspect against those without.
func Prove(s System, r Resource, factor float64, before, after []Trial) Proof {
	s.Trials = before
	if s.Thresholds == (Thresholds{}) {
		s.Thresholds = Defaults()
	}
	l := s.sumUp(before[0].Users)
	p := Proof{Resource: r, Users: before[0].Users, Factor: factor, Trials: min(len(before), len(after)), Outcome: Unclear}
	var raised []float64
	for _, t := range after {
		raised = append(raised, t.Throughput)
	}
	p.Before, p.After = l.Throughput, meanOf(raised)
	p.Gain, p.Predicted = p.After/p.Before, s.predicted(l, r, factor)
	if got := s.capacity(r, after) / s.capacity(r, before); !(got > 1+took*(factor-1)) {
		p.Why = "the limit was not raised by as much: give its node more, or the service a limit of its own"
	}
	if _, ci, err := stats.RatioOfIndependentMeans(raised, l.values, level); err == nil {
		p.CI = &ci
		switch half := 1 + (p.Predicted-1)/2; {
		case p.Why != "":
		case p.Predicted < 1+2*repeatability: // nothing was to be gained
		case ci.Lo > half:
			p.Outcome = Confirmed
		case ci.Hi < half:
			p.Outcome = Refuted
		}
	}
	return p
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
// for no more than N/(R0+Z), of which R0, their response time alone, is at most the
// sum of the demands.
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

// alone is the sum of the demands in seconds of the resources as they are.
func (s System) alone(l Load) (seconds float64, ok bool) {
	for _, u := range l.Usage {
		if u.Node == "" && !u.Kind.Soft() && !math.IsNaN(u.Mean) {
			servers, of := 1.0, l.seconds[0][u.Resource]
			if hosts := float64(of.hosts); u.Kind == CPU && hosts > 0 {
				servers = max(1, math.Floor(of.capacity/hosts))
			}
			seconds, ok = seconds+u.Mean/l.Throughput*servers*float64(of.hosts), true
		}
	}
	return seconds, ok
}
