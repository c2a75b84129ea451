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
	if p.upload != nil {
		return runUpload(ctx, p.upload, env.Report)
	}
	if p.target == nil {
		return errors.New("objectstore: Run was called before Prepare")
	}
	r := &run{Params: p, settings: p.settings(), report: env.Report, start: time.Now(), series: map[store.Counter]*series{}}
	kinds := store.Kinds(r.operation)
	r.recorder = store.NewRecorder(r.operation, r.start, func(c store.Counter, after time.Duration, n int64) { r.series[c].add(after, n) })
	for _, c := range r.recorder.Counters {
		r.series[c] = newSeries(c, kinds, r.duration, env.Report)
	}
	p.target.Recorder = r.recorder
	if err := r.work(ctx); err != nil {
		return err
	}
	for _, c := range r.recorder.Counters {
		r.series[c].sample()
	}
	for _, kind := range kinds {
		r.reportLatencies("objectstore_"+kind, r.recorder.Latencies[kind])
	}
	reportErrors(r.recorder.Counts(), r.report)
	return r.judge()
}

// run is the state of Run.
type run struct {
	*Params
	settings
	report   workload.Reporter
	start    time.Time
	recorder *store.Recorder
	series   map[store.Counter]*series
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
	r.recorder.Read(0)
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var readings sync.WaitGroup
	ended := make(chan struct{})
	readings.Go(func() {
		store.ReadOften(ended, r.start, r.duration, func(after time.Duration) {
			if r.recorder.Read(after); r.hopeless() {
				cancel(errHopeless)
			}
		})
	})
	_, err = pool.Run(within, load.Run{
		Plan: load.Plan{
			Closed: &load.Closed{Users: r.concurrency, Duration: r.duration, Count: r.count},
			Seed:   uint64(r.start.UnixNano()),
		},
		Share: load.All, Start: r.start, Drain: longest, Each: func(load.Second) {},
	})
	close(ended)
	readings.Wait()
	r.recorder.Read(time.Since(r.start))
	if errors.Is(err, errHopeless) {
		err = nil // judge says so
	}
	return errors.Join(err, pool.Close())
}

// hopeless says that the task will fail whatever comes: by duration, when most
// operations, and 100 of them, have failed.
func (r *run) hopeless() bool {
	c := r.recorder.Counts()
	if r.count > 0 {
		all := r.count
		if r.operation == store.PutDelete {
			all *= 2
		}
		return float64(c.Failed) > r.MaxErrors*float64(all)
	}
	return r.MaxErrors < 0.5 && c.Failed >= 100 && c.Failed > c.Completed
}

// judge fails the task if more operations failed than the user allows, or none
// succeeded, and warns about fewer.
func (r *run) judge() error {
	c := r.recorder.Counts()
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

// runUpload does an upload and reports how long all of it and each part took.
func runUpload(ctx context.Context, u *store.Upload, report workload.Reporter) error {
	begun := time.Now()
	parts, err := u.Do(ctx)
	elapsed := time.Since(begun)
	reportErrors(u.Recorder.Counts(), report)
	if err != nil {
		return err
	}
	report.Sample(model.Sample{Metric: "objectstore_upload_elapsed", Unit: "s", Value: elapsed.Seconds(), Better: model.Lower})
	for _, part := range parts {
		report.Sample(model.Sample{Metric: "objectstore_upload_" + part.Name, Unit: "s", Value: part.Took.Seconds(), Better: model.Lower, Info: true})
	}
	return nil
}

// percentiles that stand beside the histogram, by the end of their name.
var percentiles = []struct {
	name string
	at   float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99_9", 99.9}, {"max", 100}}

// reportLatencies publishes both distributions, if there was an operation at all.
func (r *run) reportLatencies(name string, l store.Latencies) {
	if l.Whole.TotalCount() == 0 {
		return
	}
	for metric, h := range map[string]*hdr.Histogram{name + "_latency": l.Whole, name + "_first_byte": l.FirstByte} {
		for _, p := range percentiles {
			r.report.Sample(model.Sample{Metric: metric + "_" + p.name, Unit: "us", Value: float64(h.ValueAtPercentile(p.at)), Better: model.Lower, Info: true})
		}
		r.report.Histogram(model.Histogram{Metric: metric, Unit: "us", Encoded: histogram.Encode(h)})
	}
}

// reportErrors publishes what failed, also 0 of a kind, because that was checked.
func reportErrors(c store.Counts, report workload.Reporter) {
	info := func(metric string, n int64, labels map[string]string) {
		report.Sample(model.Sample{Metric: metric, Unit: "1", Value: float64(n), Better: model.Lower, Labels: labels, Info: true})
	}
	for _, kind := range store.Failures {
		info("objectstore_errors", c.Errors[kind], map[string]string{"kind": string(kind)})
	}
	info("objectstore_retries", c.Retries, nil)
	info("objectstore_failed_operations", c.Failed, nil)
}

// series is one metric: what is published while the task runs, and the sample
// at its end, which is the slope of just that.
//
// A task by duration lets operations end that are under way at its deadline.
// What they do after it does not belong to the task's time, and how long they
// take depends on the size of the fleet: nothing later than the deadline is
// published. The last point lies at the deadline, interpolated between the
// readings around it.
type series struct {
	metric, unit string  // unit of the counter: byte or op
	resource     string  // of the sample; may be empty
	scale        float64 // parts that make one of the unit
	until        store.Until
	report       workload.Reporter
}

const operationsMetric = "objectstore_operations"

// resources of the kinds of operations.
var resources = map[string]string{store.Put: model.ResourceObjectPut, store.Delete: model.ResourceObjectPut, store.Get: model.ResourceObjectGet}

// newSeries is the series of a counter, in a task of these kinds of operations.
func newSeries(c store.Counter, kinds []string, deadline time.Duration, report workload.Reporter) *series {
	s := &series{metric: operationsMetric, unit: "op", resource: resources[c.Kind], scale: store.Parts, report: report}
	s.until = store.Until{Deadline: deadline, Publish: s.publish}
	switch {
	case c.Bytes:
		s.metric, s.unit, s.scale = "objectstore_"+c.Kind+"_throughput", "byte", 1
	case c.Kind != "":
		s.metric = "objectstore_" + c.Kind + "_rate"
	case resources[kinds[0]] == resources[kinds[len(kinds)-1]]:
		s.resource = resources[kinds[0]] // puts and gets mixed are two things
	}
	return s
}

func (s *series) publish(after time.Duration, n float64) {
	s.report.ProgressAt(s.metric, s.unit, after, n/s.scale)
}

// add takes the next final reading.
func (s *series) add(after time.Duration, parts int64) { s.until.Add(after, float64(parts)) }

// sample reports the slope of the whole series: up to the deadline, or to the
// end of the last operation of a task by count.
func (s *series) sample() {
	if s.until.N == 0 || s.until.After == 0 {
		return // no value is not a value of 0
	}
	s.report.Sample(model.Sample{
		Metric: s.metric, Unit: s.unit + "/s", Value: s.until.N / s.scale / s.until.After.Seconds(),
		Better: model.Higher, Resource: s.resource,
	})
}
