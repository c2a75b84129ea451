package master

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// shaper is a fleet that sets the rates of its nodes' links, and the limits of volumes.
type shaper interface {
	// Shape sets links and volumes, and gives all others what they had when the
	// fleet came up. It returns what all have then: of volumes by a name for each
	// direction of each host's.
	Shape(want model.Shape) (model.Shape, error)
	// Shaped is what they have.
	Shaped() (model.Shape, error)
}

// shape sets links and volumes of the fleet to what a step says before any of it is sent,
// each time, so that no step is measured with those of another, whatever became of that.
func (x *execution) shape(s model.Step) (model.Shape, error) {
	f, ok := x.fleet.(shaper)
	if !ok {
		return model.Shape{}, nil
	}
	is, err := f.Shape(model.Shape{Links: s.Links, Volumes: s.Volumes})
	if err != nil {
		return is, fmt.Errorf("setting links and volumes for %s: %w", describe(s), err)
	}
	return is, nil
}

// moved says which link or volume did not keep its rates while an attempt was measured;
// empty: all did.
func (x *execution) moved(was model.Shape) string {
	f, ok := x.fleet.(shaper)
	if !ok {
		return ""
	}
	is, err := f.Shaped()
	if err != nil {
		return "whether links and volumes kept their rates is not known: " + model.Plain(err)
	}
	const changed = "something else than scalebench changed "
	for _, id := range slices.Sorted(maps.Keys(was.Links)) {
		if a, b := was.Links[id], is.Links[id]; a != b {
			return fmt.Sprintf(changed+"the link of node %s while the step was measured, "+
				"from %.0f and %.0f to %.0f and %.0f bytes per second out and in", id, a.Out, a.In, b.Out, b.In)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Volumes)) {
		if a, b := was.Volumes[name], is.Volumes[name]; a != b {
			return fmt.Sprintf(changed+"the limits of %s while the step was measured, "+
				"from %d operations and %.0f bytes per second to %d and %.0f (0: none)",
				name, a.IOPS, a.Bandwidth, b.IOPS, b.Bandwidth)
		}
	}
	return ""
}
