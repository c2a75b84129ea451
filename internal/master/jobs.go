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
	if a == nil || !a.working(c.Attempt, c.Node) {
		return jobs.Reply{}, errOver
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
	storage, results := m.storeJobs(ctx, a, turn.Records, func(int) model.NodeID { return c.Node })
	a.jobs.Lock()
	defer a.jobs.Unlock()
	m.tellAside(a, c.Node, turn.Records, storage)
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
	if len(expired) == 0 {
		return nil
	}
	records := make([]jobs.Record, len(expired))
	for i, e := range expired {
		records[i] = e.Record
	}
	storage, err := m.storeJobs(ctx, a, records, func(i int) model.NodeID {
		return a.nodeOf(model.TaskID(expired[i].Owner))
	})
	for i, r := range records {
		m.tellAside(a, a.nodeOf(model.TaskID(expired[i].Owner)), records[i:i+1], storage[i:i+1])
		a.jobs.q.Settle(r, storage[i], time.Now())
	}
	return err
}

// storeJobs stores records, and says what became of each.
func (m *Master) storeJobs(ctx context.Context, a *attempt, records []jobs.Record, node func(int) model.NodeID,
) ([]jobs.Storage, error) {
	if len(records) == 0 {
		return nil, nil
	}
	storage := slices.Repeat([]jobs.Storage{jobs.NotStored}, len(records))
	list := make([]store.Job, len(records))
	for i, r := range records {
		list[i] = store.Job{Step: a.step.ID, Attempt: a.number, Node: node(i), Record: r}
	}
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
func (m *Master) tellAside(a *attempt, node model.NodeID, records []jobs.Record, storage []jobs.Storage) {
	for i := range records {
		r := &records[i]
		if r.Outcome != jobs.SetAside || storage[i] != jobs.Stored || a.jobs.told >= maxTold {
			continue
		}
		a.jobs.told++
		text := fmt.Sprintf("item %s is set aside after %d tries, the last one on node %s: %s", r.Name, r.Try, node, r.Error)
		m.ev.emit(model.Event{Run: a.run, Step: a.step.ID, Node: node, Kind: model.EventItemSetAside, Severity: model.Warning,
			Text: text})
	}
}

// working reports whether a task of this attempt is open on that node.
func (a *attempt) working(at wire.Attempt, node model.NodeID) bool {
	a.Lock()
	defer a.Unlock()
	t, ok := a.tasks[at.Task]
	return ok && at.Attempt == a.number && t.Node == node && t.outcome == "" && !t.void && !a.cancelled
}

func (a *attempt) nodeOf(task model.TaskID) model.NodeID {
	a.Lock()
	defer a.Unlock()
	if t, ok := a.tasks[task]; ok {
		return t.Node
	}
	return ""
}
