package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

// supervise follows the child to its end and beyond.
func (p *Process) supervise(ctx context.Context) {
	calling, hangUp := context.WithCancel(ctx)
	defer hangUp()
	var readers sync.WaitGroup
	readers.Go(func() { p.readReports(calling) })
	readers.Go(func() { _, _ = io.Copy(p.stdout, p.pipes[2]) }) // ends at the pipe's end or at a deadline
	readers.Go(func() { _, _ = io.Copy(p.stderr, p.pipes[3]) })
	go func() {
		awaitExit(p.cmd)
		close(p.exited)
	}()
	go func() { // if the child is dead, its end says so
		_ = p.orders.write(order{Setup: &setup{
			Node: p.cfg.Node, Spec: p.cfg.Spec, Dir: p.dir, Keep: p.dir + ".keep", Cleanup: p.cfg.CleanupTimeout,
			Jobs: p.cfg.Jobs != nil, Place: p.cfg.Place,
		}})
	}()

	d := p.watch(ctx)
	survivors := tree{pgid: p.PGID(), cookie: cookie(p.PGID(), p.start)}.kill()
	var exit error
	if p.within(killTime) {
		exit = p.cmd.Wait()
	} else { // it hangs in the kernel and is left to itself
		exit = errors.New("it cannot be killed")
	}
	// All writers are dead by now, so the end of the pipes comes at once; a
	// process that could not be killed is not waited for.
	_ = p.pipes[0].Close()
	for _, f := range p.pipes[1:] {
		_ = f.SetReadDeadline(time.Now().Add(2 * time.Second)) // pipes take deadlines
	}
	readers.Wait()
	closeAll(p.pipes)

	p.outcome = p.conclude(d, exit)
	if survivors != nil { // they would falsify every later measurement on this node
		p.outcome.add("some processes of the task could not be killed: " + survivors.Error())
		if p.outcome.Outcome == model.OutcomeOK {
			p.outcome.Outcome = model.OutcomeFailed
		}
	}
	p.takeKept()
	if err := errors.Join(os.RemoveAll(p.dir), os.RemoveAll(p.dir+".keep")); err != nil {
		p.outcome.add("removing the scratch directory: " + err.Error())
	}
	p.tell(errors.New(p.outcome.Error))
	close(p.done)
}

// within reports whether the child is dead before this time has passed.
func (p *Process) within(limit time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(limit):
		return false
	}
}

func (p *Process) readReports(ctx context.Context) {
	readied := sync.OnceFunc(func() { close(p.readied) })
	ended := sync.OnceFunc(func() { close(p.ended) })
	for lines := newLineReader(p.pipes[1]); ; {
		var r report
		if err := lines.next(&r); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			p.Kill(model.OutcomeFailed) // not our child's language; when it is dead, nothing happens
			return
		}
		if r.Point != nil {
			if p.data.addPoint(*r.Point) && p.cfg.OnProgress != nil {
				p.cfg.OnProgress(*r.Point)
			}
			continue
		}
		if r.Live != nil {
			if p.cfg.OnLive != nil {
				p.cfg.OnLive(r.Live)
			}
			continue
		}
		if r.Call != nil {
			if p.cfg.Jobs != nil {
				go p.passOn(ctx, *r.Call) // ends with the reply or with ctx
			}
			continue
		}
		p.data.take(r)
		switch {
		case r.Stage != nil && p.cfg.OnStage != nil:
			p.cfg.OnStage(r.Stage.StageChange)
		case r.Ready != nil && r.Ready.Error == "":
			p.tell(nil)
			readied()
		case r.Done != nil:
			ended()
		}
	}
}

// passOn makes a call for the child and tells it the reply.
func (p *Process) passOn(ctx context.Context, c jobCall) {
	p.calling.Lock()
	defer p.calling.Unlock()
	reply, err := p.cfg.Jobs(ctx, c.Number, c.Data)
	answer := jobReply{Data: reply}
	if err != nil {
		answer.Error = model.Plain(err)
	}
	_ = p.orders.write(order{Reply: &answer}) // if the child is dead, its end says so
}

