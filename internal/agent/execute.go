package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/runner"
	"github.com/scalebench/scalebench/internal/wire"
)

// handle brings one assignment to its end: executed once, result delivered.
func (a *Agent) handle(ctx context.Context, as wire.Assignment) error {
	at := wire.Attempt{Task: as.Task, Attempt: as.Attempt}
	if a.journal.isOver(at) {
		// A repetition, a replay, or an attempt that a newer one has replaced.
		a.log.Info("not run again: a result of this attempt or of a later one was delivered before", "attempt", at)
		return nil
	}
	a.setCurrent(&at)
	defer a.setCurrent(nil)
	e, err := a.runOnce(ctx, as)
	if err != nil {
		return err
	}
	return a.deliver(ctx, e)
}

// runOnce executes an attempt and journals it, before and after.
func (a *Agent) runOnce(ctx context.Context, as wire.Assignment) (entry, error) {
	e := entry{
		Attempt: wire.Attempt{Task: as.Task, Attempt: as.Attempt},
		Run:     as.Run, Step: as.Step, Node: as.Node, Started: a.cfg.Now(),
	}
	if err := a.journal.put(e); err != nil {
		return e, err
	}
	x := execution{agent: a, as: as, entry: &e}
	res := x.run(ctx)
	e.Result = &res
	return e, a.journal.put(e)
}

// execution is one attempt at a task while it runs.
type execution struct {
	agent  *Agent
	as     wire.Assignment
	entry  *entry
	proc   *runner.Process
	watch  *watch // of the host, from just before the start; nil before
	orders <-chan wire.Order
	offset time.Duration // server clock minus node clock
	bound  time.Duration // how wrong offset can be
	// forced is the outcome that this agent imposed, with its reason.
	forced model.Outcome
	reason string
}

// run executes the attempt and returns its result, whatever happens.
func (x *execution) run(ctx context.Context) model.Result {
	orders, end := x.agent.orders.follow(x.as.Step, x.as.Attempt)
	defer end()
	x.orders = orders
	if err := x.start(ctx); err != nil {
		return x.result(runner.Outcome{Outcome: model.OutcomeFailed, Err: err.Error()})
	}
	at, ok := x.awaitStart(ctx)
	if ok {
		x.watch = x.agent.beginWatch(ctx, x.proc.PGID())
		if err := x.proc.Begin(at); err != nil {
			x.force(model.OutcomeFailed, "starting the workload: "+err.Error())
		}
	}
	return x.result(x.awaitEnd(ctx))
}

// start launches the child process and journals its process group, so that it
// can be killed should this agent be killed.
func (x *execution) start(ctx context.Context) error {
	a := x.agent
	p, err := runner.Start(context.WithoutCancel(ctx), runner.Config{
		Command: a.cfg.Runner,
		Task:    x.as.Task, Attempt: x.as.Attempt, Node: x.as.Node, Spec: x.as.Spec,
		Place:       runner.Place{Self: x.as.Self, Peers: x.as.Peers, Clients: x.as.Clients, Volumes: a.cfg.Volumes},
		Dir:         filepath.Join(a.cfg.StateDir, scratchDir),
		WorkDir:     a.cfg.WorkDir,
		Environ:     a.cfg.Environ,
		ArtifactDir: filepath.Join(a.cfg.StateDir, artifactDir),
		OnProgress:  x.progress,
	})
	if err != nil {
		return fmt.Errorf("starting the task's process: %w", err)
	}
	x.proc = p
	x.entry.Group, x.entry.Ticks = p.PGID(), p.StartTicks()
	if err := a.journal.put(*x.entry); err != nil {
		x.force(model.OutcomeFailed, err.Error())
	}
	return nil
}

// force ends the process with an outcome of the agent's choosing. The first
// one stays.
func (x *execution) force(o model.Outcome, reason string) {
	if x.forced == "" {
		x.forced, x.reason = o, reason
	}
	x.proc.Kill(o)
}

// progress passes a live point on; the complete series travels in the result.
func (x *execution) progress(p model.Progress) {
	err := x.agent.link.Progress(wire.Progress{
		Attempt: x.entry.Attempt, Node: x.as.Node, Run: x.as.Run, Step: x.as.Step, Progress: p,
	})
	if err != nil {
		x.agent.log.Debug("sending progress", "err", err)
	}
}

// awaitEnd waits until the process group is gone, killing it when the master
// or the node's owner asks for that.
func (x *execution) awaitEnd(ctx context.Context) runner.Outcome {
	ended := make(chan runner.Outcome, 1)
	go func() { ended <- x.proc.Wait() }()
	stopping := ctx.Done()
	for {
		select {
		case out := <-ended:
			return out
		case o := <-x.orders:
			x.obey(o)
		case <-stopping:
			stopping = nil
			x.force(model.OutcomeLost, "the agent was told to stop")
		}
	}
}

// obey acts on an order that came after the start.
func (x *execution) obey(o wire.Order) {
	if o.Kind == wire.OrderCancel {
		x.force(model.OutcomeCancelled, o.Reason)
	}
}

// result composes what the server gets: times in server time.
func (x *execution) result(out runner.Outcome) model.Result {
	r := model.Result{
		Run: x.as.Run, Step: x.as.Step, Task: x.as.Task, Attempt: x.as.Attempt, Node: x.as.Node,
		Outcome: out.Outcome, Error: out.Err, ExitCode: out.ExitCode,
		Started: x.serverTime(out.Started), Ended: x.serverTime(out.Ended),
		ClockOffset: x.offset, ClockError: x.bound,
		Stdout: out.Stdout, Stderr: out.Stderr, Samples: out.Samples, Series: out.Series, Histograms: out.Histograms, Host: out.Recordings,
	}
	if x.forced != "" && out.Outcome != model.OutcomeOK {
		r.Outcome, r.Error = x.forced, x.reason
	}
	if x.watch != nil {
		x.watch.into(&r, out)
	}
	x.entry.Artifacts = make(map[string]string)
	x.keepWhole(&r.Stdout, "stdout", out.StdoutFile)
	x.keepWhole(&r.Stderr, "stderr", out.StderrFile)
	return r
}

// keepWhole names the artifact with the whole of an output, if there is one.
func (x *execution) keepWhole(o *model.Output, name, file string) {
	if file != "" {
		o.Artifact = name
		x.entry.Artifacts[name] = file
	}
}

func (x *execution) serverTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(x.offset).UTC()
}
