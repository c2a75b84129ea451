package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// A disk that is full loses what is measured while it is. So some of it is kept
// free: from then on runs begin no step, and agents keep what tasks printed,
// until there is room again. What is under way ends, in the room that was kept.

// KeepFree returns how much of a disk of this size is kept free unless the user
// says otherwise, in bytes.
func KeepFree(disk int64) int64 { return min(256<<20, disk/20) }

// roomPoll is how often the disk is looked at.
const roomPoll = 2 * time.Second

// checkRoom asks the store for its room. A store that does not answer changes
// nothing.
func (m *Master) checkRoom(ctx context.Context) {
	room, err := m.store.Room(ctx)
	if err != nil {
		m.log.Debug("asking how much room the store has", "err", err)
		return
	}
	why := m.lacks(room)
	m.outages(func() { m.noRoom = why })
}

// storeAnswered keeps track of whether the store works. One that begins to fail
// may do so for want of room, which says more.
func (m *Master) storeAnswered(ctx context.Context, err error) {
	why := ""
	if errors.Is(err, model.ErrUnavailable) {
		why = err.Error()
	}
	m.mu.Lock()
	begins := why != "" && m.storeFails == ""
	m.mu.Unlock()
	if begins {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		m.checkRoom(ctx)
	}
	m.outages(func() { m.storeFails = why })
}

// outages notes how the store is doing, and tells people when something is the
// matter, and when nothing is any more: once, for a full disk makes itself felt
// in several ways.
func (m *Master) outages(note func()) {
	m.mu.Lock()
	note()
	is, text := model.EventKind(""), ""
	switch {
	case m.noRoom != "":
		is, text = model.EventNoRoom, m.noRoom+"; runs pause until there is room"
	case m.storeFails != "":
		is, text = model.EventStoreFailing, fmt.Sprintf("the store fails: %s; results stay with the agents and are stored as soon as it works again", m.storeFails)
	}
	if is != "" {
		m.heldUp = time.Now()
	}
	was := m.outage
	if is == "" || was == "" {
		m.outage = is
	}
	m.mu.Unlock()
	ev := model.Event{Kind: is, Severity: model.Problem, Text: text}
	switch {
	case is != "" && was == "":
		m.log.Warn(text)
	case is == "" && was == model.EventNoRoom:
		ev = model.Event{Kind: model.EventRoom, Text: "there is room again; runs go on"}
	case is == "" && was == model.EventStoreFailing:
		ev = model.Event{Kind: model.EventStoreBack, Text: "the store works again; waiting results are being stored"}
	default:
		return
	}
	m.tell(ev)
}

// lacks says what there is too little of; "" if there is enough.
func (m *Master) lacks(r store.Room) string {
	keep := m.cfg.KeepFree
	if keep == 0 {
		keep = KeepFree(r.Disk)
	}
	switch {
	case r.Free >= 0 && r.Free < keep:
		return fmt.Sprintf("the disk is nearly full: %s of the store's disk are free, and %s are kept free; free some space, or delete runs with `scalebench delete`",
			num.Bytes(r.Free), num.Bytes(keep))
	case m.cfg.StoreQuota > 0 && r.Used > m.cfg.StoreQuota:
		return fmt.Sprintf("the store holds %s, and its quota is %s; delete runs with `scalebench delete`, or raise --store-quota",
			num.Bytes(r.Used), num.Bytes(m.cfg.StoreQuota))
	}
	return ""
}

// roomFor fails while there is no room for more.
func (m *Master) roomFor() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noRoom == "" {
		return nil
	}
	return model.Unavailablef("%s", m.noRoom)
}

// awaitRoom waits until there is room for what the run does next.
func (x *execution) awaitRoom(ctx context.Context) error {
	x.checkRoom(ctx)
	said := false
	for {
		err := x.roomFor()
		if err == nil {
			break
		}
		if !said {
			said = true
			// Why it pauses is stored, if the store can take that.
			why := "paused: " + model.Plain(err)
			err := x.store.SetRunState(ctx, x.run.ID, model.RunRunning, why, time.Now().UTC())
			if err != nil && !errors.Is(err, model.ErrUnavailable) {
				x.log.Warn("recording that a run pauses", "run", x.run.ID, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(roomPoll):
		}
	}
	if !said {
		return nil
	}
	return x.persist(ctx, "recording that the run goes on", func() error {
		return x.store.SetRunState(ctx, x.run.ID, model.RunRunning, "", time.Now().UTC())
	})
}

// tellTrouble tells what keeps a node from going on, by its own word. A full
// disk that the store has, too, is told once.
func (m *Master) tellTrouble(id model.NodeID, trouble string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	m.checkRoom(ctx)
	n, _ := m.reg.get(id)
	m.mu.Lock()
	told := m.stuck[id]
	tell := trouble != "" && (m.outage == "" || hostOf(n.node.Facts).id != m.leases.here.id)
	if m.stuck[id] = tell; !tell {
		delete(m.stuck, id)
	}
	same := tell == told
	m.mu.Unlock()
	if same {
		return
	}
	ev := model.Event{Node: id, Kind: model.EventRoom, Text: fmt.Sprintf("node %s goes on", id)}
	if trouble != "" {
		ev.Kind, ev.Severity, ev.Text = model.EventNoRoom, model.Problem, fmt.Sprintf("node %s waits: %s", id, trouble)
	}
	m.tell(ev)
}

// extended moves a deadline while results are held up by no fault of their
// tasks, and for a lease after: those that wait then are not late.
func (x *execution) extended(deadline time.Time) time.Time {
	held := x.reg.heldUp(x.nodes)
	x.mu.Lock()
	if x.storeFails != "" || x.noRoom != "" {
		held = time.Now()
	} else if x.heldUp.After(held) {
		held = x.heldUp
	}
	x.mu.Unlock()
	if until := held.Add(x.cfg.Lease); !held.IsZero() && until.After(deadline) {
		return until
	}
	return deadline
}
