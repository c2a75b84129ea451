package loadserver

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Times is how service times are distributed.
type Times string

// The distributions of service times.
const (
	// Constant is the same time for every request.
	Constant Times = "constant"
	// Exponential times have the mean that is given, and are independent.
	Exponential Times = "exponential"
)

// Behaviour is what the server does with requests. The zero value answers all
// of them at once with an empty body.
type Behaviour struct {
	// Workers is how many requests are served at a time, first come, first
	// served; 0: all of them.
	Workers int
	// Queues is how many such servers there are side by side, each with as many
	// workers and a queue of its own. Requests are dealt out among them at
	// random, so that Poisson arrivals are Poisson arrivals at each. 0: one.
	Queues int
	// Service is how long a request keeps its worker: exactly, or on average
	// where Times is Exponential.
	Service time.Duration
	// Times is Constant where it is empty.
	Times Times
	// Room is how many requests may be there, waiting and served; who comes
	// when it is full is refused at once with status 503. It is the K of
	// M/M/c/K, of each of the queues. 0: no bound. Needs Workers.
	Room int

	// Admit bounds the rate of requests, whatever workers and room there are.
	Admit Admit

	Stall Stall
	Slow  Slow
	Fail  Fail
	Wear  Wear

	// Body is the length in bytes of the body of an answer with status 200.
	Body int
	// Chunked sends that body in chunks, without saying its length before.
	Chunked bool
	// Closing ends each connection after its first answer, which says so
	// (Connection: close).
	Closing bool
	// Seed makes exponential times repeatable, and which queue requests go to.
	Seed uint64
}

// Slow holds back some answers after their service. They occupy no worker
// meanwhile, so that they delay no other request.
type Slow struct {
	// Share is the share of requests; see [Fail].
	Share float64
	Extra time.Duration
}

// Fail makes some requests fail after their service.
type Fail struct {
	// Share is the share of requests, from 0 to 1. It is exact, not a
	// probability: of any n requests in a row n·Share fail, to within one.
	Share float64
	// How is Status where it is empty.
	How Failure
}

// Failure is a way to fail.
type Failure string

// The ways to fail.
const (
	Status   Failure = "status"   // is answered with status 503
	Redirect Failure = "redirect" // is answered with status 302, to another path
	Close    Failure = "close"    // the connection is closed instead of answered
	Reset    Failure = "reset"    // the same with a TCP reset
	Silent   Failure = "silent"   // is never answered
)

// Capacity is how many requests a second can be served, before any [Wear] and
// whatever is admitted; infinite without a bound on workers or with a service
// time of 0.
func (b Behaviour) Capacity() float64 {
	if b.Workers == 0 || b.Service == 0 {
		return math.Inf(1)
	}
	return float64(b.Workers*max(b.Queues, 1)) / b.Service.Seconds() * b.Stall.working()
}

// Check refuses what means nothing.
func (b Behaviour) Check() error {
	switch {
	case b.Workers < 0 || b.Queues < 0 || b.Service < 0 || b.Body < 0 || b.Slow.Extra < 0:
		return errors.New("workers, queues, service, body and extra are not negative")
	case b.Times != "" && b.Times != Constant && b.Times != Exponential:
		return fmt.Errorf("service times %q; they are constant or exponential", b.Times)
	case b.Room != 0 && (b.Workers == 0 || b.Room < b.Workers):
		return fmt.Errorf("room for %d with %d workers; it is at least the number of workers", b.Room, b.Workers)
	case b.Stall != (Stall{}) && (b.Stall.For <= 0 || b.Stall.For >= b.Stall.Every):
		return fmt.Errorf("a stall of %v in every %v; it is shorter than its period", b.Stall.For, b.Stall.Every)
	case !isShare(b.Slow.Share) || !isShare(b.Fail.Share):
		return fmt.Errorf("shares %v and %v; they are from 0 to 1", b.Slow.Share, b.Fail.Share)
	}
	switch b.Fail.How {
	case "", Status, Redirect, Close, Reset, Silent:
		return errors.Join(b.Admit.check(), b.Wear.check())
	}
	return fmt.Errorf("failing by %q; it is status, redirect, close, reset or silent", b.Fail.How)
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

// share picks an exact share of what it counts.
type share struct {
	of    float64
	phase float64 // from 0 to 1: where the first one lies
	n     float64
}

// next says whether the next one is picked.
func (s *share) next() bool {
	before := math.Floor(s.n*s.of + s.phase)
	s.n++
	return math.Floor(s.n*s.of+s.phase) > before
}
