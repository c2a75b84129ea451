// Package cassandra is Apache Cassandra, and what speaks CQL, as a kv.Store:
// one partition of one row a record, one column a field. Statements are
// prepared when a session is opened; an operation is one round trip.
//
// The library's sessions are made to be shared by a whole program, which then
// sends over few connections what many of its goroutines want. Here each client
// has a session of its own instead: what one client sends never waits behind
// what another does, nor for more to send at once, so that a latency is that of
// the server and not of the generator. It costs a second connection a client,
// over which the library asks about the cluster while it opens a session, and
// then only whether the server is alive. The library neither retries nor
// reconnects by itself: what a user of it would not notice, a measurement has
// to.
//
// With one host in the URL all operations go there. With several the library
// finds the whole cluster, and each session has a connection to every node and
// sends an operation to one that holds the record.
//
// Cassandra cannot tell inserts from updates without asking all replicas
// first, which nobody does who wants it to be fast: both write what they are
// given, whether the record was there or not.
package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// Store is a keyspace of a cluster.
type Store struct {
	address kv.Address
	options options
}

var _ kv.Store = (*Store)(nil)

// New is for a URL:
//
//	cassandra://user:password@host1,host2:9042/keyspace?consistency=one
//
// or cassandras:// for TLS. All hosts have the same port. A keyspace whose name
// begins with "scalebench_" is made and removed with the data set; another must
// be there. Without a name it is "scalebench_kv". Parameters are
//
//   - consistency of reads and writes: quorum (the default), one, local_one,
//     local_quorum, …
//   - replication: how many copies there are, in a keyspace that is made;
//     1 is the default.
//
// New does not connect. The error is model.ErrUsage.
func New(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, example, "cassandra", "cassandras")
	if err != nil {
		return nil, err
	}
	o, err := parseOptions(address.URL())
	if err != nil {
		return nil, fmt.Errorf("%s: %w; want %s", address, address.Hide(err), example)
	}
	return &Store{address: address, options: o}, nil
}

// Name is the URL without the password and the parameters.
func (s *Store) Name() string { return s.address.String() }

// Connect opens a session and prepares its statements.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	x := newSession(c, s.options.table(recordTable), shape)
	if err := x.prepare(ctx); err != nil {
		err = errors.Join(s.connectError(err), x.Close())
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return x, nil
}

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{conn: c, options: s.options}, nil
}

// Loader opens a connection.
func (s *Store) Loader(ctx context.Context, shape kv.Shape) (kv.Loader, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &loader{conn: c, insert: insertStatement(s.options.table(recordTable), shape)}, nil
}

// connect opens a session of the library. The error is model.ErrDenied,
// ErrUsage or ErrUnavailable.
func (s *Store) connect(ctx context.Context) (*conn, error) {
	c, err := connect(ctx, s.options.cluster())
	if err != nil {
		return nil, s.connectError(err)
	}
	return c, nil
}

func (s *Store) connectError(err error) error {
	return fmt.Errorf("connecting to %s: %w", s.address, s.address.Hide(adminError(err)))
}
