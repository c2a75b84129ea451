package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/jobs/natsqueue"
)

// messages is a queue in NATS. Its messages are the items; the server records results, so
// that one of each item counts however often its message comes.
type messages struct {
	*natsqueue.Queue

	call   func(context.Context, jobs.Call) (jobs.Reply, error)
	prefix string // of the names that are items; other messages are dropped
	tries  int
	drain  bool
	outage time.Duration // how long the queue may not answer

	mu   sync.Mutex
	held map[uint64]*natsqueue.Message // by lease, which only this node knows
	last uint64
	mute time.Time // since when it has not answered; zero: it has
	// aside counts the messages that were set aside before anyone worked on them.
	aside int64
}

func (p *Params) openMessages(ctx context.Context, env *workload.Env) (*messages, error) {
	q, err := natsqueue.Open(ctx, *p.NATS, p.Lease.Std(), env.Environ)
	if err != nil {
		return nil, err
	}
	m := &messages{Queue: q, call: env.Jobs, tries: p.Tries, drain: p.Duration == 0, outage: p.Outage.Std(),
		held: map[uint64]*natsqueue.Message{}}
	if p.Get != nil {
		m.prefix = p.Get.Prefix
	}
	return m, nil
}

func (q *messages) next(ctx context.Context, result *jobs.Record, take bool) (t turn, err error) {
	if result != nil {
		if t.counts, err = q.finish(ctx, *result); err != nil {
			return t, err
		}
	}
	if !take {
		return t, nil
	}
	for {
		m, err := q.Take(ctx)
		if err != nil {
			return t, err
		}
		if m == nil {
			t.drained, err = q.empty(ctx)
			return t, err
		}
		if t.lease, err = q.accept(ctx, m); t.lease != nil || err != nil {
			t.item = m.Item
			return t, err
		}
	}
}

// empty reports whether the queue is drained: all messages were worked on. What cannot be
// asked now is asked again, until that has lasted too long.
func (q *messages) empty(ctx context.Context) (bool, error) {
	if !q.drain {
		return false, nil
	}
	pending, taken, err := q.Waiting(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err == nil:
		q.mute = time.Time{}
	case q.mute.IsZero():
		q.mute = time.Now()
	case ctx.Err() == nil && time.Since(q.mute) > q.outage:
		return false, fmt.Errorf("NATS at %s has not answered for %s: %w", q.URL, q.outage, err)
	}
	return pending+taken == 0 && err == nil, nil
}

// accept returns the item of a message; nil if it is none. One that cannot be an item, or
// was lost as often as it may, is set aside.
func (q *messages) accept(ctx context.Context, m *natsqueue.Message) (*jobs.Lease, error) {
	m.Names = slices.DeleteFunc(m.Names, func(name string) bool { return !strings.HasPrefix(name, q.prefix) })
	if m.Skip || m.Bad == nil && len(m.Names) == 0 {
		_ = m.Done(ctx) // if that is lost it comes again
		return nil, nil
	}
	if m.Bad != nil || m.Tries > q.tries {
		r := jobs.Record{Key: m.Key, Try: m.Tries, Outcome: jobs.SetAside, Error: lostError}
		if m.Bad != nil {
			r.Error = short(m.Bad.Error())
		} else {
			r.Name = m.Names[0]
		}
		q.mu.Lock()
		q.aside++
		q.mu.Unlock()
		_, err := q.record(ctx, r, m)
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mute = time.Time{}
	q.last++
	q.held[q.last] = m
	return &jobs.Lease{ID: q.last, Key: m.Key, Name: m.Names[0], Try: m.Tries}, nil
}

const lostError = "each execution was lost: its worker was silent before a result came"

// finish records a result, and then acknowledges its message.
func (q *messages) finish(ctx context.Context, r jobs.Record) (counts bool, err error) {
	q.mu.Lock()
	m := q.held[r.Lease]
	delete(q.held, r.Lease)
	q.mu.Unlock()
	if r.Lease = 0; r.Outcome == jobs.Failed && r.Try >= q.tries {
		r.Outcome = jobs.SetAside
	}
	if r.Outcome == jobs.Failed || r.Outcome == jobs.Returned {
		_ = m.Back() // or it comes again once nobody has renewed it
		return false, nil
	}
	return q.record(ctx, r, m)
}

func (q *messages) record(ctx context.Context, r jobs.Record, m *natsqueue.Message) (counts bool, err error) {
	reply, err := q.call(ctx, jobs.Call{Finish: []jobs.Record{r}})
	if err != nil {
		return false, err
	}
	_ = m.Done(ctx) // if that is lost it comes again, and its record is known
	return !slices.Contains(reply.Known, r.Key), nil
}

func (q *messages) renew(context.Context, []uint64) (lost []uint64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.held {
		m.Renew()
	}
	return nil, nil
}

// free is false: a message that is given back has used up a delivery.
func (q *messages) free() bool { return false }

func (q *messages) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.held {
		_ = m.Back() // or it comes again later
	}
	q.Close()
}

// feed sends messages of these names, over and over, so that the queue is never empty. What
// fails is tried again, and is an error if it still fails at the end.
func (q *messages) feed(ctx context.Context, names []string, atLeast int) (failed error) {
	for at := 0; ; {
		pending, _, err := q.Waiting(ctx)
		if err == nil && pending < int64(atLeast) {
			some := make([]string, 0, atLeast)
			for range atLeast {
				some = append(some, names[at%len(names)])
				at++
			}
			err = q.Publish(ctx, some)
		}
		if ctx.Err() != nil {
			return failed
		}
		failed = err
		_ = workload.Pause(ctx, feedEvery)
	}
}

// feedEvery is the time between two looks at how many messages wait.
const feedEvery = 200 * time.Millisecond
