package sqlkv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

var _ kv.Bounded = (*admin)(nil)

// Room implements kv.Bounded. Servers that only speak the protocol of a product may
// not know what it is asked for; then it is not known.
func (a *admin) Room(ctx context.Context) (load.Room, error) {
	r, err := a.store.room(ctx, a.DB)
	if a.store.Code(err) != "" {
		return load.Room{}, nil
	}
	return r, err
}

// postgresRoom are the limits of the server, of the user and of the database, each
// with how many of its connections others hold. What the server keeps for superusers
// is not there for us, even if we are one.
const postgresRoom = `WITH others AS (
	SELECT usesysid, datid FROM pg_stat_activity
	WHERE pid <> pg_backend_pid() AND datid IS NOT NULL AND usesysid IS NOT NULL
		AND coalesce(backend_type, 'client backend') = 'client backend'
		AND application_name IS DISTINCT FROM current_setting('application_name'))
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
	- coalesce(current_setting('reserved_connections', true)::int, 0), (SELECT count(*) FROM others), 'max_connections without those reserved'
UNION ALL SELECT rolconnlimit, (SELECT count(*) FROM others WHERE usesysid = r.oid), 'CONNECTION LIMIT of the user'
	FROM pg_roles r WHERE rolname = session_user AND rolconnlimit >= 0
UNION ALL SELECT datconnlimit, (SELECT count(*) FROM others WHERE datid = d.oid), 'CONNECTION LIMIT of the database'
	FROM pg_database d WHERE datname = current_database() AND datconnlimit >= 0`

func (s *postgresServer) room(ctx context.Context, db *sql.DB) (r load.Room, err error) {
	if pooled, err := pooled(ctx, db); err != nil || pooled {
		return r, err
	}
	rows, err := db.QueryContext(ctx, postgresRoom)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one load.Room
		if err := rows.Scan(&one.Limit, &one.Others, &one.Setting); err != nil {
			return r, err
		}
		r = r.Tighter(one)
	}
	return r, rows.Err()
}

// pooled reports whether a pooler stands before the server, which lets many clients
// share few of its connections: the process that it has named is not the server's.
func pooled(ctx context.Context, db *sql.DB) (is bool, err error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	var named, serves uint32
	err = errors.Join(
		c.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&serves),
		c.Raw(func(c any) error {
			named = c.(*stdlib.Conn).Conn().PgConn().PID()
			return nil
		}),
		c.Close())
	return named != serves, err
}

// mysqlMark is what connections have as an attribute, by which the server counts those
// of ours among those of the same user. Without its performance schema, as MariaDB is
// delivered, it does not know them.
const (
	mysqlMark  = "program_name:scalebench"
	mysqlMarks = "SELECT count(*) FROM performance_schema.session_account_connect_attrs " +
		"WHERE attr_name = 'program_name' AND attr_value = 'scalebench'"
)

// room implements database. Where the server does not tell ours, the connections of
// the same user are taken for that: its own need a while to end, and other generators
// have some.
func (s *mysqlServer) room(ctx context.Context, db *sql.DB) (r load.Room, err error) {
	var name string
	var all, same, ours, ofUser int
	r.Setting = "max_connections"
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &all)
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT @@max_connections, @@max_user_connections, (SELECT count(*) FROM "+
			"information_schema.processlist WHERE user = substring_index(user(), '@', 1))").Scan(&r.Limit, &ofUser, &same)
	}
	if err != nil {
		return r, fmt.Errorf("asking how many connections are allowed: %w", err)
	}
	if err := db.QueryRowContext(ctx, mysqlMarks).Scan(&ours); err != nil && s.Code(err) == "" {
		return r, err
	}
	if ours == 0 { // not even this one
		ours, r.SameUser = same, max(same-1, 0)
	}
	r.Others = max(all-ours, 0)
	if ofUser > 0 {
		r = r.Tighter(load.Room{
			Limit: ofUser, Others: max(same-ours, 0), SameUser: r.SameUser, Setting: "max_user_connections",
		})
	}
	return r, nil
}
