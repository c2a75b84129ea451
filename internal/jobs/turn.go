package jobs

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Turn is a call that a queue has begun to execute: what must be stored before it is
// answered.
type Turn struct {
	Add     *Add     // names; nil where all were known
	Records []Record // results, in the order of Storage in End

	owner   string
	began   time.Time
	call    Call
	refused []uint64
	lost    []uint64
}

// caller is what a queue keeps of one task, so that a call that comes twice is executed
// once.
type caller struct {
	seq   uint64
	reply *Reply // nil while the call is being executed
}

func (c *caller) busy() bool { return c != nil && c.reply == nil }

// Errors of calls that come twice.
var (
	// ErrOld means that a later call of the same task was begun: nobody waits for this one.
	ErrOld = errors.New("a later call of this task was begun already")
	// ErrBusy means that this very call is being executed.
	ErrBusy = errors.New("this call is being executed")
)

// Begin executes a call up to where something must be stored. A task numbers its calls
// upwards, and makes one at a time. If this one was answered before, Begin returns that
// reply and no turn.
func (q *Queue) Begin(owner string, seq uint64, c Call, now time.Time) (*Turn, Reply, error) {
	if before := q.callers[owner]; before != nil && seq <= before.seq {
		switch {
		case seq < before.seq:
			return nil, Reply{}, ErrOld
		case before.reply == nil:
			return nil, Reply{}, ErrBusy
		}
		return nil, *before.reply, nil
	}
	t := &Turn{owner: owner, began: now, call: c}
	if err := q.begin(t, now); err != nil {
		return nil, Reply{}, err
	}
	q.callers[owner] = &caller{seq: seq}
	return t, Reply{}, nil
}

func (q *Queue) begin(t *Turn, now time.Time) error {
	if err := t.call.Check(); err != nil {
		return err
	}
	if t.call.Open != nil {
		if err := q.Open(*t.call.Open); err != nil {
			return err
		}
	}
	if (t.call.Take > 0 || t.call.Add != nil) && q.open == nil {
		return ErrClosed
	}
	over := q.done + q.aside
	foreign := slices.ContainsFunc(t.call.Finish, func(r Record) bool { return r.Lease == 0 })
	if foreign && q.open != nil {
		return errForeign
	}
	if foreign && over+int64(len(t.call.Finish)) > MaxItems {
		return fmt.Errorf("%d items have records, and a queue may have %d", over, MaxItems)
	}
	if a := t.call.Add; a != nil && !q.ready {
		if err := q.canAdd(*a); err != nil {
			return err
		}
		t.Add = a
	}
	q.foreign = q.foreign || foreign
	t.Records, t.refused = q.Finish(t.owner, t.call.Finish, now)
	t.lost = q.Renew(t.owner, t.call.Renew, now)
	return nil
}

// ErrNotStored means that a call could not be stored. The task makes it again.
var ErrNotStored = errors.New("what the call says could not be stored")

// patience is how long a call may take before the leases of its task begin anew.
func (q *Queue) patience() time.Duration {
	if q.open == nil {
		return 0
	}
	return q.open.Lease / 10
}

// End completes a turn: how its names and each of its records were stored. If any was
// not, the same call may begin again.
func (q *Queue) End(t *Turn, names bool, records []Storage, now time.Time) (Reply, error) {
	ok := names || t.Add == nil
	r := Reply{Refused: t.refused, Lost: t.lost}
	for i, record := range t.Records {
		q.Settle(record, records[i], now)
		switch {
		case records[i] == NotStored:
			ok = false
		case records[i] == Stored:
		case record.Lease == 0:
			r.Known = append(r.Known, record.Key)
		case record.Outcome == Done:
			r.Refused = append(r.Refused, record.Lease)
		}
	}
	if !ok || now.Sub(t.began) > q.patience() {
		q.Pardon(t.owner, now)
	}
	if !ok {
		delete(q.callers, t.owner)
		return Reply{}, ErrNotStored
	}
	if t.Add != nil {
		if err := q.Add(*t.Add); err != nil {
			return Reply{}, err
		}
	}
	if t.call.Take > 0 {
		leases, err := q.Take(t.owner, t.call.Take, now)
		if err != nil {
			return Reply{}, err
		}
		r.Leases = leases
	}
	r.State = q.State()
	if len(r.Leases) < t.call.Take && !r.State.Drained {
		r.Again = q.Again()
	}
	q.callers[t.owner].reply = &r
	return r, nil
}
