package ntier

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/timeline"
)

// Interaction is what users saw of one, and the first tier.
type Interaction struct {
	seen
	// Served is the mean response time in seconds that the first tier tells; null: it
	// does not.
	Served *float64 `json:"served"`
}

type seen = session.Interaction // its name is that of a field

// interactions are those of all trials with so many users.
func (m measured) interactions(users int) ([]Interaction, error) {
	var of []model.Result
	var trials []trial
	for _, t := range m.trials {
		if t.Users != users || t.run == nil {
			continue
		}
		trials = append(trials, t)
		if err := needInteractions(t.run, t.of, first(m.system.Tiers)); err != nil {
			return nil, err
		}
		for _, x := range t.run.Measured(t.of) {
			of = append(of, x)
		}
	}
	all, err := session.Interactions(of, len(trials))
	var out []Interaction
	for _, x := range all {
		out = append(out, Interaction{x, served(trials, first(m.system.Tiers), x.Interaction)})
	}
	return out, err
}

// servedNames are the counters of an interaction that a tier has, seconds and requests.
// In names of signals a dot is a _.
func servedNames(tier, interaction string) (seconds, requests string) {
	name := strings.ReplaceAll(interaction, ".", "_")
	return fmt.Sprintf("%s:%s[%s]", tier, bottleneck.SignalResponse, name), fmt.Sprintf("%s:%s[%s]", tier, bottleneck.SignalRequests, name)
}

// served is the mean response time of an interaction by a tier itself while it was
// scored, of all hosts and trials; nil: it is not known.
func served(trials []trial, tier, interaction string) *float64 {
	seconds, requests := servedNames(tier, interaction)
	sums := make(map[string]float64)
	for _, t := range trials {
		for _, x := range t.run.Accepted(t.of.ID) {
			from, to := t.window.Start.Sub(x.Started).Nanoseconds(), t.window.End.Sub(x.Started).Nanoseconds()
			for _, h := range x.Host {
				if h.Metric == seconds || h.Metric == requests {
					sums[h.Metric] += timeline.CounterAt(h, to, [2]int64{from, to}) - timeline.CounterAt(h, from, [2]int64{from, to})
				}
			}
		}
	}
	return num.IfFinite(sums[seconds] / sums[requests])
}

// needInteractions reads what users and the first tier recorded of all interactions
// that a step has.
func needInteractions(run *observe.Run, s model.Step, tier string) error {
	var names, series []string
	for _, x := range run.Measured(s) {
		for _, sample := range x.Samples {
			if name := sample.Labels[session.LabelInteraction]; name != "" && sample.Metric == session.MetricOK {
				seconds, requests := servedNames(tier, name)
				names, series = append(names, session.HistogramOf(name)), append(series, seconds, requests)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := run.Need(observe.Hosts, series...); err != nil {
		return err
	}
	return run.Need(observe.Histograms, names...)
}
