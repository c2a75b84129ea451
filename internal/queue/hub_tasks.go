package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

const (
	// maxPublishing bounds how many assignments wait for the queue's
	// confirmation at the same time.
	maxPublishing = 4096
	// publishTries is how often an unconfirmed assignment is published. The
	// message id makes repeating harmless.
	publishTries = 3
	// duplicateWindow is how long the queue knows message ids.
	duplicateWindow = 2 * time.Minute
	// taskAge is when the queue drops a task that no node ever fetched. The
	// master cancels tasks long before; this is for masters that are gone.
	taskAge = 7 * 24 * time.Hour
	// parallelAdmin is how many administrative requests run at a time.
	parallelAdmin = 16
)

// JetStream's error codes: the first two mean "fewer replicas, then", the third
// "not yet".
const (
	errCodeNoPeers      jetstream.ErrorCode = 10005
	errCodeNotClustered jetstream.ErrorCode = 10074
	errCodeNotYet       jetstream.ErrorCode = 10008
)

const (
	// adminTry is how long one administrative request may take before it is
	// repeated: a cluster that elects its leader drops requests.
	adminTry = 3 * time.Second
	// adminWait bounds all tries where the caller's context does not.
	adminWait = 30 * time.Second
)

// admin repeats an idempotent administrative request until the queue answers
// it, or ctx ends.
func (h *Hub) admin(ctx context.Context, do func(context.Context) error) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, adminWait)
		defer cancel()
	}
	for n := 1; ; n++ {
		try, cancel := context.WithTimeout(ctx, adminTry)
		err := do(try)
		cancel()
		if err == nil || !worthRepeating(err) {
			return err
		}
		h.opt.Log.Debug("the queue does not answer yet", "error", err)
		if pause(ctx, backoff(n)) != nil {
			return fmt.Errorf("%w: %w: %w", model.ErrUnavailable, ctx.Err(), err)
		}
	}
}

// worthRepeating reports whether a request failed for a reason that passes.
func worthRepeating(err error) bool {
	for _, passing := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		nats.ErrReconnectBufExceeded, nats.ErrDisconnected, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == errCodeNotYet
}

// ensureStream makes the stream of tasks. A task leaves it when its agent
// acknowledges it. replicas 0: as many as the cluster has servers for, at most
// three.
func (h *Hub) ensureStream(ctx context.Context, replicas int) error {
	tries := []int{replicas}
	if replicas == 0 {
		tries = []int{3, 2, 1}
	}
	var err error
	for _, n := range tries {
		err = h.admin(ctx, func(ctx context.Context) error {
			var err error
			h.stream, err = h.js.CreateOrUpdateStream(ctx, h.streamConfig(n))
			return err
		})
		if err == nil {
			h.opt.Log.Info("stream of tasks ready", "stream", h.names.stream(), "replicas", n)
			return nil
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) || (api.ErrorCode != errCodeNoPeers && api.ErrorCode != errCodeNotClustered) {
			break
		}
	}
	return fmt.Errorf("making the stream %s (JetStream must be enabled on the NATS server, and these credentials must be allowed to use it): %w", h.names.stream(), err)
}

func (h *Hub) streamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        h.names.stream(),
		Description: "scalebench tasks",
		Subjects:    []string{h.names.anyTask()},
		Retention:   jetstream.WorkQueuePolicy,
		Storage:     jetstream.FileStorage,
		Duplicates:  duplicateWindow,
		MaxAge:      taskAge,
		Replicas:    replicas,
	}
}

// EnsureNode makes the durable consumer of a node, from which its agent
// fetches tasks. It may be called again at any time.
func (h *Hub) EnsureNode(ctx context.Context, node model.NodeID, key string) error {
	if g, ok := h.auth.Admitted(key); !ok || g.Node != node {
		return fmt.Errorf("preparing node %s: %w: its key is not admitted", node, model.ErrDenied)
	}
	cfg := jetstream.ConsumerConfig{
		Durable:       h.names.consumer(node),
		FilterSubject: h.names.task(node),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       h.opt.AckWait,
		MaxAckPending: 1, // a node runs one task at a time
		MaxDeliver:    -1,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		// What was delivered is not worth a file that is synced for every
		// task: the tasks themselves are on disk until they are acknowledged,
		// a consumer that is made again after a restart delivers those anew,
		// and the agent's journal makes that harmless.
		MemoryStorage: true,
	}
	err := h.admin(ctx, func(ctx context.Context) error {
		_, err := h.js.CreateOrUpdateConsumer(ctx, h.names.stream(), cfg)
		return err
	})
	if err != nil {
		return fmt.Errorf("preparing node %s: %w", node, err)
	}
	return nil
}

// RemoveNode removes a node's consumer and its undone tasks. Removing a node
// that is not there is no error.
func (h *Hub) RemoveNode(ctx context.Context, node model.NodeID) error {
	if err := h.PurgeTasks(ctx, []model.NodeID{node}); err != nil {
		return err
	}
	err := h.admin(ctx, func(ctx context.Context) error {
		return h.js.DeleteConsumer(ctx, h.names.stream(), h.names.consumer(node))
	})
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("removing node %s: %w", node, err)
	}
	return nil
}

