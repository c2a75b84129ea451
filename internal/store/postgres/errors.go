package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlstore"
)

// bySQLState tells what error codes mean
// (https://www.postgresql.org/docs/current/errcodes-appendix.html). A code is
// looked up whole, then by its class, the first two characters. Codes that are
// not here are defects.
var bySQLState = map[string]sqlstore.Fault{
	"08":    {Kind: model.ErrUnavailable, Advice: "the connection was lost"},
	"25006": {Kind: model.ErrUnavailable, Advice: "the server is read-only: a standby?"},
	"28":    {Kind: model.ErrDenied, Advice: "check user and password, and the server's pg_hba.conf"},
	"3D000": {Kind: model.ErrUsage, Advice: "create the database with `createdb` or name another one"},
	"3F000": {Kind: model.ErrUsage, Advice: "the search_path of the URL names no schema that exists"},
	"23503": {Kind: model.ErrNotFound, Advice: "what it belongs to was deleted"},
	"40001": {Kind: model.ErrUnavailable, Retry: true},
	"40P01": {Kind: model.ErrUnavailable, Retry: true},
	"42501": {Kind: model.ErrDenied, Advice: "the user needs the right to create a schema in the database, or to use its tables"},
	"53":    {Kind: model.ErrUnavailable, Advice: "the server lacks connections, memory or space"},
	"53100": {Kind: model.ErrUnavailable, Advice: "the server's disk is full: free some space there, and the store goes on"},
	"55P03": {Kind: model.ErrUnavailable, Advice: "somebody keeps a lock for too long"},
	"57014": {Kind: model.ErrUnavailable, Advice: "the server ended the statement: statement_timeout too short?"},
	"57P01": {Kind: model.ErrUnavailable, Advice: "the server is being stopped"},
	"57P02": {Kind: model.ErrUnavailable, Advice: "the server crashed and recovers"},
	"57P03": {Kind: model.ErrUnavailable, Advice: "the server is starting or stopping"},
	"57P05": {Kind: model.ErrUnavailable, Advice: "the server closed an idle connection"},
	"58":    {Kind: model.ErrUnavailable, Advice: "the server's disk fails: look into its log"},
}

// classify tells what a driver error means.
func classify(err error) sqlstore.Fault {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		if f, ok := bySQLState[pgErr.Code]; ok {
			return f
		}
		if len(pgErr.Code) == 5 {
			return bySQLState[pgErr.Code[:2]]
		}
		return sqlstore.Fault{}
	}
	if lostConnection(err) {
		return sqlstore.Fault{Kind: model.ErrUnavailable, Advice: "is the server running, and reachable from here?"}
	}
	return sqlstore.Fault{}
}

// lostConnection reports whether the error lies between us and the server.
func lostConnection(err error) bool {
	var connectErr *pgconn.ConnectError
	var netErr net.Error
	if errors.As(err, &connectErr) || errors.As(err, &netErr) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) {
		return true
	}
	for _, target := range []error{
		driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, os.ErrDeadlineExceeded,
		context.DeadlineExceeded, syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EPIPE,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
