package monitor

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// maxRows is how many readings are kept. When there are more, every other one
// is dropped, and from then on readings are half as many: at one a second,
// after 2 h 13 min.
const maxRows = 8000

// Recording is what the monitor reads from Start to Stop.
type Recording struct {
	step    time.Duration
	now     func() time.Time
	limit   int // rows
	sources []source
	emit    emit

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
		for _, s := range r.sources {
			s.close()
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
	period := time.Duration(r.stride) * r.step
	past := r.now().Sub(r.began)
	n := int64((past + period/2 + period - 1) / period)
	return n * r.stride, time.Duration(n)*period - past
}

func (r *Recording) read(tick int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(tick)
	if len(r.table.at) >= r.limit {
		r.stride *= 2
		r.table.thin(r.stride)
	}
}

// last takes the reading at the end. It replaces the one before if that is so
// close that the rate between the two would mean nothing.
func (r *Recording) last() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(-1)
	at := r.table.at
	if n := len(at); n > 2 && at[n-1]-at[n-2] < time.Duration(r.stride)*r.step/2 {
		r.table.remove(n - 2)
	}
}

// take adds a row. Its time is the middle of the reading.
func (r *Recording) take(tick int64) {
	before := r.now()
	if r.began.IsZero() {
		r.began = before
	}
	r.table.begin(tick)
	for _, s := range r.sources {
		s.read(r.emit)
	}
	after := r.now()
	r.table.end(before.Sub(r.began) + after.Sub(before)/2)
}

// table holds the readings: a row a reading, a column a metric. All columns
// are as long as there are rows; where a reading lacks a metric there is NaN,
// which never leaves this package.
type table struct {
	defs    map[string]Metric // by pattern
	index   map[string]int    // of columns
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

func newTable() *table {
	defs := make(map[string]Metric)
	for _, m := range Metrics() {
		defs[m.Name] = m
	}
	return &table{defs: defs, index: make(map[string]int)}
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

func (t *table) put(name string, value float64) {
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
	c := column{name: name, metric: t.defs[pattern(name)], base: value}
	c.values = slices.Repeat([]float64{math.NaN()}, len(t.at))
	t.columns = append(t.columns, c)
	t.index[name] = len(t.columns) - 1
	return t.index[name]
}

func (t *table) remove(row int) {
	t.at, t.ticks = slices.Delete(t.at, row, row+1), slices.Delete(t.ticks, row, row+1)
	for i := range t.columns {
		t.columns[i].values = slices.Delete(t.columns[i].values, row, row+1)
	}
}

// thin keeps the rows that were due at a multiple of the stride.
func (t *table) thin(stride int64) {
	kept := 0
	for row, tick := range t.ticks {
		if tick%stride != 0 {
			continue
		}
		t.at[kept], t.ticks[kept] = t.at[row], tick
		for i := range t.columns {
			t.columns[i].values[kept] = t.columns[i].values[row]
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
