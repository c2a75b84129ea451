package ntier

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// Interaction is what became of one interaction at the load that decided, in all
// trials. Null is what no operation tells.
type Interaction struct {
	Interaction string   `json:"interaction"`
	Rate        float64  `json:"rate"`   // that ended well, a second, mean over trials
	Share       float64  `json:"share"`  // of all that were due
	Mean        *float64 `json:"mean"`   // response time in seconds, of those that ended well
	P95         *float64 `json:"p95"`    // the same
	Errors      float64  `json:"errors"` // share that failed
	Due         int64    `json:"due"`
}

// interactions add up what the generators reported of each.
func (m measured) interactions(users int) ([]Interaction, error) {
	ops := make(map[string]*load.Op)
	var due float64
	rates := make(map[string]float64)
	trials := 0.0
	for _, t := range m.trials {
		if t.Users != users || t.run == nil {
			continue
		}
		trials++
		if err := needInteractions(t.run, t.of); err != nil {
			return nil, err
		}
		for _, x := range t.run.Measured(t.of) {
			r, err := session.Read(x)
			if err != nil {
				continue // it has no interactions
			}
			for i, name := range r.Names {
				op := ops[name]
				if op == nil {
					op = &load.Op{}
					ops[name] = op
				}
				if err := add(op, r.Ops[i]); err != nil {
					return nil, err
				}
				due += float64(r.Ops[i].Due)
				rates[name] += float64(r.Ops[i].OK) / r.Scored.Seconds()
			}
		}
	}
	var out []Interaction
	for name, op := range ops {
		if op.Due == 0 {
			continue
		}
		x := Interaction{Interaction: name, Rate: rates[name] / trials, Share: float64(op.Due) / due, Errors: float64(op.Due-op.OK) / float64(op.Due), Due: op.Due}
		if h := op.Latency; h != nil && h.TotalCount() > 0 {
			mean, p95 := h.Mean()/1e9, float64(h.ValueAtQuantile(95))/1e9
			x.Mean, x.P95 = &mean, &p95
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Interaction) int {
		return cmp.Or(cmp.Compare(b.Due, a.Due), cmp.Compare(a.Interaction, b.Interaction))
	})
	return out, nil
}

// needInteractions reads the histograms of all interactions that a step has.
func needInteractions(run *observe.Run, s model.Step) error {
	var names []string
	for _, x := range run.Measured(s) {
		for _, sample := range x.Samples {
			if name := sample.Labels[session.LabelInteraction]; name != "" && sample.Metric == session.MetricOK {
				names = append(names, session.HistogramOf(name))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return run.Need(observe.Histograms, names...)
}

// add adds counts and response times.
func add(to *load.Op, x load.Op) (err error) {
	to.Due, to.OK = to.Due+x.Due, to.OK+x.OK
	if x.Latency == nil {
		return nil
	}
	if to.Latency == nil { // merging changes it
		to.Latency = hdrhistogram.Import(x.Latency.Export())
		return nil
	}
	to.Latency, err = histogram.Merge(to.Latency, x.Latency)
	return err
}
