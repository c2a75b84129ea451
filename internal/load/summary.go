package load

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
)

// Summary is what one generator saw in the scored seconds of a window: those
// after warming up.
type Summary struct {
	Scored time.Duration
	// Ops are in the driver's order; their names stand beside them in Names.
	Names []string
	Ops   []Op
	Lag   *hdr.Histogram
	// ReceiveLag is empty where the kernel has stamped no answer.
	ReceiveLag *hdr.Histogram
	Usage      Usage
	Seconds    Seconds
	// RTT are times of TCP handshakes beside the load.
	RTT []Handshake
	// Segments arrived in the scored seconds; none where the kernel does not say.
	Segments Segments
	// Sent and Received are bytes; 0 where the driver does not know.
	Sent, Received int64
	// Replies is how many operations ended OK in the scored seconds, whenever
	// they were due: what a server does that falls behind.
	Replies int64
	// RecordsLoaded is how many records of a data store were not there before the
	// window, and were loaded.
	RecordsLoaded int64
	// Unrecovered: the target did not keep the SLA under a light load before, and
	// may still have been working off an earlier one.
	Unrecovered bool
}

// Handshake is the time from SYN to SYN-ACK, which the target's kernel answers
// and not its application.
type Handshake struct {
	At   time.Duration // since the start of the run
	Took time.Duration
	// Lost: a SYN or its answer did not arrive. Then Took is not a round trip
	// but the time with retransmissions, or until the connection was given up.
	Lost bool
}

// Scorer adds up the seconds of a run that are scored.
type Scorer struct {
	// Whole: single seconds are not kept, only their sum.
	Whole bool

	from, to int // seconds: from ≤ Index < to
	sum      *Second
	seconds  Seconds
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
	if !s.Whole {
		s.seconds.add(x)
	}
}

