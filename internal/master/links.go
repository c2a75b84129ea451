package master

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// shaper is a fleet that sets the rates of its nodes' links.
type shaper interface {
	// Shape gives the links of nodes these rates, and those of all others what they
	// had when the fleet came up. It returns what all have then.
	Shape(want map[model.NodeID]model.Link) (map[model.NodeID]model.Link, error)
	// Links are what they have.
	Links() (map[model.NodeID]model.Link, error)
}

// shape sets the links of the fleet to what a step says before any of it is sent, each
// time, so that no step is measured with the links of another, whatever became of that.
func (x *execution) shape(s model.Step) (map[model.NodeID]model.Link, error) {
	f, ok := x.fleet.(shaper)
	if !ok {
		return nil, nil
	}
	is, err := f.Shape(s.Links)
	if err != nil {
		return nil, fmt.Errorf("setting the links for %s: %w", describe(s), err)
	}
	return is, nil
}

// moved says which link did not keep its rates while an attempt was measured; empty:
// all did.
func (x *execution) moved(was map[model.NodeID]model.Link) string {
	f, ok := x.fleet.(shaper)
	if !ok {
		return ""
	}
	is, err := f.Links()
	if err != nil {
		return "whether links kept their rates is not known: " + model.Plain(err)
	}
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if is[id] != was[id] {
			return fmt.Sprintf("something else than scalebench changed the link of node %s while the step was measured, from %.0f and %.0f to %.0f and %.0f bytes per second out and in",
				id, was[id].Out, was[id].In, is[id].Out, is[id].In)
		}
	}
	return ""
}
