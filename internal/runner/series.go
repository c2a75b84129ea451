package runner

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// thinner drops points of a progress counter that come closer than a step,
// such that the points that stay are never further apart than a step if the
// incoming ones are not. The first and the last point always stay.
type thinner struct {
	step    time.Duration
	any     bool
	last    time.Duration // time of the last point that stayed
	pending *point        // the latest point, not known yet to be needed
}

// add takes the next point and returns those that stay: none, one or two.
func (t *thinner) add(p point) []point {
	var out []point
	if t.pending != nil && p.After-t.last > t.step {
		out = append(out, *t.pending)
		t.last = t.pending.After
	}
	t.pending = nil
	if !t.any || p.After-t.last >= t.step {
		t.any, t.last = true, p.After
		return append(out, p)
	}
	t.pending = &p
	return out
}

// flush returns the last point if it has not been returned yet.
func (t *thinner) flush() []point {
	if t.pending == nil {
		return nil
	}
	p := *t.pending
	t.pending, t.last = nil, p.After
	return []point{p}
}

// minStep is the finest resolution of a series; the child sends no more.
const minStep = 100 * time.Millisecond

// maxPoints is the length at which a series is thinned to the next coarser
// step. The last step is the coarsest that scoring may use.
const maxPoints = 8000

var steps = []time.Duration{minStep, 2 * minStep, 5 * minStep, 10 * minStep}

// progress is the series of one metric as it grows.
type progress struct {
	unit   string
	level  int // index into steps
	thin   thinner
	points []point
}

func newProgress(unit string) *progress {
	return &progress{unit: unit, thin: thinner{step: steps[0]}}
}

// add appends a point. One that goes back in time or in value contradicts what
// is stored and is dropped; the child refuses it before.
func (s *progress) add(p point) bool {
	if l := s.latest(); l != nil && (p.After <= l.After || p.Value < l.Value) {
		return false
	}
	s.points = append(s.points, s.thin.add(p)...)
	if len(s.points) >= maxPoints && s.level < len(steps)-1 {
		s.coarsen()
	}
	return true
}

func (s *progress) latest() *point {
	if s.thin.pending != nil {
		return s.thin.pending
	}
	if len(s.points) > 0 {
		return &s.points[len(s.points)-1]
	}
	return nil
}

// coarsen thins what is stored to the next step.
func (s *progress) coarsen() {
	s.level++
	old := append(s.points, s.thin.flush()...)
	s.thin = thinner{step: steps[s.level]}
	kept := make([]point, 0, maxPoints)
	for _, p := range old {
		kept = append(kept, s.thin.add(p)...)
	}
	s.points = kept
}

func (s *progress) series(metric string) model.Series {
	s.points = append(s.points, s.thin.flush()...)
	out := model.Series{Metric: metric, Unit: s.unit}
	for _, p := range s.points {
		out.Offsets = append(out.Offsets, p.After.Nanoseconds())
		out.Values = append(out.Values, p.Value)
	}
	return out
}
