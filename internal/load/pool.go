package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
)

// DefaultTimeout is how long an operation may take unless a pool says otherwise.
const DefaultTimeout = 10 * time.Second

// grace is how long clients may take to return once their context is done.
// Those that do not are left alone: with the rest of what a run does at its
// end it has to stay below a second.
const grace = 500 * time.Millisecond

// PoolConfig bounds a [Pool].
type PoolConfig struct {
	// Clients is how many there are at most. They are opened when an
	// operation is due and all others are busy, and used again while they
	// live, the one that was used last first.
	Clients int
	// Timeout bounds an operation from when it was sent: then it fails as
	// ErrTimeout. One that was due for this long while no client was free is
	// dropped. It bounds the opening of a client as well. 0: DefaultTimeout.
	Timeout time.Duration
	// Live hands every second on as soon as it is over. What ends later is
	// counted in the second in which it ends, so that only sums over the whole
	// run are exact; but memory does not grow with the age of the oldest
	// operation, which may be minutes where one moves a large object.
	Live bool
	// Chosen: somebody asked for so many clients. Otherwise there are fewer where
	// the process may open fewer files, and a run that needs more ends.
	Chosen bool
}

// Pool is the [Driver] for a [Target]: clients that do one operation at a
// time, each in a goroutine of its own.
//
// One goroutine sleeps until the next operation is due and hands it to a
// client that is free. Nothing is queued: when all clients are busy the plan
// is not followed further, and the client that is free first takes what is due
// by then. What waited for longer than the timeout is dropped.
//
// When a client cannot be opened, the next try comes after a pause, which
// grows to a tenth of a second while tries fail, and to a second where the target
// allows no more clients than there are. As long as the pool has no
// other client, operations of an open loop that are due in the pause fail as
// ErrConnect at once, as they would have without the pause. Users of a closed
// loop wait for the next try; otherwise they would fail in a tight loop.
//
// A client that has not returned from an operation half a second after its
// context was done is abandoned: the operation counts as ErrTimeout, or at the end of
// a run as Unfinished, and the client is closed when it does return. Until
// then it counts as one of the clients allowed, also in later runs.
type Pool struct {
	target   Target
	config   PoolConfig
	newAlarm func() (alarm, error)

	running sync.Mutex // held during a run

	mu     sync.Mutex // guards all below, and everything of a run
	slots  slots
	kept   []*worker // those with a client, between runs
	worked bool      // a client was opened
	// open is how many clients there are; refused has those that could not be opened
	// before all runs.
	open    int
	refused ConnectionUse
	short   bool // slots are as many as there may be files, and fewer than asked for
}

// NewPool makes a pool without clients. The error is model.ErrUsage, or
// model.ErrUnavailable where the process may not open as many files.
func NewPool(target Target, c PoolConfig) (*Pool, error) {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	if c.Clients < 1 || c.Timeout < 0 {
		return nil, fmt.Errorf("%w: a pool of %d clients with a timeout of %v; it needs at least one client, and the time must not be negative",
			model.ErrUsage, c.Clients, c.Timeout)
	}
	if _, err := NewMix(target.Mix(), 0, All); err != nil {
		return nil, err
	}
	each := 1
	if f, ok := target.(Filed); ok {
		each = f.Files()
	}
	allowed, short, err := Connections(c.Clients, each, 0, c.Chosen)
	if err != nil {
		return nil, err
	}
	return &Pool{target: target, config: c, newAlarm: newAlarm, slots: slots{limit: allowed}, short: short}, nil
}

// Ops names the kinds of operations.
func (p *Pool) Ops() []string {
	var names []string
	for _, k := range p.target.Mix() {
		names = append(names, k.Name)
	}
	return names
}

// Run executes a plan; see [Driver].
func (p *Pool) Run(ctx context.Context, r Run) (Usage, error) {
	if !p.running.TryLock() {
		return Usage{}, fmt.Errorf("%w: the pool is already running a plan; wait for its end", model.ErrUsage)
	}
	defer p.running.Unlock()
	x, err := p.prepare(ctx, r)
	if err != nil {
		return Usage{}, err
	}
	defer x.alarm.close()
	defer context.AfterFunc(ctx, x.alarm.wake)()
	if !x.await(ctx) {
		return x.stop(), context.Cause(ctx)
	}
	over := x.follow(ctx)
	usage := x.stop()
	switch {
	case x.lack != nil:
		return usage, x.lack
	case !over:
		return usage, context.Cause(ctx)
	}
	return usage, nil
}

