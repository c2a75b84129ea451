package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// report is what iperf3 3.x prints with --json: the part that is used.
type report struct {
	Intervals []interval `json:"intervals"`
	End       struct {
		Sent            *total `json:"sum_sent"`
		Received        *total `json:"sum_received"`
		ReceivedReverse *total `json:"sum_received_bidir_reverse"`
	} `json:"end"`
	Error string `json:"error"`
}

// interval is the sum of all connections, in each direction with --bidir.
type interval struct {
	Sum     *total `json:"sum"`
	Reverse *total `json:"sum_bidir_reverse"`
}

// total is an amount of work in a span of time, in seconds since the end of
// the part that is omitted.
type total struct {
	End         float64  `json:"end"`
	Seconds     float64  `json:"seconds"`
	Bytes       float64  `json:"bytes"`
	Retransmits *float64 `json:"retransmits"` // at the sender only
	Omitted     bool     `json:"omitted"`
}

func parseReport(text []byte) (report, error) {
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("reading iperf3's report: %w", err)
	}
	return r, nil
}

// result is one direction of a test.
type result struct {
	metric, resource string
	rate             float64 // bytes a second that were received at the other end
	seconds          float64 // that it took
	retransmits      *float64
	points           []progress
}

// progress is the work done since the end of the omitted part, in bytes.
type progress struct {
	after time.Duration
	bytes float64
}

// results takes a report apart. In both directions, the first sum is what the
// client sends and the second what it receives.
func (r report) results(receive, send bool) (all []result, err error) {
	var first, second []*total
	for _, i := range r.Intervals {
		first, second = append(first, i.Sum), append(second, i.Reverse)
	}
	if receive {
		own, series := r.End.Received, first
		if send {
			own, series = r.End.ReceivedReverse, second
		}
		// Received is what arrived at this end by the intervals: to the sum of
		// them iperf3 3.12 gives the time that the other end took, which is
		// another on a busy machine.
		points, err := cumulate(own, series)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metricReceive, err)
		}
		last := points[len(points)-1]
		res := result{metric: metricReceive, resource: model.ResourceNetworkReceive, points: points}
		if err := res.setRate(last.bytes, last.after.Seconds()); err != nil {
			return nil, err
		}
		all = append(all, res)
	}
	if send {
		// Sent is what arrived at the other end, by its own account. The
		// intervals are of this end: what they count may lie in its buffers.
		points, err := cumulate(r.End.Sent, first)
		if err == nil && r.End.Received == nil {
			err = fmt.Errorf("no sum of what was received: %w", errReport)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metricSend, err)
		}
		res := result{metric: metricSend, resource: model.ResourceNetworkSend, points: points, retransmits: r.End.Sent.Retransmits}
		if err := res.setRate(r.End.Received.Bytes, r.End.Received.Seconds); err != nil {
			return nil, err
		}
		all = append(all, res)
	}
	return all, nil
}

// setRate computes the rate from what was received.
func (r *result) setRate(bytes, seconds float64) error {
	r.rate, r.seconds = bytes/seconds, seconds
	if !(bytes > 0) || !(seconds > 0) || math.IsInf(r.rate, 0) {
		return fmt.Errorf("%s: %v bytes in %v s: %w", r.metric, bytes, seconds, errNothing)
	}
	return nil
}

var (
	errReport  = errors.New("iperf3's report has an unknown form; check that this is iperf3 version 3")
	errNothing = errors.New("iperf3 has transferred nothing")
)

// maxSeconds is beyond any test, and far below what a time.Duration can hold.
const maxSeconds = 1e6

// cumulate adds up the intervals that are scored. The first of them claims to
// reach back into the omitted part, but its bytes were counted from the end of
// that: they add up to the sum of the whole test, own. Where they do not, the
// last interval is missing, as a busy machine leaves it.
func cumulate(own *total, series []*total) ([]progress, error) {
	if own == nil {
		return nil, fmt.Errorf("no sum of this end: %w", errReport)
	}
	points := []progress{{}}
	for _, t := range series {
		if t == nil {
			return nil, fmt.Errorf("an interval without a sum: %w", errReport)
		}
		if t.Omitted {
			continue
		}
		next, err := points[len(points)-1].add(t.End, t.Bytes)
		if err != nil {
			return nil, err
		}
		points = append(points, next)
	}
	last := points[len(points)-1]
	if end, err := last.add(own.Seconds, own.Bytes-last.bytes); err == nil && end.bytes > last.bytes && end.after > last.after {
		points = append(points, end)
	}
	return points, nil
}

// add returns the point at a later second, with more bytes.
func (p progress) add(second, bytes float64) (progress, error) {
	next := progress{after: time.Duration(second * float64(time.Second)), bytes: p.bytes + bytes}
	if !(bytes >= 0) || !(second <= maxSeconds) || next.after < p.after {
		return next, fmt.Errorf("an interval goes back: %v bytes until %v s after %v: %w", bytes, second, p.after, errReport)
	}
	return next, nil
}

// reportIperf3 publishes what iperf3 measured.
func (s *session) reportIperf3(run clientRun, start time.Time) error {
	r, err := parseReport(run.text)
	if err != nil {
		return err
	}
	results, err := r.results(s.set.receive, s.set.send)
	if err != nil {
		return err
	}
	for _, res := range results {
		if res.seconds < 0.95*s.set.duration.Seconds() {
			return fmt.Errorf("iperf3 tested for %v of %v seconds: the rate would be for another duration", res.seconds, s.set.duration.Seconds())
		}
		scored := run.scored(s.set.warmUp-s.set.idle, res.points[len(res.points)-1].after).Sub(start)
		for _, p := range res.points {
			s.report.ProgressAt(res.metric, "byte", scored+p.after, p.bytes)
		}
		s.report.Sample(workload.Capacity(res.metric, "byte/s", res.rate, res.resource))
		if res.retransmits != nil {
			s.info(metricRetransmits, "segment", *res.retransmits)
		}
	}
	s.info(metricErrors, "1", float64(s.failures()))
	return nil
}

// clientRun is how a client process ran.
type clientRun struct {
	text []byte // its report
	// begun is when its connections were there, found out a little late on a
	// busy machine; ended when the process had ended.
	begun, ended time.Time
}

// scored is when the scored part began; iperf3 tells only how long that
// took: after what is omitted, and early enough to end before the process did.
func (r clientRun) scored(omitted, took time.Duration) time.Time {
	at, latest := r.begun.Add(omitted), r.ended.Add(-took)
	if at.After(latest) {
		return latest
	}
	return at
}
