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
	more, err := d.trialsOf(seen)
	if err != nil {
		return nil, err
	}
	d.trials = append(d.trials, more...)
	d.begun = d.begun || len(seen.Steps()) > 0
	d.planned = d.planned || slices.ContainsFunc(more, func(t trial) bool { return t.proof != "" })
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
			t.Label = label{m.configuration, a.Load, bottleneck.RaiseLabel(of)}.String()
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
		switch r.Kind {
		case bottleneck.LinkOut:
			level.LinkOut = r.Factor
		case bottleneck.LinkIn:
			level.LinkIn = r.Factor
		case bottleneck.CPU:
			level.CPU = r.Has * r.Factor
		default:
			sizes := map[string]int{string(r.Kind): int(math.Round(r.Has * r.Factor))}
			maps.Copy(sizes, level.Sizes)
			level.Sizes = sizes
		}
		services[tier] = level
	}
}

// size is what the file says of a pool or threads, or the least rate of the links of its
// tiers in bytes a second, as far as these can be set; 0: not all of them.
func (m measured) size(r bottleneck.Resource) int {
	for _, t := range m.trials {
		if n := t.of.Services[r.Tier].Sizes[string(r.Kind)]; n > 0 {
			return n
		}
		var rates []float64
		for _, tier := range r.Tiers() {
			for _, node := range t.of.Services[tier].Nodes {
				rates = append(rates, t.of.Links[node].Out)
			}
		}
		if r.Kind.Link() && len(rates) > 0 && slices.Min(rates) >= 1 {
			return int(slices.Min(rates))
		}
	}
	return 0
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
func (d *proving) cannotRaise() []string {
	var fixed, why []string // tiers that may have nodes with a link that cannot be raised, and why a processor cannot
	for _, s := range d.setup.Services {
		if !slices.Contains(d.Tiers, s.Name) {
			continue
		}
		links := len(d.setup.Links) == 0
		for _, text := range d.Configurations {
			c, _ := ParseConfiguration(text, d.Tiers) // validated
			most, place := 0.0, ""
			for _, n := range d.nodes(s, c) {
				most, links = max(most, n.Facts.Processors()), links || d.setup.Links[n.ID] == 0
			}
			if c.Place() != "" {
				place = " on " + c.Place()
			}
			problem := ""
			switch {
			case most == 0: // not known
			case s.CPU == 0:
				problem = "the service has no limit that could be raised (limits.cpu)"
			case bottleneck.Lacks(most, s.CPU):
				problem = fmt.Sprintf("its nodes%s have %.4g processors, and %.4g would be needed", place, most,
					s.CPU*bottleneck.Quarter)
			}
			text := fmt.Sprintf("if the processor of %s binds, no proof can be made: %s", s.Name, problem)
			if problem != "" && !slices.Contains(why, text) {
				why = append(why, text)
			}
		}
		if links {
			fixed = append(fixed, s.Name)
		}
	}
	what := "threads or a pool of which no service names the size (sizes)"
	switch len(fixed) {
	case 0:
		what += " bind"
	case len(d.Tiers):
		what = "a link binds, or " + what
	default:
		what = "a link of " + strings.Join(fixed, " or ") + " binds, or " + what
	}
	return append([]string{"if " + what + ", no proof can be made"}, why...)
}

// nodes are those that a service may have in a configuration.
func (d *proving) nodes(s study.Service, c Configuration) []model.Node {
	on := make(map[string]string)
	maps.Copy(on, s.On)
	maps.Copy(on, d.labels(c))
	return slices.DeleteFunc(slices.Clone(d.setup.Nodes), func(n model.Node) bool { return !n.Has(on) })
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
