package load

import (
	"context"
	"runtime"
	"time"
)

// poolRun is one run of a [Pool]. What is not said to be otherwise is guarded
// by the pool's lock. Times are from the start of the plan.
type poolRun struct {
	// These do not change.
	pool            *Pool
	ctx             context.Context // of operations
	cancel          context.CancelFunc
	start           time.Time
	duration, drain time.Duration
	open            bool // an open loop, not a closed one
	counted         bool // a number of operations ends it
	alarm           alarm
	collector       *Collector

	source Source
	mix    *Mix
	shard  *Shard
	usage  Usage
	pause  pause
	lack   error     // what this machine lacks: the run ends
	idle   []*worker // the one used last is the last
	busy   []*worker // each knows its place
	active int       // goroutines of workers
	// until is when the dispatcher wakes; tick when it looks after the rest.
	until, tick time.Duration
	stopped     bool
	gone        chan struct{} // closed when it is stopped and no worker is active

	// These are the dispatcher's own.
	handed bool // to a goroutine that did not run yet
	// slept is how long it slept during the plan: as long as it wanted to; a
	// late wake-up does not count.
	slept time.Duration
	cpu   time.Duration // of the process before the start
	ended bool          // the plan, and its processor time is known
}

// prepare begins a run, before its start.
func (p *Pool) prepare(ctx context.Context, r Run) (*poolRun, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	mix, err := NewMix(p.target.Mix(), r.Plan.Seed, r.Share)
	if err != nil {
		return nil, err
	}
	a, err := p.newAlarm()
	if err != nil {
		return nil, err
	}
	x := &poolRun{
		pool: p, alarm: a, mix: mix, source: NewSource(r.Plan, r.Share),
		duration: r.Plan.Duration(), drain: r.Drain, open: r.Plan.Closed == nil, counted: r.Plan.Closed != nil && r.Plan.Closed.Count > 0,
		tick: time.Second, gone: make(chan struct{}),
		collector: NewCollector(1, len(p.target.Mix()), r.Each),
	}
	x.shard = x.collector.Shard(0)
	// Operations end when the run says so, which is after ctx is done.
	x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
	x.start = r.Begin()
	p.mu.Lock()
	defer p.mu.Unlock()
	x.idle, p.kept = p.kept, nil
	x.usage.Connections = p.refused
	x.usage.Connections.Open = p.open
	for _, w := range x.idle {
		w.free = 0
	}
	return x, nil
}

func (x *poolRun) now() time.Duration { return time.Since(x.start) }

// await waits for the start; false if ctx was done before.
func (x *poolRun) await(ctx context.Context) bool {
	for left := -x.now(); left > 0 && ctx.Err() == nil; left = -x.now() {
		x.alarm.sleep(left)
	}
	x.cpu = ProcessorTime()
	return ctx.Err() == nil
}

// follow executes the plan; false if ctx was done before its end.
func (x *poolRun) follow(ctx context.Context) bool {
	for ctx.Err() == nil {
		until, over := x.step() //nolint:contextcheck // operations have the context of the run, which ends after ctx
		if over {
			return true
		}
		if x.handed {
			// Clients have the processor before it waits in the kernel: the one that was woken
			// last runs on this thread at once, without another having to be woken first.
			x.handed = false
			runtime.Gosched()
		}
		if begin := x.now(); until > begin {
			x.alarm.sleep(until - begin)
			x.slept += max(min(x.now(), until, x.duration)-begin, 0)
		}
	}
	return false
}

// step does what is due, and returns when there is more to do. It is over when everything
// has ended, or the wait for it has.
func (x *poolRun) step() (until time.Duration, over bool) {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	now := x.now()
	if now >= x.duration {
		x.endPlan()
	}
	x.dispatch(now)
	_, more := x.source.Peek()
	ended := (now >= x.duration || x.counted) && !more && len(x.busy) == 0
	if x.lack != nil || ended || now >= x.duration+x.drain {
		return now, true
	}
	if now >= x.tick {
		x.housekeep(now)
	}
	x.until = x.next(now)
	return x.until, false
}

// dispatch hands out what is due, until there is nothing, or no client, left.
func (x *poolRun) dispatch(now time.Duration) {
	for {
		due, ok := x.source.Peek()
		if !ok || due > now || !x.useIdle(due, now) && !x.useNew(due, now) && !x.drop(due, now) {
			return
		}
	}
}

// useIdle gives an operation to a client that is idle, if there is one: however
// late it is, that is the generator's doing.
func (x *poolRun) useIdle(due, now time.Duration) bool {
	n := len(x.idle)
	if n == 0 {
		return false
	}
	free := x.freeSince(due, now)
	w := x.idle[n-1]
	x.idle = x.idle[:n-1]
	x.assign(w, due, free, now)
	x.wake(w)
	return true
}

// drop gives up an operation that has waited for too long.
func (x *poolRun) drop(due, now time.Duration) bool {
	if due+x.pool.config.Timeout > now {
		return false
	}
	x.shard.Drop(x.take(due), due)
	x.source.Ended(now)
	return true
}

// useNew gives an operation to a new client, or fails it where no connection can be had
// now and there is no client; false if it has to wait.
func (x *poolRun) useNew(due, now time.Duration) bool {
	if !x.pause.over(now) {
		if !x.open || len(x.busy) > 0 {
			return false
		}
		x.shard.Fail(x.take(due), due, ErrConnect)
		x.source.Ended(now)
		return true
	}
	if !x.mayOpen(now) {
		if x.pool.short && !x.pool.slots.free() {
			x.lack = ErrFiles(x.pool.slots.limit)
		}
		return false
	}
	if x.pause.full {
		x.pause.until = now + fullPause
	}
	w := &worker{index: x.pool.slots.take()}
	x.assign(w, due, due, now)
	x.wake(w)
	return true
}