// PurgeTasks drops the tasks of these nodes that are not acknowledged. An
// agent that already has one keeps it: cancel it with an order.
func (h *Hub) PurgeTasks(ctx context.Context, nodes []model.NodeID) error {
	waiting, err := h.waiting(ctx)
	if err != nil {
		return fmt.Errorf("looking for waiting tasks: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelAdmin)
	for _, node := range nodes {
		if waiting[h.names.task(node)] == 0 {
			continue
		}
		g.Go(func() error {
			err := h.admin(ctx, func(ctx context.Context) error {
				return h.stream.Purge(ctx, jetstream.WithPurgeSubject(h.names.task(node)))
			})
			if err != nil {
				return fmt.Errorf("dropping tasks of %s: %w", node, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// waiting counts the tasks in the queue by subject: one question instead of a
// purge for each node, nearly all of which would find nothing.
func (h *Hub) waiting(ctx context.Context) (map[string]uint64, error) {
	var info *jetstream.StreamInfo
	err := h.admin(ctx, func(ctx context.Context) error {
		var err error
		info, err = h.stream.Info(ctx, jetstream.WithSubjectFilter(h.names.anyTask()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// Dispatch stores assignments in the queue and returns when the queue has
// confirmed all of them. Dispatching (task, attempt) again within two minutes
// changes nothing, whatever became of the first: retries need a new attempt.
func (h *Hub) Dispatch(ctx context.Context, as []wire.Assignment) error {
	for batch := range slices.Chunk(as, maxPublishing/2) {
		if err := h.dispatch(ctx, batch); err != nil {
			return fmt.Errorf("dispatching: %w", err)
		}
	}
	return nil
}

// dispatch stores one batch.
func (h *Hub) dispatch(ctx context.Context, as []wire.Assignment) error {
	left := make([]*nats.Msg, 0, len(as))
	for _, a := range as {
		m, err := h.taskMessage(a)
		if err != nil {
			return fmt.Errorf("%s#%d: %w", a.Task, a.Attempt, err)
		}
		left = append(left, m)
	}
	var err error
	for range publishTries {
		if left, err = h.publish(ctx, left); len(left) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("%d of %d tasks not stored by the queue: %w: %w", len(left), len(as), model.ErrUnavailable, err)
}

// taskMessage seals one assignment for its node.
func (h *Hub) taskMessage(a wire.Assignment) (*nats.Msg, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	data, err := sealFor(h.key, a.NodeKey, purposeTask, body, h.stamp.next())
	if err != nil {
		return nil, err
	}
	if room := h.nc.MaxPayload() - partMargin; int64(len(data)) > room {
		return nil, fmt.Errorf("%w: the task has %d bytes, the queue takes %d (max_payload of the NATS server); put large inputs into files on the nodes", model.ErrUsage, len(data), room)
	}
	m := nats.NewMsg(h.names.task(a.Node))
	m.Data = data
	m.Header.Set(jetstream.MsgIDHeader, wire.Attempt{Task: a.Task, Attempt: a.Attempt}.String())
	return m, nil
}

// publish sends all messages before it waits for the first confirmation, and
// returns those that were not confirmed.
func (h *Hub) publish(ctx context.Context, ms []*nats.Msg) (left []*nats.Msg, err error) {
	acks := make([]jetstream.PubAckFuture, len(ms))
	for i, m := range ms {
		if acks[i], err = h.js.PublishMsgAsync(m); err != nil {
			return ms, err
		}
	}
	for i, m := range ms {
		if ackErr := confirmed(ctx, acks[i]); ackErr != nil {
			left, err = append(left, m), ackErr
		}
	}
	return left, err
}

// publishWait is how long the queue may take to store a message; a cluster
// that elects a new leader needs seconds.
const publishWait = 10 * time.Second

func confirmed(ctx context.Context, ack jetstream.PubAckFuture) error {
	timer := time.NewTimer(publishWait)
	defer timer.Stop()
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return unavailable("no confirmation within %v", publishWait)
	}
}

// Order tells nodes to start or to cancel a step's tasks. It returns when the
// order is on its way to all of them; an agent that missed it learns of it
// from the reply to its next Ready.
func (h *Hub) Order(ctx context.Context, o wire.Order, nodes []model.NodeID) error {
	if err := o.Check(); err != nil {
		return fmt.Errorf("ordering %s: %w", o.Kind, err)
	}
	data, err := h.signOrder(o)
	if err != nil {
		return fmt.Errorf("ordering %s: %w", o.Kind, err)
	}
	for _, node := range nodes {
		if err := h.nc.Publish(h.names.order(node), data); err != nil {
			return fmt.Errorf("ordering %s: %w", o.Kind, unavailable("%w", err))
		}
	}
	if err := h.nc.FlushWithContext(flushContext(ctx)); err != nil {
		return fmt.Errorf("ordering %s: %w", o.Kind, unavailable("%w", err))
	}
	return nil
}
