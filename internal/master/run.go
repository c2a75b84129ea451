package master

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/wire"
)

// execution is a run while it waits for its nodes, and while it is executed.
type execution struct {
	*Master
	ctx      context.Context // ends with the run
	cancel   context.CancelCauseFunc
	claim    *claim
	current  *attempt // guarded by m.mu; nil between attempts
	run      model.Run
	exp      *experiment.Experiment // as the stored file says; nil for a batch
	steps    []model.Step
	sequence *design.Sequence // of steps that results decide; nil for a batch
	forecast *design.Forecast // of how long steps take
	nodes    []model.NodeID
	timeouts struct{ ready, node time.Duration }
	fleet    Fleet                       // that this server brings up; nil for agents of others
	before   map[model.NodeID]model.Node // the nodes as they were when this run last measured
	startups map[model.NodeID][]model.Startup
	// settled are batch tasks that have come to an end in former attempts.
	settled map[model.TaskID]bool
	// givenUp are nodes that did not come back in time once.
	givenUp map[model.NodeID]bool
	// unreachable is the work of lost nodes that may go on and was noted.
	unreachable map[wire.Attempt]bool
	ends        agentEnds // of the fleet that is up
}

// execute runs one run to its end and records that end.
func (m *Master) execute(x *execution) {
	defer m.release(x.run.ID)
	defer x.cancel(nil)
	state, reason := x.perform(x.ctx)
	m.endRun(x.ctx, x.run.ID, state, reason)
}

// endRun records the end even when the server is stopping, within a bound.
func (m *Master) endRun(ctx context.Context, id model.RunID, state model.RunState, reason string) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = m.ending(ctx, 5*time.Second, stopRecord)
		defer cancel()
	}
	m.setRunState(ctx, id, state, reason)
}

// load reads what is stored of the run.
func (x *execution) load(ctx context.Context) error {
	var data model.RunData
	err := x.persist(ctx, "reading run "+string(x.run.ID), func() (err error) {
		data, err = x.store.Heads(ctx, x.run.ID, 0)
		return err
	})
	if err != nil {
		return err
	}
	x.run, x.steps = data.Run, data.Steps
	x.forecast = design.NewForecast(x.exp)
	x.settled = make(map[model.TaskID]bool)
	x.givenUp = make(map[model.NodeID]bool)
	x.unreachable = make(map[wire.Attempt]bool)
	x.before = make(map[model.NodeID]model.Node)
	x.startups = make(map[model.NodeID][]model.Startup)
	for _, n := range data.Nodes {
		x.nodes = append(x.nodes, n.ID)
		x.startups[n.ID] = n.Startups
		if len(data.Results) > 0 {
			x.before[n.ID] = n
		}
	}
	x.adopt(data)
	if len(x.steps) == 0 && x.exp != nil && x.exp.Fleet.Agents != nil {
		// It was stored without steps; one in which results decide may have none.
		d, err := design.Build(x.exp, x.run.ID, data.Nodes)
		if err == nil && len(d.Steps) > 0 {
			err = x.addSteps(ctx, "storing the steps", d.Steps)
		}
		if err != nil {
			return err
		}
	}
	if x.exp != nil {
		x.sequence, err = design.NewSequence(x.exp, data.Run, data.Nodes)
	}
	return err
}

// adopt takes over the results of former executions: a step with only good
// results in its last attempt is complete, even if it was not marked so.
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
		// What is invalid although all tasks ended well was measured with other links.
		moved := s.State == model.StepInvalid && s.Phase != model.Batch
		if s.State != model.StepComplete && !moved && len(s.Tasks) > 0 && good[s.ID] == len(s.Tasks) {
			x.steps[i].State = model.StepComplete
			x.steps[i].Reason = "adopted"
		}
	}
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

// perform waits for the run's nodes, reads the run, brings its fleet up, runs
// the steps, and brings the fleet down.
func (x *execution) perform(ctx context.Context) (model.RunState, string) {
	err := x.chooseAgents(ctx)
	if err == nil {
		err = x.acquire(ctx, model.RunPending)
	}
	if err != nil {
		state, reason := stateAfter(ctx, err)
		if state == model.RunInterrupted && x.run.Started.IsZero() {
			reason = "not begun: the scalebench server was stopped while the run waited"
		}
		return state, reason
	}
	if err := x.load(ctx); err != nil {
		return stateAfter(ctx, err)
	}
	x.setRunState(ctx, x.run.ID, model.RunRunning, "")
	if x.run.Started.IsZero() {
		x.run.Started = time.Now().UTC()
	}
	if err := x.awaitRoom(ctx); err != nil {
		return stateAfter(ctx, err)
	}
	defer func() { x.down(ctx) }()
	missing, err := x.up(ctx)
	if err == nil && len(missing) > 0 {
		did := fmt.Sprintf("did not connect within %s", x.timeouts.node)
		if x.ends.final(missing) {
			did = "cannot start"
		}
		err = model.Unavailablef("%s %s%s", nodeList(missing), did, x.ends.why(missing))
	}
	if err == nil {
		err = x.checkNeeds(ctx)
	}
	if err == nil {
		err = x.checkAddresses()
	}
	if err != nil {
		return stateAfter(ctx, err)
	}
	steps, err := x.performSteps(ctx)
	if err != nil {
		return stateAfter(ctx, err)
	}
	if missing := x.notMadeUpFor(steps); len(missing) > 0 {
		return model.RunIncomplete, x.whyIncomplete(missing)
	}
	return model.RunDone, ""
}

