package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/scalebench/scalebench/internal/jobs"
)

// caller makes the child's calls to the queue of items, one at a time.
type caller struct {
	out     *lineWriter
	replies chan jobReply // capacity 1
	number  uint64
}

// call returns when the agent has the reply. The end of the agent ends this process.
func (c *caller) call(call jobs.Call) (jobs.Reply, error) {
	c.number++
	data, err := json.Marshal(call)
	if err == nil {
		err = c.out.write(report{Call: &jobCall{Number: c.number, Data: data}})
	}
	if err != nil {
		return jobs.Reply{}, err
	}
	r := <-c.replies
	if r.Error != "" {
		return jobs.Reply{}, errors.New(r.Error)
	}
	var reply jobs.Reply
	if err := json.Unmarshal(r.Data, &reply); err != nil {
		return jobs.Reply{}, fmt.Errorf("decoding the reply of the queue of items: %w", err)
	}
	return reply, nil
}

// teller joins the calls of all slots of a task: while one is on its way, those that
// come meanwhile wait and go together as the next. So a thousand slots need no more round
// trips than one, and each its own of the time that one takes.
type teller struct {
	send func(jobs.Call) (jobs.Reply, error)

	sync.Mutex
	waiting []*slotCall
	sending bool
}

// slotCall is one call of a slot. Its answer has one reader or, when that has left, none.
type slotCall struct {
	jobs.Call
	answer chan slotReply // capacity 1
	left   bool           // nobody waits for the answer; guarded by the teller
}

type slotReply struct {
	jobs.Reply
	err error
}

func newTeller(send func(jobs.Call) (jobs.Reply, error)) *teller { return &teller{send: send} }

// Jobs is workload.Env.Jobs.
func (t *teller) Jobs(ctx context.Context, c jobs.Call) (jobs.Reply, error) {
	if err := c.Check(); err != nil {
		return jobs.Reply{}, err
	}
	s := &slotCall{Call: c, answer: make(chan slotReply, 1)}
	t.add(s)
	select {
	case r := <-s.answer:
		return r.Reply, r.err
	case <-ctx.Done():
	}
	t.Lock()
	defer t.Unlock()
	select {
	case r := <-s.answer: // it came at the same moment
		return r.Reply, r.err
	default:
		s.left = true
		return jobs.Reply{}, ctx.Err()
	}
}

func (t *teller) add(s *slotCall) {
	t.Lock()
	defer t.Unlock()
	t.waiting = append(t.waiting, s)
	if !t.sending {
		t.sending = true
		go t.sendAll()
	}
}

// sendAll sends what waits until nothing does.
func (t *teller) sendAll() {
	for {
		t.Lock()
		joined, whole := join(t.waiting)
		t.waiting = t.waiting[len(joined):]
		t.sending = len(joined) > 0
		t.Unlock()
		if len(joined) == 0 {
			return
		}
		reply, err := t.send(whole)
		t.Lock()
		if unwanted := share(joined, reply, err); len(unwanted) > 0 {
			back := &slotCall{Call: jobs.Call{Finish: unwanted}, answer: make(chan slotReply, 1)}
			t.waiting = append(t.waiting, back)
		}
		t.Unlock()
	}
}

// maxJoined is about how long the texts of joined calls are, in bytes: a message of this
// size travels whole.
const maxJoined = 256 << 10

// join makes one call of the first of those that wait.
func join(waiting []*slotCall) (joined []*slotCall, c jobs.Call) {
	size := 0
	for i, s := range waiting {
		size += textOf(s.Call)
		if i > 0 && (size > maxJoined || c.Add != nil && s.Add != nil || !sameOpen(c.Open, s.Open) ||
			c.Take+s.Take > jobs.MaxTake || len(c.Renew)+len(s.Renew) > jobs.MaxRenew ||
			len(c.Finish)+len(s.Finish) > jobs.MaxFinish) {
			break
		}
		if s.Open != nil {
			c.Open = s.Open
		}
		if s.Add != nil {
			c.Add = s.Add
		}
		c.Take += s.Take
		c.Renew = append(c.Renew, s.Renew...)
		c.Finish = append(c.Finish, s.Finish...)
		joined = waiting[:i+1]
	}
	return joined, c
}

func sameOpen(a, b *jobs.Open) bool { return a == nil || b == nil || *a == *b }

func textOf(c jobs.Call) (size int) {
	if c.Add != nil {
		for _, n := range c.Add.Names {
			size += len(n)
		}
	}
	for i := range c.Finish {
		r := &c.Finish[i]
		size += len(r.Key) + len(r.Name) + len(r.Error) + len(r.Output)
	}
	return size
}

// share gives each of the joined calls its part of the reply. Leases of callers that left
// meanwhile are returned, as items that were not begun. Of results of one key the first may
// count, and the later ones are known then.
func share(joined []*slotCall, r jobs.Reply, err error) (unwanted []jobs.Record) {
	lost, refused, counting := setOf(r.Lost), setOf(r.Refused), countingOf(joined, r.Known)
	leases := r.Leases
	for _, s := range joined {
		n := min(s.Take, len(leases))
		own := jobs.Reply{Leases: slices.Clone(leases[:n]), State: r.State}
		leases = leases[n:]
		if n < s.Take {
			own.Again = r.Again
		}
		for _, id := range s.Renew {
			if lost[id] {
				own.Lost = append(own.Lost, id)
			}
		}
		for _, f := range s.Finish {
			switch {
			case f.Lease == 0 && counting[f.Key] == 0:
				own.Known = append(own.Known, f.Key)
			case f.Lease == 0:
				counting[f.Key]--
			case f.Lease != 0 && refused[f.Lease]:
				own.Refused = append(own.Refused, f.Lease)
			}
		}
		if s.left {
			for _, l := range own.Leases {
				unwanted = append(unwanted, jobs.Record{Lease: l.ID, Key: l.Key, Name: l.Name, Try: l.Try, Outcome: jobs.Returned})
			}
		}
		s.answer <- slotReply{own, err}
	}
	return unwanted
}

// countingOf is how many results of each key count, of those with lease 0.
func countingOf(joined []*slotCall, known []string) map[string]int {
	counting := make(map[string]int)
	for _, s := range joined {
		for _, f := range s.Finish {
			if f.Lease == 0 {
				counting[f.Key]++
			}
		}
	}
	for _, key := range known {
		counting[key]--
	}
	return counting
}

func setOf[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}
