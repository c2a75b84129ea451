// Package workloadtest is what tests of workloads share: a reporter that keeps
// what is reported, and a check of parameters.
package workloadtest

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// Record is a [workload.Reporter] that keeps what a workload reports. The zero
// value is ready for use. What it kept may be read once the workload has
// returned.
type Record struct {
	// T gets what breaks the contract of a Reporter; may be nil.
	T testing.TB
	// Start is when Run was called; zero: unknown, and times that count from
	// it are missing.
	Start time.Time
	// Seen, if there is one, is called after each reading.
	Seen func(metric string, value float64)

	// Readings are of the counters, by metric, in the order in which they came.
	Readings   map[string][]Reading
	Units      map[string]string // of the counters, by metric
	Samples    []model.Sample
	Histograms []model.Histogram
	Recordings []model.HostSeries
	ExitCodes  []int
	// Stages are changes of stages as words: "db:start begun", "db:start failed: why".
	Stages []string

	mu sync.Mutex
}

// Reading is a counter at a time since the call of Run.
type Reading struct {
	After time.Duration
	Value float64
}

var _ workload.Reporter = (*Record)(nil)

// Progress implements workload.Reporter.
func (r *Record) Progress(metric, unit string, value float64) {
	r.read(metric, unit, value, func() (after time.Duration) {
		if !r.Start.IsZero() {
			after = time.Since(r.Start)
		}
		return after
	})
}

// ProgressAt implements workload.Reporter.
func (r *Record) ProgressAt(metric, unit string, after time.Duration, value float64) {
	if !r.Start.IsZero() && after > time.Since(r.Start) {
		r.broken("progress of %s at %v is not in the past", metric, after)
	}
	r.read(metric, unit, value, func() time.Duration { return after })
}

func (r *Record) read(metric, unit string, value float64, after func() time.Duration) {
	r.mu.Lock()
	r.keep(metric, unit, Reading{after(), value}) // times in the order in which they are kept
	r.mu.Unlock()
	if r.Seen != nil {
		r.Seen(metric, value)
	}
}

// keep adds a reading; r.mu is held.
func (r *Record) keep(metric, unit string, x Reading) {
	if r.Readings == nil {
		r.Readings, r.Units = map[string][]Reading{}, map[string]string{}
	}
	before := r.Readings[metric]
	if n := len(before); n > 0 && (x.After < before[n-1].After || x.Value < before[n-1].Value) {
		r.broken("progress of %s goes from %v at %v to %v at %v", metric, before[n-1].Value, before[n-1].After, x.Value, x.After)
	}
	if had, ok := r.Units[metric]; ok && had != unit {
		r.broken("progress of %s changes its unit from %s to %s", metric, had, unit)
	}
	r.Readings[metric], r.Units[metric] = append(before, x), unit
}

// Sample implements workload.Reporter.
func (r *Record) Sample(s model.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.Samples, func(x model.Sample) bool { return x.Metric == s.Metric && maps.Equal(x.Labels, s.Labels) }) {
		r.broken("two samples of %s %v", s.Metric, s.Labels)
	}
	r.Samples = append(r.Samples, s)
}

// Histogram implements workload.Reporter.
func (r *Record) Histogram(h model.Histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.Histograms, func(x model.Histogram) bool { return x.Metric == h.Metric && x.Second == h.Second }) {
		r.broken("two histograms of %s, second %d", h.Metric, h.Second)
	}
	r.Histograms = append(r.Histograms, h)
}

// Recording implements workload.Reporter.
func (r *Record) Recording(s model.HostSeries) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.Recordings, func(x model.HostSeries) bool { return x.Metric == s.Metric }) {
		r.broken("two recordings of %s", s.Metric)
	}
	r.Recordings = append(r.Recordings, s)
}

// ExitCode implements workload.Reporter.
func (r *Record) ExitCode(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ExitCodes = append(r.ExitCodes, code)
}

// Live implements workload.Reporter: it is for people.
func (r *Record) Live(map[string]float64) {}

// Stage implements workload.Reporter.
func (r *Record) Stage(name, state, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := name + " " + state
	if reason != "" {
		text += ": " + reason
	}
	r.Stages = append(r.Stages, text)
}

func (r *Record) broken(format string, args ...any) {
	if r.T != nil {
		r.T.Errorf(format, args...)
	}
}

// Find returns the first sample of a metric; the zero value without one.
func (r *Record) Find(metric string) model.Sample {
	for _, s := range r.Samples {
		if s.Metric == metric {
			return s
		}
	}
	return model.Sample{}
}

// FindHistogram is Find for histograms.
func (r *Record) FindHistogram(metric string) model.Histogram {
	for _, h := range r.Histograms {
		if h.Metric == metric {
			return h
		}
	}
	return model.Histogram{}
}

// Values are the values of all samples by metric, except the metrics in but.
func (r *Record) Values(but ...string) map[string]float64 {
	out := map[string]float64{}
	for _, s := range r.Samples {
		if !slices.Contains(but, s.Metric) {
			out[s.Metric] = s.Value
		}
	}
	return out
}

// Result is what was reported as a node would deliver it.
func (r *Record) Result() model.Result {
	return model.Result{Samples: r.Samples, Histograms: r.Histograms, Host: r.Recordings}
}
