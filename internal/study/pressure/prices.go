package pressure

import (
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/tabular"
)

// Price is what a unit of an input costs a month.
type Price struct {
	Unit     float64
	Included float64 // so much costs nothing
}

// Monthly is what an amount costs a month.
func (p Price) Monthly(amount float64) float64 { return p.Unit * max(0, amount-p.Included) }

// Priced is an input of a model. The input "node" is one more host of the type that the model names.
type Priced struct{ Model, Input string }

// Prices are what inputs of models cost, all in one currency.
type Prices struct {
	Currency string
	Inputs   map[Priced]Price
}

// ReadPrices reads a table in CSV, or none, with the columns model, input, per_month (of one unit) and currency, and perhaps
// included. Its errors name line and column.
func ReadPrices(text string) (Prices, error) {
	out := Prices{Inputs: make(map[Priced]Price)}
	if text == "" {
		return out, nil
	}
	t, err := tabular.Open("prices", strings.NewReader(text))
	if err != nil {
		return out, err
	}
	const columns = "the first line must name the columns: model,input,per_month,currency, and perhaps included"
	form := tabular.Form{Required: []string{"model", "input", "per_month", "currency"}, Optional: []string{"included"}}
	if _, err := t.Use([]tabular.Form{form}, columns); err != nil {
		return out, err
	}
	for t.Next() {
		cell := func(name string) string { return strings.Clone(strings.TrimSpace(t.Text(t.Column(name)))) }
		at, currency := Priced{cell("model"), cell("input")}, cell("currency")
		price := Price{Unit: t.Amount("per_month", true), Included: t.Amount("included", false)}
		if math.IsNaN(price.Included) {
			price.Included = 0
		}
		_, twice := out.Inputs[at]
		switch {
		case at.Model == "":
			t.RefuseCell(t.Column("model"), "model", "the name of a model, such as aws-gp3")
		case at.Input == "":
			t.RefuseCell(t.Column("input"), "input", "an input of the model, such as iops, or node for a host")
		case twice:
			t.RefuseCell(t.Column("input"), "input", "each input of a model once")
		case currency == "":
			t.RefuseCell(t.Column("currency"), "currency", "a currency such as USD")
		case out.Currency != "" && currency != out.Currency:
			t.RefuseCell(t.Column("currency"), "currency", "one currency: "+out.Currency)
		default:
			out.Inputs[at], out.Currency = price, currency
		}
	}
	return out, t.Err()
}
