// Package queueing is what theory says of the queues M/M/c and M/D/c, for tests
// of the load engine and of the server that it is tried on. Results are finite,
// or there is an error.
package queueing

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/stats"
)

// MMc is a queue with Poisson arrivals, exponential service times, and so many
// servers who serve first come, first served, without a bound on how many
// wait. With one server it is M/M/1. Times are in seconds, rates per second.
type MMc struct {
	Servers int     // c ≥ 1
	Rate    float64 // λ > 0, of arrivals
	Service float64 // 1/μ > 0, the mean time that a request keeps its server
}

// Utilisation is ρ = λ/(cμ), the share of the time in which a server is busy.
// The error is stats.ErrArgument without a stationary state: ρ ≥ 1.
func (q MMc) Utilisation() (float64, error) { return utilisation(q.Servers, q.Rate, q.Service) }

func utilisation(servers int, rate, service float64) (float64, error) {
	if servers < 1 || !(rate > 0) || !(service > 0) {
		return 0, fmt.Errorf("queue of %d servers, %v arrivals/s, %v s of service: %w", servers, rate, service, stats.ErrArgument)
	}
	rho, err := finite(rate * service / float64(servers))
	if err != nil {
		return 0, fmt.Errorf("utilisation: %w", err)
	}
	if rho >= 1 {
		return 0, fmt.Errorf("utilisation %v: the queue grows without bound: %w", rho, stats.ErrArgument)
	}
	return rho, nil
}

// finite passes x on, or an error when the arithmetic has overflowed.
func finite(x float64) (float64, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("result is %v: %w", x, stats.ErrNotFinite)
	}
	return x, nil
}

func checkTime(t float64) error {
	if !(t >= 0) || math.IsInf(t, 1) {
		return fmt.Errorf("probability of taking longer than %v s: %w", t, stats.ErrArgument)
	}
	return nil
}

func checkBelowOne(p float64) error {
	if !(p >= 0 && p < 1) {
		return fmt.Errorf("quantile %v, want 0 to below 1: %w", p, stats.ErrArgument)
	}
	return nil
}

// ErlangB is the share of requests refused by so many servers without a queue,
// if a = λ/μ ≥ 0 erlangs are offered (Erlang, 1917). Computed by B(0) = 1,
// B(n) = aB(n−1)/(n + aB(n−1)), with only positive terms.
func ErlangB(servers int, offered float64) (float64, error) {
	if servers < 0 || !(offered >= 0) || math.IsInf(offered, 1) {
		return 0, fmt.Errorf("%v erlangs offered to %d servers: %w", offered, servers, stats.ErrArgument)
	}
	b := 1.0
	for n := 1; n <= servers; n++ {
		b = offered * b / (float64(n) + offered*b)
	}
	return b, nil
}

// WaitProbability is the share of requests that find all servers busy: Erlang's
// C formula, C = B/(1 − ρ(1 − B)) (Kleinrock, Queueing Systems 1, 1975,
// section 3.5; Cooper, Introduction to Queueing Theory, 1981, section 3.5).
func (q MMc) WaitProbability() (float64, error) {
	c, _, err := q.wait()
	return c, err
}

// wait is the share of requests that wait, C, and how long those that do wait
// on average: 1/(cμ − λ). Their waiting time is exponential.
func (q MMc) wait() (share, mean float64, err error) {
	rho, err := q.Utilisation()
	if err != nil {
		return 0, 0, err
	}
	b, err := ErlangB(q.Servers, q.Rate*q.Service)
	if err != nil {
		return 0, 0, err
	}
	return b / (1 - rho*(1-b)), q.Service / (float64(q.Servers) * (1 - rho)), nil
}

// MeanWait is the mean time before service begins, of all requests:
// C/(cμ − λ). With one server it is ρ/(μ − λ).
func (q MMc) MeanWait() (float64, error) {
	c, mean, err := q.wait()
	if err != nil {
		return 0, err
	}
	return finite(c * mean)
}

