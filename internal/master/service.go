package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
)

var _ control.Server = (*Master)(nil)

// ErrFewAgents is model.ErrUnavailable where fewer agents have joined than a
// file asks for.
var ErrFewAgents = fmt.Errorf("%w: too few agents", model.ErrUnavailable)

// Submit checks a file, plans it, stores it as a run and puts it in line. It
// fails with model.ErrUsage for a bad file, and with ErrFewAgents while there
// are fewer nodes than the file asks for, unless the run is to wait for them.
func (m *Master) Submit(ctx context.Context, src control.Source) (model.RunID, error) {
	if err := src.ID.Validate(); err != nil {
		return "", fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	if !src.Kind.Valid() {
		return "", fmt.Errorf("%w: %.40q is no kind of run", model.ErrUsage, src.Kind)
	}
	if !m.reserve(src.ID) {
		return src.ID, nil // submitted before; the answer was lost
	}
	m.checkRoom(ctx)
	err := m.roomFor()
	if err == nil {
		err = m.submit(ctx, src)
	}
	if err != nil {
		m.release(src.ID)
	}
	return src.ID, err
}

// submit stores a reserved run and puts it in line. A run that is stored
// already, by a submission that did not get this far, is only put in line.
func (m *Master) submit(ctx context.Context, src control.Source) error {
	stored, err := m.cfg.Store.Run(ctx, string(src.ID))
	switch {
	case err == nil && stored.State == model.RunPending:
		return m.enqueueStored(ctx, src.ID)
	case err == nil:
		return nil // it has been executed since
	case !errors.Is(err, model.ErrNotFound):
		return err
	}
	run := model.Run{
		ID: src.ID, Kind: src.Kind, State: model.RunPending, SourceName: src.Name,
		Server: m.cfg.Server, Version: m.cfg.Version, Created: time.Now().UTC(),
	}
	if src.Kind == model.KindBatch {
		return m.submitJob(ctx, run, src)
	}
	return m.submitExperiment(ctx, run, src)
}

func (m *Master) submitExperiment(ctx context.Context, run model.Run, src control.Source) error {
	exp, err := experiment.Parse(src.Name, []byte(src.Text), m.cfg.Kinds, nil)
	if err != nil {
		return err
	}
	if exp.Schedule != nil {
		return fmt.Errorf("%w: %s has a schedule: it is a campaign, which `scalebench run` begins", model.ErrUsage, src.Name)
	}
	run.Name, run.Source, run.Asked, run.Seed = exp.Name, exp.Source, exp.Asked, design.Seed(exp, run.ID)
	nodes, err := m.selectNodes(run.ID, exp)
	if errors.Is(err, ErrFewAgents) && src.Detached {
		return m.admit(ctx, run, nil, nil, exp)
	}
	if err != nil {
		return err
	}
	p, err := design.Build(exp, run.ID, nodes)
	if err != nil {
		return err
	}
	return m.admit(ctx, run, nodes, p.Steps, exp)
}

// submitJob takes the paper's job file. A job for a node that does not exist
// is an error that names the nodes that do.
func (m *Master) submitJob(ctx context.Context, run model.Run, src control.Source) error {
	job, err := experiment.ParseJob(src.Name, []byte(src.Text))
	if err != nil {
		return err
	}
	if src.Timeout > 0 {
		job.Timeout = unit.Duration(src.Timeout)
	}
	if src.ArtifactLimit > 0 {
		job.Output.Artifact = unit.Size(src.ArtifactLimit)
	}
	here := m.upNodes(nil)
	if len(here) == 0 {
		return fmt.Errorf("%w: none has joined; start `scalebench agent` on the nodes, with a token from `scalebench token`", ErrFewAgents)
	}
	resolveNames(job, here)
	p, err := design.BuildBatch(job, run.ID, model.NodeIDs(here))
	if err != nil {
		return err
	}
	var tasks []model.Task
	for _, s := range p.Steps {
		tasks = append(tasks, s.Tasks...)
	}
	used := nodesOf(tasks)
	here = slices.DeleteFunc(here, func(n model.Node) bool { return !slices.Contains(used, n.ID) })
	run.Name, run.Source = job.Name, src.Text
	return m.admit(ctx, run, here, p.Steps, nil)
}

// resolveNames lets a job name its node by an address or host name, as the
// paper does, where exactly one node has it and none has it as its id.
func resolveNames(job *experiment.JobFile, nodes []model.Node) {
	known := make(map[string]bool)
	named := make(map[string][]model.NodeID)
	for _, n := range nodes {
		known[string(n.ID)] = true
		for _, name := range append([]string{n.Facts.Hostname}, n.Facts.Addresses...) {
			named[name] = append(named[name], n.ID)
		}
	}
	for i, j := range job.Jobs {
		if is := named[j.Node]; len(is) == 1 && !known[j.Node] {
			job.Jobs[i].Node = string(is[0])
		}
	}
}

// admit stores a planned run and puts it in line.
func (m *Master) admit(ctx context.Context, run model.Run, nodes []model.Node, steps []model.Step, exp *experiment.Experiment) error {
	if err := m.cfg.Store.CreateRun(ctx, run, nodes, steps); err != nil {
		return fmt.Errorf("storing the run: %w", err)
	}
	m.enqueue(run, nodes, exp)
	return nil
}

// selectNodes returns the nodes that an experiment will use: of more agents
// than it asks for, first those that no other run has or waits for.
func (m *Master) selectNodes(run model.RunID, exp *experiment.Experiment) ([]model.Node, error) {
	fleet, err := m.fleetOf(run, exp)
	if err != nil {
		return nil, err
	}
	if fleet != nil {
		return fleet.Nodes(), nil
	}
	want := exp.Fleet.Agents
	found := m.upNodes(want.Labels)
	switch need := max(want.Count, 1); {
	case len(found) < need:
		these := ""
		if len(want.Labels) > 0 {
			these = fmt.Sprintf(" with these labels (%d with any)", len(m.upNodes(nil)))
		}
		return nil, fmt.Errorf("%w: %d of %s%s joined; `scalebench nodes` lists them",
			ErrFewAgents, len(found), num.Count(need, "agent"), these)
	case want.Count > 0:
		free := func(n model.Node) bool { return m.leases.free(n.ID, exp.Shared) }
		taken := slices.DeleteFunc(slices.Clone(found), free)
		found = append(slices.DeleteFunc(found, func(n model.Node) bool { return !free(n) }), taken...)[:want.Count]
	}
	return found, nil
}

// fleetOf makes the fleet that this server brings up for an experiment; nil if
// its nodes are agents that the user started.
func (m *Master) fleetOf(run model.RunID, exp *experiment.Experiment) (Fleet, error) {
	switch {
	case exp.Fleet.Agents != nil:
		return nil, nil
	case m.cfg.Fleets == nil:
		return nil, fmt.Errorf("%w: this server cannot start agents; use a fleet of agents", model.ErrUsage)
	}
	return m.cfg.Fleets(run, exp)
}

// upNodes returns the agents that are here and have these labels, by id. Nodes
// that a server has brought up for a run are that run's alone.
func (m *Master) upNodes(labels map[string]string) []model.Node {
	var out []model.Node
	for _, n := range m.reg.list() {
		if n.Status.Up() && !n.Managed() && n.Has(labels) {
			out = append(out, n.Node)
		}
	}
	return out
}

// Resume puts a run in line again; what it has achieved is kept.
func (m *Master) Resume(ctx context.Context, id model.RunID) error {
	run, err := m.cfg.Store.Run(ctx, string(id))
	if err != nil {
		return err
	}
	switch {
	case run.State == model.RunDone:
		return fmt.Errorf("%w: run %s is done; there is nothing to resume", model.ErrUsage, id)
	case !m.reserve(id):
		return fmt.Errorf("%w: run %s is already %s", model.ErrUsage, id, run.State)
	}
	if err = control.NotAnothers(ctx, m.cfg.Store, run, m.cfg.Server); err == nil {
		err = m.enqueueStored(ctx, id)
	}
	if err != nil {
		m.release(id)
	}
	return err
}

// enqueueStored puts a stored, reserved run in line again.
func (m *Master) enqueueStored(ctx context.Context, id model.RunID) error {
	data, err := m.cfg.Store.Heads(ctx, id, 0)
	if err != nil {
		return err
	}
	var exp *experiment.Experiment
	if data.Run.Kind != model.KindBatch {
		if exp, err = experiment.Parse(data.Run.SourceName, []byte(data.Run.Source), m.cfg.Kinds, nil); err != nil {
			return fmt.Errorf("reading the stored experiment file of run %s: %w", id, err)
		}
		if err := m.checkResumable(ctx, data.Run, data.Nodes, exp); err != nil {
			return err
		}
	}
	if err := m.cfg.Store.TakeRun(ctx, data.Run, m.cfg.Server); err != nil {
		return fmt.Errorf("resuming run %s: %w", id, err)
	}
	data.Run.Server = m.cfg.Server
	m.enqueue(data.Run, data.Nodes, exp)
	return nil
}

// checkResumable refuses a run in which results decide, if this version would
// have decided otherwise: another version has made it, and what that has measured
// would not go together with what is to come.
func (m *Master) checkResumable(ctx context.Context, run model.Run, nodes []model.Node, exp *experiment.Experiment) error {
	if len(nodes) == 0 {
		return nil // it still waits for its agents
	}
	sequence, err := design.NewSequence(exp, run, nodes)
	if err == nil && sequence.Over() {
		return nil // everything was known beforehand
	}
	if err == nil {
		var data model.RunData
		if data, err = m.cfg.Store.DataFrom(ctx, run.ID, 0); err != nil {
			return err
		}
		err = sequence.Agrees(observe.Of(data))
	}
	if err != nil {
		return fmt.Errorf("%w: run %s cannot be resumed: %w; run its file again, or resume it with scalebench %s, which started it",
			model.ErrUsage, run.ID, err, run.Version)
	}
	return nil
}

// Cancel ends a run; its tasks are killed, what they left is kept. It returns
// when the run has ended.
func (m *Master) Cancel(ctx context.Context, id model.RunID) error {
	m.mu.Lock()
	done := m.finished[id]
	m.mu.Unlock()
	if err := m.CancelSoon(ctx, id); err != nil || done == nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CancelSoon does the same without waiting for the end.
func (m *Master) CancelSoon(ctx context.Context, id model.RunID) error {
	m.mu.Lock()
	x := m.active[id]
	m.mu.Unlock()
	if x != nil {
		x.cancel(errCancelled)
		return nil
	}
	return control.CancelIdle(ctx, m.cfg.Store, id, m.cfg.Server, errCancelled.Error(), time.Now())
}

// Delete removes a run that is over.
func (m *Master) Delete(ctx context.Context, id model.RunID) error {
	if !m.reserve(id) {
		return fmt.Errorf("%w: run %s is not finished; cancel it first", model.ErrUsage, id)
	}
	defer m.release(id)
	return control.DeleteIdle(ctx, m.cfg.Store, id, m.cfg.Server)
}

// Watch returns the live events of a run, until stop is called.
func (m *Master) Watch(_ context.Context, id model.RunID) (live <-chan model.Event, stop func(), err error) {
	live, stop = m.ev.watch(id)
	return live, stop, nil
}

// Findings are what each study has to say of a run. Of a run that is over this is its
// last stage, and goes on record with its times and how it ended; the run itself is
// stored already, however that was.
func (m *Master) Findings(ctx context.Context, name string, params answer.Params) ([]answer.Answer, error) {
	run, err := m.Run(ctx, name)
	if err != nil {
		return nil, err
	}
	if !run.State.Final() || run.State == model.RunInterrupted {
		return m.Asker.Findings(ctx, name, params)
	}
	started := model.Event{Run: run.ID, Kind: model.EventAnalysisStarted, Severity: model.Info, Text: "analysis began", Time: time.Now().UTC()}
	answers, err := m.Asker.Findings(ctx, string(run.ID), params)
	ended := model.Event{Run: run.ID, Kind: model.EventAnalysisEnded, Severity: model.Info, Text: "no study has anything to say"}
	var said []string
	for _, a := range answers {
		said = append(said, a.Study)
	}
	switch {
	case err != nil:
		ended.Severity, ended.Text = model.Warning, "the analysis failed: "+model.Plain(err)
	case len(said) > 0:
		ended.Text = "analysed by " + num.List(said)
	}
	m.ev.emit(started)
	m.ev.emit(ended)
	return answers, err
}

// Nodes lists the known nodes with how they are doing.
func (m *Master) Nodes(context.Context) ([]model.NodeInfo, error) {
	return m.reg.list(), nil
}

// NewToken returns the printable form of a new join token.
func (m *Master) NewToken(_ context.Context, spec identity.TokenSpec) (string, error) {
	tok, err := m.cfg.Queue.NewToken(spec)
	if err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	return tok.Encode(), nil
}

// NodeAlive reports whether a node is being heard.
func (m *Master) NodeAlive(id model.NodeID) bool {
	n, ok := m.reg.get(id)
	return ok && n.status.Up()
}

// RemoveNode forgets a node: its agent is not admitted any more.
func (m *Master) RemoveNode(ctx context.Context, id model.NodeID) error {
	if err := m.cfg.Authority.Revoke(id); err != nil {
		return fmt.Errorf("revoking node %s: %w", id, err)
	}
	if c, ok := m.reg.gone(id, model.NodeLost); ok {
		m.nodeChanged(c, "it was removed")
	}
	m.reg.forget(id)
	if err := m.cfg.Store.RemoveNode(ctx, id); !errors.Is(err, model.ErrNotFound) {
		return err
	}
	return nil // a client, or an agent that never said hello: its key was revoked
}
