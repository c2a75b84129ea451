// Package redis is Redis, and what speaks its protocol, as a kv.Store: each
// record is a hash of its fields, as in YCSB's binding. YCSB also keeps all
// keys in a sorted set, for scans; here nothing scans, so an insert is one
// command.
//
// One server is used, no cluster. Each session has one connection, over which
// the library neither retries nor reconnects: what a user of it would not
// notice, a measurement has to.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// Store is one database of a server.
type Store struct {
	address  kv.Address
	hostPort string
	tls      *tls.Config // nil without TLS
	database int
}

var _ kv.Store = (*Store)(nil)

// example is shown where a URL is not understood.
const example = "redis://user:password@host:6379/0 (rediss:// for TLS)"

// New is for a URL: redis://user:password@host:port/database, or rediss:// for
// TLS. Of the parameters that Redis clients take in URLs, db is another way to
// name the database, and skip_verify=true has TLS accept any certificate; those
// about pools, retries and timeouts have no meaning here and are ignored. New
// does not connect. The error is model.ErrUsage.
func New(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, example, "redis", "rediss")
	if err != nil {
		return nil, err
	}
	s := &Store{address: address}
	if err := s.configure(); err != nil {
		return nil, address.Refuse(err)
	}
	return s, nil
}

// ignored are parameters of other clients that have no meaning here.
var ignored = []string{
	"protocol", "client_name", "max_retries", "min_retry_backoff", "max_retry_backoff",
	"dial_timeout", "read_timeout", "write_timeout", "idle_timeout", "pool_timeout", "pool_fifo", "pool_size",
	"min_idle_conns", "max_idle_conns", "max_active_conns", "conn_max_idle_time", "conn_max_lifetime", "max_conn_age",
}

// configure reads the URL.
func (s *Store) configure() (err error) {
	u := s.address.URL()
	host := cmp.Or(u.Hostname(), "localhost")
	s.hostPort = net.JoinHostPort(host, cmp.Or(u.Port(), "6379"))
	if u.Scheme == "rediss" {
		s.tls = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	database := strings.Trim(u.Path, "/")
	for name, values := range u.Query() {
		switch {
		case name == "db":
			database = values[0]
		case name == "skip_verify" && s.tls != nil:
			if s.tls.InsecureSkipVerify, err = strconv.ParseBool(values[0]); err != nil {
				return errors.New("skip_verify must be true or false")
			}
		case !slices.Contains(ignored, name):
			return fmt.Errorf("unknown parameter %q", name)
		}
	}
	if s.database, err = strconv.Atoi(cmp.Or(database, "0")); err != nil || s.database < 0 {
		return fmt.Errorf("the database %q must be a number", database)
	}
	return nil
}

// Name is the URL without the password.
func (s *Store) Name() string { return s.address.String() }

// Trust implements kv.Store.
func (s *Store) Trust(roots *x509.CertPool) bool {
	if s.tls != nil {
		s.tls.RootCAs = roots
	}
	return s.tls != nil
}

// Connect opens a session.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: err, Full: full(err)}
	}
	x := &session{conn: c, names: shape.Names(), fields: map[string]int{}}
	for i, name := range x.names {
		x.fields[name] = i
	}
	return x, nil
}

// conn is a connection of the library and the socket below it. The library
// waits for an answer as long as the socket is open; it is closed when the
// context of an operation is done.
type conn struct {
	library redis.Conn
	socket  net.Conn
}

// connect opens a connection and proves that it can be used, within 10 s. The
// error is model.ErrDenied or model.ErrUnavailable.
func (s *Store) connect(ctx context.Context) (c *conn, err error) {
	defer func() {
		if err != nil {
			err = s.address.Connecting(s.Explain(err))
		}
	}()
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	dial := dialer.DialContext
	if s.tls != nil {
		dial = (&tls.Dialer{NetDialer: dialer, Config: s.tls}).DialContext
	}
	socket, err := dial(ctx, "tcp", s.hostPort)
	if err != nil {
		return nil, err
	}
	c = &conn{library: redis.NewConn(socket, 0, 0), socket: socket}
	greet := func(command string, args ...any) {
		if err == nil {
			_, err = c.do(ctx, command, args...)
		}
	}
	if password := s.address.Password(); password != "" {
		var who []any
		if user := s.address.URL().User.Username(); user != "" {
			who = append(who, user)
		}
		greet("AUTH", append(who, password)...)
	}
	if s.database != 0 {
		greet("SELECT", s.database)
	}
	if greet("PING"); err == nil {
		_, err = c.do(ctx, "CLIENT", "SETNAME", clientName)
		if _, answered := errors.AsType[redis.Error](err); answered {
			err = nil // whether the server keeps names or not
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// do sends a command, behind those that the library was given before, and
// returns its answer, or the first error of them all.
func (c *conn) do(ctx context.Context, command string, args ...any) (any, error) {
	// The library reports what comes of it.
	defer context.AfterFunc(ctx, func() { _ = c.socket.Close() })()
	return c.library.Do(command, args...)
}

// Close ends the connection.
func (c *conn) Close() error {
	if c.library.Err() == nil {
		return c.library.Close()
	}
	return nil // an operation has ended it, and said so
}

// Keys of the server begin with this, those of records with "user" after it.
const prefix = "scalebench:"

// session does one command at a time.
type session struct {
	*conn
	names  []string
	fields map[string]int // index of each name
}

// Read gets all fields with HGETALL, as YCSB does.
func (s *session) Read(ctx context.Context, key string, into kv.Record) error {
	answer, err := redis.Values(s.do(ctx, "HGETALL", prefix+key))
	if err != nil {
		return fault(ctx, err)
	}
	found := 0
	for i := 0; i+1 < len(answer); i += 2 { // names and values in turn, in any order
		name, _ := answer[i].([]byte)
		value, _ := answer[i+1].([]byte)
		if field, ok := s.fields[string(name)]; ok {
			into[field] = append(into[field][:0], value...)
			found++
		}
	}
	if found < len(into) {
		return kv.ErrMissing
	}
	return nil
}

// Update sets one field. A field that was not there tells that the record was not;
// then it is removed again, so that nothing is left of a record that is gone.
func (s *session) Update(ctx context.Context, key string, field int, value []byte) error {
	added, err := redis.Int(s.do(ctx, "HSET", prefix+key, s.names[field], value))
	if err != nil {
		return fault(ctx, err)
	}
	if added == 0 {
		return nil
	}
	if _, err := s.do(ctx, "HDEL", prefix+key, s.names[field]); err != nil {
		return fault(ctx, err)
	}
	return kv.ErrMissing
}

// Insert sets all fields, whether the record was there or not.
func (s *session) Insert(ctx context.Context, key string, record kv.Record) error {
	_, err := s.do(ctx, "HSET", hash(key, s.names, record)...)
	return fault(ctx, err)
}

// hash are the arguments of HSET: the key, and names and values in turn.
func hash(key string, names []string, record kv.Record) []any {
	args := append(make([]any, 0, 1+2*len(names)), prefix+key)
	for i, name := range names {
		args = append(args, name, record[i])
	}
	return args
}

// fault gives the error of an operation its kind. The library's own errors are
// those of the protocol.
func fault(ctx context.Context, err error) error {
	return load.Fault(ctx, err, func(err error) (load.Kind, bool) {
		_, answered := errors.AsType[redis.Error](err)
		return load.ErrStatus, answered
	})
}