// MeanResponse is the mean time from arrival to the end of service.
func (q MMc) MeanResponse() (float64, error) {
	w, err := q.MeanWait()
	if err != nil {
		return 0, err
	}
	return finite(w + q.Service)
}

// WaitOver is the probability of waiting for longer than t ≥ 0 seconds:
// C·exp(−(cμ − λ)t).
func (q MMc) WaitOver(t float64) (float64, error) {
	c, mean, err := q.wait()
	if err != nil {
		return 0, err
	}
	if err := checkTime(t); err != nil {
		return 0, err
	}
	return c * math.Exp(-t/mean), nil
}

// ResponseOver is the probability that a request takes longer than t ≥ 0
// seconds, from arrival to the end of service. It is that of the sum of the
// waiting time and an independent exponential one:
//
//	exp(−μt)·(1 + C·(1 − exp(−xμt))/x),  x = c − 1 − λ/μ
//
// (Gross and Harris, Fundamentals of Queueing Theory, 1998, section 2.3). With
// one server it is exp(−(μ − λ)t).
func (q MMc) ResponseOver(t float64) (float64, error) {
	c, _, err := q.wait()
	if err != nil {
		return 0, err
	}
	if err := checkTime(t); err != nil {
		return 0, err
	}
	u := t / q.Service
	x := float64(q.Servers) - 1 - q.Rate*q.Service
	// exp(−u)·(1 − exp(−xu))/x as a difference would be ∞·0 where x < 0.
	return math.Exp(-u) + c*expDifference(u, x), nil
}

// expDifference is (exp(−u) − exp(−(1+x)u))/x, and its limit u·exp(−u) at 0;
// u ≥ 0, x ≥ −1.
func expDifference(u, x float64) float64 {
	if x < 0 {
		// The same with the larger exponential outside.
		return expDifference(u*(1+x), -x/(1+x)) / (1 + x)
	}
	if x*u < 1e-300 {
		return u * math.Exp(-u)
	}
	return math.Exp(-u) * -math.Expm1(-x*u) / x
}

// ResponseQuantile is the time within which a share p of requests is done,
// 0 ≤ p < 1. With one server it is −ln(1 − p)/(μ − λ), exactly.
func (q MMc) ResponseQuantile(p float64) (float64, error) {
	rho, err := q.Utilisation()
	if err != nil {
		return 0, err
	}
	if err := checkBelowOne(p); err != nil {
		return 0, err
	}
	if q.Servers == 1 {
		return finite(-math.Log1p(-p) * q.Service / (1 - rho))
	}
	return invertTail(q.ResponseOver, p, q.Service)
}

// WaitQuantile is the time within which service has begun for a share p of
// requests, 0 ≤ p < 1; 0 for the share that need not wait.
func (q MMc) WaitQuantile(p float64) (float64, error) {
	c, mean, err := q.wait()
	if err != nil {
		return 0, err
	}
	if err := checkBelowOne(p); err != nil {
		return 0, err
	}
	return finite(max(0, math.Log(c/(1-p))*mean))
}

// invertTail finds the smallest t ≥ 0 with over(t) ≤ 1 − p, for a tail that
// falls to 0 and is near that some way from scale. By bisection, to the last
// bit: no test asks so often that speed would matter.
func invertTail(over func(t float64) (float64, error), p, scale float64) (float64, error) {
	lo, hi := 0.0, scale
	for {
		tail, err := over(hi)
		if err != nil {
			return 0, err
		}
		if tail <= 1-p {
			break
		}
		lo, hi = hi, 2*hi
	}
	for mid := lo + (hi-lo)/2; lo < mid && mid < hi; mid = lo + (hi-lo)/2 {
		tail, err := over(mid)
		if err != nil {
			return 0, err
		}
		if tail <= 1-p {
			hi = mid
		} else {
			lo = mid
		}
	}
	return finite(hi)
}
