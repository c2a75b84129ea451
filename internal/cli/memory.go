package cli

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/control"
)

// What a server process keeps its memory to: the collector works harder from
// there on, so that garbage which others cause does not double what is in use.
const (
	serverMemory = 112 << 20 // bytes
	perAgent     = 128 << 10 // more for each: its connection
	// longRequest is how long a request may last until it may take as much
	// memory as it needs: the analysis of a large run.
	longRequest = 3 * time.Second
)

// heapLimit is the memory limit of a server process. Its zero value sets none.
type heapLimit struct {
	mu     sync.Mutex
	limit  int64 // bytes; 0: none
	lifted int   // long requests
}

// keep sets the limit for a server's agents, and follows their number until ctx
// ends. A user who sets GOMEMLIMIT decides for himself.
func (m *heapLimit) keep(ctx context.Context, s control.Fleet) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		nodes, _ := s.Nodes(ctx) // it cannot fail here
		up := int64(0)
		for _, n := range nodes {
			if n.Status.Up() {
				up++
			}
		}
		m.change(func() { m.limit = serverMemory + up*perAgent })
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *heapLimit) change(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	switch {
	case m.limit == 0:
	case m.lifted > 0:
		debug.SetMemoryLimit(math.MaxInt64)
	default:
		debug.SetMemoryLimit(m.limit)
	}
}

// request lifts the limit while a request lasts long.
func (m *heapLimit) request() (ended func()) {
	t := time.AfterFunc(longRequest, func() { m.change(func() { m.lifted++ }) })
	return func() {
		if !t.Stop() {
			m.change(func() { m.lifted-- })
		}
	}
}
