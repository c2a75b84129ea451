package http1

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
)

const (
	// flushEvery is how often seconds that are over are handed on.
	flushEvery = 250 * time.Millisecond
	// burst is how many operations are sent before a loop looks again whether
	// something has come.
	burst = 256
	// partingTime is how long a server may take to close a connection after it
	// has said that it will.
	partingTime = time.Second
	// slop is by how much a timer may go off late although the loop was kept
	// from nothing: what it takes to wake a processor, also a virtual one.
	slop = 100 * time.Microsecond
	// atOnce is how long a system call may take that does not wait.
	atOnce = 2 * time.Microsecond
	// comparisons are how often a loop compares clocks before it begins: one of
	// them will not be interrupted.
	comparisons = 8
	// maxParting is how many connections may be about to be closed by the server,
	// for each loop, and maxRacing how many handshakes may be under way beside those
	// of operations; fewer where the process may open few files.
	maxParting, maxRacing = 256, 64
)

// job is a loop's part of a run.
type job struct {
	source load.Source
	mix    *load.Mix
	// sessions are the source where there are some; they need no mix.
	sessions *sessions
	shard    *load.Shard
	// base is when the plan begins; all times are from there, and before it
	// negative.
	base  time.Time
	plan  time.Duration // when it ends
	drain time.Duration // how much longer answers are waited for
	cpu   *processorTime
	// busyFrom and busyTo are between which moments of the plan it is counted how
	// long the loop rested.
	busyFrom, busyTo time.Duration
}

// loop sends one share of the operations. Everything in it belongs to the
// goroutine that runs it, except stopped and the poller's alarm.
type loop struct {
	targets []target
	origins []*origin // by index of their site
	timeout time.Duration
	poller  *poller
	stopped atomic.Bool

	conns   []*conn // by slot
	own     []*conn // by user, where each has its own; nil elements: none yet
	owned   bool    // whether each user has its own
	spare   []*conn // those of them that are closed
	parting list
	leaving int // how many are parting
	race    race
	// partings and racing are how many of these there may be; short says that there
	// may be fewer connections than might be needed, and loops is how many loops
	// share them.
	partings, racing int
	short            bool
	loops            int
	crossing         time.Duration  // load.Crossing
	limits           httpwire.Reply // an answer's limits

	receiver *receiver
	// wall is a clock that may be set; see anchor.
	wall func() time.Time

	job
	now     time.Duration // last reading of the clock
	held    operation     // taken from the source, and not sent because no connection is free
	holding bool
	flushAt time.Duration
	waited  time.Duration // for something to happen, while the plan lasted
	rested  time.Duration // the same, from busyFrom to busyTo
	woken   time.Duration // when it last stopped waiting
	seen    time.Duration // the earliest time of what it learns now; see since
	opened  int64         // connections
	sent    int           // bytes, since they were counted last
	read    int           // the same
	anchor  anchor
	// rejected counts stamps of the kernel that were not believed.
	rejected int64
	err      error // what the machine lacks
	pending  error // what an operation without an end waits for
	// examples are the first failures of each kind.
	examples [load.Kinds]error
	// interrupted: it was stopped with something left to do.
	interrupted bool
}

func newLoop(targets []target, origins []*origin, c Config) (*loop, error) {
	p, err := newPoller(c.Spin)
	if err != nil {
		return nil, err
	}
	l := &loop{
		targets: targets, origins: origins, timeout: c.Timeout, poller: p, owned: c.Own,
		limits:   httpwire.Reply{MaxHeader: httpwire.DefaultMaxHeader, MaxBody: c.MaxBody},
		receiver: newReceiver(), wall: time.Now, crossing: load.Crossing,
	}
	if c.Sessions != nil {
		l.limits.Pages = &httpwire.Pages{Most: mostOfPage, Left: mostPages}
	}
	return l, nil
}

