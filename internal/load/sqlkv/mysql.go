package sqlkv

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// mysqlExample is shown where a URL is not understood.
const mysqlExample = "mysql://user:password@host:3306/database, optionally with ?tls=true, skip-verify or preferred, or ?socket=/path"

// mysqlServer is MySQL, MariaDB and what speaks their protocol. When an
// operation's time is over the connection is closed.
type mysqlServer struct {
	config   *mysql.Config
	sessions driver.Connector
	others   driver.Connector
}

// NewMySQL is for a URL, mysql://user:password@host:port/database. Parameters
// are tls (true, skip-verify, preferred, false) and socket, the path of a Unix
// socket instead of host and port. It does not connect. The error is
// model.ErrUsage.
func NewMySQL(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, mysqlExample, "mysql", "mariadb")
	if err != nil {
		return nil, err
	}
	s := &mysqlServer{}
	if s.config, err = mysqlConfig(address); err == nil {
		err = s.connectors()
	}
	if err != nil {
		return nil, address.Refuse(err)
	}
	return &Store{address: address, database: s}, nil
}

// mysqlConfig translates a URL.
func mysqlConfig(address kv.Address) (*mysql.Config, error) {
	u := address.URL()
	c := mysql.NewConfig()
	c.User, c.Passwd = u.User.Username(), address.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306"))
	c.DBName = strings.Trim(u.Path, "/")
	c.Timeout = connectTimeout
	c.ConnectionAttributes = mysqlMark
	c.Logger = &mysql.NopLogger{} // errors are returned, too
	// An update that changes nothing has found its row as well.
	c.ClientFoundRows = true
	if c.DBName == "" {
		return nil, errors.New("it must name a database")
	}
	for name, values := range u.Query() {
		switch name {
		case "tls":
			c.TLSConfig = values[0]
		case "socket":
			c.Net, c.Addr = "unix", values[0]
		default:
			return nil, fmt.Errorf("unknown parameter %q", name)
		}
	}
	return c, nil
}

func (s *mysqlServer) dialect() dialect {
	return dialect{
		param: func(int) string { return "?" },
		key:   "VARBINARY(32)", value: "MEDIUMBLOB", text: "VARCHAR(255)",
		comment: "SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND " +
			"table_name = ?",
		marked:  func(_, create string) []string { return []string{create + " COMMENT = '" + kv.Mark + "'"} },
		lock:    func(tables []string) string { return "LOCK TABLES " + strings.Join(tables, " WRITE, ") + " WRITE" },
		unlock:  "UNLOCK TABLES",
		settle:  "ANALYZE TABLE",
		foreign: "database",
		// https://mariadb.com/kb/en/mariadb-error-code-reference/, the same in MySQL.
		missing: "1146", duplicate: "1062", full: []string{"1040", "1203", "1226"},
		advice: kv.Advice{
			model.ErrDenied: {
				"1044": "check the user's rights to the database: to create, drop and use tables, and " +
					"LOCK TABLES, with which records are replaced",
				"1045": "check user and password, and the user's rights to the database",
				"1142": "the user needs the rights to create, drop and use tables in the database",
			},
			model.ErrUnavailable: {
				"1040": "close some of the server's connections, or let it allow more (max_connections)",
				"1203": "close some of this user's connections, or let the server allow it more (max_user_connections)",
			},
			model.ErrUsage: {"1049": "create the database or use another one"},
		},
	}
}

func (s *mysqlServer) Connector() driver.Connector { return s.others }

// load writes rows with one statement.
func (s *mysqlServer) Insert(ctx context.Context, db *sql.DB, table string, columns []string, rows [][]any) error {
	row := kv.Params(s.dialect().param, len(columns))
	_, err := db.ExecContext(ctx, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES "+row+strings.Repeat(", "+row, len(rows)-1),
		slices.Concat(rows...)...)
	return err
}

func (s *mysqlServer) connect(ctx context.Context) (conn, error) {
	c, err := s.sessions.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &mysqlConn{Conn: c, server: s}, nil
}

type mysqlConn struct {
	driver.Conn
	server *mysqlServer
}

func (c *mysqlConn) prepare(ctx context.Context, query string) (statement, error) {
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &mysqlStatement{Stmt: s}, nil
}

// Close ends the connection, and with it the statements.
func (c *mysqlConn) Close() error {
	err := c.Conn.Close()
	if kind, _ := c.server.kindOf(err); kind == load.ErrClosed {
		return nil // it is closed
	}
	return err
}

type mysqlStatement struct {
	driver.Stmt

	args []driver.NamedValue
	row  []driver.Value
}

// bind translates arguments.
func (s *mysqlStatement) bind(args [][]byte) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

func (s *mysqlStatement) query(ctx context.Context, args [][]byte, into kv.Record) (found bool, err error) {
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, s.bind(args))
	if err != nil {
		return false, err
	}
	if len(s.row) < len(into) {
		s.row = make([]driver.Value, len(into))
	}
	if err = rows.Next(s.row); err == nil {
		for i := range into {
			value, _ := s.row[i].([]byte) // without a value it will not verify
			into[i] = append(into[i][:0], value...)
		}
	}
	// Only when the rest was read is the answer whole.
	closeErr := rows.Close()
	if errors.Is(err, io.EOF) && closeErr == nil {
		return false, nil
	}
	return true, errors.Join(err, closeErr)
}

func (s *mysqlStatement) exec(ctx context.Context, args [][]byte) (int64, error) {
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, s.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Code is the number of an error.
func (s *mysqlServer) Code(err error) string {
	if answer, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return strconv.Itoa(int(answer.Number))
	}
	return ""
}

func (s *mysqlServer) answerOf(err error) string {
	if answer, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return answer.Error()
	}
	return ""
}

func (s *mysqlServer) kindOf(err error) (load.Kind, bool) {
	switch code := s.Code(err); {
	case code == "1053", code == "1927": // the server ends, or has ended the connection
		return load.ErrClosed, true
	case code != "":
		return load.ErrStatus, true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return load.ErrClosed, true
	case errors.Is(err, mysql.ErrPktTooLarge):
		return load.ErrStatus, true
	}
	return 0, false
}