// whyIncomplete says which steps are missing, and of a single one why. Where
// nothing else was tried only that is of interest, without the node that found
// it while it prepared.
func (x *execution) whyIncomplete(missing []model.Step) string {
	if len(missing) == 1 && len(x.steps) == 1 {
		if _, why, ok := strings.Cut(missing[0].Reason, ": failed: preparing: "); ok {
			return why
		}
	}
	var list []string
	for _, s := range missing {
		list = append(list, describe(s))
	}
	text := fmt.Sprintf("%d of %d steps are not valid: %s", len(list), len(x.steps), some(list, "; "))
	if len(missing) == 1 && missing[0].Reason != "" {
		text += ": " + missing[0].Reason
	}
	return text
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
			// It was cut short, and is to be done again by a resume.
			ctx, cancel := x.ending(ctx, endGrace, stopFleet)
			if err := x.store.SetStepState(ctx, s.ID, model.StepPending, "cut short"); err != nil {
				x.log.Warn("noting that a step was cut short", "step", s.ID, "err", err)
			}
			cancel()
			return invalid, err
		}
		if state != model.StepComplete {
			invalid = append(invalid, x.steps[i]) // with the reason
		}
	}
}

// notMadeUpFor are the steps that are missing: those that did not become valid
// and were not made up for.
func (x *execution) notMadeUpFor(invalid []model.Step) []model.Step {
	return slices.DeleteFunc(slices.Clone(invalid), x.madeUpFor)
}

// madeUpFor reports whether the design, which has gone on since, can do without
// a step that became invalid.
func (x *execution) madeUpFor(s model.Step) bool {
	i := slices.IndexFunc(x.steps, func(other model.Step) bool { return other.ID == s.ID })
	return x.sequence != nil && x.sequence.Replaced(s, x.steps[i+1:])
}

func (x *execution) performStep(ctx context.Context, s model.Step) (model.StepState, error) {
	switch {
	case s.State == model.StepComplete && s.Reason == "adopted":
		return s.State, x.endStep(ctx, s, model.StepComplete, "")
	case s.State == model.StepComplete, s.State == model.StepInvalid && x.madeUpFor(s):
		return s.State, nil
	case s.NotBefore > 0:
		if err := x.waitUntil(ctx, x.run.Started.Add(s.NotBefore)); err != nil {
			return model.StepPending, err
		}
	}
	return x.runStep(ctx, s)
}

// some joins the first few of a list and says how many more there are.
func some[T ~string](list []T, separator string) string {
	const most = 3
	var shown []string
	for _, x := range list[:min(len(list), most)] {
		shown = append(shown, string(x))
	}
	if more := len(list) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, separator)
}

// stateAfter tells from why the executor stopped what the run is now.
func stateAfter(ctx context.Context, err error) (model.RunState, string) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCancelled):
		return model.RunCancelled, errCancelled.Error()
	case errors.Is(cause, errService):
		return model.RunFailed, model.Plain(cause)
	case ctx.Err() != nil:
		return model.RunInterrupted, errInterrupted.Error()
	}
	return model.RunFailed, model.Plain(err)
}

// up brings the run's fleet up, where that is this server's to do, waits for the
// nodes, and stores who they are. It returns those that have not come in time.
func (x *execution) up(ctx context.Context) (missing []model.NodeID, err error) {
	if x.exp != nil {
		if x.fleet, err = x.fleetOf(x.run.ID, x.exp); err != nil {
			return nil, err
		}
	}
	requested := time.Now()
	if x.fleet != nil {
		x.ends.reset()
		if err := x.fleet.Up(ctx, x.agentEnded); err != nil {
			return nil, fmt.Errorf("bringing the fleet up: %w", err)
		}
	}
	return x.recordNodes(ctx, requested)
}

