package probe

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// mariadb asks MariaDB or MySQL over one connection.
type mariadb struct {
	db *sql.DB
	// asked is how many statements of this probe the server has counted on this
	// connection and the ones before.
	asked float64
}

func openMariaDB(p Probe) (server, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306"))
	c.Logger = &mysql.NopLogger{} // errors are returned, too
	for name, values := range u.Query() {
		switch name {
		case "tls":
			c.TLSConfig = values[0]
		case "socket":
			c.Net, c.Addr = "unix", values[0]
		default:
			return nil, fmt.Errorf("unknown parameter %q: use tls or socket", name)
		}
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return &mariadb{db: db}, nil
}

func (m *mariadb) close() { _ = m.db.Close() } // nothing was written

func (m *mariadb) ask(ctx context.Context, a *answer) error {
	values := map[string]float64{}
	for _, query := range []string{
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_connections', 'thread_pool_max_threads', 'thread_handling')",
		"SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_running', 'Threads_connected', 'Questions', 'Innodb_row_lock_current_waits', 'Uptime')",
	} {
		if err := m.show(ctx, query, values); err != nil {
			return err
		}
		m.asked++
	}
	if err := missing(values, "Threads_running", "Threads_connected", "max_connections", "Questions"); err != nil {
		return err
	}
	a.up = values["Uptime"]
	a.add("threads_busy", values["Threads_running"]-1) // it is at work on the question itself
	a.add("threads_max", cmp.Or(values["pool-of-threads"]*values["thread_pool_max_threads"], values["max_connections"]))
	a.add("sessions", values["Threads_connected"]-1)
	a.add("sessions_max", values["max_connections"])
	a.add("requests", values["Questions"]-m.asked)
	if waits, ok := values["Innodb_row_lock_current_waits"]; ok {
		a.add("lock_waiting", waits)
	}
	return nil
}

// show reads rows of names and values; of a value that is a word, the word is 1.
func (m *mariadb) show(ctx context.Context, query string, values map[string]float64) error {
	rows, err := m.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = v
		} else {
			values[text] = 1
		}
	}
	return rows.Err()
}

// postgres asks PostgreSQL over one connection, which is made anew after an
// error.
type postgres struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn
	asked  float64 // transactions of this probe
}

func openPostgres(p Probe) (server, error) {
	c, err := pgx.ParseConfig(p.URL)
	if err != nil {
		return nil, fmt.Errorf("its url is not understood: use postgres://USER:PASSWORD@HOST:PORT/DATABASE") // pgx's own error repeats it
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // one transaction a question, nothing prepared
	return &postgres{config: c}, nil
}

func (p *postgres) close() {
	if p.conn != nil {
		_ = p.conn.Close(context.Background()) // nothing was written
		p.conn = nil
	}
}

// postgresQuery is one row: sessions at work, all of them, those that wait for a
// lock, how many there may be, finished transactions, the time since the start,
// and whether this user may see all that.
const postgresQuery = `SELECT
 count(*) FILTER (WHERE state IN ('active', 'fastpath function call')),
 count(*),
 count(*) FILTER (WHERE wait_event_type = 'Lock'),
 current_setting('max_connections')::int,
 (SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database WHERE datid <> 0)::bigint,
 extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8,
 pg_has_role('pg_read_all_stats', 'USAGE')
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

func (p *postgres) ask(ctx context.Context, a *answer) error {
	if p.conn == nil {
		conn, err := pgx.ConnectConfig(ctx, p.config)
		if err != nil {
			return err
		}
		p.conn = conn
	}
	var active, all, waiting, most, transactions int64
	var sees bool
	if err := p.conn.QueryRow(ctx, postgresQuery).Scan(&active, &all, &waiting, &most, &transactions, &a.up, &sees); err != nil {
		p.close() //nolint:contextcheck // that context may be over, and the connection must end
		return err
	}
	if !sees {
		return errors.New("this user sees only its own sessions: GRANT pg_monitor TO the user")
	}
	a.add("threads_busy", float64(active))
	a.add("threads_max", float64(most))
	a.add("sessions", float64(all))
	a.add("sessions_max", float64(most))
	a.add("lock_waiting", float64(waiting))
	a.add("requests", float64(transactions)-p.asked)
	p.asked++
	return nil
}