// run executes a job. It needs a thread of its own for as long as it takes.
func (l *loop) run(j job) {
	defer exact()()
	l.prepare(j)
	for l.now < 0 && !l.over() {
		l.turn()
	}
	j.cpu.begun.Do(func() { j.cpu.begin = load.ProcessorTime() })
	for l.now < l.plan && !l.over() {
		l.turn()
	}
	j.cpu.ended.Do(func() { j.cpu.end = load.ProcessorTime() })
	for !l.over() {
		l.turn()
	}
	l.finish()
}

// exact gives the goroutine a thread with exact timers: by default Linux lets
// timers be 50 µs late, to wake up less often. The returned function undoes
// that.
func exact() func() {
	runtime.LockOSThread()
	const ask, byDefault = 1, 0                          // ns
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, ask, 0, 0, 0) // a sandbox may forbid it: less exact
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, byDefault, 0, 0, 0)
		runtime.UnlockOSThread()
	}
}

// prepare begins a run. Connections are still open from the one before, unless
// the server has closed them meanwhile.
func (l *loop) prepare(j job) {
	l.job = j
	l.holding, l.waited, l.rested, l.opened, l.sent, l.read, l.err = false, 0, 0, 0, 0, 0, nil
	l.rejected, l.anchor = 0, unanchored()
	for range comparisons {
		l.reanchor()
	}
	l.examples, l.pending = [load.Kinds]error{}, nil
	for _, o := range l.origins {
		o.addresses.Begin()
		o.freeSince = 0
	}
	l.tick()
	l.flushAt, l.woken, l.seen = flushEvery, l.now, l.now
	for more := true; more; {
		events, err := l.poller.wait(0)
		l.fatal(err)
		for i := range events {
			l.handle(&events[i])
		}
		more = len(events) == len(l.poller.events)
	}
}

// tick reads the clock.
func (l *loop) tick() { l.now = time.Since(l.base) }

// over reports whether the run is.
func (l *loop) over() bool {
	if l.err != nil || l.stopped.Load() || l.now >= l.plan+l.drain {
		return true
	}
	return l.now >= l.plan && l.rests()
}

// rests reports whether there is nothing left to do.
func (l *loop) rests() bool {
	_, more := l.source.Peek()
	return !more && !l.holding && !slices.ContainsFunc(l.origins, func(o *origin) bool { return !o.rests() })
}

// turn waits for something to happen, and deals with it. Operations are sent
// after each event, for the next may take as long as an answer is large.
func (l *loop) turn() {
	l.deal(l.wait())
	l.tick()
	if l.overdue() {
		// Where something else had the processor meanwhile, answers that seem to be
		// missing are there.
		events, err := l.poller.wait(0)
		l.fatal(err)
		l.tick()
		l.deal(events)
		l.tick()
	}
	l.expire()
	l.tryBeside()
	l.dispatch()
	l.account()
}

// deal handles what happened. First it closes free connections that the server has
// closed, before one of them is used for what is sent between the other events.
func (l *loop) deal(events []unix.EpollEvent) {
	for i := range events {
		if e := &events[i]; e.Fd != alarmSlot && l.conns[e.Fd].state == idle {
			l.handle(e)
		}
	}
	for i := range events {
		l.handle(&events[i])
		l.dispatch()
	}
}

// wait waits until something happens, or the next moment that is known to
// matter.
func (l *loop) wait() []unix.EpollEvent {
	l.tick()
	at, from := l.next(), l.now
	events, err := l.poller.wait(at - from)
	l.fatal(err)
	l.reanchor()
	l.seen, l.woken = since(l.woken, from, at, l.now), l.now
	l.waited += waitedFor(l.within(at)-l.within(from), l.within(l.now)-l.within(from))
	l.rested += waitedFor(l.scored(at)-l.scored(from), l.scored(l.now)-l.scored(from))
	return events
}

// within is the moment of the plan that is nearest to t: what is before and
// after does not count.
func (l *loop) within(t time.Duration) time.Duration { return min(max(t, 0), l.plan) }

// scored is the same of the part in which it is counted how busy the loop was.
func (l *loop) scored(t time.Duration) time.Duration { return min(max(t, l.busyFrom), l.busyTo) }

