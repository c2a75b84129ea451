package ntier

import (
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// interactions are those of all trials with so many users.
func (m measured) interactions(users int) ([]session.Interaction, error) {
	var of []model.Result
	trials := 0
	for _, t := range m.trials {
		if t.Users != users || t.run == nil {
			continue
		}
		trials++
		if err := needInteractions(t.run, t.of); err != nil {
			return nil, err
		}
		for _, x := range t.run.Measured(t.of) {
			of = append(of, x)
		}
	}
	return session.Interactions(of, trials)
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
