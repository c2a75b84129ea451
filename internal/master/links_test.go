package master

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// shaped is a fleet with links and volumes that a test changes: package lab has real ones.
type shaped struct {
	Fleet
	made, is model.Shape
}

func (f *shaped) Shape(want model.Shape) (model.Shape, error) {
	f.is = model.Shape{Links: maps.Clone(f.made.Links), Volumes: maps.Clone(f.made.Volumes)}
	maps.Copy(f.is.Links, want.Links)
	maps.Copy(f.is.Volumes, want.Volumes)
	return model.Shape{Links: maps.Clone(f.is.Links), Volumes: maps.Clone(f.is.Volumes)}, nil
}

func (f *shaped) Shaped() (model.Shape, error) { return f.is, nil }

// TestShaped: each step has the links and volumes that it asks for, and those of the step
// before are gone; one that something else changed in between is told.
func TestShaped(t *testing.T) {
	fast, slow := model.Link{Out: 125, In: 100}, model.Link{Out: 100, In: 100}
	raised, small := model.VolumeLevel{IOPS: 1800, Bandwidth: 60}, model.VolumeLevel{IOPS: 300, Bandwidth: 60}
	fleet := &shaped{made: model.Shape{
		Links:   map[model.NodeID]model.Link{"a": slow, "b": slow},
		Volumes: map[string]model.VolumeLevel{"data": small, "log": small},
	}}
	x := &execution{fleet: fleet}
	was, err := x.shape(model.Step{Treatment: model.Treatment{
		Links: map[model.NodeID]model.Link{"a": fast}, Volumes: map[string]model.VolumeLevel{"data": raised},
	}})
	want := model.Shape{
		Links:   map[model.NodeID]model.Link{"a": fast, "b": slow},
		Volumes: map[string]model.VolumeLevel{"data": raised, "log": small},
	}
	if diff := cmp.Diff(want, was); err != nil || diff != "" {
		t.Fatalf("shape: %v, (-want +got):\n%s", err, diff)
	}
	if got := x.moved(was); got != "" {
		t.Errorf("moved = %q, want nothing", got)
	}
	fleet.is.Volumes["log"] = raised
	got, change := x.moved(was), "from 300 operations and 60 bytes per second to 1800 and 60"
	if !strings.Contains(got, "changed the limits of log") || !strings.Contains(got, change) {
		t.Errorf("moved = %q, want the limits of log", got)
	}
	fleet.is.Links["b"] = fast
	if got := x.moved(was); !strings.Contains(got, "changed the link of node b") || !strings.Contains(got, "from 100 and 100 to 125 and 100 bytes") {
		t.Errorf("moved = %q, want the link of b", got)
	}
	if was, err = x.shape(model.Step{}); err != nil || !cmp.Equal(was, fleet.made) {
		t.Errorf("shape = %v, %v, want all as they were made", was, err)
	}
	x.fleet = nil // agents of others
	if was, err := x.shape(model.Step{}); err != nil || was.Links != nil || was.Volumes != nil || x.moved(was) != "" {
		t.Errorf("without a lab: %v, %v", was, err)
	}
}