// since is the earliest time at which a connection may have become free, if a
// loop learns of it now. The loop waited since from, for an event or until at;
// before, it worked since it woke last, at woken. If it worked for long, or woke
// late, the event may be as old as that: then operations are late because of the
// loop, and did not wait for the server.
func since(woken, from, at, now time.Duration) time.Duration {
	switch {
	case now-from < slop && from-woken > load.LateAfter:
		return woken
	case now > max(at, from)+load.LateAfter:
		return max(at, from)
	}
	return now
}

// waitedFor is the part of the passed time in which a loop wanted to wait. In
// the rest something else used the processor. A wait that ends at once, because
// an event was pending, does not count.
func waitedFor(wanted, passed time.Duration) time.Duration {
	switch {
	case passed < atOnce:
		return 0
	case passed > wanted+slop:
		return max(wanted, 0)
	}
	return passed
}

// next is the next moment at which there is something to do.
func (l *loop) next() time.Duration {
	at := min(l.flushAt, l.plan+l.drain)
	if l.now < l.plan {
		at = min(at, l.plan)
	}
	if l.holding {
		at = min(at, l.held.due+l.timeout)
	} else if due, ok := l.source.Peek(); ok {
		at = min(at, due)
	}
	for _, o := range l.origins {
		at = o.expires(at, l.timeout)
	}
	if l.parting.first != nil {
		at = min(at, l.parting.first.sent+partingTime)
	}
	if len(l.race.starts) > 0 {
		at = min(at, l.race.starts[0].at)
	}
	if l.race.judged.first != nil {
		at = min(at, l.race.judged.first.sent+load.JudgeAfter)
	}
	return at
}

// account counts bytes, and hands over the seconds that are past.
func (l *loop) account() {
	if l.sent+l.read > 0 {
		l.shard.Bytes(l.now, l.sent, l.read)
		l.sent, l.read = 0, 0
	}
	if l.now >= l.flushAt {
		l.flushAt = l.now + flushEvery
		l.retry()
		l.shard.Flush(l.oldest())
	}
}

// oldest is when the oldest operation was due that has not ended: also one that
// is due and was not taken yet.
func (l *loop) oldest() time.Duration {
	t := l.now
	if l.holding {
		t = min(t, l.held.due)
	}
	if due, ok := l.source.Peek(); ok {
		t = min(t, due)
	}
	for _, o := range l.origins {
		t = o.oldest(t)
	}
	return t
}

// fatal ends the run, unless err is nil.
func (l *loop) fatal(err error) {
	if l.err == nil {
		l.err = err
	}
}

// finish gives all operations an end.
func (l *loop) finish() {
	l.tick()
	l.interrupted = l.stopped.Load() && (l.now < l.plan || !l.rests())
	for _, o := range l.origins {
		for c := o.outstanding.first; c != nil; c = o.outstanding.first {
			o.outstanding.remove(c)
			l.shard.Unfinish(c.op.kind, c.op.due)
			if l.pending == nil {
				l.pending = c.awaits(l.now)
			}
			l.abandon(c)
		}
		for o.waiting.n > 0 {
			x := o.waiting.pop()
			l.shard.Drop(x.kind, x.due)
		}
	}
	for l.parting.first != nil {
		l.abandon(l.parting.first)
	}
	for l.race.judged.first != nil {
		l.endRacer(l.race.judged.first)
	}
	l.race.starts = nil
	for l.holding || l.draw() { // what was due and not sent
		l.shard.Drop(l.held.kind, l.held.due)
		l.holding = false
	}
	l.account()
	if l.now > 0 {
		l.shard.Flush(min(l.now, l.plan) - 1) // so that there is a record of all seconds of the plan
	}
	l.shard.Close()
}

// shut ends all connections, and the loop.
func (l *loop) shut() {
	for _, c := range l.conns {
		if c.state != closed {
			l.close(c)
		}
	}
	l.poller.close()
	l.receiver.close()
}
