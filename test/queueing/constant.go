package queueing

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/stats"
)

// MDc is a queue with Poisson arrivals, one constant service time, and so many
// servers who serve first come, first served, without a bound on how many
// wait. With one server it is M/D/1. Times are in seconds, rates per second.
//
// Erlang's and Crommelin's series for its waiting times alternate in sign and
// lose all digits when the wait is long. The way here adds positive terms only:
//
//  1. A service time later, all that were being served have left. So the
//     number of those who wait, seen at intervals of a service time, is the
//     reflected random walk V' = max(V + A − c, 0), A Poisson with mean λD.
//  2. Spitzer's identity gives V's generating function as the exponential of a
//     power series whose coefficients are sums of Poisson probabilities
//     (Spitzer, Transactions of the AMS 82, 1956; Asmussen, Applied Probability
//     and Queues, 2003, section VIII.4).
//  3. The waiting time follows from V (Franx, Operations Research Letters 29,
//     2001, theorem 1; Tijms, A First Course in Stochastic Models, 2003,
//     section 9.6).
type MDc struct {
	Servers int     // c ≥ 1
	Rate    float64 // λ > 0, of arrivals
	Service float64 // D > 0, the time that a request keeps its server
}

// Utilisation is ρ = λD/c. The error is stats.ErrArgument without a stationary
// state: ρ ≥ 1.
func (q MDc) Utilisation() (float64, error) { return utilisation(q.Servers, q.Rate, q.Service) }

// MeanWait is the mean time before service begins, of all requests. With one
// server it is ρD/(2(1 − ρ)) (Pollaczek and Khinchine; Kleinrock, Queueing
// Systems 1, 1975, equation 5.71), otherwise the mean number of those who wait
// divided by λ (Little), which is Crommelin's series (1934).
func (q MDc) MeanWait() (float64, error) {
	rho, err := q.Utilisation()
	if err != nil {
		return 0, err
	}
	if q.Servers == 1 {
		return finite(rho * q.Service / (2 * (1 - rho)))
	}
	s, err := q.walk(0)
	if err != nil {
		return 0, err
	}
	return finite(s.mean / q.Rate)
}

// MeanResponse is the mean time from arrival to the end of service.
func (q MDc) MeanResponse() (float64, error) {
	w, err := q.MeanWait()
	if err != nil {
		return 0, err
	}
	return finite(w + q.Service)
}

// WaitOver is the probability of waiting for longer than t ≥ 0 seconds, to
// about 1e-12.
func (q MDc) WaitOver(t float64) (float64, error) {
	if _, err := q.Utilisation(); err != nil {
		return 0, err
	}
	if err := checkTime(t); err != nil {
		return 0, err
	}
	k := math.Floor(t/q.Service) + 1
	if k*float64(q.Servers) > mostWaiting {
		return 0, fmt.Errorf("probability of waiting for %v service times: %w", k, stats.ErrArgument)
	}
	within, err := q.waitingWithin(int(k) * q.Servers)
	if err != nil {
		return 0, err
	}
	return max(0, 1-q.waitWithin(t, int(k), within)), nil
}

// WaitQuantile is the time within which service has begun for a share p of
// requests, 0 ≤ p ≤ 1 − 1e-9; 0 for the share that need not wait.
func (q MDc) WaitQuantile(p float64) (float64, error) {
	if !(p >= 0 && p <= 1-1e-9) {
		return 0, fmt.Errorf("quantile %v, want 0 to 1 − 1e-9: %w", p, stats.ErrArgument)
	}
	c := q.Servers
	for n := 64 * max(c, 1); ; n *= 2 {
		within, err := q.waitingWithin(min(n, mostWaiting))
		if err != nil {
			return 0, err
		}
		// The theorem at t = kD: P(W ≤ kD) = P(V ≤ kc − 1).
		for k := 1; k*c <= len(within); k++ {
			if within[k*c-1] >= p {
				return q.waitQuantileIn(k, p, within)
			}
		}
		if n >= mostWaiting {
			return 0, fmt.Errorf("quantile %v at a utilisation so near 1: %w", p, stats.ErrArgument)
		}
	}
}

// waitQuantileIn looks between k − 1 and k service times.
func (q MDc) waitQuantileIn(k int, p float64, within []float64) (float64, error) {
	begin := float64(k-1) * q.Service
	if q.waitWithin(begin, k, within) >= p {
		return begin, nil
	}
	t, err := invertTail(func(t float64) (float64, error) {
		return 1 - q.waitWithin(begin+min(t, q.Service), k, within), nil
	}, p, q.Service)
	return begin + t, err
}

