package ntier

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/microbench"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/timeline"
)

// Result is what the trials tell. Its JSON form is a contract.
type Result struct {
	Configurations []Finding    `json:"configurations"`
	Growth         []Growth     `json:"growth,omitempty"` // of configurations that grow
	Reversals      []Reversal   `json:"reversals"`
	Rankings       Rankings     `json:"rankings"`
	Cost           *prices.Cost `json:"cost"` // null: without prices, or an SLA, or of several mixes
	// CostByMix is that of each of several mixes: operations of one are no others' measure.
	CostByMix []MixCost `json:"cost_by_mix,omitempty"`
	// Switching and Network are what microbenchmarks of the nodes measured.
	Switching []microbench.Switch  `json:"context_switches,omitempty"`
	Network   []microbench.Network `json:"network,omitempty"`
	Warnings  []string             `json:"warnings"`
	// Notes say what else is to know, and speak against nothing.
	Notes []string `json:"notes,omitempty"`

	title    string
	tiers    []string
	sla      string
	ceiling  Grow
	currency string
	warned   []warning
}

// MixCost is what configurations cost with one mix.
type MixCost struct {
	Mix string `json:"mix"`
	*prices.Cost
}

// costs are those of the result, by mix.
func (r *Result) costs() []MixCost {
	if r.Cost != nil {
		return []MixCost{{Cost: r.Cost}}
	}
	return r.CostByMix
}

// warning is about a configuration, or about all: then of is empty.
type warning struct{ of, text string }

func (w warning) String() string {
	if w.of == "" {
		return w.text
	}
	return w.of + ": " + w.text
}

// warn adds warnings.
func (r *Result) warn(all ...warning) {
	for _, w := range all {
		r.warned, r.Warnings = append(r.warned, w), append(r.Warnings, w.String())
	}
}

// Finding is the answer for one configuration.
type Finding struct {
	Configuration string `json:"configuration"`
	Shape         string `json:"shape"`
	Variant       string `json:"variant,omitempty"`
	Mix           string `json:"mix,omitempty"` // that the study set
	Platform      string `json:"platform,omitempty"`
	Type          string `json:"type,omitempty"`
	Hosts         int    `json:"hosts"`
	bottleneck.Answer
	Proof *bottleneck.Proof `json:"proof"` // null: there is none
	Text  string            `json:"text"`
	// Sizes is the search for the best sizes; null: none was asked for.
	Sizes *Search `json:"sizes,omitempty"`
	// Kept says of each load whether the SLA was kept; empty without an SLA.
	Kept []Kept `json:"sla,omitempty"`
	// Signals are what grows without anything being full, by tier and load;
	// Interactions are those of the load At.
	Signals      []Signal      `json:"signals"`
	At           int           `json:"at"`
	Interactions []Interaction `json:"interactions,omitempty"`

	peaks    []float64                // the throughput of each trial at peak(); empty: it does not count
	table    bool                     // of the user's own, which has one utilisation for each trial
	asked    string                   // what its users do, by their parameters
	unproved bool                     // something is named that a proof may raise, and none was asked for
	timeline func() timeline.Timeline // with At users
}

