package load

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// What a worker's sent is before its operation was sent.
const (
	unsent    = -1
	withdrawn = -2 // and never will be
)

// worker has one client at a time, and does one operation at a time with it.
type worker struct {
	index  int
	client Client // may be nil; owned by its goroutine during a run

	// The pool's lock guards these.
	wake      chan bool // true: there is an operation; false: the run is over; nil: it has no goroutine
	op        int
	due, free time.Duration // free is when it became so, or a client for its operation
	given     time.Duration // when it got its operation
	at        int           // its place among those that are busy
	abandoned bool          // its operation is not waited for
	lost      bool          // nor for its goroutine
	opened    bool          // it counts as a client of the pool

	// sent is when the operation was sent, in ns.
	sent atomic.Int64
}

// withdraw keeps an operation from being sent; false if it was already.
func (w *worker) withdraw() bool { return w.sent.CompareAndSwap(unsent, withdrawn) }

// send says that an operation is sent now; false if it was withdrawn.
func (w *worker) send(now time.Duration) bool { return w.sent.CompareAndSwap(unsent, int64(now)) }

func (w *worker) sentAt() time.Duration { return time.Duration(w.sent.Load()) }

// outcome is how an operation ended. Its times are from the start of the plan.
type outcome struct {
	err  error
	kind Kind // of err
	full bool // the target allows no more clients
	// repeated: it was sent twice.
	repeated bool
	done     time.Duration
}

// ends reports whether the client cannot be used again.
func (o outcome) ends() bool {
	return o.err != nil && slices.Contains([]Kind{ErrConnect, ErrTimeout, ErrClosed, ErrProtocol}, o.kind)
}

// The errors of clients that take no notice of their context: of one that
// answered after the timeout, and can be used again, and of one that was
// abandoned.
var (
	errLate      = errors.New("the answer came after the timeout")
	errAbandoned = errors.New("the client did not return within its time")
)

// serve does operations until none is left for this worker in this run.
func (w *worker) serve(x *poolRun, wake <-chan bool) {
	// A context of its own, for those of all operations would queue for the
	// lock of the run's.
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	defer x.leave(w)
	for {
		switch x.finish(w, w.do(ctx, x)) {
		case goOn:
		case waitFor:
			if !<-wake {
				return
			}
		case endHere:
			w.hangUp()
			x.release(w)
			return
		}
	}
}

// do does the operation that was assigned.
func (w *worker) do(ctx context.Context, x *poolRun) outcome {
	if err := w.connect(ctx, x); err != nil {
		return outcome{err: err, kind: ErrConnect, done: x.now()}
	}
	timeout := x.pool.config.Timeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sent := x.now()
	if !w.send(sent) {
		return outcome{done: sent}
	}
	err := w.client.Do(ctx, w.op)
	o := outcome{err: err, done: x.now()}
	if r, ok := w.client.(Repeater); ok {
		o.repeated = r.Repeated()
	}
	if err != nil {
		o.kind = KindOf(err)
	}
	if o.done-sent > timeout || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o.kind = ErrTimeout
	}
	return o
}

// connect opens a client unless one is alive. That may take as long as an
// operation.
func (w *worker) connect(ctx context.Context, x *poolRun) error {
	if p, ok := w.client.(Perishable); ok && !p.Alive() {
		w.hangUp()
	}
	if w.client != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.pool.config.Timeout)
	defer cancel()
	begin := x.now()
	c, err := x.pool.target.Open(ctx, w.index)
	if err != nil {
		return err
	}
	w.client = c
	x.opened(w, begin)
	return nil
}

// hangUp closes the client. An error of that is not an operation's result.
func (w *worker) hangUp() {
	if w.client != nil {
		_ = w.client.Close()
		w.client = nil
	}
}

