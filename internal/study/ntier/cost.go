package ntier

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/stats"
)

// Cost is what configurations cost, and which is the cheapest that keeps the SLA.
type Cost struct {
	Currency string  `json:"currency,omitempty"`
	Rows     []Price `json:"rows"`
	// At is the number of users for which the cheapest is wanted; 0: no SLA, or none
	// was measured of all configurations.
	At int `json:"at,omitempty"`
	// Cheapest are the configurations that keep the SLA there for the least money, or
	// without prices with the fewest hosts: several that cost the same; empty: none
	// that has a price does.
	Cheapest []string `json:"cheapest,omitempty"`
	// Unpriced keep it, too, and what they cost is not known.
	Unpriced []string `json:"without_price,omitempty"`
	// Open would cost less, and whether they keep the SLA cannot be told.
	Open []string `json:"cannot_be_told,omitempty"`

	priced  bool     // there are prices
	openWhy []string // of each of Open
	doubts  []string
}

// Price is what one configuration costs. Null is what is not known.
type Price struct {
	Configuration string   `json:"configuration"`
	Hourly        *float64 `json:"hourly"`
	// Peak is what a request costs at the load with the largest throughput on average
	// over trials. SLA is what it costs at the largest load that kept the SLA;
	// null: none is known to.
	Peak  *Rated `json:"peak"`
	SLA   *Rated `json:"sla"`
	Keeps *bool  `json:"keeps_sla"` // at Cost.At
}

// Rated is what a request costs at a throughput.
type Rated struct {
	Users      int     `json:"users"`
	Throughput float64 `json:"throughput"`
	// StillGrew: no end of the growth was seen, so that Throughput is the least that the
	// configuration can do, and the prices are the most that a request costs.
	StillGrew bool `json:"still_grew,omitempty"`
	// PerRequest and PerMillion are prices, with the interval that comes from that of
	// the throughput; null: there is no price, or no interval.
	PerRequest   *float64        `json:"per_request"`
	PerMillion   *float64        `json:"per_million"`
	PerMillionCI *stats.Interval `json:"per_million_ci"`
}

// known are the prices that the user gave: those of the table, or else of the file.
func (p *Params) known() (prices.List, error) {
	if p.PriceTable != "" {
		return prices.Read(p.PriceTable)
	}
	return prices.Of(p.Prices)
}

// cost compares configurations by what they cost.
func (p *Params) cost(findings []Finding, all []measured) (*Cost, error) {
	known, err := p.known()
	if err != nil {
		return nil, err
	}
	out := &Cost{Rows: []Price{}, Currency: known.Currency, priced: len(known.Hourly) > 0}
	if p.SLA != "" {
		out.At = p.at(findings)
	}
	for i, f := range findings {
		row := Price{Configuration: f.Configuration, Keeps: f.keeps(out.At)}
		if peak, err := stats.Mean(f.peaks); err == nil {
			row.Peak = &Rated{Users: f.peak().Users, Throughput: peak, StillGrew: f.stillGrew()}
		}
		users, doubt := f.slaLoad()
		if doubt != "" && f.withdrawn() == "" {
			out.doubts = append(out.doubts, f.Configuration+": "+doubt)
		}
		at := slices.IndexFunc(f.Loads, func(l bottleneck.Load) bool { return l.Users == users })
		if at >= 0 {
			row.SLA = &Rated{Users: users, Throughput: f.Loads[at].Throughput}
		}
		if out.priced {
			hourly, missing := known.Sum(all[i].nodeTypes())
			if missing != "" {
				out.doubts = append(out.doubts, f.Configuration+": "+missing)
			} else {
				row.Hourly = &hourly
				row.Peak.price(hourly, meanInterval(f.peaks))
				if at >= 0 {
					row.SLA.price(hourly, f.Loads[at].CI)
				}
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.cheapest(findings)
	return out, nil
}

// meanInterval is Student's; nil: there is none.
func meanInterval(xs []float64) *stats.Interval {
	_, ci, err := stats.MeanInterval(xs, stats.DefaultLevel)
	if err != nil {
		return nil
	}
	return &ci
}

// price is what requests cost at an hourly price.
func (r *Rated) price(hourly float64, ci *stats.Interval) {
	if r == nil || !(r.Throughput > 0) {
		return
	}
	of := func(x float64) float64 { return hourly / 3600 / x }
	one := of(r.Throughput)
	million := one * 1e6
	r.PerRequest, r.PerMillion = &one, &million
	if ci != nil && ci.Lo > 0 {
		r.PerMillionCI = &stats.Interval{Lo: 1e6 * of(ci.Hi), Hi: 1e6 * of(ci.Lo)}
	}
}

// at is the load for which the cheapest is wanted: what was asked for, or the
// largest of all configurations; 0: they have none in common.
func (p *Params) at(findings []Finding) int {
	if p.At > 0 {
		return p.At
	}
	findings = slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return len(f.Loads) == 0 }) // all trials failed
	for i := len(findings[0].Loads) - 1; i >= 0; i-- {
		users := findings[0].Loads[i].Users
		everywhere := !slices.ContainsFunc(findings, func(f Finding) bool {
			return !slices.ContainsFunc(f.Loads, func(l bottleneck.Load) bool { return l.Users == users })
		})
		if everywhere {
			return users
		}
	}
	return 0
}

// nodeTypes are those of all nodes of a configuration: of the nodes themselves, or that
// of the configuration's name. A node that has several tiers is there once.
func (m measured) nodeTypes() []string {
	types := make([]string, m.configuration.Hosts())
	for _, t := range m.trials {
		if len(t.types) > 0 {
			types = slices.Clone(t.types)
		}
	}
	for i, name := range types {
		if name == "" {
			types[i] = m.configuration.Type
		}
	}
	return types
}

// cheapest is among those that are known to keep the SLA; without a price a
// configuration is no candidate where others have one. Open are those that would cost
// less, and of which it cannot be told.
func (c *Cost) cheapest(findings []Finding) {
	price := func(i int) float64 {
		switch {
		case !c.priced:
			return float64(findings[i].Hosts)
		case c.Rows[i].Hourly == nil:
			return math.Inf(1)
		}
		return *c.Rows[i].Hourly
	}
	least := math.Inf(1)
	for i, row := range c.Rows {
		if row.Keeps != nil && *row.Keeps {
			least = min(least, price(i))
		}
	}
	const same = 1 + 1e-9 // sums in another order differ by as much
	for i, row := range c.Rows {
		keeps := row.Keeps != nil && *row.Keeps
		switch p := price(i); {
		case keeps && math.IsInf(p, 1):
			c.Unpriced = append(c.Unpriced, row.Configuration)
		case keeps && p <= least*same:
			c.Cheapest = append(c.Cheapest, row.Configuration)
		case c.At > 0 && row.Keeps == nil && (p*same < least || math.IsInf(least, 1)):
			c.Open, c.openWhy = append(c.Open, row.Configuration), append(c.openWhy, findings[i].openAt(c.At))
		}
	}
}
