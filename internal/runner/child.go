package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// ControlPipes returns the pipes that Start opened for the child: 3 to read
// orders from, 4 to write reports to. What the child starts does not inherit
// them. It fails when a person runs the hidden command by hand.
func ControlPipes() (orders, reports *os.File, err error) {
	orders, reports = os.NewFile(3, "orders"), os.NewFile(4, "reports")
	for _, f := range []*os.File{orders, reports} {
		info, err := f.Stat()
		if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			return nil, nil, errors.New("this command is started by an agent; use `scalebench run`")
		}
	}
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	return orders, reports, nil
}

// Main is the child's end: it runs the one task that it is given on orders
// (see ControlPipes), speaks on reports, and returns the process's exit code.
// It owns its process group: when orders ends, the agent is gone, and Main
// kills the whole group including itself.
func Main(ctx context.Context, reg workload.Registry, orders io.Reader, reports io.Writer, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// Caught, not ignored: an ignored signal would stay ignored in commands,
	// and `yes | head` would not end quietly. Uncaught, writing to a dead
	// agent would kill this process before it has killed its descendants.
	// So would a hang-up: the kernel sends one to this group if the agent dies
	// while members of the group are stopped, as they are while it is killed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	adoptOrphans()

	c := &child{out: &lineWriter{w: reports}, stderr: stderr, over: make(chan struct{})}
	c.queue = caller{out: c.out, replies: make(chan jobReply, 1)}
	start, err := startToken(os.Getpid())
	if err != nil {
		return c.unprepared(err)
	}
	c.descendants = tree{pgid: os.Getpid(), cookie: cookie(os.Getpid(), start), spareSelf: true}

	lines := newLineReader(orders)
	var first order
	if err := lines.next(&first); err != nil || first.Setup == nil {
		return c.unprepared(fmt.Errorf("reading the task from the agent: %w", errors.Join(err, errors.New("no setup"))))
	}
	begin := make(chan int64, 1)
	go c.watch(lines, begin)

	c.setup = *first.Setup
	spec := c.setup.Spec
	c.reporter = newReporter(c.out)
	c.env = &workload.Env{
		Node: c.setup.Node, Self: c.setup.Self, Peers: c.setup.Peers, Clients: c.setup.Clients,
		Role: spec.Role, Part: spec.Part, Parts: max(spec.Parts, 1), Offer: spec.Offer, Trial: spec.Trial,
		Volumes: c.setup.Volumes, Dir: c.setup.Dir, Keep: c.setup.Keep, KeepLimit: spec.ArtifactLimit, Over: c.over, Environ: append(os.Environ(), c.descendants.cookie),
		Stdout: stdout, Stderr: stderr, Report: c.reporter,
	}
	if c.setup.Jobs {
		c.env.Jobs = newTeller(c.queue.call).Jobs
	}
	return c.execute(ctx, reg, begin)
}

type child struct {
	setup       setup
	out         *lineWriter
	stderr      io.Writer
	reporter    *reporter
	env         *workload.Env
	descendants tree
	over        chan struct{} // Env.Over
	queue       caller
	// orphaned removes, when the agent is gone, what would outlive the processes;
	// nil before there can be anything.
	orphaned atomic.Pointer[func()]
}

// watch takes the orders that follow the setup. Their end is the agent's end.
func (c *child) watch(lines *lineReader, begin chan<- int64) {
	over := sync.OnceFunc(func() { close(c.over) })
	for {
		var o order
		if err := lines.next(&o); err != nil {
			_ = c.descendants.kill() // the agent is gone: no report is possible
			if remove := c.orphaned.Load(); remove != nil {
				(*remove)()
				_ = c.descendants.kill() // what was started meanwhile
			}
			_ = unix.Kill(0, unix.SIGKILL) // the whole group, this process included
		}
		if o.Over {
			over()
		}
		if o.Reply != nil {
			select {
			case c.queue.replies <- *o.Reply:
			default: // there is one call at a time, and so one reply
			}
		}
		if o.Begin != nil {
			select {
			case begin <- *o.Begin:
			default: // the second one: the agent sends one only
			}
		}
	}
}

func (c *child) unprepared(err error) int {
	_ = c.out.write(report{Ready: &verdict{Error: model.Plain(err)}}) // if it fails the agent is gone
	return 1
}

