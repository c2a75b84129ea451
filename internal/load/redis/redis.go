// Package redis is Redis, and what speaks its protocol, as a kv.Store: each
// record is a hash of its fields, as in YCSB's binding. YCSB also keeps all
// keys in a sorted set, for scans; there are none here, and so an insert is one
// command.
//
// One server is used, no cluster. Each session has one connection, over which
// the library neither retries nor reconnects by itself: what a user of it would
// not notice, a measurement has to.
package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Store is one database of a server.
type Store struct {
	address kv.Address
	options *goredis.Options
}

var _ kv.Store = (*Store)(nil)

// example is shown where a URL is not understood.
const example = "redis://user:password@host:6379/0 (rediss:// for TLS)"

// connectTimeout bounds connecting, beside the context.
const connectTimeout = 10 * time.Second

// New is for a URL: redis://user:password@host:port/database, or rediss:// for
// TLS. It does not connect. The error is model.ErrUsage.
func New(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, example, "redis", "rediss")
	if err != nil {
		return nil, err
	}
	options, err := goredis.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; want %s", model.ErrUsage, address, address.Hide(err), example)
	}
	return &Store{address: address, options: plain(options)}, nil
}

// plain turns off all that the library does beyond sending a command and
// reading its answer, whatever a URL says.
func plain(o *goredis.Options) *goredis.Options {
	o.MaxRetries, o.DialerRetries = -1, 1
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = 1, 0, 1
	o.DialTimeout = connectTimeout
	// The context says how long an operation may take, and nothing else.
	o.ContextTimeoutEnabled = true
	o.ReadTimeout, o.WriteTimeout = -1, -1
	o.ConnMaxIdleTime, o.ConnMaxLifetime = -1, -1
	// The older protocol needs no look at the connection for messages that
	// nobody has asked for before each command.
	o.Protocol = 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DisableIdentity = true
	return o
}

// Name is the URL without the password.
func (s *Store) Name() string { return s.address.String() }

// Connect opens a session.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return newSession(c, shape), nil
}

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{c}, nil
}

// Loader opens a connection.
func (s *Store) Loader(ctx context.Context, shape kv.Shape) (kv.Loader, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &loader{conn: c, names: shape.Names()}, nil
}

// conn is one connection and the client that it belongs to.
type conn struct {
	*goredis.Conn
	client *goredis.Client
	socket *socket
}

// connect opens a connection and proves that it can be used. The error is
// model.ErrDenied or model.ErrUnavailable.
func (s *Store) connect(ctx context.Context) (*conn, error) {
	options := *s.options
	socket, err := openSocket(ctx, &options)
	if err != nil {
		return nil, s.connectError(err)
	}
	options.Dialer = socket.dial
	client := goredis.NewClient(&options)
	c := &conn{Conn: client.Conn(), client: client, socket: socket}
	defer socket.closeAfter(ctx)()
	if err := c.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(s.connectError(err), c.Close())
	}
	return c, nil
}

// Close ends the connection.
func (c *conn) Close() error {
	err := errors.Join(c.Conn.Close(), c.client.Close())
	// The library may never have asked for it, and have closed it otherwise.
	_ = c.socket.conn.Close()
	return err
}

func (s *Store) connectError(err error) error {
	return fmt.Errorf("connecting to %s: %w", s.address, s.address.Hide(adminError(err)))
}

// adminError gives an error of what is not measured a kind of package model.
func adminError(err error) error {
	switch {
	case err == nil:
		return nil
	case goredis.IsAuthError(err) || goredis.IsPermissionError(err):
		return fmt.Errorf("%w: %w; check user and password", model.ErrDenied, err)
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
}
