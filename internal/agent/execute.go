package agent

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/monitor"
	"github.com/scalebench/scalebench/internal/recording"
	"github.com/scalebench/scalebench/internal/runner"
	"github.com/scalebench/scalebench/internal/wire"
)

// handle brings one assignment to its end: executed once, journalled before and
// after, result delivered.
func (a *Agent) handle(ctx context.Context, as wire.Assignment) error {
	at := wire.Attempt{Task: as.Task, Attempt: as.Attempt}
	if a.journal.isOver(at) {
		// A repetition, a replay, or an attempt that a newer one has replaced.
		a.log.Info("attempt skipped: a result of this or a later attempt was already delivered", "attempt", at)
		return nil
	}
	a.running.Store(&at)
	defer a.running.Store(nil)
	e := entry{Attempt: at, Run: as.Run, Step: as.Step, Node: as.Node, Started: time.Now()}
	put := func() error { return a.journal.put(e) }
	if err := a.whenRoom(ctx, put); err != nil {
		return err
	}
	x := execution{agent: a, as: as, entry: &e}
	res := x.run(ctx)
	e.Result = &res
	a.owes.Store(true)
	defer a.owes.Store(false)
	// One that stops while the disk is full delivers what it has in memory.
	if err := a.whenRoom(ctx, put); err != nil && ctx.Err() == nil {
		return err
	}
	return a.deliver(ctx, e)
}

// execution is one attempt at a task while it runs.
type execution struct {
	agent  *Agent
	as     wire.Assignment
	entry  *entry
	proc   *runner.Process
	watch  *watch // of the host, from just before the start; nil before
	stages stages // that people are to be told
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
	if err := x.agent.whenRoom(ctx, func() error { return x.start(ctx) }); err != nil {
		return x.result(runner.Outcome{Result: model.Result{Outcome: model.OutcomeFailed, Error: model.Plain(err)}})
	}
	at, ok := x.awaitStart(ctx)
	if ok {
		// What the process has started before, such as a service, has used processor
		// time already.
		used, known := x.proc.CPU()
		if !known {
			x.agent.log.Debug("cannot read the processor time of the task's processes")
		}
		x.watch = &watch{recording: x.agent.monitor.Start(ctx), began: time.Now(), used: used, known: known}
		if err := x.proc.Begin(at); err != nil {
			x.force(model.OutcomeFailed, "starting the workload: "+model.Plain(err))
		}
	}
	out := x.awaitEnd(ctx)
	x.agent.sweep(x.as.Spec.Kind)
	return x.result(out)
}

