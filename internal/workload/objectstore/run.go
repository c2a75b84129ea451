package objectstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// run is the state of Run.
type run struct {
	*task
	report workload.Reporter
	start  time.Time
	kinds  []string // that an operation consists of
	books  *books
	counts *counts
	begun  atomic.Int64 // operations, or pairs, that were begun
	got    atomic.Int64 // gets that were begun: the next object's turn
	named  atomic.Int64 // objects that were named
}

// kindsOf says what an operation consists of.
var kindsOf = map[string][]string{
	Put: {kindPut}, Get: {kindGet}, PutDelete: {kindPut, kindDelete}, Mixed: {kindPut, kindGet},
}

func (t *task) run(ctx context.Context, report workload.Reporter) error {
	kinds := kindsOf[t.operation]
	r := &run{
		task: t, report: report, start: time.Now(), kinds: kinds,
		books: newBooks(kinds, t.duration, report), counts: newCounts(kinds),
	}
	r.books.read(0) // while it is true that nothing is done
	r.work(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.conclude()
}

// work starts the workers and takes readings until they have ended. One is
// taken right at the deadline; the last sees everything completed.
func (r *run) work(ctx context.Context) {
	var workers sync.WaitGroup
	for i := range r.concurrency {
		workers.Go(func() { r.worker(ctx, uint64(i)) })
	}
	ended := make(chan struct{})
	go func() { workers.Wait(); close(ended) }()
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	var deadline <-chan time.Time // none by count
	if r.duration > 0 {
		deadline = time.After(time.Until(r.start.Add(r.duration)))
	}
	for {
		select {
		case <-tick.C:
			r.books.read(time.Since(r.start))
		case <-deadline:
			r.books.read(time.Since(r.start))
		case <-ended:
			r.books.read(time.Since(r.start))
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
	for _, b := range r.books.order {
		b.sample()
	}
	if err := r.counts.report(r.report, r.kinds); err != nil {
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
