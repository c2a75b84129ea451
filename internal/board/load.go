package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
)

// Loading is what Load is told.
type Loading struct {
	// DB are URLs of databases. Without DataNodes each is filled; with them they
	// are SQL nodes, over which the tables are partitioned.
	DB []string
	// DataNodes are host or host:port of servers that hold partitions: the same
	// user, password and database as those of DB.
	DataNodes []string
	Sizes     Sizes
	Replace   bool // drop a board that is there
	// Progress is told how many rows of a table are loaded, of how many.
	Progress func(table string, done, total int)
}

// batchBytes is about how much one statement inserts.
const batchBytes = 1 << 20

// Load makes the board's tables and fills them.
func Load(ctx context.Context, l Loading) error {
	if err := l.Sizes.check(); err != nil {
		return err
	}
	nodes, err := openNodes(l.DB)
	defer nodes.close()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := n.clear(ctx, l.Replace); err != nil {
			return err
		}
	}
	if len(l.DataNodes) > 0 {
		return l.partitioned(ctx, nodes)
	}
	for _, n := range nodes {
		if err := n.create(ctx); err != nil {
			return err
		}
		if err := n.fill(ctx, l); err != nil {
			return err
		}
		if err := n.describe(ctx, l.Sizes); err != nil {
			return err
		}
	}
	return nil
}

// database is one, and how it is reached.
type database struct {
	*sqlkv.Store
	db *sql.DB
}

type nodes []*database

func openNodes(urls []string) (nodes, error) {
	var all nodes
	for _, u := range urls {
		each, err := hosts(u)
		if err != nil {
			return all, err
		}
		for _, one := range each {
			store, err := sqlkv.New(one)
			if err != nil {
				return all, err
			}
			db := sql.OpenDB(store.Connector())
			db.SetMaxOpenConns(1)
			all = append(all, &database{store, db})
		}
	}
	if len(all) == 0 {
		return nil, model.Usagef("no database is named: give --db URL")
	}
	return all, nil
}

func (all nodes) close() {
	for _, n := range all {
		_ = n.db.Close() // what was written is committed
	}
}

// exec executes statements.
func (n *database) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := n.db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", n.Address(), n.Explain(err))
		}
	}
	return nil
}

// clear removes a board, if there is one and that is wanted; tables of another
// program it leaves alone.
func (n *database) clear(ctx context.Context, replace bool) error {
	there, ours, err := n.Exists(ctx, n.db, dataTable)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", n.Address(), err)
	case there && !ours:
		return fmt.Errorf("%s: %w", n.Address(), kv.Foreign("the table "+dataTable, "database"))
	case ours && !replace:
		return model.Usagef("%s holds a board already; --replace drops it", n.Address())
	}
	var drop []string
	for _, t := range tables() {
		there, _, err := n.Exists(ctx, n.db, t.name)
		switch {
		case err != nil:
			return err
		case there && !ours:
			return model.Usagef("%s has a table %s that is not the board's; use a database of its own", n.Address(), t.name)
		case there:
			drop = append(drop, "DROP TABLE "+t.name)
		}
	}
	if ours {
		drop = append(drop, "DROP TABLE "+dataTable)
	}
	return n.exec(ctx, drop...)
}

// create makes the tables. The one that describes them comes first, so that a
// board that was not filled is known as one.
func (n *database) create(ctx context.Context) error {
	statements := n.Marked(dataTable, createData(n.Postgres()))
	for _, t := range tables() {
		statements = append(statements, t.create(n.Postgres())...)
	}
	return n.exec(ctx, statements...)
}

// fill loads all tables, and has the database settle.
func (n *database) fill(ctx context.Context, l Loading) error {
	for _, t := range tables() {
		if err := n.fillTable(ctx, t, l); err != nil {
			return fmt.Errorf("loading %s into %s: %w", t.name, n.Address(), n.Explain(err))
		}
		if err := n.Settle(ctx, n.db, t.name); err != nil {
			return err
		}
	}
	return nil
}

func (n *database) fillTable(ctx context.Context, t table, l Loading) error {
	rows, total := l.Sizes.rows(t.name)
	var batch [][]any
	size, done := 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := n.Insert(ctx, n.db, t.name, t.names(), batch)
		done += len(batch)
		batch, size = batch[:0], 0
		if l.Progress != nil {
			l.Progress(t.name, done, total)
		}
		return err
	}
	for row := range rows {
		batch = append(batch, row)
		if size += len(fmt.Sprint(row...)); size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Names of what dataTable holds.
const (
	sizesName = "sizes"
	unitName  = "unit_ns"
)

// describe marks the board as whole.
func (n *database) describe(ctx context.Context, s Sizes) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return n.set(ctx, sizesName, string(text))
}

