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
//  3. when it ends by itself, that is reported and it is started again, unless
//     it ends over and over;
//  4. it gets the order to leave, and is killed if it does not.
package agentproc

import (
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
	Log   *slog.Logger
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

// Set is a set of agent processes.
type Set struct {
	cfg Config

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
	return &Set{cfg: cfg}
}

// Up starts agents. ended is called whenever one has ended by itself; it is
// started again, unless it ends over and over.
func (s *Set) Up(ctx context.Context, agents []Agent, ended func(model.NodeID)) error {
	for _, a := range agents {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := s.prepare(a)
		if err != nil {
			return fmt.Errorf("preparing node %s: %w", a.Node.ID, err)
		}
		if err := s.add(ctx, p, ended); err != nil {
			return fmt.Errorf("starting node %s: %w", a.Node.ID, err)
		}
	}
	return nil
}

// add starts an agent and watches over it.
func (s *Set) add(ctx context.Context, p *process, ended func(model.NodeID)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.launch(ctx, p); err != nil {
		return err
	}
	s.agents = append(s.agents, p)
	s.wg.Go(func() { s.supervise(ctx, p, ended) })
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
	p.cmd, p.in = cmd, in
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

// Restart policy: an agent that ends more than maxRestarts times within
// restartWindow is left alone; something is wrong that a restart does not cure.
const (
	maxRestarts   = 5
	restartWindow = 30 * time.Second
)

// supervise waits for the agent's end and starts it again.
func (s *Set) supervise(ctx context.Context, p *process, ended func(model.NodeID)) {
	var ends []time.Time
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
		s.cfg.Log.Warn("an agent stopped unexpectedly", "node", p.id, "err", err, "log", filepath.Join(p.dir, LogFile))
		ended(p.id)
		ends = append(ends, time.Now())
		if n := len(ends); n > maxRestarts && ends[n-1].Sub(ends[n-1-maxRestarts]) < restartWindow {
			s.cfg.Log.Error("the agent keeps stopping; it is not restarted", "node", p.id)
			return
		}
		s.mu.Lock()
		err = s.launch(ctx, p)
		s.mu.Unlock()
		if err != nil {
			s.cfg.Log.Error("restarting an agent", "node", p.id, "err", err)
			return
		}
	}
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
