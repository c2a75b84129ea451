package lab

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// fields returns the fields of joined errors.
func fields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v is not joined", err)
	}
	var names []string
	for _, e := range joined.Unwrap() {
		var f *model.InputError
		if !errors.As(e, &f) || f.Problem == "" || f.Allowed == "" {
			t.Errorf("%v is not an InputError with problem and what is allowed", e)
			continue
		}
		names = append(names, f.Path)
	}
	return names
}

func TestValidate(t *testing.T) {
	ops := unit.Rate{Value: 500, Base: unit.Operations}
	data, queue := []Volume{{Name: "data"}}, Limits{Queue: unit.Duration(100 * time.Millisecond)}
	for _, tt := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"nodes", Spec{Nodes: 1}, nil},
		{"everything", Spec{
			Limits: Limits{Link: mbit(1), CPU: 0.01, Memory: 64 * unit.MiB, Use: []string{"data"}}, Uplink: unit.Rate{Value: 1e6, Base: unit.Bytes},
			Volumes: []Volume{{Name: "data", Size: 16 * unit.MiB, IOPS: 1, Bandwidth: mbit(1)}, {Name: "f", Type: Folder}},
			Groups:  []Group{{Name: "a", Nodes: 64}, {Name: "b", Nodes: 64}},
		}, nil},
		{"nothing", Spec{}, []string{"nodes"}},
		{"nodes and groups", Spec{Nodes: 1, Groups: []Group{{Name: "a", Nodes: 1}}}, []string{"nodes"}},
		{"too many nodes", Spec{Nodes: 65}, []string{"nodes"}},
		{"a negative number", Spec{Nodes: -1}, []string{"nodes"}},
		{"too many together", Spec{Groups: []Group{{Name: "a", Nodes: 64}, {Name: "b", Nodes: 64}, {Name: "c", Nodes: 64}, {Name: "d", Nodes: 9}}}, []string{"groups"}},
		{"operations on a link", Spec{Nodes: 1, Limits: Limits{Link: ops}, Uplink: ops}, []string{"link", "uplink"}},
		{"operations in a group", Spec{Groups: []Group{{Name: "a", Nodes: 1, Limits: Limits{Link: ops}, Uplink: ops}}}, []string{"groups[0].link", "groups[0].uplink"}},
		{"too slow a link", Spec{Nodes: 1, Limits: Limits{Link: unit.Rate{Value: 63e3, Base: unit.Bits}}}, []string{"link"}},
		{"too fast a link", Spec{Nodes: 1, Limits: Limits{Link: unit.Rate{Value: 13e9, Base: unit.Bytes}}}, []string{"link"}},
		{"too long and too short a queue", Spec{Groups: []Group{
			{Name: "a", Nodes: 1, Limits: Limits{Link: mbit(1), Queue: unit.Duration(time.Second)}},
			{Name: "b", Nodes: 1, Limits: Limits{Link: mbit(1), Queue: unit.Duration(time.Microsecond)}},
		}}, []string{"groups[0].queue", "groups[1].queue"}},
		{"a queue before no link", Spec{Nodes: 1, Limits: queue}, []string{"queue"}},
		{"a queue before the links of all groups but one", Spec{Limits: queue, Groups: []Group{
			{Name: "a", Nodes: 1, Limits: Limits{Link: mbit(1)}}, {Name: "b", Nodes: 1}}}, []string{"groups[1].queue"}},
		{"groups of one name", Spec{Groups: []Group{{Name: "a", Nodes: 1}, {Name: "a", Nodes: 1}}}, []string{"groups[1].name"}},
		{"no name", Spec{Groups: []Group{{Nodes: 1}}}, []string{"groups[0].name"}},
		{"an empty group", Spec{Groups: []Group{{Name: "a"}}}, []string{"groups[0].nodes"}},
		{"use of what is not there", Spec{Nodes: 1, Limits: Limits{Use: []string{"data", "date"}}, Volumes: data}, []string{"use[1]"}},
		{"too little memory", Spec{Nodes: 1, Limits: Limits{Memory: unit.MiB}}, []string{"memory"}},
		{"no cores", Spec{Nodes: 1, Limits: Limits{CPU: math.NaN()}}, []string{"cpu"}},
		{"a folder with limits", Spec{Nodes: 1, Volumes: []Volume{{Name: "f", Type: Folder, IOPS: 1}}}, []string{"volumes[0].type"}},
		{"an unknown type", Spec{Nodes: 1, Volumes: []Volume{{Name: "f", Type: "xfs"}}}, []string{"volumes[0].type"}},
		{"a small volume", Spec{Nodes: 1, Volumes: []Volume{{Name: "f", Size: unit.MiB}}}, []string{"volumes[0].size"}},
		{"operations as bandwidth", Spec{Nodes: 1, Volumes: []Volume{{Name: "f", Bandwidth: ops}}}, []string{"volumes[0].bandwidth"}},
		{"labels and busy hours", Spec{Nodes: 1, Labels: map[string]string{"zone": "eu-1 a"}, Busy: &Busy{From: 22, To: 4, Day: unit.Duration(time.Minute), Link: mbit(1)}}, nil},
		{"labels that are scalebench's", Spec{Labels: map[string]string{"fleet": "x", "a=b": "y"}, Groups: []Group{{Name: "a", Nodes: 1, Labels: map[string]string{"group": "b", "zone": ""}}}},
			[]string{"labels.a=b", "labels.fleet", "groups[0].labels.group", "groups[0].labels.zone"}},
		{"busy for nothing", Spec{Nodes: 1, Busy: &Busy{From: 24, To: 24, Day: unit.Duration(48 * time.Hour)}}, []string{"busy.from", "busy.to", "busy.day", "busy"}},
		{"busy processors", Spec{Nodes: 1, Busy: &Busy{To: 12, CPU: 0.5}}, nil},
		{"busy with no processor", Spec{Nodes: 1, Busy: &Busy{To: 12, CPU: -1}}, []string{"busy.cpu"}},
		{"volumes of one name", Spec{Nodes: 1, Volumes: []Volume{{Name: "f"}, {Name: "f"}}}, []string{"volumes[1].name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, fields(t, tt.spec.Validate())); diff != "" {
				t.Errorf("fields with errors: -want +got\n%s", diff)
			}
		})
	}
}

