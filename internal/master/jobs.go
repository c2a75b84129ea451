package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/wire"
)

// jobQueue is the queue of items of an attempt at a step. Each attempt has its own, made
// of what the store has of the step: its leases are new ones, and items that have a record
// are over.
type jobQueue struct {
	sync.Mutex
	q    *jobs.Queue // nil until a task calls
	told int         // items that were set aside, of which people were told
}

// maxTold is of how many items that are set aside people are told. The store has all.
const maxTold = 20

// errOver: a call comes from a task that is none of the step's, or is over.
var errOver = fmt.Errorf("%w: the task is not at work now: its attempt is over, or the task has ended", model.ErrStale)

// Jobs executes the call of a task to the queue of its step, and answers when what it says
// is stored.
func (m *Master) Jobs(ctx context.Context, c wire.JobCall) (jobs.Reply, error) {
	a := m.attemptOf(c.Task.Run())
	if a == nil {
		return jobs.Reply{}, errOver
	}
	switch task, ok := a.working(c.Attempt, c.Node); {
	case !ok:
		return jobs.Reply{}, errOver
	case c.Call.Add != nil && task.Spec.Part != 0:
		return jobs.Reply{}, fmt.Errorf("%w: task %s may not name items: the first task of the step does", model.ErrInvalid,
			c.Task)
	}
	turn, reply, err := m.beginCall(ctx, a, c)
	if err != nil || turn == nil {
		return reply, err
	}
	var names error
	if turn.Add != nil {
		names = m.store.PutItems(ctx, a.step.ID, a.number, *turn.Add)
		m.storeAnswered(ctx, names)
	}
	list := make([]store.Job, len(turn.Records))
	for i, r := range turn.Records {
		list[i] = a.job(c.Node, r)
	}
	storage, results := m.storeJobs(ctx, list)
	a.jobs.Lock()
	defer a.jobs.Unlock()
	m.tellAside(a, list, storage)
	reply, err = a.jobs.q.End(turn, names == nil, storage, time.Now())
	if why := errors.Join(names, results); why != nil {
		err = why
	}
	return reply, err
}

// beginCall begins to execute a call. Leases that have ended go first; items that this
// sets aside are stored before anything else is said.
func (m *Master) beginCall(ctx context.Context, a *attempt, c wire.JobCall) (*jobs.Turn, jobs.Reply, error) {
	a.jobs.Lock()
	defer a.jobs.Unlock()
	if a.jobs.q == nil {
		names, all, over, err := m.store.Items(ctx, a.step.ID)
		m.storeAnswered(ctx, err)
		if err != nil {
			return nil, jobs.Reply{}, err
		}
		a.jobs.q = jobs.New()
		a.jobs.q.Restore(names, all, over)
	}
	a.jobs.q.Hear(time.Now())
	if err := m.setAside(ctx, a); err != nil {
		return nil, jobs.Reply{}, err
	}
	turn, reply, err := a.jobs.q.Begin(string(c.Task), c.Number, c.Call, time.Now())
	switch {
	case errors.Is(err, jobs.ErrBusy):
		err = model.Unavailablef("%w", err)
	case err != nil:
		err = fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	return turn, reply, err
}

// setAside stores the items that leases which have ended set aside. It is called with the
// lock of the queue.
func (m *Master) setAside(ctx context.Context, a *attempt) error {
	expired := a.jobs.q.Expire(time.Now())
	list := make([]store.Job, len(expired))
	for i, e := range expired {
		list[i] = a.job(a.nodeOf(model.TaskID(e.Owner)), e.Record)
	}
	storage, err := m.storeJobs(ctx, list)
	m.tellAside(a, list, storage)
	for i, e := range expired {
		a.jobs.q.Settle(e.Record, storage[i], time.Now())
	}
	return err
}

// job is a record of an execution on a node.
func (a *attempt) job(node model.NodeID, r jobs.Record) store.Job {
	return store.Job{Step: a.step.ID, Attempt: a.number, Node: node, Record: r}
}

// storeJobs stores records, and says what became of each.
func (m *Master) storeJobs(ctx context.Context, list []store.Job) ([]jobs.Storage, error) {
	if len(list) == 0 {
		return nil, nil
	}
	storage := slices.Repeat([]jobs.Storage{jobs.NotStored}, len(list))
	counts, err := m.store.PutJobs(ctx, list)
	m.storeAnswered(ctx, err)
	if err != nil {
		return storage, err
	}
	for i, ok := range counts {
		storage[i] = jobs.Known
		if ok {
			storage[i] = jobs.Stored
		}
	}
	return storage, nil
}

// tellAside tells people of the first items that are set aside. It is called with the lock
// of the queue.
func (m *Master) tellAside(a *attempt, list []store.Job, storage []jobs.Storage) {
	for i := range list {
		r := &list[i]
		if r.Outcome != jobs.SetAside || storage[i] != jobs.Stored || a.jobs.told >= maxTold {
			continue
		}
		a.jobs.told++
		m.ev.emit(model.Event{Run: a.run, Step: r.Step, Node: r.Node, Kind: model.EventItemSetAside, Severity: model.Warning,
			Text: fmt.Sprintf("item %s is set aside after %d tries, the last one on node %s: %s",
				r.Name, r.Try, r.Node, r.Error)})
	}
}

// working returns a task of this attempt; ok: it is open on that node.
func (a *attempt) working(at wire.Attempt, node model.NodeID) (task model.Task, ok bool) {
	a.Lock()
	defer a.Unlock()
	t, ok := a.tasks[at.Task]
	if !ok || at.Attempt != a.number || t.Node != node || t.outcome != "" || t.void || a.cancelled {
		return model.Task{}, false
	}
	return t.Task, true
}

func (a *attempt) nodeOf(task model.TaskID) model.NodeID {
	a.Lock()
	defer a.Unlock()
	if t, ok := a.tasks[task]; ok {
		return t.Node
	}
	return ""
}
