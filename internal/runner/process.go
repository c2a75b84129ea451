package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
)

// Place is where a task runs, as workload.Env has it.
type Place struct {
	Self    model.Host        `json:"self"`
	Peers   []model.Host      `json:"peers,omitempty"`
	Clients []model.Host      `json:"clients,omitempty"`
	Volumes map[string]string `json:"volumes,omitempty"`
}

// Config says what to run and where. All fields without "optional" are
// required.
type Config struct {
	// Command starts the child: the path of this binary and the hidden
	// command that calls Main.
	Command []string
	Task    model.TaskID
	Node    model.NodeID
	Spec    model.Spec
	Place   Place
	// Dir is where scratch directories are made; the one of this attempt is
	// removed before Wait returns.
	Dir string
	// WorkDir is the working directory of the child and so of commands;
	// optional, Dir's scratch directory when empty.
	WorkDir string
	// Environ is the environment of the child and of what it starts: what
	// Environ, the function, has picked. The child adds a cookie.
	Environ []string
	// ArtifactDir takes the files with the whole output, up to
	// Spec.ArtifactLimit bytes each; optional, none are kept when empty. The
	// caller removes them.
	ArtifactDir string
	// OnProgress is called for every progress point that is kept, from one
	// goroutine; it must not block for long. Optional.
	OnProgress func(model.Progress)
	// OnStage is the same for stages that begin or end. Optional.
	OnStage func(model.StageChange)
	// OnLive is the same for how things are now. Optional.
	OnLive func(map[string]float64)
	// Jobs makes a call of the task to the queue of its step's items, until it is
	// answered; calls have numbers, and come one at a time. Its context ends with the
	// process. Optional.
	Jobs func(ctx context.Context, number uint64, c jobs.Call) (jobs.Reply, error)
	// PrepareTimeout bounds the time from Start to ready; Spec.Timeout when
	// zero. CleanupTimeout bounds the time from the end of Run to the end of
	// the child; a minute when zero. KillGrace is the time between SIGTERM and
	// SIGKILL; three seconds when zero.
	PrepareTimeout time.Duration
	CleanupTimeout time.Duration
	KillGrace      time.Duration
}

// withDefaults checks the configuration and fills in optional values.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Command) == 0:
		return c, errors.New("runner: no command to start the child with")
	case c.Spec.Timeout <= 0:
		return c, fmt.Errorf("runner: task %s: the timeout is %v; it must be more than 0", c.Task, c.Spec.Timeout)
	case c.Dir == "":
		return c, errors.New("runner: no directory for scratch files")
	}
	c.PrepareTimeout = cmp.Or(c.PrepareTimeout, c.Spec.Timeout)
	c.CleanupTimeout = cmp.Or(c.CleanupTimeout, time.Minute)
	c.KillGrace = cmp.Or(c.KillGrace, 3*time.Second)
	c.Spec.OutputLimit = cmp.Or(c.Spec.OutputLimit, 64<<10) // bytes of each stream
	return c, os.MkdirAll(c.Dir, 0o700)
}

// Outcome is how the attempt ended and everything that it left behind.
type Outcome struct {
	// Result has what the workload measured. Its times are of the node's clock:
	// Started is when Run was called, Ended when it returned or, if it did not,
	// when its process was gone; both are zero if Run was never called. The
	// caller sets IDs, clock and artifacts.
	model.Result
	// CPU is the processor time that the attempt used from its first moment:
	// of its process and the descendants that were waited for.
	CPU time.Duration
	// StdoutFile and StderrFile are the paths of files with the whole output;
	// empty when the text of Stdout or Stderr is the whole, or no ArtifactDir
	// was given.
	StdoutFile, StderrFile string
	// KeptFiles are the paths of the files that Result.Kept names.
	KeptFiles map[string]string
}

