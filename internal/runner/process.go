package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Process is the agent's end of one attempt. Its methods are safe for
// concurrent use.
type Process struct {
	cfg   Config
	cmd   *exec.Cmd
	dir   string // scratch, removed at the end
	start uint64 // token of the child's start

	orders         *os.File // the control pipe to the child
	lines          *lineWriter
	pipes          []*os.File // that the agent reads: reports, stdout, stderr
	stdout, stderr *capture
	data           data

	ready   chan error         // capacity 1: one value
	begin   chan time.Time     // capacity 1: Begin was called
	readied chan struct{}      // closed when the child is prepared
	ended   chan struct{}      // closed when Run has ended
	exited  chan struct{}      // closed when the child is dead
	killing chan model.Outcome // capacity 1: the first reason
	done    chan struct{}      // closed when outcome is set
	outcome Outcome

	mu       sync.Mutex
	prepared bool // the child said that it is ready
	told     bool // ready has its value
	begun    bool
}

// Start starts the child and lets it prepare. The end of ctx is a
// Kill(model.OutcomeCancelled). Every successful Start must be followed by
// Wait.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting task %s: %w", cfg.Task, err)
	}
	p := &Process{
		cfg:     cfg,
		ready:   make(chan error, 1),
		begin:   make(chan time.Time, 1),
		readied: make(chan struct{}),
		ended:   make(chan struct{}),
		exited:  make(chan struct{}),
		killing: make(chan model.Outcome, 1),
		done:    make(chan struct{}),
	}
	if p.dir, err = os.MkdirTemp(cfg.Dir, "task-"); err != nil {
		return nil, fmt.Errorf("making a scratch directory for task %s: %w", cfg.Task, err)
	}
	if err := p.launch(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the process of task %s: %w", cfg.Task, err), os.RemoveAll(p.dir))
	}
	go p.supervise(ctx)
	return p, nil
}

// launch starts the child with its pipes.
func (p *Process) launch() error {
	p.stdout = newCapture(p.cfg.Spec.OutputLimit, p.artifact("stdout"), p.cfg.Spec.ArtifactLimit)
	p.stderr = newCapture(p.cfg.Spec.OutputLimit, p.artifact("stderr"), p.cfg.Spec.ArtifactLimit)
	pipes, err := openPipes(4)
	if err != nil {
		return err
	}
	defer pipes.closeChildEnds()
	p.cmd = exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...) //nolint:noctx // supervise ends it, group and all; the context would kill the child alone
	p.cmd.Dir = p.cfg.WorkDir
	if p.cmd.Dir == "" {
		p.cmd.Dir = p.dir
	}
	p.cmd.Env = append([]string{}, p.cfg.Environ...) // not nil: nil would be the agent's own
	p.cmd.SysProcAttr = ownGroup()
	orders, reports, stdout, stderr := pipes[0], pipes[1], pipes[2], pipes[3]
	p.cmd.ExtraFiles = []*os.File{orders.r, reports.w}
	p.cmd.Stdout, p.cmd.Stderr = stdout.w, stderr.w
	orders.child, reports.child, stdout.child, stderr.child = orders.r, reports.w, stdout.w, stderr.w
	p.orders, p.lines = orders.w, &lineWriter{w: orders.w}
	p.pipes = []*os.File{reports.r, stdout.r, stderr.r}
	if err := p.cmd.Start(); err != nil {
		pipes.closeAll()
		return err
	}
	// The child cannot have been reaped yet: that is done by supervise.
	if p.start, err = startToken(p.cmd.Process.Pid); err != nil {
		pipes.closeAll() // the child ends when its control pipe closes
		return errors.Join(err, p.cmd.Wait())
	}
	return nil
}

// artifact returns the path of the file for the whole of a stream.
func (p *Process) artifact(stream string) string {
	if p.cfg.ArtifactDir == "" {
		return ""
	}
	return filepath.Join(p.cfg.ArtifactDir, stream)
}

// Ready delivers one value: nil once the child has prepared, or why it could
// not. It is not closed.
func (p *Process) Ready() <-chan error { return p.ready }

// tell delivers the value of Ready, once.
func (p *Process) tell(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told {
		return
	}
	p.told, p.prepared = true, err == nil
	p.ready <- err
}

// Begin tells the prepared child when to start, in the node's wall clock; a
// time that has passed means at once. It may be called once.
func (p *Process) Begin(at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.begun:
		return fmt.Errorf("task %s has begun already", p.cfg.Task)
	case !p.prepared:
		return fmt.Errorf("task %s is not prepared, it cannot begin", p.cfg.Task)
	}
	if now := time.Now(); at.Before(now) {
		at = now
	}
	p.begun = true
	p.begin <- at
	ns := at.UnixNano()
	if err := p.lines.write(order{Begin: &ns}); err != nil {
		return fmt.Errorf("telling task %s to begin: %w", p.cfg.Task, err)
	}
	return nil
}

// Wait returns how the attempt ended, after every process of it is gone. It
// may be called any number of times.
func (p *Process) Wait() Outcome {
	<-p.done
	return p.outcome
}

// Done is closed when Wait will not block any more.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the attempt: SIGTERM to its group, SIGKILL to all of it after
// Config.KillGrace. The reason (OutcomeCancelled, OutcomeLost, …) becomes the
// outcome unless the workload had ended before. Only the first reason counts.
// Kill does not wait; it may be called at any time, any number of times.
func (p *Process) Kill(reason model.Outcome) {
	select {
	case p.killing <- reason:
	default: // somebody was first
	}
}

// PGID is the process group of the attempt. It and StartTicks are what to
// journal so that KillLeftover can end the attempt after the agent's own
// sudden end.
func (p *Process) PGID() int { return p.cmd.Process.Pid }

// StartTicks tells the child from a later process with the same id: it depends
// on its start time and on the boot. Opaque, for KillLeftover.
func (p *Process) StartTicks() uint64 { return p.start }
