package board

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
)

// workQuery is the database's work: the argument is how many units. Each unit is
// the same computation, so that a statement's processor time is a straight line.
var workQuery = query{
	mysql:    "SELECT BENCHMARK(?, MD5('" + workText + "'))",
	postgres: "SELECT count(md5(i::text || '" + workText + "')) FROM generate_series(1, $1::bigint) i",
}

const workText = "a unit of work for the database, which is long enough to cost some hundred nanoseconds"

// work has the database work for so much of its processor time.
func (s *session) work(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	units := int64((d + s.pool.unit/2) / s.pool.unit)
	return s.each(workQuery, func(scan func(...any) error) error {
		var n int64
		return scan(&n)
	}, units)
}

// calibrated finds out what a unit costs in each database, if any has work.
func (d *databases) calibrated(ctx context.Context, work []time.Duration, unit time.Duration) error {
	if slices.Max(work) == 0 {
		return nil
	}
	for _, p := range d.all() {
		if p.unit = unit; unit > 0 {
			continue
		}
		text, err := get(ctx, p.store, p.db, unitName)
		if err != nil {
			return err
		}
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ns <= 0 {
			return fmt.Errorf("%w: it is not known what work costs in %s: measure it with `scalebench board calibrate --db URL --save`, or say it with --db-unit", model.ErrUsage, p.store.Address())
		}
		p.unit = time.Duration(ns)
	}
	return nil
}

// Calibration is what a unit of a database's work costs.
type Calibration struct {
	Database string `json:"database"`
	// Unit is the median over rounds, in s; Low and High are quartiles.
	Unit float64 `json:"unit"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Statement is what a statement of work costs beside its units, in s.
	Statement float64 `json:"statement"`
	Rounds    int     `json:"rounds"`
	// Process is the database's process of which the processor time was read; "" where it
	// is not on this machine. Then times are elapsed times, which are as long as
	// processor times only if nothing else runs and no quota holds it back.
	Process string `json:"process,omitempty"`
}

const (
	calibrationRounds = 16
	roundTime         = 20 * time.Millisecond // about, of the shorter of two statements
)

// Calibrate measures what a unit of work costs in a database, from statements of
// n and of 3n units: their difference is 2n units, without what statements cost
// by themselves. With save it stores that in the database, for the application.
func Calibrate(ctx context.Context, url string, save bool) (Calibration, error) {
	all, err := openNodes([]string{url})
	defer func() { _ = all.close() }() // what was written is committed
	if err != nil {
		return Calibration{}, err
	}
	if len(all) > 1 {
		return Calibration{}, fmt.Errorf("%w: one database at a time is calibrated", model.ErrUsage)
	}
	n := all[0]
	if save {
		if _, err := readDescription(ctx, n.store, n.db); err != nil {
			return Calibration{}, err
		}
	}
	c, err := n.calibrate(ctx)
	if err == nil && save {
		err = n.set(ctx, unitName, strconv.FormatInt(int64(c.Unit*1e9+.5), 10))
	}
	return c, err
}

func (n *node) calibrate(ctx context.Context) (Calibration, error) {
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return Calibration{}, fmt.Errorf("connecting to %s: %w", n.store.Address(), n.store.Explain(err))
	}
	defer func() { _ = conn.Close() }() // it was only read
	m := &meter{conn: conn, store: n.store}
	units, err := m.prepare(ctx)
	if err != nil {
		return Calibration{}, n.store.Explain(err)
	}
	each, fixed := make([]float64, calibrationRounds), make([]float64, calibrationRounds)
	for i := range each {
		short, err := m.cost(ctx, units)
		if err != nil {
			return Calibration{}, n.store.Explain(err)
		}
		long, err := m.cost(ctx, 3*units)
		if err != nil {
			return Calibration{}, n.store.Explain(err)
		}
		each[i] = (long - short).Seconds() / float64(2*units)
		fixed[i] = short.Seconds() - each[i]*float64(units)
	}
	slices.Sort(each)
	slices.Sort(fixed)
	at := func(q int) int { return calibrationRounds * q / 4 }
	return Calibration{Database: n.store.Address().String(), Unit: each[at(2)], Low: each[at(1)], High: each[at(3)],
		Statement: fixed[at(2)], Rounds: calibrationRounds, Process: m.process}, nil
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
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		pid, found := strings.CutPrefix(line, "Tgid:")
		if !found {
			continue
		}
		pid = strings.TrimSpace(pid)
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err == nil {
			return strings.TrimSpace(string(name)) + " " + pid
		}
	}
	return ""
}

// used is the processor time of the thread so far; 0 if it cannot be read.
func (m *meter) used() time.Duration {
	if m.thread == 0 {
		return 0
	}
	ns, err := threadUsed(m.thread)
	if err != nil {
		return 0
	}
	return ns
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
