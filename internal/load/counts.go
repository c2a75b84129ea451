package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Kind says in what way an operation failed.
type Kind uint8

// The kinds of failures.
const (
	// ErrConnect: no connection could be made.
	ErrConnect Kind = iota
	// ErrTimeout: no whole answer came in time.
	ErrTimeout
	// ErrClosed: the connection ended before the answer did.
	ErrClosed
	// ErrProtocol: what came is not an answer in this protocol, or exceeds
	// its limits.
	ErrProtocol
	// ErrStatus: the server answered that it did not do it.
	ErrStatus
	// ErrWrong: the answer is well-formed and not the one expected.
	ErrWrong
	// ErrMissing: what was written before is not there any more.
	ErrMissing
	// Kinds is how many there are.
	Kinds = iota
)

var kindNames = [Kinds]string{"connect", "timeout", "closed", "protocol", "status", "wrong", "missing"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is a failed operation; Err says more and may be nil.
type Error struct {
	Kind Kind
	Err  error
	// Status is that of an answer over HTTP, where that is why; 0 otherwise.
	Status int
	// Full is, of kind ErrConnect, the server's answer that it allows no more
	// connections; empty otherwise.
	Full string
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Kind.String() + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of an operation's error; what says nothing of itself
// counts as refused by the server.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ErrStatus
}

// Ended reports whether an error is what reading from, or writing to, a
// connection that the other side has ended comes to.
func Ended(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE},
		func(end error) bool { return errors.Is(err, end) })
}

// Fault gives the error of an operation, if there is one, its kind, for packages that
// implement [Client]: ErrTimeout if ctx is done, whatever a library makes of it; otherwise
// what own says, which knows the product's errors and returns false for others; otherwise
// what is known of connections; otherwise ErrProtocol, for the library did not understand
// what it was told.
func Fault(ctx context.Context, err error, own func(error) (Kind, bool)) error {
	if err == nil {
		return nil
	}
	kind, known := ErrTimeout, true
	if ctx.Err() == nil {
		kind, known = own(err)
	}
	is := func(target error) bool { return errors.Is(err, target) }
	var netErr net.Error
	switch {
	case known:
	case is(context.DeadlineExceeded), is(context.Canceled), is(os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		kind = ErrTimeout
	case Ended(err):
		kind = ErrClosed
	case is(syscall.ECONNREFUSED), is(syscall.EHOSTUNREACH), is(syscall.ENETUNREACH):
		kind = ErrConnect
	default:
		kind = ErrProtocol
	}
	return &Error{Kind: kind, Err: err}
}

// Redacted is an error with a text that shows no secrets. It still is what the
// error was.
type Redacted struct {
	Text string
	Err  error
}

func (r *Redacted) Error() string { return r.Text }

// Unwrap returns the error itself.
func (r *Redacted) Unwrap() error { return r.Err }

// Counts are the outcomes of the operations that were due in some time.
//
//	Due = OK + sum(Errors) + Dropped + Unfinished
type Counts struct {
	Due int64
	OK  int64
	// Errors counts failures by [Kind].
	Errors [Kinds]int64
	// Statuses are those of the answers among Errors[ErrStatus], where the
	// protocol has them.
	Statuses StatusCounts
	// Dropped operations were never sent: none of the connections allowed
	// became free until the operation timed out, or the run ended.
	Dropped int64
	// Unfinished operations were sent, and the run ended before they did:
	// they took longer than the time that was left.
	Unfinished int64
	// Late counts operations sent more than [LateAfter] after they were due
	// although a connection was free: the generator's doing.
	Late int64
	// Waited counts operations that were due while no connection was free,
	// and sent later for that: all that are allowed were busy, or one had to
	// be opened first.
	Waited int64
	// Repeated counts operations that were sent again over a new connection: the
	// server had closed the one that they were sent over, which was in use before,
	// without a byte of an answer, and so soon that it need not have had them
	// (RFC 9112, section 9.3.1; see [Crossed]). They have an end as all others.
	Repeated int64
}

// Failed is how many operations failed, of every kind.
func (c Counts) Failed() int64 {
	var n int64
	for _, e := range c.Errors {
		n += e
	}
	return n
}

// Refused is how many operations had an answer that was an error.
func (c Counts) Refused() int64 { return c.Failed() - c.Errors[ErrTimeout] }

// Settled is how many of those that were due have an end.
func (c Counts) Settled() int64 { return c.OK + c.Failed() + c.Dropped + c.Unfinished }

// Add adds the outcomes of other operations.
func (c *Counts) Add(o Counts) {
	c.Due += o.Due
	c.OK += o.OK
	for k := range c.Errors {
		c.Errors[k] += o.Errors[k]
	}
	for _, s := range o.Statuses {
		if s.Count > 0 {
			c.Statuses.Add(s.Status, s.Count)
		}
	}
	c.Dropped += o.Dropped
	c.Unfinished += o.Unfinished
	c.Late += o.Late
	c.Waited += o.Waited
	c.Repeated += o.Repeated
}

// Op is what is known of one kind of operation over some time. Histograms are
// in nanoseconds; nil where there was nothing to record.
type Op struct {
	Counts
	// Latency is from when an operation was due until its answer was whole,
	// of those that are OK.
	Latency *hdr.Histogram
	// Service is the same from when it was sent: what a load generator that
	// omits the waiting would report. For comparison only.
	Service *hdr.Histogram
}

// Second is what is known of the operations that were due in one second of a
// run, and of what happened in it.
type Second struct {
	// Index counts the seconds of the run from 0. The last one may be
	// shorter. Those after the plan's end, in which answers were still waited
	// for, have nothing due.
	Index int
	// Ops are in the driver's order.
	Ops []Op
	// Lag is from when an operation was due, or a connection became free for
	// it, until it was sent, in ns: the generator's own delay.
	Lag *hdr.Histogram
	// ReceiveLag is from when an answer was whole in the kernel until it was
	// read, in ns: the generator's own delay, too, but no part of a latency.
	// Only answers that the kernel has stamped have one; latencies of others
	// include it.
	ReceiveLag *hdr.Histogram
	// Replies is how many operations ended OK in this second, whenever they
	// were due: the throughput achieved.
	Replies int64
	// Sent and Received are bytes that were written and read in it; 0 where
	// the driver cannot know.
	Sent, Received int64
}

// Total adds up the operations of a second.
func (s Second) Total() Counts {
	var c Counts
	for _, o := range s.Ops {
		c.Add(o.Counts)
	}
	return c
}
