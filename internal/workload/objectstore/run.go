package objectstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// Run does the operations and reports.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	if p.target == nil {
		return errors.New("objectstore: Run without Prepare")
	}
	r := &run{Params: p, settings: p.settings(), report: env.Report, start: time.Now(), series: map[store.Counter]*series{}}
	kinds := store.Kinds(r.operation)
	r.meter = store.NewMeter(r.operation, r.start, func(c store.Counter, after time.Duration, n int64) { r.series[c].add(after, n) })
	for _, c := range r.meter.Counters {
		r.series[c] = newSeries(c, kinds, r.duration, env.Report)
	}
	p.target.Meter = r.meter
	if err := r.work(ctx); err != nil {
		return err
	}
	for _, c := range r.meter.Counters {
		r.series[c].sample()
	}
	for _, kind := range kinds {
		if err := r.reportTally("objectstore_"+kind, r.meter.Tally(kind)); err != nil {
			return err
		}
	}
	r.reportErrors()
	return r.judge()
}

// run is the state of Run.
type run struct {
	*Params
	settings
	report workload.Reporter
	start  time.Time
	meter  *store.Meter
	series map[store.Counter]*series
}

// errHopeless ends a task that will fail whatever comes.
var errHopeless = errors.New("too many operations have failed")

// work has the engine do the operations, and takes readings until they have
// ended: the first while it is true that nothing is done, one right at the
// deadline, and the last when everything is completed.
func (r *run) work(ctx context.Context) error {
	longest := min(r.target.Longest(), 24*time.Hour)
	pool, err := load.NewPool(r.target, load.PoolConfig{Clients: r.concurrency, Timeout: longest, Live: true})
	if err != nil {
		return err
	}
	r.meter.Read(0)
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var readings sync.WaitGroup
	ended := make(chan struct{})
	readings.Go(func() { r.read(ended, cancel) })
	_, err = pool.Run(within, load.Run{
		Plan: load.Plan{
			Closed: &load.Closed{Users: r.concurrency, Duration: r.duration, Count: r.count},
			Seed:   uint64(r.start.UnixNano()),
		},
		Share: load.All, Start: r.start, Drain: longest, Each: func(load.Second) {},
	})
	close(ended)
	readings.Wait()
	if errors.Is(err, errHopeless) {
		err = nil // judge says so
	}
	return errors.Join(err, pool.Close())
}

// readEvery is how often a reading is taken: ten times a second, the finest that
// a series keeps.
const readEvery = 100 * time.Millisecond

// read takes readings until everything has ended, and gives up what is hopeless.
func (r *run) read(ended <-chan struct{}, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	var deadline <-chan time.Time // none by count
	if r.duration > 0 {
		deadline = time.After(time.Until(r.start.Add(r.duration)))
	}
	for over := false; !over; r.meter.Read(time.Since(r.start)) {
		select {
		case <-tick.C:
		case <-deadline:
		case <-ended:
			over = true
		}
		if r.hopeless() {
			cancel(errHopeless)
		}
	}
}

// hopelessAfter is how many failures show that a task by duration is going
// nowhere, if most operations failed.
const hopelessAfter = 100

// hopeless says that the task will fail whatever comes.
func (r *run) hopeless() bool {
	c := r.meter.Counts()
	if r.count > 0 {
		return float64(c.Failed) > r.MaxErrors*float64(r.operations())
	}
	return r.MaxErrors < 0.5 && c.Failed >= hopelessAfter && c.Failed > c.Completed
}

// judge fails the task if more operations failed than the user allows, or none
// succeeded, and warns about fewer.
func (r *run) judge() error {
	c := r.meter.Counts()
	text, all := c.Describe(), c.Completed+c.Failed
	switch {
	case c.Completed == 0:
		return fmt.Errorf("no operation succeeded, %d failed%s", c.Failed, text)
	case float64(c.Failed)/float64(all) > r.MaxErrors:
		return fmt.Errorf("%d of %d operations failed, more than max_errors allows (%g)%s", c.Failed, all, r.MaxErrors, text)
	case text != "":
		r.target.Say(r.target.Stderr, "objectstore: %d of %d operations failed; their bytes do not count%s", c.Failed, all, text)
	}
	return nil
}

// percentiles that stand beside the histogram, by the end of their name.
var percentiles = []struct {
	name string
	at   float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99_9", 99.9}, {"max", 100}}

// reportTally publishes both distributions, if there was an operation at all.
func (r *run) reportTally(name string, t *store.Tally) error {
	if t.Latency.TotalCount() == 0 {
		return nil
	}
	for metric, h := range map[string]*hdr.Histogram{name + "_latency": t.Latency, name + "_first_byte": t.FirstByte} {
		for _, p := range percentiles {
			r.report.Sample(model.Sample{Metric: metric + "_" + p.name, Unit: "us", Value: float64(h.ValueAtPercentile(p.at)), Better: model.Lower, Info: true})
		}
		encoded, err := histogram.Encode(h)
		if err != nil {
			return fmt.Errorf("%s: %w", metric, err)
		}
		r.report.Histogram(model.Histogram{Metric: metric, Unit: "us", Encoded: encoded})
	}
	return nil
}

// reportErrors publishes what failed: zero of a kind is told, too, for it was
// looked for.
func (r *run) reportErrors() {
	info := func(metric string, n int64, labels map[string]string) {
		r.report.Sample(model.Sample{Metric: metric, Unit: "1", Value: float64(n), Better: model.Lower, Labels: labels, Info: true})
	}
	c := r.meter.Counts()
	for _, kind := range store.Failures {
		info("objectstore_errors", c.Errors[kind], map[string]string{"kind": string(kind)})
	}
	info("objectstore_retries", c.Retries, nil)
	info("objectstore_failed_operations", c.Failed, nil)
}
