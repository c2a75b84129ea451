package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// The tables, in the keyspace of the URL.
const (
	recordTable = "scalebench_kv"
	stateTable  = "scalebench_kv_state" // holds the description of the data set
)

type admin struct {
	*conn
	options options
}

// Find reads the description.
func (a *admin) Find(ctx context.Context) (string, error) {
	made, err := a.made(ctx)
	if err != nil || !made {
		return "", err
	}
	var description string
	err = a.Query("SELECT description FROM "+a.options.table(stateTable)+" WHERE id = 0").ScanContext(ctx, &description)
	if errors.Is(err, gocql.ErrNotFound) {
		return "", nil
	}
	return description, adminError(err)
}

// Count reads all keys, page by page: count(*) would be one request, which a
// large table takes longer for than the server allows.
func (a *admin) Count(ctx context.Context) (n int64, err error) {
	made, err := a.made(ctx)
	if err != nil || !made {
		return 0, err
	}
	rows := a.Query("SELECT k FROM " + a.options.table(recordTable)).PageSize(5000).IterContext(ctx)
	var key string
	for rows.Scan(&key) {
		n++
	}
	return n, adminError(rows.Close())
}

// made reports whether there are tables that Create has made. A table of
// records that another program has made is an error, model.ErrUsage.
func (a *admin) made(ctx context.Context) (bool, error) {
	tables := map[string]bool{}
	rows := a.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", a.options.keyspace).IterContext(ctx)
	var name string
	for rows.Scan(&name) {
		tables[name] = true
	}
	if err := rows.Close(); err != nil {
		return false, adminError(err)
	}
	if tables[recordTable] && !tables[stateTable] {
		return false, kv.Foreign(a.options.table(recordTable), "keyspace")
	}
	return tables[recordTable] && tables[stateTable], nil
}

// Create makes the tables, and the keyspace if it is ours. The table of records
// is made last: without the other it is not ours.
func (a *admin) Create(ctx context.Context, shape kv.Shape) error {
	if err := a.Drop(ctx); err != nil {
		return err
	}
	var statements []string
	if a.options.ours() {
		statements = append(statements, fmt.Sprintf(
			"CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}",
			a.options.keyspace, a.options.replication))
	}
	columns := strings.Join(shape.Names(), " text, ") + " text"
	statements = append(statements,
		"CREATE TABLE IF NOT EXISTS "+a.options.table(stateTable)+" (id int PRIMARY KEY, description text)",
		"CREATE TABLE "+a.options.table(recordTable)+" (k text PRIMARY KEY, "+columns+")")
	return a.execute(ctx, statements...)
}

// execute changes the schema; the library waits until all nodes agree on it.
func (a *admin) execute(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if err := a.Query(s).ExecContext(ctx); err != nil {
			return adminError(err)
		}
	}
	return nil
}

// Load writes rows, with 32 statements under way, each of one row: a batch of
// several partitions would burden the one server that must then deal it out.
func (a *admin) Load(ctx context.Context, shape kv.Shape, rows []kv.Row) error {
	defer a.sockets.closeAfter(ctx)()
	insert := insertStatement(a.options.table(recordTable), shape)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	for _, row := range rows {
		group.Go(func() error { return a.Query(insert, row.Values()...).ExecContext(ctx) })
	}
	return adminError(group.Wait())
}

// Finish writes the description. What the server has in memory is written to
// files when it likes; that it does so during a measurement is a part of how it
// works, and no client can tell it to.
func (a *admin) Finish(ctx context.Context, description string) error {
	err := a.Query("INSERT INTO "+a.options.table(stateTable)+" (id, description) VALUES (0, ?)", description).ExecContext(ctx)
	return adminError(err)
}

// Drop removes the tables, and the keyspace if it is ours.
func (a *admin) Drop(ctx context.Context) error {
	if _, err := a.made(ctx); err != nil {
		return err
	}
	if a.options.ours() {
		return a.execute(ctx, "DROP KEYSPACE IF EXISTS "+a.options.keyspace)
	}
	return a.execute(ctx,
		"DROP TABLE IF EXISTS "+a.options.table(recordTable),
		"DROP TABLE IF EXISTS "+a.options.table(stateTable))
}
