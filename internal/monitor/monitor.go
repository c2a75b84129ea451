package monitor

import (
	"context"
	"os"
	"time"
)

// DefaultStep is how often a node is read.
const DefaultStep = time.Second

// Config says what to watch, and how. The zero value watches this machine.
type Config struct {
	// Root is the directory below which proc, sys and the control groups are
	// found; "/" if empty.
	Root string
	// Volumes are the node's volumes by name, as workloads know them: paths of
	// folders or block devices. Those on a device that the kernel counts get
	// series of their own, "volume.NAME.write_bytes".
	Volumes map[string]string
	// Step is the time between readings; DefaultStep if zero.
	Step time.Duration
	// Now is the clock; time.Now if nil. Its times must carry Go's monotonic
	// reading, so that a clock that is set does not shift readings.
	Now func() time.Time

	// What tests replace.
	pageSize int
	links    func() []link
	diag     func() source
}

// Monitor reads the metrics of this node. It holds nothing open between
// recordings and may be shared.
type Monitor struct{ cfg Config }

// New returns a monitor. Where there is nothing to read, as on other systems
// than Linux, its recordings have no series.
func New(cfg Config) *Monitor {
	if cfg.Root == "" {
		cfg.Root = "/"
		cfg.diag = socketQueues
	}
	if cfg.diag == nil {
		cfg.diag = func() source { return nil } // another machine's files have no kernel to ask
	}
	if cfg.Step <= 0 {
		cfg.Step = DefaultStep
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.pageSize == 0 {
		cfg.pageSize = os.Getpagesize()
	}
	if cfg.links == nil {
		cfg.links = systemLinks
	}
	return &Monitor{cfg}
}

func socketQueues() source {
	if d := newDiag(); d != nil {
		return d
	}
	return nil
}

// Start takes a first reading and goes on reading until Stop is called or ctx
// ends. Stop must be called in either case.
func (m *Monitor) Start(ctx context.Context) *Recording {
	r := &Recording{
		step: m.cfg.Step, now: m.cfg.Now, limit: maxRows, sources: m.open(), sheet: newSheet(),
		stride: 1, stop: make(chan struct{}), done: make(chan struct{}),
	}
	r.emit = r.sheet.put
	r.read(0)
	go r.run(ctx)
	return r
}
