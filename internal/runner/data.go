package runner

import (
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// data is what the child has reported until now. Safe for concurrent use.
type data struct {
	mu         sync.Mutex
	ready      *verdict
	started    time.Time
	done       *verdict
	exitCode   *int
	samples    []model.Sample
	histograms []model.Histogram
	recordings []model.HostSeries
	metrics    []string // of series, in order of appearance
	series     map[string]*progress
}

// addPoint stores a progress point and returns it in the form of the live
// view; false if it was refused.
func (d *data) addPoint(p point) (model.Progress, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.series == nil {
		d.series = make(map[string]*progress)
	}
	s, ok := d.series[p.Metric]
	if !ok {
		s = newProgress(p.Unit)
		d.series[p.Metric] = s
		d.metrics = append(d.metrics, p.Metric)
	}
	live := model.Progress{Metric: p.Metric, Unit: p.Unit, Elapsed: p.After, Value: p.Value}
	return live, s.add(p)
}

// take stores everything but points and verdicts.
func (d *data) take(r report) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case r.Ready != nil:
		d.ready = r.Ready
	case r.Started != nil:
		d.started = time.Unix(0, *r.Started)
	case r.Sample != nil:
		d.samples = append(d.samples, *r.Sample)
	case r.Histogram != nil:
		d.histograms = append(d.histograms, *r.Histogram)
	case r.Recording != nil:
		d.recordings = append(d.recordings, *r.Recording)
	case r.ExitCode != nil:
		d.exitCode = r.ExitCode
	case r.Done != nil:
		d.done = r.Done
	}
}

// ended is when Run returned; zero if it did not.
func (d *data) ended() time.Time {
	if d.done == nil || d.started.IsZero() {
		return time.Time{}
	}
	return d.started.Add(d.done.After)
}

// outcome returns what was measured; the verdict is left to the caller.
func (d *data) outcome() Outcome {
	o := Outcome{
		Started: d.started, ExitCode: d.exitCode, Samples: slices.Clone(d.samples),
		Histograms: slices.Clone(d.histograms), Recordings: slices.Clone(d.recordings),
	}
	for _, m := range d.metrics {
		o.Series = append(o.Series, d.series[m].series(m))
	}
	return o
}
