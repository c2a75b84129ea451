package ntier

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
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

	doubts []string
}

// Price is what one configuration costs. Null is what is not known.
type Price struct {
	Configuration string   `json:"configuration"`
	Hourly        *float64 `json:"hourly"`
	// Peak is the mean over trials of the largest throughput; PerMillion what a
	// million requests cost there, with the interval that comes from it.
	Peak         *float64        `json:"peak"`
	PerMillion   *float64        `json:"per_million"`
	PerMillionCI *stats.Interval `json:"per_million_ci"`
	Keeps        *bool           `json:"keeps_sla"` // at Cost.At
}

// Kept is whether one load kept the SLA.
type Kept struct {
	Users int    `json:"users"`
	Kept  *bool  `json:"kept"` // null: not known
	Why   string `json:"why,omitempty"`
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

// keptBy says of each load whether all its operations together kept the SLA.
func keptBy(sla load.SLA, loads []bottleneck.Load, trials []trial) []Kept {
	var out []Kept
	for _, l := range loads {
		var latencies *hdrhistogram.Histogram
		known := l.Refused == ""
		for _, t := range trials {
			if t.Users != l.Users {
				continue
			}
			if known = known && t.latencies != nil; !known {
				continue
			}
			if latencies == nil { // merging changes it
				latencies = hdrhistogram.Import(t.latencies.Export())
				continue
			}
			sum, err := histogram.Merge(latencies, t.latencies)
			latencies, known = sum, err == nil
		}
		k := Kept{Users: l.Users}
		if !known || latencies == nil || l.Errors == nil {
			k.Why = "response times or errors are not known"
		} else {
			k.Why = missed(sla, latencies, *l.Errors)
			kept := k.Why == ""
			k.Kept = &kept
		}
		out = append(out, k)
	}
	return out
}

// missed says which term was missed; empty: none. An operation that failed is
// slower than any limit.
func missed(sla load.SLA, latencies *hdrhistogram.Histogram, errs float64) string {
	for _, t := range sla.Terms {
		if t.OnErrors() {
			if errs > t.Errors {
				return fmt.Sprintf("errors %s, not %s", num.Fraction(errs), num.Fraction(t.Errors))
			}
			continue
		}
		if t.Quantile > 1-errs && errs > 0 {
			return fmt.Sprintf("%s was not reached: %s failed", load.Percentile(t.Quantile), num.Fraction(errs))
		}
		got := float64(latencies.ValueAtQuantile(100*t.Quantile/(1-errs))) / 1e9
		if got > t.Latency.Seconds() {
			return fmt.Sprintf("%s %s, not %s", load.Percentile(t.Quantile), num.Seconds(got), num.Seconds(t.Latency.Seconds()))
		}
	}
	return ""
}

// cost compares configurations by what they cost.
func (p *Params) cost(findings []Finding, all []measured) (*Cost, error) {
	out := &Cost{Rows: []Price{}}
	var known prices
	if p.Prices != "" {
		var err error
		if known, err = readPrices(p.Prices); err != nil {
			return nil, err
		}
		out.Currency = known.currency
	}
	if p.SLA != "" {
		out.At = p.at(findings)
	}
	for i, f := range findings {
		row := Price{Configuration: f.Configuration}
		if peak, err := stats.Mean(f.peaks); err == nil {
			row.Peak = &peak
		}
		if p.Prices != "" {
			hourly, missing := known.of(all[i])
			if missing != "" {
				out.doubts = append(out.doubts, f.Configuration+": "+missing)
			} else {
				row.Hourly = &hourly
				row.perMillion(hourly, f.peaks)
			}
		}
		for _, k := range f.Kept {
			if k.Users == out.At {
				row.Keeps = k.Kept
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.cheapest(findings)
	return out, nil
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
			return 0, fmt.Sprintf("there is no price of the type %q", name)
		}
		hourly += price
	}
	return hourly, ""
}

// perMillion is what a million requests cost at the peak.
func (r *Price) perMillion(hourly float64, peaks []float64) {
	of := func(x float64) float64 { return hourly / 3600 / x * 1e6 }
	if r.Peak == nil || !(*r.Peak > 0) {
		return
	}
	v := of(*r.Peak)
	r.PerMillion = &v
	if _, ci, err := stats.MeanInterval(peaks, stats.DefaultLevel); err == nil && ci.Lo > 0 {
		r.PerMillionCI = &stats.Interval{Lo: of(ci.Hi), Hi: of(ci.Lo)}
	}
}

// cheapest is among those that keep the SLA; without a price a configuration is no
// candidate where others have one.
func (c *Cost) cheapest(findings []Finding) {
	least := math.Inf(1)
	for i, row := range c.Rows {
		if row.Keeps == nil || !*row.Keeps {
			continue
		}
		price := float64(findings[i].Hosts)
		if c.Currency != "" {
			if row.Hourly == nil {
				continue
			}
			price = *row.Hourly
		}
		if price < least {
			least, c.Cheapest = price, row.Configuration
		}
	}
}
