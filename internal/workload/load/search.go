package load

import (
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/unit"
)

// Search implements plan.Searched.
func (p *Params) Search() (capacity.Config, error) {
	if p.SLA == "" {
		return capacity.Config{}, fmt.Errorf("%w: a search needs sla:, such as p90=150ms", model.ErrUsage)
	}
	sla, err := capacity.ParseSLA(p.SLA)
	if err != nil {
		return capacity.Config{}, err
	}
	if p.Users > 0 {
		return capacity.Config{}, fmt.Errorf("%w: %w", model.ErrUsage,
			bad("users", "a search offers loads of its own, whatever the server does (open loop)", "leave users out"))
	}
	c := capacity.Defaults()
	c.SLA, c.WarmUp, c.Scored = sla, p.WarmUp.Std(), p.scored()
	p.bounds(&c)
	for _, x := range []struct {
		from float64
		to   *float64
	}{{p.Resolution, &c.Resolution}, {p.Fraction, &c.Fraction}, {p.Step, &c.Rate}} {
		if x.from > 0 {
			*x.to = x.from
		}
	}
	if p.Windows > 0 {
		c.MaxWindows = p.Windows
	}
	if p.Algorithm != "" {
		c.Algorithm = search.Algorithm(p.Algorithm)
	}
	return c, c.Check()
}

// bounds sets where a search begins and how far it goes. What was not given
// makes room for what was, so that one bound alone is never out of order.
func (p *Params) bounds(c *capacity.Config) {
	for _, x := range []struct {
		from *unit.Rate
		to   *float64
	}{{p.Start, &c.Start}, {p.Min, &c.Min}, {p.Max, &c.Max}} {
		if x.from != nil {
			*x.to = x.from.Value
		}
	}
	if p.Max == nil {
		c.Max = max(c.Max, c.Min)
		if p.Start != nil {
			c.Max = max(c.Max, c.Start)
		}
	}
	if p.Start == nil {
		c.Start = min(max(c.Start, c.Min), c.Max)
	}
	if p.Min == nil {
		c.Min = min(c.Min, c.Start, c.Max)
	}
}

// scored is how long is measured.
func (p *Params) scored() time.Duration {
	if p.Duration > 0 {
		return p.Duration.Std()
	}
	sla, err := capacity.ParseSLA(p.SLA)
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
	sla, err := capacity.ParseSLA(p.SLA)
	if err != nil {
		return min(without, p.Timeout.Std())
	}
	return min(sla.Drain(), p.Timeout.Std())
}