// opened notes that the worker has a client from now on. The time that this
// took does not count as the generator's delay.
func (x *poolRun) opened(w *worker, begin time.Duration) {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	if w.abandoned {
		return
	}
	now := x.now()
	x.usage.Opened++
	x.pool.worked = true
	if !w.opened { // it may replace one that was closed
		w.opened = true
		x.pool.open++
		x.usage.Connections.Open = max(x.usage.Connections.Open, x.pool.open)
	}
	w.free = max(w.due, w.free) + now - begin
	if !x.pause.over(now) {
		x.alarm.wake() // others can be opened, too
	}
	x.pause = pause{}
}

// afterwards is what a worker does after an operation.
type afterwards int

const (
	goOn    afterwards = iota // with the next operation
	waitFor                   // one
	endHere                   // its client cannot be used again
)

// finish records an operation, and says what the worker does now.
func (x *poolRun) finish(w *worker, o outcome) afterwards {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	if w.abandoned {
		if x.stopped && x.usage.Pending == nil {
			x.usage.Pending = o.err
		}
		return endHere
	}
	if o.kind == ErrConnect && o.err != nil {
		o.full = x.usage.Connections.refuse(o.err)
		x.lack = cmp.Or(x.lack, Lack(o.err, x.pool.worked))
	}
	x.retire(w)
	x.record(w, o)
	x.source.Ended(o.done)
	if o.ends() {
		x.alarm.wake() // what waits may have to be done by a new client
		return endHere
	}
	if due, ok := x.waiting(o.done); ok {
		x.assign(w, due, x.freeSince(due, o.done), o.done)
		x.wakeSooner(o.done)
		return goOn
	}
	w.free = o.done
	x.idle = append(x.idle, w)
	x.wakeSooner(o.done)
	return waitFor
}

// waiting returns the next operation that is due. One that waited for too long
// is dropped, unless it only waits for the dispatcher.
func (x *poolRun) waiting(now time.Duration) (due time.Duration, ok bool) {
	for {
		due, ok = x.source.Peek()
		if !ok || due > now {
			return 0, false
		}
		if len(x.idle) > 0 || x.mayOpen(now) || !x.drop(due, now) {
			return due, true
		}
	}
}

// freeSince is since when there has been a client for an operation: the first
// to become idle, or a new one, or else one that is free now.
func (x *poolRun) freeSince(due, now time.Duration) time.Duration {
	switch {
	case len(x.idle) > 0:
		return x.idle[0].free
	case x.mayOpen(now):
		return due
	}
	return now
}

// record counts an operation that has ended.
func (x *poolRun) record(w *worker, o outcome) {
	sent := w.sentAt()
	if sent == unsent {
		x.pause.extend(o.done, o.full && len(x.busy)+len(x.idle) > 0)
	} else {
		x.shard.Sent(w.op, w.due, w.free, sent)
	}
	if o.repeated {
		x.shard.Repeat(w.op, w.due)
	}
	if o.err == nil && o.kind != ErrTimeout {
		x.shard.OK(w.op, w.due, sent, o.done)
		return
	}
	if o.err == nil {
		o.err = errLate
	}
	x.fail(w, o.kind, o.err)
}

func (x *poolRun) fail(w *worker, kind Kind, err error) {
	if e, ok := errors.AsType[*Error](err); ok && kind == ErrStatus && e.Status > 0 {
		x.shard.Refuse(w.op, w.due, e.Status)
	} else {
		x.shard.Fail(w.op, w.due, kind)
	}
	if x.usage.Examples[kind] == nil {
		x.usage.Examples[kind] = err
	}
}

// release gives up a worker with a client that is closed: another may have its
// number.
func (x *poolRun) release(w *worker) {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	x.pool.slots.put(w.index)
	if w.opened {
		w.opened = false
		x.pool.open--
	}
	if !x.stopped {
		x.alarm.wake() // for what waits for a client to be allowed
	}
}

// leave says that a goroutine has ended.
func (x *poolRun) leave(w *worker) {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	if w.lost {
		return
	}
	x.active--
	if x.stopped && x.active == 0 {
		close(x.gone)
	}
}