// answer analyses all configurations.
func (p *Params) answer(from source) (*Result, error) {
	all := p.group(from.trials)
	r := &Result{Configurations: []Finding{}, Reversals: []Reversal{}, Warnings: []string{}, Switching: from.switching, Network: from.network, title: from.title, tiers: p.Tiers, sla: p.SLA}
	var sla *load.SLA
	if p.SLA != "" {
		parsed, err := load.ParseSLA(p.SLA)
		if err != nil {
			return nil, refuse("sla", err.Error(), "")
		}
		sla = &parsed
	}
	var late []warning
	oneTrial, unproved := false, false
	for i := range all {
		m := &all[i]
		late = append(late, p.costOfSwitches(m, from.switching)...)
		f, err := m.finding(p.Proof)
		if err != nil {
			return nil, err
		}
		if len(p.Sizes) > 0 {
			s, _ := p.search(m.searches)
			s.Measured = m.otherSizes(s.Best)
			f.Sizes = &s
		}
		if sla != nil {
			f.Kept = keptBy(*sla, f.Loads, m.trials, f.withdrawn())
		}
		oneTrial = oneTrial || slices.ContainsFunc(f.Loads, func(l bottleneck.Load) bool { return l.Trials == 1 })
		unproved = unproved || f.unproved
		r.Configurations = append(r.Configurations, f)
	}
	if r.Growth = p.growth(all, r.Configurations); p.Grow != nil {
		list, _ := p.list() // validated
		r.ceiling, r.currency = *p.Grow, list.Currency
	}
	r.Reversals, r.Rankings = reversals(r.Configurations)
	others, costs, err := p.byMix(r, all)
	if err != nil {
		return nil, err
	}
	r.warn(r.doubts()...)
	r.warn(slices.Concat(costs, late, others)...)
	if oneTrial {
		r.Notes = append(r.Notes, "a throughput of one trial has no interval: measure more of each (trials: 3 in the file)")
	}
	if unproved {
		r.Notes = append(r.Notes, "not proved: proof: true in the file (or --set study.proof=true) raises what is named by a quarter, and measures again")
	}
	return r, nil
}

// byMix holds the configurations of each mix against each other: whether their users are
// alike, and what they cost. Those of a mix follow each other.
func (p *Params) byMix(r *Result, all []measured) (others, costs []warning, err error) {
	asked := p.SLA != "" || p.PriceTable != "" || len(p.Prices)+len(p.PriceList) > 0
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].mix == all[from].mix {
			to++
		}
		of := r.Configurations[from:to]
		different := unlike(of)
		others = append(others, different...)
		if asked {
			cost, doubts, err := p.cost(of, all[from:to], len(different) == 0)
			if err != nil {
				return nil, nil, err
			}
			costs = append(costs, doubts...)
			r.CostByMix = append(r.CostByMix, MixCost{all[from].mix, cost})
		}
		from = to
	}
	if len(r.CostByMix) == 1 {
		r.Cost, r.CostByMix = r.CostByMix[0].Cost, nil
	}
	return others, costs, nil
}

// judge names the bottlenecks of one configuration.
func (m measured) judge(proof bool) Finding {
	c := m.configuration
	f := Finding{Configuration: c.String(), Shape: c.Shape(), Variant: c.Variant, Mix: m.mix, Platform: c.Platform,
		Type: c.Type, Hosts: m.hosts(), Answer: bottleneck.Analyze(m.system),
		table: m.table(), asked: m.asked()}
	f.Doubts = append(f.Doubts, m.doubts()...)
	f.withoutFailed(m.failed)
	raises, fixed := m.system.Raises(f.Answer, m.size)
	if f.Proof = m.proof(f.Answer); f.Proof == nil && proof && len(raises) > 0 {
		f.Proof = &bottleneck.Proof{Raised: raises, Users: f.Load, Outcome: bottleneck.NotMade,
			Why: cmp.Or(fixed, "its trials failed, or were not begun: resume the run")}
	}
	f.unproved = f.Verdict == bottleneck.Named && f.Proof == nil && fixed == "" && !f.table
	f.ApplyProof(f.Proof)
	return f
}

// finding analyses one configuration.
func (m measured) finding(proof bool) (Finding, error) {
	f := m.judge(proof)
	if f.ExcludedFromRanking == "" { // of one load: the largest of each trial is larger by the noise of all
		f.peaks = f.peak().Throughputs
	}
	f.Text = words(f)
	f.Signals = m.signals(f.Loads)
	f.At = f.Load
	if ok := bottleneck.Counted(f.Loads); f.At == 0 && len(ok) > 0 {
		f.At = ok[len(ok)-1].Users
	}
	for _, t := range m.trials {
		if t.Users == f.At && t.timeline != nil {
			f.timeline = t.timeline
		}
	}
	var err error
	f.Interactions, err = m.interactions(f.At)
	return f, err
}

