// Package load offers load to a server and records the outcome.
//
// The way of an operation:
//
//  1. A [Plan] says when operations are due: at a rate that is constant or
//     Poisson, in stages (open loop), or whenever one of so
//     many users has thought for long enough (closed loop). A [Schedule]
//     computes the times, one generator's or loop's share of them.
//  2. A [Driver] sends what is due over connections that stay open from run to
//     run: package load/http1 with an event loop per core, or a [Pool] of
//     clients that do one operation at a time each.
//  3. A [Shard], one for each loop, counts the outcome of each operation in the
//     second in which it was due.
//  4. A [Collector] merges the shards' seconds and hands them on in order.
//
// Latency counts from the moment at which an operation was due, not from when
// it was sent: a server that stalls delays what should have been sent
// meanwhile, and a generator that sends late hides nothing (Gil Tene's
// "coordinated omission"). How late operations were sent is counted beside it.
//
// Latency ends when the answer was whole in this machine's kernel, where a driver
// knows when that was, and otherwise when it was read. By how much these differ
// is counted beside it, too.
//
// Every operation that was due is in exactly one of the counts OK, Errors,
// Dropped and Unfinished of [Counts]; none is left out for having been slow.
package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Driver sends operations to a server. It is opened once and then runs many
// plans: connections stay open from run to run.
type Driver interface {
	// Ops names the kinds of operations; a [Second] has them in this order.
	Ops() []string
	// Run executes a plan, and returns when all its operations have ended or
	// ctx is done: then within a second. Runs do not overlap.
	//
	// Operations that fail are counted, and are no error. Errors are of the
	// generator: model.ErrUsage for a plan that cannot be executed,
	// model.ErrUnavailable where the machine lacks something (files,
	// memory), the cause of ctx where it was done early.
	Run(ctx context.Context, r Run) (Usage, error)
	// Close ends all connections.
	Close() error
}

// Run is what a driver is to do.
type Run struct {
	Plan  Plan
	Share Share
	// Start is when the plan begins; zero: now.
	Start time.Time
	// BusyFrom and BusyTo are between which moments of the plan Usage.Busy is looked
	// for; both 0: from its beginning to its end.
	BusyFrom, BusyTo time.Duration
	// Drain is how long after the end of the plan answers are waited for;
	// operations that have none then are Unfinished.
	Drain time.Duration
	// Each is called for every second of the run, in order, from one
	// goroutine; what it is given is used again when it returns.
	Each func(Second)
}

// Check refuses what cannot be executed, with model.ErrUsage.
func (r Run) Check() error {
	const longestDrain = 24 * time.Hour
	switch {
	case r.Share.Of < 1 || r.Share.Index < 0 || r.Share.Index >= r.Share.Of:
		return fmt.Errorf("%w: share %d of %d of a plan does not exist; the whole plan is share 0 of 1", model.ErrUsage, r.Share.Index, r.Share.Of)
	case r.Drain < 0 || r.Drain > longestDrain:
		return fmt.Errorf("%w: the wait for answers, %v, must be from 0 to %v", model.ErrUsage, r.Drain, longestDrain)
	case r.Each == nil:
		return fmt.Errorf("%w: a run needs a function that receives its seconds", model.ErrUsage)
	}
	return r.Plan.Check()
}

// Begin is the start of the run on the monotonic clock, which is never set.
func (r Run) Begin() time.Time {
	now := time.Now()
	if r.Start.IsZero() {
		return now
	}
	return now.Add(r.Start.Sub(now))
}

// Usage is what the generator itself needed: who wants to say that the server
// was slow must know that the generator was not.
type Usage struct {
	// Wall is from the start of the plan to the end of the run.
	Wall time.Duration
	// Loaded is how much of that the plan lasted. CPU and Busy are of this
	// time: afterwards a generator only waits for answers.
	Loaded time.Duration
	// CPU is the processor time that this process used.
	CPU time.Duration
	// Spun is how much of CPU went into watching for something to happen, where
	// loops do that instead of sleeping.
	Spun time.Duration
	// Busy is the largest share of the time (of Run.BusyFrom to BusyTo), among loops, in which a loop
	// was not waiting for something to happen: computing, or kept from it.
	Busy float64
	// Opened counts the connections that were opened during the run.
	Opened int64
	// Rejected counts answers that were stamped by the kernel with a time that
	// was not believed, as when the wall clock was set.
	Rejected int64
	// Examples are the first failures of the run by [Kind], nil where there
	// was none: the counts say how often, these say what was wrong.
	Examples [Kinds]error
	// Pending says what an operation was waiting for that was sent, or for which a
	// connection was opened, and had no end; nil where all ended.
	Pending error
	// Addresses are those of the target where a host has several.
	Addresses []AddressUse
	// Connections are those of a pool.
	Connections ConnectionUse
}

// Target is a server as a [Pool] of clients sees it.
type Target interface {
	// Mix names the kinds of operations and says how often each is done.
	Mix() []Weight
	// Open connects client number i, counted from 0. ctx bounds the time to
	// connect.
	Open(ctx context.Context, i int) (Client, error)
}

// Filed is a [Target] whose clients open several files each.
type Filed interface{ Files() int }

// Located is a [Target] that knows what became of the addresses of its hosts,
// since it was asked last.
type Located interface{ Uses() []AddressUse }

// Client does one operation at a time, over a connection of its own.
type Client interface {
	// Do does an operation of kind op. Its errors carry an [Error]; those of
	// kind ErrConnect, ErrTimeout, ErrClosed and ErrProtocol end the client,
	// and another is opened.
	Do(ctx context.Context, op int) error
	Close() error
}

// Repeater is a [Client] that may send an operation again; Repeated says whether
// it did that with the last one. See [Counts.Repeated].
type Repeater interface{ Repeated() bool }

// Perishable is a [Client] whose connection may end without an error: a server
// closes it after a whole answer, or while it is idle. The pool calls Alive
// before each operation, and replaces the client if it is not alive.
type Perishable interface{ Alive() bool }

// ProcessorTime is how long this process has computed since it began, on all
// processors, for itself and in the kernel.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // it fails for wrong arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Cores is how many processors this process may use at a time, by its affinity
// and the quota of its cgroup, as Go found it. Drivers may raise GOMAXPROCS
// beyond that once they have called this.
func Cores() int { return cores() }

var cores = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })
