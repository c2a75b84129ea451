package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Join has a key admitted with a token, as the agent of a node or as a client
// of that name, and returns what to connect with from then on. It tries until
// ctx ends if the server cannot be reached. Refusals are model.ErrDenied and
// one of identity's reasons in words. Joining again with the same key is
// harmless. The options matter for an external cluster only.
func Join(ctx context.Context, tok identity.Token, key *identity.Key, node model.NodeID, opt ...DialOptions) (ServerInfo, error) {
	info := infoOf(tok.Endpoint())
	if err := node.Validate(); err != nil {
		return info, fmt.Errorf("joining: %w: %w", model.ErrUsage, err)
	}
	tokenKey, err := tok.Key()
	if err != nil {
		return info, err
	}
	s := newSession(tokenKey, info.ServerKey, append(opt, DialOptions{})[0])
	if err := s.dial(ctx, info, "scalebench join"); err != nil {
		return info, joinRefused(err)
	}
	defer func() { _ = s.Close() }() // never fails
	if err := s.join(ctx, tok, key, node); err != nil {
		return info, fmt.Errorf("joining %v: %w", info, err)
	}
	return info, nil
}

// joinRefused says what a refused connection means while joining.
func joinRefused(err error) error {
	if errors.Is(err, errNotAdmitted) {
		return fmt.Errorf("joining: %w: %w", model.ErrDenied, identity.ErrTokenUnknown)
	}
	return fmt.Errorf("joining: %w", err)
}

// join sends the request until somebody answers: the server may be up before
// its master listens.
func (s *session) join(ctx context.Context, tok identity.Token, key *identity.Key, node model.NodeID) error {
	for n := 1; ; n++ {
		err := s.tryJoin(ctx, tok, key, node)
		if err == nil || !errors.Is(err, model.ErrUnavailable) {
			return err
		}
		s.opt.Log.Debug("join not answered yet", "error", err)
		if pause(ctx, backoff(n)) != nil {
			return fmt.Errorf("%w (the last try said: %w)", ctx.Err(), err)
		}
	}
}

func (s *session) tryJoin(ctx context.Context, tok identity.Token, key *identity.Key, node model.NodeID) error {
	try, cancel := context.WithTimeout(ctx, s.opt.RequestTimeout)
	defer cancel()
	if _, err := s.connection(try); err != nil {
		return explain(ctx, err, s.opt.RequestTimeout)
	}
	data, err := identity.SealJoin(tok, key, node, s.stamp.next())
	if err != nil {
		return err
	}
	m, err := s.nc.RequestWithContext(try, s.names.join(), data)
	if err != nil {
		return explain(ctx, err, s.opt.RequestTimeout)
	}
	plain, err := openFrom(key, s.server, replyPurpose(data), m.Data)
	if err != nil {
		return fmt.Errorf("%w: the reply is not the server's: %w", model.ErrDenied, err)
	}
	f, err := parseFrame(plain)
	if err != nil {
		return err
	}
	return f.err
}
