package service

import (
	"context"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// newWatch records the limit of the service's processor, once a second.
func newWatch(r *running) watch { return &quotaWatch{r: r} }

type quotaWatch struct {
	r     *running
	stop  context.CancelFunc
	ended sync.WaitGroup
	at    []time.Time
	cores []float64
}

// Start implements watch.
func (w *quotaWatch) Start(ctx context.Context) {
	ctx, w.stop = context.WithCancel(ctx)
	w.ended.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			w.at, w.cores = append(w.at, time.Now()), append(w.cores, w.r.cores())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop implements watch.
func (w *quotaWatch) Stop() {
	w.stop()
	w.ended.Wait()
}

// Series implements watch.
func (w *quotaWatch) Series(since time.Time) []model.HostSeries {
	s := model.HostSeries{Metric: w.r.Name + ":quota", Unit: "core", Values: w.cores}
	for _, at := range w.at {
		s.Offsets = append(s.Offsets, at.Sub(since).Nanoseconds())
	}
	return []model.HostSeries{s}
}

// Failures implements watch.
func (w *quotaWatch) Failures() []string { return nil }
