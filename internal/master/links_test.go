package master

import (
	"maps"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// cables are links of which a test changes one: package lab has real ones.
type cables struct {
	Fleet
	made, is map[model.NodeID]model.Link
}

func (c *cables) Shape(want map[model.NodeID]model.Link) (map[model.NodeID]model.Link, error) {
	c.is = maps.Clone(c.made)
	maps.Copy(c.is, want)
	return maps.Clone(c.is), nil
}

func (c *cables) Links() (map[model.NodeID]model.Link, error) { return c.is, nil }

// TestShaped: each step has the links that it asks for, and those of the step before are
// gone; one that something else changed in between is told.
func TestShaped(t *testing.T) {
	fast, slow := model.Link{Out: 125, In: 100}, model.Link{Out: 100, In: 100}
	fleet := &cables{made: map[model.NodeID]model.Link{"a": slow, "b": slow}}
	x := &execution{fleet: fleet}
	was, err := x.shape(model.Step{Treatment: model.Treatment{Links: map[model.NodeID]model.Link{"a": fast}}})
	if err != nil || was["a"] != fast || was["b"] != slow {
		t.Fatalf("shape = %v, %v, want that of a faster", was, err)
	}
	if got := x.moved(was); got != "" {
		t.Errorf("moved = %q, want nothing", got)
	}
	fleet.is["b"] = fast
	if got := x.moved(was); !strings.Contains(got, "changed the link of node b") || !strings.Contains(got, "from 100 and 100 to 125 and 100 bytes") {
		t.Errorf("moved = %q, want the link of b", got)
	}
	if was, err = x.shape(model.Step{}); err != nil || was["a"] != slow || was["b"] != slow {
		t.Errorf("shape = %v, %v, want all as they were made", was, err)
	}
	x.fleet = nil // agents of others
	if was, err := x.shape(model.Step{}); was != nil || err != nil || x.moved(nil) != "" {
		t.Errorf("without a lab: %v, %v", was, err)
	}
}
