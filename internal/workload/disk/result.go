package disk

import (
	"fmt"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// way is a direction of the data: what it is called and where its figures are.
type way struct {
	name     string // in metrics
	resource string
	used     func(settings) bool
	of       func(job) direction
}

func (w way) throughput() string { return "disk_" + w.name + "_throughput" }
func (w way) iops() string       { return "disk_" + w.name + "_iops" }
func (w way) latency() string    { return "disk_" + w.name + "_latency" }

// directions are both ways, reads first.
var directions = [2]way{
	{"read", model.ResourceDiskRead, settings.reads, func(j job) direction { return j.Read }},
	{"write", model.ResourceDiskWrite, settings.writes, func(j job) direction { return j.Write }},
}

// enough is the least share of the time asked for that is a measurement of it.
const enough = 0.95

// checkComplete refuses a report of less than what was to be done.
func checkComplete(s settings, j job) error {
	ran := time.Duration(j.runtime()) * time.Millisecond
	done := j.Read.Bytes + j.Write.Bytes
	switch {
	case ran == 0:
		return fmt.Errorf("fio reports no time in which it worked: nothing was measured")
	case s.duration > 0 && ran.Seconds() < enough*s.duration.Seconds():
		return fmt.Errorf("fio measured for %v of %v: the rate would be of another duration", ran, s.duration)
	case s.duration == 0 && done != s.total():
		return fmt.Errorf("fio did %d of %d bytes: the work is not complete", done, s.total())
	}
	for _, w := range directions {
		if w.used(s) && w.of(j).Bytes == 0 {
			return fmt.Errorf("fio did not complete one %s in %v: give a longer duration", w.name, ran)
		}
	}
	return nil
}

// publish reports the samples and histograms of the whole task: capacities by
// the reading that counts, latencies of all operations that fio completed.
func publish(r workload.Reporter, s settings, t target, j job, scored reading) error {
	for i, w := range directions {
		if !w.used(s) {
			continue
		}
		// One time for both ways: that of the task, so that a way which began
		// late is not made faster by it.
		rate := float64(scored.bytes[i]) / scored.runtime.Seconds()
		r.Sample(model.Sample{Metric: w.throughput(), Unit: "byte/s", Value: rate, Better: model.Higher, Resource: w.resource})
		r.Sample(model.Sample{Metric: w.iops(), Unit: "op/s", Value: rate / float64(s.block), Better: model.Higher, Resource: w.resource})
		if err := publishLatency(r, w, w.of(j).Latency); err != nil {
			return err
		}
	}
	r.Sample(model.Sample{Metric: "disk_size", Unit: "byte", Value: float64(s.total()), Info: true,
		Labels: map[string]string{"filesystem": or(t.filesystem, "unknown")}})
	return nil
}

// publishLatency reports the time from an operation's submission to its
// completion. fio groups latencies into bins 1.6 % wide, so percentiles may be
// off by .8 %; the mean is exact.
func publishLatency(r workload.Reporter, w way, l latency) error {
	values := []struct {
		name string
		ns   float64
	}{{"mean", l.Mean}}
	for _, p := range []struct{ name, key string }{{"p50", "50.000000"}, {"p99", "99.000000"}, {"p999", "99.900000"}} {
		ns, ok := l.Percentiles[p.key]
		if !ok {
			return fmt.Errorf("fio's report lacks the percentile %s of the %s latency", p.key, w.name)
		}
		values = append(values, struct {
			name string
			ns   float64
		}{p.name, ns})
	}
	for _, v := range values {
		r.Sample(model.Sample{Metric: w.latency() + "_" + v.name, Unit: "us", Value: v.ns / 1000, Better: model.Lower, Info: true})
	}
	if len(l.Bins) == 0 {
		return nil
	}
	h, err := histogramOf(l.Bins)
	if err != nil {
		return fmt.Errorf("the histogram of the %s latency: %w", w.name, err)
	}
	encoded, err := histogram.Encode(h)
	if err != nil {
		return fmt.Errorf("%s latency: %w", w.name, err)
	}
	r.Histogram(model.Histogram{Metric: w.latency(), Unit: "ns", Encoded: encoded})
	return nil
}

// maxLatency is what an operation may take before a histogram counts it as if
// it had taken just that, in ns.
const maxLatency = int64(time.Hour)

// histogramOf counts fio's bins. They are wider than the histogram's, so that
// their error is the only one.
func histogramOf(bins map[string]int64) (*hdrhistogram.Histogram, error) {
	h := histogram.New(maxLatency)
	for key, count := range bins {
		ns, err := strconv.ParseInt(key, 10, 64)
		if err != nil || ns < 0 || count < 0 {
			return nil, fmt.Errorf("fio's report has a bin %q: %d", key, count)
		}
		histogram.RecordMany(h, ns, count)
	}
	return h, nil
}
