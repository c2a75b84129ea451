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
	if err != nil || got.Currency != "USD" || got.Hourly["large"] != .34 || len(got.Hourly) != 2 {
		t.Fatalf("Read = %+v, %v", got, err)
	}
	for want, table := range map[string]string{
		"prices:2:12: currency is empty":           "type,price_per_hour,currency\nlarge,0.34,\nsmall,1,USD\n",
		`prices:3:9: currency is "EUR"; use one`:   "type,price_per_hour,currency\nlarge,0.34,USD\nsmall,1,EUR\n",
		"prices:3:9: currency is empty":            "type,price_per_hour,currency\nlarge,0.34,USD\nsmall,1,\n",
		"prices:2:1: type is empty":                "type,price_per_hour,currency\n,0.34,USD\n",
		`prices:3:1: type is "large"; use each`:    "type,price_per_hour,currency\nlarge,1,USD\nlarge,2,USD\n",
		`prices:2:7: price_per_hour is "-1"; use`:  "type,price_per_hour,currency\nlarge,-1,USD\n",
		`prices:2:7: price_per_hour is "inf"; use`: "type,price_per_hour,currency\nlarge,inf,USD\n",
		`the column "currency" is missing`:         "type,price_per_hour\nlarge,1\n",
	} {
		if _, err := Read(table); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("Read = %v, want %q", err, want)
		}
	}
}

func TestOf(t *testing.T) {
	got, err := Of(map[string]Host{"large": {.34, "USD"}, "small": {.1, "USD"}})
	if err != nil || got.Currency != "USD" || len(got.Hourly) != 2 {
		t.Fatalf("Of = %+v, %v", got, err)
	}
	for want, types := range map[string]map[string]Host{
		"prices.small.currency: EUR, beside prices in USD":       {"large": {1, "USD"}, "small": {1, "EUR"}},
		"prices.large: a price without its type or its currency": {"large": {1, ""}, "small": {1, "EUR"}},
		"prices.small: a price without its type or its currency": {"large": {1, "USD"}, "small": {1, " "}},
		"prices.: a price without its type or its currency":      {"": {1, "USD"}},
	} {
		if _, err := Of(types); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("Of = %v, want %q", err, want)
		}
	}
}

func TestSum(t *testing.T) {
	l := List{Hourly: map[string]float64{"large": .5, "small": .25}, Currency: "USD"}
	if got, missing := l.Sum([]string{"large", "small", "large"}); missing != "" || math.Abs(got-1.25) > 1e-12 {
		t.Errorf("Sum = %v, %q, want 1.25", got, missing)
	}
	for want, types := range map[string][]string{`no price of the type "huge"`: {"large", "huge"}, "nodes have no type": {"large", ""}} {
		if got, missing := l.Sum(types); got != 0 || !strings.Contains(missing, want) {
			t.Errorf("Sum(%q) = %v, %q, want %q", types, got, missing, want)
		}
	}
}
