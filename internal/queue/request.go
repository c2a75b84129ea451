package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// requestTimeout bounds a request with its reply, or a flush; a client's call may
// bring a bound of its own.
const requestTimeout = 10 * time.Second

// call sends a request and returns the body of the reply; both may have any
// size up to what the kind allows. It makes one try. Errors of
// the other side keep their model.Err… kind; model.ErrUnavailable means that a
// later try may succeed.
func (s *session) call(ctx context.Context, kind string, body []byte) ([]byte, error) {
	var f frame
	err := nats.ErrMaxPayload
	whole, total := limits(kind)
	if len(body) > total {
		return nil, fmt.Errorf("%s: %w", kind, errTooLarge)
	}
	if len(body) <= whole {
		f, err = s.request(ctx, kind, bodyFrame(body))
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		f, err = s.callInParts(ctx, kind, body)
	}
	if err == nil && f.kind == frameParts {
		f.body, err = s.download(ctx, f.id, f.parts)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return f.body, nil
}

// callInParts uploads the body first and then refers to it.
func (s *session) callInParts(ctx context.Context, kind string, body []byte) (frame, error) {
	id, pieces := newTransferID(), slices.Collect(slices.Chunk(body, partSize(s.nc.MaxPayload())))
	for i, piece := range pieces {
		p := part{id, i, len(pieces), piece}
		if _, err := s.request(ctx, kindPart, bodyFrame(p.encode())); err != nil {
			return frame{}, fmt.Errorf("part %d of %d: %w", i+1, len(pieces), err)
		}
	}
	return s.request(ctx, kind, partsFrame(id, len(pieces)))
}

// download fetches a reply that was too large for one message.
func (s *session) download(ctx context.Context, id transferID, parts int) ([]byte, error) {
	var out []byte
	for i := range parts {
		p := part{id: id, index: i, count: parts}
		f, err := s.request(ctx, kindFetch, bodyFrame(p.encode()))
		if err != nil {
			return nil, fmt.Errorf("part %d of %d of the reply: %w", i+1, parts, err)
		}
		if out = append(out, f.body...); len(out) > maxReply {
			return nil, errTooLarge
		}
	}
	return out, nil
}

// request exchanges one frame. A receiver that takes the request for a replay
// (this host's clock was set back while the agent was down) says which time it
// has seen; one more try, stamped later, settles it.
func (s *session) request(ctx context.Context, kind string, body []byte) (frame, error) {
	f, err := s.exchange(ctx, kind, body)
	if err == nil && f.kind == frameReplay {
		s.stamp.raise(f.floor)
		f, err = s.exchange(ctx, kind, body)
	}
	if err == nil && f.kind == frameReplay {
		err = model.Unavailablef("the server rejects this message as replayed")
	}
	if err == nil && f.kind == frameError {
		err = f.err
	}
	return f, err
}

// exchange sends a sealed frame and waits for the reply that is bound to it, or
// until the connection is lost: the reply cannot come any more then.
func (s *session) exchange(ctx context.Context, kind string, body []byte) (frame, error) {
	outer := ctx
	if _, bounded := ctx.Deadline(); !bounded || kind != kindCall {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	live, err := s.connection(ctx)
	if err != nil {
		return frame{}, explain(outer, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(live, func() { cancel(errLost) })()
	data, err := sealFor(s.key, s.server, s.from+kind, body, s.stamp.next())
	if err != nil {
		return frame{}, err
	}
	if int64(len(data)) > min(s.nc.MaxPayload(), embeddedPayload) {
		return frame{}, nats.ErrMaxPayload
	}
	m, err := s.nc.RequestWithContext(ctx, s.subject(kind), data)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errLost) {
			err = cause
		}
		return frame{}, explain(outer, err)
	}
	return openReply(s.key, s.server, data, m.Data)
}

// openReply verifies that the reply is the master's, to this very request.
func openReply(k *identity.Key, server string, request, reply []byte) (frame, error) {
	plain, err := openFrom(k, server, replyPurpose(request), reply)
	if err != nil {
		return frame{}, fmt.Errorf("%w: the reply is not the server's: %w", model.ErrDenied, err)
	}
	return parseFrame(plain)
}

var errLost = errors.New("the connection was lost")

// explain tells apart why a request has no reply: the caller's own context
// ended (its error is returned), or a later try may succeed.
func explain(outer context.Context, err error) error {
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case errors.Is(err, model.ErrDenied), errors.Is(err, model.ErrUnavailable):
		return err
	case errors.Is(err, nats.ErrNoResponders):
		return model.Unavailablef("the master does not answer on the queue: the server is starting or has stopped")
	case errors.Is(err, context.DeadlineExceeded):
		return model.Unavailablef("no answer within %v", requestTimeout)
	}
	return model.Unavailablef("%w", err)
}

// flush returns when the queue has received everything sent before.
func flush(ctx context.Context, nc *nats.Conn) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := nc.FlushWithContext(limited); err != nil {
		return explain(ctx, err)
	}
	return nil
}

// Join has a key admitted with a token, as the agent of a node or as a client
// of that name, and returns what to connect with from then on. It tries until
// ctx ends if the server cannot be reached. Refusals are model.ErrDenied and
// one of identity's reasons in words. Joining again with the same key is
// harmless. The options matter for an external cluster only.
func Join(ctx context.Context, tok identity.Token, key *identity.Key, node model.NodeID, opt ...DialOptions) (ServerInfo, error) {
	info := ServerInfo{Endpoint: tok.Endpoint}
	if err := node.Validate(); err != nil {
		return info, fmt.Errorf("joining: %w: %w", model.ErrUsage, err)
	}
	tokenKey, err := tok.Key()
	if err != nil {
		return info, err
	}
	s := newSession(tokenKey, info.ServerKey, append(opt, DialOptions{})[0])
	err = s.dial(ctx, info, "scalebench join")
	if errors.Is(err, errNotAdmitted) {
		err = fmt.Errorf("%w: %w", model.ErrDenied, identity.ErrTokenUnknown)
	}
	if err != nil {
		return info, fmt.Errorf("joining: %w", err)
	}
	defer func() { _ = s.Close() }() // never fails
	for n := 1; ; n++ {              // the server may be up before its master listens
		err := s.join(ctx, tok, key, node)
		if err == nil {
			return info, nil
		}
		if !errors.Is(err, model.ErrUnavailable) {
			return info, fmt.Errorf("joining %v: %w", info, err)
		}
		s.opt.Log.Debug("join not answered yet", "error", err)
		if pause(ctx, backoff(n)) != nil {
			return info, fmt.Errorf("joining %v: %w (last error: %w)", info, ctx.Err(), err)
		}
	}
}

// join makes one try.
func (s *session) join(ctx context.Context, tok identity.Token, key *identity.Key, node model.NodeID) error {
	try, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := s.connection(try); err != nil {
		return explain(ctx, err)
	}
	data, err := identity.SealJoin(tok, key, node, s.stamp.next())
	if err != nil {
		return err
	}
	m, err := s.nc.RequestWithContext(try, s.names.join(), data)
	if err != nil {
		return explain(ctx, err)
	}
	f, err := openReply(key, s.server, data, m.Data)
	if err != nil {
		return err
	}
	return f.err
}
