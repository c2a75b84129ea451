package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// execution is a run while it waits for its nodes, and while it is executed.
type execution struct {
	m        *Master
	ctx      context.Context // ends with the run
	cancel   context.CancelCauseFunc
	claim    *claim
	current  *attempt // guarded by m.mu; nil between attempts
	run      model.Run
	exp      *experiment.Experiment // nil for a batch
	steps    []model.Step
	sequence *design.Sequence // of steps that results decide; nil before the first
	nodes    []model.NodeID
	timeouts struct{ ready, node time.Duration }
	retry    experiment.Retries
	fleet    Fleet                       // that this server brings up; nil for agents of others
	before   map[model.NodeID]model.Node // the nodes as they were when this run last measured
	// settled are batch tasks that have come to an end in former attempts.
	settled map[model.TaskID]bool
	// givenUp are nodes that did not come back in time once.
	givenUp map[model.NodeID]bool
}

// execute runs one run to its end and records that end.
func (m *Master) execute(x *execution) {
	id := x.run.ID
	defer m.release(id)
	defer x.cancel(nil)
	state, reason := x.perform(x.ctx)
	m.endRun(x.ctx, id, state, reason)
}

// load reads what is stored of the run.
func (x *execution) load(ctx context.Context) error {
	data, err := x.data(ctx)
	if err != nil {
		return err
	}
	x.run, x.steps = data.Run, data.Steps
	x.settled = make(map[model.TaskID]bool)
	x.givenUp = make(map[model.NodeID]bool)
	x.before = make(map[model.NodeID]model.Node)
	for _, n := range data.Nodes {
		x.nodes = append(x.nodes, n.ID)
		if len(data.Results) > 0 {
			x.before[n.ID] = n
		}
	}
	x.adopt(data)
	return x.readSource(data.Run)
}

// data is all that is stored of the run.
func (x *execution) data(ctx context.Context) (data model.RunData, err error) {
	err = x.m.persist(ctx, "reading run "+string(x.run.ID), func(ctx context.Context) error {
		data, err = x.m.cfg.Store.Data(ctx, x.run.ID)
		return err
	})
	return data, err
}

// readSource takes time-outs and retries from the stored file.
func (x *execution) readSource(run model.Run) error {
	x.timeouts.ready, x.timeouts.node = time.Minute, 2*time.Minute
	if run.Kind == model.KindBatch {
		return nil
	}
	exp, err := experiment.Parse(run.SourceName, []byte(run.Source), x.m.cfg.Kinds, nil)
	if err != nil {
		return fmt.Errorf("reading the stored experiment file: %w", err)
	}
	x.exp = exp
	x.timeouts.ready = time.Duration(exp.Timeouts.Ready)
	x.timeouts.node = time.Duration(exp.Timeouts.Node)
	x.retry = exp.Retries
	return nil
}

// adopt takes over what former executions have achieved: steps whose last
// attempt has only good results are complete, even if nobody has said so.
func (x *execution) adopt(data model.RunData) {
	good := make(map[model.StepID]int)
	steps := make(map[model.StepID]model.Step, len(x.steps))
	for _, s := range x.steps {
		steps[s.ID] = s
	}
	for _, r := range data.Results {
		s, ok := steps[r.Step]
		if !ok {
			continue
		}
		if s.Phase == model.Batch && r.Outcome.Definitive() && !x.settled[r.Task] {
			x.settled[r.Task] = true
			good[s.ID]++
		}
		if s.Phase != model.Batch && r.Attempt == s.Attempt && r.Outcome == model.OutcomeOK {
			good[s.ID]++
		}
	}
	for i, s := range x.steps {
		if s.State != model.StepComplete && len(s.Tasks) > 0 && good[s.ID] == len(s.Tasks) {
			x.steps[i].State = model.StepComplete
			x.steps[i].Reason = "adopted"
		}
	}
}

func (x *execution) retries() *budget {
	if x.run.Kind == model.KindBatch {
		return &budget{lost: 2}
	}
	return &budget{failed: x.retry.Failed, lost: x.retry.Lost}
}

// openTasks are the tasks of a step that an attempt must run: all, but in a
// batch only those that have not come to an end yet.
func (x *execution) openTasks(s model.Step) []model.Task {
	if s.Phase != model.Batch {
		return s.Tasks
	}
	var out []model.Task
	for _, t := range s.Tasks {
		if !x.settled[t.ID] {
			out = append(out, t)
		}
	}
	return out
}

// noteDone remembers the batch tasks that an attempt brought to an end.
func (x *execution) noteDone(a *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, t := range a.tasks {
		if t.outcome.Definitive() {
			x.settled[id] = true
		}
	}
}

