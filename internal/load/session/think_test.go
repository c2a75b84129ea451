package session

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/siteserver"
)

// TestThink: think times are distributed as they are said to be (Kolmogorov and
// Smirnov), with the mean asked for.
func TestThink(t *testing.T) {
	parts.Begin(t)
	normal := func(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }
	sigma := math.Sqrt(math.Log(1 + .5*.5))
	for name, c := range map[string]struct {
		think Think
		cdf   func(seconds float64) float64
	}{
		"exponential": {Think{Distribution: Exponential, Mean: 7 * time.Second}, func(x float64) float64 { return 1 - math.Exp(-x/7) }},
		"uniform":     {Think{Distribution: Uniform, Mean: 7 * time.Second, Spread: .5}, func(x float64) float64 { return min(max((x-3.5)/7, 0), 1) }},
		"lognormal": {Think{Distribution: Lognormal, Mean: 7 * time.Second, Spread: .5}, func(x float64) float64 {
			return normal((math.Log(x) - math.Log(7) + sigma*sigma/2) / sigma)
		}},
	} {
		const n = 20_000
		rng, draws, mean := rand.New(rand.NewPCG(1, 1)), make([]float64, n), 0.0
		for i := range draws {
			draws[i] = c.think.Draw(rng).Seconds()
			mean += draws[i] / n
		}
		slices.Sort(draws)
		d := 0.0
		for i, x := range draws {
			p := c.cdf(x)
			d = max(d, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
		}
		if limit := 1.95 / math.Sqrt(n); d > limit || math.Abs(mean-7) > .2 { // p = .001
			t.Errorf("%s: D = %.4f, limit %.4f, mean %.3f s", name, d, limit, mean)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	if got := (Think{Distribution: Constant, Mean: 5}).Draw(rng); got != 5 {
		t.Errorf("constant: %v", got)
	}
	seen := map[time.Duration]int{}
	for range 3000 {
		seen[(Think{Distribution: Empirical, Values: []time.Duration{1, 1, 4}}).Draw(rng)]++
	}
	if len(seen) != 2 || seen[4] < 900 || seen[4] > 1100 {
		t.Errorf("empirical: %v, want a third of 4", seen)
	}
}

// TestRest: how much longer users think, seen at any moment, has the density
// (1-F(x))/mean (the excess of a renewal process): exponential as it is itself,
// uniform where thinking takes always as long, less than half as probable in the
// second half where it is uniform from 0.
func TestRest(t *testing.T) {
	for name, c := range map[string]struct {
		think Think
		cdf   func(seconds float64) float64
	}{
		"exponential": {Think{Distribution: Exponential, Mean: 7 * time.Second}, func(x float64) float64 { return 1 - math.Exp(-x/7) }},
		"constant":    {Think{Distribution: Constant, Mean: 7 * time.Second}, func(x float64) float64 { return min(x/7, 1) }},
		"uniform":     {Think{Distribution: Uniform, Mean: 7 * time.Second, Spread: 1}, func(x float64) float64 { return x/7 - x*x/196 }},
		"empirical":   {Think{Distribution: Empirical, Values: []time.Duration{2e9, 6e9}}, func(x float64) float64 { return (min(x, 2) + .5*max(x-2, 0)) / 4 }},
	} {
		const n = 20_000
		rng, draws := rand.New(rand.NewPCG(1, 1)), make([]float64, n)
		for i := range draws {
			draws[i] = c.think.Rest(rng).Seconds()
		}
		slices.Sort(draws)
		d := 0.0
		for i, x := range draws {
			d = max(d, math.Abs(c.cdf(x)-float64(i)/n), math.Abs(c.cdf(x)-float64(i+1)/n))
		}
		if limit := 1.95 / math.Sqrt(n); d > limit { // p = .001
			t.Errorf("%s: D = %.4f, limit %.4f", name, d, limit)
		}
	}
	if got := (Think{Distribution: Constant}).Rest(rand.New(rand.NewPCG(1, 1))); got != 0 {
		t.Errorf("without thinking: %v", got)
	}
}

// TestThinksBetween: what lies between an answer and the next request of its user
// is what was drawn, and is told.
func TestThinksBetween(t *testing.T) {
	c := board(t, BrowseOnly, 100)
	u, server := New(c, load.All), &siteserver.Server{}
	server.Site = c.Site
	ended, draws, total := make(map[int]time.Duration), 0, time.Duration(0)
	for range 5000 {
		due, _ := u.Peek()
		turn := u.Take()
		if before, ok := ended[turn.User]; ok {
			total, draws = total+due-before, draws+1
		}
		ended[turn.User] = due + time.Millisecond
		if err := u.Ended(turn.User, load.Answer{Now: due + time.Millisecond, OK: true, Page: server.Page(turn.Op)}); err != nil {
			t.Fatal(err)
		}
	}
	for due, ok := u.Peek(); ok; due, ok = u.Peek() { // those that think yet
		if before, been := ended[u.agenda[0].User]; been {
			total, draws = total+due-before, draws+1
		}
		u.agenda.Pop()
	}
	if tally := u.Tally(); tally.Thinks != int64(draws) || tally.Thought != total {
		t.Errorf("%d think times of %v together are told, and there were %d of %v", tally.Thinks, tally.Thought, draws, total)
	}
}

func TestThinkCheck(t *testing.T) {
	for name, c := range map[string]struct {
		think Think
		key   string
	}{
		"good":             {Think{Distribution: Exponential}, ""},
		"unknown":          {Think{Distribution: "x"}, "think_distribution"},
		"negative":         {Think{Distribution: Constant, Mean: -1}, "think"},
		"too long":         {Think{Distribution: Constant, Mean: 1 << 62}, "think"},
		"spread":           {Think{Distribution: Constant, Spread: 1}, "think_spread"},
		"no spread":        {Think{Distribution: Lognormal}, "think_spread"},
		"too wide":         {Think{Distribution: Uniform, Spread: 1.5}, "think_spread"},
		"not a number":     {Think{Distribution: Lognormal, Spread: math.NaN()}, "think_spread"},
		"values":           {Think{Distribution: Constant, Values: []time.Duration{1}}, "think_values"},
		"no values":        {Think{Distribution: Empirical}, "think_values"},
		"a negative value": {Think{Distribution: Empirical, Values: []time.Duration{-1}}, "think_values"},
	} {
		var input *model.InputError
		if err := c.think.Check(); (c.key == "") != (err == nil) || c.key != "" && (!errors.As(err, &input) || input.Path != c.key) {
			t.Errorf("%s: %v, want key %q", name, err, c.key)
		}
	}
}