// mayOpen reports whether a client may be opened now.
func (x *poolRun) mayOpen(now time.Duration) bool { return x.pause.over(now) && x.pool.slots.free() }

// wake lets a worker do what was assigned to it, in this run's goroutine.
func (x *poolRun) wake(w *worker) {
	x.handed = true
	if w.wake != nil {
		w.wake <- true // it is idle, so there is room
		return
	}
	w.wake = make(chan bool, 1)
	x.active++
	go w.serve(x, w.wake)
}

// take announces the next operation, and returns its kind.
func (x *poolRun) take(due time.Duration) (op int) {
	op = x.mix.Next()
	x.shard.Due(op, due)
	x.source.Take()
	return op
}

// assign gives the next operation to a worker; a client has been free for it
// since free.
func (x *poolRun) assign(w *worker, due, free, now time.Duration) {
	w.op, w.due, w.free, w.given = x.take(due), due, free, now
	w.sent.Store(unsent)
	w.at = len(x.busy)
	x.busy = append(x.busy, w)
}

// retire takes an operation from its worker.
func (x *poolRun) retire(w *worker) {
	last := len(x.busy) - 1
	x.busy[w.at] = x.busy[last]
	x.busy[w.at].at = w.at
	x.busy = x.busy[:last]
}

// next is when the dispatcher has to look again.
func (x *poolRun) next(now time.Duration) time.Duration {
	until := min(x.tick, x.duration+x.drain)
	if now < x.duration {
		until = min(until, x.duration)
	}
	due, ok := x.source.Peek()
	switch {
	case !ok:
	case due > now:
		until = min(until, due)
	default: // it waits for a client
		until = min(until, due+x.pool.config.Timeout)
		if !x.pause.over(now) {
			until = min(until, x.pause.until)
		}
	}
	return until
}

// wakeSooner wakes the dispatcher when it sleeps for longer than it should.
func (x *poolRun) wakeSooner(now time.Duration) {
	due, ok := x.source.Peek()
	switch {
	case ok && due > now && due < x.until,
		!ok && (now >= x.duration || x.counted) && len(x.busy) == 0:
		x.alarm.wake()
	}
}

// housekeep looks after what has to be done once a second.
func (x *poolRun) housekeep(now time.Duration) {
	for i := len(x.busy) - 1; i >= 0; i-- { // from the end: retire moves the last one
		w := x.busy[i]
		if should := max(w.given, w.sentAt()) + x.pool.config.Timeout; now >= should+grace {
			x.abandon(w, now)
		}
	}
	oldest := now // when the oldest operation was due that has not ended
	if !x.pool.config.Live {
		if due, ok := x.source.Peek(); ok {
			oldest = min(oldest, due)
		}
		for _, w := range x.busy {
			oldest = min(oldest, w.due)
		}
	}
	x.shard.Flush(oldest)
	x.tick = now.Truncate(time.Second) + time.Second
}

// abandon ends the operation of a client that ignores its context: otherwise its
// second could not be handed over.
func (x *poolRun) abandon(w *worker, now time.Duration) {
	x.retire(w)
	w.abandoned, w.lost = true, true
	x.active--
	if w.withdraw() {
		x.fail(w, ErrConnect, errAbandoned)
	} else {
		x.shard.Sent(w.op, w.due, w.free, w.sentAt())
		x.fail(w, ErrTimeout, errAbandoned)
	}
	x.source.Ended(now)
}

// stop ends what has not ended, keeps the clients that are idle for the next
// run, and returns when the others have ended, or have had the time to.
func (x *poolRun) stop() Usage {
	x.settle()
	x.cancel()
	x.collector.Wait()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-x.gone:
	case <-late.C:
	}
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	return x.usage
}

// settle gives every operation that was due an end, and closes the record.
func (x *poolRun) settle() {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	x.stopped = true
	now := x.now()
	// What was due waits for a client. Users of a closed loop do not come again.
	for due, ok := x.source.Peek(); ok && due <= now; due, ok = x.source.Peek() {
		x.shard.Drop(x.take(due), due)
	}
	for len(x.busy) > 0 {
		w := x.busy[len(x.busy)-1]
		x.retire(w)
		if w.abandoned = true; w.withdraw() {
			x.shard.Drop(w.op, w.due)
			continue
		}
		x.shard.Sent(w.op, w.due, w.free, w.sentAt())
		x.shard.Unfinish(w.op, w.due)
	}
	for _, w := range x.idle { // their goroutines end, their clients are kept
		if w.wake != nil {
			w.wake <- false
			w.wake = nil
		}
	}
	x.pool.kept, x.idle = x.idle, nil
	if x.active == 0 {
		close(x.gone)
	}
	if now > 0 {
		x.shard.Flush(min(now, x.duration-1))
	}
	x.shard.Close()
	x.endPlan() // it may have been cut short
	if l, ok := x.pool.target.(Located); ok {
		x.usage.AddAddresses(l.Uses())
	}
	x.usage.Wall = max(now, 0)
	x.usage.Loaded = min(x.usage.Wall, x.duration)
	if loaded := x.usage.Loaded; loaded > 0 {
		x.usage.Busy = 1 - float64(x.slept)/float64(loaded)
	}
}

// endPlan takes the processor time when the plan is over.
func (x *poolRun) endPlan() {
	if !x.ended {
		x.ended, x.usage.CPU = true, ProcessorTime()-x.cpu
	}
}
