package analysis

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// processors is a run of six nodes of 8 cores, each of which kept so many busy,
// by the counters of the monitor that are named, and lost half of its speed when
// all worked.
func processors(t *testing.T, rates map[string]float64) (*builder, []Capacity) {
	t.Helper()
	b := sweepCase{fleet: 6, trials: 2, sizes: []int{3, 4, 5}, noise: .001, total: fleetCap(3 * solo)}.run(rand.New(rand.NewPCG(7, 1)))
	for i := range b.data.Nodes {
		b.data.Nodes[i].Facts.Cores = 8
	}
	for i := range b.data.Results {
		r := &b.data.Results[i]
		r.Samples[0].Resource = model.ResourceCPU
		r.Host = counters(rates)
	}
	return b, CapacitiesOf([]model.Finding{one(t, b.data, quick)}, []model.Scaling{scaled(t, b.data)}, b.data)
}

// counters are readings over the ten seconds of a task.
func counters(rates map[string]float64) []model.HostSeries {
	var out []model.HostSeries
	for name, rate := range rates {
		h := model.HostSeries{Metric: name, Counter: true}
		for s := range int64(11) {
			h.Offsets, h.Values = append(h.Offsets, s*1e9), append(h.Values, rate*float64(s))
		}
		out = append(out, h)
	}
	return out
}

// TestCapacityInCores: a node has the cores that the workload used, not those
// that it could have used.
func TestCapacityInCores(t *testing.T) {
	for _, c := range []struct {
		name    string
		rates   map[string]float64
		total   float64 // cores; 0: not known
		limited bool
		demand  float64 // cores of one node, of 10
		answer  model.PlanAnswer
		text    string // of the resource, or a warning
	}{
		{"one thread of eight, little wanted", map[string]float64{"cgroup.cpu": 1}, 3, false, .2, model.PlanFits, "kept only 1 of a node's 8 cores busy"},
		{"one thread of eight", map[string]float64{"cgroup.cpu": 1}, 3, false, 2, model.PlanUntested, "kept only 1 of a node's 8 cores busy: measure with as many threads as cores"},
		{"all threads", map[string]float64{"cgroup.cpu": 7.8}, 23.4, true, 2.5, model.PlanFails, "used up at 9.3"},
		{"all threads, fits", map[string]float64{"cgroup.cpu": 7.8}, 23.4, true, 2, model.PlanFits, "used up at 11.6"},
		{"of the machine", map[string]float64{"cpu.user": 5, "cpu.system": 2}, 21, true, 3, model.PlanFails, ""},
		{"no counters", nil, 0, false, 2, model.PlanUntested, "the monitor saw no processor time of work alone on node n00"},
	} {
		_, got := processors(t, c.rates)
		r, err := Plan(PlanInput{Target: 10, NodeRate: 1, Demands: []Demand{{Resource: model.ResourceCPU, Amount: c.demand, Unit: unitCore, Measured: true}}, Capacities: got})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if all := r.Resources[0].Text + strings.Join(r.Warnings, " "); r.Answer != c.answer || !strings.Contains(all, c.text) {
			t.Errorf("%s: %s, %q, want %s and %q", c.name, r.Answer, all, c.answer, c.text)
		}
		if c.total == 0 {
			if len(got) != 1 {
				t.Errorf("%s: capacities %+v, want none in cores", c.name, got)
			}
			continue
		}
		if len(got) != 2 || got[1].Unit != unitCore || got[1].Limited != c.limited {
			t.Fatalf("%s: capacities %+v, want one in cores, limited = %v", c.name, got, c.limited)
		}
		wantValue(t, c.name, &got[1].Total, c.total, .005*c.total)
	}
}

// TestPartialCapacityYields: where another workload used whole nodes, one that
// did not says nothing.
func TestPartialCapacityYields(t *testing.T) {
	_, short := processors(t, map[string]float64{"cgroup.cpu": 1})
	_, whole := processors(t, map[string]float64{"cgroup.cpu": 8})
	c, ok := PlanInput{Capacities: append(short, whole...)}.capacityFor(Demand{Resource: model.ResourceCPU, Unit: unitCore}, &notes{})
	if !ok || c.Partial || !c.Limited {
		t.Errorf("capacity %+v, want that of whole nodes", c)
	}
}

// TestCoresBeyondTheNode: what a shared machine did beyond a node's own cores
// is not the node's.
func TestCoresBeyondTheNode(t *testing.T) {
	b, _ := processors(t, map[string]float64{"cpu.user": 30})
	for i := range b.data.Nodes {
		b.data.Nodes[i].Facts.CPULimit = 4
	}
	p, err := processorOf(one(t, b.data, quick), b.data)
	if err != nil || p.used != 4 || p.own != 4 {
		t.Errorf("processor %+v, %v, want 4 of 4 cores", p, err)
	}
}
