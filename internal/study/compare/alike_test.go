package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// units draws both sides in turns over units of their own, that differ by 10 %,
// under the name of a column of which the page of compare says nothing.
func units(column string, n int) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		one := func(side string, factor float64) (out []row) {
			level := make([]float64, n)
			for i := range level {
				level[i] = .1 * rng.NormFloat64()
			}
			for k := range 20 * n {
				out = append(out, row{at: math.NaN(), value: 100 * factor * math.Exp(level[k%n]+.02*rng.NormFloat64()), facts: map[string]string{column: side + strconv.Itoa(k%n)}})
			}
			return out
		}
		return one("a", 1), one("b", factor)
	}
}

// sessions draws trials 1 to 5 of ten sessions that differ by 5 %, and no column
// says which session it was.
func sessions(rng *rand.Rand, factor float64) (a, b []row) {
	one := func(factor float64) (out []row) {
		for range 10 {
			session := .05 * rng.NormFloat64()
			for k := range 5 {
				out = append(out, row{at: math.NaN(), value: 100 * factor * math.Exp(session+.01*rng.NormFloat64()), facts: map[string]string{"trial": strconv.Itoa(k + 1)}})
			}
		}
		return out
	}
	return one(1), one(factor)
}

// hourly draws a value of each of eight nodes an hour, without trials; days differ.
func hourly(same bool, day, node float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		level := make([]float64, 16)
		for i := range level {
			level[i] = node * rng.NormFloat64()
		}
		one := func(from, begin int, factor float64) (out []row) {
			today := 0.0
			for h := range 96 {
				if h%24 == 0 {
					today = day * rng.NormFloat64()
				}
				for i := from; i < from+8; i++ {
					out = append(out, row{at: float64(3600 * (begin + h)), value: 100 * factor * math.Exp(today+level[i]+.01*rng.NormFloat64()), facts: map[string]string{"node": "n" + strconv.Itoa(i)}})
				}
			}
			return out
		}
		if same {
			return one(0, 0, 1), one(0, 200, factor)
		}
		return one(0, 0, 1), one(8, 200, factor)
	}
}

// TestDependenceWithoutName: rows that are alike for a reason that no column names as
// such are not independent: before, equal sides were called different in more than
// half of these cases. Where they are independent, differences are still found.
func TestDependenceWithoutName(t *testing.T) {
	const n = 60
	for name, c := range map[string]struct {
		draw  world
		gain  float64
		found int // of n, at least
	}{
		"4 + 4 servers":                  {units("server", 4), 2, 50},
		"8 + 8 racks":                    {units("rack", 8), 1.5, 55},
		"2 + 2 racks":                    {units("rack", 2), 1, 0},
		"trials of sessions":             {sessions, 1.2, 55},
		"same nodes, days that differ":   {hourly(true, .05, .02), 1, 0},
		"other nodes, days that differ":  {hourly(false, .05, .02), 1, 0},
		"same nodes, independent hours":  {hourly(true, 0, .03), 1.02, 50},
		"other nodes, independent hours": {hourly(false, 0, .01), 1.05, 50},
	} {
		falsely, found := 0, 0
		for seed := range n {
			p := New()
			p.Margin = .0001
			a, b := c.draw(newRNG(seed), 1)
			if asked(t, p, a, b).Verdict.different() {
				falsely++
			}
			a, b = c.draw(newRNG(seed), c.gain)
			if asked(t, p, a, b).Verdict == Better {
				found++
			}
		}
		if falsely > 9 { // of 60 at 5 %: once in 1,700
			t.Errorf("%s: %d of %d equal sides are called different", name, falsely, n)
		}
		if found < c.found {
			t.Errorf("%s: B is better by a factor of %v in %d of %d cases, want %d", name, c.gain, found, n, c.found)
		}
	}
}

// TestMix: B was measured more often in the faster zone. Where it is slower in each
// zone it is not called better; where zones alone differ, that is said.
func TestMix(t *testing.T) {
	const n = 40
	for _, c := range []struct {
		shareA, shareB, gain float64
		verdict              Verdict
		doubt                bool
	}{
		{.2, .9, .95, Unknown, true},
		{.8, .3, 1, Worse, true},
		{.5, .5, .9, Worse, false},
	} {
		right := 0
		for seed := range n {
			rng := newRNG(seed)
			side := func(share, gain float64) (out []row) {
				for k := range 60 {
					zone, level := "slow", .8
					if rng.Float64() < share {
						zone, level = "fast", 1
					}
					out = append(out, row{at: math.NaN(), value: 100 * gain * level * math.Exp(.02*rng.NormFloat64()), facts: map[string]string{"zone": zone, "image": fmt.Sprint(k % 3)}})
				}
				return out
			}
			got := asked(t, New(), side(c.shareA, 1), side(c.shareB, c.gain))
			if got.Verdict == c.verdict && has(got.Doubts, "mix") == c.doubt {
				right++
			}
		}
		if right < n*9/10 {
			t.Errorf("%+v: so in %d of %d cases", c, right, n)
		}
	}
}

func has(doubts []model.Doubt, code string) bool {
	for _, d := range doubts {
		if d.Code == code {
			return true
		}
	}
	return false
}
