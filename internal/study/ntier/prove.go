package ntier

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// proofLabel stands between the label of a load and what a proof changes: "1-2-1, 300
// users, proof: processor of db ×1.25".
const proofLabel = ", proof: "

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

// proofs are trials of each configuration with what it is named for, at the load at
// which that was full, as it is and with more of it in turns.
func (d *proving) proofs() []study.Treatment {
	var out []study.Treatment
	for _, m := range d.group(d.trials) {
		a := bottleneck.Analyze(m.system)
		raises, why := m.system.Raises(a, m.size)
		for turn := 0; why == "" && len(raises) > 0 && turn < 2*d.setup.Trials; turn++ {
			trial := 1 + turn/2
			t := d.treatment(d.first[0].Workload, m.configuration, a.Load, trial)
			of := slices.Clone(raises)
			for i := range of {
				if turn%2 != trial%2 { // as it is: first in odd trials
					of[i].Factor = 1
				}
				set(t.Services, of[i])
			}
			t.Label += proofLabel + bottleneck.RaiseLabel(of)
			out = append(out, t)
		}
	}
	return out
}

// set gives the services of a treatment as much as a raise says: those of several tiers
// where these share a link.
func set(services map[string]study.ServiceLevel, r bottleneck.Raise) {
	for _, tier := range r.Tiers() {
		level := services[tier]
		switch {
		case r.Kind.Soft():
			sizes := map[string]int{string(r.Kind): int(math.Round(r.Has * r.Factor))}
			maps.Copy(sizes, level.Sizes)
			level.Sizes = sizes
		case r.Kind == bottleneck.LinkOut:
			level.LinkOut = r.Factor
		case r.Kind == bottleneck.LinkIn:
			level.LinkIn = r.Factor
		default:
			level.CPU = r.Has * r.Factor
		}
		services[tier] = level
	}
}

// size is what the file says of a pool or threads, or the rate of the links, as far as it
// can be set; 0: it cannot.
func (m measured) size(r bottleneck.Resource) int {
	for _, t := range m.trials {
		n := t.of.Services[r.Tier].Sizes[string(r.Kind)]
		if r.Kind.Link() {
			n = slowest(t.of, r.Tiers())
		}
		if n > 0 {
			return n
		}
	}
	return 0
}

// slowest is the least rate of the links of tiers in bytes a second, as far as the fleet
// sets them; 0: not all of them.
func slowest(s model.Step, tiers []string) int {
	least := math.Inf(1)
	for _, tier := range tiers {
		for _, node := range s.Services[tier].Nodes {
			least = min(least, s.Links[node].Out)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return int(least)
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

// cannotRaise says of what no proof can be made, as far as file and nodes tell
// beforehand: of a link where it is not set by the fleet, and of a processor where no
// node of its tier has a quarter more than the limit of the service.
func (d *proving) cannotRaise() (out []string) {
	what := "threads or a pool of which no service names the size (sizes)"
	switch fixed := d.fixedLinks(); len(fixed) {
	case 0:
		what += " bind"
	case len(d.Tiers):
		what = "a link binds, or " + what
	default:
		what = "a link of " + strings.Join(fixed, " or ") + " binds, or " + what
	}
	out = append(out, "if "+what+", no proof can be made")
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
			case s.CPU*bottleneck.Quarter > most*(1+1e-9):
				add(s.Name, fmt.Sprintf("its nodes%s have %.4g processors, and %.4g would be needed", place, most, s.CPU*bottleneck.Quarter))
			}
		}
	}
	return out
}

// nodes are those that a service may have in a configuration.
func (d *proving) nodes(s study.Service, c Configuration) []model.Node {
	on := d.labels(c)
	for key, label := range s.On {
		if _, set := on[key]; !set {
			on[key] = label
		}
	}
	return slices.DeleteFunc(slices.Clone(d.setup.Nodes), func(n model.Node) bool { return !n.Has(on) })
}

// largest are the processors of the largest of them; 0: not known.
func (d *proving) largest(s study.Service, c Configuration) (most float64) {
	for _, n := range d.nodes(s, c) {
		most = max(most, n.Facts.Processors())
	}
	return most
}

// fixedLinks are the tiers that may have nodes with a link that cannot be raised.
func (d *proving) fixedLinks() (out []string) {
	for _, s := range d.setup.Services {
		fixed := len(d.setup.Links) == 0
		for _, text := range d.Configurations {
			c, _ := ParseConfiguration(text, d.Tiers) // validated
			fixed = fixed || slices.ContainsFunc(d.nodes(s, c), func(n model.Node) bool { return d.setup.Links[n.ID] == 0 })
		}
		if fixed && slices.Contains(d.Tiers, s.Name) {
			out = append(out, s.Name)
		}
	}
	return out
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
