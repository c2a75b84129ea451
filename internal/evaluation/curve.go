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
	// steady is the index of the last point that a scored rate may end at; see
	// beforeEnd.
	steady int
	active observe.Span
}

// newCurve checks a series against its task's times.
func newCurve(s model.Series, task observe.Span) (*curve, error) {
	if err := checkSeries(s); err != nil {
		return nil, err
	}
	c := &curve{unit: s.Unit, values: s.Values, positive: len(s.Values)}
	for i, offset := range s.Offsets {
		c.times = append(c.times, task.Start.Add(time.Duration(offset)))
		if s.Values[i] > 0 && i < c.positive {
			c.positive = i
		}
	}
	if len(s.Values)-c.positive < 2 {
		return nil, errors.New("fewer than two points with work done")
	}
	c.active = observe.Span{Start: c.begin(task.Start), End: c.times[len(c.times)-1]}
	if c.active.End.After(task.End.Add(maxGap)) {
		return nil, fmt.Errorf("it goes on %v beyond the end of the task", c.active.End.Sub(task.End))
	}
	if err := c.covers(); err != nil {
		return nil, err
	}
	c.steady = c.beforeEnd()
	return c, nil
}

// fewPoints are those a rate keeps when the end of a task is left out.
const fewPoints = 4

// beforeEnd is the index of the last point that lies half a usual interval or
// more before the task's last one. A task that is out of its processor quota
// when its time is over publishes its end only when it may go on: after a wait
// that no work follows, which makes the rate too low by up to that wait. In a
// parallel step only the node that ends first has its end inside the common
// window, in a serial one every node has, and the index would be too low. It is
// the last point of all where too few would be left, or too far from the end.
func (c *curve) beforeEnd() int {
	last := len(c.times) - 1
	end, half := c.times[last], c.spacing()/2
	i := last - 1
	for i > c.positive && end.Sub(c.times[i]) < half {
		i--
	}
	if i-c.positive+1 < fewPoints || end.Sub(c.times[i]) > maxGap {
		return last
	}
	return i
}

// covers holds the points to the counter's own activity, not to the whole
// task: a workload may do several tests in turn, each with its own counter.
// A counter that leaves most of its activity in the dark is refused.
func (c *curve) covers() error {
	length := c.active.Length()
	if covered := c.active.End.Sub(c.times[c.positive]); 2*covered < length {
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

// checkSeries refuses a series that is not a progress counter.
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

// rate is the capacity in unit per second over all the points with work done.
func (c *curve) rate() (float64, error) {
	return c.between(c.positive, len(c.times)-1)
}

// sinceStart is the rate from the beginning of the work to the last point.
func (c *curve) sinceStart() float64 {
	last := len(c.times) - 1
	return c.values[last] / c.times[last].Sub(c.active.Start).Seconds()
}

// within returns the first and the last measured point in the window, between
// which the capacity in it is taken. Points that leave more than maxGap of the
// window's edges, or half of it, in the dark are an error. The end of the task
// counts only where it would be one without it.
func (c *curve) within(window observe.Span) (first, last int, err error) {
	if first, last, err = c.withinUntil(window, c.steady); err != nil {
		return c.withinUntil(window, len(c.times)-1)
	}
	return first, last, nil
}

// withinUntil is within of the points up to last.
func (c *curve) withinUntil(window observe.Span, last int) (int, int, error) {
	first := c.positive
	for first < len(c.times) && c.times[first].Before(window.Start) {
		first++
	}
	for last >= 0 && c.times[last].After(window.End) {
		last--
	}
	if last <= first {
		return 0, 0, fmt.Errorf("it has no two points in the common window of %v", window.Length())
	}
	known := observe.Span{Start: c.times[first], End: c.times[last]}
	if before := known.Start.Sub(window.Start); before > maxGap {
		return 0, 0, fmt.Errorf("it is silent for the first %v of the common window", before)
	}
	if after := window.End.Sub(known.End); after > maxGap {
		return 0, 0, fmt.Errorf("it is silent for the last %v of the common window", after)
	}
	if 2*known.Length() < window.Length() {
		return 0, 0, fmt.Errorf("its points cover %v of the common window of %v", known.Length(), window.Length())
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

// timesOf looks at the tasks of one parallel step: when they ran, and when they
// were active: while their counters ran with useCurves, else all the time. Of
// tasks without times nothing is known (N is 0).
func timesOf(rs []reading, useCurves bool) (tasks, active observe.Times) {
	for _, r := range rs {
		if !tasks.Add(r.started, r.ended) {
			return observe.Times{}, observe.Times{}
		}
		if useCurves {
			active.Add(r.curve.active.Start, r.curve.active.End)
		}
	}
	if !useCurves {
		active = tasks
	}
	return tasks, active
}
