package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/agent"
	"github.com/scalebench/scalebench/internal/facts"
	"github.com/scalebench/scalebench/internal/fleet/agentproc"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/internal/runner"
)

type agentOptions struct {
	Node          string            `flag:"node" jsonschema_description:"Name of this node (default: its private address, or its host name)."`
	State         string            `flag:"state" jsonschema_description:"State directory: identity and undelivered results (default: below the data directory)."`
	WorkDir       string            `flag:"workdir" jsonschema_description:"Where commands start (default: the current directory)."`
	Labels        map[string]string `flag:"label" jsonschema_description:"Label of this node: KEY=VALUE (may be repeated)."`
	Volumes       map[string]string `flag:"volume" jsonschema_description:"Folder or block device that workloads may write to: NAME=PATH (may be repeated)."`
	ExitWithStdin bool              `flag:"exit-with-stdin" jsonschema_description:"End when standard input closes."`
	// CoresTogether is that of model.Facts; 0: to be calibrated.
	CoresTogether float64 `flag:"cores-together" jsonschema_description:"What a fleet's server has calibrated once for all nodes of its machine."`
}

func (c *common) agentCommand() *cobra.Command {
	var opt agentOptions
	cmd := newCommand("agent", "run an agent on this node",
		`Joins a server with a token from "scalebench token" and executes its tasks, one at
a time. The token is needed once; the identity is kept in the state directory.
The agent survives restarts of the server and leaves on SIGTERM.`,
		`  scalebench agent --token sbjoin1.…
  scalebench agent --server nats://10.0.0.5:4222 --token @/run/join-token --label role=worker
  scalebench agent                                 (any later time)`,
		func(ctx context.Context, _ []string) error { return c.runAgent(ctx, opt) })
	f := cmd.Flags()
	addOptions(f, &opt)
	for _, ours := range []string{"exit-with-stdin", coresTogetherFlag} { // of agents that a server starts
		f.Lookup(ours).Hidden = true
	}
	return cmd
}

const coresTogetherFlag = "cores-together"

// errStateHeld tells the fleet that started an agent to start it again later.
var errStateHeld = errors.New("another agent, of an earlier run or of another server, is still running")

func (c *common) runAgent(ctx context.Context, opt agentOptions) error {
	c.logFrom(slog.LevelInfo)
	// An agent allocates little and must be small: it shares the node with what
	// is measured there.
	debug.SetGCPercent(25)
	if opt.ExitWithStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() { _, _ = io.Copy(io.Discard, c.env.Stdin); cancel() }()
	}
	if opt.State == "" {
		if err := c.needData(); err != nil {
			return err
		}
		opt.State = c.paths.at("agent")
	}
	if opt.WorkDir == "" {
		opt.WorkDir, _ = os.Getwd() // empty: the runner's scratch directory
	}
	var err error
	if opt.State, err = filepath.Abs(opt.State); err != nil {
		return fmt.Errorf("finding the state directory: %w", err)
	}
	if err := os.MkdirAll(opt.State, 0o700); err != nil {
		return fmt.Errorf("creating the state directory: %w", err)
	}
	unlock, err := lockFile(filepath.Join(opt.State, "lock"))
	if errors.Is(err, errLocked) && opt.ExitWithStdin {
		return fmt.Errorf("%w on %s", errStateHeld, opt.State)
	}
	if errors.Is(err, errLocked) {
		return usageError("another agent is running on %s; give this one another --state", opt.State)
	}
	if err != nil {
		return err
	}
	defer unlock()
	cfg, err := c.agentConfig(ctx, opt)
	if err != nil {
		return err
	}
	a, err := agent.New(cfg)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// agentConfig collects the identity of this node and its server.
