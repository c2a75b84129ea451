package objectstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// run is the state of Run.
type run struct {
	*task
	report  workload.Reporter
	start   time.Time
	counts  *counts
	moving  []string // kinds that move bytes: put, get
	kinds   []string // all kinds
	ledgers map[string]*ledger
	scores  map[string]*score // by kind that moves bytes
	begun   atomic.Int64      // operations, or pairs, that were begun
	got     atomic.Int64      // gets that were begun: the next object's turn
	named   atomic.Int64      // objects that were named
}

// kindsOf says what an operation consists of.
var kindsOf = map[string][]string{
	Put: {kindPut}, Get: {kindGet}, PutDelete: {kindPut, kindDelete}, Mixed: {kindPut, kindGet},
}

func (t *task) run(ctx context.Context, report workload.Reporter) error {
	r := &run{task: t, report: report, start: time.Now(), kinds: kindsOf[t.operation], ledgers: map[string]*ledger{}, scores: map[string]*score{}}
	r.counts = newCounts(t.duration, r.kinds)
	for _, kind := range r.kinds {
		if kind != kindDelete {
			r.keepLedger(kind)
		}
	}
	r.read(0) // while it is true that nothing is done
	r.work(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.conclude()
}

func throughputMetric(kind string) string { return "objectstore_" + kind + "_throughput" }

// keepLedger publishes the bytes that this kind of operation moves.
func (r *run) keepLedger(kind string) {
	s := &score{deadline: r.duration}
	r.moving, r.scores[kind] = append(r.moving, kind), s
	r.ledgers[kind] = newLedger(func(after time.Duration, bytes int64) {
		s.add(after, bytes)
		r.report.ProgressAt(throughputMetric(kind), "byte", after, float64(bytes))
	})
}

// read takes a reading of everything.
func (r *run) read(after time.Duration) {
	for _, kind := range r.moving {
		r.ledgers[kind].read(after)
	}
	r.counts.progress(r.report, after)
}

// work starts the workers and takes readings until they have ended. The last
// reading sees everything completed.
func (r *run) work(ctx context.Context) {
	var workers sync.WaitGroup
	for i := range r.concurrency {
		workers.Go(func() { r.worker(ctx, uint64(i)) })
	}
	ended := make(chan struct{})
	go func() { workers.Wait(); close(ended) }()
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.read(time.Since(r.start))
		case <-ended:
			r.read(time.Since(r.start))
			return
		}
	}
}

// worker does one operation after the other.
func (r *run) worker(ctx context.Context, number uint64) {
	w := &worker{run: r, buf: make([]byte, 256<<10), lot: rand.New(rand.NewPCG(uint64(r.start.UnixNano()), number))}
	for ctx.Err() == nil && r.more() {
		w.operate(ctx)
	}
}

// more takes the right to begin one more operation.
func (r *run) more() bool {
	if r.hopeless() {
		return false
	}
	n := r.begun.Add(1)
	if r.count > 0 {
		return n <= r.count
	}
	return time.Since(r.start) < r.duration
}

// hopelessAfter is how many failures show that a task by duration is going
// nowhere, if most operations failed.
const hopelessAfter = 100

// hopeless says that the task will fail whatever comes.
func (r *run) hopeless() bool {
	completed, failed := r.counts.total()
	if r.count > 0 {
		return float64(failed) > r.params.MaxErrors*float64(r.operations())
	}
	return r.params.MaxErrors < 0.5 && failed >= hopelessAfter && failed > completed
}

// conclude reports, and judges the errors.
func (r *run) conclude() error {
	over := r.duration
	if over == 0 {
		over = r.scores[r.moving[0]].last.after // the end of the last operation
	}
	for _, kind := range r.moving {
		if bytes := r.scores[kind].bytes(); bytes > 0 { // no value is not a value of 0
			r.report.Sample(model.Sample{
				Metric: throughputMetric(kind), Unit: "byte/s", Value: bytes / over.Seconds(),
				Better: model.Higher, Resource: resources[kind],
			})
		}
	}
	if err := r.counts.report(r.report, r.kinds, over); err != nil {
		return err
	}
	return r.judge()
}

// judge fails the task if more operations failed than the user allows, or none
// succeeded, and warns about fewer.
func (r *run) judge() error {
	completed, failed := r.counts.total()
	share := float64(failed) / float64(max(completed+failed, 1))
	text := r.counts.describeErrors()
	switch {
	case completed == 0:
		return fmt.Errorf("no operation succeeded, %d failed%s", failed, text)
	case share > r.params.MaxErrors:
		return fmt.Errorf("%d of %d operations failed, more than max_errors allows (%g)%s", failed, completed+failed, r.params.MaxErrors, text)
	case text != "":
		r.say(r.stderr, "objectstore: %d of %d operations failed; their bytes do not count%s", failed, completed+failed, text)
	}
	return nil
}

// score is what a series says about the task as a whole.
type score struct {
	deadline   time.Duration
	last       reading
	atDeadline float64 // bytes at the deadline, between two readings in proportion
}

// add takes the next final reading.
func (s *score) add(after time.Duration, bytes int64) {
	if s.last.after < s.deadline && after >= s.deadline {
		part := float64(s.deadline-s.last.after) / float64(after-s.last.after)
		s.atDeadline = float64(s.last.bytes) + part*float64(bytes-s.last.bytes)
	}
	s.last = reading{after: after, bytes: bytes}
}

// bytes is what was moved within the task's time.
func (s *score) bytes() float64 {
	if s.deadline > 0 {
		return s.atDeadline
	}
	return float64(s.last.bytes)
}