// perform waits for the run's nodes, reads the run, brings its fleet up, runs
// the steps, and brings the fleet down.
func (x *execution) perform(ctx context.Context) (model.RunState, string) {
	if err := x.acquire(ctx, model.RunPending); err != nil {
		return stateAfter(ctx, err)
	}
	if err := x.load(ctx); err != nil {
		return stateAfter(ctx, err)
	}
	x.m.setRunState(ctx, x.run.ID, model.RunRunning, "")
	defer func() { x.down(ctx) }()
	missing, err := x.up(ctx)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: %s did not connect within %s", model.ErrUnavailable, nodeList(missing), x.timeouts.node)
	}
	if err != nil {
		return stateAfter(ctx, err)
	}
	steps, err := x.performSteps(ctx)
	if err != nil {
		return stateAfter(ctx, err)
	}
	if invalid := x.notMadeUpFor(steps); len(invalid) > 0 {
		return model.RunIncomplete, fmt.Sprintf("%d of %d steps are not valid: %s", len(invalid), len(x.steps), some(invalid, "; "))
	}
	return model.RunDone, ""
}

// performSteps runs the steps that are planned, and those that only the results
// show to be needed. It returns those that did not become valid.
func (x *execution) performSteps(ctx context.Context) (invalid []model.Step, err error) {
	for i := 0; ; i++ {
		if i == len(x.steps) {
			more, err := x.decideMore(ctx)
			if err != nil || !more {
				return invalid, err
			}
		}
		s := x.steps[i]
		state, err := x.performStep(ctx, s)
		if err != nil {
			x.suspend(ctx, s)
			return invalid, err
		}
		if state != model.StepComplete {
			invalid = append(invalid, s)
		}
	}
}

// notMadeUpFor describes the steps that are missing: those that did not become
// valid and were not made up for.
func (x *execution) notMadeUpFor(invalid []model.Step) (missing []string) {
	for _, s := range invalid {
		if !x.madeUpFor(s) {
			missing = append(missing, describe(s))
		}
	}
	return missing
}

// madeUpFor reports whether a step is a window of a search that has gone on
// since, without the node that was lost.
func (x *execution) madeUpFor(s model.Step) bool {
	i := slices.IndexFunc(x.steps, func(other model.Step) bool { return other.ID == s.ID })
	return s.Phase == model.Search && slices.ContainsFunc(x.steps[i+1:], func(other model.Step) bool {
		return other.Phase == model.Search && other.Workload == s.Workload && other.Trial == s.Trial
	})
}

func (x *execution) performStep(ctx context.Context, s model.Step) (model.StepState, error) {
	switch {
	case s.State == model.StepComplete && s.Reason == "adopted":
		return s.State, x.endStep(ctx, s, model.StepComplete, "")
	case s.State == model.StepComplete, s.State == model.StepInvalid && x.madeUpFor(s):
		return s.State, nil
	}
	return x.runStep(ctx, s)
}

// suspend notes that a step was cut short and is to be done again by a resume.
func (x *execution) suspend(ctx context.Context, s model.Step) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	if err := x.m.cfg.Store.SetStepState(ctx, s.ID, model.StepPending, "cut short"); err != nil {
		x.m.log.Warn("noting that a step was cut short", "step", s.ID, "err", err)
	}
}

// some joins the first few of a list and says how many more there are.
func some(list []string, separator string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(list[:most], separator), separator, len(list)-most)
}

// stateAfter tells from why the executor stopped what the run is now.
func stateAfter(ctx context.Context, err error) (model.RunState, string) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCancelled):
		return model.RunCancelled, errCancelled.Error()
	case errors.Is(cause, errService):
		return model.RunFailed, cause.Error()
	case ctx.Err() != nil:
		return model.RunInterrupted, errInterrupted.Error()
	}
	return model.RunFailed, err.Error()
}

// up brings the run's fleet up, where that is this server's to do, waits for the
// nodes, and stores who they are. It returns those that have not come in time.
func (x *execution) up(ctx context.Context) (missing []model.NodeID, err error) {
	if x.exp != nil {
		if x.fleet, err = x.m.fleetOf(x.run.ID, x.exp); err != nil {
			return nil, err
		}
	}
	if x.fleet != nil {
		if err := x.fleet.Up(ctx, x.m.agentEnded); err != nil {
			return nil, fmt.Errorf("bringing the fleet up: %w", err)
		}
	}
	return x.recordNodes(ctx)
}

// down brings down what up has brought up, also when the run has been cut.
func (x *execution) down(ctx context.Context) {
	if x.fleet == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	if err := x.fleet.Down(ctx); err != nil {
		x.m.log.Warn("bringing the fleet down", "err", err)
	}
	x.fleet = nil
}

// agentEnded is called by a fleet when an agent process has ended by itself.
func (m *Master) agentEnded(id model.NodeID) {
	if c, ok := m.reg.gone(id, model.NodeLost); ok {
		m.nodeChanged(c, "its agent has ended")
	}
}

// recordNodes waits for the nodes, those apart that were given up, stores who
// they are, and returns those that have not come in time.
func (x *execution) recordNodes(ctx context.Context) (missing []model.NodeID, err error) {
	ids := slices.DeleteFunc(slices.Clone(x.nodes), func(id model.NodeID) bool { return x.givenUp[id] })
	missing = x.awaitNodes(ctx, ids)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var nodes []model.Node
	for _, id := range ids {
		if slices.Contains(missing, id) {
			continue
		}
		n, _ := x.m.reg.get(id)
		nodes = append(nodes, n.node)
		x.noteChange(n.node)
	}
	return missing, x.m.persist(ctx, "recording the nodes", func(ctx context.Context) error {
		return x.m.cfg.Store.PutRunNodes(ctx, x.run.ID, nodes)
	})
}

