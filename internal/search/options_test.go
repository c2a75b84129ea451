package search_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/search"
)

func isOptions(err error) bool { return errors.Is(err, search.ErrOptions) }

func TestOptionsRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		o    search.Options
		says string
	}{
		{search.Options{}, "loads must be above 0"},
		{search.Options{Start: -1}, "loads must be above 0"},
		{search.Options{Start: nan}, "loads must be above 0"},
		{search.Options{Start: inf}, "loads must be above 0"},
		{search.Options{Start: 1, Min: nan}, "loads must be above 0"},
		{search.Options{Start: 1, Max: inf}, "loads must be above 0"},
		{search.Options{Start: 1, Max: 1e300}, "2^50 times"},
		{search.Options{Start: 1, Min: 2}, "must be between"},
		{search.Options{Start: 3, Max: 2}, "must be between"},
		{search.Options{Start: 1, Resolution: 1}, "resolution 1"},
		{search.Options{Start: 1, Resolution: nan}, "resolution NaN"},
		{search.Options{Start: 1, Factor: 1}, "factor 1"},
		{search.Options{Start: 1, Factor: nan}, "factor NaN"},
		{search.Options{Start: 1, MaxWindows: -1}, "the limit of -1 windows"},
		{search.Options{Start: 1, ErrorRate: .5}, "error rate 0.5"},
		{search.Options{Start: 1, ErrorRate: nan}, "error rate NaN"},
		{search.Options{Start: 1, Rate: 2}, "rate 2"},
		{search.Options{Start: 1, Rate: -1}, "rate -1"},
		{search.Options{Start: 1, Algorithm: "guess"}, `algorithm "guess"`},
	} {
		if _, err := search.New(c.o); !isOptions(err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("New(%+v) = %v, want ErrOptions with %q", c.o, err, c.says)
		}
	}
}

// A range of a single load is a question too: does it pass?
func TestSingleLoad(t *testing.T) {
	for _, passes := range []bool{true, false} {
		s, err := search.New(search.Options{Start: 50, Min: 50, Max: 50})
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, func(float64) bool { return passes })
		if r.Capped != passes || r.Floored == passes || !r.Confirmed {
			t.Errorf("passes %v: capped %v, floored %v, confirmed %v", passes, r.Capped, r.Floored, r.Confirmed)
		}
	}
}
