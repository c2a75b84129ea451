package cassandra

import (
	"context"
	"errors"
	"net"
	"sync"
)

// sockets are the network connections below one session of the library. That
// takes no context while it opens a session, does not heed one while it writes,
// and reconnects whenever it likes. So they are closed under it when the time
// is over, and once the session is there it gets no others: what would need
// another one is over.
type sockets struct {
	dialer net.Dialer

	mu     sync.Mutex
	conns  []net.Conn
	sealed bool
}

// DialContext opens a connection while there may be more.
func (s *sockets) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if err := s.refused(); err != nil {
		return nil, err
	}
	c, err := s.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	s.conns = append(s.conns, c)
	return c, nil
}

func (s *sockets) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return net.ErrClosed
	}
	return nil
}

// seal lets no more connections be opened.
func (s *sockets) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

// close closes all connections and lets no more be opened.
func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	for _, c := range s.conns {
		_ = c.Close() // the library reports what comes of it
	}
}

// closeAfter closes all connections when ctx is done, until the function that
// it returns is called.
func (s *sockets) closeAfter(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, s.close)
}