// start launches the child process and journals its process group, so that it
// can be killed should this agent be killed.
func (x *execution) start(ctx context.Context) error {
	a := x.agent
	p, err := runner.Start(context.WithoutCancel(ctx), runner.Config{
		Command: a.cfg.Runner,
		Task:    x.as.Task, Node: x.as.Node, Spec: x.as.Spec,
		Place:       runner.Place{Self: x.as.Self, Peers: x.as.Peers, Clients: x.as.Clients, Volumes: a.cfg.Volumes},
		Dir:         filepath.Join(a.cfg.StateDir, scratchDir),
		WorkDir:     a.cfg.WorkDir,
		Environ:     append(runner.Environ(a.cfg.Workloads, x.as.Spec, a.cfg.Environ), "SCALEBENCH_ATTEMPT="+x.entry.Attempt.String()),
		ArtifactDir: filepath.Join(a.cfg.StateDir, artifactDir),
		OnProgress:  func(p model.Progress) { x.tell(wire.Progress{Progress: p}) },
		OnStage:     x.stage,
		OnLive:      func(values map[string]float64) { x.tell(wire.Progress{Live: values}) },
	})
	if err != nil {
		return fmt.Errorf("starting the task's process: %w", err)
	}
	x.proc = p
	x.entry.Group, x.entry.Ticks = p.PGID(), p.StartTicks()
	if err := a.whenRoom(ctx, func() error { return a.journal.put(*x.entry) }); err != nil {
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

// tell passes on what is for people only; the complete series and all stages travel
// in the result.
func (x *execution) tell(p wire.Progress) {
	p.Attempt, p.Node, p.Run, p.Step = x.entry.Attempt, x.as.Node, x.as.Run, x.as.Step
	if err := x.agent.link.Progress(p); err != nil {
		x.agent.log.Debug("sending how far the task is", "err", err)
	}
}

// repeatReady is how often a prepared task says so again: the answer carries
// the start, should the broadcast have been lost.
const repeatReady = time.Second

// toldToStop is why a task is lost whose agent ends.
const toldToStop = "the agent was told to stop"

// awaitStart waits until the process is prepared and, with a barrier, until
// the master has agreed on a start. It returns the start on this node's clock;
// ok is false when the task must not begin.
func (x *execution) awaitStart(ctx context.Context) (at time.Time, ok bool) {
	timeout := time.NewTimer(x.as.ReadyTimeout)
	defer timeout.Stop()
	if !x.awaitPrepared(ctx) {
		return time.Time{}, false
	}
	// The server's clock is found right before the start, when an offset is freshest.
	// Without an answer the task cannot begin: its times would mean nothing.
	err := retry(ctx, x.agent.log, "measuring the clock offset", func(ctx context.Context) (err error) {
		x.offset, x.bound, err = x.agent.link.Clock(ctx)
		return err
	})
	if err != nil {
		x.force(model.OutcomeLost, toldToStop)
		return time.Time{}, false
	}
	if !x.as.Barrier {
		return time.Now(), true
	}
	return x.awaitAgreement(ctx, timeout.C)
}

// awaitPrepared waits for the child to have prepared. When that fails the
// outcome of the process says why.
func (x *execution) awaitPrepared(ctx context.Context) bool {
	for {
		select {
		case err := <-x.proc.Ready():
			return err == nil
		case o := <-x.orders:
			if o.Kind == wire.OrderCancel {
				x.obey(o)
				return false
			}
		case <-ctx.Done():
			x.force(model.OutcomeLost, toldToStop)
			return false
		}
	}
}

// awaitAgreement says ready until the master names the start or calls it off.
func (x *execution) awaitAgreement(ctx context.Context, timeout <-chan time.Time) (time.Time, bool) {
	replies := make(chan wire.ReadyReply, 1)
	again := time.NewTicker(repeatReady)
	defer again.Stop()
	x.sayReady(ctx, replies)
	for {
		select {
		case r := <-replies:
			switch {
			case r.Cancel:
				x.force(model.OutcomeCancelled, "the server has called this attempt off")
				return time.Time{}, false
			case !r.At.IsZero():
				return r.At.Add(-x.offset), true
			}
		case o := <-x.orders:
			if o.Kind == wire.OrderStart {
				return o.At.Add(-x.offset), true
			}
			x.obey(o)
			return time.Time{}, false
		case <-again.C:
			x.sayReady(ctx, replies)
		case <-timeout:
			x.force(model.OutcomeLost, "no start from the server within "+x.as.ReadyTimeout.String())
			return time.Time{}, false
		case <-ctx.Done():
			x.force(model.OutcomeLost, toldToStop)
			return time.Time{}, false
		}
	}
}

// sayReady asks in the background; an answer that finds no room is dropped,
// for another one is waiting already.
func (x *execution) sayReady(ctx context.Context, replies chan<- wire.ReadyReply) {
	msg := wire.Ready{Node: x.as.Node, Attempt: x.entry.Attempt, ClockOffset: x.offset, ClockError: x.bound}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 2*repeatReady)
		defer cancel()
		r, err := x.agent.link.Ready(ctx, msg)
		if err != nil {
			x.agent.log.Debug("reporting ready", "err", err)
			return
		}
		select {
		case replies <- r:
		default:
		}
	}()
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
			x.force(model.OutcomeLost, toldToStop)
		}
	}
}

// obey acts on an order that came after the start.
func (x *execution) obey(o wire.Order) {
	switch o.Kind {
	case wire.OrderCancel:
		x.force(model.OutcomeCancelled, o.Reason)
	case wire.OrderOver:
		x.proc.Over()
	}
}

