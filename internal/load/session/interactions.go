package session

import (
	"cmp"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Interaction is what became of one interaction in several trials of one load. Null is
// what no operation tells.
type Interaction struct {
	Interaction string   `json:"interaction"`
	Rate        float64  `json:"rate"`   // that ended well, a second, mean over trials
	Share       float64  `json:"share"`  // of all that were due
	Mean        *float64 `json:"mean"`   // response time in seconds, of those that ended well
	P95         *float64 `json:"p95"`    // the same
	Errors      float64  `json:"errors"` // share of what was due that did not end well
	Due         int64    `json:"due"`
}

// Interactions add up what the generators of so many trials reported of each, the most
// frequent first. Results that are not of users are passed over.
func Interactions(of []model.Result, trials int) ([]Interaction, error) {
	ops, rates, due := make(map[string]*load.Op), make(map[string]float64), 0.0
	for _, x := range of {
		r, err := Read(x)
		if err != nil {
			continue
		}
		for i, name := range r.Names {
			if ops[name] == nil {
				ops[name] = &load.Op{}
			}
			if err := add(ops[name], r.Ops[i]); err != nil {
				return nil, err
			}
			due += float64(r.Ops[i].Due)
			rates[name] += float64(r.Ops[i].OK) / r.Scored.Seconds() / float64(trials)
		}
	}
	var out []Interaction
	for name, op := range ops {
		if op.Due == 0 {
			continue
		}
		x := Interaction{Interaction: name, Rate: rates[name], Share: float64(op.Due) / due, Errors: float64(op.Due-op.OK) / float64(op.Due), Due: op.Due}
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

// add adds counts and response times.
func add(to *load.Op, x load.Op) (err error) {
	to.Due, to.OK = to.Due+x.Due, to.OK+x.OK
	if x.Latency == nil {
		return nil
	}
	if to.Latency == nil { // merging changes it
		to.Latency = hdr.Import(x.Latency.Export())
		return nil
	}
	to.Latency, err = histogram.Merge(to.Latency, x.Latency)
	return err
}
