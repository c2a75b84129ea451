// Package service runs the services of a step: the tiers of an application, as
// tasks of its nodes.
//
// The life of the services of one node, which are one task:
//
//  1. Prepare, for each of them in the order in which they follow each other:
//     set up (a folder of its own, a control group, its port must be free), reset
//     (a loaded folder is copied), files from templates, wait for the services
//     that it comes after, start, wait until it is healthy, warm.
//  2. Run, from the common start until no task of the step measures any more:
//     limits change when it is their time; a service that ends meanwhile fails
//     the task, and so calls the step off.
//  3. At the end what was recorded of them is collected, they stop in the reverse
//     order, and files that are to be kept are collected, too.
//
// Each of these is a stage with its times. Services of other nodes are waited for
// as they are seen from here. Nothing outlives the task: processes are in control
// groups where there are any, and what a task that was killed has left is removed
// by its agent ([Sweep]), or by the next one of the same user that starts.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the services of one node, with the task's state.
type Params struct {
	// Services are in the order in which they start.
	Services []Instance `json:"services"`
	// Hosts are the addresses of all instances of all services of the step, and
	// Ports where they listen.
	Hosts map[string][]string `json:"hosts"`
	Ports map[string]int      `json:"ports,omitempty"`
	// Ready bounds all of the preparation.
	Ready unit.Duration `json:"ready"`

	watcher func(Watched) Watch // nil: nothing is watched
	mu      sync.Mutex
	place   *place
	running []*running // in the order in which they were started
	over    bool       // nothing is started any more
}

// Instance is one instance of a service.
type Instance struct {
	Name    string            `json:"name"`
	Index   int               `json:"index"`
	Command string            `json:"command"`
	Port    int               `json:"port,omitempty"`
	Environ map[string]string `json:"environ,omitempty"`
	PassEnv []string          `json:"pass_env,omitempty"`
	Settings
	// Link is the rate of its node's link in bytes a second; 0: not known.
	Link float64 `json:"link,omitempty"`
	// Own is how its own health is seen, Await those that it starts after.
	Own   model.Check   `json:"own"`
	Await []model.Check `json:"await,omitempty"`
}

