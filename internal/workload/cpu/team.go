package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// worker is one thread with its scratch memory.
type worker struct {
	kernel  string
	start   *[5]body
	next    int // number of the next operation
	numbers [integerLength]uint64
	system  [5]body

	_     [64]byte // the counter has a cache line of its own: others read it
	count atomic.Uint64
	_     [64]byte

	ended time.Time // after the last operation
	err   error
}

func (p *Params) newWorker() *worker { return &worker{kernel: p.Kernel, start: &p.start} }

// step does one operation and checks its result.
func (w *worker) step() error {
	n := w.next
	w.next++
	if w.kernel == Float || (w.kernel == Mixed && n%2 == 1) {
		if e := floatOp(&w.system, w.start); math.Float64bits(e) != math.Float64bits(floatEnergy) {
			return fmt.Errorf("floating-point operation %d gave %v instead of %v: this processor miscomputes, its results are worthless", n, e, floatEnergy)
		}
		return nil
	}
	k := n % len(integerHashes)
	if h := integerOp(&w.numbers, integerSeed(k)); h != integerHashes[k] {
		return fmt.Errorf("integer operation %d gave %#x instead of %#x: this processor miscomputes, its results are worthless", n, h, integerHashes[k])
	}
	return nil
}

// work computes until the deadline. It looks at the clock after every
// operation; the end of ctx is seen through stop, which costs one load.
func (w *worker) work(deadline time.Time, stop *atomic.Bool) {
	runtime.LockOSThread() // so that n threads are n threads for the kernel's scheduler, too
	defer runtime.UnlockOSThread()
	for {
		if w.err = w.step(); w.err != nil {
			stop.Store(true)
			return
		}
		w.count.Add(1)
		w.ended = time.Now()
		if !w.ended.Before(deadline) || stop.Load() {
			return
		}
	}
}

// team is all threads of one run.
type team struct {
	workers []*worker
	stop    atomic.Bool
	done    chan struct{} // closed when all have stopped
}

func newTeam(p *Params) *team {
	t := &team{done: make(chan struct{})}
	for range p.Threads {
		t.workers = append(t.workers, p.newWorker())
	}
	return t
}

// launch starts all workers.
func (t *team) launch(ctx context.Context, start, deadline time.Time) {
	cancel := context.AfterFunc(ctx, func() { t.stop.Store(true) })
	var wg sync.WaitGroup
	for _, w := range t.workers {
		w.ended = start
		wg.Go(func() { w.work(deadline, &t.stop) })
	}
	go func() {
		wg.Wait()
		cancel()
		close(t.done)
	}()
}

// total is the number of operations of all threads until now.
func (t *team) total() float64 {
	var n uint64
	for _, w := range t.workers {
		n += w.count.Load()
	}
	return float64(n)
}

// result returns the rate in operations per second.
func (t *team) result(start time.Time) (float64, error) {
	var rate float64
	var errs []error
	for _, w := range t.workers {
		rate += float64(w.count.Load()) / w.ended.Sub(start).Seconds()
		errs = append(errs, w.err)
	}
	return rate, errors.Join(errs...)
}
