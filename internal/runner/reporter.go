package runner

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// reporter is the workload.Reporter of the child. It refuses what would be a
// wrong number later (a counter that goes down, a value that is not a number)
// and so makes the task fail.
type reporter struct {
	out *lineWriter

	sync.Mutex
	started time.Time // zero before and after Run
	metrics map[string]*counter
	err     error // the first refusal
}

type counter struct {
	unit  string
	thin  thinner
	after time.Duration // of the latest reading
	value float64
}

func newReporter(out *lineWriter) *reporter {
	return &reporter{out: out, metrics: make(map[string]*counter)}
}

func (r *reporter) begin(at time.Time) {
	r.Lock()
	defer r.Unlock()
	r.started = at
}

// end sends the last points and returns the first refusal.
func (r *reporter) end() error {
	r.Lock()
	defer r.Unlock()
	r.started = time.Time{}
	for _, c := range r.metrics {
		r.send(c.thin.flush())
	}
	return r.err
}

func (r *reporter) Progress(metric, unit string, cumulative float64) {
	now := time.Now() // before the lock: it belongs to the value
	r.Lock()
	defer r.Unlock()
	r.point(model.Progress{Metric: metric, Unit: unit, Elapsed: now.Sub(r.started), Value: cumulative})
}

func (r *reporter) ProgressAt(metric, unit string, after time.Duration, cumulative float64) {
	now := time.Now()
	r.Lock()
	defer r.Unlock()
	if after < 0 || !r.started.IsZero() && after > now.Sub(r.started) {
		r.refuse(fmt.Errorf("progress of %s is for %v after the start, outside this task", metric, after))
		return
	}
	r.point(model.Progress{Metric: metric, Unit: unit, Elapsed: after, Value: cumulative})
}

// point takes a reading; r.mu is held.
func (r *reporter) point(p model.Progress) {
	if r.started.IsZero() {
		return // not within Run
	}
	c, ok := r.metrics[p.Metric]
	if !ok {
		c = &counter{unit: p.Unit, thin: thinner{step: minStep}, after: -1, value: math.Inf(-1)}
		r.metrics[p.Metric] = c
	}
	switch {
	case p.Metric == "" || p.Unit == "":
		r.refuse(fmt.Errorf("progress without metric or unit: %q %q", p.Metric, p.Unit))
	case p.Unit != c.unit:
		r.refuse(fmt.Errorf("progress of %s changed its unit from %q to %q", p.Metric, c.unit, p.Unit))
	case !finite(p.Value):
		r.refuse(fmt.Errorf("progress of %s is %v; it must be a number", p.Metric, p.Value))
	case p.Elapsed <= c.after: // two goroutines met; the other reading stands
	case p.Value < c.value:
		r.refuse(fmt.Errorf("progress of %s went down from %v to %v; it must be the work done since the start", p.Metric,
			c.value, p.Value))
	default:
		c.after, c.value = p.Elapsed, p.Value
		r.send(c.thin.add(p))
	}
}

// send writes points; a pipe that is closed means that the agent is gone.
func (r *reporter) send(points []model.Progress) {
	for i := range points {
		_ = r.out.write(report{Point: &points[i]})
	}
}

// refuse keeps the first refusal; r.mu is held.
func (r *reporter) refuse(err error) { r.err = cmp.Or(r.err, err) }

// deliver sends what its check did not refuse.
func (r *reporter) deliver(refused error, out report) {
	r.Lock()
	defer r.Unlock()
	if refused == nil {
		refused = r.out.write(out)
	}
	r.refuse(refused)
}

func (r *reporter) Sample(s model.Sample) {
	var err error
	switch {
	case s.Metric == "":
		err = fmt.Errorf("a sample without a metric: %v", s.Value)
	case !finite(s.Value):
		err = fmt.Errorf("%s is %v; it must be a number", s.Metric, s.Value)
	case s.Info && s.Better == "": // it may have no good direction
	case s.Better != model.Higher && s.Better != model.Lower:
		err = fmt.Errorf("%s: direction %q must be %q or %q", s.Metric, s.Better, model.Higher, model.Lower)
	}
	r.deliver(err, report{Sample: &s})
}

// maxHistogram is far above what an HdrHistogram takes, and below maxLine.
const maxHistogram = 1 << 20