// withoutFailed withdraws that the throughput grew to the end where a larger load has no
// trial that counts: what ends the growth may be what failed, or was not measured.
func (f *Finding) withoutFailed(failed []trial) {
	if len(f.Loads) == 0 {
		f.Why = "no trial ended well"
	}
	missing := 0
	for _, t := range failed {
		if t.of.State != model.StepInvalid {
			missing++
		}
	}
	if f.Knee == nil && f.Verdict == bottleneck.Unknown && missing > 0 {
		were := "were"
		if missing == 1 {
			were = "was"
		}
		f.Why = fmt.Sprintf("%s %s not measured: resume the run (of those that were, %s)", num.Count(missing, "trial"), were,
			f.Why)
	}
	if f.Verdict != bottleneck.None {
		return
	}
	last := f.Loads[len(f.Loads)-1].Users
	for _, t := range failed {
		if t.Users <= last {
			continue
		}
		f.Verdict, f.Why = bottleneck.Unknown, fmt.Sprintf(
			"the throughput grew up to %s, and %d were not measured: resume the run", num.Count(last, "user"), t.Users)
		if t.of.State == model.StepInvalid {
			f.Why = fmt.Sprintf(
				"the throughput grew up to %s, and no trial with %d ended well: what ends the growth may be what failed there",
				num.Count(last, "user"), t.Users)
		}
		return
	}
}

// hosts is how many nodes its tiers had; by the notation where the run does not say.
func (m measured) hosts() int {
	most := 0
	for _, t := range m.trials {
		most = max(most, len(t.hosts))
	}
	return cmp.Or(most, m.configuration.Hosts())
}

// withdrawn is the doubt because of which no number of the configuration counts; empty:
// there is none.
func (f *Finding) withdrawn() string {
	for _, d := range f.Doubts {
		if d.Severity == model.Problem {
			return d.Text
		}
	}
	return ""
}

// proof holds the trials of a proof against each other; nil: there are none.
func (m measured) proof(a bottleneck.Answer) *bottleneck.Proof {
	var before, after []bottleneck.Trial
	var raised []bottleneck.Raise
	for _, t := range m.proofs {
		switch of := a.Raised(t.proof); {
		case len(of) == 0:
		case of[0].Factor == 1:
			before = append(before, t.Trial)
		default:
			after, raised = append(after, t.Trial), of
		}
	}
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	x := bottleneck.Prove(m.system, raised, before, after)
	return &x
}

// doubts are the warnings of all configurations.
func (r *Result) doubts() (out []warning) {
	places, _ := r.places()
	for _, f := range r.Configurations {
		add := func(text string) { out = append(out, warning{f.Configuration, text}) }
		for _, d := range f.Doubts {
			add(d.Text)
		}
		for _, text := range f.Sizes.doubts() {
			add(text)
		}
		if f.Verdict == bottleneck.Unknown {
			add("no verdict: " + f.Why)
		}
		switch {
		case f.ExcludedFromRanking != "" && (len(r.Configurations) > 1 || len(r.costs()) > 0):
			add("its throughput takes no part in rankings and has no cost at its peak, for it may be less than the " +
				"application can do")
		case f.ExcludedFromRanking == "" && f.stillGrew() && len(places) > 1:
			add("in rankings between platforms it may be ahead and never behind, for no end of its growth was seen: measure " +
				"with more users")
		}
	}
	return out
}

// Gate implements study.Result: a measurement that answers for no configuration is
// not valid.
func (r *Result) Gate() error {
	if slices.ContainsFunc(r.Configurations, func(f Finding) bool { return f.Verdict != bottleneck.Unknown }) {
		return nil
	}
	return fmt.Errorf("%w: no configuration has a verdict: %s", model.ErrInvalid, r.Configurations[0].Why)
}
