package lab

import (
	"fmt"
	"testing"
	"time"

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
			"labels, a group's first",
			Spec{
				Labels: map[string]string{"zone": "a", "processor": "xeon"},
				Groups: []Group{{Name: "a", Nodes: 1}, {Name: "b", Nodes: 1, Labels: map[string]string{"processor": "opteron"}}},
			}, []Service{{Name: "web"}},
			[]Host{
				{Name: "lab-a-1", Group: "a", Address: "10.213.1.1", Labels: map[string]string{"zone": "a", "processor": "xeon"}},
				{Name: "lab-b-1", Group: "b", Address: "10.213.2.1", Labels: map[string]string{"zone": "a", "processor": "opteron"}},
				{Name: "web", Address: "10.213.255.1", Service: &Service{Name: "web"}},
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

// TestBusy: a lab has the rates of the hour of its day in which it is made, and its
// nodes say which that was.
func TestBusy(t *testing.T) {
	midnight := time.Date(2031, 2, 3, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		from, to int
		day, at  time.Duration
		hour     string
		busy     bool
	}{
		{9, 17, 0, 8*time.Hour + 59*time.Minute, "08", false},
		{9, 17, 0, 9 * time.Hour, "09", true},
		{9, 17, 0, 17*time.Hour - 1, "16", true},
		{9, 17, 0, 17 * time.Hour, "17", false},
		{22, 4, 0, 23 * time.Hour, "23", true}, // over midnight
		{22, 4, 0, 3 * time.Hour, "03", true},
		{22, 4, 0, 12 * time.Hour, "12", false},
		{12, 24, 24 * time.Second, 5*time.Hour + 13*time.Second, "13", true}, // an hour a second
		{12, 24, 24 * time.Second, 5*time.Hour + 11*time.Second, "11", false},
	} {
		s := Spec{
			Limits: Limits{Link: mbit(100)}, Uplink: mbit(300), Groups: []Group{{Name: "a", Nodes: 1, Limits: Limits{Link: mbit(50), CPU: 2}}},
			Busy: &Busy{From: tt.from, To: tt.to, Day: unit.Duration(tt.day), Link: mbit(20), CPU: 1},
		}
		h := s.At(midnight.Add(tt.at)).Hosts(nil)[0]
		want, cores := mbit(50), 2.
		if tt.busy {
			want, cores = mbit(20), 1
		}
		if h.Link != want || h.CPU != cores || h.Labels[LabelHour] != tt.hour {
			t.Errorf("%+v: link %v and %v cores in hour %q, want %v and %v in %q", tt, h.Link, h.CPU, h.Labels[LabelHour], want, cores, tt.hour)
		}
		if s.Groups[0].Link != mbit(50) || s.Labels != nil {
			t.Errorf("At has changed what it was called on: %+v", s)
		}
	}
}
