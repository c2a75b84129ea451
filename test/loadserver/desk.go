package loadserver

import (
	"math/rand/v2"
	"time"
)

// desk receives requests and says what will become of them. It is pure
// arithmetic: it reads no clock and waits for nothing.
type desk struct {
	b      Behaviour
	since  time.Duration // when the behaviour was set
	queues []*workers    // one at least
	rng    *rand.Rand    // of service times
	deal   *rand.Rand    // of queues
	slow   share
	fail   share
	bucket bucket // of what is admitted
	served int    // since then
}

func newDesk(b Behaviour, now time.Duration) *desk {
	d := &desk{}
	d.set(b, now)
	return d
}

// set changes what happens to requests from now on. Those that were received
// are answered as they would have been, and keep their workers as long.
func (d *desk) set(b Behaviour, now time.Duration) {
	d.b, d.since = b, now
	d.resize(max(b.Queues, 1))
	d.rng = rand.New(rand.NewPCG(b.Seed, serviceStream)) //nolint:gosec // repeatable on purpose
	d.deal = rand.New(rand.NewPCG(b.Seed, queueStream))  //nolint:gosec // repeatable on purpose
	d.slow = share{of: b.Slow.Share}
	// Half a period away from those that are slow, so that with equal shares
	// it is not the same requests.
	d.fail = share{of: b.Fail.Share, phase: .5}
	d.bucket = bucket{tokens: b.Admit.Burst, at: now}
	d.served = 0
}

// resize makes n queues. New ones are empty; those that go finish what they
// have, for it was decided when it came.
func (d *desk) resize(n int) {
	d.queues = d.queues[:min(n, len(d.queues))]
	for len(d.queues) < n {
		d.queues = append(d.queues, newWorkers())
	}
	for _, q := range d.queues {
		q.resize(d.b.Workers)
	}
}

// Streams keep service times, and the choice of queues, apart from whatever
// else a test draws with the same seed.
const (
	serviceStream = 0x5e41ce
	queueStream   = 0x90e0e
)

// receive decides on a request that arrives now. Sent is left open.
func (d *desk) receive(now time.Duration) Request {
	r := Request{Arrived: now, Began: now, Due: now}
	if len(d.queues) > 1 {
		r.Queue = d.deal.IntN(len(d.queues))
	}
	workers := d.queues[r.Queue]
	full := d.b.Room > 0 && workers.present(now) >= d.b.Room
	if full || !d.bucket.take(d.b.Admit, now) {
		r.Outcome, r.Due = Refused, d.notInStall(now)
		return r
	}
	work := d.work()
	ends := func(begin time.Duration) time.Duration {
		return d.since + d.b.Stall.after(begin-d.since, work)
	}
	if d.b.Workers == 0 {
		r.Due = ends(now)
	} else {
		r.Began, r.Due = workers.serve(now, ends)
	}
	if d.slow.next() {
		r.Slow = true
		r.Due = d.notInStall(r.Due + d.b.Slow.Extra)
	}
	if d.fail.next() {
		r.Outcome = d.b.Fail.How.outcome()
	}
	return r
}

// notInStall is the first moment from t on at which something is answered.
func (d *desk) notInStall(t time.Duration) time.Duration {
	return d.since + d.b.Stall.resume(t-d.since)
}

// work is the service time of the next request.
func (d *desk) work() time.Duration {
	times := d.b.Wear.After(d.served)
	d.served++
	if d.b.Times == Exponential {
		times *= d.rng.ExpFloat64()
	}
	return time.Duration(times * float64(d.b.Service))
}

func (f Failure) outcome() Outcome {
	switch f {
	case Redirect:
		return Redirected
	case Close:
		return Closed
	case Reset:
		return WasReset
	case Silent:
		return Unanswered
	}
	return Failed
}
