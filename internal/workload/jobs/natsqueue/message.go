package natsqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/scalebench/scalebench/internal/workload"
)

// Message is one item.
type Message struct {
	Item

	Key   string // of the message in its stream: its number there
	Bad   error  // why it is no item
	Skip  bool   // it tells of something else than a new object: nothing is to be done
	Tries int    // deliveries, this one included

	msg jetstream.Msg
}

// takeTime is how long one pull waits for a message.
const takeTime = 500 * time.Millisecond

// Take pulls a message. It returns none if there is none for half a second, or no
// connection. An error is final.
func (q *Queue) Take(ctx context.Context) (*Message, error) {
	msg, err := q.consumer.Next(jetstream.FetchMaxWait(takeTime))
	switch {
	case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound),
		errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, fmt.Errorf("taking a message of stream %q: %w", q.Stream, err)
	case err != nil && q.conn.IsClosed():
		return nil, err
	case err != nil:
		_ = workload.Pause(ctx, 10*time.Millisecond) // without a connection it does not wait itself
		return nil, ctx.Err()
	}
	about, err := msg.Metadata()
	if err != nil {
		return nil, fmt.Errorf("taking a message of stream %q: %w", q.Stream, err)
	}
	m := &Message{Key: strconv.FormatUint(about.Sequence.Stream, 10), Tries: int(about.NumDelivered), msg: msg}
	m.Item, m.Skip, m.Bad = Read(msg.Data())
	return m, nil
}

// Renew says that the message is still worked on. What it cannot say, the next call says.
func (m *Message) Renew() { _ = m.msg.InProgress() }

// Done acknowledges the message, and waits until the server has noted that. If it has not,
// the message comes again, and its result is found to be stored already.
func (m *Message) Done(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m.msg.DoubleAck(ctx)
}

// Back gives the message back; another try may begin at once.
func (m *Message) Back() error { return m.msg.Nak() }
