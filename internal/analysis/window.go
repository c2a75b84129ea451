package analysis

import (
	"time"
)

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
	if len(rs) == 0 {
		return t
	}
	for _, r := range rs {
		if r.started.IsZero() || r.ended.IsZero() || r.ended.Before(r.started) {
			return t
		}
	}
	t.known = true
	starts, ends := bounds(rs, reading.task)
	t.startSkew, t.endSpread = starts.length(), ends.length()
	for _, r := range rs {
		t.clockError = max(t.clockError, r.clockError)
	}
	if useCurves {
		starts, ends = bounds(rs, func(r reading) span { return r.curve.active })
	}
	t.common = span{starts.end, ends.start}
	all := span{starts.start, ends.end}
	if t.common.length() > 0 {
		t.overlap = t.common.length().Seconds() / all.length().Seconds()
	} else {
		t.common.end = t.common.start
	}
	return t
}

// bounds returns the first and last start and the first and last end.
func bounds(rs []reading, of func(reading) span) (starts, ends span) {
	for i, r := range rs {
		s := of(r)
		if i == 0 {
			starts, ends = span{s.start, s.start}, span{s.end, s.end}
			continue
		}
		starts = widened(starts, s.start)
		ends = widened(ends, s.end)
	}
	return starts, ends
}

// widened returns the span with t in it.
func widened(s span, t time.Time) span {
	if t.Before(s.start) {
		s.start = t
	}
	if t.After(s.end) {
		s.end = t
	}
	return s
}
