package board

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/load/sqlkv"
)

// pool is the connections to one database. A request has one to itself from its
// first query to its last; when all are taken, the next requests wait in the
// order in which they came. Connections are opened when they are needed first,
// and kept.
type pool struct {
	name  string // db[0], read[1], …
	store *sqlkv.Store
	db    *sql.DB
	slots chan struct{} // as many as there may be connections
	unit  time.Duration // what a unit of work costs, if there is any
	// metered: work ends by the processor time of the database's own thread.
	metered bool

	mu   sync.Mutex
	free []*session

	waiting  atomic.Int64
	waits    atomic.Int64 // how many requests have waited
	waitTime atomic.Int64 // ns
}

func newPool(name, url string, size int) (*pool, error) {
	store, err := sqlkv.New(url)
	if err != nil {
		return nil, err
	}
	p := &pool{name: name, store: store, db: sql.OpenDB(store.Connector()), slots: make(chan struct{}, size)}
	p.db.SetMaxIdleConns(1) // for health; requests keep theirs
	return p, nil
}

// take returns a connection that is the caller's until it calls give.
func (p *pool) take(ctx context.Context) (*session, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	if s := p.pop(); s != nil {
		return s, nil
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		<-p.slots
		return nil, &fault{503, fmt.Sprintf("connecting to %s: %v", p.store.Address(), p.store.Explain(err))}
	}
	s := &session{pool: p, conn: conn}
	if p.metered {
		s.meter = &meter{conn: conn, store: p.store}
		if s.meter.thread = s.meter.find(ctx); s.meter.thread == 0 {
			s.close()
			<-p.slots
			return nil, &fault{503, fmt.Sprintf("the thread of %s that serves this connection is not known", p.store.Address())}
		}
	}
	return s, nil
}

// wait takes a slot.
func (p *pool) wait(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	p.waiting.Add(1)
	p.waits.Add(1)
	started := time.Now()
	defer func() {
		p.waiting.Add(-1)
		p.waitTime.Add(int64(time.Since(started)))
	}()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pop returns the connection that was used last, so that no more are in use than
// are needed.
func (p *pool) pop() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	s := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return s
}

// give returns a connection. After an error that is not the server's answer it is
// closed, and so are those that wait: they lead to a server that is gone.
func (p *pool) give(s *session) {
	p.mu.Lock()
	var drop []*session
	if s.broken {
		drop = append(p.free, s)
		p.free = nil
	} else {
		p.free = append(p.free, s)
	}
	p.mu.Unlock()
	for _, s := range drop {
		s.close()
	}
	<-p.slots
}

func (p *pool) load() int64 { return int64(len(p.slots)) + p.waiting.Load() }

func (p *pool) close() error {
	for s := p.pop(); s != nil; s = p.pop() {
		s.close()
	}
	return p.db.Close()
}

// databases are where the application reads and writes.
type databases struct {
	write, replicas []*pool
	read            []*pool // the replicas, or write without any
	turn            atomic.Uint64
	retries         atomic.Int64 // transactions that the database gave up, and that were done again
}

// openDatabases opens pools, of size connections each.
func openDatabases(ctx context.Context, write, read []string, size int) (*databases, error) {
	d := &databases{}
	var err error
	d.write, err = openPools("db", write, size)
	if err == nil {
		d.replicas, err = openPools("read", read, size)
	}
	if err == nil {
		err = d.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if d.read = d.write; len(d.replicas) > 0 {
		d.read = d.replicas
	}
	return d, nil
}

func openPools(name string, urls []string, size int) ([]*pool, error) {
	var pools []*pool
	for _, u := range urls {
		each, err := hosts(u)
		if err != nil {
			return pools, err
		}
		for _, one := range each {
			p, err := newPool(fmt.Sprintf("%s[%d]", name, len(pools)), one, size)
			if err != nil {
				return pools, err
			}
			pools = append(pools, p)
		}
	}
	return pools, nil
}

// all are the pools of all databases.
func (d *databases) all() []*pool { return slices.Concat(d.write, d.replicas) }

// ready asks every database whether it is filled.
func (d *databases) ready(ctx context.Context) error {
	for _, p := range d.all() {
		if _, err := readDescription(ctx, p.store, p.db); err != nil {
			return err
		}
	}
	return nil
}

// health asks every database for a sign of life.
func (d *databases) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	for _, p := range d.all() {
		if err := p.db.PingContext(ctx); err != nil {
			return fmt.Errorf("the database %s: %w", p.store.Address(), p.store.Explain(err))
		}
	}
	return nil
}

