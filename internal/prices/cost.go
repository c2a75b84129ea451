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
	// Choice is among those that keep the SLA there, by money, or without prices by the
	// number of hosts.
	Choice
	Priced bool `json:"-"` // there are prices
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

// Choose finds the cheapest. hosts and why are of each row how many hosts it has, and
// why it cannot be told whether it keeps the SLA.
func (c *Cost) Choose(hosts []int, why []string) {
	if c.At == 0 {
		return
	}
	var all []Candidate
	for i, o := range c.Rows {
		price := math.Inf(1)
		switch {
		case !c.Priced:
			price = float64(hosts[i])
		case o.Hourly != nil:
			price = *o.Hourly
		}
		all = append(all, Candidate{o.Configuration, price, o.Keeps, why[i]})
	}
	c.Choice = Choose(all)
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
	of := func(x float64) float64 { return hourly / 3600 / x }
	one, each := of(r.Throughput), hourly/r.Throughput
	million := one * 1e6
	r.PerRequest, r.PerMillion, r.PerRate = &one, &million, &each
	if ci != nil && ci.Lo > 0 {
		r.PerMillionCI = &stats.Interval{Lo: 1e6 * of(ci.Hi), Hi: 1e6 * of(ci.Lo)}
		r.PerRateCI = &stats.Interval{Lo: hourly / ci.Hi, Hi: hourly / ci.Lo}
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
	ends := func(r *Rated) []any {
		if r.PerRate == nil || r.PerRateCI == nil {
			return []any{r.PerRate, nil, nil}
		}
		return []any{*r.PerRate, r.PerRateCI.Lo, r.PerRateCI.Hi}
	}
	for _, o := range c.Rows {
		if o.Configuration != configuration {
			continue
		}
		if o.Hourly != nil {
			out[0], out[1] = *o.Hourly, c.Currency
		}
		if o.Peak != nil && o.Peak.PerRate != nil {
			copy(out[2:], append(ends(o.Peak), o.Peak.StillGrew))
		}
		if o.SLA != nil {
			copy(out[6:], append([]any{o.SLA.Users}, ends(o.SLA)...))
		}
	}
	return out
}

// Candidate is what may be bought.
type Candidate struct {
	Name  string
	Price float64 // or what stands for it; infinite: not known
	Does  *bool   // what is wanted; nil: it cannot be told
	Why   string  // it cannot be told
}

// Choice is what does what is wanted at the least price.
type Choice struct {
	// Cheapest are several that cost the same; empty: none that has a price does what
	// is wanted.
	Cheapest []string `json:"cheapest,omitempty"`
	// Unpriced do it, too, and what they cost is not known.
	Unpriced []string `json:"without_price,omitempty"`
	// Open would cost less, and whether they do it cannot be told, and Why.
	Open []string `json:"cannot_be_told,omitempty"`
	Why  []string `json:"-"`
}

// Choose is among those that are known to do it; without a price one is no candidate
// where others have one.
func Choose(all []Candidate) (out Choice) {
	does := func(c Candidate) bool { return c.Does != nil && *c.Does }
	least := math.Inf(1)
	for _, c := range all {
		if does(c) {
			least = min(least, c.Price)
		}
	}
	const same = 1 + 1e-9 // sums in another order differ by as much
	for _, c := range all {
		switch {
		case does(c) && math.IsInf(c.Price, 1):
			out.Unpriced = append(out.Unpriced, c.Name)
		case does(c) && c.Price <= least*same:
			out.Cheapest = append(out.Cheapest, c.Name)
		case c.Does == nil && (c.Price*same < least || math.IsInf(least, 1)):
			out.Open, out.Why = append(out.Open, c.Name), append(out.Why, c.Why)
		}
	}
	return out
}
