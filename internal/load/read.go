package load

import (
	"fmt"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
)

// ReadSummary reads what Report has published. The error is model.ErrUsage: the
// result is not of a workload that offers load.
func ReadSummary(r model.Result) (Summary, error) {
	s := Summary{}
	for _, x := range r.Samples {
		s.take(x)
	}
	if s.Scored <= 0 || len(s.Ops) == 0 {
		return Summary{}, fmt.Errorf("%w: task %s has not offered a load", model.ErrUsage, r.Task)
	}
	for _, x := range r.Host {
		s.takeRecording(x)
	}
	for _, h := range r.Histograms {
		if err := s.takeHistogram(h); err != nil {
			return Summary{}, fmt.Errorf("%w: task %s: %s: %w", model.ErrUsage, r.Task, h.Metric, err)
		}
	}
	return s, nil
}

func (s *Summary) take(x model.Sample) {
	switch x.Metric {
	case MetricScored:
		s.Scored = time.Duration(x.Value * 1e9)
	case MetricBusy:
		s.Usage.Busy = x.Value
	case MetricSent:
		s.Sent = int64(x.Value)
	case MetricReceived:
		s.Received = int64(x.Value)
	case MetricSegments:
		s.Segments.In = int64(x.Value)
	case MetricOutOfOrder:
		s.Segments.OutOfOrder = int64(x.Value)
	case MetricOpened:
		s.Usage.Opened = int64(x.Value)
	case metricErrors:
		if k := slices.Index(kindNames[:], x.Labels["kind"]); k >= 0 {
			s.op(x.Labels["op"]).Errors[k] = int64(x.Value)
		}
	}
	for _, c := range counters {
		if c.metric == x.Metric {
			*c.of(&s.op(x.Labels["op"]).Counts) = int64(x.Value)
		}
	}
}

// op finds or adds an operation by its name.
func (s *Summary) op(name string) *Op {
	i := slices.Index(s.Names, name)
	if i < 0 {
		i = len(s.Names)
		s.Names, s.Ops = append(s.Names, name), append(s.Ops, Op{})
	}
	return &s.Ops[i]
}

func (s *Summary) takeHistogram(x model.Histogram) error {
	if x.Second > 0 {
		s.takeSecond(x)
		return nil
	}
	into := s.place(x)
	if into == nil {
		return nil // of another source
	}
	h, err := histogram.Decode(x.Encoded)
	*into = h
	return err
}

// takeSecond takes the latencies of one second.
func (s *Summary) takeSecond(x model.Histogram) {
	for i, name := range s.Names {
		if x.Metric == name+suffixLatency {
			at := s.second(x.Second - 1)
			s.Seconds.Latencies[at][i] = x.Encoded
		}
	}
}

// place is where a histogram belongs; nil if it is none of ours.
func (s *Summary) place(x model.Histogram) **hdr.Histogram {
	if x.Metric == HistogramLag {
		return &s.Lag
	}
	for i, name := range s.Names {
		switch x.Metric {
		case name + suffixLatency:
			return &s.Ops[i].Latency
		case name + suffixService:
			return &s.Ops[i].Service
		}
	}
	return nil
}

func (s *Summary) takeRecording(x model.HostSeries) {
	for i, at := range x.Offsets {
		index := int(time.Duration(at) / time.Second)
		switch v := x.Values[i]; x.Metric {
		case RecordingRTT, RecordingLost:
			s.RTT = append(s.RTT, Handshake{At: time.Duration(at), Took: time.Duration(v * 1e9), Lost: x.Metric == RecordingLost})
		case recordingDue:
			at := s.second(index)
			s.Seconds.Due[at] = int64(v)
		case recordingOK:
			at := s.second(index)
			s.Seconds.OK[at] = int64(v)
		case recordingReplies:
			at := s.second(index)
			s.Seconds.Replies[at] = int64(v)
			s.Replies += int64(v)
		}
	}
}

// second finds or adds a second.
func (s *Summary) second(index int) int { return s.Seconds.at(index, len(s.Ops)) }
