package monitor

import (
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// sheet holds the readings: a row a reading, a column a metric. All columns
// are as long as there are rows; where a reading lacks a metric there is NaN,
// which never leaves this package.
type sheet struct {
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

func newSheet() *sheet {
	defs := make(map[string]Metric)
	for _, m := range Metrics() {
		defs[m.Name] = m
	}
	return &sheet{defs: defs, index: make(map[string]int)}
}

// begin adds an empty row. Its time is set by end.
func (s *sheet) begin(tick int64) {
	s.at = append(s.at, 0)
	s.ticks = append(s.ticks, tick)
	for i := range s.columns {
		s.columns[i].values = append(s.columns[i].values, math.NaN())
	}
}

// end sets the time of the row that begin added.
func (s *sheet) end(at time.Duration) { s.at[len(s.at)-1] = at }

// put sets a value of the last row.
func (s *sheet) put(name string, value float64) {
	i, ok := s.index[name]
	if !ok {
		i = s.add(name, value)
	}
	c := &s.columns[i]
	if c.metric.Counter {
		// Some of the kernel's counters, iowait above all, go back a little.
		c.last = max(c.last, value-c.base)
		value = c.last
	}
	c.values[len(c.values)-1] = value
}

// add makes a column for a metric that was not there before.
func (s *sheet) add(name string, value float64) int {
	c := column{name: name, metric: s.defs[pattern(name)], base: value}
	for range s.at {
		c.values = append(c.values, math.NaN())
	}
	s.columns = append(s.columns, c)
	s.index[name] = len(s.columns) - 1
	return s.index[name]
}

// remove takes out a row.
func (s *sheet) remove(row int) {
	s.at = append(s.at[:row], s.at[row+1:]...)
	s.ticks = append(s.ticks[:row], s.ticks[row+1:]...)
	for i := range s.columns {
		v := s.columns[i].values
		s.columns[i].values = append(v[:row], v[row+1:]...)
	}
}

// thin keeps the rows that were due at a multiple of the stride.
func (s *sheet) thin(stride int64) {
	kept := 0
	for row, tick := range s.ticks {
		if tick%stride != 0 {
			continue
		}
		s.at[kept], s.ticks[kept] = s.at[row], tick
		for i := range s.columns {
			s.columns[i].values[kept] = s.columns[i].values[row]
		}
		kept++
	}
	s.at, s.ticks = s.at[:kept], s.ticks[:kept]
	for i := range s.columns {
		s.columns[i].values = s.columns[i].values[:kept]
	}
}

// series returns the columns. shift is from the start of the task to the first
// row.
func (s *sheet) series(shift time.Duration) []model.HostSeries {
	var list []model.HostSeries
	for _, c := range s.columns {
		x := model.HostSeries{Metric: c.name, Unit: c.metric.Unit, Counter: c.metric.Counter}
		for row, v := range c.values {
			if math.IsNaN(v) {
				continue
			}
			x.Offsets = append(x.Offsets, (shift + s.at[row]).Nanoseconds())
			x.Values = append(x.Values, v)
		}
		if len(x.Values) > 0 {
			list = append(list, x)
		}
	}
	return list
}
