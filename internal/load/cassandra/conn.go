package cassandra

import (
	"context"
	"errors"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// conn is a session of the library and the sockets below it.
type conn struct {
	*gocql.Session
	sockets *sockets
}

// connect opens a session of the library. When ctx is done first, its sockets
// are closed.
func connect(ctx context.Context, config *gocql.ClusterConfig) (*conn, error) {
	s := &sockets{}
	s.dialer.Timeout = config.ConnectTimeout
	config.Dialer = s
	seen := &failures{}
	config.ConnectObserver = seen
	defer s.closeAfter(ctx)()
	session, err := config.CreateSession()
	if err == nil && ctx.Err() != nil { // just now
		session.Close()
		err = ctx.Err()
	}
	if err != nil {
		s.close()
		return nil, errors.Join(seen.last(), err)
	}
	s.seal()
	return &conn{Session: session, sockets: s}, nil
}

// Close ends the connections.
func (c *conn) Close() error {
	c.Session.Close()
	c.sockets.close()
	return nil
}

// failures keeps the last error of a connection: the library makes a text of
// it, from which nobody can tell a wrong password from a wrong host.
type failures struct {
	mu  sync.Mutex
	err error
}

// ObserveConnect is called by the library.
func (f *failures) ObserveConnect(c gocql.ObservedConnect) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Err != nil {
		f.err = c.Err
	}
}

func (f *failures) last() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
