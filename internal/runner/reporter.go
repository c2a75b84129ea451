package runner

import (
	"cmp"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// reporter is the workload.Reporter of the child. It refuses what would be a
// wrong number later (a counter that goes down, a value that is not a number)
// and so makes the task fail.
type reporter struct {
	out *lineWriter

	mu      sync.Mutex
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = at
}

// end sends the last points and returns the first refusal.
func (r *reporter) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = time.Time{}
	for _, c := range r.metrics {
		r.send(c.thin.flush())
	}
	return r.err
}

func (r *reporter) Progress(metric, unit string, cumulative float64) {
	now := time.Now() // before the lock: it belongs to the value
	r.mu.Lock()
	defer r.mu.Unlock()
	r.point(point{Metric: metric, Unit: unit, After: now.Sub(r.started), Value: cumulative})
}

func (r *reporter) ProgressAt(metric, unit string, after time.Duration, cumulative float64) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if after < 0 || !r.started.IsZero() && after > now.Sub(r.started) {
		r.refuse(fmt.Errorf("progress of %s is of %v after the start, which is not in the past of this task", metric, after))
		return
	}
	r.point(point{Metric: metric, Unit: unit, After: after, Value: cumulative})
}

// point takes a reading; r.mu is held.
func (r *reporter) point(p point) {
	if r.started.IsZero() {
		return // not within Run
	}
	c, ok := r.metrics[p.Metric]
	if !ok {
		c = &counter{unit: p.Unit, thin: thinner{step: minStep}, after: -1, value: math.Inf(-1)}
		r.metrics[p.Metric] = c
	}
	if err := c.check(p); err != nil {
		r.refuse(err)
		return
	}
	if p.After <= c.after {
		return // two goroutines met; the other reading stands
	}
	c.after, c.value = p.After, p.Value
	r.send(c.thin.add(p))
}

// check refuses a reading that cannot follow the one before.
func (c *counter) check(p point) error {
	switch {
	case p.Metric == "" || p.Unit == "":
		return fmt.Errorf("progress without metric or unit: %q %q", p.Metric, p.Unit)
	case p.Unit != c.unit:
		return fmt.Errorf("progress of %s changed its unit from %q to %q", p.Metric, c.unit, p.Unit)
	case !finite(p.Value):
		return fmt.Errorf("progress of %s is %v, want a number", p.Metric, p.Value)
	case p.After > c.after && p.Value < c.value:
		return fmt.Errorf("progress of %s went down from %v to %v; it must be the work done since the start", p.Metric, c.value, p.Value)
	}
	return nil
}

// send writes points; a pipe that is closed means that the agent is gone.
func (r *reporter) send(points []point) {
	for i := range points {
		_ = r.out.write(report{Point: &points[i]})
	}
}

// refuse keeps the first refusal; r.mu is held.
func (r *reporter) refuse(err error) { r.err = cmp.Or(r.err, err) }

// deliver sends what its check did not refuse.
func (r *reporter) deliver(refused error, out report) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
		err = fmt.Errorf("%s is %v, want a number", s.Metric, s.Value)
	case s.Info && s.Better == "": // it may have no good direction
	case s.Better != model.Higher && s.Better != model.Lower:
		err = fmt.Errorf("%s: direction %q, want %q or %q", s.Metric, s.Better, model.Higher, model.Lower)
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

func (r *reporter) Recording(s model.HostSeries) {
	r.deliver(checkRecording(s), report{Recording: &s})
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

func (r *reporter) ExitCode(code int) {
	_ = r.out.write(report{ExitCode: &code}) // a closed pipe means that the agent is gone
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
