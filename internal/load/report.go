package load

import (
	"fmt"
	"runtime"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
)

// Sink takes a summary; a workload.Reporter is one.
type Sink interface {
	Sample(model.Sample)
	Histogram(model.Histogram)
	Recording(model.HostSeries)
}

// Names of what a summary is made of in a result. Where there is more than one
// kind of operation, samples have the label "op", and histograms the name of
// the operation before theirs.
const (
	MetricScored     = "load_scored"
	MetricThroughput = "load_throughput"
	MetricBusy       = "generator_busy"
	MetricCPU        = "generator_cpu"
	MetricSpun       = "generator_spun"    // cores that were in use for nothing but watching
	MetricCores      = "generator_cores"   // that the process may use
	MetricMachine    = "generator_machine" // cores of its machine
	MetricOpened     = "generator_connections_opened"
	MetricSent       = "load_sent"
	MetricReceived   = "load_received"
	MetricSegments   = "generator_segments_received"
	MetricOutOfOrder = "generator_segments_out_of_order"
	HistogramLag     = "load_lag"
	RecordingRTT     = "load_rtt"
	RecordingLost    = "load_rtt_lost" // handshakes that are no round trip
	metricErrors     = "load_errors"
	suffixLatency    = "_latency"
	suffixService    = "_service"
	recordingDue     = "load_due_second"
	recordingOK      = "load_ok_second"
	recordingReplies = "load_replies_second"
)

// counters are the counts of a result by name, errors apart.
var counters = []struct {
	metric string
	of     func(*Counts) *int64
}{
	{"load_due", func(c *Counts) *int64 { return &c.Due }},
	{"load_ok", func(c *Counts) *int64 { return &c.OK }},
	{"load_dropped", func(c *Counts) *int64 { return &c.Dropped }},
	{"load_unfinished", func(c *Counts) *int64 { return &c.Unfinished }},
	{"load_late", func(c *Counts) *int64 { return &c.Late }},
	{"load_waited", func(c *Counts) *int64 { return &c.Waited }},
}

// Report publishes a summary, all of it.
func (s Summary) Report(to Sink) error {
	if s.err != nil {
		return s.err
	}
	info := func(metric, unit string, v float64, labels map[string]string) {
		to.Sample(model.Sample{Metric: metric, Unit: unit, Value: v, Better: model.Lower, Labels: labels, Info: true})
	}
	for i, o := range s.Ops {
		labels := map[string]string{"op": s.Names[i]}
		for _, c := range counters {
			info(c.metric, "1", float64(*c.of(&o.Counts)), labels)
		}
		for k, n := range o.Errors {
			info(metricErrors, "1", float64(n), map[string]string{"op": s.Names[i], "kind": Kind(k).String()})
		}
	}
	to.Sample(model.Sample{Metric: MetricThroughput, Unit: "op/s", Value: float64(s.Replies) / s.Scored.Seconds(), Better: model.Higher})
	info(MetricScored, "s", s.Scored.Seconds(), nil)
	info(MetricBusy, "1", s.Usage.Busy, nil)
	info(MetricCPU, "core", s.Usage.CPU.Seconds()/max(s.Usage.Loaded.Seconds(), 1e-9), nil)
	info(MetricSpun, "core", s.Usage.Spun.Seconds()/max(s.Usage.Loaded.Seconds(), 1e-9), nil)
	info(MetricCores, "core", float64(Cores()), nil)
	info(MetricMachine, "core", float64(runtime.NumCPU()), nil)
	info(MetricOpened, "1", float64(s.Usage.Opened), nil)
	info(MetricSent, "byte", float64(s.Sent), nil)
	info(MetricReceived, "byte", float64(s.Received), nil)
	info(MetricSegments, "1", float64(s.Segments.In), nil)
	info(MetricOutOfOrder, "1", float64(s.Segments.OutOfOrder), nil)
	s.record(to)
	return s.histograms(to)
}

// histograms publishes the distributions that are not empty: of all that is
// scored, and the latencies of each second.
func (s Summary) histograms(to Sink) error {
	for i, o := range s.Ops {
		if err := put(to, s.Names[i]+suffixLatency, o.Latency); err != nil {
			return err
		}
		if err := put(to, s.Names[i]+suffixService, o.Service); err != nil {
			return err
		}
		for k, index := range s.Seconds.Index {
			if encoded := s.Seconds.Latencies[k][i]; encoded != "" {
				to.Histogram(model.Histogram{Metric: s.Names[i] + suffixLatency, Unit: "ns", Second: index + 1, Encoded: encoded})
			}
		}
	}
	return put(to, HistogramLag, s.Lag)
}

func put(to Sink, metric string, h *hdr.Histogram) error {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	encoded, err := histogram.Encode(h)
	if err != nil {
		return fmt.Errorf("%s: %w", metric, err)
	}
	to.Histogram(model.Histogram{Metric: metric, Unit: "ns", Encoded: encoded})
	return nil
}

// record publishes what changes from second to second, and the handshakes.
func (s Summary) record(to Sink) {
	for _, column := range []struct {
		metric string
		counts []int64
	}{{recordingDue, s.Seconds.Due}, {recordingOK, s.Seconds.OK}, {recordingReplies, s.Seconds.Replies}} {
		r := model.HostSeries{Metric: column.metric, Unit: "op"}
		for i, index := range s.Seconds.Index {
			r.Offsets, r.Values = append(r.Offsets, int64(index)*1e9), append(r.Values, float64(column.counts[i]))
		}
		if len(r.Offsets) > 0 {
			to.Recording(r)
		}
	}
	rtt := model.HostSeries{Metric: RecordingRTT, Unit: "s"}
	lost := model.HostSeries{Metric: RecordingLost, Unit: "s"}
	for _, h := range s.RTT {
		into := &rtt
		if h.Lost {
			into = &lost
		}
		into.Offsets, into.Values = append(into.Offsets, h.At.Nanoseconds()), append(into.Values, h.Took.Seconds())
	}
	for _, r := range []model.HostSeries{rtt, lost} {
		if len(r.Offsets) > 0 {
			to.Recording(r)
		}
	}
}