func TestValidateServices(t *testing.T) {
	spec := Spec{Nodes: 1, Volumes: []Volume{{Name: "data"}}}
	ok, queue := Service{Name: "s", Command: "run", Port: 80}, Limits{Queue: unit.Duration(100 * time.Millisecond)}
	many := make([]Service, MaxHosts)
	for i := range many {
		many[i] = Service{Name: "s" + string(rune('A'+i/26)) + string(rune('a'+i%26)), Command: "run"}
	}
	for _, tt := range []struct {
		name     string
		services []Service
		want     []string
	}{
		{"none", nil, nil},
		{"one", []Service{ok}, nil},
		{"two of one name", []Service{ok, ok}, []string{"[1].name"}},
		{"the name of a node", []Service{{Name: "lab-1", Command: "run"}}, []string{"[0].name"}},
		{"no names of variables", []Service{{Name: "s", Command: "run", PassEnv: []string{"A", "B=c"}}}, []string{"[0].pass_env"}},
		{"no command, no port, no volume", []Service{{Name: "s", Port: 70000, Limits: Limits{Use: []string{"x"}}}},
			[]string{"[0].command", "[0].port", "[0].use[0]"}},
		{"a queue before no link", []Service{{Name: "s", Command: "run", Limits: queue}}, []string{"[0].queue"}},
		{"too many", many, []string{"[199]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, fields(t, spec.ValidateServices(tt.services))); diff != "" {
				t.Errorf("fields with errors: -want +got\n%s", diff)
			}
		})
	}
}
