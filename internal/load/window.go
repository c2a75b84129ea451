package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
)

// Window is what happened while one load was offered, over all generators. It
// covers the seconds that are scored; those of warming up are cut.
type Window struct {
	// Load is what was asked for, in operations per second.
	Load  float64
	Start time.Time
	// Scored is the length of what is scored.
	Scored time.Duration
	// Counts are of all kinds of operations together.
	Counts Counts
	// Replies is how many operations ended well in the time scored, whenever
	// they were due.
	Replies int64
	// Unrecovered: the target may still have been working off an earlier load when
	// this one began.
	Unrecovered bool
	// Latencies are of the operations that ended well, from when they were
	// due; Services from when they were sent; Lags are the generators' own
	// delays in sending, and ReceiveLags in reading answers that the kernel has
	// stamped, which is no part of their latencies. In ns; nil without values.
	Latencies, Services, Lags, ReceiveLags *hdr.Histogram
	Seconds                                Seconds
	// RTT are round-trip times of TCP handshakes made meanwhile, in seconds;
	// Lost is how many more there were that lost something.
	RTT  []float64
	Lost int
	// Segments are TCP segments that arrived at the generators. Where several
	// share a machine each counts those of all.
	Segments Segments
	// Sent and Received are bytes of requests and answers; 0 where the driver
	// does not know.
	Sent, Received int64
	// Processor is the largest share, among generators, of the processors that
	// one may use, or of all those of its machine, that were in use; 0 where
	// it is not known.
	Processor float64
	// Busy is the largest share of time in which a generator's loop was not
	// idle.
	Busy float64
	// Addresses are those of the target where a host has several.
	Addresses []AddressUse
	// RecordsLoaded is how many records of a data store were not there before it,
	// and were loaded.
	RecordsLoaded int64
	// Generators are what each of them did, in the order of their names.
	Generators []Generator
}

// Generator is what one generator did in a window.
type Generator struct {
	Node model.NodeID
	// After is how long after the first generator of the window it began.
	After time.Duration
	// Counts are of its operations; Answered is how many latencies its
	// histogram holds; Replies are those of [Window], of this generator.
	Counts            Counts
	Answered, Replies int64
	// Lag is how late 1 in 100 of its operations was sent, ReceiveLag how late 1
	// in 100 of its answers was read; 0 where none was stamped by the kernel.
	Lag, ReceiveLag time.Duration
	// Busy and Processor are those of [Window], of this generator; Own is the
	// part of Processor that is its own doing: the share of the processors that
	// it may use which it used itself.
	Busy, Processor, Own float64
	// Handshakes are those in the scored seconds.
	Handshakes []Handshake
	// Connections are its own to the target, where they are counted.
	Connections ConnectionUse
}

// ReadWindow adds up what the generators of a complete step reported. The error
// is model.ErrUsage where they are not of a workload that offers a load.
func ReadWindow(s model.Step, results []model.Result) (Window, error) {
	rate, err := Offered(s)
	w := Window{Load: rate, Start: s.StartAt}
	seconds := make([]Seconds, len(results))
	for i, r := range results {
		if err == nil {
			seconds[i], err = w.add(r)
		}
	}
	if err == nil {
		w.Seconds, err = sumOfSeconds(seconds)
	}
	if err != nil {
		return Window{}, err
	}
	// All of thousands of windows are kept in memory.
	for _, h := range []**hdr.Histogram{&w.Latencies, &w.Services, &w.Lags, &w.ReceiveLags} {
		*h = histogram.Trim(*h)
	}
	w.place(results)
	return w, nil
}

// Offered is the load that a step's tasks offer together, in operations per
// second.
func Offered(s model.Step) (float64, error) {
	if len(s.Tasks) == 0 || s.Tasks[0].Spec.Offer == nil {
		return 0, fmt.Errorf("%w: the tasks of step %s offer no load", model.ErrUsage, s.ID)
	}
	return s.Tasks[0].Spec.Offer.Rate, nil
}

// place orders the generators and says how long after the first each began.
func (w *Window) place(results []model.Result) {
	var first time.Time
	for _, r := range results {
		if first.IsZero() || r.Started.Before(first) {
			first = r.Started
		}
	}
	for i, r := range results {
		w.Generators[i].After = r.Started.Sub(first)
	}
	slices.SortFunc(w.Generators, func(a, b Generator) int { return cmp.Compare(a.Node, b.Node) })
}

