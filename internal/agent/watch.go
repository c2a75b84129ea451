package agent

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/monitor"
	"github.com/scalebench/scalebench/internal/runner"
)

// watch is the monitor's eye on the host while a task runs. It begins when
// everything is prepared: what is not timed is not watched.
type watch struct {
	recording *monitor.Recording
	began     time.Time
	// used is the processor time that the task had used by then; known is
	// false where that cannot be read.
	used  time.Duration
	known bool
}

// beginWatch begins to watch for the task whose process this is.
func (a *Agent) beginWatch(ctx context.Context, pid int) *watch {
	used, err := monitor.ProcessCPU("", pid)
	if err != nil {
		a.log.Debug("the processor time of others will not be known", "err", err)
	}
	return &watch{recording: a.monitor.Start(ctx), began: time.Now(), used: used, known: err == nil}
}

// into ends the watch and puts what it saw into the result.
func (w *watch) into(r *model.Result, out runner.Outcome) {
	w.recording.Stop()
	lasted := time.Since(w.began).Seconds()
	if out.Started.IsZero() {
		return // it never began; there is nothing to align with
	}
	seen := w.recording.Series(out.Started)
	r.Host = append(r.Host, seen...)
	others, ok := monitor.Others(seen, out.CPU-w.used)
	if !ok || !w.known || lasted <= 0 {
		return
	}
	// The clocks are coarse: a little less than nothing is nothing.
	r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: max(0, others/lasted), Better: model.Lower, Info: true})
}