// Process is the agent's end of one attempt. Its methods are safe for
// concurrent use.
type Process struct {
	cfg   Config
	cmd   *exec.Cmd
	dir   string // scratch, removed at the end
	start uint64 // token of the child's start

	orders         lineWriter // the control pipe to the child
	pipes          []*os.File // the agent's ends: orders, reports, stdout, stderr
	stdout, stderr *capture
	data           data
	calling        sync.Mutex // held while a call to the queue of items is on its way

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

func (p *Process) launch() error {
	p.stdout, p.stderr = p.capture("stdout"), p.capture("stderr")
	var child [4]*os.File // the ends of the child, in the order of p.pipes
	p.pipes = make([]*os.File, len(child))
	// As long as the agent holds the child's ends, it never sees the end of
	// the child's output.
	defer func() { closeAll(child[:]) }()
	for i := range child {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(p.pipes)
			return fmt.Errorf("opening a pipe: %w", err)
		}
		child[i], p.pipes[i] = w, r
		if i == 0 { // orders go to the child
			child[i], p.pipes[i] = r, w
		}
	}
	p.orders.w = p.pipes[0]
	p.cmd = exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...) //nolint:noctx // supervise ends it, group and all; the context would kill the child alone
	p.cmd.Dir = cmp.Or(p.cfg.WorkDir, p.dir)
	p.cmd.Env = append([]string{}, p.cfg.Environ...) // not nil: nil would be the agent's own
	// The child leads a new process group. A parent-death signal would kill
	// the child alone and leave its descendants behind. Instead the child sees
	// its control pipe close and kills its whole tree, itself last.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.ExtraFiles, p.cmd.Stdout, p.cmd.Stderr = child[:2], child[2], child[3]
	if err := p.cmd.Start(); err != nil {
		closeAll(p.pipes)
		return err
	}
	// The child cannot have been reaped yet: that is done by supervise.
	var err error
	if p.start, err = startToken(p.cmd.Process.Pid); err != nil {
		closeAll(p.pipes) // the child ends when its control pipe closes
		return errors.Join(err, p.cmd.Wait())
	}
	return nil
}

func (p *Process) capture(stream string) *capture {
	path := ""
	if p.cfg.ArtifactDir != "" {
		path = filepath.Join(p.cfg.ArtifactDir, stream)
	}
	return newCapture(p.cfg.Spec.OutputLimit, path, p.cfg.Spec.ArtifactLimit)
}

// closeAll closes pipes: nothing can be lost. Nil and closed ones are left
// alone by package os.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
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
		return fmt.Errorf("task %s has already begun", p.cfg.Task)
	case !p.prepared:
		return fmt.Errorf("task %s cannot begin: it is not prepared", p.cfg.Task)
	}
	if now := time.Now(); at.Before(now) {
		at = now
	}
	p.begun = true
	p.begin <- at
	ns := at.UnixNano()
	if err := p.orders.write(order{Begin: &ns}); err != nil {
		return fmt.Errorf("telling task %s to begin: %w", p.cfg.Task, err)
	}
	return nil
}

// Over tells the child that no task of its step measures any more. It may be
// called at any time.
func (p *Process) Over() {
	_ = p.orders.write(order{Over: true}) // if the child is dead, its end says so
}

// CPU is the processor time that all of the attempt has used so far, as far as
// its processes live or were waited for; false where that cannot be read.
func (p *Process) CPU() (time.Duration, bool) {
	return tree{pgid: p.PGID(), cookie: cookie(p.PGID(), p.start)}.cpu()
}

// Wait returns how the attempt ended, after every process of it is gone. It
// may be called any number of times.
func (p *Process) Wait() Outcome {
	<-p.done
	return p.outcome
}

// Kill ends the attempt: SIGTERM to its group, SIGKILL to all of it after
// Config.KillGrace. The reason (OutcomeCancelled, OutcomeLost, …) becomes the
// outcome unless the workload had ended before. Only the first reason counts.
// Kill does not wait; it may be called at any time, any number of times.
func (p *Process) Kill(reason model.Outcome) {
	select {
	case p.killing <- reason:
	default: // another reason came first
	}
}

// PGID is the process group of the attempt. It and StartTicks are what to
// journal so that KillLeftover can end the attempt after the agent's own
// sudden end.
func (p *Process) PGID() int { return p.cmd.Process.Pid }

// StartTicks tells the child from a later process with the same id: it depends
// on its start time and on the boot. Opaque, for KillLeftover.
func (p *Process) StartTicks() uint64 { return p.start }
