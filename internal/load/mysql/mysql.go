// Package mysql is MySQL, MariaDB and what speaks their protocol as a kv.Store:
// one row a record, one column a field. Statements are prepared when a session
// is opened; an operation is one round trip and, with autocommit, one
// transaction.
//
// Sessions use the library without database/sql above it, whose pool would
// retry, and take time, unseen. When an operation's time is over the connection
// is closed.
package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Store is a database.
type Store struct {
	address  kv.Address
	sessions driver.Connector
	others   driver.Connector // for admins and loaders
}

var _ kv.Store = (*Store)(nil)

// example is shown where a URL is not understood.
const example = "mysql://user:password@host:3306/database, with ?tls=true, skip-verify or preferred, or ?socket=/path where wanted"

// connectTimeout bounds connecting, beside the context.
const connectTimeout = 10 * time.Second

// New is for a URL, mysql://user:password@host:port/database. Parameters are
// tls (true, skip-verify, preferred, false) and socket, the path of a Unix
// socket in place of host and port. It does not connect. The error is
// model.ErrUsage.
func New(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, example, "mysql", "mariadb")
	if err != nil {
		return nil, err
	}
	s := &Store{address: address}
	config, err := configure(address)
	if err == nil {
		s.sessions, err = mysql.NewConnector(config)
	}
	if err == nil {
		// Batches are written as one statement that is made here, and so is
		// what is executed once.
		config.InterpolateParams = true
		s.others, err = mysql.NewConnector(config)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; want %s", model.ErrUsage, address, address.Hide(err), example)
	}
	return s, nil
}

// configure translates a URL.
func configure(address kv.Address) (*mysql.Config, error) {
	u := address.URL()
	c := mysql.NewConfig()
	c.User, c.Passwd = u.User.Username(), address.Password()
	c.Net, c.Addr = "tcp", hostPort(u.Hostname(), u.Port())
	c.DBName = strings.Trim(u.Path, "/")
	c.Timeout = connectTimeout
	c.Logger = &mysql.NopLogger{} // errors are returned, too
	// An update that changes nothing has found its row as well.
	c.ClientFoundRows = true
	if c.DBName == "" {
		return nil, errors.New("no database is named")
	}
	for name, values := range u.Query() {
		switch name {
		case "tls":
			c.TLSConfig = values[0]
		case "socket":
			c.Net, c.Addr = "unix", values[0]
		default:
			return nil, fmt.Errorf("there is no parameter %q", name)
		}
	}
	return c, nil
}

func hostPort(host, port string) string {
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = "3306"
	}
	return net.JoinHostPort(host, port)
}

// Name is the URL without the password.
func (s *Store) Name() string { return s.address.String() }

// Connect opens a session and prepares its statements.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	conn, err := s.sessions.Connect(ctx)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: s.connectError(err)}
	}
	session := newSession(conn, shape)
	if err := session.prepare(ctx, shape); err != nil {
		err = errors.Join(s.connectError(err), session.Close())
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return session, nil
}

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	db, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{db}, nil
}

// Loader opens a connection.
func (s *Store) Loader(ctx context.Context, shape kv.Shape) (kv.Loader, error) {
	db, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return &loader{db: db, shape: shape}, nil
}

// open opens a pool of one connection, and that.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	db := sql.OpenDB(s.others)
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(s.connectError(err), db.Close())
	}
	return db, nil
}

func (s *Store) connectError(err error) error {
	return fmt.Errorf("connecting to %s: %w", s.address, s.address.Hide(adminError(err)))
}
