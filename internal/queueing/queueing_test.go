package queueing

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

func single(demands ...float64) []Station {
	var out []Station
	for _, d := range demands {
		out = append(out, Station{d, 1})
	}
	return out
}

// TestPublished holds solutions against examples of textbooks, to the digits
// that are printed there.
func TestPublished(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    Closed
		users int
		want  float64
		digit float64
	}{
		// Service times .125, .3, .2 s; visits 16, 10, 5. R = 16·.373 + 10·4.854 +
		// 5·.300 = 56.0 s, of which X = 20/(R+4).
		{"R. Jain, The Art of Computer Systems Performance Analysis, 1991, example 34.2", Closed{single(2, 3, 1), 4}, 20, 1.0 / 3, 1e-3},
		{"the same with two users: R = 7.4", Closed{single(2, 3, 1), 4}, 2, 2 / 11.4, 1e-9},
		// Visits 1, .4, .2, .1; times .02, .2, .4, .6.
		{"G. Bolch et al., Queueing Networks and Markov Chains, 2006, example 8.3", Closed{single(.02, .08, .08, .06), 0}, 6, 9.920, 1e-3},
		// The first station has two servers, the fourth infinitely many.
		{"Bolch et al., example 8.4", Closed{[]Station{{.5, 2}, {.3, 1}, {.4, 1}}, 1}, 3, 1.218, 1e-3},
	} {
		got, err := c.of.Solve(c.users)
		if err != nil || len(got) != c.users || math.Abs(got[c.users-1]-c.want) > c.digit {
			t.Errorf("%s: X(%d) = %v, %v, want %v", c.name, c.users, got, err, c.want)
		}
	}
}

// meanValues is mean value analysis as Reiser and Lavenberg wrote it, for
// stations of one server: another way to the same numbers.
func meanValues(c Closed, users int) []float64 {
	queue, out := make([]float64, len(c.Stations)), make([]float64, users)
	for n := range out {
		r := make([]float64, len(queue))
		sum := c.Think
		for i, s := range c.Stations {
			r[i] = s.Demand * (1 + queue[i])
			sum += r[i]
		}
		out[n] = float64(n+1) / sum
		for i := range queue {
			queue[i] = out[n] * r[i]
		}
	}
	return out
}

// machines is the throughput of the repairman model M/M/c//N from its
// probabilities (L. Kleinrock, Queueing Systems 1, 1975, section 3.8).
func machines(users, servers int, demand, think float64) float64 {
	p, sum, busy := 1.0, 1.0, 0.0
	for k := 1; k <= users; k++ {
		at := float64(min(k, servers))
		p *= float64(users-k+1) / think * demand / at
		sum += p
		busy += p * at
	}
	return busy / sum / demand
}

// TestSolve compares random networks with the recursion and with the repairman,
// and holds them within their bounds.
func TestSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := Closed{Think: 10 * rng.Float64()}
		for range 1 + rng.IntN(5) {
			c.Stations = append(c.Stations, Station{rng.ExpFloat64(), 1})
		}
		got, err := c.Solve(60)
		if err != nil {
			t.Fatal(err)
		}
		for n, x := range c.Rates() {
			if !near(x, got[n-1], 1e-12) {
				t.Fatalf("%+v: the rate of %d users is %v, want %v", c, n, x, got[n-1])
			}
			if n == len(got) {
				break
			}
		}
		for n, want := range meanValues(c, 60) {
			users := float64(n + 1)
			a := c.Asymptotic(users)
			b, ok := c.Balanced(users)
			const slack = 1e-9
			if !near(got[n], want, 1e-9) || !ok || b.Lo > got[n]*(1+slack) || b.Hi < got[n]*(1-slack) || a.Lo > b.Lo*(1+slack) || a.Hi < b.Hi*(1-slack) {
				t.Fatalf("%+v: X(%d) = %v, want %v, within %v and %v", c, n+1, got[n], want, b, a)
			}
		}
	}
	for _, servers := range []int{1, 2, 7, 64} {
		const users, demand, think = 120, .5, 2.0
		got, err := Closed{[]Station{{demand, servers}}, think}.Solve(users)
		if want := machines(users, servers, demand, think); err != nil || !near(got[users-1], want, 1e-9) {
			t.Errorf("%d servers: X = %v, %v, want %v", servers, got[users-1], err, want)
		}
	}
}

