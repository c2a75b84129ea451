// Package agentproc runs agent processes on this machine for the fleets that
// a server brings up itself, each with an identity and a state directory of
// its own. Where a process runs (here, or on a host of a lab) is the fleet's
// business.
//
// The way of one agent:
//
//  1. it is prepared: directory, key, admission, the server's address;
//  2. it is started, with a pipe as its standard input, which the server holds
//     open: an agent must not outlive its server, however that ends, and ends
//     itself when the pipe closes;
//  3. when it ends by itself, that is reported and it is started again, after a
//     pause that grows, unless it ends over and over (restart.go);
//  4. it gets the order to leave, and is killed if it does not.
package agentproc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Files that fleets and `scalebench agent` agree on, below a state directory.
const (
	KeyFile    = "agent.nk"
	ServerFile = "server.json"
	LogFile    = "agent.log"
)

// ExitHeld is the exit code of an agent whose state directory another agent
// holds: that of a server which was killed takes some seconds to end its task.
// It is EX_TEMPFAIL of sysexits.h.
const ExitHeld = 75

// Config says how agents are started.
type Config struct {
	// Dir holds a directory for each node, kept between runs: an agent's
	// undelivered results live there.
	Dir string
	// Command starts an agent when followed by its flags, for example
	// {"/usr/bin/scalebench", "agent"}.
	Command []string
	Environ []string
	// Server is how the server is reached, which agents read from a file: a
	// queue.ServerInfo.
	Server interface{ Save(file string) error }
	// Admit lets the server accept a node's key.
	Admit func(node model.NodeID, key string) error
	// Start starts a process where the node is. Nil: on this machine.
	Start Starter
	// Patience is how long starts are repeated while another agent holds the
	// state directory: as long as the run waits for its nodes.
	Patience time.Duration
	Log      *slog.Logger
}

// Launch is a process to be started, in a process group of its own, so that a
// Ctrl-C in the user's terminal reaches the server only, which then ends its
// agents in order.
type Launch struct {
	Node          model.NodeID
	Args, Environ []string
	Stdin         *os.File
	Output        *os.File // of both kinds
}

// Starter starts a process. The caller hands it a context that does not end
// while the process may run.
type Starter func(ctx context.Context, l Launch) (*exec.Cmd, error)

// Agent is a node that gets an agent.
type Agent struct {
	Node model.Node
	// Volumes are paths by name.
	Volumes map[string]string
}

// Ended is told of an agent that has ended by itself, from any goroutine: why,
// for people, and whether it is started again.
type Ended = func(node model.NodeID, why string, again bool)

// Set is a set of agent processes.
type Set struct {
	cfg  Config
	stop chan struct{} // closed when the set is going down

	firstPause time.Duration // tests shorten it

	mu       sync.Mutex
	stopping bool
	agents   []*process
	wg       sync.WaitGroup
}

// New prepares an empty set.
func New(cfg Config) *Set {
	if cfg.Start == nil {
		cfg.Start = startHere
	}
	return &Set{cfg: cfg, stop: make(chan struct{}), firstPause: firstPause}
}

// Up starts agents. ended is called whenever one has ended by itself.
func (s *Set) Up(ctx context.Context, agents []Agent, ended Ended) error {
	for _, a := range agents {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := s.prepare(a)
		if err != nil {
			return fmt.Errorf("preparing node %s: %w", a.Node.ID, err)
		}
		s.mu.Lock()
		if err = s.launch(ctx, p); err == nil {
			s.agents = append(s.agents, p)
			s.wg.Go(func() { s.supervise(ctx, p, ended) })
		}
		s.mu.Unlock()
		if err != nil {
			return fmt.Errorf("starting node %s: %w", a.Node.ID, err)
		}
	}
	return nil
}

