package cassandra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// session does one statement at a time. The library finds prepared statements
// by their text.
type session struct {
	*conn
	texts kv.Statements
}

// statements are for records of a shape in a table.
func statements(table string, shape kv.Shape) kv.Statements {
	return shape.Statements(table, func(int) string { return "?" })
}

// prepare prepares all statements now; later it would be a part of some operation's
// latency. With several servers the others than the first prepare each statement when it
// comes to them.
func (x *session) prepare(ctx context.Context) error {
	defer x.sockets.closeAfter(ctx)()
	for _, statement := range append([]string{x.texts.Read, x.texts.Insert}, x.texts.Update...) {
		_, err := x.StatementMetadata(ctx, statement, "")
		if codeOf(err) == gocql.ErrCodeInvalid {
			return fmt.Errorf("no records were loaded: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Read selects all fields of a row.
func (x *session) Read(ctx context.Context, key string, into kv.Record) error {
	defer x.sockets.closeAfter(ctx)()
	targets := make([]any, len(into))
	for i := range into {
		targets[i] = &into[i]
	}
	err := x.Query(x.texts.Read, key).ScanContext(ctx, targets...)
	if errors.Is(err, gocql.ErrNotFound) {
		return kv.ErrMissing
	}
	if err != nil {
		return load.Fault(ctx, err, kindOf)
	}
	if slices.ContainsFunc(into, func(value []byte) bool { return value == nil }) { // the row has only what an update has written
		return kv.ErrMissing
	}
	return nil
}

// Update writes one column of a row, whether the row was there or not.
func (x *session) Update(ctx context.Context, key string, field int, value []byte) error {
	return x.exec(ctx, x.texts.Update[field], value, key)
}

// Insert writes a row, whether it was there or not.
func (x *session) Insert(ctx context.Context, key string, record kv.Record) error {
	return x.exec(ctx, x.texts.Insert, kv.Row{Key: key, Fields: record}.Values()...)
}

func (x *session) exec(ctx context.Context, statement string, args ...any) error {
	defer x.sockets.closeAfter(ctx)()
	return load.Fault(ctx, x.Query(statement, args...).ExecContext(ctx), kindOf)
}

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
	config.ConnectObserver = s
	defer s.closeAfter(ctx)()
	session, err := config.CreateSession()
	if err == nil && ctx.Err() != nil { // just now
		session.Close()
		err = ctx.Err()
	}
	if err != nil {
		s.close()
		return nil, errors.Join(s.lastFailure(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	return &conn{Session: session, sockets: s}, nil
}

// Close ends the connections.
func (c *conn) Close() error {
	c.Session.Close()
	c.sockets.close()
	return nil
}

// sockets are the network connections below one session of the library. The
// library takes no context while it opens a session, ignores one while it
// writes, and reconnects at any time. So sockets closes them when the time is
// over, and allows no new ones once the session is open.
type sockets struct {
	dialer net.Dialer

	mu     sync.Mutex
	conns  []net.Conn
	sealed bool
	// failed is the last error of a connection: the library makes a text of it,
	// which does not tell a wrong password from a wrong host.
	failed error
}

// ObserveConnect is called by the library.
func (s *sockets) ObserveConnect(c gocql.ObservedConnect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Err != nil {
		s.failed = c.Err
	}
}

func (s *sockets) lastFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// DialContext opens a connection while there may be more.
func (s *sockets) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	sealed := s.sealed
	s.mu.Unlock()
	if sealed {
		return nil, net.ErrClosed
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

// kindOf knows the errors of the server and of the library. A server that says
// that it has not heard from enough replicas in time, that not enough of them
// are up, or that it is overloaded, has answered; the connection is fine, and
// the text of the error says which it was.
func kindOf(err error) (load.Kind, bool) {
	switch code := codeOf(err); {
	case code == gocql.ErrCodeProtocol:
		return load.ErrProtocol, true
	case code >= 0:
		return load.ErrStatus, true
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		return load.ErrTimeout, true
	case errors.Is(err, gocql.ErrConnectionClosed), errors.Is(err, gocql.ErrNoConnections),
		errors.Is(err, gocql.ErrSessionClosed), errors.Is(err, gocql.ErrUnavailable):
		return load.ErrClosed, true
	}
	return 0, false
}

// codeOf is the code of the server's error, -1 of another error.
func codeOf(err error) int {
	if answer, ok := errors.AsType[gocql.RequestError](err); ok {
		return answer.Code()
	}
	return -1
}
