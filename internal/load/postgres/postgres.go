// Package postgres is PostgreSQL as a kv.Store: one row a record, one column a
// field. Statements are prepared when a session is opened; an operation is one
// round trip and, with autocommit, one transaction.
//
// Each session has one connection. When an operation's time is over, the
// library asks the server over another connection to give it up, as every
// client with a timeout does.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Store is a database.
type Store struct {
	address kv.Address
	config  *pgx.ConnConfig
}

var _ kv.Store = (*Store)(nil)

// example is shown where a URL is not understood.
const example = "postgres://user:password@host:5432/database?sslmode=require"

// connectTimeout bounds connecting where the URL does not say how long it may
// take.
const connectTimeout = 10 * time.Second

// New is for a URL as PostgreSQL's own programs take it. It does not connect.
// The error is model.ErrUsage.
func New(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, example, "postgres", "postgresql")
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; want %s", model.ErrUsage, address, address.Hide(reason(err)), example)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if _, ok := config.RuntimeParams["application_name"]; !ok {
		config.RuntimeParams["application_name"] = "scalebench"
	}
	return &Store{address: address, config: config}, nil
}

// reason is the end of a parse error of the library, "cannot parse `URL`: why";
// it shows URLs with all but the password.
func reason(err error) error {
	msg := err.Error()
	if i := strings.LastIndex(msg, "`: "); i >= 0 {
		return errors.New(msg[i+len("`: "):])
	}
	return errors.New("it is not understood")
}

// Name is the URL without the password.
func (s *Store) Name() string { return s.address.String() }

// Connect opens a session and prepares its statements.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	conn, err := pgconn.ConnectConfig(ctx, &s.config.Config)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: s.connectError(err)}
	}
	session := newSession(conn, shape)
	if err := session.prepare(ctx, shape); err != nil {
		err = errors.Join(s.connectError(err), session.Close()) //nolint:contextcheck // it is also called when ctx is done
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return session, nil
}

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, s.connectError(err)
	}
	return &admin{conn}, nil
}

// Loader opens a connection.
func (s *Store) Loader(ctx context.Context, shape kv.Shape) (kv.Loader, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, s.connectError(err)
	}
	return &loader{conn: conn, shape: shape}, nil
}

func (s *Store) connectError(err error) error {
	return fmt.Errorf("connecting to %s: %w", s.address, s.address.Hide(adminError(err)))
}
