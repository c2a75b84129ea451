package workload

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Team is threads that do one step after the other until a deadline: the
// built-in benchmarks of processors and memory.
type Team struct {
	start   time.Time
	threads []*thread
	stop    atomic.Bool
	done    chan struct{}
}

// thread is one of them. Others read its counter, which therefore has a cache
// line of its own.
type thread struct {
	_     [64]byte
	count atomic.Uint64
	_     [64]byte

	ended time.Time // after the last step
	err   error
}

// StartTeam starts an operating-system thread for each function. A step returns
// what it adds to the thread's counter; its error ends all threads, and so does
// ctx, after the step that they are in. The clock is looked at after every step.
func StartTeam(ctx context.Context, deadline time.Time, steps []func() (uint64, error)) *Team {
	t := &Team{start: time.Now(), done: make(chan struct{})}
	cancel := context.AfterFunc(ctx, func() { t.stop.Store(true) })
	var wg sync.WaitGroup
	for _, step := range steps {
		th := &thread{ended: t.start}
		t.threads = append(t.threads, th)
		wg.Go(func() { t.work(th, step, deadline) })
	}
	go func() {
		wg.Wait()
		cancel()
		close(t.done)
	}()
	return t
}

func (t *Team) work(th *thread, step func() (uint64, error), deadline time.Time) {
	runtime.LockOSThread() // so that n threads are n threads for the kernel's scheduler, too
	defer runtime.UnlockOSThread()
	for {
		n, err := step()
		if err != nil {
			th.err = err
			t.stop.Store(true)
			return
		}
		th.count.Add(n)
		th.ended = time.Now()
		if !th.ended.Before(deadline) || t.stop.Load() {
			return
		}
	}
}

// Done is closed when all threads have stopped.
func (t *Team) Done() <-chan struct{} { return t.done }

// Total is the sum of the counters until now.
func (t *Team) Total() float64 {
	var n uint64
	for _, th := range t.threads {
		n += th.count.Load()
	}
	return float64(n)
}

// Counts are the counters by thread.
func (t *Team) Counts() []uint64 {
	var counts []uint64
	for _, th := range t.threads {
		counts = append(counts, th.count.Load())
	}
	return counts
}

// Result returns the sum over threads of each one's count a second, and the mean
// time that a thread takes for one, in seconds; to be called after Done. Each
// thread counts from the common start to its own last step: one that overran
// because it had to wait for a processor is charged for the wait.
func (t *Team) Result() (rate, each float64, err error) {
	var seconds, count float64
	var errs []error
	for _, th := range t.threads {
		took, n := th.ended.Sub(t.start).Seconds(), float64(th.count.Load())
		rate, seconds, count = rate+n/took, seconds+took, count+n
		errs = append(errs, th.err)
	}
	return rate, seconds / count, errors.Join(errs...)
}

// progressEvery is five times a second: the contract asks for one.
const progressEvery = 200 * time.Millisecond

// PublishUntil reports a counter several times a second until done is closed,
// and then once more. total is read immediately before the report takes the
// time.
func PublishUntil(done <-chan struct{}, r Reporter, metric, unit string, total func() float64) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.Progress(metric, unit, total())
		case <-done:
			r.Progress(metric, unit, total())
			return
		}
	}
}
