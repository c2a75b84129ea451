package board

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// pool is the connections to one database. A request has one to itself from its
// first query to its last; when all are taken, the next requests wait in the
// order in which they came. Connections are opened when they are needed first,
// and kept.
type pool struct {
	*database
	limiter
	name string        // db[0], read[1], …
	unit time.Duration // what a unit of work costs, if there is any
	// metered: work ends by the processor time of the database's own thread.
	metered bool
	free    kept[*session]
}

// take returns a connection that is the caller's until it calls give.
func (p *pool) take(ctx context.Context) (*session, error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	if s, ok := p.free.pop(); ok {
		return s, nil
	}
	s, err := p.connect(ctx)
	if err != nil {
		p.leave()
		return nil, &fault{http.StatusServiceUnavailable, err.Error()}
	}
	return s, nil
}

func (p *pool) connect(ctx context.Context) (*session, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", p.Address(), p.Explain(err))
	}
	s := &session{pool: p, conn: conn, on: conn}
	if p.metered {
		s.meter = &meter{conn: conn, store: p.Store}
		if s.meter.thread = s.meter.find(ctx); s.meter.thread == 0 {
			s.close()
			return nil, fmt.Errorf("the thread of %s that serves this connection is not known", p.Address())
		}
	}
	return s, nil
}

// give returns a connection. After an error that is not the server's answer it is
// closed, and so are those that wait: they lead to a server that is gone.
func (p *pool) give(s *session) {
	if s.broken {
		s.close()
		p.drop()
	} else {
		p.free.push(s)
	}
	p.leave()
}

func (p *pool) load() int64 { return p.inside() + p.waiting.Load() }

// drop closes the connections that wait.
func (p *pool) drop() {
	for _, s := range p.free.drain() {
		s.close()
	}
}

// databases are where the application reads and writes.
type databases struct {
	all         []*pool // those to write to, then replicas
	write, read []*pool // read: the replicas, or write without any
	turn        atomic.Uint64
	retries     atomic.Int64 // transactions that the database gave up, and that were done again
}

// openDatabases opens pools, of size connections each, to databases that are filled.
func openDatabases(ctx context.Context, write, read []string, size int) (*databases, error) {
	d := &databases{}
	err := d.open("db", write, size)
	d.write, d.read = d.all, d.all
	if err == nil && len(read) > 0 {
		err = d.open("read", read, size)
		d.read = d.all[len(d.write):]
	}
	for _, p := range d.all {
		if err == nil {
			_, err = p.description(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *databases) open(name string, urls []string, size int) error {
	all, err := openNodes(urls)
	for i, n := range all {
		n.db.SetMaxOpenConns(0)
		n.db.SetMaxIdleConns(1) // for health; requests keep theirs
		p := &pool{database: n, name: fmt.Sprintf("%s[%d]", name, i)}
		p.limit(size)
		d.all = append(d.all, p)
	}
	return err
}

// health asks every database for a sign of life.
func (d *databases) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	for _, p := range d.all {
		if err := p.db.PingContext(ctx); err != nil {
			return fmt.Errorf("the database %s: %w", p.Address(), p.Explain(err))
		}
	}
	return nil
}

// choose returns the pool with the fewest requests.
func (d *databases) choose(pools []*pool) *pool {
	return leastLoaded(pools, d.turn.Add(1), (*pool).load)
}

// leastLoaded returns the one with the least load; of equals each in its turn.
func leastLoaded[T any](all []T, turn uint64, load func(T) int64) T {
	n := uint64(len(all))
	best := all[turn%n]
	least := load(best)
	for i := range n {
		x := all[(turn+i)%n]
		if l := load(x); l < least {
			best, least = x, l
		}
	}
	return best
}

func (d *databases) close() (err error) {
	for _, p := range d.all {
		p.drop()
		err = errors.Join(err, p.db.Close())
	}
	return err
}

// session is a connection in the hands of one request.
type session struct {
	pool *pool
	conn *sql.Conn
	on   interface { // the connection, or its transaction
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	broken bool

	meter *meter        // nil: work is counted in units
	owed  time.Duration // work that is left, or below 0 was too much, of the requests so far
}

// close ends the connection; database/sql would keep it.
func (s *session) close() {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // which is how one says that
	_ = s.conn.Close()                                           // it is closed
}

// failed turns an error into an answer, and remembers whether the connection can
// be used again.
func (s *session) failed(err error) error {
	if err == nil {
		return nil
	}
	status := http.StatusInternalServerError
	if s.pool.Code(err) == "" {
		s.broken, status = true, http.StatusServiceUnavailable
	}
	return errors.Join(&fault{status, "the database: " + s.pool.Address().Hide(err).Error()}, err)
}

// Queries are not ended when their user has gone: no application does that, and
// watching for it would cost processor time in every query.
func background() context.Context { return context.Background() }

// exec executes a statement and returns how many rows it has changed.
func (s *session) exec(q query, args ...any) (n int64, err error) {
	result, err := s.on.ExecContext(background(), q.in(s.pool.Store), args...)
	if err == nil {
		n, err = result.RowsAffected()
	}
	return n, s.failed(err)
}

// each scans each row into these variables, calls row, which may be nil, and returns how
// many rows there were.
func (s *session) each(q query, into []any, row func(), args ...any) (n int, err error) {
	rows, err := s.on.QueryContext(background(), q.in(s.pool.Store), args...)
	if err != nil {
		return 0, s.failed(err)
	}
	for rows.Next() {
		if err = rows.Scan(into...); err != nil {
			break
		}
		n++
		if row != nil {
			row()
		}
	}
	return n, s.failed(cmp.Or(err, rows.Err(), rows.Close())) //nolint:sqlclosecheck // its error counts
}

// retryCodes are answers after which a transaction is done again: deadlocks and
// conflicts, of MySQL and Galera, and of PostgreSQL.
var retryCodes = []string{"1205", "1213", "40001", "40P01"}

// tries is how often a transaction is tried. Before each further time it waits for
// a moment that is drawn from twice as long a span, so that those that got into
// each other's way do not meet again.
const (
	tries     = 10
	firstWait = time.Millisecond
)

// transaction executes f in a transaction, again if the database gave it up in
// favour of another one.
func (v *visit) transaction(f func()) {
	if v.err != nil {
		return
	}
	for try := range tries {
		v.once(f)
		if !slices.Contains(retryCodes, v.db.pool.Code(v.err)) {
			return
		}
		v.err = nil
		v.app.databases.retries.Add(1)
		<-time.After(rand.N(firstWait << try))
	}
	v.fail(http.StatusServiceUnavailable, fmt.Sprintf("the database gave the transaction up %d times in favour of others",
		tries))
}

func (v *visit) once(f func()) {
	s := v.db
	tx, err := s.conn.BeginTx(background(), nil)
	if err != nil {
		v.err = s.failed(err)
		return
	}
	s.on = tx
	defer func() { s.on = s.conn }()
	if f(); v.err == nil {
		v.err = s.failed(tx.Commit())
	} else {
		_ = tx.Rollback() // the first error counts
	}
}
