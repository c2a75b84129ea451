// Package queueing is what laws and product-form models say of a closed system:
// so many users, who think, ask, wait for the answer, and think again.
//
//  1. [Throughput], [Response] and [Demand] are the operational laws (P. J.
//     Denning, J. P. Buzen, "The operational analysis of queueing network
//     models", ACM Computing Surveys 10(3), 1978): they hold for what was
//     measured, whatever the distributions.
//  2. [Closed.Asymptotic] and [Closed.Balanced] bound throughput and response
//     time from the demands alone.
//  3. [Closed.Solve] is the exact solution of the product-form network with these
//     demands: the numbers of mean value analysis; [Closed.Rates] the same, user by
//     user.
//  4. [Fleet] is such a network of nodes that share resources; [Fleet.Band] is between which
//     rates so many of them work.
//
// Times are in seconds, rates per second. The models know no contention: demands
// that grow with the load, as they do past many a knee, they cannot show.
package queueing

import (
	"errors"
	"fmt"
	"iter"
	"math"
)

// ErrArgument is a parameter outside its domain.
var ErrArgument = errors.New("parameter outside its domain")

// Response is the interactive response time law, R = N/X − Z.
func Response(users, throughput, think float64) float64 { return users/throughput - think }

// Demand is the service demand law, D = U/X: how many seconds of a resource an
// operation takes, where busy is how many seconds of it are used a second.
func Demand(busy, throughput float64) float64 { return busy / throughput }

// Station is a resource with its queue.
type Station struct {
	// Demand is how long an operation keeps one of the servers, over all its
	// visits.
	Demand float64
	// Servers is how many operations are served at once; 1 or more.
	Servers int
}

// Least is the least time between two operations: the station's share of 1/X.
func (s Station) Least() float64 { return s.Demand / float64(s.Servers) }

// Closed is a network of stations with users who think, on average for so long,
// between an answer and the next request. Stations serve first come, first served
// with exponential times, or share their processor with any (BCMP: F. Baskett et
// al., Journal of the ACM 22(2), 1975).
type Closed struct {
	Stations []Station
	Think    float64
}

// Total is the sum of the demands: the response time of a user alone.
func (c Closed) Total() float64 {
	sum := 0.0
	for _, s := range c.Stations {
		sum += s.Demand
	}
	return sum
}

// Limit is the most that the network does, min over the stations of
// servers/demand, and at which station; −1 and +Inf without one that has a demand.
func (c Closed) Limit() (throughput float64, station int) {
	worst, station := 0.0, -1
	for i, s := range c.Stations {
		if l := s.Least(); l > worst {
			worst, station = l, i
		}
	}
	return 1 / worst, station
}

// Knee is N* = (D+Z)·X_max, where the two asymptotes meet: with fewer users
// nothing need wait, with more something must.
func (c Closed) Knee() float64 {
	limit, _ := c.Limit()
	return limit * (c.Total() + c.Think)
}

// Bounds hold a value.
type Bounds struct{ Lo, Hi float64 }

// Asymptotic bounds the throughput with so many users (E. D. Lazowska et al.,
// Quantitative System Performance, 1984, table 5.1): at least as if all others
// were served before, at most as if nothing waited, or as the limit.
func (c Closed) Asymptotic(users float64) Bounds {
	limit, _ := c.Limit()
	d := c.Total()
	return Bounds{users / (users*d + c.Think), min(limit, users/(d+c.Think))}
}

// Balanced bounds the throughput more closely, by balanced systems (J. Zahorjan
// et al., "Balanced job bound analysis of queueing networks", Communications of
// the ACM 25(2), 1982; Lazowska et al., table 5.2). ok is false where a station has
// several servers: the bounds are not proved for these.
func (c Closed) Balanced(users float64) (b Bounds, ok bool) {
	d, n := c.Total(), 0.0
	for _, s := range c.Stations {
		if s.Servers != 1 {
			return Bounds{}, false
		}
		if s.Demand > 0 {
			n++
		}
	}
	if !(d > 0) || !(users >= 1) {
		return Bounds{}, false
	}
	limit, _ := c.Limit()
	low := users / (d + c.Think + (users-1)/limit/(1+c.Think/(users*d)))
	high := users / (d + c.Think + (users-1)*d/n/(1+c.Think/d))
	return Bounds{low, min(limit, high)}, true
}

// MostUsers is up to how many users a network is solved for.
const MostUsers = 1_000_000

// MostSteps is how many a solution takes at most: some seconds.
const MostSteps = 100_000_000

