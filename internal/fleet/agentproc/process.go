package agentproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/scalebench/scalebench/internal/model"
)

// process is one agent process, started again and again under one identity.
type process struct {
	id      model.NodeID
	dir     string
	args    []string
	environ []string
	start   Starter

	mu  sync.Mutex
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

// launch starts the agent.
func (p *process) launch(ctx context.Context) error {
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
	cmd, err := p.start(context.WithoutCancel(ctx), Launch{Node: p.id, Args: p.args, Environ: p.environ, Stdin: stdin, Output: log})
	_ = stdin.Close() // likewise
	if err != nil {
		_ = in.Close() // nobody reads it
		return fmt.Errorf("starting %s: %w", p.args[0], err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.in = cmd, in
	return nil
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

// wait returns when the agent has ended, with how.
func (p *process) wait() error {
	p.mu.Lock()
	cmd, in := p.cmd, p.in
	p.mu.Unlock()
	err := cmd.Wait()
	_ = in.Close() // nobody reads it any more
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = nil // its pid may be somebody else's from now on
	return err
}

// terminate asks the agent to leave.
func (p *process) terminate() { p.signal(syscall.SIGTERM) }

// kill ends it at once.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

// signal reaches the process we started or nobody: os.Process knows when it
// has been waited for.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(s) // it may have ended by itself
	}
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return 0
	}
	return p.cmd.Process.Pid
}