// execute takes the task through its life and returns the exit code.
func (c *child) execute(ctx context.Context, reg workload.Registry, begin <-chan int64) int {
	w, err := decode(reg, c.setup.Spec.Kind, c.setup.Spec.Params)
	if err != nil {
		return c.unprepared(err)
	}
	defer c.cleanUp(ctx, w)
	if orphan, ok := w.(workload.Orphan); ok {
		remove := orphan.Orphaned
		c.orphaned.Store(&remove)
	}
	if len(c.setup.Spec.Await) > 0 { // services that the task needs
		c.reporter.Stage("await", model.StageBegun, "")
		if err = workload.AwaitHealthy(ctx, c.setup.Spec.Await, c.env.Environ); err != nil {
			c.reporter.Stage("await", model.StageFailed, err.Error())
		} else {
			c.reporter.Stage("await", model.StageDone, "")
		}
	}
	if err == nil {
		err = guard(func() error { return w.Prepare(ctx, c.env) })
	}
	if err != nil {
		return c.unprepared(err)
	}
	runtime.GC() // so that garbage of Prepare is not collected while Run is timed
	if err := c.out.write(report{Ready: &verdict{}}); err != nil {
		return 1
	}
	select {
	case at := <-begin:
		waitUntil(ctx, time.Unix(0, at))
	case <-ctx.Done():
		return 1
	}
	return c.run(ctx, w)
}

func (c *child) run(ctx context.Context, w workload.Workload) int {
	if ctx.Err() != nil {
		return 1
	}
	started := time.Now()
	ns := started.UnixNano()
	if err := c.out.write(report{Started: &ns}); err != nil {
		return 1
	}
	c.reporter.begin(started)
	err := guard(func() error { return w.Run(ctx, c.env) })
	v := verdict{After: time.Since(started)}
	if reported := c.reporter.end(); err == nil {
		err = reported
	}
	if err != nil {
		v.Error = model.Plain(err)
	}
	if c.out.write(report{Done: &v}) != nil || err != nil {
		return 1
	}
	return 0
}

// cleanUp kills what Run left running and lets the workload remove what
// Prepare made. It has its own time: ctx may have ended.
func (c *child) cleanUp(ctx context.Context, w workload.Workload) {
	if err := c.descendants.kill(); err != nil {
		c.say(err)
	}
	cleaner, ok := w.(workload.Cleaner)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.setup.Cleanup)
	defer cancel()
	if err := guard(func() error { return cleaner.Cleanup(ctx, c.env) }); err != nil {
		c.say(fmt.Errorf("cleaning up: %w", err))
	}
}

// say writes to standard error, which is kept with the result.
func (c *child) say(err error) { _, _ = fmt.Fprintf(c.stderr, "scalebench: %v\n", err) }

// Environ returns, of the environment of a node, what a task may see of it. Where
// parameters cannot be decoded, the child says so.
func Environ(reg workload.Registry, spec model.Spec, all []string) []string {
	var names, patterns []string
	if w, err := decode(reg, spec.Kind, spec.Params); err == nil {
		if user, ok := w.(workload.EnvironUser); ok {
			names, patterns = user.UsesEnviron()
		}
	}
	return environ.Pick(all, names, patterns)
}

// decode makes the workload from its parameters, over its defaults.
func decode(reg workload.Registry, kind string, params map[string]any) (workload.Workload, error) {
	k, ok := reg[kind]
	if !ok {
		return nil, fmt.Errorf("this node does not know workload %q, only %v: its scalebench may be older than the server's", kind, reg.Names())
	}
	w := k.New()
	if params == nil {
		params = map[string]any{}
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("parameters of workload %q: %w", kind, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(w); err == nil {
		err = w.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("parameters of workload %q: %w", kind, err)
	}
	return w, nil
}

// guard turns a panic of a workload into an error that names the place.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// spin is how long before the start the child stops sleeping and watches the
// clock: about the time that a kernel needs to wake a sleeper on an idle CPU.
const spin = 200 * time.Microsecond

// nap bounds one sleep, so that a step of the wall clock or a cancel is
// noticed.
const nap = 50 * time.Millisecond

// waitUntil returns at this wall-clock time, or at the end of ctx. It does not
// use time.Sleep for the last stretch: its timers may be a millisecond late,
// because the runtime waits for them in whole milliseconds.
func waitUntil(ctx context.Context, at time.Time) {
	runtime.LockOSThread() // the thread that sleeps is the one that spins
	defer runtime.UnlockOSThread()
	at = at.Round(0) // compare wall clocks
	for ctx.Err() == nil {
		left := time.Until(at)
		if left <= spin {
			break
		}
		sleep(min(left-spin, nap))
	}
	for time.Now().Before(at) && ctx.Err() == nil {
		continue
	}
}