// ResponseQuantile is the time within which a share p of requests is done,
// 0 ≤ p ≤ 1 − 1e-9.
func (q MDc) ResponseQuantile(p float64) (float64, error) {
	w, err := q.WaitQuantile(p)
	if err != nil {
		return 0, err
	}
	return finite(w + q.Service)
}

// waitWithin is Franx's theorem: for (k−1)D ≤ t ≤ kD,
//
//	P(W ≤ t) = Σ_{j=0}^{kc−1} P(V ≤ kc−1−j)·e^{−m}m^j/j!,  m = λ(kD − t)
func (q MDc) waitWithin(t float64, k int, within []float64) float64 {
	m := max(0, q.Rate*(float64(k)*q.Service-t))
	arrive := math.Exp(-m) // the probability of j arrivals
	sum := 0.0
	for j := range k * q.Servers {
		sum += within[k*q.Servers-1-j] * arrive
		arrive *= m / float64(j+1)
	}
	return min(sum, 1)
}

// Limits of what is computed.
const (
	mostWaiting = 20_000    // requests that wait
	mostSteps   = 5_000_000 // of the random walk: up to a utilisation of .996
)

// waitingWithin is P(V ≤ n) for n below so many. The exponential Σ v_n z^n of
// a power series −over + Σ l_n z^n follows from its derivative:
// v_0 = exp(−over), n·v_n = Σ_{i=1}^n i·l_i·v_{n−i}.
func (q MDc) waitingWithin(many int) ([]float64, error) {
	s, err := q.walk(many)
	if err != nil {
		return nil, err
	}
	v := make([]float64, many)
	within := make([]float64, many)
	v[0] = math.Exp(-s.over)
	within[0] = v[0]
	for n := 1; n < many; n++ {
		for i := 1; i <= n; i++ {
			v[n] += float64(i) * s.at[i] * v[n-i]
		}
		v[n] /= float64(n)
		within[n] = within[n-1] + v[n]
	}
	return within, nil
}

// walk is what Spitzer's identity needs of the sums S_i of i steps A − c: sums
// over i ≥ 1, each term divided by i.
type walk struct {
	at   []float64 // of P(S_i = k), k below len(at); at[0] is not used
	over float64   // of P(S_i > 0)
	mean float64   // of E max(S_i, 0): the mean of V
}

// walk adds up Poisson probabilities: S_i = k means ic + k arrivals in i
// service times. P(S_i > 0) ≤ exp(−ich), h = ρ − 1 − ln ρ (Chernoff), says when
// to stop.
func (q MDc) walk(many int) (walk, error) {
	rho, err := q.Utilisation()
	if err != nil {
		return walk{}, err
	}
	fall := float64(q.Servers) * (rho - 1 - math.Log(rho))
	steps := math.Ceil(math.Log(1e17/min(fall, 1)) / fall)
	if !(steps <= mostSteps) {
		return walk{}, fmt.Errorf("utilisation %v is too near 1 for this sum: %w", rho, stats.ErrArgument)
	}
	s := walk{at: make([]float64, many)}
	// The smallest terms first: after the others they would be lost one by
	// one, and there are many.
	for i := int(steps); i >= 1; i-- {
		s.step(float64(i), float64(i*q.Servers), float64(i)*q.Rate*q.Service)
	}
	return s, nil
}

// step adds the term of i steps, in which leave requests are served and arrive
// come on average. Probabilities fall faster than ρ^k, so what is left out at
// the end is below 1e-18.
func (s *walk) step(i, leave, arrive float64) {
	p := poisson(leave+1, arrive) / i
	rho := arrive / leave
	over, mean := 0.0, 0.0
	for k := 1; p > 1e-18*(1-rho)*(1-rho); k++ {
		if k < len(s.at) {
			s.at[k] += p
		}
		over += p
		mean += float64(k) * p
		p *= arrive / (leave + float64(k) + 1)
	}
	s.over += over
	s.mean += mean
}

// poisson is the probability of n ≥ 1 arrivals where m come on average, with
// all its digits also where n is large: the difference of n·ln m, m and ln n!
// would lose them (Loader, Fast and Accurate Computation of Binomial
// Probabilities, 2000).
func poisson(n, m float64) float64 {
	u := (m - n) / n
	return math.Exp(-stirlingError(n)-n*(u-math.Log1p(u))) / math.Sqrt(2*math.Pi*n)
}

// stirlingError is ln n! less Stirling's approximation of it,
// n·ln n − n + ln √(2πn).
func stirlingError(n float64) float64 {
	if n < 16 {
		lg, _ := math.Lgamma(n + 1)
		return lg - n*math.Log(n) + n - math.Log(2*math.Pi*n)/2
	}
	q := n * n
	return (1./12 - (1./360-(1./1260-1./1680/q)/q)/q) / n
}