// down brings down what up has brought up, also when the run has been cut.
func (x *execution) down(ctx context.Context) {
	if x.fleet == nil {
		return
	}
	ctx, cancel := x.ending(ctx, endGrace, stopFleet)
	defer cancel()
	if err := x.fleet.Down(ctx); err != nil {
		x.log.Warn("bringing the fleet down", "err", err)
	}
	x.fleet = nil
}

// agentEnded is called by the run's fleet when an agent process has ended by
// itself.
func (x *execution) agentEnded(id model.NodeID, why string, again bool) {
	ends := x.ends.note(id, why, again)
	n, _ := x.reg.get(id)
	switch c, ok := x.reg.gone(id, model.NodeLost); {
	case ok && n.status.Up():
		x.nodeChanged(c, "its agent has ended")
	case again && ends == endsToTell:
		x.ev.emit(model.Event{Run: x.run.ID, Node: id, Kind: model.EventWaiting,
			Text: fmt.Sprintf("waiting for node %s, its agent cannot start yet and is tried again: %s", id, why)})
	}
	if !again {
		x.reg.wake()
	}
}

// FleetUp publishes what the fleet of a run makes; the fleet calls it.
func (m *Master) FleetUp(run model.RunID, text string) {
	m.ev.emit(model.Event{Run: run, Kind: model.EventFleetUp, Text: text})
}

// errService ends a run whose fleet lost one of its services.
var errService = errors.New("the run cannot go on")

// ServiceEnded ends a run because a service of its fleet ended although the
// fleet is up; the fleet calls it, from any goroutine. From then on a workload
// would not measure what the experiment asked for, even if it does not notice.
// Earlier measurements are kept.
func (m *Master) ServiceEnded(run model.RunID, why error) {
	m.ev.emit(model.Event{Run: run, Kind: model.EventServiceEnded, Severity: model.Problem, Text: why.Error()})
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.active[run]; x != nil {
		x.cancel(fmt.Errorf("%w: %w", errService, why))
	}
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

// decideMore asks the design what comes next in a run in which results decide,
// and stores it. more is false when the run is over.
func (x *execution) decideMore(ctx context.Context) (more bool, err error) {
	if x.sequence == nil || x.sequence.Over() {
		return false, nil
	}
	news, err := x.dataFrom(ctx, x.sequence.Told())
	if err != nil {
		return false, err
	}
	x.sequence.Lost(slices.Collect(maps.Keys(x.givenUp)))
	steps, latest, err := x.sequence.Next(observe.Of(news))
	if err != nil {
		return false, err
	}
	if latest != "" {
		x.ev.emit(model.Event{Run: x.run.ID, Kind: model.EventLatest, Text: latest})
	}
	if len(steps) == 0 {
		return false, nil
	}
	return true, x.addSteps(ctx, "planning "+describe(steps[0]), steps)
}

// addSteps appends steps to the run, once they are stored.
func (x *execution) addSteps(ctx context.Context, doing string, steps []model.Step) error {
	err := x.persist(ctx, doing, func() error { return x.store.AddSteps(ctx, x.run.ID, steps) })
	if err == nil {
		x.steps = append(x.steps, steps...)
	}
	return err
}

// dataFrom is what is stored of the run from a step on.
func (x *execution) dataFrom(ctx context.Context, number int) (data model.RunData, err error) {
	err = x.persist(ctx, "reading run "+string(x.run.ID), func() error {
		data, err = x.store.DataFrom(ctx, x.run.ID, number)
		return err
	})
	return data, err
}

// restFrom is how long a wait for its time must be, for a run to give its nodes
// back meanwhile: shorter than that, bringing a fleet up again takes longer.
const restFrom = 5 * time.Second

// waitUntil returns when it is time, or with the cause of ctx if that is done
// before. A run that waits for long holds nothing: its fleet goes down, others
// may use its nodes, and when it is time it gets in line again.
func (x *execution) waitUntil(ctx context.Context, at time.Time) error {
	rests := time.Until(at) > restFrom
	if rests {
		x.down(ctx)
		x.leases.release(x.run.ID)
		x.sayWaiting(ctx, model.RunRunning, fmt.Sprintf("waiting until %s; other runs may use its nodes until then",
			at.UTC().Format("2006-01-02 15:04:05 UTC")))
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(at)):
	}
	if !rests {
		return nil
	}
	x.claim = x.claim.again()
	x.leases.request(x.claim)
	if err := x.acquire(ctx, model.RunRunning); err != nil {
		return err
	}
	x.setRunState(ctx, x.run.ID, model.RunRunning, "")
	missing, err := x.up(ctx)
	for _, id := range missing {
		x.givenUp[id] = true // the steps go on without it
	}
	return err
}