// death is why and when the agent decided to kill the attempt; zero if it did
// not.
type death struct {
	reason model.Outcome
	text   string
	at     time.Time
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
		_ = unix.Kill(-p.PGID(), unix.SIGTERM) // it may be gone
		p.within(p.cfg.KillGrace)
		return d
	}
}

// conclude says how it ended. exit is what the child's exit looked like.
func (p *Process) conclude(d death, exit error) Outcome {
	o := p.data.got // nothing more comes
	for _, m := range p.data.metrics {
		o.Series = append(o.Series, p.data.series[m].series(m))
	}
	if ps := p.cmd.ProcessState; ps != nil {
		o.CPU = ps.UserTime() + ps.SystemTime()
	}
	o.Stdout, o.StdoutFile = p.stdout.finish()
	o.Stderr, o.StderrFile = p.stderr.finish()
	done, ready := p.data.done, p.data.ready
	var ended time.Time // when Run returned; zero if it did not
	if done != nil && !o.Started.IsZero() {
		ended = o.Started.Add(done.After)
	}
	o.Ended = ended
	if ended.IsZero() && !o.Started.IsZero() {
		o.Ended = time.Now()
	}
	o.Stages = stages(p.data.stages, o.Started, time.Now())
	switch {
	case done != nil && (d.reason == "" || ended.Before(d.at)):
		o.Outcome, o.Error = model.OutcomeOK, done.Error
		if done.Error != "" {
			o.Outcome = model.OutcomeFailed
		}
	case d.reason != "":
		o.Outcome, o.Error = d.reason, d.text
	case ready != nil && ready.Error != "":
		o.Outcome, o.Error = model.OutcomeFailed, "preparing: "+ready.Error
	default:
		if exit == nil {
			exit = errors.New("exit status 0")
		}
		o.Outcome = model.OutcomeFailed
		o.Error = fmt.Sprintf("the workload's process ended early (%v); see its standard error", exit)
	}
	return o
}

// add appends to the reasons of a failure.
func (o *Outcome) add(text string) {
	if o.Error != "" {
		text = o.Error + "; " + text
	}
	o.Error = text
}

// data is what the child has reported until now. Safe for concurrent use.
type data struct {
	sync.Mutex
	ready   *verdict
	done    *verdict
	got     Outcome  // what was measured; its verdict is not set
	metrics []string // of series, in order of appearance
	series  map[string]*progress
	stages  []stageReport
}

// addPoint stores a progress point; false if it was refused.
func (d *data) addPoint(p model.Progress) bool {
	d.Lock()
	defer d.Unlock()
	if d.series == nil {
		d.series = make(map[string]*progress)
	}
	s, ok := d.series[p.Metric]
	if !ok {
		s = &progress{unit: p.Unit, thin: thinner{step: steps[0]}}
		d.series[p.Metric] = s
		d.metrics = append(d.metrics, p.Metric)
	}
	return s.add(p)
}

// take stores everything but points.
func (d *data) take(r report) {
	d.Lock()
	defer d.Unlock()
	switch {
	case r.Ready != nil:
		d.ready = r.Ready
	case r.Started != nil:
		d.got.Started = time.Unix(0, *r.Started)
	case r.Sample != nil:
		d.got.Samples = append(d.got.Samples, *r.Sample)
	case r.Histogram != nil:
		d.got.Histograms = append(d.got.Histograms, *r.Histogram)
	case r.Recording != nil:
		d.got.Host = append(d.got.Host, *r.Recording)
	case r.Stage != nil:
		if len(d.stages) < maxStages {
			d.stages = append(d.stages, *r.Stage)
		}
	case r.ExitCode != nil:
		d.got.ExitCode = r.ExitCode
	case r.Done != nil:
		d.done = r.Done
	}
}