// Close closes all clients, and the target if it can be, once the last run has
// ended.
func (p *Pool) Close() error {
	p.running.Lock()
	defer p.running.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, w := range p.kept {
		errs = append(errs, w.client.Close())
		p.slots.put(w.index)
	}
	p.open -= len(p.kept)
	p.kept = nil
	if c, ok := p.target.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// slots are the numbers of clients, below limit.
type slots struct {
	limit, fresh int   // those from fresh on were never taken
	used         []int // those given back
}

// free reports whether there is a number that no client has.
func (s *slots) free() bool { return len(s.used) > 0 || s.fresh < s.limit }

// take returns one.
func (s *slots) take() int {
	if n := len(s.used); n > 0 {
		i := s.used[n-1]
		s.used = s.used[:n-1]
		return i
	}
	s.fresh++
	return s.fresh - 1
}

func (s *slots) put(i int) { s.used = append(s.used, i) }

// Open opens clients before a run, until there are n or as many as are allowed.
// Those that a run has to open are opened while operations wait for them, and
// what that costs the target it does not have for operations: at the start of a
// run all of them wait, and a target near its limit works that off for many
// seconds.
//
// After the first failure it tries no others: the target may allow fewer, and
// the run shows the effect. It is an error if no client is open then.
func (p *Pool) Open(ctx context.Context, n int) error {
	if !p.running.TryLock() {
		return fmt.Errorf("%w: the pool is running a plan; open clients before that", model.ErrUsage)
	}
	defer p.running.Unlock()
	var group errgroup.Group
	group.SetLimit(8)
	var failed error // guarded by p.mu
	for range min(n, p.config.Clients) - len(p.kept) {
		group.Go(func() error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if ctx.Err() != nil || failed != nil || !p.slots.free() {
				return nil
			}
			w := &worker{index: p.slots.take()}
			p.mu.Unlock()
			var err error
			w.client, err = p.openBefore(ctx, w.index)
			p.mu.Lock()
			if err != nil {
				p.refused.refuse(err)
				failed = errors.Join(failed, cmp.Or(Lack(err, p.worked), err))
				p.slots.put(w.index)
				return nil
			}
			w.opened = true
			p.kept, p.worked = append(p.kept, w), true
			p.open++
			return nil
		})
	}
	_ = group.Wait() // failed has the errors
	if len(p.kept) == 0 {
		return errors.Join(failed, context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// fullTries is how often a client is opened that the target refuses because it allows
// no more, longestPause apart: servers need a moment to notice that others are closed.
const fullTries = 20

// openBefore opens a client before a run.
func (p *Pool) openBefore(ctx context.Context, index int) (c Client, err error) {
	for range fullTries {
		within, cancel := context.WithTimeout(ctx, p.config.Timeout)
		c, err = p.target.Open(within, index)
		cancel()
		if e, ok := errors.AsType[*Error](err); !ok || e.Full == "" {
			break
		}
		select {
		case <-time.After(longestPause):
		case <-ctx.Done():
			return nil, err
		}
	}
	return c, err
}

// pause limits how often a pool tries to open clients while the tries fail.
// The zero value: no pause.
type pause struct {
	until, length time.Duration
	full          bool // the target allows no more clients: one at a time is tried
}

func (p pause) over(now time.Duration) bool { return now >= p.until }

// longestPause is the longest after a client could not be opened; fullPause after
// the target refused one because it allows no more, while there are others.
const (
	longestPause = 100 * time.Millisecond
	fullPause    = time.Second
)

// extend begins the next pause, twice as long, from 5 ms to longestPause, unless
// one began while this try was under way; full: it is fullPause.
func (p *pause) extend(now time.Duration, full bool) {
	if now < p.until {
		return
	}
	p.length = min(max(2*p.length, 5*time.Millisecond), longestPause)
	if p.full = full; full {
		p.length = fullPause
	}
	p.until = now + p.length
}
