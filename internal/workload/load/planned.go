package load

import "github.com/scalebench/scalebench/internal/capacity"

// Search implements plan.Searched, for as long as package plan is there.
func (p *Params) Search() (capacity.Config, error) {
	s, err := SearchOf(p)
	if err != nil {
		return capacity.Config{}, err
	}
	sla, err := capacity.ParseSLA(p.SLA)
	return capacity.Config{
		SLA: sla, Start: s.Start, Min: s.Min, Max: s.Max, Resolution: s.Resolution, MaxWindows: s.MaxWindows,
		Algorithm: s.Algorithm, WarmUp: s.WarmUp, Scored: s.Scored, Fraction: s.Fraction, Rate: s.Rate,
	}, err
}
