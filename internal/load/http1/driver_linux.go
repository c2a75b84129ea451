package http1

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// driver is the load.Driver. Its loops are made once; each run starts a
// goroutine for each of them.
type driver struct {
	requests []load.Request
	sessions func(load.Share) load.Sessions // may be nil
	loops    []*loop

	running sync.Mutex // held by Run and Close
	closed  bool
}

// New makes a driver for HTTP/1.1 without TLS. It looks up the hosts, and opens
// no connection yet. Errors are model.ErrUsage for a configuration that makes
// no sense, and model.ErrUnavailable where a host cannot be looked up, or the
// machine does not allow as many files as there are to be connections.
//
// Where GOMAXPROCS is less it becomes one more than there are loops: a loop
// keeps its place in Go's scheduler while it waits, and others need one, too.
func New(ctx context.Context, c Config) (load.Driver, error) {
	c = c.withDefaults()
	if err := load.CheckRequests(c.Requests); err != nil {
		return nil, err
	}
	targets, sites, err := prepare(ctx, c.Requests, c.Resolver)
	if err != nil {
		return nil, err
	}
	if c.Sessions != nil && len(sites) > 1 {
		return nil, fmt.Errorf("%w: sessions visit one origin, and these requests go to %d", model.ErrUsage, len(sites))
	}
	partings, racing := min(maxParting, load.OpenFiles()/16), min(maxRacing, load.OpenFiles()/16)
	// Each loop has epoll, eventfd and receiver.keeper.
	allowed, short, err := load.Connections(c.Connections, len(sites), c.Loops*(3+partings+racing), c.Chosen)
	if err != nil {
		return nil, err
	}
	c.Connections, c.Loops = allowed, min(c.Loops, allowed)
	if places := c.Loops + 1; runtime.GOMAXPROCS(0) < places {
		runtime.GOMAXPROCS(places)
	}
	d := &driver{requests: slices.Clone(c.Requests), sessions: c.Sessions}
	for i := range c.Loops {
		limit := c.Connections*(i+1)/c.Loops - c.Connections*i/c.Loops // this loop's part
		l, err := newLoop(targets, newOrigins(sites, limit), c)
		if err != nil {
			return nil, fmt.Errorf("making event loop %d of %d: %w", i+1, c.Loops, errors.Join(err, d.Close()))
		}
		l.partings, l.racing, l.short, l.loops = partings, racing, short, c.Loops
		d.loops = append(d.loops, l)
	}
	return d, nil
}

// Ops are the names of the requests.
func (d *driver) Ops() []string {
	names := make([]string, len(d.requests))
	for i, r := range d.requests {
		names[i] = r.Name
	}
	return names
}

// Run executes a plan; see load.Driver.
func (d *driver) Run(ctx context.Context, r load.Run) (load.Usage, error) {
	d.running.Lock()
	defer d.running.Unlock()
	if d.closed {
		return load.Usage{}, fmt.Errorf("%w: the driver is closed", model.ErrUsage)
	}
	if ctx.Err() != nil {
		return load.Usage{}, context.Cause(ctx)
	}
	jobs, err := d.jobs(r)
	if err != nil {
		return load.Usage{}, err
	}
	base := r.Begin()
	cpu := &processorTime{}
	collector := load.NewCollector(len(d.loops), len(d.requests), r.Each)
	for i := range jobs {
		jobs[i].shard, jobs[i].base, jobs[i].cpu = collector.Shard(i), base, cpu
	}
	d.execute(ctx, jobs)
	usage := d.usage(cpu)
	collector.Wait()
	return usage, d.outcome(ctx)
}

// jobs divides a run among the loops.
func (d *driver) jobs(r load.Run) ([]job, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Plan.Closed != nil && r.Plan.Closed.Count > 0 {
		return nil, fmt.Errorf("%w: event loops end after a duration, not after %d operations", model.ErrUsage, r.Plan.Closed.Count)
	}
	jobs := make([]job, len(d.loops))
	for i := range jobs {
		share := r.Share.Split(i, len(d.loops))
		mix, err := load.NewMix(load.MixOf(d.requests), r.Plan.Seed, share)
		if err != nil {
			return nil, err
		}
		jobs[i] = job{mix: mix, plan: r.Plan.Duration(), drain: r.Drain, busyFrom: r.BusyFrom, busyTo: r.BusyTo}
		if r.BusyTo == 0 {
			jobs[i].busyTo = jobs[i].plan
		}
		if d.sessions != nil {
			jobs[i].sessions = &sessions{Sessions: d.sessions(share)}
			jobs[i].source = jobs[i].sessions
		} else {
			jobs[i].source = load.NewSource(r.Plan, share)
		}
	}
	return jobs, nil
}

// execute runs the loops until all are done. They stop when ctx is done, or one
// of them cannot go on.
func (d *driver) execute(ctx context.Context, jobs []job) {
	for _, l := range d.loops {
		l.stopped.Store(false)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		for _, l := range d.loops {
			l.stopped.Store(true)
			l.poller.ring()
		}
	})
	var all sync.WaitGroup
	for i, l := range d.loops {
		all.Go(func() {
			l.run(jobs[i])
			if l.err != nil {
				cancel()
			}
		})
	}
	all.Wait()
	if !unhook() {
		<-stopped // it must not stop the next run
	}
}

// outcome says why a run ended early, if it did.
func (d *driver) outcome(ctx context.Context) error {
	for _, l := range d.loops {
		if l.err != nil {
			return l.err
		}
	}
	if ctx.Err() != nil && slices.ContainsFunc(d.loops, func(l *loop) bool { return l.interrupted }) {
		return context.Cause(ctx)
	}
	return nil
}

// processorTime is that of the process when the first loop began the plan, and
// when the first ended it.
type processorTime struct {
	begun, ended sync.Once
	begin, end   time.Duration
}

// usage is what a run cost. All loops are done.
func (d *driver) usage(cpu *processorTime) load.Usage {
	u := load.Usage{CPU: cpu.end - cpu.begin}
	for _, l := range d.loops {
		u.Opened += l.opened
		u.Rejected += l.rejected
		u.Wall = max(u.Wall, l.now)
		if l.poller.spins {
			u.Spun += l.waited
		}
		loaded := min(l.now, l.plan)
		u.Loaded = max(u.Loaded, loaded)
		if scored := min(l.now, l.busyTo) - l.busyFrom; scored > 0 {
			u.Busy = max(u.Busy, 1-min(l.rested.Seconds()/scored.Seconds(), 1))
		}
		if u.Pending == nil {
			u.Pending = l.pending
		}
		for _, o := range l.origins {
			u.AddAddresses(o.addresses.Uses())
		}
		for kind, err := range l.examples {
			if u.Examples[kind] == nil {
				u.Examples[kind] = err
			}
		}
	}
	// A loop that watches is kept from the processor at times, too: what it
	// waited then took nothing.
	u.Spun = min(u.Spun, u.CPU)
	return u
}

// Close ends all connections. A run that is under way ends first.
func (d *driver) Close() error {
	d.running.Lock()
	defer d.running.Unlock()
	if !d.closed {
		d.closed = true
		for _, l := range d.loops {
			l.shut()
		}
	}
	return nil
}