// add takes what one generator saw, and returns its seconds.
func (w *Window) add(r model.Result) (Seconds, error) {
	s, err := ReadSummary(r)
	if err != nil {
		return Seconds{}, err
	}
	total, err := s.Total()
	if err != nil {
		return Seconds{}, err
	}
	own, processor := processorShares(r.Samples)
	g := Generator{
		Node: r.Node, Counts: total.Counts, Answered: total.Latency.TotalCount(), Replies: s.Replies,
		Busy: s.Usage.Busy, Processor: processor, Own: own, Handshakes: s.RTT,
		Lag: AtPercentile(s.Lag, 99), ReceiveLag: AtPercentile(s.ReceiveLag, 99), Connections: s.Usage.Connections,
	}
	w.Generators = append(w.Generators, g)
	w.Scored, w.Unrecovered = s.Scored, w.Unrecovered || s.Unrecovered
	w.Counts.Add(total.Counts)
	w.Replies += s.Replies
	w.Busy, w.Processor = max(w.Busy, g.Busy), max(w.Processor, g.Processor)
	w.Sent, w.Received = w.Sent+s.Sent, w.Received+s.Received
	w.Segments.Add(s.Segments)
	w.RecordsLoaded += s.RecordsLoaded
	w.Addresses = addUses(w.Addresses, s.Usage.Addresses)
	trips := RoundTrips(s.RTT)
	w.RTT, w.Lost = append(w.RTT, trips...), w.Lost+len(s.RTT)-len(trips)
	for into, from := range map[**hdr.Histogram]*hdr.Histogram{
		&w.Latencies: total.Latency, &w.Services: total.Service, &w.Lags: s.Lag, &w.ReceiveLags: s.ReceiveLag,
	} {
		sum, mergeErr := histogram.Merge(*into, from)
		*into, err = sum, cmp.Or(err, mergeErr)
	}
	return s.Seconds, err
}

// AtPercentile is a percentile of values in ns; 0 without values.
func AtPercentile(h *hdr.Histogram, p float64) time.Duration {
	if h == nil || h.TotalCount() == 0 {
		return 0
	}
	return time.Duration(h.ValueAtPercentile(p))
}

// processorShares are how much of the processors that a generator could use was in
// use: by itself, and by itself or, with the whole machine, by everything. The
// kernel counts in ticks, so that it can be a little more than all, which it is not.
func processorShares(samples []model.Sample) (own, all float64) {
	value := make(map[string]float64)
	for _, s := range samples {
		value[s.Metric] = s.Value
	}
	// Watching is not work, but leaves the others fewer processors.
	spun := value[MetricSpun]
	worked := max(value[MetricCPU]-spun, 0)
	if cores := value[MetricCores]; cores > 0 {
		own = min(worked/cores, 1)
	}
	all = own
	if left := value[MetricMachine] - spun; left > 0 {
		all = max(all, (worked+value[model.MetricOtherCPU])/left)
	}
	return own, min(all, 1)
}

// RoundTrips are the times of the handshakes that are round trips, in seconds.
func RoundTrips(hs []Handshake) (out []float64) {
	for _, h := range hs {
		if !h.Lost {
			out = append(out, h.Took.Seconds())
		}
	}
	return out
}

// Share is n as a share of the operations due; NaN where none were.
func (w Window) Share(n int64) float64 {
	if w.Counts.Due == 0 {
		return math.NaN()
	}
	return float64(n) / float64(w.Counts.Due)
}

// Achieved is the rate at which operations were answered well while the load
// was offered, in operations per second. It is less than the load where a server
// falls behind, also if it answers everything in the end.
func (w Window) Achieved() float64 {
	if w.Scored <= 0 {
		return 0
	}
	return float64(w.Replies) / w.Scored.Seconds()
}

// StartSkew is how long after the first generator the last one began.
func (w Window) StartSkew() time.Duration {
	var skew time.Duration
	for _, g := range w.Generators {
		skew = max(skew, g.After)
	}
	return skew
}

// Latency returns the latency within which a share q of all operations due was
// answered. known is false if fewer than that ended well: the others count as
// slower than anything.
func (w Window) Latency(q float64) (d time.Duration, known bool) {
	return quantileOfDue(w.Latencies, w.Counts.Due, q)
}

