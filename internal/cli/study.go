package cli

import (
	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/model"
)

// analysed is a run with everything that is computed from it.
type analysed struct {
	data     model.RunData
	findings []model.Finding
	scalings []model.Scaling
	ranking  model.Ranking
	// capacities are what searches have found; a run may have nothing else.
	capacities []capacity.Found
}

// analyse analyses a run. It fails for a run that compares nothing.
func analyse(d model.RunData) (analysed, error) {
	opt := analysis.Options{Seed: uint64(d.Run.Seed)}
	s := analysed{data: d}
	var err error
	if d.Has(model.Search) {
		if s.capacities, err = capacities(d); err != nil || !d.Has(model.Serial, model.Parallel) {
			return s, err
		}
	}
	if s.findings, err = analysis.CDI(d, opt); err != nil {
		return s, err
	}
	if s.scalings, err = analysis.Scaling(d, opt); err != nil {
		return s, err
	}
	s.ranking = analysis.Rank(s.findings, s.scalings)
	return s, nil
}
