// Package agent is the process that runs on every node.
//
// Its life:
//
//  1. it joins with a token, or comes back with the identity it kept;
//  2. it kills what an earlier agent that was killed left behind, removes what
//     its tasks left on disk and in control groups, and turns its unfinished
//     attempts into results with the outcome "lost";
//  3. it says hello with facts and labels, and from then on is heard at least
//     once a heartbeat;
//  4. it takes one task at a time from the queue, runs it in a process group
//     of its own (package runner), and keeps the result on disk;
//  5. it delivers the result until the server has stored it, and only then
//     forgets it and takes the next task;
//  6. on SIGTERM it ends the running task, delivers what it can, and says
//     goodbye.
//
// The journal on disk makes steps 4 and 5 safe against kill -9 at any point:
// an attempt is started at most once and its result delivered at least once,
// and the store keeps the first.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/monitor"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/internal/workload"
)

// Config is what an agent needs to know.
type Config struct {
	Node   model.Node // id, labels and facts; the key is filled in
	Server queue.ServerInfo
	Key    *identity.Key
	// StateDir holds the journal, kept artifacts and scratch directories.
	StateDir string
	// Runner starts the child process that executes a task, for example
	// {"/usr/bin/scalebench", "run-workload"}.
	Runner []string
	// WorkDir is where commands start.
	WorkDir string
	// Volumes are what this node offers to write to: paths by name.
	Volumes map[string]string
	// Environ is the environment of this node, of which a task gets what its
	// workload may see.
	Environ   []string
	Workloads workload.Registry
	Dial      queue.DialOptions
	Log       *slog.Logger
}

// Agent executes tasks on one node.
type Agent struct {
	cfg     Config
	log     *slog.Logger
	journal *journal
	link    *queue.Link
	session string
	monitor *monitor.Monitor
	orders  orderRouter
	left    chan struct{} // closed once the server knows that this agent leaves

	looking atomic.Bool // for what a run needs
	watched watched
	// running is what this agent executes or delivers now, and trouble what keeps
	// it from going on.
	running atomic.Pointer[wire.Attempt]
	trouble atomic.Pointer[string]
	owes    atomic.Bool // the task has ended, and its result is not delivered
}

// Directories below StateDir: outputs that wait for delivery, and what tasks
// use while they run.
const (
	artifactDir = "artifacts"
	scratchDir  = "scratch"
)

// stopGrace is how long a stopping agent may take to deliver what it has.
const stopGrace = 3 * time.Second

// New prepares an agent; nothing is contacted yet.
func New(cfg Config) (*Agent, error) {
	if err := cfg.Node.ID.Validate(); err != nil {
		return nil, fmt.Errorf("naming this node: %w (set it with --node)", err)
	}
	cfg.Node.PublicKey = cfg.Key.Public()
	for _, d := range []string{artifactDir, scratchDir} {
		if err := os.MkdirAll(filepath.Join(cfg.StateDir, d), 0o700); err != nil {
			return nil, fmt.Errorf("creating the agent's state directory: %w", err)
		}
	}
	j, err := openJournal(cfg.StateDir, time.Now())
	if err != nil {
		return nil, err
	}
	return &Agent{
		cfg:     cfg,
		log:     cfg.Log.With("node", cfg.Node.ID),
		journal: j,
		session: ulid.Make().String(),
		monitor: monitor.New(monitor.Config{Volumes: cfg.Volumes}),
		left:    make(chan struct{}),
	}, nil
}

// Run serves tasks until ctx is done, then leaves cleanly. It returns nil
// after a clean leave.
func (a *Agent) Run(ctx context.Context) error {
	defer a.journal.close() //nolint:errcheck // every line was synced
	if err := a.endUnfinished(ctx); err != nil {
		return leftOr(ctx, err)
	}
	link, err := queue.DialAgent(ctx, a.cfg.Server, a.cfg.Key, a.cfg.Node.ID, a.cfg.Dial)
	if err != nil {
		return fmt.Errorf("connecting to the server: %w", err)
	}
	a.link = link
	defer link.Close() //nolint:errcheck // leaving anyway

	holding, err := a.holding()
	if err != nil {
		return leftOr(ctx, err)
	}
	reply, err := a.register(ctx, "registering", holding)
	if err != nil {
		return leftOr(ctx, err)
	}
	a.log.Info("joined", "server", reply.Version, "lease", reply.Lease)

	present, leave := context.WithCancel(ctx)
	attentive, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { a.heartbeats(present, reply.Heartbeat) })
	wg.Go(func() { a.registerAgain(present) })
	wg.Go(func() { a.followOrders(attentive) })
	defer wg.Wait()
	defer stop()
	defer leave()
	return leftOr(ctx, a.serve(ctx))
}

// sweep removes what tasks of these kinds that were killed have left on this node.
func (a *Agent) sweep(kinds ...string) {
	for _, kind := range kinds {
		if remove := a.cfg.Workloads[kind].Sweep; remove != nil {
			remove(a.cfg.Volumes)
		}
	}
}

