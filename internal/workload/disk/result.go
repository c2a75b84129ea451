package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// document is one report of fio.
type document struct {
	text []byte // as printed, without the line break at its end
	// printed is fio's wall clock when it was printed, ms since 1970. The
	// readings in it may be older.
	printed int64
	job     job
}

// job are the figures of all threads together, since the end of the ramp.
type job struct {
	Error int       `json:"error"` // errno of the first thread that met one
	Read  direction `json:"read"`
	Write direction `json:"write"`
}

// direction are the figures of one direction. Bytes and Runtime are read at
// one moment; the others may be of a later one.
type direction struct {
	Bytes   int64   `json:"io_bytes"`
	Runtime int64   `json:"runtime"` // ms; 0 before the first operation
	Total   int64   `json:"total_ios"`
	Latency latency `json:"clat_ns"`
}

// latency is that of completion, in ns. N is 0 during the ramp.
type latency struct {
	N           int64              `json:"N"`
	Mean        float64            `json:"mean"`
	Percentiles map[string]float64 `json:"percentile"`
	// Bins are counts by the middle of a bin, in ns; bins are at most 1.6 %
	// wide (fio stat.h: 64 for each power of two).
	Bins map[string]int64 `json:"bins"`
}

// runtime is the time since the end of the ramp, in ms. fio leaves it at 0 for
// a direction in which nothing was done yet.
func (j job) runtime() int64 { return max(j.Read.Runtime, j.Write.Runtime) }

