package prices

import (
	"math"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// TestPrice is arithmetic: three hosts at 0.30 an hour, 100 requests a second.
func TestPrice(t *testing.T) {
	r := &Rated{Throughput: 100}
	r.Price(.9, &stats.Interval{Lo: 90, Hi: 112.5})
	// .9 / 3600 s / 100 a second = 2.5e-6 a request.
	if math.Abs(*r.PerRequest-2.5e-6) > 1e-18 || math.Abs(*r.PerMillion-2.5) > 1e-12 || math.Abs(r.PerMillionCI.Lo-20./9) > 1e-12 || math.Abs(r.PerMillionCI.Hi-25./9) > 1e-12 {
		t.Errorf("%v a request, %v a million %v, want 2.5e-6, 2.5 and [2.222, 2.778]", *r.PerRequest, *r.PerMillion, *r.PerMillionCI)
	}
	// And .9 an hour for 100 a second is .009 an hour for one.
	if math.Abs(*r.PerRate-.009) > 1e-15 || math.Abs(r.PerRateCI.Lo-.008) > 1e-15 || math.Abs(r.PerRateCI.Hi-.01) > 1e-15 || math.Abs(*r.PerRate-3600**r.PerRequest) > 1e-15 {
		t.Errorf("%v an hour for one a second %v, want 0.009 and [0.008, 0.01]", *r.PerRate, *r.PerRateCI)
	}
	r = &Rated{Throughput: 100}
	if r.Price(.9, &stats.Interval{Lo: -1, Hi: 201}); r.PerMillionCI != nil || r.PerRateCI != nil {
		t.Errorf("%v, %v, want no interval of a throughput that may be 0", r.PerMillionCI, r.PerRateCI)
	}
}

// TestPriceShown: what one request a second costs is in the table for people, and in the
// columns for programs, at most so much where the throughput still grew.
func TestPriceShown(t *testing.T) {
	hourly := .9
	peak, kept := &Rated{Users: 300, Throughput: 100, StillGrew: true}, &Rated{Users: 200, Throughput: 90}
	peak.Price(hourly, &stats.Interval{Lo: 90, Hi: 112.5})
	kept.Price(hourly, nil)
	c := &Cost{Currency: "USD", Priced: true, Rows: []Offer{{Configuration: "a", Hourly: &hourly, Peak: peak, SLA: kept}, {Configuration: "b"}}}
	table := c.Section("p95=1s").Blocks[0].Table
	for key, want := range map[string]string{"per_rate": "at most 0.009 [0.008 .. 0.01]", "sla_per_rate": "0.01"} {
		i := slices.IndexFunc(table.Columns, func(x doc.Column) bool { return x.Key == key })
		if i < 0 || table.Rows[0].Cells[i].Lines[0] != want || table.Rows[1].Cells[i].Lines[0] != num.Missing {
			t.Errorf("column %s has %v, want %s", key, table.Rows, want)
		}
	}
	want := []any{.9, "USD", .009, .008, .01, true, 200, .01, nil, nil}
	for i, v := range c.Values("a") {
		if x, ok := v.(*float64); ok {
			v = *x
		}
		x, number := v.(float64)
		if y, ok := want[i].(float64); v != want[i] && !(number && ok && math.Abs(x-y) < 1e-12) {
			t.Errorf("%s is %v, want %v", Columns()[i], v, want[i])
		}
	}
	if got := append(c.Values("b"), (*Cost)(nil).Values("a")...); slices.ContainsFunc(got, func(v any) bool { return v != nil }) {
		t.Errorf("%v, want nothing of what is not known", got)
	}
}

// TestMoney: prices are told without powers of ten.
func TestMoney(t *testing.T) {
	for x, want := range map[float64]string{.0125: "0.0125", 2.5: "2.5", 999.4: "999", 999.6: "1000", 12345.6: "12346"} {
		if got := Money(x); got != want {
			t.Errorf("money(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestCheapest: what is not known to keep the SLA is never the cheapest, and what
// keeps it without a price is told apart from what does not keep it.
func TestCheapest(t *testing.T) {
	yes, no := true, false
	row := func(name string, hourly float64, keeps *bool) Offer {
		out := Offer{Configuration: name, Keeps: keeps}
		if hourly > 0 {
			out.Hourly = &hourly
		}
		return out
	}
	for name, c := range map[string]struct {
		rows                     []Offer
		hosts                    []int // in place of prices
		cheapest, unpriced, open []string
		words                    string
	}{
		"by money": {[]Offer{row("a", 1, &no), row("b", 2, nil), row("c", 3, &yes), row("d", 4, &yes), row("e", 0, nil)}, nil, []string{"c"}, nil, []string{"b"},
			"With 100 users c keeps p95=1s for the least money, 3 USD an hour. Whether b would, for less, cannot be told: it was not measured with 100 users."},
		"one has no price": {[]Offer{row("a", 1, &no), row("b", 2, &yes), row("c", 0, &yes)}, nil, []string{"b"}, []string{"c"}, nil,
			"With 100 users b keeps p95=1s for the least money, 2 USD an hour; c keeps it, too, and has no price."},
		"none has a price": {[]Offer{row("a", 1, &no), row("b", 0, &yes)}, nil, nil, []string{"b"}, nil,
			"With 100 users b keeps p95=1s, and no configuration that does has a price: which is the cheapest is not known."},
		"none keeps": {[]Offer{row("a", 1, &no), row("b", 0, nil)}, nil, nil, nil, []string{"b"},
			"With 100 users no configuration that was measured is known to keep p95=1s. Whether b would cannot be told: it was not measured with 100 users."},
		"equal prices": {[]Offer{row("a", .1+.2+.3, &yes), row("b", .3+.2+.1, &yes), row("c", .6, nil)}, nil, []string{"a", "b"}, nil, nil,
			"With 100 users a, b keep p95=1s for the least money, 0.6 USD an hour each."},
		"equal hosts": {[]Offer{row("a", 0, &yes), row("b", 0, &yes), row("c", 0, &yes)}, []int{3, 4, 3}, []string{"a", "c"}, nil, nil,
			"With 100 users a, c keep p95=1s with the fewest hosts, as many each."},
	} {
		got := Cost{At: 100, Rows: c.rows, Currency: "USD", Priced: c.hosts == nil}
		why := slices.Repeat([]string{"it was not measured with 100 users"}, len(c.rows))
		got.Choose(c.hosts, why)
		if !slices.Equal(got.Cheapest, c.cheapest) || !slices.Equal(got.Unpriced, c.unpriced) || !slices.Equal(got.Open, c.open) {
			t.Errorf("%s: %v, without a price %v, open %v; want %v, %v, %v", name, got.Cheapest, got.Unpriced, got.Open, c.cheapest, c.unpriced, c.open)
		}
		if text := got.Words("p95=1s"); text != c.words {
			t.Errorf("%s: %s", name, text)
		}
	}
}
