// Package local is the fleet of agent processes on this machine: nodes
// local-1 to local-n, each with an identity and a state directory of its own.
//
// The processes are children of the server and must not outlive it, however
// it ends: each watches its standard input, which the server holds open, and
// ends itself when that closes. An agent that ends by itself is reported and
// started again.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
)

// Config says how agents are started.
type Config struct {
	Nodes int
	// Dir holds a directory for each node, kept between runs: an agent's
	// undelivered results live there.
	Dir string
	// Command starts an agent when followed by its flags, for example
	// {"/usr/bin/scalebench", "agent"}.
	Command []string
	Environ []string
	Server  queue.ServerInfo
	// Admit lets the server accept a node's key.
	Admit func(node model.NodeID, key string) error
	Log   *slog.Logger
}

// Files that the fleet and `scalebench agent` agree on, below a state
// directory.
const (
	KeyFile    = "agent.nk"
	ServerFile = "server.json"
	LogFile    = "agent.log"
)

// Fleet is a set of agent processes.
type Fleet struct {
	cfg Config

	mu       sync.Mutex
	stopping bool
	agents   []*process
	wg       sync.WaitGroup
}

// New describes a fleet; nothing is started yet.
func New(cfg Config) *Fleet { return &Fleet{cfg: cfg} }

// Nodes returns the ids of the fleet's nodes.
func (f *Fleet) Nodes() []model.NodeID {
	out := make([]model.NodeID, f.cfg.Nodes)
	for i := range out {
		out[i] = model.NodeID(fmt.Sprintf("local-%d", i+1))
	}
	return out
}

// Up starts the agents. ended is called whenever one has ended by itself; it
// is started again, unless it ends over and over.
func (f *Fleet) Up(ctx context.Context, ended func(model.NodeID)) error {
	for _, id := range f.Nodes() {
		p, err := f.prepare(id)
		if err != nil {
			return fmt.Errorf("preparing node %s: %w", id, err)
		}
		if err := p.start(ctx); err != nil {
			return fmt.Errorf("starting node %s: %w", id, err)
		}
		f.mu.Lock()
		f.agents = append(f.agents, p)
		f.mu.Unlock()
		f.wg.Go(func() { f.supervise(ctx, p, ended) })
	}
	return nil
}

// prepare gives a node its directory, its key, and the server's address.
func (f *Fleet) prepare(id model.NodeID) (*process, error) {
	dir := filepath.Join(f.cfg.Dir, string(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating its state directory: %w", err)
	}
	key, err := identity.LoadOrCreate(filepath.Join(dir, KeyFile), identity.RoleAgent)
	if err != nil {
		return nil, err
	}
	if err := f.cfg.Admit(id, key.Public()); err != nil {
		return nil, fmt.Errorf("admitting its key: %w", err)
	}
	info, err := json.Marshal(f.cfg.Server)
	if err != nil {
		return nil, fmt.Errorf("encoding the server's address: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ServerFile), info, 0o600); err != nil {
		return nil, fmt.Errorf("writing the server's address: %w", err)
	}
	args := append(append([]string{}, f.cfg.Command...),
		"--node", string(id), "--state", dir, "--label", model.LabelFleet+"="+model.FleetLocal, "--exit-with-stdin")
	return &process{id: id, dir: dir, args: args, environ: f.cfg.Environ}, nil
}

// Restart policy: an agent that ends more than maxRestarts times within
// restartWindow is left alone; something is wrong that a restart does not cure.
const (
	maxRestarts   = 5
	restartWindow = 30 * time.Second
)

// supervise waits for the agent's end and starts it again.
func (f *Fleet) supervise(ctx context.Context, p *process, ended func(model.NodeID)) {
	var ends []time.Time
	for {
		err := p.wait()
		if f.isStopping() {
			return
		}
		f.cfg.Log.Warn("an agent has ended by itself", "node", p.id, "err", err, "log", filepath.Join(p.dir, LogFile))
		ended(p.id)
		ends = append(ends, time.Now())
		if n := len(ends); n > maxRestarts && ends[n-1].Sub(ends[n-1-maxRestarts]) < restartWindow {
			f.cfg.Log.Error("the agent ends over and over; not started again", "node", p.id)
			return
		}
		if err := f.restart(ctx, p); err != nil {
			f.cfg.Log.Error("starting an agent again", "node", p.id, "err", err)
			return
		}
	}
}

// restart starts p unless the fleet is going down.
func (f *Fleet) restart(ctx context.Context, p *process) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping {
		return errors.New("the fleet is going down")
	}
	return p.start(ctx)
}

func (f *Fleet) isStopping() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopping
}

// Down tells the agents to leave and waits until they have; those that have
// not when ctx ends are killed.
func (f *Fleet) Down(ctx context.Context) error {
	f.mu.Lock()
	f.stopping = true
	agents := f.agents
	f.mu.Unlock()
	for _, p := range agents {
		p.terminate()
	}
	gone := make(chan struct{})
	go func() { f.wg.Wait(); close(gone) }()
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
func (f *Fleet) PIDs() map[model.NodeID]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[model.NodeID]int)
	for _, p := range f.agents {
		if pid := p.pid(); pid > 0 {
			out[p.id] = pid
		}
	}
	return out
}
