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
	tier := first(m.system.Tiers)
	var of []model.Result
	trials, counted := 0, make(map[string]float64)
	for _, t := range m.trials {
		if t.Users != users || t.run == nil {
			continue
		}
		trials++
		if err := needInteractions(t.run, t.of, tier); err != nil {
			return nil, err
		}
		for _, x := range t.run.Measured(t.of) {
			of = append(of, x)
		}
		t.count(counted, tier+":")
	}
	all, err := session.Interactions(of, trials)
	var out []Interaction
	for _, x := range all {
		seconds, requests := servedNames(tier, x.Interaction)
		out = append(out, Interaction{x, num.IfFinite(counted[seconds] / counted[requests])})
	}
	return out, err
}

// count adds by how much counters of a tier grew while a trial was scored, on all hosts.
func (t trial) count(sums map[string]float64, tier string) {
	for _, x := range t.run.Accepted(t.of.ID) {
		from, to := t.window.Start.Sub(x.Started).Nanoseconds(), t.window.End.Sub(x.Started).Nanoseconds()
		for _, h := range x.Host {
			if strings.HasPrefix(h.Metric, tier) && h.Counter {
				sums[h.Metric] += timeline.CounterAt(h, to, [2]int64{from, to}) - timeline.CounterAt(h, from, [2]int64{from, to})
			}
		}
	}
}

// servedNames are the counters of an interaction that a tier has, seconds and requests.
// In names of signals a dot is a _.
func servedNames(tier, interaction string) (seconds, requests string) {
	name := strings.ReplaceAll(interaction, ".", "_")
	return fmt.Sprintf("%s:%s[%s]", tier, bottleneck.SignalResponse, name), fmt.Sprintf("%s:%s[%s]", tier, bottleneck.SignalRequests, name)
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
