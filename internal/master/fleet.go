package master

import (
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// Tell publishes an event of a fleet. While a run is executed it belongs to
// that run.
func (m *Master) Tell(ev model.Event) { m.tell(ev) }

// errService ends a run whose fleet lost one of its services.
var errService = errors.New("the run cannot go on")

// ServiceEnded is told by a fleet, from any goroutine, that one of its
// services has ended although the fleet is up. The run ends at once: what a
// workload would measure from then on is not what the experiment asked for,
// even if it does not notice. What was measured before is kept.
func (m *Master) ServiceEnded(why error) {
	m.tell(model.Event{Kind: model.EventServiceEnded, Severity: model.Problem, Text: why.Error()})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active != nil {
		m.active.cancel(fmt.Errorf("%w: %w", errService, why))
	}
}
