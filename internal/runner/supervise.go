package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// death is why and when the agent decided to kill the attempt; zero if it did
// not.
type death struct {
	reason model.Outcome
	text   string
	at     time.Time
}

// supervise follows the child to its end and beyond.
func (p *Process) supervise(ctx context.Context) {
	var readers sync.WaitGroup
	readers.Go(p.readReports)
	readers.Go(func() { _, _ = io.Copy(p.stdout, p.pipes[1]) }) // ends at the pipe's end or at a deadline
	readers.Go(func() { _, _ = io.Copy(p.stderr, p.pipes[2]) })
	go func() {
		awaitExit(p.cmd)
		close(p.exited)
	}()
	go p.sendSetup()

	d := p.watch(ctx)
	hunt := p.quarry().destroy(huntTime)
	waited := p.reap()
	p.drain(&readers)
	p.outcome = p.cleanUp(p.conclude(d, waited), hunt)
	p.tell(errors.New(p.outcome.Err))
	close(p.done)
}

// reap takes the child's exit status. A child that hangs in the kernel and
// cannot be killed is left to itself: the hunt has failed and says so.
func (p *Process) reap() error {
	t := time.NewTimer(huntTime)
	defer t.Stop()
	select {
	case <-p.exited:
		return p.cmd.Wait()
	case <-t.C:
		return errors.New("it does not die")
	}
}

// cleanUp removes the scratch directory and judges what the hunt left behind:
// a process that still runs would falsify every later measurement on this
// node, so the attempt fails.
func (p *Process) cleanUp(o Outcome, hunt error) Outcome {
	if hunt != nil {
		o.Err = joinText(o.Err, "not everything that the task started could be killed: "+hunt.Error())
		if o.Outcome == model.OutcomeOK {
			o.Outcome = model.OutcomeFailed
		}
	}
	if err := os.RemoveAll(p.dir); err != nil {
		o.Err = joinText(o.Err, "removing the scratch directory: "+err.Error())
	}
	return o
}

func (p *Process) quarry() quarry {
	return quarry{pgid: p.PGID(), cookie: cookie(p.PGID(), p.start)}
}

// sendSetup gives the child its task. If the child is dead, its end says so.
func (p *Process) sendSetup() {
	s := p.cfg.Spec
	_ = p.lines.write(order{Setup: &setup{
		Task: p.cfg.Task, Attempt: p.cfg.Attempt, Node: p.cfg.Node,
		Kind: s.Kind, Params: s.Params, Dir: p.dir, Cleanup: p.cfg.CleanupTimeout,
		Role: s.Role, Part: s.Part, Parts: s.Parts, Offer: s.Offer, Place: p.cfg.Place,
	}})
}

// readReports takes what the child says until it says no more.
func (p *Process) readReports() {
	readied := sync.OnceFunc(func() { close(p.readied) })
	ended := sync.OnceFunc(func() { close(p.ended) })
	for lines := newLineReader(p.pipes[0]); ; {
		var r report
		if err := lines.next(&r); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			p.Kill(model.OutcomeFailed) // not our child's language; when it is dead, nothing happens
			return
		}
		if r.Point != nil {
			live, ok := p.data.addPoint(*r.Point)
			if ok && p.cfg.OnProgress != nil {
				p.cfg.OnProgress(live)
			}
			continue
		}
		p.data.take(r)
		switch {
		case r.Ready != nil && r.Ready.Error == "":
			p.tell(nil)
			readied()
		case r.Done != nil:
			ended()
		}
	}
}

// watch waits for the end of the child, or for a reason to kill it and then
// for its end. It returns when the child is dead or has used up its grace.
func (p *Process) watch(ctx context.Context) death {
	limit := time.NewTimer(p.cfg.PrepareTimeout)
	defer limit.Stop()
	what := fmt.Sprintf("preparing took longer than %v", p.cfg.PrepareTimeout)
	ready, begin, ended := p.readied, p.begin, p.ended
	for {
		var d death
		select {
		case <-p.exited:
			return death{}
		case <-ready:
			// Between ready and begin the agent waits as long as it likes.
			limit.Stop()
			ready = nil
			continue
		case at := <-begin:
			ready, begin = nil, nil
			limit.Reset(time.Until(at) + p.cfg.Spec.Timeout)
			what = fmt.Sprintf("the task took longer than its timeout of %v", p.cfg.Spec.Timeout)
			continue
		case <-ended:
			limit.Reset(p.cfg.CleanupTimeout)
			what = fmt.Sprintf("cleaning up took longer than %v", p.cfg.CleanupTimeout)
			ready, begin, ended = nil, nil, nil
			continue
		case <-limit.C:
			d = death{reason: model.OutcomeTimeout, text: what}
		case reason := <-p.killing:
			d = death{reason: reason, text: "killed: " + string(reason)}
		case <-ctx.Done():
			d = death{reason: model.OutcomeCancelled, text: "killed: " + context.Cause(ctx).Error()}
		}
		d.at = time.Now()
		p.grace()
		return d
	}
}

// grace asks the group to end and gives it a moment to do so.
func (p *Process) grace() {
	terminate(p.PGID())
	t := time.NewTimer(p.cfg.KillGrace)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
	}
}

// drain reads what is left in the pipes. All writers are dead by now, so their
// end comes at once; a process that could not be killed is not waited for.
func (p *Process) drain(readers *sync.WaitGroup) {
	_ = p.orders.Close() // a pipe's end: nothing to lose
	for _, f := range p.pipes {
		_ = f.SetReadDeadline(time.Now().Add(2 * time.Second)) // pipes take deadlines
	}
	readers.Wait()
	for _, f := range p.pipes {
		_ = f.Close()
	}
}

// conclude says how it ended. waited is what the child's exit looked like.
func (p *Process) conclude(d death, waited error) Outcome {
	o := p.data.outcome()
	if ps := p.cmd.ProcessState; ps != nil {
		o.CPU = ps.UserTime() + ps.SystemTime()
	}
	o.Stdout, o.StdoutFile = p.stdout.finish()
	o.Stderr, o.StderrFile = p.stderr.finish()
	ended := p.data.ended()
	o.Ended = ended
	if ended.IsZero() && !o.Started.IsZero() {
		o.Ended = time.Now()
	}
	done, ready := p.data.done, p.data.ready
	switch {
	case done != nil && (d.reason == "" || ended.Before(d.at)):
		o.Outcome, o.Err = model.OutcomeOK, done.Error
		if done.Error != "" {
			o.Outcome = model.OutcomeFailed
		}
	case d.reason != "":
		o.Outcome, o.Err = d.reason, d.text
	case ready != nil && ready.Error != "":
		o.Outcome, o.Err = model.OutcomeFailed, "preparing: "+ready.Error
	default:
		o.Outcome = model.OutcomeFailed
		o.Err = fmt.Sprintf("the workload's process ended before the workload (%s); its standard error may say why", exitText(waited))
	}
	return o
}

func exitText(waited error) string {
	if waited == nil {
		return "exit status 0"
	}
	return waited.Error()
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
