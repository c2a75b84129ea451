package master

import (
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// FleetUp is told by a fleet of a run what it makes.
func (m *Master) FleetUp(run model.RunID, text string) {
	m.ev.emit(model.Event{Run: run, Kind: model.EventFleetUp, Severity: model.Info, Text: text})
}

// errService ends a run whose fleet lost one of its services.
var errService = errors.New("the run cannot go on")

// ServiceEnded is told by a fleet of a run, from any goroutine, that one of its
// services has ended although the fleet is up. The run ends at once: what a
// workload would measure from then on is not what the experiment asked for,
// even if it does not notice. What was measured before is kept.
func (m *Master) ServiceEnded(run model.RunID, why error) {
	m.ev.emit(model.Event{Run: run, Kind: model.EventServiceEnded, Severity: model.Problem, Text: why.Error()})
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.active[run]; x != nil {
		x.cancel(fmt.Errorf("%w: %w", errService, why))
	}
}