// parse reads a report with one group of jobs.
func parse(text []byte) (*document, error) {
	var r struct {
		Printed int64 `json:"timestamp_ms"`
		Jobs    []job `json:"jobs"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("reading fio's JSON: %w", err)
	}
	if len(r.Jobs) != 1 {
		return nil, fmt.Errorf("fio's report has %d groups of jobs instead of 1", len(r.Jobs))
	}
	d := &document{text: bytes.Clone(text), printed: r.Printed, job: r.Jobs[0]}
	return d, errors.Join(d.job.Read.check(), d.job.Write.check())
}

// maxRuntime is beyond every run, and below what a time.Duration holds: ten
// years, in ms.
const maxRuntime = 10 * 365 * 24 * 3600 * 1000

// check refuses what cannot be.
func (d direction) check() error {
	if d.Bytes < 0 || d.Total < 0 || d.Latency.N < 0 || d.Latency.Mean < 0 {
		return errors.New("fio's report has a figure below zero")
	}
	if d.Runtime < 0 || d.Runtime > maxRuntime {
		return fmt.Errorf("fio's report has a running time of %d ms", d.Runtime)
	}
	for key, ns := range d.Latency.Percentiles {
		if ns < 0 {
			return fmt.Errorf("fio's report has a percentile %s of %v ns", key, ns)
		}
	}
	return nil
}

// maxDocument is far above what fio prints with all its bins, in bytes.
const maxDocument = 16 << 20

// splitter cuts fio's output into its JSON documents and the lines between
// them. fio indents its JSON, so that a brace alone on a line, at its begin,
// opens or closes a document, and nothing within does.
type splitter struct {
	take  func(text []byte) // text is valid during the call
	other io.Writer         // the lines between, whole

	line []byte // unfinished
	doc  []byte
	in   bool // a document is open
}

// Write takes output as it comes.
func (s *splitter) Write(p []byte) (int, error) {
	for piece := range bytes.Lines(p) {
		s.line = append(s.line, piece...)
		if !bytes.HasSuffix(piece, []byte("\n")) {
			if len(s.line) > maxDocument {
				return 0, fmt.Errorf("fio printed a line of more than %d bytes", maxDocument)
			}
			break
		}
		if err := s.next(s.line); err != nil {
			return 0, err
		}
		s.line = s.line[:0]
	}
	return len(p), nil
}

// next takes a line with its end.
func (s *splitter) next(line []byte) error {
	switch text := string(bytes.TrimRight(line, "\r\n")); {
	case text == "{": // one that was cut off is given up
		s.in, s.doc = true, append(s.doc[:0], line...)
	case !s.in && len(bytes.TrimSpace(line)) > 0:
		if _, err := s.other.Write(line); err != nil {
			return fmt.Errorf("keeping fio's output: %w", err)
		}
	case !s.in:
	case len(s.doc)+len(line) > maxDocument:
		return fmt.Errorf("fio printed a report of more than %d bytes", maxDocument)
	case text == "}":
		s.in = false
		s.take(append(s.doc, '}'))
	default:
		s.doc = append(s.doc, line...)
	}
	return nil
}

// words takes what fio says in words, from both of its streams: all of it goes
// out, and the last of it is kept for an error. Safe for concurrent use.
type words struct {
	out   io.Writer
	limit int // bytes that are kept

	mu   sync.Mutex
	last []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, p...)
	if over := len(w.last) - w.limit; over > 0 {
		w.last = append(w.last[:0], w.last[over:]...)
	}
	return w.out.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.last)
}

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

// checkComplete refuses a report of less than what was to be done: 95 % of a
// time, or all of a size.
func checkComplete(s settings, j job) error {
	ran := time.Duration(j.runtime()) * time.Millisecond
	done := j.Read.Bytes + j.Write.Bytes
	switch {
	case ran == 0:
		return errors.New("nothing was measured: fio reports a running time of 0")
	case s.duration > 0 && ran.Seconds() < 0.95*s.duration.Seconds():
		return fmt.Errorf("fio measured for %v of %v: the rate would be for another duration", ran, s.duration)
	case s.duration == 0 && done != s.total():
		return fmt.Errorf("fio processed only %d of %d bytes", done, s.total())
	}
	for _, w := range directions {
		if w.used(s) && w.of(j).Bytes == 0 {
			return fmt.Errorf("fio did not complete a single %s in %v: use a longer duration", w.name, ran)
		}
	}
	return nil
}

// publish reports the samples and histograms of the whole task: capacities by
// the reading that counts, latencies of all operations that fio completed.
func publish(r workload.Reporter, s settings, labels map[string]string, j job, scored reading) error {
	for i, w := range directions {
		if !w.used(s) {
			continue
		}
		// One time for both ways: that of the task, so that a way which began
		// late is not made faster by it.
		rate := float64(scored.bytes[i]) / scored.runtime.Seconds()
		r.Sample(workload.Capacity(w.throughput(), "byte/s", rate, w.resource))
		r.Sample(workload.Capacity(w.iops(), "op/s", rate/float64(s.block), w.resource))
		if err := publishLatency(r, w, w.of(j).Latency); err != nil {
			return err
		}
	}
	r.Sample(model.Sample{Metric: "disk_size", Unit: "byte", Value: float64(s.total()), Info: true, Labels: labels})
	return nil
}

// publishLatency reports the time from an operation's submission to its
// completion. fio groups latencies into bins 1.6 % wide, so percentiles may be
// off by .8 %; the mean is exact. The histogram's bins are narrower.
func publishLatency(r workload.Reporter, w way, l latency) error {
	sample := func(name string, ns float64) {
		r.Sample(workload.Info(w.latency()+"_"+name, "us", ns/1000))
	}
	sample("mean", l.Mean)
	for _, p := range []struct{ name, key string }{{"p50", "50.000000"}, {"p99", "99.000000"}, {"p999", "99.900000"}} {
		ns, ok := l.Percentiles[p.key]
		if !ok {
			return fmt.Errorf("fio's report lacks the percentile %s of the %s latency", p.key, w.name)
		}
		sample(p.name, ns)
	}
	if len(l.Bins) == 0 {
		return nil
	}
	h := histogram.New(maxLatency)
	for key, count := range l.Bins {
		ns, err := strconv.ParseInt(key, 10, 64)
		if err != nil || ns < 0 || count < 0 {
			return fmt.Errorf("the histogram of the %s latency: fio's report has a bin %q: %d", w.name, key, count)
		}
		histogram.RecordMany(h, ns, count)
	}
	r.Histogram(model.Histogram{Metric: w.latency(), Unit: "ns", Encoded: histogram.Encode(h)})
	return nil
}

// maxLatency is what an operation may take before a histogram counts it as if
// it had taken just that, in ns.
const maxLatency = int64(time.Hour)
