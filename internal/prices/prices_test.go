package prices

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

func TestRead(t *testing.T) {
	got, err := Read("type,price_per_hour,currency\nlarge,0.34,USD\nsmall,0,USD\n")
	if err != nil || got.Currency != "USD" || got.hourly[Place{Type: "large"}] != .34 || len(got.hourly) != 2 {
		t.Fatalf("Read = %+v, %v", got, err)
	}
	for want, table := range map[string]string{
		"the table has both zone and region":                                           "type,zone,region,price_per_hour,currency\na,b,c,1,USD\n",
		"prices:3:1: type is \"a\"; use each type":                                     "type,region,price_per_hour,currency\na,b,1,USD\na,b,2,USD\n",
		"prices:2:12: currency is empty":                                               "type,price_per_hour,currency\nlarge,0.34,\nsmall,1,USD\n",
		`prices:3:9: currency is "EUR"; use one`:                                       "type,price_per_hour,currency\nlarge,0.34,USD\nsmall,1,EUR\n",
		"prices:3:9: currency is empty":                                                "type,price_per_hour,currency\nlarge,0.34,USD\nsmall,1,\n",
		"prices:2:1: type is empty":                                                    "type,price_per_hour,currency\n,0.34,USD\n",
		`prices:3:1: type is "large"; use each`:                                        "type,price_per_hour,currency\nlarge,1,USD\nlarge,2,USD\n",
		`prices:2:7: price_per_hour is "-1"; use`:                                      "type,price_per_hour,currency\nlarge,-1,USD\n",
		`prices:2:7: price_per_hour is "inf"; use`:                                     "type,price_per_hour,currency\nlarge,inf,USD\n",
		`prices:2:7: price_per_hour is "1e308"; use 0, or a number from 1e-15 to 1e15`: "type,price_per_hour,currency\nlarge,1e308,USD\n",
		`the column "currency" is missing`:                                             "type,price_per_hour\nlarge,1\n",
	} {
		if _, err := Read(table); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("Read = %v, want %q", err, want)
		}
	}
}

func TestOf(t *testing.T) {
	got, err := Of(map[string]Host{"large": {.34, "USD"}, "small": {.1, "USD"}}, []Row{{Type: "large", Zone: "eu-1", Host: Host{.4, "USD"}}})
	if err != nil || got.Currency != "USD" || len(got.hourly) != 3 || got.Empty() {
		t.Fatalf("Of = %+v, %v", got, err)
	}
	for want, c := range map[string]struct {
		types map[string]Host
		rows  []Row
	}{
		`prices.small.currency: it is "EUR"; use one currency: USD`:    {types: map[string]Host{"large": {1, "USD"}, "small": {1, "EUR"}}},
		`prices.large.currency: it is ""; use a currency such as USD`:  {types: map[string]Host{"large": {1, ""}, "small": {1, "EUR"}}},
		`prices.small.currency: it is " "; use a currency such as USD`: {types: map[string]Host{"small": {1, " "}}},
		`prices..type: it is ""; use the type of the hosts`:            {types: map[string]Host{"": {1, "USD"}}},
		`price_list.1.currency: it is "EUR"; use one currency: USD`:    {rows: []Row{{"a", "", Host{1, "USD"}}, {"b", "", Host{1, "EUR"}}}},
		`price_list.1.type: it is "a"; use each type once`:             {rows: []Row{{"a", "z", Host{1, "USD"}}, {"a", "z", Host{1, "USD"}}}},
		`price_list.0.type: it is "a"; use each type once`:             {map[string]Host{"a": {1, "USD"}}, []Row{{"a", "", Host{1, "USD"}}}},
		`price_list.0.currency: it is "USD"; use one currency: EUR`:    {map[string]Host{"a": {1, "EUR"}}, []Row{{"b", "", Host{1, "USD"}}}},
	} {
		if _, err := Of(c.types, c.rows); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("Of = %v, want %q", err, want)
		}
	}
}

// TestSum: a host costs what its zone does, or else its region, or else everywhere; where
// its zone is not known, or has no price, nothing is guessed.
func TestSum(t *testing.T) {
	l, err := Read("type,region,price_per_hour,currency\nlarge,,.5,USD\nlarge,us-east-1,.25,USD\nlarge,us-east-1b,.125,USD\nhuge,us-east-1,4,USD\nhuge,us-east-2,4,USD\nsmall,,.0625,USD\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hosts   []Place
		want    float64
		missing string
	}{
		{[]Place{{"large", "us-east-1a"}, {"large", "us-east-1b"}, {"large", "eu-west-1a"}, {"large", "us-east-10a"}}, .25 + .125 + .5 + .5, ""},
		{[]Place{{"large", "us-east-1"}, {"large", "us-east-1-b"}, {"small", "us-east-1a"}, {"small", ""}}, .25 + .25 + .0625 + .0625, ""},
		{[]Place{{"huge", ""}, {"huge", "us-east-2c"}}, 8, ""},
		{[]Place{{"small", ""}, {"large", ""}}, 0, `price of the type "large" differs by zone`},
		{[]Place{{"huge", "eu-west-1a"}}, 0, `no price of the type "huge" in the zone "eu-west-1a"`},
		{[]Place{{"large", "x"}, {"tiny", "x"}}, 0, `no price of the type "tiny"`},
		{[]Place{{"large", "x"}, {"", "x"}}, 0, "nodes have no type"},
	} {
		if got, missing := l.Sum(c.hosts, "name it"); math.Abs(got-c.want) > 1e-12 || !strings.Contains(missing, c.missing) || (missing == "") != (c.missing == "") {
			t.Errorf("Sum(%v) = %v, %q, want %v, %q", c.hosts, got, missing, c.want, c.missing)
		}
	}
}
