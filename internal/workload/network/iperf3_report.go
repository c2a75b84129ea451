package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// report is what iperf3 3.x prints with --json: the part that is used.
type report struct {
	Intervals []interval `json:"intervals"`
	End       struct {
		Sent            *total `json:"sum_sent"`
		Received        *total `json:"sum_received"`
		SentReverse     *total `json:"sum_sent_bidir_reverse"`
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
	Start       float64  `json:"start"`
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
func (r report) results(receive, send bool) ([]result, error) {
	var all []result
	add := func(metric, resource string, sent, received *total, series []*total) error {
		one, err := direction(metric, resource, sent, received, series)
		all = append(all, one)
		return err
	}
	var first, second []*total
	for _, i := range r.Intervals {
		first, second = append(first, i.Sum), append(second, i.Reverse)
	}
	received, sent, series := r.End.Received, r.End.Sent, first
	if receive && send {
		received, sent, series = r.End.ReceivedReverse, r.End.SentReverse, second
	}
	if receive {
		if err := add(metricReceive, model.ResourceNetworkReceive, sent, received, series); err != nil {
			return nil, err
		}
	}
	if send {
		if err := add(metricSend, model.ResourceNetworkSend, r.End.Sent, r.End.Received, first); err != nil {
			return nil, err
		}
		if t := r.End.Sent; t != nil {
			all[len(all)-1].retransmits = t.Retransmits
		}
	}
	return all, nil
}

var errReport = errors.New("is this version 3 of iperf3?")

// direction makes the result of one direction. What was received counts, at
// whichever end; what was sent may lie in buffers.
func direction(metric, resource string, sent, received *total, series []*total) (result, error) {
	res := result{metric: metric, resource: resource}
	switch {
	case sent == nil || received == nil:
		return res, fmt.Errorf("iperf3's report has no sums for %s: %w", metric, errReport)
	case !(received.Seconds > 0) || !(received.Bytes > 0) || math.IsInf(received.Bytes/received.Seconds, 0):
		return res, fmt.Errorf("iperf3 reports %v bytes in %v s for %s: nothing was measured", received.Bytes, received.Seconds, metric)
	}
	res.rate, res.seconds = received.Bytes/received.Seconds, received.Seconds
	var err error
	res.points, err = cumulate(series)
	return res, err
}

// cumulate adds up the intervals that are scored. The first of them claims to
// reach back into the omitted part, but its bytes were counted from the end of
// that: they add up to the sum of the whole test.
func cumulate(series []*total) ([]progress, error) {
	points := []progress{{}}
	for _, t := range series {
		if t == nil {
			return nil, fmt.Errorf("an interval of iperf3's report has no sum: %w", errReport)
		}
		if t.Omitted {
			continue
		}
		last := points[len(points)-1]
		next := progress{after: time.Duration(t.End * float64(time.Second)), bytes: last.bytes + t.Bytes}
		if t.Bytes < 0 || t.End > 1e6 || next.after < last.after {
			return nil, fmt.Errorf("iperf3's report goes back: %v bytes until %v s after %v: %w", t.Bytes, t.End, last.after, errReport)
		}
		points = append(points, next)
	}
	return points, nil
}

// report publishes what iperf3 measured. began is when its test began, since
// the call of Run; what it omits comes first.
func (i *iperf3) report(s *session, text []byte, began time.Duration) error {
	r, err := parseReport(text)
	if err != nil {
		return err
	}
	results, err := r.results(s.set.receive, s.set.send)
	if err != nil {
		return err
	}
	began += s.set.warmUp - s.set.idle
	for _, res := range results {
		if res.seconds < 0.95*s.set.duration.Seconds() {
			return fmt.Errorf("iperf3 ended after %v of %v seconds: the rate would be of another duration", res.seconds, s.set.duration.Seconds())
		}
		for _, p := range res.points {
			s.report.ProgressAt(res.metric, "byte", began+p.after, p.bytes)
		}
		s.report.Sample(model.Sample{Metric: res.metric, Unit: "byte/s", Value: res.rate, Better: model.Higher, Resource: res.resource})
		if res.retransmits != nil {
			s.info(metricRetransmits, "segment", *res.retransmits)
		}
	}
	s.info(metricErrors, "1", float64(s.failures()))
	return nil
}
