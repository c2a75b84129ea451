package prices

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Words say which configuration is the cheapest that keeps an SLA.
func (c *Cost) Words(sla string) string {
	fewest, less, each := " with the fewest hosts", ", with fewer hosts,", ", as many each"
	if c.Priced {
		fewest, less, each = " for the least money", ", for less,", " each"
	}
	keep := func(of []string) string {
		if len(of) == 1 {
			return of[0] + " keeps "
		}
		return num.List(of) + " keep "
	}
	text := fmt.Sprintf("With %s ", num.Count(c.At, "user"))
	switch {
	case len(c.Cheapest)+len(c.Unpriced) == 0:
		text += fmt.Sprintf("no configuration that was measured is known to keep %s.", sla)
	case len(c.Cheapest) == 0:
		text += keep(c.Unpriced) + sla + ", and no configuration that does has a price: which is the cheapest is not known."
	default:
		text += keep(c.Cheapest) + sla + fewest
		for _, o := range c.Rows {
			if o.Configuration == c.Cheapest[0] && o.Hourly != nil {
				text += fmt.Sprintf(", %.4g %s an hour", *o.Hourly, c.Currency)
			}
		}
		if len(c.Cheapest) > 1 {
			text += each
		}
		switch len(c.Unpriced) {
		case 0:
		case 1:
			text += "; " + keep(c.Unpriced) + "it, too, and has no price"
		default:
			text += "; " + keep(c.Unpriced) + "it, too, and have no price"
		}
		text += "."
	}
	if len(c.Cheapest) == 0 {
		less = ""
	}
	for i, name := range c.Open {
		text += fmt.Sprintf(" Whether %s would%s cannot be told: %s.", name, less, c.Why[i])
	}
	return text
}

// Section is a row for each configuration.
func (c *Cost) Section(sla string) doc.Section {
	const perRate, tip = "1 op/s there,\nan hour [95 %]", "price of an hour over the throughput"
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("configuration", "configuration"), doc.Number("hourly", c.Currency+"\nan hour"),
		doc.Number("peak", "at the\npeak"), doc.Interval("per_million", "a million there\n[95 %]"),
		doc.Interval("per_rate", perRate, tip),
		doc.Number("sla_users", "keeps the SLA\nup to"), doc.Interval("sla_per_million", "a million there\n[95 %]"),
		doc.Interval("sla_per_rate", perRate, tip), doc.Number("sla_per_request", "a request"),
		doc.Label("keeps_sla", fmt.Sprintf("with %d\nusers", c.At)),
	}}
	for _, o := range c.Rows {
		peak, kept := cmp.Or(o.Peak, &Rated{}), cmp.Or(o.SLA, &Rated{})
		most, upTo := doc.Of(nil, num.Missing), doc.Of(nil, num.Missing)
		if o.Peak != nil {
			most = doc.Of(peak.Throughput, map[bool]string{true: "≥ "}[peak.StillGrew]+rate(peak.Throughput))
		}
		if o.SLA != nil {
			upTo = doc.Of(kept.Users, num.Count(kept.Users, "user")+", "+rate(kept.Throughput))
		}
		t.Add(doc.Say(o.Configuration), doc.Optional(o.Hourly, Money), most,
			peak.priced(peak.PerMillion, peak.PerMillionCI), peak.priced(peak.PerRate, peak.PerRateCI),
			upTo, kept.priced(kept.PerMillion, kept.PerMillionCI), kept.priced(kept.PerRate, kept.PerRateCI),
			doc.Optional(kept.PerRequest, Money), Kept(o.Keeps))
	}
	t.Drop(func(key string) bool { // of prices, an SLA, or a load that there are not
		price := key == "hourly" || strings.Contains(key, "per_")
		return price && !c.Priced || strings.Contains(key, "sla") && sla == "" || key == "keeps_sla" && c.At == 0
	})
	s := doc.Section{ID: "cost", Title: "What it costs", Blocks: []doc.Block{{Table: t}}}
	if sla != "" {
		s.Intro = fmt.Sprintf("The SLA is %s. It is kept where the whole interval over the trials is below, and broken where it is above; otherwise it cannot be told.", sla)
	}
	return s
}

// priced is a price, which is the most where the throughput is the least.
func (r *Rated) priced(price *float64, ci *stats.Interval) doc.Cell {
	cell := doc.Ranged(price, ci, Money)
	if price != nil && r.StillGrew {
		cell.Lines[0] = "at most " + cell.Lines[0]
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

// Money has three digits or more, and no powers of ten.
func Money(x float64) string {
	if x >= 999.5 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

func rate(x float64) string { return num.For("op/s", x).Value(x, 0) }
