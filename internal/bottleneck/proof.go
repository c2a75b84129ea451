package bottleneck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/internal/stats"
)

// Proof is what became of making the suspects faster, or larger: trials with them as
// they were and with as much more of all of them, with the same users, beyond the knee.
type Proof struct {
	Raised []Raise `json:"raised"`
	Users  int     `json:"users"`
	Trials int     `json:"trials"` // of each kind, at least
	Before float64 `json:"before"` // throughput
	After  float64 `json:"after"`
	// Predicted is how many times the throughput should be, by the demands of the
	// trials as it was: up to the next limit, and to what so many users can ask for.
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

// Prove holds the trials with more of the suspects against those without. The trials of
// the system are those from which the suspects were named.
func Prove(s System, raised []Raise, before, after []Trial) Proof {
	users := before[0].Users
	arms := []Load{s.sumUpOf(users, before), s.sumUpOf(users, after)}
	as, more := arms[0], arms[1]
	p := Proof{Raised: raised, Users: users, Trials: min(len(before), len(after)), Outcome: Unclear,
		Before: as.Throughput, After: more.Throughput, Gain: more.Throughput / as.Throughput, Predicted: s.predicted(as, raised)}
	if _, ci, err := stats.RatioOfIndependentMeans(more.Throughputs, as.Throughputs, level); err == nil {
		p.CI = &ci
	}
	p.Why = s.spoiled(arms)
	for _, r := range raised {
		if got := more.capacity(r.Resource) / as.capacity(r.Resource); p.Why == "" && !(got > 1+took*(r.Factor-1)) {
			p.Why = r.missed()
		}
	}
	if p.Why != "" {
		return p
	}
	p.decide()
	if why := crowded(raised, as, more); why != "" && p.Outcome != Confirmed {
		p.Outcome, p.Why = Unclear, why
	}
	return p
}

// crowded says of a processor that was raised that its machine had no more to give;
// empty: it had, or that is not known. What a limit explains of the threads that wait is
// at most the share of the periods that it cut short. Where others wait, as many as what
// is left of the limit would run, and half as many as waited before, something else has
// the processors: what binds elsewhere leaves no such queue here.
func crowded(raised []Raise, as, more Load) string {
	for _, r := range raised {
		if r.Kind != CPU {
			continue
		}
		left := more.meanIn(r.Resource, SignalQuota) - more.meanIn(r.Resource, SignalCPU)
		cut := more.meanIn(r.Resource, SignalHeld) / more.meanIn(r.Resource, SignalPeriods)
		waits := more.meanIn(r.Resource, SignalRunDelay) * (1 - cut)
		if before := as.meanIn(r.Resource, SignalRunDelay); left > 0 && waits >= max(left, before/2) { // not of NaN
			return fmt.Sprintf("its machine had no processor free: on average %.2g threads of %s waited for one although its limit let them run, and %.2g cores of the limit were not used: let less run there, or give it more processors, and prove again", waits, r.Tier, left)
		}
	}
	return ""
}

// missed is what to do where a raise did not reach its resource.
func (r Raise) missed() string {
	switch {
	case r.Kind.Soft():
		return fmt.Sprintf("the size of the %s was not raised by as much: does the service take it from that variable?", r)
	case r.Kind.Link():
		return fmt.Sprintf("the rate of the %s was not raised by as much", r)
	}
	return "the limit was not raised by as much: give its node more, or the service a limit of its own"
}

// decide compares the gain with half of the growth that was predicted.
func (p *Proof) decide() {
	switch half := 1 + (p.Predicted-1)/2; {
	case p.Predicted < 1+2*Repeatability:
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
		if l.beyond != "" {
			return fmt.Sprintf("%s, or the load generator, may bind: %s", s.Front, l.beyond)
		}
	}
	for _, l := range arms {
		a := analysis{Answer: &Answer{Load: l.Users}, counted: []Load{l}}
		a.lawDoubts()
		a.errorDoubts()
		for _, d := range a.doubts {
			if d.Code != doubtNoLink {
				return d.Text
			}
		}
	}
	return ""
}

// capacity is how much there is of a resource, on average over trials.
func (l Load) capacity(r Resource) float64 {
	var of []float64
	for _, t := range l.seconds {
		if x, ok := t[r]; ok {
			of = append(of, x.capacity)
		}
	}
	return meanOf(of)
}

// predicted is how many times the throughput should be: the suspects allow Factor times
// as much, each other resource what its utilisation leaves, and the users ask for no
// more than N/(R0+Z), of which R0, their response time alone, is that at the first load,
// or at least the sum of the demands where no other load is known. Soft resources that
// a suspect fills are its symptoms, and no limits.
func (s System) predicted(l Load, raised []Raise) float64 {
	gain := math.Inf(1)
	for _, r := range raised {
		gain = min(gain, s.allows(l, r))
	}
	for _, u := range l.Usage {
		symptom := slices.ContainsFunc(raised, func(r Raise) bool {
			return r.Tier == u.Tier && r.Kind == u.Kind || u.Kind.Soft() && s.fills(r.Resource, u.Resource)
		})
		if u.Node == "" && !symptom && u.Mean > 0 {
			gain = min(gain, 1/u.Mean)
		}
	}
	if d, ok := s.alone(l); ok && l.Think != nil {
		gain = min(gain, float64(l.Users)/(d+*l.Think)/l.Throughput)
	}
	return max(1, gain)
}

// allows is how many times as much a raised resource lets through. Of hardware that is
// the factor. What a larger pool lets through waits behind it, longer than fewer did: by
// the model of the queues there, with as many users as the pool has connections, and as
// delay what no demand explains of the time for which one is held, size ÷ throughput.
func (s System) allows(l Load, r Raise) float64 {
	size := l.capacity(Resource{Tier: r.Tier, Kind: r.Kind})
	more := int(math.Round(size * r.Factor))
	if !r.Kind.Soft() || !(size >= 1) || more > queueing.MostUsers {
		return r.Factor
	}
	laws := lawsOf(l)
	laws.Demands = slices.DeleteFunc(laws.Demands, func(d Demand) bool { return !s.fills(d.Resource, r.Resource) })
	users, held, none := int(math.Round(size)), size/l.Throughput, 0.0
	x, err := laws.network(Load{Users: users, Think: &held, Response: &none}).Solve(more)
	if err != nil { // nothing is to be said of the gain, so that none is expected
		return 1
	}
	return x[more-1] / x[users-1]
}

// lawsOf are the demands by the trials of one load.
func lawsOf(l Load) *Laws {
	var laws Laws
	laws.demands([]Load{l}, nil, new(model.Doubts))
	return &laws
}

// alone is the response time at the first load, or else the sum of the demands in
// seconds of the resources as they are.
func (s System) alone(l Load) (seconds float64, ok bool) {
	if all := s.loads(); len(all) > 0 && all[0] < l.Users {
		if first := s.sumUp(all[0]); first.Response != nil {
			return *first.Response, true
		}
	}
	laws := lawsOf(l)
	return queueing.Closed{Stations: laws.stations()}.Total(), len(laws.Demands) > 0
}

// ApplyProof withdraws what a proof refuted: something else binds. The throughput stays what
// it is, and may be ranked. What a proof leaves open is a doubt. Without a proof, nil,
// nothing changes.
func (a *Answer) ApplyProof(p *Proof) {
	if p == nil || a.Verdict != Named {
		return
	}
	doubts, proves := model.Doubts(a.Doubts), p.proves(a.Bottlenecks)
	if settled := p.Outcome == Confirmed || p.Outcome == Refuted; settled && proves {
		a.Unexplained = nil
		doubts = slices.DeleteFunc(doubts, func(d model.Doubt) bool { return d.Code == doubtUnexplained })
	}
	about := "the proof about " + p.names()
	switch {
	case !proves:
		doubts.Warn("proof", "%s says nothing about the verdict, which by all trials is another: measure again", about)
	case p.Outcome == Refuted:
		was := p.Raised[0].was()
		if len(p.Raised) > 1 {
			was = "were"
		}
		a.withdraw(fmt.Sprintf("%s %s full, and %s: something else binds", p.names(), was, p.gained()))
		doubts.Warn("proof", "%s refutes that it binds: look for what is not measured, such as locks, disks and services beside the tiers", about)
	case p.Outcome == Unclear:
		doubts.Warn("proof", "%s is unclear: what was full need not be what binds", about)
	case p.Outcome == NotMade:
		doubts.Warn("proof", "%s was not made: what was full need not be what binds", about)
	case p.tooMuch():
		doubts.Warn("proof_exceeded", "%s: that is more than was added, so that it says what binds and not how much more there would be: the throughput falls back under so many users, or something else changed, too", p.gained())
	}
	a.Doubts = doubts
}

// tooMuch reports whether the throughput grew by more than what was raised.
func (p Proof) tooMuch() bool {
	most := 1.0
	for _, r := range p.Raised {
		most = max(most, r.Factor)
	}
	return p.CI != nil && p.CI.Lo > most*(1+Repeatability)
}

// proves reports whether it is about these, and no others.
func (p Proof) proves(all []Evidence) bool {
	return len(all) == len(p.Raised) && !slices.ContainsFunc(all, func(e Evidence) bool {
		return !slices.ContainsFunc(p.Raised, func(r Raise) bool { return r.Resource == e.Resource })
	})
}

// names are what was raised: "the processor of app and the processor of db".
func (p Proof) names() string {
	var out []string
	for _, r := range p.Raised {
		out = append(out, "the "+r.String())
	}
	return strings.Join(out, " and ")
}

// Words say what it came to, without a full stop.
func (p Proof) Words() string {
	if p.Outcome == NotMade {
		return "no proof was made: " + p.Why
	}
	why := ""
	if p.Why != "" {
		why = ", for " + p.Why
	}
	return fmt.Sprintf("%s: %s%s", p.gained(), p.Outcome, why)
}

// gained says what a raise came to, beside what it should have.
func (p Proof) gained() string {
	var parts []string
	for _, r := range p.Raised {
		of := "it"
		if len(p.Raised) > 1 {
			of = "the " + r.String()
		}
		parts = append(parts, fmt.Sprintf("%.3g times as much of %s", r.Factor, of))
	}
	grew := fmt.Sprintf("%s gave %.2f times the throughput", strings.Join(parts, " and "), p.Gain)
	if p.CI != nil {
		grew += fmt.Sprintf(" [%.2f .. %.2f]", p.CI.Lo, p.CI.Hi)
	}
	return fmt.Sprintf("%s, where the laws say %.2f", grew, p.Predicted)
}
