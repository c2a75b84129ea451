package service

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Watch records what a service does, once a second. Package tiers has one.
type Watch interface {
	Start(ctx context.Context)
	// Stop may be called again.
	Stop()
	// Used is the share of the processor time that the service may use that it did use
	// of late; false where that is not known.
	Used() (share float64, ok bool)
	// Series are the recordings, with times since a moment.
	Series(since time.Time) []model.HostSeries
	// Failures are what could not be read, Notes what was read less often than
	// was asked for; for people.
	Failures() []string
	Notes() []string
}

// Watched is a service that is to be watched.
type Watched struct {
	Service string // its name
	// Group are the folders of the service's own control group: one with version 2, one
	// for each controller with version 1. Without any, it is the process PID with all its
	// descendants and what is in its process group.
	Group []string
	PID   int
	// Above are the same of the node's group, in which a service is that has none of
	// its own: what limits that limits the service.
	Above []string
	// Ports are the TCP ports on which it listens: connections to them are its
	// connections.
	Ports  []int
	Probes []probe.Probe
	// Link is the rate of its node's link in bytes a second, LinkIn that of what it
	// receives, where it is known by itself; 0: not known.
	Link, LinkIn float64
	// Step is the time between readings of the kernel; a second if zero.
	Step time.Duration
}

// watched describes a service that runs.
func (r *running) watched() Watched {
	w := Watched{Service: r.Name, Group: r.group.Dirs(), PID: r.cmd.Process.Pid, Link: r.Link, Step: r.Every.Std()}
	if len(w.Group) == 0 {
		w.Above = nodeGroup()
	}
	if is := r.env.Self.Link; is.Out > 0 && r.bounds().Link == (unit.Rate{}) { // what is, and not what the file has
		w.Link, w.LinkIn = is.Out, is.In
	}
	if r.Port != 0 {
		w.Ports = []int{r.Port}
	}
	for _, p := range r.Probes {
		w.Probes = append(w.Probes, filledProbe(p, r.fill, r.dir))
	}
	return w
}

// tellUsed tells people each second what the services use, until ctx is done.
func (p *Params) tellUsed(ctx context.Context, to workload.Reporter) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		values := make(map[string]float64)
		for _, r := range p.running {
			if r.watch == nil {
				continue
			}
			if share, ok := r.watch.Used(); ok {
				values[r.Name+":"+model.LiveUsed] = share
			}
		}
		if len(values) > 0 {
			to.Live(values)
		}
	}
}

// report reports what was recorded of the service; its watch has stopped.
func (r *running) report(began time.Time) {
	for _, s := range r.watch.Series(began) {
		r.env.Report.Recording(s)
	}
	for _, f := range r.watch.Failures() {
		r.env.Report.Stage(r.Name+":signals", model.StageFailed, f)
	}
	for _, n := range r.watch.Notes() {
		r.env.Report.Stage(r.Name+":signals", model.StageDone, n)
	}
}
