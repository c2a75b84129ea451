package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/model"
)

// partMargin is what envelope, encryption, headers and packing may add to a
// part, in bytes, with plenty to spare.
const partMargin = 4 << 10

// maxPart bounds parts also where the server allows more: a large message
// delays the small ones behind it.
const maxPart = 1 << 20

// partSize is the size of parts for a server's max_payload.
func partSize(maxPayload int64) int {
	return int(min(max(maxPayload-partMargin, 1<<10), maxPart))
}

// caller sends requests of one sender: an agent or a client.
type caller struct {
	*session
	from    string // purpose prefix
	subject func(kind string) string
}

// notify sends a message that has no reply and may be lost.
func (c caller) notify(kind string, body []byte) error {
	if state := c.State(); state != StateConnected {
		return unavailable("sending %s: the queue is %s", kind, state)
	}
	data, err := sealFor(c.key, c.server, c.from+kind, bodyFrame(body), c.stamp.next())
	if err != nil {
		return err
	}
	if err := c.nc.Publish(c.subject(kind), data); err != nil {
		return unavailable("sending %s: %w", kind, err)
	}
	return nil
}

// call sends a request and returns the body of the reply; both of any size.
// It makes one try. Errors of the other side keep their model.Err… kind;
// model.ErrUnavailable means that a later try may succeed.
func (c caller) call(ctx context.Context, kind string, body []byte, limit time.Duration) ([]byte, error) {
	f, err := c.request(ctx, kind, bodyFrame(body), limit)
	if errors.Is(err, nats.ErrMaxPayload) {
		f, err = c.callInParts(ctx, kind, body, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if f.kind == frameParts {
		return c.download(ctx, f.id, f.parts)
	}
	return f.body, nil
}

// callInParts uploads the body first and then refers to it.
func (c caller) callInParts(ctx context.Context, kind string, body []byte, limit time.Duration) (frame, error) {
	if len(body) > maxMessage {
		return frame{}, errTooLarge
	}
	var id transferID
	if _, err := rand.Read(id[:]); err != nil {
		return frame{}, err
	}
	pieces := split(body, partSize(c.nc.MaxPayload()))
	for i, piece := range pieces {
		p := part{id, i, len(pieces), piece}
		if _, err := c.request(ctx, kindPart, bodyFrame(p.encode()), c.opt.RequestTimeout); err != nil {
			return frame{}, fmt.Errorf("part %d of %d: %w", i+1, len(pieces), err)
		}
	}
	return c.request(ctx, kind, partsFrame(id, len(pieces)), limit)
}

// download fetches a reply that was too large for one message.
func (c caller) download(ctx context.Context, id transferID, parts int) ([]byte, error) {
	var out []byte
	for i := range parts {
		p := part{id: id, index: i, count: parts}
		f, err := c.request(ctx, kindFetch, bodyFrame(p.encode()), c.opt.RequestTimeout)
		if err != nil {
			return nil, fmt.Errorf("part %d of %d of the reply: %w", i+1, parts, err)
		}
		if out = append(out, f.body...); len(out) > maxMessage {
			return nil, errTooLarge
		}
	}
	return out, nil
}

// split cuts a body into pieces of at most size bytes; at least one.
func split(body []byte, size int) [][]byte {
	var out [][]byte
	for len(body) > size {
		out = append(out, body[:size])
		body = body[size:]
	}
	return append(out, body)
}

// request exchanges one frame. A receiver that takes the request for a replay
// (this host's clock was set back while the agent was down) says which time it
// has seen; one more try, stamped later, settles it.
func (c caller) request(ctx context.Context, kind string, body []byte, limit time.Duration) (frame, error) {
	f, err := c.exchange(ctx, kind, body, limit)
	if err == nil && f.kind == frameReplay {
		c.stamp.raise(f.floor)
		f, err = c.exchange(ctx, kind, body, limit)
	}
	if err == nil && f.kind == frameReplay {
		err = unavailable("the server takes this message for a replayed one")
	}
	if err == nil && f.kind == frameError {
		err = f.err
	}
	return f, err
}

// exchange sends a sealed frame and waits for the reply that is bound to it,
// for at most limit (0: until ctx ends), or until the connection is lost: the
// reply cannot come any more then.
func (c caller) exchange(ctx context.Context, kind string, body []byte, limit time.Duration) (frame, error) {
	outer := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	live, err := c.connection(ctx)
	if err != nil {
		return frame{}, explain(outer, err, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(live, func() { cancel(errLost) })
	defer stop()
	data, err := sealFor(c.key, c.server, c.from+kind, body, c.stamp.next())
	if err != nil {
		return frame{}, err
	}
	if int64(len(data)) > c.nc.MaxPayload() {
		return frame{}, nats.ErrMaxPayload
	}
	m, err := c.nc.RequestWithContext(ctx, c.subject(kind), data)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errLost) {
			err = cause
		}
		return frame{}, explain(outer, err, limit)
	}
	return c.openReply(data, m.Data)
}

// openReply verifies that the reply is the master's, to this very request.
func (c caller) openReply(request, reply []byte) (frame, error) {
	plain, err := openFrom(c.key, c.server, replyPurpose(request), reply)
	if err != nil {
		return frame{}, fmt.Errorf("%w: the reply is not the server's: %w", model.ErrDenied, err)
	}
	return parseFrame(plain)
}

var errLost = errors.New("the connection was lost")

// explain tells apart why a request has no reply: the caller's own context
// ended (its error is returned), or a later try may succeed.
func explain(outer context.Context, err error, limit time.Duration) error {
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case errors.Is(err, model.ErrDenied), errors.Is(err, model.ErrUnavailable):
		return err
	case errors.Is(err, nats.ErrNoResponders):
		return unavailable("nobody listens on the queue: the server is starting, or gone")
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("no answer within %v", limit)
	}
	return unavailable("%w", err)
}