// result composes what the server gets: times in server time.
func (x *execution) result(out runner.Outcome) model.Result {
	r := out.Result
	r.Run, r.Step, r.Task, r.Attempt, r.Node = x.as.Run, x.as.Step, x.as.Task, x.as.Attempt, x.as.Node
	r.Started, r.Ended = x.serverTime(out.Started), x.serverTime(out.Ended)
	r.ClockOffset, r.ClockError = x.offset, x.bound
	if x.forced != "" && out.Outcome != model.OutcomeOK {
		r.Outcome, r.Error = x.forced, x.reason
	}
	if x.watch != nil {
		x.watch.into(&r, out)
	}
	x.entry.Artifacts = make(map[string]string)
	// The whole of a long output is an artifact.
	if out.StdoutFile != "" {
		r.Stdout.Artifact, x.entry.Artifacts[model.ArtifactStdout] = model.ArtifactStdout, out.StdoutFile
	}
	if out.StderrFile != "" {
		r.Stderr.Artifact, x.entry.Artifacts[model.ArtifactStderr] = model.ArtifactStderr, out.StderrFile
	}
	maps.Copy(x.entry.Artifacts, out.KeptFiles)
	return r
}

func (x *execution) serverTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(x.offset).UTC()
}

// watch is the monitor's eye on the host while a task runs. It begins when
// everything is prepared: what is not timed is not watched.
type watch struct {
	recording *recording.Recording
	began     time.Time
	// used is the processor time that the task had used by then; known is
	// false where that cannot be read.
	used  time.Duration
	known bool
}

// into ends the watch and puts what it saw into the result.
func (w *watch) into(r *model.Result, out runner.Outcome) {
	w.recording.Stop()
	lasted := time.Since(w.began).Seconds()
	if out.Started.IsZero() {
		return // it never began; there is nothing to align with
	}
	seen := w.recording.Series(out.Started)
	r.Host = append(r.Host, seen...)
	others, ok := monitor.Others(seen, out.CPU-w.used)
	if !ok || !w.known || lasted <= 0 {
		return
	}
	// The clocks are coarse: a little less than nothing is nothing.
	r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: max(0, others/lasted), Better: model.Lower, Info: true})
}

// orderRouter passes the master's orders to the task that waits for them, and
// remembers cancels for tasks that have not begun yet.
type orderRouter struct {
	sync.Mutex
	step      model.StepID
	attempt   int
	waiting   chan wire.Order // nil when no task is running
	cancelled map[model.StepID]int
}

// cancelMemory bounds how many cancelled steps are remembered; an agent runs
// one task at a time, so that only the latest few can matter.
const cancelMemory = 1024

// follow returns the orders for this step and attempt, from now on. A cancel
// that came earlier is delivered at once. end must be called.
func (r *orderRouter) follow(step model.StepID, attempt int) (orders <-chan wire.Order, end func()) {
	r.Lock()
	defer r.Unlock()
	r.step, r.attempt = step, attempt
	r.waiting = make(chan wire.Order, 8) // a start and a few repeated cancels
	if upTo, ok := r.cancelled[step]; ok && upTo >= attempt {
		r.waiting <- wire.Order{Kind: wire.OrderCancel, Step: step, Attempt: upTo}
	}
	return r.waiting, func() {
		r.Lock()
		defer r.Unlock()
		r.waiting = nil
	}
}

// deliver hands an order to the task that it concerns.
func (r *orderRouter) deliver(o wire.Order) {
	r.Lock()
	defer r.Unlock()
	// A start is for one attempt, a cancel for it and all before.
	concerns := o.Attempt == r.attempt
	if o.Kind == wire.OrderCancel {
		concerns = o.Attempt >= r.attempt
		if r.cancelled == nil || len(r.cancelled) >= cancelMemory {
			r.cancelled = make(map[model.StepID]int)
		}
		r.cancelled[o.Step] = max(r.cancelled[o.Step], o.Attempt)
	}
	if r.waiting == nil || o.Step != r.step || !concerns {
		return
	}
	select {
	case r.waiting <- o:
	default: // the task has more orders than it can use already
	}
}

func (a *Agent) followOrders(ctx context.Context) {
	defer a.watched.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-a.link.Orders():
			switch o.Kind {
			case wire.OrderLook:
				a.look(o)
			case wire.OrderRecord:
				a.record(ctx)
			default:
				a.orders.deliver(o)
			}
		}
	}
}