// Solve returns the throughput with 1 to so many users, in their order: exactly
// what mean value analysis gives (M. Reiser, S. S. Lavenberg, Journal of the ACM
// 27(2), 1980), with stations of several servers in the load-dependent form.
//
// Stations of one server are solved by its recursion, in which equal neighbours are
// one with a multiplicity: a thousand equal hosts take no longer than one. Those of
// several servers are added by convolution (J. P. Buzen, Communications of the ACM
// 16(9), 1973): X(n) = G(n−1)/G(n). All terms of both are positive, where the recursion
// over probabilities that mean value analysis needs for several servers takes
// differences and loses all digits at high load (G. Casale, "A note on stable
// flow-equivalent aggregation in closed networks", Queueing Systems 60, 2008).
// Constants are kept as logarithms. It takes users·(Σservers of stations with several +
// different stations with one) steps, and refuses more than MostSteps.
func (c Closed) Solve(users int) ([]float64, error) {
	if users < 1 || users > MostUsers {
		return nil, fmt.Errorf("a network of %d users, want 1 to %d: %w", users, MostUsers, ErrArgument)
	}
	if !(c.Think >= 0) || math.IsInf(c.Think, 0) {
		return nil, fmt.Errorf("a think time of %v: %w", c.Think, ErrArgument)
	}
	var alone []equal
	var several []Station
	steps := 0
	for i, s := range c.Stations {
		if !(s.Demand >= 0) || math.IsInf(s.Demand, 0) || s.Servers < 1 {
			return nil, fmt.Errorf("station %d with %d servers and a demand of %v: %w", i+1, s.Servers, s.Demand, ErrArgument)
		}
		switch last := len(alone) - 1; {
		case s.Demand == 0:
		case s.Servers > 1:
			several, steps = append(several, s), steps+min(s.Servers, users)
		case last >= 0 && alone[last].demand == s.Demand:
			alone[last].times++
		default:
			alone, steps = append(alone, equal{demand: s.Demand, times: 1}), steps+1
		}
	}
	if steps > MostSteps/users {
		return nil, fmt.Errorf("%d users and stations with %d servers are more than can be solved in a few seconds: %w", users, steps, ErrArgument)
	}
	g := (&recursion{stations: alone, think: c.Think}).constants(users)
	for _, s := range several {
		g = s.convolve(g)
	}
	out := make([]float64, users)
	for n := range out {
		out[n] = math.Exp(g[n] - g[n+1])
		if !(out[n] > 0) || math.IsInf(out[n], 0) {
			return nil, fmt.Errorf("a network without a demand and a think time: %w", ErrArgument)
		}
	}
	return out, nil
}

// equal are so many stations of one server, with the same demand at each.
type equal struct {
	demand, times float64
	queue         float64 // at each of them, with the users before
}

// Rates yields what [Closed.Solve] returns for 1, 2, 3, … users, one after the other, of
// stations with one server each, of which one has a demand, or with a think time.
func (c Closed) Rates() iter.Seq2[int, float64] {
	return func(yield func(users int, throughput float64) bool) {
		r := recursion{think: c.Think}
		for _, s := range c.Stations {
			r.stations = append(r.stations, equal{demand: s.Demand, times: 1})
		}
		for n, more := 1, true; more; n++ {
			more = yield(n, float64(n)/r.cycle(n))
		}
	}
}

// recursion is mean value analysis of a think time and stations of one server.
type recursion struct {
	stations []equal
	think    float64
}

// cycle adds user n, and is how long a cycle takes then, Z + Σ times·D·(1+Q(n−1)):
// X(n) = n/cycle.
func (r *recursion) cycle(n int) float64 {
	cycle := r.think
	for i := range r.stations {
		s := &r.stations[i]
		s.queue = s.demand * (1 + s.queue) // the time there, until X is known
		cycle += s.times * s.queue
	}
	for i := range r.stations {
		r.stations[i].queue *= float64(n) / cycle
	}
	return cycle
}

// constants are the logarithms of normalising constants, for 0 to so many users:
// G(n) = G(n−1)/X(n).
func (r *recursion) constants(users int) []float64 {
	g := make([]float64, users+1)
	for n := 1; n <= users; n++ {
		g[n] = g[n-1] + math.Log(r.cycle(n)) - math.Log(float64(n))
	}
	return g
}

// convolve adds a station to the logarithms of normalising constants. The station
// with k operations has the factor f(k) = Dᵏ/(k!) up to as many as it has servers,
// c, and f(c)·(D/c)^(k−c) beyond: that tail is one recursion.
func (s Station) convolve(g []float64) []float64 {
	f := make([]float64, s.Servers+1)
	for k := 1; k <= s.Servers; k++ {
		f[k] = f[k-1] + math.Log(s.Demand) - math.Log(float64(k))
	}
	out := make([]float64, len(g))
	tail, ratio := math.Inf(-1), math.Log(s.Least())
	for n := range g {
		sum := math.Inf(-1)
		for k := 0; k < s.Servers && k <= n; k++ {
			sum = logAdd(sum, f[k]+g[n-k])
		}
		if n >= s.Servers {
			tail = logAdd(tail+ratio, f[s.Servers]+g[n-s.Servers])
		}
		out[n] = logAdd(sum, tail)
	}
	return out
}

// logAdd is log(exp(a)+exp(b)).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