// set stores a value.
func (n *database) set(ctx context.Context, name, value string) error {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return n.Explain(err)
	}
	_, err = tx.ExecContext(ctx, sqlOf("DELETE FROM "+dataTable+" WHERE name = ?").in(n.Store), name)
	if err == nil {
		_, err = tx.ExecContext(ctx, sqlOf("INSERT INTO "+dataTable+" (name, value) VALUES (?, ?)").in(n.Store), name, value)
	}
	if err != nil {
		_ = tx.Rollback() // the first error counts
		return n.Explain(err)
	}
	return n.Explain(tx.Commit())
}

var getValue = sqlOf("SELECT value FROM " + dataTable + " WHERE name = ?")

// get reads a value; "" if there is none.
func (n *database) get(ctx context.Context, name string) (value string, err error) {
	err = n.db.QueryRowContext(ctx, getValue.in(n.Store), name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, n.Explain(err)
}

// description says what a database was filled with. The error is
// model.ErrUsage if there is no board, or one that was not filled to its end.
func (n *database) description(ctx context.Context) (s Sizes, err error) {
	there, _, err := n.Exists(ctx, n.db, dataTable)
	switch {
	case err != nil:
		return s, fmt.Errorf("%s: %w", n.Address(), err)
	case !there:
		return s, model.Usagef("%s holds no board; fill it with `scalebench board load --db URL`", n.Address())
	}
	switch text, err := n.get(ctx, sizesName); {
	case err != nil:
		return s, err
	case text == "":
		return s, model.Usagef("the board of %s was not loaded to its end; load it again with --replace", n.Address())
	default:
		return s, json.Unmarshal([]byte(text), &s)
	}
}

// partitioned makes the tables on the data nodes, Spider tables on the SQL nodes,
// and fills them through the first of these.
func (l Loading) partitioned(ctx context.Context, sqlNodes nodes) error {
	first := sqlNodes[0]
	if first.Postgres() {
		return model.Usagef("partitions on other servers need MariaDB with Spider, not PostgreSQL")
	}
	var urls []string
	for _, host := range l.DataNodes {
		u := *first.Address().URL()
		u.Host, u.RawQuery = host, ""
		urls = append(urls, u.String())
	}
	data, err := openNodes(urls)
	defer data.close()
	if err != nil {
		return err
	}
	for _, n := range data {
		if err := n.clear(ctx, l.Replace); err != nil {
			return err
		}
		if err := n.create(ctx); err != nil {
			return err
		}
	}
	for _, n := range sqlNodes {
		if err := n.spread(ctx, data); err != nil {
			return err
		}
	}
	if err := first.fill(ctx, l); err != nil {
		return err
	}
	for _, n := range sqlNodes {
		if err := n.describe(ctx, l.Sizes); err != nil {
			return err
		}
	}
	return nil
}

// spread makes Spider tables, with partitions on the data nodes.
func (n *database) spread(ctx context.Context, data nodes) error {
	var status string
	err := n.db.QueryRowContext(ctx, "SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'SPIDER'").Scan(&status)
	if errors.Is(err, sql.ErrNoRows) || err == nil && status != "ACTIVE" {
		return model.Usagef("%s has no Spider: install mariadb-plugin-spider and start it with "+
			"--plugin-load-add=ha_spider --plugin-maturity=gamma", n.Address())
	}
	if err != nil {
		return n.Explain(err)
	}
	var servers, statements []string
	for i, d := range data {
		u := d.Address().URL()
		servers = append(servers, fmt.Sprintf("board_%s_%d", strings.Trim(u.Path, "/"), i+1))
		statements = append(statements, createServer(servers[i], u))
	}
	statements = append(statements, n.Marked(dataTable, createData(false))...)
	for _, t := range tables() {
		statements = append(statements, t.partitioned(servers))
	}
	return n.exec(ctx, statements...)
}

// createServer names a data node, so that tables can say where they are.
func createServer(name string, u *url.URL) string {
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		host, port = u.Host, "3306"
	}
	password, _ := u.User.Password()
	options := fmt.Sprintf("HOST %s, PORT %s, USER %s, PASSWORD %s, DATABASE %s", quoted(host), port, quoted(u.User.Username()),
		quoted(password), quoted(strings.Trim(u.Path, "/")))
	return "CREATE OR REPLACE SERVER `" + strings.ReplaceAll(name, "`", "") + "` FOREIGN DATA WRAPPER mysql OPTIONS (" + options + ")"
}

// quoted is a text as a literal of MySQL.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
