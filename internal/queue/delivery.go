package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Reasons to refuse an assignment.
var (
	ErrForged   = errors.New("not signed by the server that admitted this node")
	ErrNotMine  = errors.New("made for another node, or for another key of this node")
	ErrExpired  = errors.New("expired")
	ErrUnusable = errors.New("cannot be understood")
)

// Delivery is one task handed to the agent.
type Delivery struct {
	Assignment wire.Assignment
	// Refused says why the assignment must not run. It was then already
	// removed from the queue; Assignment is unverified, or zero, and serves to
	// report the refusal only.
	Refused error
	// Redelivered counts the earlier deliveries of the same assignment.
	Redelivered int

	msg jetstream.Msg
}

// removed reports whether the task left the queue when it was refused; there
// is nothing to acknowledge then.
func (d *Delivery) removed() bool { return d.Refused != nil }

// InProgress starts the time until redelivery anew.
func (d *Delivery) InProgress() error {
	if d.removed() {
		return nil
	}
	return d.msg.InProgress()
}

// Ack removes the task from the queue, and returns when the queue confirms.
func (d *Delivery) Ack(ctx context.Context) error {
	if d.removed() {
		return nil
	}
	if err := d.msg.DoubleAck(flushContext(ctx)); err != nil {
		return fmt.Errorf("acknowledging %s#%d: %w", d.Assignment.Task, d.Assignment.Attempt, explain(ctx, err, publishWait))
	}
	return nil
}

// Nak asks for the task again after a delay.
func (d *Delivery) Nak(delay time.Duration) error {
	if d.removed() {
		return nil
	}
	return d.msg.NakWithDelay(delay)
}

const (
	// fetchWait is how long one request for a task waits at the queue; the
	// queue says every fetchHeartbeat that it still knows of the request. A
	// cluster that lost its leader can forget to serve a request that it knows
	// of (seen with nats-server 2.9.10), so fetchWait also bounds that delay.
	fetchWait      = 8 * time.Second
	fetchHeartbeat = 3 * time.Second
	// fetchPause is how long to wait before looking again for a consumer that
	// is not there yet.
	fetchPause = 200 * time.Millisecond
)

// Next blocks until there is a task for this node, and verifies it. It
// survives the loss of the connection; whether a task has expired is judged by
// the server's clock, which is read first. Its errors are ctx's own, or why
// the link is closed.
func (l *Link) Next(ctx context.Context) (*Delivery, error) {
	l.next.Lock()
	defer l.next.Unlock()
	for {
		live, err := l.connection(ctx)
		if err != nil {
			return nil, err
		}
		msg, err := l.fetchTimed(ctx, live)
		if err == nil {
			return l.receive(msg), nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := l.pauseAfter(ctx, err); err != nil {
			return nil, err
		}
	}
}

// fetchTimed fetches a task once it is known what time it is at the server.
func (l *Link) fetchTimed(ctx, live context.Context) (jetstream.Msg, error) {
	if err := l.setClock(ctx, live); err != nil {
		return nil, err
	}
	return l.fetch(ctx, live)
}

// fetch asks for one task, for as long as the connection lasts.
func (l *Link) fetch(ctx, live context.Context) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	defer context.AfterFunc(live, cancel)()
	if l.consumer == nil {
		c, err := l.js.Consumer(ctx, l.names.stream(), l.names.consumer(l.node))
		if err != nil {
			return nil, err
		}
		l.consumer = c
	}
	opts := []jetstream.FetchOpt{jetstream.FetchContext(ctx)}
	// Heartbeats make no sense, and are refused, in a wait too short for two.
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) > 2*fetchHeartbeat+time.Second {
		opts = append(opts, jetstream.FetchHeartbeat(fetchHeartbeat))
	}
	return l.consumer.Next(opts...)
}

// pauseAfter decides how soon to ask again. After the normal end of a wait it
// is at once. Otherwise the consumer may be missing, because the server has
// not heard this node's Hello yet, or has lost its data.
func (l *Link) pauseAfter(ctx context.Context, err error) error {
	for _, normal := range []error{context.DeadlineExceeded, context.Canceled, nats.ErrTimeout, jetstream.ErrNoMessages} {
		if errors.Is(err, normal) {
			return nil
		}
	}
	l.consumer = nil
	l.opt.Log.Debug("no task fetched", "error", err)
	return pause(ctx, fetchPause)
}

// receive verifies a task and removes it from the queue if it must not run:
// delivering it again would not make it better.
func (l *Link) receive(msg jetstream.Msg) *Delivery {
	d := &Delivery{msg: msg}
	if meta, err := msg.Metadata(); err == nil && meta.NumDelivered > 0 {
		d.Redelivered = int(meta.NumDelivered - 1)
	}
	d.Assignment, d.Refused = openTask(l.key, l.server, l.node, msg.Data(), l.serverNow())
	if d.Refused != nil {
		if err := msg.Term(); err != nil {
			l.opt.Log.Warn("refused task not removed from the queue", "error", err)
		}
	}
	return d
}

// openTask verifies everything that must be true of a task before it may run.
// The assignment is returned as far as it can be read, verified or not.
func openTask(k *identity.Key, server string, node model.NodeID, data []byte, now time.Time) (wire.Assignment, error) {
	body, err := openFrom(k, server, purposeTask, data)
	if err != nil {
		return wire.Assignment{}, fmt.Errorf("task refused: %w: %w", ErrForged, err)
	}
	a, err := wire.Decode[wire.Assignment](body)
	switch {
	case err != nil:
		// What can be read of it helps to report it.
		_ = json.Unmarshal(body, &a)
		return a, fmt.Errorf("task refused: %w: %w", ErrUnusable, err)
	case a.Node != node || a.NodeKey != k.Public():
		return a, fmt.Errorf("task %s refused: %w (node %s, key %.12s…)", a.Task, ErrNotMine, a.Node, a.NodeKey)
	case !a.Expires.IsZero() && !now.Before(a.Expires):
		return a, fmt.Errorf("task %s refused: %w at %s, it is %s", a.Task, ErrExpired, a.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return a, nil
}
