package http1

import (
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// meter measures what a plan costs.
type meter struct {
	begun, ended sync.Once
	start, end   time.Duration // processor time when the plan began, and ended
}

// begin is called by each loop when the plan begins for it.
func (m *meter) begin() { m.begun.Do(func() { m.start = load.ProcessorTime() }) }

// finish is called by each loop when the plan ends for it.
func (m *meter) finish() { m.ended.Do(func() { m.end = load.ProcessorTime() }) }

// usage is what it cost. All loops are done.
func (m *meter) usage(loops []*loop) load.Usage {
	u := load.Usage{CPU: m.end - m.start}
	for _, l := range loops {
		u.Opened += l.opened
		u.Wall = max(u.Wall, l.now)
		if l.poller.spins {
			u.Spun += l.waited
		}
		loaded := min(l.now, l.plan)
		u.Loaded = max(u.Loaded, loaded)
		if loaded > 0 {
			u.Busy = max(u.Busy, 1-min(l.waited.Seconds()/loaded.Seconds(), 1))
		}
		for kind, err := range l.examples {
			if u.Examples[kind] == nil {
				u.Examples[kind] = err
			}
		}
	}
	return u
}
