package search_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/search"
)

// window says whether a window at a load passes.
type window func(load float64) bool

// situation is a server and what disturbs its measurement.
type situation struct {
	name string
	// begin makes the windows of one search.
	begin func(truth float64, rng *rand.Rand) window
	// hard: plain bisection ends early here, for being wrong.
	hard bool
}

// sharp passes up to the truth and fails above it.
func sharp(truth float64, _ *rand.Rand) window {
	return func(load float64) bool { return load <= truth }
}

// alone makes windows fail by chance, each by itself.
func alone(rate float64) func(float64, *rand.Rand) window {
	return func(truth float64, rng *rand.Rand) window {
		return func(load float64) bool { return rng.Float64() >= rate && load <= truth }
	}
}

// bursts makes windows fail by chance, several in a row: a Markov chain of two
// states; in one every window fails. rate is the share of time in that state,
// mean how many windows it lasts.
func bursts(rate, mean float64) func(float64, *rand.Rand) window {
	return func(truth float64, rng *rand.Rand) window {
		disturbed := rng.Float64() < rate
		return func(load float64) bool {
			ok := !disturbed && load <= truth
			x := rng.Float64()
			if disturbed {
				disturbed = x >= 1/mean
			} else {
				disturbed = x < rate/(1-rate)/mean
			}
			return ok
		}
	}
}

// soft makes the probability of passing fall from 3/4 to 1/4 while the load
// rises by a share, width; the truth is where it is 1/2. rate is as in alone.
func soft(width, rate float64) func(float64, *rand.Rand) window {
	scale := math.Log(1+width) / (2 * math.Log(3))
	return func(truth float64, rng *rand.Rand) window {
		return func(load float64) bool {
			failed := rng.Float64() < rate
			return rng.Float64() < 1/(1+math.Exp(math.Log(load/truth)/scale)) && !failed
		}
	}
}

// situations are those of the table. In the soft ones, three of four windows
// pass at a load, and one of four at 2.5 % more.
var situations = []situation{
	{"no window is wrong", sharp, false},
	{"5 % fail falsely", alone(.05), false},
	{"5 % fail falsely, 4 in a row", bursts(.05, 4), false},
	{"soft boundary", soft(.025, 0), false},
	{"soft boundary, 5 % fail falsely", soft(.025, .05), true},
}

// contestant is an algorithm. Its answer is the estimate of its result.
type contestant struct {
	name  string
	begin func(t *testing.T) search.Search
}

// The truths are between first and last, log-uniformly; searches begin at
// first.
const (
	first = 100.
	last  = 1e6
)

// manyWindows is the limit for all contestants: it ends none but the paper's
// runaways.
const manyWindows = 100

func algorithm(o search.Options) func(*testing.T) search.Search {
	o.Start, o.Min, o.Max = first, 1, 1e8
	return func(t *testing.T) search.Search {
		t.Helper()
		s, err := search.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

var (
	ours  = contestant{"default", algorithm(search.Options{})}
	paper = contestant{"paper", algorithm(search.Options{Algorithm: search.Paper, MaxWindows: manyWindows})}
	hawk  = contestant{"Nighthawk", func(*testing.T) search.Search { return newNighthawk(first, .01) }}
	// coarse is Nighthawk with a range like the default's.
	coarse = contestant{"Nighthawk at 2.5 %", func(*testing.T) search.Search { return newNighthawk(first, .025) }}
)

// run lets a search measure until it is over. It fails the test if that takes
// more windows than any contestant may have.
func run(t *testing.T, s search.Search, pass window) search.Result {
	t.Helper()
	for range manyWindows {
		load, _, ok := s.Next()
		if !ok {
			return s.Result()
		}
		observe(s, pass(load))
	}
	if _, _, ok := s.Next(); ok {
		t.Fatalf("the search goes on after %d windows", manyWindows)
	}
	return s.Result()
}

// observe is for servers near which the ramp's rule, where there is one, says
// what the SLA says.
func observe(s search.Search, passed bool) {
	if r, ok := s.(search.RampRule); ok {
		r.ObserveRamp(passed, passed)
		return
	}
	s.Observe(passed)
}

// truth returns the capacity of the i-th of n simulated servers: one random
// value from each of n slices of the range, so that every part is represented.
func truth(i, n int) float64 {
	rng := rand.New(rand.NewPCG(uint64(i), 4)) //nolint:gosec // repeatable on purpose
	return first * math.Pow(last/first, (float64(i)+rng.Float64())/float64(n))
}

// score is what many searches came to; shares are of all searches.
type score struct {
	right  float64 // the answer is within 5 % of the truth
	over   float64 // it is further above
	passed float64 // the load reported as passed is within 5 % of the truth
	holds  float64 // the interval holds the truth
	mean   float64 // windows
	p95    int     // windows that 95 % of the searches need at most
	// quarters are mean windows by the quarter of the range, in logarithms, in
	// which the truth lies; a decade each.
	quarters [4]float64
}

// contest lets a contestant search n servers. Every contestant meets the same
// servers and the same chance.
func contest(t *testing.T, c contestant, sit situation, n int) score {
	t.Helper()
	var s score
	var used []int
	for i := range n {
		k := truth(i, n)
		pass := sit.begin(k, rand.New(rand.NewPCG(uint64(i), 1))) //nolint:gosec // repeatable on purpose
		r := run(t, c.begin(t), pass)
		low, high := interval(r)
		s.right += share(near5(r.Estimate, k), n)
		s.over += share(r.Estimate > 1.05*k, n)
		s.passed += share(near5(r.Passed, k), n)
		s.holds += share(low <= k && k <= high, n)
		s.mean += float64(len(r.Trials)) / float64(n)
		s.quarters[i*4/n] += float64(len(r.Trials)) / float64(n/4)
		used = append(used, len(r.Trials))
	}
	slices.Sort(used)
	s.p95 = used[n*95/100]
	return s
}

func near5(x, truth float64) bool { return math.Abs(x/truth-1) <= .05 }

// interval is what the algorithm gives, or, of one that gives none, the loads
// between which it stopped.
func interval(r search.Result) (low, high float64) {
	if math.IsNaN(r.Low) {
		return r.Passed, r.Failed
	}
	return r.Low, r.High
}

func share(yes bool, n int) float64 {
	if yes {
		return 1 / float64(n)
	}
	return 0
}
