package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.Closer // closing it tells the agent that its server is gone
	log *os.File
}

// start launches the agent in a process group of its own, so that a Ctrl-C in
// the user's terminal reaches the server only, which then ends its agents in
// order.
func (p *process) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(p.dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening its log: %w", err)
	}
	// Not killed when ctx ends: Down lets it leave in order.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.args[0], p.args[1:]...)
	cmd.Env = p.environ
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = log.Close()
		return fmt.Errorf("starting %s: %w", p.args[0], err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.in, p.log = cmd, in, log
	return nil
}

// wait returns when the agent has ended, with how.
func (p *process) wait() error {
	p.mu.Lock()
	cmd, in, log := p.cmd, p.in, p.log
	p.mu.Unlock()
	err := cmd.Wait()
	_ = in.Close()
	_ = log.Close()
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