func (c *common) agentConfig(ctx context.Context, opt agentOptions) (cfg agent.Config, err error) {
	if err = placeVolumes(opt.Volumes); err != nil {
		return cfg, err
	}
	key, err := identity.LoadOrCreate(filepath.Join(opt.State, agentproc.KeyFile), identity.RoleAgent)
	if err != nil {
		return cfg, err
	}
	f, err := facts.Collect(ctx, facts.Options{Version: Version()})
	if err != nil {
		c.log.Warn("some facts about this node are missing", "err", err)
	}
	f.CoresTogether = max(opt.CoresTogether, 0)
	if opt.CoresTogether == 0 && (f.CPULimit == 0 || f.CPULimit >= float64(f.Cores)) {
		f.CoresTogether = facts.Together(f.Cores)
	}
	node, err := nodeName(opt, f)
	if err != nil {
		return cfg, err
	}
	info, err := c.joinAgent(ctx, opt.State, key, node)
	if err != nil {
		return cfg, err
	}
	return agent.Config{
		Node:   model.Node{ID: node, Labels: opt.Labels, Facts: f},
		Server: info, Key: key, StateDir: opt.State,
		Runner: []string{c.env.Self, workloadCommandName}, WorkDir: opt.WorkDir,
		Volumes: opt.Volumes, Environ: c.env.Environ, Workloads: c.env.tasks(), Dial: c.dialOptions(), Log: c.log,
	}, nil
}

// nodeName is the name that was given, or kept from the first start, or the
// one that the facts suggest. It is kept because the server ties it to the
// key: an address may change, the node's name must not.
func nodeName(opt agentOptions, f model.Facts) (model.NodeID, error) {
	file := filepath.Join(opt.State, "node")
	name := model.NodeID(opt.Node)
	if name == "" {
		if kept, err := os.ReadFile(file); err == nil {
			name = model.NodeID(strings.TrimSpace(string(kept)))
		} else {
			name = facts.NodeID(f, f.Hostname)
		}
	}
	if err := name.Validate(); err != nil {
		return "", usageError("%w; set another with --node", err)
	}
	if err := os.WriteFile(file, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keeping the node's name: %w", err)
	}
	return name, nil
}

// joinAgent redeems the token, or reads what an earlier redemption left.
func (c *common) joinAgent(ctx context.Context, state string, key *identity.Key, node model.NodeID) (queue.ServerInfo, error) {
	file := filepath.Join(state, agentproc.ServerFile)
	raw, err := c.tokenValue("")
	if err != nil {
		return queue.ServerInfo{}, err
	}
	if raw == "" {
		kept, err := queue.ReadServerInfo(file)
		if err != nil {
			return kept,
				usageError("this node has not joined a server yet; run `scalebench token` there and give the token with --token")
		}
		if c.serverAddr != "" {
			kept.Servers = []string{c.serverAddr}
		}
		return kept, nil
	}
	tok, err := parseToken(raw, identity.RoleAgent)
	if err != nil {
		return queue.ServerInfo{}, err
	}
	return c.redeem(ctx, tok, key, node, file)
}

// placeVolumes makes paths absolute, which must exist: tasks run elsewhere.
func placeVolumes(volumes map[string]string) error {
	for name, path := range volumes {
		full, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return usageError("--volume %s: %w", name, err)
		}
		volumes[name] = full
	}
	return nil
}

// workloadCommandName is the hidden command that executes one task.
const workloadCommandName = "run-workload"

// errWorkloadEnded makes the child's exit code a failure.
var errWorkloadEnded = errors.New("the workload did not end well")

// workloadCommand executes one task for the agent that started this process.
func (c *common) workloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: workloadCommandName, Hidden: true,
		PersistentPreRunE: noSetup,
		RunE: func(cmd *cobra.Command, _ []string) error {
			orders, reports, err := runner.ControlPipes()
			if err != nil {
				return usageError("%w", err)
			}
			if code := runner.Main(cmd.Context(), c.env.tasks(), orders, reports, c.env.rawOut, c.env.rawErr); code != 0 {
				return errWorkloadEnded // the agent has been told the reason
			}
			return nil
		},
	}
}
