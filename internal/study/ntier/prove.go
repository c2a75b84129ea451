package ntier

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Raise is how many times as fast a suspect is made.
const Raise = 1.25

// Labels of trials of a proof, behind that of the load: "1-2-1, 300 users, proof:
// db ×1.25" and "…, proof: db ×1".
const proofLabel = ", proof: "

func proofOf(tier string, factor float64) string {
	return fmt.Sprintf("%s%s ×%g", proofLabel, tier, factor)
}

// proving measures all trials, and then those of the proofs.
type proving struct {
	*Params
	setup   study.Setup
	first   []study.Treatment
	trials  []trial // that were seen
	begun   bool    // the first trials were asked for
	planned bool    // the proofs were
}

var _ interface {
	study.Design
	study.Bounded
	study.Forecaster
	study.Opener
} = (*proving)(nil)

// Opening implements study.Opener.
func (d *proving) Opening() []study.Treatment { return d.first }

// Next implements study.Design. A run that is resumed has seen some or all of it.
func (d *proving) Next(seen *observe.Run) ([]study.Treatment, error) {
	if steps := seen.Steps(); len(steps) > 0 {
		d.begun = true
		d.planned = d.planned || slices.ContainsFunc(steps, func(s model.Step) bool { return strings.Contains(s.Label, proofLabel) })
		more, err := d.trialsOf(seen)
		if err != nil {
			return nil, err
		}
		d.trials = append(d.trials, more...)
	}
	switch {
	case !d.begun:
		d.begun = true
		return d.first, nil
	case !d.planned:
		d.planned = true
		return d.proofs(), nil
	}
	return nil, nil
}

// proofs are trials of each configuration with one processor as its bottleneck, at
// the load at which it was full, as it is and a quarter faster in turns.
func (d *proving) proofs() []study.Treatment {
	var out []study.Treatment
	for _, m := range d.group(d.trials) {
		a := bottleneck.Analyze(m.system)
		if a.Verdict != bottleneck.Named || len(a.Bottlenecks) != 1 || a.Bottlenecks[0].Kind != bottleneck.CPU {
			continue
		}
		tier := a.Bottlenecks[0].Tier
		quota, why := m.raise(a)
		if why != "" {
			continue
		}
		for trial := 1; trial <= d.setup.Trials; trial++ {
			pair := []float64{1, Raise}
			if trial%2 == 0 {
				pair = []float64{Raise, 1}
			}
			for _, factor := range pair {
				t := d.treatment(d.first[0].Workload, m.configuration, a.Load, trial)
				level := t.Services[tier]
				level.CPU = quota * factor
				t.Services[tier], t.Label = level, t.Label+proofOf(tier, factor)
				out = append(out, t)
			}
		}
	}
	return out
}

// raise is the processor that each host of the bottleneck has, or why it cannot be given
// a quarter more: no trial of a proof is made then.
func (m measured) raise(a bottleneck.Answer) (quota float64, why string) {
	r := a.Bottlenecks[0].Resource
	quota = m.quota(r.Tier, a.Load)
	switch {
	case r.Shared():
		return 0, "tiers share that host, and it has no limit of a service that could be raised"
	case !(quota > 0):
		return 0, "its limit is not known"
	}
	for _, t := range m.system.Trials {
		for _, s := range t.Services {
			if has := t.Cores[s.Node]; s.Tier == r.Tier && has > 0 && quota*Raise > has*(1+1e-9) {
				return 0, fmt.Sprintf("node %s has %.4g processors, and %.4g would be needed: give the service a limit (limits.cpu) that leaves a quarter", s.Node, has, quota*Raise)
			}
		}
	}
	return quota, ""
}

// notMade is the proof that was asked for and was not made; nil: there is nothing to
// prove.
func (m measured) notMade(a bottleneck.Answer) *bottleneck.Proof {
	if a.Verdict != bottleneck.Named || len(a.Bottlenecks) != 1 {
		return nil
	}
	out := &bottleneck.Proof{Resource: a.Bottlenecks[0].Resource, Users: a.Load, Factor: Raise, Outcome: bottleneck.NotMade, Why: "only processors can be raised: change the setting, and run again"}
	if out.Resource.Kind == bottleneck.CPU {
		if _, out.Why = m.raise(a); out.Why == "" {
			out.Why = "its trials failed, or were not begun: resume the run"
		}
	}
	return out
}

// AtMost implements study.Bounded.
func (d *proving) AtMost() (steps int, all time.Duration) {
	if !d.begun {
		steps = len(d.first)
		for _, t := range d.first { // microbenchmarks take less than users
			all += d.step(t.Workload)
		}
	}
	if !d.planned {
		n := 2 * d.setup.Trials * len(d.Configurations)
		steps, all = steps+n, all+time.Duration(n)*d.step(d.first[0].Workload)
	}
	return steps, all
}

// Outlook implements study.Forecaster: the trials with those of proofs, and then what
// is measured beside them.
func (d *proving) Outlook() []study.Outlook {
	var out []study.Outlook
	for _, t := range d.first {
		i := slices.IndexFunc(out, func(o study.Outlook) bool { return o.Workload == t.Workload })
		if i < 0 {
			i, out = len(out), append(out, study.Outlook{Phase: Phase, Workload: t.Workload, Trials: d.setup.Trials, Step: d.step(t.Workload)})
		}
		if t.Trial == 1 {
			out[i].Steps++
		}
	}
	out[0].Steps, out[0].Note = out[0].Steps+2*len(d.Configurations), strings.Join(d.cannotRaise(), "; ")
	return out
}

// cannotRaise says of which tiers no proof can be made, as far as file and nodes tell
// beforehand: none of their nodes has a quarter more than the limit of the service.
func (d *proving) cannotRaise() (out []string) {
	add := func(name, why string) {
		if text := fmt.Sprintf("if the processor of %s binds, no proof can be made: %s", name, why); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, s := range d.setup.Services {
		for _, text := range d.Configurations {
			c, _ := ParseConfiguration(text, d.Tiers) // validated
			most, place := d.largest(s, c), ""
			if c.Place() != "" {
				place = " on " + c.Place()
			}
			switch {
			case !slices.Contains(d.Tiers, s.Name) || most == 0:
			case s.CPU == 0:
				add(s.Name, "the service has no limit that could be raised (limits.cpu)")
			case s.CPU*Raise > most*(1+1e-9):
				add(s.Name, fmt.Sprintf("its nodes%s have %.4g processors, and %.4g would be needed", place, most, s.CPU*Raise))
			}
		}
	}
	return out
}

// largest are the processors of the largest node that a service may have in a
// configuration; 0: not known.
func (d *proving) largest(s study.Service, c Configuration) (most float64) {
	on := d.labels(c)
	for key, label := range s.On {
		if _, set := on[key]; !set {
			on[key] = label
		}
	}
	for _, n := range d.setup.Nodes {
		if n.Has(on) {
			most = max(most, coresOf(n))
		}
	}
	return most
}

// step is how long a trial of a workload takes.
func (d *proving) step(workload string) time.Duration {
	for _, w := range d.setup.Workloads {
		if e, ok := w.Bench.(interface{ Estimate() time.Duration }); ok && w.Name == workload {
			return e.Estimate()
		}
	}
	return 0
}
