package session

import (
	"cmp"
	"slices"

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

// Interactions add up what the generators of so many trials published of each, the most
// frequent first.
func Interactions(of []model.Result, trials int) ([]Interaction, error) {
	due, ok, rates, sum := make(map[string]float64), make(map[string]float64), make(map[string]float64), 0.0
	for _, x := range of {
		scored := samplesOf(x)[MetricScored]
		for _, s := range x.Samples {
			switch name := s.Labels[LabelInteraction]; {
			case name == "", !(scored > 0): // of a task that is not of users
			case s.Metric == MetricDue:
				due[name], sum = due[name]+s.Value, sum+s.Value
			case s.Metric == MetricOK:
				ok[name], rates[name] = ok[name]+s.Value, rates[name]+s.Value/scored/float64(trials)
			}
		}
	}
	var out []Interaction
	for name, n := range due {
		if n == 0 {
			continue
		}
		x := Interaction{Interaction: name, Rate: rates[name], Share: n / sum, Errors: (n - ok[name]) / n, Due: int64(n)}
		h, err := histogramOf(HistogramOf(name), of...)
		if err != nil {
			return nil, err
		}
		if h != nil && h.TotalCount() > 0 {
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
