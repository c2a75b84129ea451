package load

import "time"

// housekeep looks after what has to be done once a second.
func (x *poolRun) housekeep(now time.Duration) {
	for i := len(x.busy) - 1; i >= 0; i-- { // from the end: retire moves the last one
		if w := x.busy[i]; now >= w.deadline(x.pool.config.Timeout)+grace {
			x.abandon(w, now)
		}
	}
	oldest := now
	if !x.pool.config.Live {
		oldest = x.oldest(now)
	}
	x.shard.Flush(oldest)
	x.tick = now.Truncate(time.Second) + time.Second
}

// oldest is when the oldest operation was due that has not ended.
func (x *poolRun) oldest(now time.Duration) time.Duration {
	oldest := now
	if due, ok := x.source.Peek(); ok {
		oldest = min(oldest, due)
	}
	for _, w := range x.busy {
		oldest = min(oldest, w.due)
	}
	return oldest
}

// abandon ends the operation of a client that does not heed its context: its
// second could not be handed over otherwise.
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
	return x.usage
}

// settle gives every operation that was due an end, and closes the record.
func (x *poolRun) settle() {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	x.stopped = true
	now := x.now()
	x.forgo(now)
	for len(x.busy) > 0 {
		x.unfinish(x.busy[len(x.busy)-1])
	}
	x.dismiss()
	if now > 0 {
		x.shard.Flush(min(now, x.duration-1))
	}
	x.shard.Close()
	x.account(max(now, 0))
}

// forgo drops what was due and waits for a client. Users of a closed loop do
// not come again.
func (x *poolRun) forgo(now time.Duration) {
	for {
		due, ok := x.source.Peek()
		if !ok || due > now {
			return
		}
		x.shard.Drop(x.take(due), due)
	}
}

// unfinish ends an operation for which nobody waits any more.
func (x *poolRun) unfinish(w *worker) {
	x.retire(w)
	w.abandoned = true
	if w.withdraw() {
		x.shard.Drop(w.op, w.due)
		return
	}
	x.shard.Sent(w.op, w.due, w.free, w.sentAt())
	x.shard.Unfinish(w.op, w.due)
}

// dismiss ends the goroutines of those that are idle, and keeps their clients.
func (x *poolRun) dismiss() {
	for _, w := range x.idle {
		if w.wake != nil {
			w.wake <- false
			w.wake = nil
		}
	}
	x.pool.kept, x.idle = x.idle, nil
	if x.active == 0 {
		close(x.gone)
	}
}

// endPlan takes the processor time when the plan is over.
func (x *poolRun) endPlan() {
	if !x.ended {
		x.ended, x.usage.CPU = true, ProcessorTime()-x.cpu
	}
}

func (x *poolRun) account(now time.Duration) {
	x.endPlan() // it may have been cut short
	x.usage.Wall, x.usage.Loaded = now, min(now, x.duration)
	if loaded := x.usage.Loaded; loaded > 0 {
		x.usage.Busy = 1 - float64(x.slept)/float64(loaded)
	}
}
