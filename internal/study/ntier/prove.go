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

// sequential measures the trials of configurations, then those of their proofs, and then of the
// configurations that these grow to.
type sequential struct {
	*Params
	setup      study.Setup
	first      []study.Treatment
	trials     []trial         // that were seen
	begun      bool            // the first trials were asked for
	considered map[string]bool // configurations whose proofs were asked for, or cannot be made
	latest     string
}

var _ interface {
	study.Design
	study.Bounded
	study.Forecaster
	study.Opener
	study.Commenter
} = (*sequential)(nil)

// Opening implements study.Opener.
func (d *sequential) Opening() []study.Treatment { return d.first }

// Latest implements study.Commenter.
func (d *sequential) Latest() string { return d.latest }

// Next implements study.Design. A run that is resumed has seen some or all of it.
func (d *sequential) Next(seen *observe.Run) ([]study.Treatment, error) {
	more, err := d.trialsOf(seen)
	if err != nil {
		return nil, err
	}
	d.trials = append(d.trials, more...)
	for _, t := range more {
		if t.proof != "" {
			d.considered[t.configuration.String()] = true
		}
	}
	if !d.begun && len(seen.Steps()) == 0 {
		d.begun = true
		return d.first, nil
	}
	d.begun = true
	all := d.group(d.trials)
	var begun []string
	for _, m := range all {
		begun = append(begun, m.configuration.String())
	}
	if out := d.asked(d.first[0].Workload, d.setup, all, begun); len(out) > 0 { // after a search
		return out, nil
	}
	if out := d.proofs(all); len(out) > 0 {
		return d.withBest(all, out), nil
	}
	return d.growing(all), nil
}

// growing are the trials of the configurations that follow.
func (d *sequential) growing(all []measured) []study.Treatment {
	if d.latest = ""; d.Grow == nil {
		return nil
	}
	known := make(map[string]judged)
	for _, m := range all {
		known[m.configuration.String()] = judged{m, m.judge(d.Proof)}
	}
	workload := d.first[0].Workload
	_, wanted := d.paths(known, func(c Configuration) bool {
		if d.setup.Fits == nil {
			return true
		}
		err := d.setup.Fits(d.treatment(workload, c, d.Users[0], 1))
		if err != nil {
			d.latest = fmt.Sprintf("the fleet has no hosts for %s: %v", c, err)
		}
		return err == nil
	})
	return d.asked(workload, d.setup, all, wanted)
}

// proofs are trials of each configuration with what it is named for, at the load at
// which that was full, as it is and with more of it in turns.
func (d *sequential) proofs(all []measured) []study.Treatment {
	var out []study.Treatment
	for _, m := range all {
		name := m.configuration.String()
		if !d.Proof || d.considered[name] {
			continue
		}
		d.considered[name] = true
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
			t.Label = label{configuration: m.configuration, users: a.Load, proof: bottleneck.RaiseLabel(of)}.String()
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
func (d *sequential) AtMost() (steps int, all time.Duration) {
	if !d.begun {
		for _, t := range d.first { // microbenchmarks take less than users
			if t.Workload != d.first[0].Workload {
				steps, all = steps+1, all+d.step(t.Workload)
			}
		}
	}
	n := max(0, d.most()-len(d.trials))
	return steps + n, all + time.Duration(n)*d.step(d.first[0].Workload)
}

// most is how many trials of users there are at most.
func (d *sequential) most() int {
	n := d.searchTrials() + len(d.Users)*d.setup.Trials
	if d.Proof {
		n += 2 * d.setup.Trials
	}
	return n * max(1, len(d.Mixes)) * (len(d.Configurations) + d.mostGrown())
}

// mostGrown is how many configurations follow the first at most: each has a host more, and
// there are two where tiers share hosts.
func (d *sequential) mostGrown() (n int) {
	if d.Grow == nil {
		return 0
	}
	for _, text := range d.Configurations {
		c, _ := ParseConfiguration(text, d.Tiers) // validated
		most := len(d.setup.Nodes)
		if d.Grow.Hosts > 0 {
			most = min(most, d.Grow.Hosts)
		}
		if most -= c.Hosts(); slices.Contains(c.Joined, true) {
			most *= 2
		}
		n += max(0, most)
	}
	return n
}

// Outlook implements study.Forecaster: the trials with those of proofs and of what
// configurations grow to, and then what is measured beside them.
func (d *sequential) Outlook() []study.Outlook {
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
	out[0].Steps = (d.most() + d.setup.Trials - 1) / d.setup.Trials
	if d.Proof {
		out[0].Note = strings.Join(d.cannotRaise(), "; ")
	}
	return out
}

// cannotRaise says of what no proof can be made, as far as file and nodes tell
// beforehand: of a link where it is not set by the fleet, and of a processor where no
// node of its tier has a quarter more than the limit of the service.
func (d *sequential) cannotRaise() []string {
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
func (d *sequential) nodes(s study.Service, c Configuration) []model.Node {
	on := make(map[string]string)
	maps.Copy(on, s.On)
	maps.Copy(on, d.labels(c))
	return slices.DeleteFunc(slices.Clone(d.setup.Nodes), func(n model.Node) bool { return !n.Has(on) })
}

// step is how long a trial of a workload takes.
func (d *sequential) step(workload string) time.Duration {
	for _, w := range d.setup.Workloads {
		if e, ok := w.Bench.(interface{ Estimate() time.Duration }); ok && w.Name == workload {
			return e.Estimate()
		}
	}
	return 0
}