// leftOr hides the error that cancelling ctx itself brought about.
func leftOr(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// register says hello, again and again until the server answers: an agent may
// start before its server. holding are the attempts that it owes results of.
func (a *Agent) register(ctx context.Context, doing string, holding []wire.Attempt) (reply wire.HelloReply, err error) {
	msg := wire.Hello{Node: a.cfg.Node, Session: a.session, Holding: holding}.Fitted()
	err = retry(ctx, a.log, doing, func(ctx context.Context) (err error) {
		reply, err = a.link.Hello(ctx, msg)
		return err
	})
	return reply, err
}

// holding lists the attempts that this agent still owes results of.
func (a *Agent) holding() ([]wire.Attempt, error) {
	entries, damaged, err := a.journal.pending()
	for _, f := range damaged {
		a.log.Warn("cannot read a journal entry; its attempt counts as lost", "file", f)
	}
	var out []wire.Attempt
	for _, e := range entries {
		out = append(out, e.Attempt)
	}
	return out, err
}

// serve delivers what an earlier agent left and then takes task after task.
func (a *Agent) serve(ctx context.Context) error {
	entries, _, err := a.journal.pending()
	if err != nil {
		return err
	}
	for _, e := range entries {
		a.running.Store(&e.Attempt)
		err := a.deliver(ctx, e)
		a.running.Store(nil)
		if err != nil {
			return err
		}
	}
	for {
		d, err := a.link.Next(ctx)
		if err != nil {
			return fmt.Errorf("waiting for a task: %w", err)
		}
		if d.Refused != nil {
			a.reportRefused(d.Assignment, d.Refused)
		} else if err := a.handle(ctx, d.Assignment); err != nil {
			return err
		}
	}
}

// heartbeats says that this agent lives, until ctx is done, and then that it
// leaves: before a task that is running is ended, so that the server does not
// give this node its next attempt.
func (a *Agent) heartbeats(ctx context.Context, every time.Duration) {
	defer close(a.left)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
			bye := wire.Goodbye{Node: a.cfg.Node.ID, Session: a.session, Owes: a.owes.Load()}
			if err := a.link.Goodbye(ctx, bye); err != nil {
				a.log.Warn("leaving without telling the server", "err", err)
			}
			cancel()
			return
		case <-tick.C:
			beat := wire.Heartbeat{Node: a.cfg.Node.ID, Session: a.session, Running: a.running.Load()}
			if t := a.trouble.Load(); t != nil {
				beat.Trouble = *t
			}
			if err := a.link.Heartbeat(beat); err != nil {
				a.log.Debug("sending a heartbeat", "err", err)
			}
		}
	}
}

// registerAgain registers whenever the queue was out of reach, for the server
// may be a new one. It is apart from the heartbeats, which must not wait for a
// server with a slow store. It names the attempt in progress only: the
// journal belongs to the goroutine that serves.
func (a *Agent) registerAgain(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.link.Reconnected():
		}
		var holding []wire.Attempt
		if r := a.running.Load(); r != nil {
			holding = []wire.Attempt{*r}
		}
		if _, err := a.register(ctx, "registering again", holding); err == nil {
			a.log.Info("registered again after the connection was lost")
		}
	}
}

// reportRefused tells the server about a task that this agent will not run.
func (a *Agent) reportRefused(as wire.Assignment, why error) {
	a.log.Warn("refused a task", "task", as.Task, "why", why)
	err := a.link.Report(wire.Report{Node: a.cfg.Node.ID, Event: model.Event{
		Time: time.Now(), Run: as.Run, Step: as.Step, Task: as.Task, Node: a.cfg.Node.ID,
		Kind: model.EventTaskRefused, Severity: model.Problem,
		Text: fmt.Sprintf("node %s refused a task: %v", a.cfg.Node.ID, why),
	}})
	if err != nil {
		a.log.Warn("reporting a refused task", "err", err)
	}
}

// whenRoom calls write until it finds room on the disk. While there is none the
// server knows that this agent waits: nothing is late, and nothing is lost.
func (a *Agent) whenRoom(ctx context.Context, write func() error) error {
	defer a.trouble.Store(nil)
	for {
		err := write()
		if !noRoom(err) {
			return err
		}
		if a.trouble.Load() == nil {
			text := fmt.Sprintf("its disk is full: free some space below %s", a.cfg.StateDir)
			a.trouble.Store(&text)
			a.log.Warn("the disk is full; waiting for room", "err", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; %w", err, ctx.Err())
		case <-time.After(roomPause):
		}
	}
}

// roomPause is between two tries to write to a full disk.
const roomPause = time.Second

// Pauses between tries: short at first, for a server that restarts, never
// longer than maxPause, so that a result waits little once the server is back.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
)

// retry calls try until it succeeds, is denied for good, or ctx is done. Each
// kind of trouble is logged once. The link bounds every request in time.
func retry(ctx context.Context, log *slog.Logger, doing string, try func(context.Context) error) error {
	said := ""
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, model.ErrDenied) || errors.Is(err, model.ErrUsage) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			log.Warn(doing+" does not work now; retrying", "err", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, ctx.Err())
		case <-time.After(pause):
		}
	}
}
