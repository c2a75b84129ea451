package agentproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

// Starter starts a process. That it is not killed when ctx ends is the
// caller's care.
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
	return &process{id: a.Node.ID, dir: dir, args: arguments(s.cfg.Command, dir, a), environ: s.cfg.Environ, start: s.cfg.Start}, nil
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
		err := p.wait()
		if s.isStopping() {
			return
		}
		s.cfg.Log.Warn("an agent has ended by itself", "node", p.id, "err", err, "log", filepath.Join(p.dir, LogFile))
		ended(p.id)
		ends = append(ends, time.Now())
		if n := len(ends); n > maxRestarts && ends[n-1].Sub(ends[n-1-maxRestarts]) < restartWindow {
			s.cfg.Log.Error("the agent ends over and over; not started again", "node", p.id)
			return
		}
		if err := s.again(ctx, p); err != nil {
			s.cfg.Log.Error("starting an agent again", "node", p.id, "err", err)
			return
		}
	}
}

// again starts an agent that has ended.
func (s *Set) again(ctx context.Context, p *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.launch(ctx, p)
}

// launch starts p unless the set is going down. The caller holds the lock, so
// that Down either sees the process or prevents it.
func (s *Set) launch(ctx context.Context, p *process) error {
	if s.stopping {
		return errors.New("the fleet is going down")
	}
	return p.launch(ctx)
}

func (s *Set) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// Down tells the agents to leave and waits until they have; those that have
// not when ctx ends are killed.
func (s *Set) Down(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	agents := s.agents
	s.mu.Unlock()
	for _, p := range agents {
		p.terminate()
	}
	gone := make(chan struct{})
	go func() { s.wg.Wait(); close(gone) }()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	for _, p := range agents {
		p.kill()
	}
	<-gone
	return errors.New("some agents did not leave in time and were killed")
}

// PIDs returns the process ids of the running agents, by node: for tests and
// benchmarks that kill or weigh them.
func (s *Set) PIDs() map[model.NodeID]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[model.NodeID]int)
	for _, p := range s.agents {
		if pid := p.pid(); pid > 0 {
			out[p.id] = pid
		}
	}
	return out
}
