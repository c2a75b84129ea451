package ntier

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Cost is what configurations cost, and which is the cheapest that keeps the SLA.
type Cost struct {
	Currency string  `json:"currency,omitempty"`
	Rows     []Price `json:"rows"`
	// At is the number of users for which the cheapest is wanted; 0: no SLA, or none
	// was measured of all configurations.
	At int `json:"at,omitempty"`
	// Cheapest is the configuration that keeps the SLA there for the least money, or
	// without prices with the fewest hosts; empty: none does.
	Cheapest string `json:"cheapest,omitempty"`
	// Open would cost less, and whether they keep the SLA cannot be told.
	Open []string `json:"cannot_be_told,omitempty"`

	doubts []string
}

// Price is what one configuration costs. Null is what is not known.
type Price struct {
	Configuration string   `json:"configuration"`
	Hourly        *float64 `json:"hourly"`
	// Peak is what a request costs at the largest throughput: the mean over trials of
	// the largest of each. SLA is what it costs at the largest load that kept the SLA;
	// null: none is known to.
	Peak  *Rated `json:"peak"`
	SLA   *Rated `json:"sla"`
	Keeps *bool  `json:"keeps_sla"` // at Cost.At
}

// Rated is what a request costs at a throughput.
type Rated struct {
	Users      int     `json:"users"`
	Throughput float64 `json:"throughput"`
	// PerRequest and PerMillion are prices, with the interval that comes from that of
	// the throughput; null: there is no price, or no interval.
	PerRequest   *float64        `json:"per_request"`
	PerMillion   *float64        `json:"per_million"`
	PerMillionCI *stats.Interval `json:"per_million_ci"`
}

// HostPrice is what a host costs.
type HostPrice struct {
	PerHour  float64 `json:"price_per_hour" jsonschema:"required,minimum=0" jsonschema_description:"What a host of this type costs an hour."`
	Currency string  `json:"currency" jsonschema:"required,minLength=1" jsonschema_description:"In which currency: the same for all."`
}

// prices by type, and their currency.
type prices struct {
	hourly   map[string]float64
	currency string
}

// readPrices reads a table of prices.
func readPrices(text string) (prices, error) {
	out := prices{hourly: make(map[string]float64)}
	t, err := tabular.Open("prices", strings.NewReader(text))
	if err != nil {
		return out, err
	}
	const allowed = "the first line must name the columns: type,price_per_hour,currency"
	if _, err := t.Use([]tabular.Form{{Required: []string{"type", "price_per_hour", "currency"}}}, allowed); err != nil {
		return out, err
	}
	for t.Next() {
		at := t.Column("price_per_hour")
		price, ok := tabular.Number(t.Text(at))
		if !ok || price < 0 {
			t.RefuseCell(at, "price_per_hour", "a number of 0 or more")
		}
		currency := strings.Clone(t.Text(t.Column("currency")))
		if out.currency != "" && currency != out.currency {
			t.RefuseCell(t.Column("currency"), "currency", "one currency: "+out.currency)
		}
		name := strings.Clone(t.Text(t.Column("type")))
		if _, twice := out.hourly[name]; twice {
			t.RefuseCell(t.Column("type"), "type", "each type once")
		}
		out.hourly[name], out.currency = price, currency
	}
	return out, t.Err()
}

// known are the prices that the user gave: those of the table, or else of the file.
func (p *Params) known() (prices, error) {
	if p.PriceTable != "" {
		return readPrices(p.PriceTable)
	}
	out := prices{hourly: make(map[string]float64)}
	for _, name := range slices.Sorted(maps.Keys(p.Prices)) {
		x := p.Prices[name]
		if out.currency != "" && x.Currency != out.currency {
			return out, &model.InputError{Path: "prices." + name + ".currency", Problem: fmt.Sprintf("%s, beside prices in %s", x.Currency, out.currency), Allowed: "give all prices in one currency"}
		}
		out.hourly[name], out.currency = x.PerHour, x.Currency
	}
	return out, nil
}

// cost compares configurations by what they cost.
func (p *Params) cost(findings []Finding, all []measured) (*Cost, error) {
	known, err := p.known()
	if err != nil {
		return nil, err
	}
	out := &Cost{Rows: []Price{}, Currency: known.currency}
	if p.SLA != "" {
		out.At = p.at(findings)
	}
	for i, f := range findings {
		row := Price{Configuration: f.Configuration, Keeps: f.keeps(out.At)}
		if peak, err := stats.Mean(f.peaks); err == nil {
			row.Peak = &Rated{Users: f.peak().Users, Throughput: peak}
		}
		users, doubt := f.slaLoad()
		if doubt != "" {
			out.doubts = append(out.doubts, f.Configuration+": "+doubt)
		}
		at := slices.IndexFunc(f.Loads, func(l bottleneck.Load) bool { return l.Users == users })
		if at >= 0 {
			row.SLA = &Rated{Users: users, Throughput: f.Loads[at].Throughput}
		}
		if len(known.hourly) > 0 {
			hourly, missing := known.of(all[i])
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

// of is what all nodes of a configuration cost an hour: by their type, or that of
// the configuration's name. Tiers that share a node pay for it once.
func (p prices) of(m measured) (hourly float64, missing string) {
	types := make([]string, m.configuration.Hosts())
	for _, t := range m.trials {
		if len(t.types) > 0 {
			types = t.types
		}
	}
	for _, name := range types {
		if name == "" {
			name = m.configuration.Type
		}
		price, ok := p.hourly[name]
		if !ok {
			return 0, noPrice(name)
		}
		hourly += price
	}
	return hourly, ""
}

// noPrice says what to do.
func noPrice(name string) string {
	if name == "" {
		return "the nodes have no type, so that their price is not known: give them the label type, or name it in the configuration, as in 1-2-1-ec2-large"
	}
	return fmt.Sprintf("there is no price of the type %q: add it to the prices", name)
}

// cheapest is among those that are known to keep the SLA; without a price a
// configuration is no candidate where others have one. Open are those that would cost
// less, and of which it cannot be told.
func (c *Cost) cheapest(findings []Finding) {
	price := func(i int) float64 {
		switch {
		case c.Currency == "":
			return float64(findings[i].Hosts)
		case c.Rows[i].Hourly == nil:
			return math.Inf(1)
		}
		return *c.Rows[i].Hourly
	}
	least := math.Inf(1)
	for i, row := range c.Rows {
		if row.Keeps != nil && *row.Keeps && price(i) < least {
			least, c.Cheapest = price(i), row.Configuration
		}
	}
	for i, row := range c.Rows {
		if c.At > 0 && row.Keeps == nil && price(i) < least {
			c.Open = append(c.Open, row.Configuration)
		}
	}
}
