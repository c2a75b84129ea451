package queue

import (
	"maps"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/wire"
)

// showEvery is how often a person is shown how far a task is. A workload
// reports ten times as often; a thousand agents that signed and sent every
// point would load the server while it measures.
const showEvery = time.Second

// throttle lets one message of an attempt pass in showEvery; the zero value is
// ready.
type throttle struct {
	mu   sync.Mutex
	last map[wire.Attempt]time.Time // when the last one passed
}

// due reports whether a message may pass now, and notes that it does. A clock
// that was set back lets it pass.
func (t *throttle) due(a wire.Attempt, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	recent := func(at time.Time) bool { d := now.Sub(at); return 0 <= d && d < showEvery }
	if at, ok := t.last[a]; ok && recent(at) {
		return false
	}
	if t.last == nil {
		t.last = make(map[wire.Attempt]time.Time)
	}
	// Attempts that ended are forgotten here.
	maps.DeleteFunc(t.last, func(_ wire.Attempt, at time.Time) bool { return !recent(at) })
	t.last[a] = now
	return true
}
