package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func groups() Config {
	return Config{
		Spec:     lab.Spec{Groups: []lab.Group{{Name: "rack", Nodes: 2}, {Name: "core", Nodes: 1}}},
		Services: []lab.Service{{Name: "s3", Command: "sleep 1"}},
	}
}

// TestNodes: nodes have ids, labels and addresses before anything is made, and
// services are no nodes.
func TestNodes(t *testing.T) {
	node := func(id, group, address string) model.Node {
		n := model.Node{ID: model.NodeID(id), Labels: map[string]string{"fleet": "lab"}}
		if group != "" {
			n.Labels["group"] = group
		}
		n.Facts.Addresses = []string{address}
		return n
	}
	for _, tt := range []struct {
		name string
		cfg  Config
		want []model.Node
	}{
		{"nodes", Config{Spec: lab.Spec{Nodes: 2}}, []model.Node{node("lab-1", "", "10.213.0.1"), node("lab-2", "", "10.213.0.2")}},
		{"groups and a service", groups(), []model.Node{
			node("lab-rack-1", "rack", "10.213.1.1"), node("lab-rack-2", "rack", "10.213.1.2"), node("lab-core-1", "core", "10.213.2.1")}},
	} {
		if diff := cmp.Diff(tt.want, New(tt.cfg).Nodes()); diff != "" {
			t.Errorf("%s: Nodes() (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.want, Nodes(tt.cfg.Spec)); diff != "" {
			t.Errorf("%s: Nodes(spec) (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestServices(t *testing.T) {
	if diff := cmp.Diff(map[string]string{"s3": "10.213.255.1"}, New(groups()).Services()); diff != "" {
		t.Errorf("Services() (-want +got):\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	cfg := groups()
	if got, want := describe(New(cfg).hosts), "3 nodes, 1 service"; got != want {
		t.Errorf("describe() = %q, want %q", got, want)
	}
	if got, want := describe(New(Config{Spec: lab.Spec{Nodes: 1}}).hosts), "1 node"; got != want {
		t.Errorf("describe() = %q, want %q", got, want)
	}
}

func TestNewID(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := NewID()
		if err := lab.CheckID(id); err != nil || seen[id] {
			t.Fatalf("NewID() = %q, %v, seen before: %v; want a new name for a lab", id, err, seen[id])
		}
		seen[id] = true
	}
}

// A fleet that was never up, or failed at once, goes down without a word.
func TestDownWithoutUp(t *testing.T) {
	if err := New(groups()).Down(t.Context()); err != nil {
		t.Errorf("Down() = %v, want nil", err)
	}
}
