package load

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
)

// Summary is what one generator saw in the scored seconds of a window: those
// after warming up.
type Summary struct {
	Scored time.Duration
	// Ops are in the driver's order; their names stand beside them in Names.
	Names   []string
	Ops     []Op
	Lag     *hdr.Histogram
	Usage   Usage
	Seconds Seconds
	// RTT are times of TCP handshakes beside the load.
	RTT []Handshake
	// Segments arrived in the scored seconds; none where nobody knows.
	Segments Segments
	// Sent and Received are bytes; 0 where the driver does not know.
	Sent, Received int64
	// Replies is how many operations ended OK in the scored seconds, whenever
	// they were due: what a server does that falls behind.
	Replies int64

	err error // of encoding Seconds
}

// Handshake is the time from SYN to SYN-ACK, which the target's kernel answers
// and not its application.
type Handshake struct {
	At   time.Duration // since the start of the run
	Took time.Duration
	// Lost: a SYN or its answer did not arrive, so that Took is no round trip:
	// it is how long it took with what was sent again, or until it was given
	// up.
	Lost bool
}

// Scorer adds up the seconds of a run that are scored.
type Scorer struct {
	from, to int // seconds: from ≤ Index < to
	sum      *Second
	seconds  Seconds
	err      error // the first one of encoding them
}

// NewScorer scores the seconds after warmUp, until both have passed; each is a
// whole number of seconds.
func NewScorer(ops int, warmUp, scored time.Duration) *Scorer {
	from := int(warmUp / time.Second)
	return &Scorer{from: from, to: from + int(scored/time.Second), sum: newSecond(0, ops)}
}

// Add takes the next second of the run.
func (s *Scorer) Add(x Second) {
	if x.Index < s.from || x.Index >= s.to {
		return
	}
	s.sum.add(&x)
	if err := s.seconds.add(x); s.err == nil {
		s.err = err
	}
}

// Summary returns what was scored.
func (s *Scorer) Summary(names []string, usage Usage) Summary {
	return Summary{
		Scored: time.Duration(s.to-s.from) * time.Second, Names: names, Ops: s.sum.Ops, Lag: s.sum.Lag,
		Usage: usage, Seconds: s.seconds, Sent: s.sum.Sent, Received: s.sum.Received, Replies: s.sum.Replies, err: s.err,
	}
}

// Total adds up all kinds of operations.
func (s Summary) Total() (Op, error) {
	total := Op{Latency: newHistogram(), Service: newHistogram()}
	for _, o := range s.Ops {
		total.Add(o.Counts)
		var err error
		if total.Latency, err = histogram.Merge(total.Latency, o.Latency); err != nil {
			return Op{}, err
		}
		if total.Service, err = histogram.Merge(total.Service, o.Service); err != nil {
			return Op{}, err
		}
	}
	return total, nil
}