// Kind describes the tasks, of which each watches its services with what watch
// returns.
func Kind(watch func(Watched) Watch) workload.Kind {
	return workload.Kind{
		Name:    model.KindService,
		Summary: "The services of a step on one node.",
		New:     func() workload.Workload { return &Params{watcher: watch} },
		Sweep:   Sweep,
	}
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	if len(p.Services) == 0 {
		return workload.Invalid(true, "services", "there are none", "")
	}
	var errs []error
	for _, s := range p.Services {
		if err := s.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("service %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Estimate implements workload.Workload: it lasts as long as what it serves.
func (p *Params) Estimate() time.Duration { return 0 }

// UsesEnviron implements workload.EnvironUser.
func (p *Params) UsesEnviron() (names, patterns []string) {
	for _, s := range p.Services {
		names = append(names, s.PassEnv...)
	}
	return names, nil
}

// Prepare implements workload.Workload.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) (err error) {
	began := time.Now()
	defer func() {
		if err != nil {
			p.end(env, true)
		}
	}()
	self, err := selfOwner()
	if err != nil {
		return err
	}
	Sweep(env.Volumes) // what dead tasks have left
	p.place = &place{volumes: env.Volumes, owner: self.String(), tell: env.Stderr}
	for i := range p.Services {
		r := &running{Instance: &p.Services[i], env: env, place: p.place, dead: make(chan struct{})}
		if err := p.prepare(ctx, r, began); err != nil {
			return fmt.Errorf("service %s: %w", workload.Instance(r.Own), err)
		}
	}
	p.startWatches(ctx)
	return nil
}

// startWatches returns when all have taken their first readings, for which they
// ask the services.
func (p *Params) startWatches(ctx context.Context) {
	var all sync.WaitGroup
	for _, r := range p.running {
		if p.watcher != nil {
			r.watch = p.watcher(r.watched())
			all.Go(func() { r.watch.Start(context.WithoutCancel(ctx)) }) // until its Stop
		}
	}
	all.Wait()
}

// prepare brings one service up.
func (p *Params) prepare(ctx context.Context, r *running, began time.Time) error {
	ready := cmp.Or(p.Ready.Std(), time.Minute)
	// Some time is left when a service is said not to be healthy: this says why, where
	// whoever waits for it only knows that it waited.
	end := began.Add(ready - min(2*time.Second, ready/5))
	stages := []struct {
		name string
		want bool
		do   func(context.Context) error
	}{
		{"set_up", true, r.setUp},
		{"reset", r.Reset != nil, func(ctx context.Context) error { return inTime(ctx, end, ready, "reset", r.reset) }},
		{"await", len(r.Await) > 0, func(ctx context.Context) error {
			checks := slices.Clone(r.Await)
			for i := range checks {
				checks[i].Within = max(time.Until(began.Add(ready)), time.Millisecond)
			}
			return workload.AwaitHealthy(ctx, checks, r.env.Environ)
		}},
		{"start", true, func(context.Context) error { return p.start(r) }},
		{"healthy", true, func(ctx context.Context) error { return r.awaitHealthy(ctx, end) }},
		{"warm", r.Warm != nil, func(ctx context.Context) error { return inTime(ctx, end, ready, "warming it", r.warm) }},
	}
	for _, s := range stages {
		if !s.want {
			continue
		}
		if err := r.stage(s.name, func() (string, error) { return "", s.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

var errNoTime = errors.New("timeouts.ready has passed")

// inTime does a part of the preparation until then at most. Whoever waits for it knows
// only that it waited; this says for what.
func inTime(ctx context.Context, end time.Time, ready time.Duration, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithDeadlineCause(ctx, end, errNoTime)
	defer cancel()
	err := do(ctx)
	if errors.Is(err, errNoTime) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s was not over in time: all of the preparation may take %v; give timeouts.ready more", what, ready)
	}
	return err
}

// start starts a service unless the task is at its end already.
func (p *Params) start(r *running) error {
	files, err := p.render(r)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return errors.New("the task has ended")
	}
	if err := r.start(files); err != nil {
		return err
	}
	p.running = append(p.running, r)
	return nil
}

// Run implements workload.Workload.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	began := time.Now()
	alive, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for _, r := range p.running {
		workers.Go(func() {
			select {
			case <-r.dead:
				stop(fmt.Errorf("service %s ended in mid-run: %w", workload.Instance(r.Own), r.death()))
			case <-alive.Done():
			}
		})
		workers.Go(func() {
			if err := r.change(alive, began); err != nil {
				stop(fmt.Errorf("service %s: changing its limits: %w", workload.Instance(r.Own), err))
			}
		})
	}
	workers.Go(func() { p.tellUsed(alive, env.Report) })
	each(env, p.running, "run", model.StageBegun, "")
	select {
	case <-env.Over:
	case <-alive.Done():
	}
	err := context.Cause(alive) // nil: it is over
	state, reason := model.StageDone, ""
	if err != nil {
		state, reason = model.StageFailed, err.Error()
	}
	each(env, p.running, "run", state, reason)
	stop(nil)
	workers.Wait()
	p.collectSignals(env, began)
	p.end(env, err != nil)
	return err
}

// collectSignals reports what was recorded of the services, while they still run: a task
// that is called off may have no time for it once they have stopped.
func (p *Params) collectSignals(env *workload.Env, began time.Time) {
	watched := slices.DeleteFunc(slices.Clone(p.running), func(r *running) bool { return r.watch == nil })
	each(env, watched, "collect", model.StageBegun, "signals")
	p.stopWatches()
	for _, r := range watched {
		r.report(began)
	}
	each(env, watched, "collect", model.StageDone, "")
}

// stopWatches stops all at once: a task that was called off has little time to
// report what they saw.
func (p *Params) stopWatches() {
	var all sync.WaitGroup
	for _, r := range p.running {
		if r.watch != nil {
			all.Go(r.watch.Stop)
		}
	}
	all.Wait()
}

// each reports a stage of services at once.
func each(env *workload.Env, of []*running, name, state, reason string) {
	for _, r := range of {
		env.Report.Stage(r.Name+":"+name, state, reason)
	}
}

// How long the services of a task may take to end that has failed or was called off,
// all at once: after three seconds the task is killed, and until then it has to
// report, and to collect what is to be kept.
const (
	quickStop = time.Second
	quickKill = 300 * time.Millisecond
)

// end stops what runs, collects what is to be kept, and removes the rest; once. At
// the end of a measurement the last service is the first to end, and each has its
// own time; quick ones end all at once.
func (p *Params) end(env *workload.Env, quick bool) {
	p.mu.Lock()
	was := p.over
	p.over = true
	p.mu.Unlock()
	if was {
		return
	}
	p.stopWatches()
	var all sync.WaitGroup
	for _, r := range slices.Backward(p.running) {
		if quick {
			all.Go(func() { r.end(env, min(StopsWithin(r.Settings), quickStop), quickKill) })
		} else {
			r.end(env, StopsWithin(r.Settings), killTime)
		}
	}
	all.Wait()
	reap()
	p.Orphaned()
}

// end stops one service, and collects what is to be kept of it.
func (r *running) end(env *workload.Env, patience, killing time.Duration) {
	_ = r.stage("stop", func() (string, error) { return r.stop(patience, killing), nil })
	if len(r.Keep) > 0 {
		_ = r.stage("collect", func() (string, error) { return r.collect(env) })
	}
}

// Cleanup implements workload.Cleaner.
func (p *Params) Cleanup(_ context.Context, env *workload.Env) error {
	p.end(env, true)
	return nil
}

// Orphaned implements workload.Orphan.
func (p *Params) Orphaned() {
	if p.place != nil {
		p.place.remove()
	}
}
