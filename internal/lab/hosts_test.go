package lab

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

func mbit(n float64) unit.Rate { return unit.Rate{Value: n * 1e6, Base: unit.Bits} }

func TestHosts(t *testing.T) {
	db := Service{Name: "db", Command: "run", Port: 5432, Limits: Limits{Link: mbit(50), Use: []string{"one"}}}
	volumes := []Volume{{Name: "one"}, {Name: "two"}}
	for _, tt := range []struct {
		name     string
		spec     Spec
		services []Service
		want     []Host
	}{
		{"nothing", Spec{}, nil, nil},
		{
			"nodes have all volumes and the lab's limits",
			Spec{Nodes: 2, Limits: Limits{Link: mbit(200), CPU: 0.5}, Volumes: volumes}, nil,
			[]Host{
				{Name: "lab-1", Address: "10.213.0.1", Limits: Limits{Link: mbit(200), CPU: 0.5, Use: []string{"one", "two"}}},
				{Name: "lab-2", Address: "10.213.0.2", Limits: Limits{Link: mbit(200), CPU: 0.5, Use: []string{"one", "two"}}},
			},
		},
		{
			"groups override, each limit by itself",
			Spec{
				Limits: Limits{Link: mbit(200), Memory: unit.GiB}, Volumes: volumes,
				Groups: []Group{
					{Name: "a", Nodes: 1, Limits: Limits{Link: mbit(100), Use: []string{"two"}}},
					{Name: "b", Nodes: 1, Limits: Limits{CPU: 2, Use: []string{}}},
				},
			}, nil,
			[]Host{
				{Name: "lab-a-1", Group: "a", Address: "10.213.1.1", Limits: Limits{Link: mbit(100), Memory: unit.GiB, Use: []string{"two"}}},
				{Name: "lab-b-1", Group: "b", Address: "10.213.2.1", Limits: Limits{Link: mbit(200), CPU: 2, Memory: unit.GiB, Use: []string{}}},
			},
		},
		{
			"services have their own limits and the volumes that they name",
			Spec{Nodes: 1, Limits: Limits{CPU: 1}, Volumes: volumes}, []Service{db, {Name: "web"}},
			[]Host{
				{Name: "lab-1", Address: "10.213.0.1", Limits: Limits{CPU: 1, Use: []string{"one", "two"}}},
				{Name: "db", Address: "10.213.255.1", Limits: db.Limits, Service: &db},
				{Name: "web", Address: "10.213.255.2", Service: &Service{Name: "web"}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.spec.Hosts(tt.services)); diff != "" {
				t.Errorf("Hosts: -want +got\n%s", diff)
			}
		})
	}
}

// TestHostsAreDistinct builds the largest lab that is valid.
func TestHostsAreDistinct(t *testing.T) {
	spec := Spec{}
	for i := range 40 {
		spec.Groups = append(spec.Groups, Group{Name: fmt.Sprintf("1-%d", i), Nodes: 4})
	}
	var services []Service
	for i := range 40 {
		services = append(services, Service{Name: fmt.Sprintf("s-%d", i), Command: "run"})
	}
	if err := spec.ValidateServices(services); err != nil {
		t.Fatal(err)
	}
	names, addresses := make(map[model.NodeID]bool), make(map[string]bool)
	for _, h := range spec.Hosts(services) {
		if err := h.Name.Validate(); err != nil || names[h.Name] || addresses[h.Address] {
			t.Errorf("host %s with %s: %v, want a valid name and both for the first time", h.Name, h.Address, err)
		}
		names[h.Name], addresses[h.Address] = true, true
	}
	if len(names) != MaxHosts {
		t.Errorf("Hosts returned %d, want %d", len(names), MaxHosts)
	}
}

func TestRacks(t *testing.T) {
	svc := []Service{{Name: "s"}}
	for _, tt := range []struct {
		name string
		spec Spec
		want []rack
	}{
		{"no uplink: all on the core", Spec{Nodes: 2}, []rack{{direct: true, hosts: []model.NodeID{"lab-1", "lab-2", "s"}}}},
		{"an uplink makes one group of all nodes", Spec{Nodes: 2, Uplink: mbit(300)}, []rack{
			{direct: true, hosts: []model.NodeID{"s"}},
			{uplink: mbit(300), hosts: []model.NodeID{"lab-1", "lab-2"}},
		}},
		{"a group's uplink is its own, or the lab's", Spec{Uplink: mbit(300), Groups: []Group{{Name: "a", Nodes: 1}, {Name: "b", Nodes: 1, Uplink: mbit(100)}}}, []rack{
			{direct: true, hosts: []model.NodeID{"s"}},
			{uplink: mbit(300), hosts: []model.NodeID{"lab-a-1"}},
			{uplink: mbit(100), hosts: []model.NodeID{"lab-b-1"}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.spec.racks(tt.spec.Hosts(svc))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(rack{})); diff != "" {
				t.Errorf("racks: -want +got\n%s", diff)
			}
		})
	}
}
