package board

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// waitQuery keeps a connection for so many seconds without processor time.
var waitQuery = query{mysql: "SELECT SLEEP(?)", postgres: "SELECT pg_sleep($1)::text"}

// work has the database work for so much of its processor time: as many units as that
// takes by its calibration or, where the pool is metered, until its thread has used it.
func (s *session) work(d time.Duration) error {
	switch {
	case d <= 0:
		return nil
	case s.meter == nil:
		return s.ask(workQuery, int64((d+s.pool.unit/2)/s.pool.unit))
	}
	return s.workMetered(d)
}

// wait has the database sleep.
func (s *session) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.ask(waitQuery, d.Seconds())
}

// ask executes a statement of which the answer does not matter.
func (s *session) ask(q query, args ...any) error {
	var answer sql.RawBytes
	_, err := s.each(q, []any{&answer}, nil, args...)
	return err
}

// stillParts is after how many parts of work without processor time of the thread it is
// not the one that works. A thread that has not gone to sleep yet may tell of no more than
// it had used some milliseconds ago.
const stillParts = 5

// workMetered works in parts, of which the first is half of what is owed by the
// calibration: where two processors share a core a unit takes up to nearly twice as
// long. What the last part did too much or too little is owed to the next request, so
// that the mean is exact; a request is off by a twentieth.
func (s *session) workMetered(d time.Duration) error {
	begin, err := threadUsed(s.meter.thread)
	owed := s.owed + d
	var units int64
	unit := 2 * max(s.pool.unit, 1)
	for still := 0; err == nil && owed > d/20; {
		n := max(1, int64(owed/unit))
		if err := s.ask(workQuery, n); err != nil {
			return err
		}
		units += n
		var used time.Duration
		used, err = threadUsed(s.meter.thread)
		left := s.owed + d - (used - begin)
		if still++; left < owed {
			still, unit = 0, max((s.owed+d-left)/time.Duration(units), 1)
		}
		if owed = left; still == stillParts {
			return s.failed(fmt.Errorf("thread %d of %s does not work while it answers", s.meter.thread, s.pool.Address()))
		}
	}
	if err != nil { // then the next request has nothing to make up for
		return s.failed(fmt.Errorf("reading the processor time of thread %d of %s: %w", s.meter.thread, s.pool.Address(),
			err))
	}
	s.owed = owed
	return nil
}

// meterable asks whether threads of the database are on this machine.
func (p *pool) meterable(ctx context.Context) error {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", p.Address(), p.Explain(err))
	}
	defer conn.Close() //nolint:errcheck // it was only read
	m := &meter{conn: conn, store: p.Store}
	if _, err := m.prepare(ctx); err != nil {
		return p.Explain(err)
	}
	if m.thread == 0 {
		return model.Usagef("the threads of %s are not seen on this machine, "+
			"so that their processor time cannot be read; leave out --meter-db", p.Address())
	}
	return nil
}

// meter measures statements of one connection.
type meter struct {
	conn    *sql.Conn
	store   *sqlkv.Store
	thread  int    // the thread that serves the connection; 0: it is not here
	process string // its process
}

// prepare finds the thread, and how many units take about roundTime. The thread
// is believed to be here if it works while the database does.
func (m *meter) prepare(ctx context.Context) (units int64, err error) {
	m.thread = m.find(ctx)
	for units = 1000; ; units *= 2 {
		before := m.used()
		started := time.Now()
		if err := m.run(ctx, units); err != nil {
			return 0, err
		}
		elapsed := time.Since(started)
		if elapsed < roundTime {
			continue
		}
		if used := m.used() - before; used < elapsed/100 || used > elapsed*11/10 {
			m.thread, m.process = 0, ""
		}
		return units, nil
	}
}

func (m *meter) run(ctx context.Context, units int64) error {
	var n int64
	return m.conn.QueryRowContext(ctx, workQuery.in(m.store), units).Scan(&n)
}

// cost is the processor time of a statement, or how long it took.
func (m *meter) cost(ctx context.Context, units int64) (time.Duration, error) {
	before, started := m.used(), time.Now()
	if err := m.run(ctx, units); err != nil {
		return 0, err
	}
	if m.thread == 0 {
		return time.Since(started), nil
	}
	return m.used() - before, nil
}

// find asks the database which thread, or process, serves the connection. MariaDB
// and MySQL tell in different ways; who tells nothing is not known.
func (m *meter) find(ctx context.Context) int {
	ask := []string{"SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()",
		"SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()"}
	if m.store.Postgres() {
		ask = []string{"SELECT pg_backend_pid()"}
	}
	for _, q := range ask {
		var thread int
		if err := m.conn.QueryRowContext(ctx, q).Scan(&thread); err != nil {
			continue
		}
		if name := processOf(thread); strings.HasPrefix(name, "mariadb") || strings.HasPrefix(name, "mysql") || strings.HasPrefix(name, "postgres") {
			m.process = name
			return thread
		}
	}
	return 0
}

// processOf names the process of a thread of this machine, with its number; "" if
// there is none.
func processOf(thread int) string {
	_, rest, found := strings.Cut(procself.ReadText(fmt.Sprintf("/proc/%d/status", thread)), "\nTgid:\t")
	pid, _, _ := strings.Cut(rest, "\n")
	if name := procself.ReadText("/proc/" + pid + "/comm"); found && name != "" {
		return name + " " + pid
	}
	return ""
}

// used is the processor time of the thread so far; 0 if it cannot be read.
func (m *meter) used() time.Duration {
	if m.thread == 0 {
		return 0
	}
	used, _ := threadUsed(m.thread)
	return used
}

// threadUsed reads the processor time of a thread, to the nanosecond
// (Documentation/scheduler/sched-stats.rst of Linux).
func threadUsed(thread int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", thread, thread))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return 0, errors.New("schedstat is empty")
	}
	ns, err := strconv.ParseInt(fields[0], 10, 64)
	return time.Duration(ns), err
}