// TestSolveOfEqual: equal stations are solved as one with a multiplicity, which comes to
// what convolution of each of them does, beside others and those of several servers.
func TestSolveOfEqual(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		c := Closed{Think: 10 * rng.Float64()}
		for range 1 + rng.IntN(4) {
			s := Station{rng.ExpFloat64(), 1 + rng.IntN(3)}
			for range 1 + rng.IntN(30) {
				c.Stations = append(c.Stations, s)
			}
		}
		got, err := c.Solve(80)
		if err != nil {
			t.Fatal(err)
		}
		g := (&recursion{think: c.Think}).constants(80)
		for _, s := range c.Stations {
			g = s.convolve(g)
		}
		for n, x := range got {
			if want := math.Exp(g[n] - g[n+1]); !near(x, want, 1e-9) {
				t.Fatalf("%+v: X(%d) = %v, want %v", c, n+1, x, want)
			}
		}
	}
	// With as many hosts as that no request meets another, X = N/(D+Z), D in all of them.
	c := Closed{Stations: slices.Repeat([]Station{{1e-9, 1}}, 1_000_000), Think: 1}
	if got, err := c.Solve(100_000); err != nil || !near(got[len(got)-1], 100_000/1.001, 1e-3) {
		t.Errorf("a million hosts: %v", err)
	}
}

// TestSolveOfMany: ten thousand users, stations of many servers at their limit.
func TestSolveOfMany(t *testing.T) {
	c := Closed{[]Station{{.004, 1}, {.1, 64}, {.01, 4}}, 7}
	got, err := c.Solve(10_000)
	if err != nil {
		t.Fatal(err)
	}
	limit, at := c.Limit()
	if at != 0 || !near(got[len(got)-1], limit, 1e-6) || !near(c.Knee(), 250*7.114, 1e-12) {
		t.Errorf("X = %v, limit %v at station %d, knee %v; want the limit 250 at station 0, knee 1778.5", got[len(got)-1], limit, at, c.Knee())
	}
	for n, x := range got {
		if n > 0 && x < got[n-1]*(1-1e-9) {
			t.Fatalf("X(%d) = %v is less than X(%d) = %v", n+1, x, n, got[n-1])
		}
	}
}

func TestSolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		of    Closed
		users int
	}{
		"no users":        {Closed{single(1), 1}, 0},
		"too many":        {Closed{single(1), 1}, MostUsers + 1},
		"negative demand": {Closed{single(-1), 1}, 1},
		"no server":       {Closed{[]Station{{1, 0}}, 1}, 1},
		"NaN":             {Closed{single(math.NaN()), 1}, 1},
		"no time at all":  {Closed{single(0), 0}, 2},
		"too many steps":  {Closed{slices.Repeat([]Station{{1, 64}}, 10_000), 1}, 1000},
	} {
		if got, err := c.of.Solve(c.users); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, ErrArgument)
		}
	}
	if b, ok := (Closed{[]Station{{1, 2}}, 1}).Balanced(3); ok {
		t.Errorf("balanced bounds of a station with two servers: %v, want none", b)
	}
}

func TestLaws(t *testing.T) {
	if !near(Response(100, 100/7.5, 7), .5, 1e-12) || !near(Demand(.2, 40), .005, 1e-12) {
		t.Error("the laws contradict each other")
	}
}

func BenchmarkSolve(b *testing.B) {
	c := Closed{[]Station{{.004, 1}, {.1, 16}, {.01, 4}, {.003, 1}}, 7}
	for b.Loop() {
		if _, err := c.Solve(10_000); err != nil {
			b.Fatal(err)
		}
	}
}