// Summary returns what was scored.
func (s *Scorer) Summary(names []string, usage Usage) Summary {
	return Summary{
		Scored: time.Duration(s.to-s.from) * time.Second, Names: names, Ops: s.sum.Ops, Lag: s.sum.Lag,
		ReceiveLag: s.sum.ReceiveLag, Usage: usage, Seconds: s.seconds, Sent: s.sum.Sent, Received: s.sum.Received, Replies: s.sum.Replies,
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
	MetricScored      = "load_scored"
	MetricThroughput  = "load_throughput"
	MetricBusy        = "generator_busy"
	MetricCPU         = "generator_cpu"
	MetricSpun        = "generator_spun"    // cores that were in use for nothing but watching
	MetricCores       = "generator_cores"   // that the process may use
	MetricMachine     = "generator_machine" // cores of its machine
	MetricOpened      = "generator_connections_opened"
	MetricRejected    = "generator_stamps_rejected" // of the kernel, for receiving
	MetricAddress     = "generator_address"         // of several that the target has: connections made
	MetricSent        = "load_sent"
	MetricReceived    = "load_received"
	MetricSegments    = "generator_segments_received"
	MetricOutOfOrder  = "generator_segments_out_of_order"
	MetricUnrecovered = "load_unrecovered" // the target had not got over the load before
	HistogramLag      = "load_lag"
	HistogramReceive  = "load_receive_lag"
	RecordingRTT      = "load_rtt"
	RecordingLost     = "load_rtt_lost" // handshakes that are no round trip
	metricErrors      = "load_errors"
	metricStatus      = "load_status" // answers that were not expected, by their status
	suffixLatency     = "_latency"
	suffixService     = "_service"
	recordingDue      = "load_due_second"
	recordingOK       = "load_ok_second"
	recordingReplies  = "load_replies_second"
	MetricRecords     = "load_records_loaded" // before the window, because they were not there
)

// scalar is a whole number of a summary, by the name of its metric.
type scalar struct {
	metric, unit string
	value        *int64
}

// scalars are those of all operations together.
func (s *Summary) scalars() []scalar {
	return []scalar{
		{MetricOpened, "1", &s.Usage.Opened}, {MetricRejected, "1", &s.Usage.Rejected},
		{MetricSent, "byte", &s.Sent}, {MetricReceived, "byte", &s.Received},
		{MetricSegments, "1", &s.Segments.In}, {MetricOutOfOrder, "1", &s.Segments.OutOfOrder},
		{MetricRecords, "1", &s.RecordsLoaded},
	}
}

// distribution is a histogram of a summary, by the name of its metric.
type distribution struct {
	metric string
	of     **hdr.Histogram
}

func (s *Summary) distributions() []distribution {
	out := []distribution{{HistogramLag, &s.Lag}, {HistogramReceive, &s.ReceiveLag}}
	for i, name := range s.Names {
		o := &s.Ops[i]
		out = append(out, distribution{name + suffixLatency, &o.Latency}, distribution{name + suffixService, &o.Service})
	}
	return out
}

// scalars are the counts of one kind of operation, errors apart.
func (c *Counts) scalars() []scalar {
	return []scalar{
		{"load_due", "1", &c.Due}, {"load_ok", "1", &c.OK}, {"load_dropped", "1", &c.Dropped},
		{"load_unfinished", "1", &c.Unfinished}, {"load_late", "1", &c.Late},
		{"load_waited", "1", &c.Waited}, {"load_repeated", "1", &c.Repeated},
	}
}

// Report publishes a summary, all of it.
func (s Summary) Report(to Sink) {
	info := func(metric, unit string, v float64, labels map[string]string) {
		to.Sample(model.Sample{Metric: metric, Unit: unit, Value: v, Better: model.Lower, Labels: labels, Info: true})
	}
	for i, o := range s.Ops {
		op := s.Names[i]
		for _, c := range o.scalars() {
			info(c.metric, c.unit, float64(*c.value), map[string]string{"op": op})
		}
		for k, n := range o.Errors {
			info(metricErrors, "1", float64(n), map[string]string{"op": op, "kind": Kind(k).String()})
		}
		for _, c := range o.Statuses.Counted() {
			info(metricStatus, "1", float64(c.Count), map[string]string{"op": op, "status": strconv.Itoa(c.Status)})
		}
	}
	loaded := max(s.Usage.Loaded.Seconds(), 1e-9)
	to.Sample(model.Sample{Metric: MetricThroughput, Unit: "op/s", Value: float64(s.Replies) / s.Scored.Seconds(), Better: model.Higher})
	info(MetricScored, "s", s.Scored.Seconds(), nil)
	info(MetricBusy, "1", s.Usage.Busy, nil)
	info(MetricCPU, "core", s.Usage.CPU.Seconds()/loaded, nil)
	info(MetricSpun, "core", s.Usage.Spun.Seconds()/loaded, nil)
	info(MetricCores, "core", float64(Cores()), nil)
	info(MetricMachine, "core", float64(runtime.NumCPU()), nil)
	for _, c := range s.scalars() {
		if *c.value > 0 || c.metric != MetricRecords {
			info(c.metric, c.unit, float64(*c.value), nil)
		}
	}
	if s.Unrecovered {
		info(MetricUnrecovered, "1", 1, nil)
	}
	s.Usage.Connections.report(to)
	for _, a := range s.Usage.Addresses {
		info(MetricAddress, "1", float64(a.Opened),
			map[string]string{labelAddress: a.Address, labelState: string(a.State)})
	}
	s.record(to)
	s.histograms(to)
}

// Labels of MetricAddress.
const labelAddress, labelState = "address", "state"

// reportedLatencies are the percentiles that ReportLatencies publishes.
var reportedLatencies = []float64{.5, .9, .95, .99, .999}

// ReportLatencies publishes within which latencies operations of all kinds were
// answered, from when they were due: what tells loads at a fixed rate apart. A
// percentile that fewer operations reached is missing, and one of too few.
func (s Summary) ReportLatencies(to Sink) error {
	total, err := s.Total()
	if err != nil {
		return err
	}
	for _, q := range reportedLatencies {
		if d, known := quantileOfDue(total.Latency, total.Due, q); known && math.Round(1e6*(1-q))*float64(total.Due) >= 1e6 {
			to.Sample(model.Sample{Metric: model.MetricLoadLatency, Unit: "s", Value: d.Seconds(), Better: model.Lower, Info: true,
				Labels: map[string]string{"percentile": Percentile(q)}})
		}
	}
	return nil
}

// A task may last for days, and its result must travel: it has the latencies of
// so many seconds, and so many handshakes, evenly chosen.
const mostSeconds, mostHandshakes = 4000, 40000

// histograms publishes the distributions that are not empty: of all that is
// scored, and the latencies of each second.
func (s Summary) histograms(to Sink) {
	for _, d := range s.distributions() {
		if h := *d.of; h != nil && h.TotalCount() > 0 {
			to.Histogram(model.Histogram{Metric: d.metric, Unit: "ns", Encoded: histogram.Encode(h)})
		}
	}
	every := 1 + int(s.Scored/time.Second)*len(s.Ops)/mostSeconds // the same for all generators
	for k, index := range s.Seconds.Index {
		for i, encoded := range s.Seconds.Latencies[k] {
			if index%every == 0 && encoded != "" {
				to.Histogram(model.Histogram{Metric: s.Names[i] + suffixLatency, Unit: "ns", Second: index + 1, Encoded: encoded})
			}
		}
	}
}

// record publishes what changes from second to second, and the handshakes.
func (s Summary) record(to Sink) {
	var all []model.HostSeries
	for _, column := range s.Seconds.recorded() {
		r := model.HostSeries{Metric: column.metric, Unit: "op"}
		for i, index := range s.Seconds.Index {
			r.Offsets, r.Values = append(r.Offsets, int64(index)*1e9), append(r.Values, float64((*column.counts)[i]))
		}
		all = append(all, r)
	}
	rtt := model.HostSeries{Metric: RecordingRTT, Unit: "s"}
	lost := model.HostSeries{Metric: RecordingLost, Unit: "s"}
	every := 1 + len(s.RTT)/mostHandshakes
	for i, h := range s.RTT {
		if i%every > 0 {
			continue
		}
		into := &rtt
		if h.Lost {
			into = &lost
		}
		into.Offsets, into.Values = append(into.Offsets, h.At.Nanoseconds()), append(into.Values, h.Took.Seconds())
	}
	for _, r := range append(all, rtt, lost) {
		if len(r.Offsets) > 0 {
			to.Recording(r)
		}
	}
}

// Recordings are the host series that [ReadSummary] reads.
var Recordings = []string{recordingDue, recordingOK, recordingReplies, RecordingRTT, RecordingLost}

// ReadSummary reads what Report has published. The error is model.ErrUsage: the
// result is not of a workload that offers load.
func ReadSummary(r model.Result) (Summary, error) {
	s := Summary{}
	for _, x := range r.Samples {
		s.take(x)
	}
	if s.Scored <= 0 || len(s.Ops) == 0 {
		return Summary{}, fmt.Errorf("%w: task %s did not offer a load", model.ErrUsage, r.Task)
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
	op, n := x.Labels["op"], int64(x.Value)
	scalars := s.scalars()
	switch x.Metric {
	case MetricScored:
		s.Scored = time.Duration(x.Value * 1e9)
	case MetricBusy:
		s.Usage.Busy = x.Value
	case MetricConnections:
		s.Usage.Connections.take(x)
	case MetricUnrecovered:
		s.Unrecovered = x.Value > 0
	case MetricAddress:
		s.Usage.Addresses = append(s.Usage.Addresses, AddressUse{
			Address: x.Labels[labelAddress], State: AddressState(x.Labels[labelState]), Opened: n})
	case metricErrors:
		if k := slices.Index(kindNames[:], x.Labels["kind"]); k >= 0 {
			s.op(op).Errors[k] = n
		}
	case metricStatus:
		if status, err := strconv.Atoi(x.Labels["status"]); err == nil {
			s.op(op).Statuses.Add(status, n)
		}
	default:
		if slices.ContainsFunc((&Counts{}).scalars(), func(c scalar) bool { return c.metric == x.Metric }) {
			scalars = s.op(op).scalars()
		}
	}
	for _, c := range scalars {
		if c.metric == x.Metric {
			*c.value = n
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
	for i, name := range s.Names {
		if x.Second > 0 && x.Metric == name+suffixLatency {
			s.Seconds.Latencies[s.Seconds.at(x.Second-1, len(s.Ops))][i] = x.Encoded
		}
	}
	for _, d := range s.distributions() {
		if x.Second == 0 && x.Metric == d.metric { // others are of another source
			h, err := histogram.Decode(x.Encoded)
			*d.of = h
			return err
		}
	}
	return nil
}

func (s *Summary) takeRecording(x model.HostSeries) {
	for i, offset := range x.Offsets {
		at, v := time.Duration(offset), x.Values[i]
		if x.Metric == RecordingRTT || x.Metric == RecordingLost {
			s.RTT = append(s.RTT, Handshake{At: at, Took: time.Duration(v * 1e9), Lost: x.Metric == RecordingLost})
		}
		for _, column := range s.Seconds.recorded() {
			if column.metric == x.Metric {
				k := s.Seconds.at(int(at/time.Second), len(s.Ops))
				(*column.counts)[k] = int64(v)
			}
		}
		if x.Metric == recordingReplies {
			s.Replies += int64(v)
		}
	}
}