// choose returns the pool with the fewest requests; of equals each in its turn.
func (d *databases) choose(pools []*pool) *pool {
	if len(pools) == 1 {
		return pools[0]
	}
	first := int(d.turn.Add(1) % uint64(len(pools)))
	best := pools[first]
	least := best.load()
	for i := range pools {
		if p := pools[(first+i)%len(pools)]; p.load() < least {
			best, least = p, p.load()
		}
	}
	return best
}

func (d *databases) close() error {
	var errs []error
	for _, p := range d.all() {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// session is a connection in the hands of one request.
type session struct {
	pool   *pool
	conn   *sql.Conn
	tx     *sql.Tx
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
	var answer *fault
	if err == nil || errors.As(err, &answer) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	status := 500
	if s.pool.store.Code(err) == "" {
		s.broken, status = true, 503
	}
	return errors.Join(&fault{status, "the database: " + s.pool.store.Address().Hide(err).Error()}, err)
}

// Queries are not ended when their user has gone: no application does that, and
// watching for it would cost processor time in every query.
func background() context.Context { return context.Background() }

// exec executes a statement and returns how many rows it has changed.
func (s *session) exec(q query, args ...any) (int64, error) {
	var result sql.Result
	var err error
	if s.tx != nil {
		result, err = s.tx.ExecContext(background(), q.in(s.pool.store), args...)
	} else {
		result, err = s.conn.ExecContext(background(), q.in(s.pool.store), args...)
	}
	if err != nil {
		return 0, s.failed(err)
	}
	n, err := result.RowsAffected()
	return n, s.failed(err)
}

// each calls f for each row; f scans it.
func (s *session) each(q query, f func(scan func(...any) error) error, args ...any) (err error) {
	var rows *sql.Rows
	if s.tx != nil {
		rows, err = s.tx.QueryContext(background(), q.in(s.pool.store), args...)
	} else {
		rows, err = s.conn.QueryContext(background(), q.in(s.pool.store), args...)
	}
	if err != nil {
		return s.failed(err)
	}
	for err == nil && rows.Next() {
		err = f(rows.Scan)
	}
	return s.failed(cmp.Or(err, rows.Err(), rows.Close()))
}

// one scans one row into some variables; without a row the answer is 404 with
// this text.
func (s *session) one(q query, missing string, into []any, args ...any) error {
	found := false
	err := s.each(q, func(scan func(...any) error) error {
		found = true
		return scan(into...)
	}, args...)
	if err == nil && !found {
		return &fault{404, missing}
	}
	return err
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
func (v *visit) transaction(f func() error) error {
	s := v.db
	for try := range tries {
		err := s.once(f)
		if err == nil || !slices.Contains(retryCodes, s.pool.store.Code(err)) {
			return err
		}
		v.app.databases.retries.Add(1)
		<-time.After(rand.N(firstWait << try))
	}
	return &fault{503, fmt.Sprintf("the database gave the transaction up %d times in favour of others", tries)}
}

func (s *session) once(f func() error) (err error) {
	if s.tx, err = s.conn.BeginTx(background(), nil); err != nil {
		return s.failed(err)
	}
	tx := s.tx
	defer func() { s.tx = nil }()
	if err = f(); err != nil {
		_ = tx.Rollback() // the first error counts
		return err
	}
	return s.failed(tx.Commit())
}
