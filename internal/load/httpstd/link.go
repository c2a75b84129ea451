package httpstd

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// link is a connection to each origin. The clients that use it are counted;
// the last one to leave closes it.
type link struct {
	connections []*http.ClientConn // in the order of the origins
	users       atomic.Int32
}

// dial connects to all origins, for one user.
func (t *Target) dial(ctx context.Context) (*link, error) {
	l := &link{}
	l.users.Store(1)
	for _, o := range t.origins {
		c, err := t.transport.NewClientConn(ctx, o.scheme, o.address)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.connections = append(l.connections, c)
	}
	return l, nil
}

// alive reports whether all connections can be used.
func (l *link) alive() bool {
	for _, c := range l.connections {
		if c.Err() != nil {
			return false
		}
	}
	return true
}

// join adds a user, unless the last one has left.
func (l *link) join() bool {
	for n := l.users.Load(); n > 0; n = l.users.Load() {
		if l.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave takes a user away.
func (l *link) leave() error {
	if l.users.Add(-1) > 0 {
		return nil
	}
	return l.close()
}

func (l *link) close() error {
	var errs []error
	for _, c := range l.connections {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// group is of clients that share a link.
type group struct {
	turn chan struct{} // holds one element while nobody dials
	link *link         // of whoever has the turn; nil at first
}

func newGroup() *group {
	g := &group{turn: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	return g
}

// join returns the link of the group, or a new one if that is not alive.
func (g *group) join(ctx context.Context, dial func(context.Context) (*link, error)) (*link, error) {
	select {
	case <-g.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { g.turn <- struct{}{} }()
	if g.link != nil && g.link.alive() && g.link.join() {
		return g.link, nil
	}
	l, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	g.link = l
	return l, nil
}
