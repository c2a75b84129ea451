package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/model"
)

// TestPlanAmount: names that mean nothing are refused, with the one that was
// meant; a bare number is one only where something has no unit.
func TestPlanAmount(t *testing.T) {
	known := []analysis.Capacity{{Workload: "disks", Metric: "capacity", Unit: "byte/s"}, {Workload: "bare", Metric: "capacity"}}
	for text, problem := range map[string]string{
		"objectstore.get=1MB/s": "", "own/metric=1MB/s": "", "disks=1MB/s": "", "disks/capacity=1MB/s": "", "bare=12": "", "bare/capacity=12": "",
		"objectstre.get=1MB/s": `did you mean "objectstore.get"?`, "dsks=1MB/s": `did you mean "disks"?`, "wxyzq=1MB/s": "there is no resource", "disks=12": "has no unit",
	} {
		_, err := planAmount("--demand", text, analysis.ParseAmount, known)
		if problem == "" && err != nil || problem != "" && (!errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), problem)) {
			t.Errorf("planAmount(%q): %v, want %q", text, err, problem)
		}
	}
}

// TestGivenCapacities: one of a resource and unit, in place of the measured.
func TestGivenCapacities(t *testing.T) {
	in := analysis.PlanInput{Capacities: []analysis.Capacity{{Resource: model.ResourceDiskWrite, Unit: "byte/s", Total: 1, Nodes: 3}}}
	if err := givenCapacities(planOptions{capacities: []string{"disk.write=5B/s", "disk.write=7op/s"}}, &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Capacities) != 2 || in.Capacities[0].Total != 5 || in.Capacities[1].Total != 7 {
		t.Errorf("capacities %+v, want 5 byte/s and 7 op/s", in.Capacities)
	}
	if err := givenCapacities(planOptions{capacities: []string{"disk.write=5B/s", "disk.write=8B/s"}}, &in); !errors.Is(err, model.ErrUsage) {
		t.Errorf("twice: %v, want ErrUsage", err)
	}
}