// quantileOfDue finds the smallest value that at least a share q of due
// operations do not exceed, where h has only those that ended well.
func quantileOfDue(h *hdr.Histogram, due int64, q float64) (d time.Duration, known bool) {
	rank := int64(math.Ceil(q * float64(due)))
	if h == nil || rank > h.TotalCount() || rank < 1 {
		return 0, false
	}
	// The library rounds a percentile to the nearest rank.
	return time.Duration(h.ValueAtPercentile(100 * (float64(rank) - .25) / float64(h.TotalCount()))), true
}

// Seconds are the scored seconds of a window, by column: entry i of every
// column is about the same second. The generator fills it, the store keeps it
// as series, and charts draw its columns.
type Seconds struct {
	// Index counts the seconds from 0, the start of the run; ascending.
	Index []int
	// Due and OK count operations of all kinds that were due in that second;
	// Replies those that ended well in it, whenever they were due.
	Due, OK, Replies []int64
	// P50 and P90 are the latencies, in seconds, within which these shares of
	// what was due in that second were answered; NaN where fewer were. They
	// are known once the generators of a window are added up, for percentiles
	// of several cannot be.
	P50, P90 []float64
	// Latencies are those of one generator: histograms by kind of operation,
	// in ns, of what was due in that second and ended OK; empty where there is
	// none. They are encoded as package histogram does it: one takes 200 KB of
	// memory otherwise, and a run may have hours of seconds.
	Latencies [][]string
}

// Len is how many seconds there are.
func (s Seconds) Len() int { return len(s.Index) }

// recording is a column of seconds, by the name of its metric.
type recording struct {
	metric string
	counts *[]int64
}

func (s *Seconds) recorded() []recording {
	return []recording{{recordingDue, &s.Due}, {recordingOK, &s.OK}, {recordingReplies, &s.Replies}}
}

// at finds or adds a second of a window with so many kinds of operations.
func (s *Seconds) at(index, ops int) int {
	i, found := slices.BinarySearch(s.Index, index)
	if !found {
		s.Index = slices.Insert(s.Index, i, index)
		for _, column := range s.recorded() {
			*column.counts = slices.Insert(*column.counts, i, 0)
		}
		s.Latencies = slices.Insert(s.Latencies, i, make([]string, ops))
	}
	return i
}

// add takes the next second of a run.
func (s *Seconds) add(x Second) {
	i := s.at(x.Index, len(x.Ops))
	s.Replies[i] = x.Replies
	for k, o := range x.Ops {
		s.Due[i] += o.Due
		s.OK[i] += o.OK
		if o.OK > 0 {
			s.Latencies[i][k] = histogram.Encode(o.Latency)
		}
	}
}

// sumOfSeconds adds up the seconds of several generators, count by count, and
// takes the percentiles of the sums.
func sumOfSeconds(parts []Seconds) (sum Seconds, err error) {
	for _, p := range parts {
		for _, index := range p.Index {
			sum.at(index, 0)
		}
	}
	next := make([]int, len(parts)) // of each part
	for i, index := range sum.Index {
		var latencies *hdr.Histogram
		for k, p := range parts {
			at := next[k]
			if at == p.Len() || p.Index[at] != index {
				continue
			}
			next[k]++
			sum.Due[i], sum.OK[i], sum.Replies[i] = sum.Due[i]+p.Due[at], sum.OK[i]+p.OK[at], sum.Replies[i]+p.Replies[at]
			if latencies, err = mergeEncoded(latencies, p.Latencies[at]); err != nil {
				return Seconds{}, fmt.Errorf("latencies of second %d: %w", index, err)
			}
		}
		sum.P50 = append(sum.P50, secondsOfDue(latencies, sum.Due[i], .5))
		sum.P90 = append(sum.P90, secondsOfDue(latencies, sum.Due[i], .9))
	}
	sum.Latencies = nil
	return sum, nil
}

func mergeEncoded(sum *hdr.Histogram, encoded []string) (*hdr.Histogram, error) {
	for _, text := range encoded {
		if text == "" {
			continue
		}
		var err error
		if sum, err = histogram.Add(sum, text); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// secondsOfDue is quantileOfDue in seconds, NaN where it is not known.
func secondsOfDue(h *hdr.Histogram, due int64, q float64) float64 {
	d, known := quantileOfDue(h, due, q)
	if !known {
		return math.NaN()
	}
	return d.Seconds()
}