func (r *reporter) Histogram(h model.Histogram) {
	var err error
	switch {
	case h.Metric == "" || h.Unit == "" || h.Encoded == "":
		err = fmt.Errorf("a histogram without metric, unit or content: %q %q", h.Metric, h.Unit)
	case len(h.Encoded) > maxHistogram:
		err = fmt.Errorf("the histogram %s takes %d bytes, more than %d", h.Metric, len(h.Encoded), maxHistogram)
	}
	r.deliver(err, report{Histogram: &h})
}

// Recording drops a recording that cannot be used, and says so by a stage: what
// was measured beside it stands.
func (r *reporter) Recording(s model.HostSeries) {
	err := checkRecording(s)
	if err == nil {
		r.deliver(nil, report{Recording: &s})
		return
	}
	name := "signals"
	if service, _, ok := strings.Cut(s.Metric, ":"); ok {
		name = service + ":" + name
	}
	r.Stage(name, model.StageFailed, err.Error())
}

// checkRecording refuses what the store would not take.
func checkRecording(s model.HostSeries) error {
	if s.Metric == "" || s.Unit == "" || len(s.Offsets) != len(s.Values) {
		return fmt.Errorf("a recording without metric or unit, or with %d times for %d values: %q %q", len(s.Offsets), len(s.Values), s.Metric, s.Unit)
	}
	for i, v := range s.Values {
		if !finite(v) || i > 0 && s.Offsets[i] < s.Offsets[i-1] {
			return fmt.Errorf("the recording %s has %v at %d ns; it must have numbers in the order of time", s.Metric, v, s.Offsets[i])
		}
	}
	return nil
}

func (r *reporter) Stage(name, state, reason string) {
	at := time.Now().UnixNano()
	change := model.StageChange{Name: name, State: state, Reason: reason}
	if service, own, ok := strings.Cut(name, ":"); ok {
		change.Service, change.Name = service, own
	}
	_ = r.out.write(report{Stage: &stageReport{change, at}}) // a closed pipe means that the agent is gone
}

func (r *reporter) Live(values map[string]float64) {
	_ = r.out.write(report{Live: values}) // a closed pipe means that the agent is gone
}

func (r *reporter) ExitCode(code int) {
	_ = r.out.write(report{ExitCode: &code}) // a closed pipe means that the agent is gone
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// thinner drops points of a progress counter that come closer than a step,
// such that the points that stay are never further apart than a step if the
// incoming ones are not. The first and the last point always stay.
type thinner struct {
	step    time.Duration
	any     bool
	last    time.Duration   // time of the last point that stayed
	pending *model.Progress // the latest point, not known yet to be needed
}

// add takes the next point and returns those that stay: none, one or two.
func (t *thinner) add(p model.Progress) []model.Progress {
	var out []model.Progress
	if t.pending != nil && p.Elapsed-t.last > t.step {
		out = append(out, *t.pending)
		t.last = t.pending.Elapsed
	}
	t.pending = nil
	if !t.any || p.Elapsed-t.last >= t.step {
		t.any, t.last = true, p.Elapsed
		return append(out, p)
	}
	t.pending = &p
	return out
}

// flush returns the last point if it has not been returned yet.
func (t *thinner) flush() []model.Progress {
	if t.pending == nil {
		return nil
	}
	p := *t.pending
	t.pending, t.last = nil, p.Elapsed
	return []model.Progress{p}
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
	points []model.Progress
}

// add appends a point. One that goes back in time or in value contradicts what
// is stored and is dropped; the child refuses it before.
func (s *progress) add(p model.Progress) bool {
	latest := s.thin.pending
	if latest == nil && len(s.points) > 0 {
		latest = &s.points[len(s.points)-1]
	}
	if latest != nil && (p.Elapsed <= latest.Elapsed || p.Value < latest.Value) {
		return false
	}
	s.points = append(s.points, s.thin.add(p)...)
	if len(s.points) >= maxPoints && s.level < len(steps)-1 {
		s.coarsen()
	}
	return true
}

// coarsen thins what is stored to the next step.
func (s *progress) coarsen() {
	s.level++
	old := append(s.points, s.thin.flush()...)
	s.thin = thinner{step: steps[s.level]}
	kept := make([]model.Progress, 0, maxPoints)
	for _, p := range old {
		kept = append(kept, s.thin.add(p)...)
	}
	s.points = kept
}

func (s *progress) series(metric string) model.Series {
	s.points = append(s.points, s.thin.flush()...)
	out := model.Series{Metric: metric, Unit: s.unit}
	for _, p := range s.points {
		out.Offsets = append(out.Offsets, p.Elapsed.Nanoseconds())
		out.Values = append(out.Values, p.Value)
	}
	return out
}
