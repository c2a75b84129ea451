package board

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// limiter lets so many in at a time: requests that have a worker thread, or a connection.
// The next wait in the order in which they came.
type limiter struct {
	slots    chan struct{} // nil: there is no limit
	in       atomic.Int64  // how many are in where there is none
	waiting  atomic.Int64
	waits    atomic.Int64 // how many have waited
	waitTime atomic.Int64 // ns
}

// limit sets how many may be in at a time, 0: any.
func (l *limiter) limit(n int) {
	if n > 0 {
		l.slots = make(chan struct{}, n)
	}
}

// enter fails if the user has gone before there was room.
func (l *limiter) enter(ctx context.Context) error {
	if l.slots == nil {
		l.in.Add(1)
		return nil
	}
	select {
	case l.slots <- struct{}{}:
		return nil
	default:
	}
	l.waiting.Add(1)
	l.waits.Add(1)
	started := time.Now()
	defer func() {
		l.waiting.Add(-1)
		l.waitTime.Add(int64(time.Since(started)))
	}()
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *limiter) leave() {
	if l.slots == nil {
		l.in.Add(-1)
	} else {
		<-l.slots
	}
}

// inside is how many are in. A slot that is handed on is never free in between, also when
// the request that has it now was not yet scheduled.
func (l *limiter) inside() int64 { return l.in.Load() + int64(len(l.slots)) }

// kept are connections that are kept for later requests.
type kept[T any] struct {
	mu  sync.Mutex
	all []T
}

func (k *kept[T]) push(x T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, x)
}

// pop returns the one that was used last, so that no more are in use than are needed.
func (k *kept[T]) pop() (x T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.all)
	if n == 0 {
		return x, false
	}
	x, k.all = k.all[n-1], k.all[:n-1]
	return x, true
}

// drain takes all of them.
func (k *kept[T]) drain() []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.all
	k.all = nil
	return all
}
