package service

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// watch records what a service does, once a second.
type watch interface {
	Start(ctx context.Context)
	// Stop may be called again.
	Stop()
	// Series are the recordings, with times since a moment.
	Series(since time.Time) []model.HostSeries
	// Failures are what could not be read, for people.
	Failures() []string
}

// report reports what was recorded of the service.
func (r *running) report(began time.Time) {
	r.watch.Stop()
	for _, s := range r.watch.Series(began) {
		r.env.Report.Recording(s)
	}
	for _, f := range r.watch.Failures() {
		r.env.Report.Stage(r.Name+":signals", model.StageFailed, f)
	}
}