// launch starts p unless the set is going down. The caller holds the lock, so
// that Down either sees the process or prevents it.
func (s *Set) launch(ctx context.Context, p *process) error {
	if s.stopping {
		return errors.New("the fleet is shutting down")
	}
	log, err := os.OpenFile(filepath.Join(p.dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening its log: %w", err)
	}
	defer func() { _ = log.Close() }() // the agent has a descriptor of its own
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("finding the end of its log: %w", err)
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	// Not killed when ctx ends: Down lets it leave in order.
	cmd, err := s.cfg.Start(context.WithoutCancel(ctx), Launch{Node: p.id, Args: p.args, Environ: s.cfg.Environ, Stdin: stdin, Output: log})
	_ = stdin.Close() // likewise
	if err != nil {
		_ = in.Close() // it has no reader
		return fmt.Errorf("starting %s: %w", p.args[0], err)
	}
	p.cmd, p.in, p.started, p.logFrom = cmd, in, time.Now(), size
	return nil
}

// prepare gives a node its directory, its key, and the server's address.
func (s *Set) prepare(a Agent) (*process, error) {
	dir := filepath.Join(s.cfg.Dir, string(a.Node.ID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating its state directory: %w", err)
	}
	key, err := identity.LoadOrCreate(filepath.Join(dir, KeyFile), identity.RoleAgent)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Admit(a.Node.ID, key.Public()); err != nil {
		return nil, fmt.Errorf("admitting its key: %w", err)
	}
	if err := s.cfg.Server.Save(filepath.Join(dir, ServerFile)); err != nil {
		return nil, err
	}
	return &process{id: a.Node.ID, dir: dir, args: arguments(s.cfg.Command, dir, a)}, nil
}

// supervise waits for the agent's end and starts it again.
func (s *Set) supervise(ctx context.Context, p *process, ended Ended) {
	policy := restarts{patience: s.cfg.Patience, first: s.firstPause}
	for {
		err := p.cmd.Wait() // no other goroutine changes it
		_ = p.in.Close()    // it has no reader any more
		s.mu.Lock()
		p.cmd = nil // another process may get its pid from now on
		stopping := s.stopping
		s.mu.Unlock()
		if stopping {
			return
		}
		now := time.Now()
		pause, again := policy.next(held(err), now.Sub(p.started), now)
		// Why it ended is the last line that it printed since it was started, or how it
		// ended if it printed nothing; with the place of its log.
		file, how := filepath.Join(p.dir, LogFile), "it ended without an error"
		if err != nil {
			how = err.Error()
		}
		why := fmt.Sprintf("%s (log: %s)", cmp.Or(lastLine(file, p.logFrom), how), file)
		s.cfg.Log.Warn("an agent stopped unexpectedly", "node", p.id, "why", why, "restart", again)
		ended(p.id, why, again)
		if !again || !s.relaunch(ctx, p, pause, ended) {
			return
		}
	}
}

// relaunch starts an agent again after a pause. It returns false if that fails,
// which it reports, or if the set is going down.
func (s *Set) relaunch(ctx context.Context, p *process, pause time.Duration, ended Ended) bool {
	select {
	case <-s.stop:
		return false
	case <-time.After(pause):
	}
	s.mu.Lock()
	err, stopping := s.launch(ctx, p), s.stopping
	s.mu.Unlock()
	if err != nil && !stopping {
		s.cfg.Log.Error("restarting an agent", "node", p.id, "err", err)
		ended(p.id, err.Error(), false)
	}
	return err == nil
}

// Down tells the agents to leave and waits until they have; those that have
// not when ctx ends are killed.
func (s *Set) Down(ctx context.Context) error {
	s.signal(syscall.SIGTERM)
	gone := make(chan struct{})
	go func() { s.wg.Wait(); close(gone) }()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	s.signal(syscall.SIGKILL)
	<-gone
	return errors.New("some agents did not leave in time and were killed")
}

// signal reaches the processes that we started and no others: os.Process knows
// when it has been waited for. None is started from then on.
func (s *Set) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		close(s.stop)
	}
	s.stopping = true
	for _, p := range s.agents {
		if p.cmd != nil {
			_ = p.cmd.Process.Signal(sig) // it may have ended by itself
		}
	}
}

// process is one agent process, started again and again under one identity.
type process struct {
	id   model.NodeID
	dir  string
	args []string
	// Guarded by the lock of the set; cmd is nil while there is no process.
	cmd *exec.Cmd
	in  io.Closer // closing it tells the agent that its server is gone
	// started is when the process was started, and logFrom how long the log was.
	started time.Time
	logFrom int64
}

// arguments is the command line of an agent.
func arguments(command []string, dir string, a Agent) []string {
	args := append(slices.Clone(command), "--node", string(a.Node.ID), "--state", dir, "--exit-with-stdin")
	for _, k := range slices.Sorted(maps.Keys(a.Node.Labels)) {
		args = append(args, "--label", k+"="+a.Node.Labels[k])
	}
	for _, k := range slices.Sorted(maps.Keys(a.Volumes)) {
		args = append(args, "--volume", k+"="+a.Volumes[k])
	}
	return args
}

// startHere starts a process on this machine.
func startHere(ctx context.Context, l Launch) (*exec.Cmd, error) {
	if len(l.Args) == 0 {
		return nil, errors.New("no command")
	}
	cmd := exec.CommandContext(ctx, l.Args[0], l.Args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = l.Environ, l.Stdin, l.Output, l.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}
