package prices

import (
	"math"

	"github.com/scalebench/scalebench/internal/stats"
)

// Cost is what configurations cost, and which is the cheapest that keeps an SLA.
type Cost struct {
	Currency string  `json:"currency,omitempty"`
	Rows     []Offer `json:"rows"`
	// At is the number of users for which the cheapest is wanted; 0: no SLA, or none
	// was measured of all configurations.
	At int `json:"at,omitempty"`
	// Cheapest keep the SLA there for the least money, or without prices with the fewest
	// hosts; several cost the same; empty: none that has a price is known to.
	Cheapest []string `json:"cheapest,omitempty"`
	// Unpriced do it, too, and what they cost is not known.
	Unpriced []string `json:"without_price,omitempty"`
	// Open would cost less, and whether they do it cannot be told, and Why.
	Open   []string `json:"cannot_be_told,omitempty"`
	Why    []string `json:"-"`
	Priced bool     `json:"-"` // there are prices
}

// Offer is what one configuration costs. Null is what is not known.
type Offer struct {
	Configuration string   `json:"configuration"`
	Hourly        *float64 `json:"hourly"`
	// Peak is what a request costs at the load with the largest throughput on average
	// over trials. SLA is what it costs at the largest load that kept the SLA;
	// null: none is known to.
	Peak  *Rated `json:"peak"`
	SLA   *Rated `json:"sla"`
	Keeps *bool  `json:"keeps_sla"` // at Cost.At
}

// Choose finds the cheapest among those that are known to keep the SLA; without a price
// one is no candidate where others have one. hosts and why are of each row how many hosts
// it has, and why it cannot be told whether it keeps the SLA.
func (c *Cost) Choose(hosts []int, why []string) {
	if c.At == 0 {
		return
	}
	all, least := make([]float64, len(c.Rows)), math.Inf(1) // prices, or what stands for them
	keeps := func(o Offer) bool { return o.Keeps != nil && *o.Keeps }
	for i, o := range c.Rows {
		all[i] = math.Inf(1)
		switch {
		case !c.Priced:
			all[i] = float64(hosts[i])
		case o.Hourly != nil:
			all[i] = *o.Hourly
		}
		if keeps(o) {
			least = min(least, all[i])
		}
	}
	const same = 1 + 1e-9 // sums in another order differ by as much
	for i, o := range c.Rows {
		switch name, price := o.Configuration, all[i]; {
		case keeps(o) && math.IsInf(price, 1):
			c.Unpriced = append(c.Unpriced, name)
		case keeps(o) && price <= least*same:
			c.Cheapest = append(c.Cheapest, name)
		case o.Keeps == nil && (price*same < least || math.IsInf(least, 1)):
			c.Open, c.Why = append(c.Open, name), append(c.Why, why[i])
		}
	}
}

// Rated is what a request costs at a throughput.
type Rated struct {
	Users      int     `json:"users"`
	Throughput float64 `json:"throughput"`
	// StillGrew: no end of the growth was seen, so that Throughput is the least that the
	// configuration can do, and the prices are the most that a request costs.
	StillGrew bool `json:"still_grew,omitempty"`
	// PerRequest and PerMillion are prices, and PerRate what one request a second costs
	// an hour, with the intervals that come from that of the throughput; null: there is
	// no price, or no interval.
	PerRequest   *float64        `json:"per_request"`
	PerMillion   *float64        `json:"per_million"`
	PerMillionCI *stats.Interval `json:"per_million_ci"`
	PerRate      *float64        `json:"per_rate"`
	PerRateCI    *stats.Interval `json:"per_rate_ci"`
}

// Price is what requests cost at an hourly price.
func (r *Rated) Price(hourly float64, ci *stats.Interval) {
	if r == nil || !(r.Throughput > 0) {
		return
	}
	rate := hourly / r.Throughput
	one, million := rate/3600, rate/3600*1e6
	r.PerRequest, r.PerMillion, r.PerRate = &one, &million, &rate
	if ci != nil && ci.Lo > 0 {
		r.PerRateCI = &stats.Interval{Lo: hourly / ci.Hi, Hi: hourly / ci.Lo}
		r.PerMillionCI = &stats.Interval{Lo: r.PerRateCI.Lo / 3600 * 1e6, Hi: r.PerRateCI.Hi / 3600 * 1e6}
	}
}

// Columns are those of a table for programs with what a configuration costs; per_rate is
// at most so much where at_most is true.
func Columns() []string {
	return []string{"hourly", "currency", "per_rate", "per_rate_lo", "per_rate_hi", "at_most", "sla_users", "sla_per_rate", "sla_per_rate_lo", "sla_per_rate_hi"}
}

// Values are those of the columns for a configuration; nil where something is not known.
// The receiver may be nil.
func (c *Cost) Values(configuration string) []any {
	out := make([]any, len(Columns()))
	if c == nil {
		return out
	}
	for _, o := range c.Rows {
		if o.Configuration != configuration {
			continue
		}
		if o.Hourly != nil {
			out[0], out[1] = *o.Hourly, c.Currency
		}
		if o.Peak != nil && o.Peak.PerRate != nil {
			copy(out[2:], append(o.Peak.perRate(), o.Peak.StillGrew))
		}
		if o.SLA != nil {
			copy(out[6:], append([]any{o.SLA.Users}, o.SLA.perRate()...))
		}
	}
	return out
}

// perRate is what one request a second costs an hour, with its interval.
func (r *Rated) perRate() []any {
	if r.PerRateCI == nil {
		return []any{r.PerRate, nil, nil}
	}
	return []any{r.PerRate, r.PerRateCI.Lo, r.PerRateCI.Hi}
}
