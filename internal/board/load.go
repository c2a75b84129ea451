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
	defer func() { _ = nodes.close() }() // what was written is committed
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
		err := n.create(ctx)
		if err == nil {
			err = n.fill(ctx, l)
		}
		if err == nil {
			err = n.describe(ctx, l.Sizes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// node is one database.
type node struct {
	store *sqlkv.Store
	db    *sql.DB
}

type nodes []*node

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
			all = append(all, &node{store, db})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no database is named: give --db URL", model.ErrUsage)
	}
	return all, nil
}

func (all nodes) close() error {
	var errs []error
	for _, n := range all {
		errs = append(errs, n.db.Close())
	}
	return errors.Join(errs...)
}

// exec executes statements.
func (n *node) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := n.db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", n.store.Address(), n.store.Explain(err))
		}
	}
	return nil
}

// clear removes a board, if there is one and that is wanted; tables of another
// program it leaves alone.
func (n *node) clear(ctx context.Context, replace bool) error {
	there, ours, err := n.store.Exists(ctx, n.db, dataTable)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", n.store.Address(), err)
	case there && !ours:
		return fmt.Errorf("%s: %w", n.store.Address(), kv.Foreign("the table "+dataTable, "database"))
	case ours && !replace:
		return fmt.Errorf("%w: %s holds a board already; --replace drops it", model.ErrUsage, n.store.Address())
	}
	for _, t := range tables() {
		there, _, err := n.store.Exists(ctx, n.db, t.name)
		switch {
		case err != nil:
			return err
		case there && !ours:
			return fmt.Errorf("%w: %s has a table %s that is not the board's; use a database of its own", model.ErrUsage, n.store.Address(), t.name)
		case there:
			err = n.exec(ctx, "DROP TABLE "+t.name)
		}
		if err != nil {
			return err
		}
	}
	if !ours {
		return nil
	}
	return n.exec(ctx, "DROP TABLE "+dataTable)
}

// create makes the tables. The one that describes them comes first, so that a
// board that was not filled is known as one.
func (n *node) create(ctx context.Context) error {
	postgres := n.store.Postgres()
	err := n.exec(ctx, n.store.Marked(dataTable, createData(postgres))...)
	for _, t := range tables() {
		if err == nil {
			err = n.exec(ctx, t.create(postgres)...)
		}
	}
	return err
}

// fill loads all tables, and has the database settle.
func (n *node) fill(ctx context.Context, l Loading) error {
	for _, t := range tables() {
		if err := n.fillTable(ctx, t, l); err != nil {
			return fmt.Errorf("loading %s into %s: %w", t.name, n.store.Address(), n.store.Explain(err))
		}
		if err := n.store.Settle(ctx, n.db, t.name); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) fillTable(ctx context.Context, t table, l Loading) error {
	rows, total := l.Sizes.rows(t.name)
	var batch [][]any
	size, done := 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := n.store.Insert(ctx, n.db, t.name, t.names(), batch)
		done += len(batch)
		batch, size = batch[:0], 0
		if l.Progress != nil {
			l.Progress(t.name, done, total)
		}
		return err
	}
	for row := range rows {
		batch = append(batch, row)
		if size += sizeOf(row); size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// sizeOf is about how many bytes a row takes in a statement.
func sizeOf(row []any) int {
	size := 0
	for _, v := range row {
		size += 16
		if s, ok := v.(string); ok {
			size += len(s)
		}
	}
	return size
}

// Names of what dataTable holds.
const (
	sizesName = "sizes"
	unitName  = "unit_ns"
)

// describe marks the board as whole.
func (n *node) describe(ctx context.Context, s Sizes) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return n.set(ctx, sizesName, string(text))
}

// set stores a value.
func (n *node) set(ctx context.Context, name, value string) error {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return n.store.Explain(err)
	}
	drop, add := sqlOf("DELETE FROM "+dataTable+" WHERE name = ?"), sqlOf("INSERT INTO "+dataTable+" (name, value) VALUES (?, ?)")
	_, err = tx.ExecContext(ctx, drop.in(n.store), name)
	if err == nil {
		_, err = tx.ExecContext(ctx, add.in(n.store), name, value)
	}
	if err != nil {
		_ = tx.Rollback() // the first error counts
		return n.store.Explain(err)
	}
	return n.store.Explain(tx.Commit())
}

var getValue = sqlOf("SELECT value FROM " + dataTable + " WHERE name = ?")

// get reads a value; "" if there is none.
func get(ctx context.Context, store *sqlkv.Store, db *sql.DB, name string) (string, error) {
	value := ""
	err := db.QueryRowContext(ctx, getValue.in(store), name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, store.Explain(err)
}

// readDescription says what a database was filled with. The error is
// model.ErrUsage if there is no board, or one that was not filled to its end.
func readDescription(ctx context.Context, store *sqlkv.Store, db *sql.DB) (Sizes, error) {
	var s Sizes
	there, _, err := store.Exists(ctx, db, dataTable)
	if err != nil {
		return s, fmt.Errorf("%s: %w", store.Address(), err)
	}
	if !there {
		return s, fmt.Errorf("%w: %s holds no board; fill it with `scalebench board load --db URL`", model.ErrUsage, store.Address())
	}
	text, err := get(ctx, store, db, sizesName)
	if err != nil {
		return s, err
	}
	if text == "" {
		return s, fmt.Errorf("%w: the board of %s was not loaded to its end; load it again with --replace", model.ErrUsage, store.Address())
	}
	return s, json.Unmarshal([]byte(text), &s)
}

// partitioned makes the tables on the data nodes, Spider tables on the SQL nodes,
// and fills them through the first of these.
func (l Loading) partitioned(ctx context.Context, sqlNodes nodes) error {
	first := sqlNodes[0]
	if first.store.Postgres() {
		return fmt.Errorf("%w: partitions on other servers need MariaDB with Spider, not PostgreSQL", model.ErrUsage)
	}
	data, err := openNodes(dataURLs(first, l.DataNodes))
	defer func() { _ = data.close() }() // what was written is committed
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

// dataURLs are the URLs of data nodes.
func dataURLs(like *node, hosts []string) []string {
	urls := make([]string, len(hosts))
	for i, host := range hosts {
		u := *like.store.Address().URL()
		u.Host, u.RawQuery = host, ""
		urls[i] = u.String()
	}
	return urls
}

// spread makes Spider tables, with partitions on the data nodes.
func (n *node) spread(ctx context.Context, data nodes) error {
	var status string
	err := n.db.QueryRowContext(ctx, "SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'SPIDER'").Scan(&status)
	if errors.Is(err, sql.ErrNoRows) || err == nil && status != "ACTIVE" {
		return fmt.Errorf("%w: %s has no Spider: install mariadb-plugin-spider and start it with --plugin-load-add=ha_spider --plugin-maturity=gamma", model.ErrUsage, n.store.Address())
	}
	if err != nil {
		return n.store.Explain(err)
	}
	servers := make([]string, len(data))
	for i, d := range data {
		u := d.store.Address().URL()
		servers[i] = fmt.Sprintf("board_%s_%d", strings.Trim(u.Path, "/"), i+1)
		if err := n.exec(ctx, createServer(servers[i], u)); err != nil {
			return err
		}
	}
	if err := n.exec(ctx, n.store.Marked(dataTable, createData(false))...); err != nil {
		return err
	}
	for _, t := range tables() {
		if err := n.exec(ctx, t.partitioned(servers)); err != nil {
			return err
		}
	}
	return nil
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
