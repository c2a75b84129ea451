package load

import (
	"cmp"
	"fmt"
	"math"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// Search is a search for the load that the target takes, as the parameters ask
// for it.
type Search struct {
	SLA engine.SLA
	// Options are those of the algorithm; loads are in operations per second.
	// A search that has not ended after MaxWindows windows that count is not
	// confirmed.
	search.Options
	// Scored is how long a window is scored, after WarmUp; 0: not known.
	WarmUp, Scored time.Duration
	// Fraction is for the paper's algorithm: a second of its ramp passes if the
	// median latency exceeds the round-trip time by no more than Fraction of it.
	Fraction float64
}

// DefaultSearch lacks an SLA only.
func DefaultSearch() Search {
	return Search{Fraction: 1, Options: search.Options{
		Start: 100, Min: 1, Max: 1e6, Resolution: .05, MaxWindows: 40, Algorithm: search.Default, Rate: .1,
	}}
}

// Check refuses a search that cannot be made, with model.ErrUsage.
func (s Search) Check() error {
	switch {
	case len(s.SLA.Terms) == 0:
		return fmt.Errorf("%w: a search needs an SLA, such as p90=150ms", model.ErrUsage)
	case !(s.Min > 0) || !(s.Start >= s.Min) || !(s.Max >= s.Start) || math.IsInf(s.Max, 0):
		return fmt.Errorf("%w: loads from %v to %v beginning with %v; they must be positive, with min ≤ start ≤ max",
			model.ErrUsage, s.Min, s.Max, s.Start)
	case s.Algorithm == search.Paper && !(s.Fraction > 0):
		return fmt.Errorf("%w: fraction %v; it must be positive", model.ErrUsage, s.Fraction)
	}
	if _, err := search.New(s.Options); err != nil {
		return fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	return nil
}

// SearchOf is the search that these parameters ask for. It fails with
// model.ErrUsage where they ask for none, or for one that cannot be made.
func SearchOf(p *Params) (Search, error) {
	if p.SLA == "" {
		return Search{}, fmt.Errorf("%w: a search needs sla:, such as p90=150ms", model.ErrUsage)
	}
	sla, err := engine.ParseSLA(p.SLA)
	if err != nil {
		return Search{}, err
	}
	if p.Users > 0 {
		return Search{}, fmt.Errorf("%w: %w", model.ErrUsage,
			bad("users", "a search chooses its own load (open loop)", "leave users out"))
	}
	s := DefaultSearch()
	s.SLA, s.WarmUp, s.Scored = sla, p.WarmUp.Std(), p.scored()
	p.bounds(&s)
	s.Resolution = cmp.Or(max(p.Resolution, 0), s.Resolution)
	s.Fraction, s.Rate = cmp.Or(max(p.Fraction, 0), s.Fraction), cmp.Or(max(p.Step, 0), s.Rate)
	s.MaxWindows = cmp.Or(max(p.Windows, 0), s.MaxWindows)
	s.Algorithm = cmp.Or(search.Algorithm(p.Algorithm), s.Algorithm)
	return s, s.Check()
}

// bounds sets where a search begins and how far it goes. What was not given
// makes room for what was, so that one bound alone is never out of order.
func (p *Params) bounds(s *Search) {
	if p.Start != nil {
		s.Start = p.Start.Value
	}
	if p.Min != nil {
		s.Min = p.Min.Value
	}
	if p.Max != nil {
		s.Max = p.Max.Value
	} else {
		s.Max = max(s.Max, s.Min)
		if p.Start != nil {
			s.Max = max(s.Max, s.Start)
		}
	}
	if p.Start == nil {
		s.Start = min(max(s.Start, s.Min), s.Max)
	}
	if p.Min == nil {
		s.Min = min(s.Min, s.Start, s.Max)
	}
}

// scored is how long is measured.
func (p *Params) scored() time.Duration {
	if p.Duration > 0 {
		return p.Duration.Std()
	}
	sla, err := engine.ParseSLA(p.SLA)
	if err != nil {
		return 10 * time.Second // there is none, or it is refused elsewhere
	}
	return sla.Scored(p.WarmUp.Std())
}

// drain is how long answers are waited for after the last request was due:
// longer than any term of the SLA allows, so that what is not there by then has
// missed it.
func (p *Params) drain() time.Duration {
	const without = 2 * time.Second
	sla, err := engine.ParseSLA(p.SLA)
	if err != nil {
		return min(without, p.Timeout.Std())
	}
	return min(sla.Drain(), p.Timeout.Std())
}
