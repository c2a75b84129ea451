package queue

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Reading the server's clock must be quick and even, for half the round trip
// bounds the error of every start time. So its messages are not signed but
// only boxed between the two keys, which takes microseconds, and they have a
// subscription of their own.
//
//	request: the agent's public key (56 bytes), box of "Q" and a nonce
//	reply:   box of "R", the nonce, the server's time (ns, big endian)
//
// The nonce binds the reply to the request, the letters tell the directions
// apart, which a box does not.

const (
	// A measurement takes at least minProbes round trips, because the first
	// may have met a busy moment, and ends as soon as the best of them bounds
	// the error by goodBound, far below what a start time has to be right to.
	// A thousand agents measure at the same time, before every step: on a good
	// network that is a third of the messages that maxProbes would be.
	minProbes = 4
	maxProbes = 12
	goodBound = 100 * time.Microsecond

	clockNonceSize = 16
	publicKeySize  = 56 // of an nkey's text form
	maxQuestion    = 256
	clockQuestion  = 'Q'
	clockReply     = 'R'
)

// clock answers with the time at which the request arrived.
func (h *Hub) clock(m *nats.Msg) {
	now := h.opt.Now()
	if len(m.Data) > maxQuestion || h.guard.barred(h.names.sender(m.Subject)) {
		h.broke(m, request{}, errTooLarge)
		return
	}
	admitted := func(key string) bool {
		g, ok := h.auth.Admitted(key)
		return ok && checkSubject(m.Subject, fromAgent, g) == nil
	}
	reply, err := answerClock(h.key, admitted, m.Data, now)
	if err == nil && !h.names.isInbox(m.Reply, askerOf(m.Data)) {
		err = errReplySubject
	}
	if err != nil {
		h.broke(m, request{}, err)
	} else if err := h.nc.Publish(m.Reply, reply); err != nil && h.ctx.Err() == nil {
		h.opt.Log.Warn("clock reply not sent", "error", err)
	}
}

// askerOf is the key that a request claims to be of, "" if it has none.
func askerOf(data []byte) string {
	if len(data) < publicKeySize {
		return ""
	}
	return string(data[:publicKeySize])
}

// answerClock makes the reply to a request of an admitted key.
func answerClock(k *identity.Key, admitted func(string) bool, data []byte, now time.Time) ([]byte, error) {
	sender := askerOf(data)
	if sender == "" {
		return nil, errFrame
	}
	if !admitted(sender) {
		return nil, model.ErrDenied
	}
	question, err := k.Decrypt(sender, data[publicKeySize:])
	if err != nil {
		return nil, err
	}
	if len(question) != 1+clockNonceSize || question[0] != clockQuestion {
		return nil, errFrame
	}
	answer := append([]byte{clockReply}, question[1:]...)
	answer = binary.BigEndian.AppendUint64(answer, uint64(now.UnixNano()))
	return k.Encrypt(sender, answer)
}

// readClock returns the server's time out of a reply to the nonce.
func readClock(k *identity.Key, server string, nonce, data []byte) (time.Time, error) {
	answer, err := k.Decrypt(server, data)
	if err != nil {
		return time.Time{}, err
	}
	if len(answer) != 1+clockNonceSize+8 || answer[0] != clockReply || string(answer[1:1+clockNonceSize]) != string(nonce) {
		return time.Time{}, errFrame
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(answer[1+clockNonceSize:]))), nil
}

// Clock measures the server's clock: offset is server time minus this node's,
// bound is how wrong it can be, half of the shortest of four to twelve round
// trips (Mills, RFC 5905, section 8; the shortest because queueing only adds).
func (l *Link) Clock(ctx context.Context) (offset, bound time.Duration, err error) {
	return l.measure(ctx, minProbes, maxProbes)
}

// measure makes at least least round trips and at most most, fewer the sooner
// one of them is good.
func (l *Link) measure(ctx context.Context, least, most int) (offset, bound time.Duration, err error) {
	for i := 0; i < most && (i < least || bound > goodBound); i++ {
		o, b, err := l.probe(ctx)
		if err != nil {
			return 0, 0, fmt.Errorf("reading the server's clock: %w", err)
		}
		if i == 0 || b < bound {
			offset, bound = o, b
		}
	}
	l.offset.Store(int64(offset))
	return offset, bound, nil
}

// setClock reads the server's clock once for each connection: without it, a
// node with a clock a day ahead would treat every task as expired, and one with
// a clock behind would run expired ones. One round trip is enough for that. The
// caller holds l.next.
func (l *Link) setClock(ctx, live context.Context) (err error) {
	if l.timed != live {
		_, _, err = l.measure(ctx, 1, 1)
	}
	if err == nil {
		l.timed = live
	}
	return err
}

func (l *Link) probe(ctx context.Context) (offset, bound time.Duration, err error) {
	live, err := l.connection(ctx)
	if err != nil {
		return 0, 0, explain(ctx, err)
	}
	probe, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	defer context.AfterFunc(live, cancel)()
	nonce := make([]byte, clockNonceSize)
	rand.Read(nonce) // never fails
	box, err := l.key.Encrypt(l.server, append([]byte{clockQuestion}, nonce...))
	if err != nil {
		return 0, 0, err
	}
	data := append([]byte(l.key.Public()), box...)
	sent := l.opt.Now()
	m, err := l.nc.RequestWithContext(probe, l.subject(kindClock), data)
	received := l.opt.Now()
	if err != nil {
		return 0, 0, explain(ctx, err)
	}
	server, err := readClock(l.key, l.server, nonce, m.Data)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: the reply is not the server's: %w", model.ErrDenied, err)
	}
	// Both differences are taken on the monotonic clock where there is one.
	rtt := received.Sub(sent)
	return server.Sub(sent.Add(rtt / 2)), rtt/2 + 1, nil
}
