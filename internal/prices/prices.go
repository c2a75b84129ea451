// Package prices reads what hosts cost, by their type, and adds it up.
package prices

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Host is what a host of a type costs, as experiment files say it.
type Host struct {
	PerHour  float64 `json:"price_per_hour" jsonschema:"required,minimum=0" jsonschema_description:"What a host of this type costs an hour."`
	Currency string  `json:"currency" jsonschema:"required,minLength=1" jsonschema_description:"In which currency: the same for all."`
}

// List is what hosts cost an hour by their type, all in one currency, which is named.
// Hourly is empty where no price is known.
type List struct {
	Hourly   map[string]float64
	Currency string
}

// Of are the prices of a file, by type. Errors: a [model.InputError] for a second
// currency, or none.
func Of(types map[string]Host) (List, error) {
	out := List{Hourly: make(map[string]float64)}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		x := types[name]
		if strings.TrimSpace(name) == "" || strings.TrimSpace(x.Currency) == "" {
			return out, &model.InputError{Path: "prices." + name, Problem: "a price without its type or its currency", Allowed: "give both: large: {price_per_hour: 0.34, currency: USD}"}
		}
		if out.Currency != "" && x.Currency != out.Currency {
			return out, &model.InputError{Path: "prices." + name + ".currency", Problem: fmt.Sprintf("%s, beside prices in %s", x.Currency, out.Currency), Allowed: "give all prices in one currency"}
		}
		out.Hourly[name], out.Currency = x.PerHour, x.Currency
	}
	return out, nil
}

// Read reads a table in CSV with the columns type, price_per_hour and currency. Its
// errors name line and column.
func Read(text string) (List, error) {
	out := List{Hourly: make(map[string]float64)}
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
		switch {
		case currency == "":
			t.RefuseCell(t.Column("currency"), "currency", "a currency such as USD in each line")
		case out.Currency != "" && currency != out.Currency:
			t.RefuseCell(t.Column("currency"), "currency", "one currency: "+out.Currency)
		}
		name := strings.Clone(t.Text(t.Column("type")))
		if name == "" {
			t.RefuseCell(t.Column("type"), "type", "the type of the hosts, such as large")
		}
		if _, twice := out.Hourly[name]; twice {
			t.RefuseCell(t.Column("type"), "type", "each type once")
		}
		out.Hourly[name], out.Currency = price, currency
	}
	return out, t.Err()
}

// Sum is what hosts of these types cost an hour together. Missing says which price is
// not known, and what to do; empty: all are.
func (l List) Sum(types []string) (hourly float64, missing string) {
	for _, name := range types {
		price, ok := l.Hourly[name]
		switch {
		case ok:
			hourly += price
		case name == "":
			return 0, "the nodes have no type, so that their price is not known: give them the label type, or name it in the configuration, as in 1-2-1-ec2-large"
		default:
			return 0, fmt.Sprintf("there is no price of the type %q: add it to the prices", name)
		}
	}
	return hourly, ""
}
