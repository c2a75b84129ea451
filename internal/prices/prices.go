// Package prices reads what hosts cost, by type and zone, and adds it up ([List]); and
// says what a request costs ([Rated]), and which of several configurations that keep an
// SLA costs least ([Cost]).
package prices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Host is what a host of a type costs, as experiment files say it.
type Host struct {
	PerHour  float64 `json:"price_per_hour" jsonschema:"required,minimum=0,maximum=1000000000000000" jsonschema_description:"What a host of this type costs an hour."`
	Currency string  `json:"currency" jsonschema:"required,minLength=1" jsonschema_description:"In which currency: the same for all."`
}

// Row is what a host of a type costs in a zone or region, as price lists have it.
type Row struct {
	Type string `json:"type" jsonschema:"required,minLength=1" jsonschema_description:"The type of the hosts."`
	Zone string `json:"zone,omitempty" jsonschema_description:"Where that holds: a zone (us-east-1a), or a region, whose name its zones begin with (us-east-1). Default: everywhere."`
	Host
}

// Place is what a price depends on. Empty: not known.
type Place struct{ Type, Zone string }

// PlaceOf is the type of a node and its zone, by its labels or its cloud.
func PlaceOf(n model.Node) Place {
	var cloud model.CloudInfo
	if n.Facts.Cloud != nil {
		cloud = *n.Facts.Cloud
	}
	return Place{Type: cmp.Or(n.Labels["type"], cloud.InstanceType), Zone: cmp.Or(n.Labels["zone"], n.Labels["region"],
		cloud.Zone)}
}

// List is what hosts cost, all in one currency, which is named. It is empty where no
// price is known.
type List struct {
	Currency string
	hourly   map[Place]float64
}

// Empty reports whether no price is known.
func (l List) Empty() bool { return len(l.hourly) == 0 }

// Of are the prices of a file, by type and in rows. Errors: a [model.InputError] for a
// second currency, or none, and for a second price.
func Of(types map[string]Host, rows []Row) (List, error) {
	var out List
	var err error
	add := func(path string, r Row) {
		field, allowed := out.add(r)
		if allowed != "" && err == nil {
			value := map[string]string{fieldType: r.Type, fieldCurrency: r.Currency}[field]
			err = &model.InputError{Path: path + "." + field, Problem: fmt.Sprintf("it is %q", value), Allowed: "use " + allowed}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		add("prices."+name, Row{Type: name, Host: types[name]})
	}
	for i, r := range rows {
		add("price_list."+strconv.Itoa(i), r)
	}
	return out, err
}

// Fields that can be wrong by themselves.
const fieldType, fieldCurrency = "type", "currency"

// add takes one price; allowed says what its field must be if it cannot be used.
func (l *List) add(r Row) (field, allowed string) {
	at := Place{strings.TrimSpace(r.Type), strings.TrimSpace(r.Zone)}
	currency := strings.TrimSpace(r.Currency)
	_, twice := l.hourly[at]
	switch {
	case at.Type == "":
		return fieldType, "the type of the hosts, such as large"
	case twice:
		return fieldType, "each type once, or once in each zone"
	case currency == "":
		return fieldCurrency, "a currency such as USD"
	case l.Currency != "" && currency != l.Currency:
		return fieldCurrency, "one currency: " + l.Currency
	}
	if l.hourly == nil {
		l.hourly = make(map[Place]float64)
	}
	l.hourly[at], l.Currency = r.PerHour, currency
	return "", ""
}

// Read reads a table in CSV with the columns type, price_per_hour and currency, and
// perhaps zone or region. Its errors name line and column.
func Read(text string) (List, error) {
	var out List
	t, err := tabular.Open("prices", strings.NewReader(text))
	if err != nil {
		return out, err
	}
	const allowed = "the first line must name the columns: type,price_per_hour,currency, and if prices differ by it zone or region; rows in YAML belong into the experiment file (price_list)"
	if _, err := t.Use([]tabular.Form{{Required: []string{"type", "price_per_hour", "currency"}, Optional: []string{"zone", "region"}}}, allowed); err != nil {
		return out, err
	}
	zone := t.Column("zone")
	if zone == tabular.Absent {
		zone = t.Column("region")
	} else if t.Column("region") != tabular.Absent {
		t.Refuse("the table has both zone and region", "keep the one by which prices differ")
	}
	for t.Next() {
		r := Row{Type: strings.Clone(t.Text(t.Column("type"))), Zone: strings.Clone(t.Text(zone)), Host: Host{t.Amount("price_per_hour", true), strings.Clone(t.Text(t.Column("currency")))}}
		if field, allowed := out.add(r); allowed != "" {
			t.RefuseCell(t.Column(field), field, allowed)
		}
	}
	return out, t.Err()
}

// Sum is what hosts at these places cost an hour together. Missing says which price is
// not known, and what to do; empty: all are. untyped is what to do for a host without a type.
func (l List) Sum(hosts []Place, untyped string) (hourly float64, missing string) {
	for _, h := range hosts {
		price, missing := l.price(h, untyped)
		if missing != "" {
			return 0, missing
		}
		hourly += price
	}
	return hourly, ""
}

// price is that of one host: of its zone, or else of its region, or else of everywhere.
// Where its zone is not known it has a price only if that is the same in all zones.
func (l List) price(of Place, untyped string) (hourly float64, missing string) {
	if of.Type == "" {
		return 0, "the nodes have no type, so that their price is not known: " + untyped
	}
	closest, found, same := -1, false, true
	for at, price := range l.hourly {
		switch {
		case at.Type != of.Type:
			continue
		case of.Zone == "":
			same = same && (!found || price == hourly)
			hourly = price
		case within(of.Zone, at.Zone) && len(at.Zone) > closest:
			closest, hourly = len(at.Zone), price
		}
		found = true
	}
	switch {
	case !found:
		return 0, fmt.Sprintf("there is no price of the type %q: add it to the prices", of.Type)
	case !same:
		return 0, fmt.Sprintf("the price of the type %q differs by zone, and in which zone its nodes are is not known: give them the label zone, or prices of their zone alone", of.Type)
	case of.Zone != "" && closest < 0:
		return 0, fmt.Sprintf("there is no price of the type %q in the zone %q: add it to the prices", of.Type, of.Zone)
	}
	return hourly, ""
}

// within reports whether a zone is a place or lies in it: us-east-1a in us-east-1,
// europe-west1-b in europe-west1. All that is known lies in "", which is everywhere.
func within(zone, place string) bool {
	rest, ok := strings.CutPrefix(zone, place)
	return ok && (place == "" || rest == "" || rest[0] == '-' || len(rest) == 1 && rest[0] >= 'a' && rest[0] <= 'z')
}
