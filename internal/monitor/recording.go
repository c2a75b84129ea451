package monitor

import (
	"context"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// maxRows is how many readings are kept. When there are more, every other one
// is dropped, and from then on readings are half as many: at one a second,
// after 2 h 13 min.
const maxRows = 8000

// Recording is what the monitor reads from Start to Stop.
type Recording struct {
	step    time.Duration
	now     func() time.Time
	limit   int // rows
	sources []source
	emit    emit

	stopOnce sync.Once
	stop     chan struct{}
	done     chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards what follows
	sheet  *sheet
	began  time.Time // of the first reading
	stride int64     // every how many steps there is a reading
}

// Stop takes a last reading and ends the recording. A second call does
// nothing.
func (r *Recording) Stop() {
	r.stopOnce.Do(func() {
		close(r.stop)
		<-r.done
		r.last()
		for _, s := range r.sources {
			s.close()
		}
	})
}

// Series returns what was read, with offsets from started, which is in the
// node's own clock; the first is negative when the recording began before.
// Every series is finite and ascending in time, and counters begin at 0. A
// reading that was not taken, or that lacked the metric, is not there.
func (r *Recording) Series(started time.Time) []model.HostSeries {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sheet.series(r.began.Sub(started))
}

func (r *Recording) run(ctx context.Context) {
	defer close(r.done)
	tick, wait := r.next()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.stop:
			return
		case <-timer.C:
			r.read(tick)
			tick, wait = r.next()
			timer.Reset(wait)
		}
	}
}

// next is the number of the next reading, and how long to wait for it.
// Readings stay on one schedule: one that comes late does not delay those
// after it. Those that were missed, or are due in less than half a step, are
// left out, because a rate over so short a time would be mostly the
// granularity of the kernel's clocks.
func (r *Recording) next() (tick int64, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	period := time.Duration(r.stride) * r.step
	past := r.now().Sub(r.began)
	n := int64((past + period/2 + period - 1) / period)
	return n * r.stride, time.Duration(n)*period - past
}

// read takes a reading.
func (r *Recording) read(tick int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(tick)
	if len(r.sheet.at) >= r.limit {
		r.stride *= 2
		r.sheet.thin(r.stride)
	}
}

// last takes the reading at the end. It replaces the one before if that is so
// close that the rate between the two would mean nothing.
func (r *Recording) last() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(-1)
	at := r.sheet.at
	if n := len(at); n > 2 && at[n-1]-at[n-2] < time.Duration(r.stride)*r.step/2 {
		r.sheet.remove(n - 2)
	}
}

// take adds a row. Its time is the middle of the reading.
func (r *Recording) take(tick int64) {
	before := r.now()
	if r.began.IsZero() {
		r.began = before
	}
	r.sheet.begin(tick)
	for _, s := range r.sources {
		s.read(r.emit)
	}
	after := r.now()
	r.sheet.end(before.Sub(r.began) + after.Sub(before)/2)
}
