package evaluation

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// curve is the progress counter of one task, checked. It is known at its
// points only: nothing is extrapolated, and rates are taken between two
// measured points, so that no assumption about the work between them enters.
type curve struct {
	unit   string
	times  []time.Time // server time, ascending
	values []float64   // cumulative, never decreasing; at least two above zero
	// positive is the index of the first point at which work had been done.
	// Rates begin there and leave out whatever it took to start working.
	positive int
	active   span
}

// span is an interval of server time.
type span struct{ start, end time.Time }

func (s span) length() time.Duration { return s.end.Sub(s.start) }

// newCurve checks a series against its task's times.
func newCurve(s model.Series, task span) (*curve, error) {
	if err := checkSeries(s); err != nil {
		return nil, err
	}
	c := &curve{unit: s.Unit, values: s.Values, positive: len(s.Values)}
	for i, offset := range s.Offsets {
		c.times = append(c.times, task.start.Add(time.Duration(offset)))
		if s.Values[i] > 0 && i < c.positive {
			c.positive = i
		}
	}
	if len(s.Values)-c.positive < 2 {
		return nil, errors.New("fewer than two points with work done")
	}
	c.active = span{c.begin(task.start), c.times[len(c.times)-1]}
	if c.active.end.After(task.end.Add(maxGap)) {
		return nil, fmt.Errorf("it goes on %v beyond the end of the task", c.active.end.Sub(task.end))
	}
	if err := c.covers(); err != nil {
		return nil, err
	}
	return c, nil
}

// covers holds the points to the counter's own activity, not to the whole
// task: a workload may do several tests in turn, each with its own counter.
// A counter that leaves most of its activity in the dark is refused.
func (c *curve) covers() error {
	length := c.active.length()
	if covered := c.active.end.Sub(c.times[c.positive]); 2*covered < length {
		return fmt.Errorf("it covers %v of the %v in which it is active", covered, length)
	}
	var silence time.Duration
	for i := c.positive + 1; i < len(c.times); i++ {
		silence = max(silence, c.times[i].Sub(c.times[i-1]))
	}
	if silence > maxGap && 2*silence > length {
		return fmt.Errorf("it is silent for %v of the %v in which it is active", silence, length)
	}
	return nil
}

// checkSeries refuses what is no progress counter.
func checkSeries(s model.Series) error {
	if len(s.Offsets) != len(s.Values) {
		return fmt.Errorf("%d offsets for %d values", len(s.Offsets), len(s.Values))
	}
	for i, v := range s.Values {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			return fmt.Errorf("its point %d is %v", i, v)
		case s.Offsets[i] < 0:
			return fmt.Errorf("its point %d lies before the start of the task", i)
		case i > 0 && s.Offsets[i] < s.Offsets[i-1]:
			return fmt.Errorf("its points %d and %d are not in order of time", i-1, i)
		case i > 0 && v < s.Values[i-1]:
			return fmt.Errorf("it decreases from %v to %v", s.Values[i-1], v)
		}
	}
	return nil
}

// begin is when the work began, as well as the points tell: at the last point
// at which nothing had been done; at the task's start, where the counter is 0
// by definition; or, after too long a silence, at the first sign of work.
func (c *curve) begin(taskStart time.Time) time.Time {
	last := taskStart
	if c.positive > 0 {
		last = c.times[c.positive-1]
	}
	if c.times[c.positive].Sub(last) > maxGap {
		return c.times[c.positive]
	}
	return last
}

// rate is the capacity in unit per second over all the points that count.
func (c *curve) rate() (float64, error) {
	return c.between(c.positive, len(c.times)-1)
}

// within returns the first and the last measured point in the window, between
// which the capacity in it is taken. Points that leave more than maxGap of the
// window's edges, or half of it, in the dark are an error.
func (c *curve) within(window span) (first, last int, err error) {
	first, last = c.positive, len(c.times)-1
	for first < len(c.times) && c.times[first].Before(window.start) {
		first++
	}
	for last >= 0 && c.times[last].After(window.end) {
		last--
	}
	if last <= first {
		return 0, 0, fmt.Errorf("it has no two points in the common window of %v", window.length())
	}
	known := span{c.times[first], c.times[last]}
	if before := known.start.Sub(window.start); before > maxGap {
		return 0, 0, fmt.Errorf("it is silent for the first %v of the common window", before)
	}
	if after := window.end.Sub(known.end); after > maxGap {
		return 0, 0, fmt.Errorf("it is silent for the last %v of the common window", after)
	}
	if 2*known.length() < window.length() {
		return 0, 0, fmt.Errorf("its points cover %v of the common window of %v", known.length(), window.length())
	}
	return first, last, nil
}

// between is the rate between two points, by index.
func (c *curve) between(first, last int) (float64, error) {
	seconds := c.times[last].Sub(c.times[first]).Seconds()
	work := c.values[last] - c.values[first]
	if !(seconds > 0) {
		return 0, errors.New("all its points are of one moment")
	}
	if !(work > 0) {
		return 0, fmt.Errorf("it stands still for %.1f s", seconds)
	}
	rate := work / seconds
	if !IsCapacity(rate) {
		return 0, fmt.Errorf("its rate of %v is not a capacity", rate)
	}
	return rate, nil
}

// timing says how parallel one parallel step was.
type timing struct {
	known   bool    // every task has its times
	common  span    // all tasks active; of no length when there is no such time
	overlap float64 // common over first start to last end, 0 to 1
	// startSkew and endSpread are last minus first.
	startSkew, endSpread time.Duration
	clockError           time.Duration // the largest of the nodes
}

// timingOf looks at the tasks of one parallel step. With useCurves a task is
// active while its counter runs, else from its start to its end.
func timingOf(rs []reading, useCurves bool) timing {
	var t timing
	var tasks, active observe.Times
	for _, r := range rs {
		if r.started.IsZero() || r.ended.IsZero() || r.ended.Before(r.started) {
			return timing{}
		}
		tasks.Add(r.started, r.ended)
		if useCurves {
			active.Add(r.curve.active.start, r.curve.active.end)
		} else {
			active.Add(r.started, r.ended)
		}
		t.clockError = max(t.clockError, r.clockError)
	}
	t.known = len(rs) > 0
	t.startSkew, t.endSpread = tasks.LastStart.Sub(tasks.FirstStart), tasks.LastEnd.Sub(tasks.FirstEnd)
	t.common = span{active.LastStart, active.FirstEnd}
	if t.common.length() > 0 {
		t.overlap = t.common.length().Seconds() / active.LastEnd.Sub(active.FirstStart).Seconds()
	} else {
		t.common.end = t.common.start
	}
	return t
}
