package loadserver

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Outcome is what the server did with a request.
type Outcome uint8

// The outcomes.
const (
	OK         Outcome = iota // answered with status 200
	Failed                    // answered with status 503, as [Fail] said
	Refused                   // answered with status 503: no [Behaviour.Room], or more than [Admit]
	Redirected                // answered with status 302
	Closed                    // the connection was closed instead
	WasReset                  // and with a TCP reset
	Unanswered                // never answered
	Gone                      // the client had left before the answer was due
	outcomes                  // how many there are
)

var outcomeNames = [outcomes]string{"ok", "failed", "refused", "redirected", "closed", "reset", "unanswered", "gone"}

func (o Outcome) String() string { return outcomeNames[o] }

// Request is the outcome of one request. Times are on the clock of [Now].
type Request struct {
	// Arrived is when it was read.
	Arrived time.Duration
	// Began is when a worker took it: Began - Arrived is the waiting time of
	// queueing theory. A stall may still lie between that and the work.
	Began time.Duration
	// Due is when it was to be answered: Due - Arrived is what a client would
	// see of an ideal server over an ideal network.
	Due time.Duration
	// Sent is when the answer was given to the kernel.
	Sent time.Duration
	// Queue is which of [Behaviour.Queues] it went to, from 0.
	Queue   int
	Outcome Outcome
	// Slow: it was held back.
	Slow bool
}

// Record is what the server did in some time.
type Record struct {
	// Requests are those that ended, in the order of arrival.
	Requests []Request
	// Outstanding is how many were not answered yet; the next Record has them.
	Outstanding int
	// Accepted counts the connections that were accepted.
	Accepted int64
	// Malformed counts connections closed for what came over them.
	Malformed int64
	// CPU is the processor time that the server's process used.
	CPU time.Duration
}

// Count is how many requests had an outcome.
func (r Record) Count(o Outcome) int {
	n := 0
	for _, x := range r.Requests {
		if x.Outcome == o {
			n++
		}
	}
	return n
}

// Late is the p-quantile, 0 < p ≤ 1, of how late answers were: Sent - Due.
// Where it is not far below what is to be measured, the machine was too busy
// for a proof. 0 without a request.
func (r Record) Late(p float64) time.Duration {
	var late []time.Duration
	for _, x := range r.Requests {
		if x.Outcome != Gone {
			late = append(late, x.Sent-x.Due)
		}
	}
	return quantile(late, p)
}

// Latency is the p-quantile, 0 < p ≤ 1, of Due - Arrived of the requests that
// were answered with status 200; 0 without one.
func (r Record) Latency(p float64) time.Duration {
	var times []time.Duration
	for _, x := range r.Requests {
		if x.Outcome == OK {
			times = append(times, x.Due-x.Arrived)
		}
	}
	return quantile(times, p)
}

// quantile is the smallest value that a share of p does not exceed.
func quantile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	i := int(math.Ceil(p*float64(len(times)))) - 1
	return times[max(i, 0)]
}

// inOrder sorts by arrival.
func inOrder(requests []Request) {
	slices.SortStableFunc(requests, func(a, b Request) int { return cmp.Compare(a.Arrived, b.Arrived) })
}

// journal collects requests in pieces, so that a long one is never copied in
// the middle of a measurement.
type journal struct {
	pieces [][]Request
	rec    Record // without its requests
}

const piece = 1 << 14

func (j *journal) add(r Request) {
	last := len(j.pieces) - 1
	if last < 0 || len(j.pieces[last]) == piece {
		j.pieces = append(j.pieces, make([]Request, 0, piece))
		last++
	}
	j.pieces[last] = append(j.pieces[last], r)
}

// take empties the journal.
func (j *journal) take() Record {
	r := j.rec
	r.Requests = slices.Concat(j.pieces...)
	*j = journal{}
	return r
}