// noteChange records that a node which took part before is another host now:
// what it measured then and what it measures from now on are two things.
func (x *execution) noteChange(n model.Node) {
	old, ok := x.before[n.ID]
	x.before[n.ID] = n
	if !ok || old.Facts.CPUModel == "" {
		return // it has not measured anything yet
	}
	var changes []string
	for _, c := range []struct{ what, old, now string }{
		{"CPU model", old.Facts.CPUModel, n.Facts.CPUModel},
		{"cores", fmt.Sprint(old.Facts.Cores), fmt.Sprint(n.Facts.Cores)},
		{"memory", fmt.Sprint(old.Facts.Memory), fmt.Sprint(n.Facts.Memory)},
		{"kernel", old.Facts.Kernel, n.Facts.Kernel},
		{"microcode", old.Facts.Microcode, n.Facts.Microcode},
		{"key", old.PublicKey, n.PublicKey},
	} {
		if c.old != c.now {
			changes = append(changes, fmt.Sprintf("%s was %q and is now %q", c.what, c.old, c.now))
		}
	}
	if len(changes) == 0 {
		return
	}
	x.m.ev.emit(model.Event{Run: x.run.ID, Node: n.ID, Kind: model.EventNodeChanged, Severity: model.Warning,
		Text: fmt.Sprintf("the host of node %s has changed: %s", n.ID, strings.Join(changes, "; "))})
}

// nodesReady waits for the nodes of a step. A node that once did not come
// back in time is not waited for again, so that a run whose node is dead ends
// in reasonable time.
func (x *execution) nodesReady(ctx context.Context, tasks []model.Task) (model.StepState, string, bool) {
	var ids []model.NodeID
	for _, t := range tasks {
		if !slices.Contains(ids, t.Node) {
			ids = append(ids, t.Node)
		}
	}
	var wait, dead []model.NodeID
	now, _ := x.m.reg.missing(ids)
	for _, id := range now {
		if x.givenUp[id] {
			dead = append(dead, id)
		} else {
			wait = append(wait, id)
		}
	}
	if len(dead) == 0 && len(wait) > 0 {
		dead = x.awaitNodes(ctx, wait)
		for _, id := range dead {
			x.givenUp[id] = true
		}
	}
	if len(dead) > 0 && ctx.Err() == nil {
		return model.StepInvalid, nodeList(dead) + " did not come back", false
	}
	return "", "", true
}

// awaitNodes waits until these nodes are up, at most timeouts.node, and
// returns which are not.
func (x *execution) awaitNodes(ctx context.Context, ids []model.NodeID) []model.NodeID {
	timer := time.NewTimer(x.timeouts.node)
	defer timer.Stop()
	for {
		missing, changed := x.m.reg.missing(ids)
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return missing
		case <-timer.C:
			return missing
		case <-changed:
		}
	}
}

func nodeList(ids []model.NodeID) string {
	var s []string
	for _, id := range ids {
		s = append(s, string(id))
	}
	if len(ids) == 1 {
		return "node " + s[0]
	}
	return "nodes " + some(s, ", ")
}

// release ends a run's part in this master: its nodes are free, and those go on
// who wait for its end.
func (m *Master) release(id model.RunID) {
	m.leases.release(id)
	m.ev.over(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.active, id)
	if done, ok := m.finished[id]; ok {
		close(done)
		delete(m.finished, id)
	}
}

// setRunState stores and tells a run's state.
func (m *Master) setRunState(ctx context.Context, id model.RunID, state model.RunState, reason string) {
	m.storeRunState(ctx, id, state, reason)
	ev := model.Event{Run: id, Kind: model.EventRunState, Severity: model.Info, Text: string(state)}
	if reason != "" {
		ev.Text += ": " + reason
	}
	if state == model.RunFailed || state == model.RunIncomplete {
		ev.Severity = model.Problem
	}
	m.ev.emit(ev)
}

// storeRunState stores a run's state; a store that fails for good is logged, for
// the run itself can go on.
func (m *Master) storeRunState(ctx context.Context, id model.RunID, state model.RunState, reason string) {
	err := m.persist(ctx, "recording the run's state", func(ctx context.Context) error {
		return m.cfg.Store.SetRunState(ctx, id, state, reason, m.cfg.Now().UTC())
	})
	if err != nil {
		m.log.Error("recording the run's state", "run", id, "state", state, "err", err)
	}
}

// endRun records the end even when the server is stopping, within a bound.
func (m *Master) endRun(ctx context.Context, id model.RunID, state model.RunState, reason string) {
	if ctx.Err() == nil {
		m.setRunState(ctx, id, state, reason)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	m.setRunState(ctx, id, state, reason)
}
