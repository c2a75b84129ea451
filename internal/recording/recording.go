// Package recording takes readings of counters and states on a schedule, and
// makes columns of them.
//
//  1. [Start] takes a first reading before it returns.
//  2. At every step, on a schedule that does not drift, all sources are read at
//     once and make one row of a table. A reading that was missed stays
//     missing: nothing is interpolated.
//  3. After so many rows every other one is dropped, and readings become half as
//     many. Who looks while it goes on may keep the latest rows instead.
//  4. [Recording.Stop] takes a last reading; [Recording.Series] gives columns,
//     with times since the task's start.
package recording

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Metric describes what is read.
type Metric struct {
	Name string // of the series
	Unit string // of the values: "s", "byte", "1"
	// Counter: the values grow from 0 at the first reading. Otherwise they are
	// the state at the moment of the reading.
	Counter bool
	// Late: a counter that is first told when it is no longer 0. It was 0 at the
	// reading before; where it is one of several, "requests[Home]", at the one before
	// that told the sum of all, "requests".
	Late bool
}

// Counters describes counters of these names.
func Counters(unit string, names ...string) []Metric {
	return Metric{Unit: unit, Counter: true}.Named(names...)
}

// States describes what has a value at each moment.
func States(unit string, names ...string) []Metric { return Metric{Unit: unit}.Named(names...) }

// Named are metrics of these names that are alike otherwise.
func (m Metric) Named(names ...string) []Metric {
	list := make([]Metric, len(names))
	for i, name := range names {
		list[i], list[i].Name = m, name
	}
	return list
}

// Source is something to read metrics from.
type Source interface {
	// Read takes a value of each metric. Counters are as they are counted; the
	// recording makes them start at 0.
	Read(out func(metric string, value float64))
	Close()
}

// Config says what to read, and when.
type Config struct {
	Step    time.Duration // between readings; positive
	Sources []Source
	// Metric describes one by its name.
	Metric func(name string) Metric
	// Now is the clock; time.Now if nil. Its times must carry Go's monotonic
	// reading, so that a clock that is set does not shift readings.
	Now func() time.Time
	// Limit is how many rows are kept; 8,000 if zero: at one a second, readings
	// are half as many after 2 h 13 min.
	Limit int
	// Recent, if it is not zero, is how many of the latest rows are kept, in place of
	// all: a recording without an end stays as small as it is, and as fine.
	Recent int
	// After is called after each reading but the first and the last, in the order of
	// readings; nil: nothing is.
	After func(*Recording)
	// AtEnd: the time of a reading is its end. Otherwise it is the middle. It is
	// for sources that wait for an answer, which tells how things were when it
	// was made.
	AtEnd bool
}

// maxRows is how many readings are kept where it is not said.
const maxRows = 8000

// Start takes a first reading and goes on reading until Stop is called or ctx
// ends. Stop must be called in either case.
func Start(ctx context.Context, cfg Config) *Recording {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Recording{
		cfg: cfg, limit: cmp.Or(cfg.Limit, maxRows), table: &table{metric: cfg.Metric, index: make(map[string]int)},
		stride: 1, stop: make(chan struct{}), done: make(chan struct{}),
	}
	r.emit = r.table.put
	r.read(0)
	go r.run(ctx)
	return r
}

// Recording is what is read from Start to Stop.
type Recording struct {
	cfg   Config
	limit int // rows
	emit  func(metric string, value float64)

	stopOnce sync.Once
	stop     chan struct{}
	done     chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards what follows
	table  *table
	began  time.Time // of the first reading
	stride int64     // every how many steps there is a reading
}

// Stop takes a last reading and ends the recording. A second call does
// nothing.
func (r *Recording) Stop() {
	r.stopOnce.Do(func() {
		close(r.stop)
		<-r.done
		r.last()
		for _, s := range r.cfg.Sources {
			s.Close()
		}
	})
}

// Series returns what was read, with offsets from started, which is in the
// node's own clock; the first is negative when the recording began before.
// Every series is finite and ascending in time, and counters begin at 0. A
// reading that was not taken, or that lacked the metric, is not there.
func (r *Recording) Series(started time.Time) []model.HostSeries {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table.series(r.began.Sub(started))
}

func (r *Recording) run(ctx context.Context) {
	defer close(r.done)
	tick, wait := r.next()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.stop:
			return
		case <-timer.C:
			r.read(tick)
			if r.cfg.After != nil {
				r.cfg.After(r)
			}
			tick, wait = r.next()
			timer.Reset(wait)
		}
	}
}

// next is the number of the next reading, and how long to wait for it.
// Readings stay on one schedule: one that comes late does not delay those
// after it. Those that were missed, or are due in less than half a step, are
// left out, because a rate over so short a time would be mostly the
// granularity of the kernel's clocks.
func (r *Recording) next() (tick int64, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	period := time.Duration(r.stride) * r.cfg.Step
	past := r.cfg.Now().Sub(r.began)
	n := int64((past + period/2 + period - 1) / period)
	return n * r.stride, time.Duration(n)*period - past
}

