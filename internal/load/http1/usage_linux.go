package http1

import (
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// meter measures what a run costs.
type meter struct {
	once  sync.Once
	start time.Duration // processor time when the plan began
}

// begin is called by each loop when the plan begins for it.
func (m *meter) begin() { m.once.Do(func() { m.start = load.ProcessorTime() }) }

// usage is what it cost. All loops are done.
func (m *meter) usage(loops []*loop) load.Usage {
	u := load.Usage{CPU: load.ProcessorTime() - m.start}
	for _, l := range loops {
		u.Opened += l.opened
		u.Wall = max(u.Wall, l.now)
		if l.now > 0 {
			u.Busy = max(u.Busy, 1-min(l.waited.Seconds()/l.now.Seconds(), 1))
		}
		for kind, err := range l.examples {
			if u.Examples[kind] == nil {
				u.Examples[kind] = err
			}
		}
	}
	return u
}
