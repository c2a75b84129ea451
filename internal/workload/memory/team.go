package memory

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// kind describes one test.
type kind struct {
	metric  string // of the rate, in unit a second; its progress counts units
	unit    string
	weight  float64 // units in one step of the counter
	latency string  // metric of the time of one step in ns; "" for none
	begin   func(*arena)
	block   func(*arena) uint64 // does the next block, returns counter steps
}

// rewind starts at the first element.
func rewind(a *arena) { a.next = 0 }

var kinds = map[string]kind{
	Copy: {metric: "copy_bandwidth", unit: "byte", weight: 16, begin: rewind, block: (*arena).copyBlock},
	Triad: {metric: "triad_bandwidth", unit: "byte", weight: 24, block: (*arena).triadBlock,
		begin: func(a *arena) { a.next, a.before = 0, a.copied }},
	Latency: {metric: "random_access_rate", unit: "op", weight: 1, latency: "random_access_latency", begin: func(*arena) {}, block: (*arena).walk},
}

// worker is one thread in one test.
type worker struct {
	arena *arena

	_     [64]byte // the counter has a cache line of its own: others read it
	count atomic.Uint64
	_     [64]byte

	ended time.Time // after the last block
}

// work does block after block until the deadline.
func (w *worker) work(deadline time.Time, k kind, stop *atomic.Bool) {
	runtime.LockOSThread() // so that n threads are n threads for the kernel's scheduler, too
	defer runtime.UnlockOSThread()
	k.begin(w.arena)
	for {
		w.count.Add(k.block(w.arena))
		w.ended = time.Now()
		if !w.ended.Before(deadline) || stop.Load() {
			return
		}
	}
}

// team is all threads of one test.
type team struct {
	workers []*worker
	stop    atomic.Bool
	done    chan struct{} // closed when all have stopped
}

func newTeam(arenas []*arena) *team {
	t := &team{done: make(chan struct{})}
	for _, a := range arenas {
		t.workers = append(t.workers, &worker{arena: a})
	}
	return t
}

// launch starts all workers.
func (t *team) launch(ctx context.Context, deadline time.Time, k kind) {
	cancel := context.AfterFunc(ctx, func() { t.stop.Store(true) })
	var wg sync.WaitGroup
	for _, w := range t.workers {
		wg.Go(func() { w.work(deadline, k, &t.stop) })
	}
	go func() {
		wg.Wait()
		cancel()
		close(t.done)
	}()
}

// total is the counter of all threads.
func (t *team) total() float64 {
	var n uint64
	for _, w := range t.workers {
		n += w.count.Load()
	}
	return float64(n)
}

// rates returns the steps a second of all threads, each over its own time, and
// the mean time of one step of one thread in seconds.
func (t *team) rates(start time.Time) (rate, step float64) {
	var seconds, count float64
	for _, w := range t.workers {
		took, n := w.ended.Sub(start).Seconds(), float64(w.count.Load())
		rate, seconds, count = rate+n/took, seconds+took, count+n
	}
	return rate, seconds / count
}
