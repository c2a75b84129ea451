package sqlkv

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// postgresExample is shown where a URL is not understood.
const postgresExample = "postgres://user:password@host:5432/database?sslmode=require"

// postgresServer is PostgreSQL. When an operation's time is over, the library
// asks the server over another connection to give it up, as every client with a
// timeout does.
type postgresServer struct{ config *pgx.ConnConfig }

// NewPostgres is for a URL as PostgreSQL's own programs take it. It does not
// connect. The error is model.ErrUsage.
func NewPostgres(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, postgresExample, "postgres", "postgresql")
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		// The library says "cannot parse `URL`: why", with all but the
		// password in the URL.
		why := "it cannot be parsed"
		if i := strings.LastIndex(err.Error(), "`: "); i >= 0 {
			why = err.Error()[i+len("`: "):]
		}
		return nil, address.Refuse(errors.New(why))
	}
	if config.ConnectTimeout == 0 { // the URL does not say how long it may take
		config.ConnectTimeout = connectTimeout
	}
	if _, ok := config.RuntimeParams["application_name"]; !ok {
		config.RuntimeParams["application_name"] = "scalebench"
	}
	return &Store{address: address, database: &postgresServer{config}}, nil
}

func (s *postgresServer) dialect() dialect {
	return dialect{
		param: func(n int) string { return "$" + strconv.Itoa(n) },
		key:   `text COLLATE "C"`, value: "text", text: "text",
		comment: "SELECT coalesce(obj_description(to_regclass($1), 'pg_class'), '') WHERE to_regclass($1) IS NOT NULL",
		marked: func(table, create string) []string {
			return []string{create, "COMMENT ON TABLE " + table + " IS '" + kv.Mark + "'"}
		},
		lock: func(tables []string) string {
			return "LOCK TABLE " + strings.Join(tables, ", ") + " IN ACCESS EXCLUSIVE MODE"
		},
		settle:  "VACUUM (ANALYZE)",
		foreign: "schema with ?search_path=",
		// https://www.postgresql.org/docs/current/errcodes-appendix.html
		missing: "42P01", duplicate: "23505", full: []string{"53300"},
		advice: kv.Advice{
			model.ErrDenied: {
				"28":    "check user and password, and the server's pg_hba.conf",
				"42501": "the user needs the right to create tables, or name a schema of its own with ?search_path=",
			},
			model.ErrUnavailable: {"53300": "close some of the server's connections, or let it allow more (max_connections)"},
			model.ErrUsage:       {"3D000": "create the database or use another one"},
		},
	}
}

func (s *postgresServer) Connector() driver.Connector { return stdlib.GetConnector(*s.config) }

// load writes rows with COPY.
func (s *postgresServer) Insert(ctx context.Context, db *sql.DB, table string, columns []string, rows [][]any) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	err = c.Raw(func(c any) error {
		_, err := c.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		return err
	})
	return errors.Join(err, c.Close())
}

func (s *postgresServer) connect(ctx context.Context) (conn, error) {
	c, err := pgconn.ConnectConfig(ctx, &s.config.Config)
	if err != nil {
		return nil, err
	}
	return &postgresConn{PgConn: c}, nil
}

// postgresConn executes below the library's conversion of values: all here are
// text, and no memory is needed but that of the caller.
type postgresConn struct {
	*pgconn.PgConn

	prepared int // how many statements; they are named by number
}

func (c *postgresConn) prepare(ctx context.Context, query string) (statement, error) {
	c.prepared++
	s, err := c.Prepare(ctx, strconv.Itoa(c.prepared), query, nil)
	if err != nil {
		return nil, err
	}
	return &postgresStatement{conn: c.PgConn, statement: s}, nil
}

// Close ends the connection, within a second. One that an operation has ended is closed in the
// background, after the server was asked to give the operation up; that is
// waited for, unless the server does not react at all.
func (c *postgresConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := c.PgConn.Close(ctx)
	select {
	case <-c.CleanupDone():
	case <-ctx.Done():
	}
	return err
}

type postgresStatement struct {
	conn      *pgconn.PgConn
	statement *pgconn.StatementDescription
}

func (s *postgresStatement) query(ctx context.Context, args [][]byte, into kv.Record) (found bool, err error) {
	result := s.conn.ExecStatement(ctx, s.statement, args, nil, nil)
	if found = result.NextRow(); found {
		for i, value := range result.Values() {
			into[i] = append(into[i][:0], value...)
		}
	}
	_, err = result.Close()
	return found, err
}

func (s *postgresStatement) exec(ctx context.Context, args [][]byte) (int64, error) {
	tag, err := s.conn.ExecStatement(ctx, s.statement, args, nil, nil).Close()
	return tag.RowsAffected(), err
}

func (s *postgresServer) Code(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

func (s *postgresServer) answerOf(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Severity + ": " + answer.Message
	}
	return ""
}

func (s *postgresServer) kindOf(err error) (load.Kind, bool) {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && (answer.SeverityUnlocalized == "FATAL" || answer.SeverityUnlocalized == "PANIC" || strings.HasPrefix(answer.Code, "08")):
		return load.ErrClosed, true // the server ends the connection with this answer
	case ok:
		return load.ErrStatus, true
	case errors.Is(err, pgconn.ErrConnClosed):
		return load.ErrClosed, true
	case pgconn.Timeout(err):
		return load.ErrTimeout, true
	}
	return 0, false
}