func (r *Recording) read(tick int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(tick)
	if n := r.cfg.Recent; n > 0 {
		oldest := len(r.table.at) - n
		r.table.keep(func(row int) bool { return row >= oldest })
		return
	}
	if len(r.table.at) >= r.limit {
		r.stride *= 2
		r.table.keep(func(row int) bool { return r.table.ticks[row]%r.stride == 0 })
	}
}

// last takes the reading at the end. It replaces the one before if that is so
// close that the rate between the two would mean nothing.
func (r *Recording) last() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(-1)
	at := r.table.at
	if n := len(at); n > 2 && at[n-1]-at[n-2] < time.Duration(r.stride)*r.cfg.Step/2 {
		r.table.keep(func(row int) bool { return row != n-2 })
	}
}

// take adds a row.
func (r *Recording) take(tick int64) {
	before := r.cfg.Now()
	if r.began.IsZero() {
		r.began = before
	}
	r.table.begin(tick)
	for _, s := range r.cfg.Sources {
		s.Read(r.emit)
	}
	took := r.cfg.Now().Sub(before)
	if !r.cfg.AtEnd {
		took /= 2
	}
	r.table.end(before.Sub(r.began) + took)
}

// table holds the readings: a row a reading, a column a metric. All columns
// are as long as there are rows; where a reading lacks a metric there is NaN,
// which never leaves this package.
type table struct {
	metric  func(name string) Metric
	index   map[string]int // of columns
	columns []column
	at      []time.Duration // of rows, since the first
	ticks   []int64         // of rows: multiples of the step at which they were due
}

type column struct {
	name   string
	metric Metric
	values []float64
	base   float64 // what a counter was at its first reading
	last   float64 // of a counter: the highest so far
}

// begin adds an empty row. Its time is set by end.
func (t *table) begin(tick int64) {
	t.at = append(t.at, 0)
	t.ticks = append(t.ticks, tick)
	for i := range t.columns {
		t.columns[i].values = append(t.columns[i].values, math.NaN())
	}
}

func (t *table) end(at time.Duration) { t.at[len(t.at)-1] = at }

// put takes a value. One that is no number is as one that is missing: in a
// counter it would stay.
func (t *table) put(name string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	i, ok := t.index[name]
	if !ok {
		i = t.add(name, value)
	}
	c := &t.columns[i]
	if c.metric.Counter {
		// Some of the kernel's counters, iowait above all, go back a little.
		c.last = max(c.last, value-c.base)
		value = c.last
	}
	c.values[len(c.values)-1] = value
}

func (t *table) add(name string, value float64) int {
	c := column{name: name, metric: t.metric(name), base: value}
	c.values = slices.Repeat([]float64{math.NaN()}, len(t.at))
	if before := t.before(name); c.metric.Late && before >= 0 {
		c.base, c.values[before] = 0, 0
	}
	t.columns = append(t.columns, c)
	t.index[name] = len(t.columns) - 1
	return t.index[name]
}

// before is the last row before this one in which a metric would have been told: that
// with the sum of which it is a part, or else with any value; -1: there is none.
func (t *table) before(name string) int {
	sum, _, _ := strings.Cut(name, "[")
	if i, ok := t.index[sum]; ok {
		if row := t.told(t.columns[i : i+1]); row >= 0 {
			return row
		}
	}
	return t.told(t.columns)
}

// told is the last row before this one in which a column has a value; -1: none has.
func (t *table) told(columns []column) int {
	for row := len(t.at) - 2; row >= 0; row-- {
		if slices.ContainsFunc(columns, func(c column) bool { return !math.IsNaN(c.values[row]) }) {
			return row
		}
	}
	return -1
}

// keep drops the other rows.
func (t *table) keep(wanted func(row int) bool) {
	kept := 0
	for row := range t.at {
		if !wanted(row) {
			continue
		}
		t.at[kept], t.ticks[kept] = t.at[row], t.ticks[row]
		for _, c := range t.columns {
			c.values[kept] = c.values[row]
		}
		kept++
	}
	t.at, t.ticks = t.at[:kept], t.ticks[:kept]
	for i := range t.columns {
		t.columns[i].values = t.columns[i].values[:kept]
	}
}

// series returns the columns. shift is from the start of the task to the first
// row.
func (t *table) series(shift time.Duration) []model.HostSeries {
	var list []model.HostSeries
	for _, c := range t.columns {
		x := model.HostSeries{Metric: c.name, Unit: c.metric.Unit, Counter: c.metric.Counter}
		for row, v := range c.values {
			if math.IsNaN(v) {
				continue
			}
			x.Offsets = append(x.Offsets, (shift + t.at[row]).Nanoseconds())
			x.Values = append(x.Values, v)
		}
		if len(x.Values) > 0 {
			list = append(list, x)
		}
	}
	return list
}
