package prices

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Words say which configuration is the cheapest that keeps an SLA.
func (c *Cost) Words(sla string) string {
	with := fmt.Sprintf("With %s ", num.Count(c.At, "user"))
	verb := func(of []string, one, several string) string {
		return num.List(of) + map[bool]string{true: one, false: several}[len(of) == 1]
	}
	switch {
	case len(c.Cheapest)+len(c.Unpriced) == 0:
		return with + fmt.Sprintf("no configuration that was measured is known to keep %s.", sla) + c.openWords()
	case len(c.Cheapest) == 0:
		return with + verb(c.Unpriced, " keeps ", " keep ") + sla + ", and no configuration that does has a price: which is the cheapest is not known." + c.openWords()
	}
	text := with + verb(c.Cheapest, " keeps ", " keep ") + sla + map[bool]string{true: " for the least money", false: " with the fewest hosts"}[c.Priced]
	for _, o := range c.Rows {
		if o.Configuration == c.Cheapest[0] && o.Hourly != nil {
			text += fmt.Sprintf(", %.4g %s an hour", *o.Hourly, c.Currency)
		}
	}
	if len(c.Cheapest) > 1 {
		text += map[bool]string{true: " each", false: ", as many each"}[c.Priced]
	}
	if len(c.Unpriced) > 0 {
		text += "; " + verb(c.Unpriced, " keeps it, too, and has no price", " keep it, too, and have no price")
	}
	return text + "." + c.openWords()
}

// openWords name what may be cheaper, and why that cannot be told.
func (c *Cost) openWords() string {
	less := ""
	if len(c.Cheapest) > 0 {
		less = map[bool]string{true: ", for less,", false: ", with fewer hosts,"}[c.Priced]
	}
	text := ""
	for i, name := range c.Open {
		text += fmt.Sprintf(" Whether %s would%s cannot be told: %s.", name, less, c.Why[i])
	}
	return text
}

// Section is a row for each configuration.
func (c *Cost) Section(sla string) doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "configuration", Head: "configuration"}, {Key: "hourly", Head: c.Currency + "\nan hour", Right: true},
		{Key: "peak", Head: "at the\npeak", Right: true}, {Key: "per_million", Head: "a million there\n[95 %]", Right: true, Interval: true},
		{Key: "per_rate", Head: "1 op/s there,\nan hour [95 %]", Right: true, Interval: true, Tip: "price of an hour over the throughput"},
		{Key: "sla_users", Head: "keeps the SLA\nup to", Right: true}, {Key: "sla_per_million", Head: "a million there\n[95 %]", Right: true, Interval: true},
		{Key: "sla_per_rate", Head: "1 op/s there,\nan hour [95 %]", Right: true, Interval: true, Tip: "price of an hour over the throughput"},
		{Key: "sla_per_request", Head: "a request", Right: true}, {Key: "keeps_sla", Head: fmt.Sprintf("with %d\nusers", c.At)},
	}}
	for _, o := range c.Rows {
		peak, upTo, request := doc.Of(nil, num.Missing), doc.Of(nil, num.Missing), doc.Of(nil, num.Missing)
		if o.Peak != nil {
			peak = doc.Of(o.Peak.Throughput, map[bool]string{true: "≥ "}[o.Peak.StillGrew]+rate(o.Peak.Throughput))
		}
		if o.SLA != nil {
			upTo = doc.Of(o.SLA.Users, num.Count(o.SLA.Users, "user")+", "+rate(o.SLA.Throughput))
			request = doc.Optional(o.SLA.PerRequest, money)
		}
		t.Add(doc.Say(o.Configuration), doc.Optional(o.Hourly, money), peak, o.Peak.million(), o.Peak.rate(), upTo, o.SLA.million(), o.SLA.rate(), request, Kept(o.Keeps))
	}
	s := doc.Section{ID: "cost", Title: "What it costs", Blocks: []doc.Block{{Table: c.shown(t, sla)}}}
	if sla != "" {
		s.Intro = fmt.Sprintf("The SLA is %s. It is kept where the whole interval over the trials is below, and broken where it is above; otherwise it cannot be told.", sla)
	}
	return s
}

// shown leaves out columns about prices, an SLA, or a load that there are not.
func (c *Cost) shown(t *doc.Table, sla string) *doc.Table {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		key := t.Columns[i].Key
		price := key == "hourly" || strings.Contains(key, "per_")
		if price && !c.Priced || strings.Contains(key, "sla") && sla == "" || key == "keeps_sla" && c.At == 0 {
			t.Columns = slices.Delete(t.Columns, i, i+1)
			for row := range t.Rows {
				t.Rows[row].Cells = slices.Delete(t.Rows[row].Cells, i, i+1)
			}
		}
	}
	return t
}

// million is the price of a million requests.
func (r *Rated) million() doc.Cell {
	if r == nil {
		return doc.Of(nil, num.Missing)
	}
	return r.priced(r.PerMillion, r.PerMillionCI)
}

// rate is what one request a second costs an hour.
func (r *Rated) rate() doc.Cell {
	if r == nil {
		return doc.Of(nil, num.Missing)
	}
	return r.priced(r.PerRate, r.PerRateCI)
}

// priced is a price, which is the most where the throughput is the least.
func (r *Rated) priced(price *float64, ci *stats.Interval) doc.Cell {
	if price == nil {
		return doc.Of(nil, num.Missing)
	}
	cell := doc.Ranged(price, ci, money)
	if r.StillGrew {
		cell.Lines = []string{"at most " + cell.Lines[0]}
	}
	return cell
}

// Kept is the cell that says whether an SLA was kept; nil: it cannot be told.
func Kept(kept *bool) doc.Cell {
	switch {
	case kept == nil:
		return doc.Of(nil, "cannot be told").As(doc.Doubt)
	case *kept:
		return doc.Of(true, "kept").As(doc.Good)
	}
	return doc.Of(false, "broken").As(doc.Bad)
}

// money has three digits or more, and no powers of ten.
func money(x float64) string {
	if x >= 999.5 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

func rate(x float64) string { return num.For("op/s", x).Value(x, 0) }
