package objectstore

import (
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// What is counted apart.
const (
	kindPut    = "put"
	kindGet    = "get"
	kindDelete = "delete"
)

// longest is the longest latency that histograms tell apart, in microseconds:
// what takes longer is recorded as this.
const longest = int64(time.Hour / time.Microsecond)

// tally counts the operations of one kind that succeeded, and their latencies.
// Only these have latencies: how long a failure took is no service time.
type tally struct {
	completed int64
	// whole is the time from the first attempt to the end of the one that
	// succeeded, firstByte to the first byte of its answer; microseconds.
	whole, firstByte *hdrhistogram.Histogram
}

// counts is what a run has counted. Safe for concurrent use.
type counts struct {
	mu        sync.Mutex
	tallies   map[string]*tally
	failed    int64             // operations given up
	retries   int64             // attempts after the first
	errors    map[failure]int64 // failed attempts; their sum is failed + retries
	firstText map[failure]string
}

func newCounts(kinds []string) *counts {
	c := &counts{tallies: map[string]*tally{}, errors: map[failure]int64{}, firstText: map[failure]string{}}
	for _, k := range kinds {
		c.tallies[k] = &tally{whole: histogram.New(longest), firstByte: histogram.New(longest)}
	}
	return c
}

// done counts an operation that succeeded. Times are since the start of Run.
func (c *counts) done(kind string, begun, firstByte, ended time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tallies[kind]
	t.completed++
	record(t.whole, ended-begun)
	record(t.firstByte, firstByte-begun)
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	histogram.Record(h, max(d.Microseconds(), 1))
}

// attemptFailed counts an attempt; again says that another follows.
func (c *counts) attemptFailed(kind failure, text string, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors[kind]++
	if _, ok := c.firstText[kind]; !ok {
		c.firstText[kind] = text
	}
	if again {
		c.retries++
	} else {
		c.failed++
	}
}

// total returns the operations that ended: those that succeeded, and those
// that were given up.
func (c *counts) total() (completed, failed int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tallies {
		completed += t.completed
	}
	return completed, c.failed
}

// report publishes latencies, errors and retries.
func (c *counts) report(r workload.Reporter, kinds []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range kinds {
		if err := c.tallies[kind].report(r, "objectstore_"+kind); err != nil {
			return err
		}
	}
	c.reportErrors(r)
	return nil
}

// percentiles that stand beside the histogram, by the end of their name.
var percentiles = []struct {
	name string
	at   float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99_9", 99.9}, {"max", 100}}

// report publishes both distributions, if there was an operation at all.
func (t *tally) report(r workload.Reporter, name string) error {
	if t.completed == 0 {
		return nil
	}
	for metric, h := range map[string]*hdrhistogram.Histogram{name + "_latency": t.whole, name + "_first_byte": t.firstByte} {
		for _, p := range percentiles {
			r.Sample(model.Sample{Metric: metric + "_" + p.name, Unit: "us", Value: float64(h.ValueAtPercentile(p.at)), Better: model.Lower, Info: true})
		}
		encoded, err := histogram.Encode(h)
		if err != nil {
			return fmt.Errorf("%s: %w", metric, err)
		}
		r.Histogram(model.Histogram{Metric: metric, Unit: "us", Encoded: encoded})
	}
	return nil
}

// reportErrors publishes what failed: zero of a kind is told, too, for it was
// looked for.
func (c *counts) reportErrors(r workload.Reporter) {
	info := func(metric string, n int64, labels map[string]string) {
		r.Sample(model.Sample{Metric: metric, Unit: "1", Value: float64(n), Better: model.Lower, Labels: labels, Info: true})
	}
	for _, kind := range failures {
		info("objectstore_errors", c.errors[kind], map[string]string{"kind": string(kind)})
	}
	info("objectstore_retries", c.retries, nil)
	info("objectstore_failed_operations", c.failed, nil)
}

// describeErrors lists the kinds of error with the first message of each.
func (c *counts) describeErrors() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text string
	for _, kind := range failures {
		if n := c.errors[kind]; n > 0 {

			text += fmt.Sprintf("; %s: %d, the first %q", kind, n, c.firstText[kind])
		}
	}
	return text
}
