package analysis

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPlanOfPairs: findings count pairs, plans nodes.
func TestPlanOfPairs(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve bool // the second end only serves
		nodes int
		total float64
		text  string
	}{
		{"both ways", false, 12, 600, "12 together had 600"},
		{"one client", true, 6, 300, "6 together had 300"},
	} {
		data := pairsRun(rand.New(rand.NewPCG(1, 2)), 6, 2, .5, .0001, c.serve).data
		f := one(t, data, quick)
		got := CapacitiesOf([]model.Finding{f}, []model.Scaling{scaled(t, data)}, data)
		if len(got) != 1 || got[0].Nodes != c.nodes || got[0].Of != model.OfPairs || got[0].PerSubject != c.nodes/6 {
			t.Fatalf("%s: capacities %+v, want one of %d nodes", c.name, got, c.nodes)
		}
		wantValue(t, c.name+": total", &got[0].Total, c.total, 1)
		wantValue(t, c.name+": alone", got[0].Alone, 100, .2)
		if got[0].CI == nil || !got[0].CI.Contains(got[0].Total) {
			t.Errorf("%s: interval %v, want one around the total", c.name, got[0].CI)
		}
		// 150 is more than a node has, less than a pair.
		r, err := Plan(PlanInput{Target: 2, NodeRate: 1, Demands: []Demand{{Resource: "work/rate", Amount: 150, Unit: "op/s"}}, Capacities: got})
		if err != nil {
			t.Fatal(err)
		}
		if x := r.Resources[0]; x.MeasuredAt != c.nodes || x.Answer != model.PlanFails || *x.Largest != 0 || !strings.Contains(x.Text, "alone it has 100") {
			t.Errorf("%s: measured with %d, %q, want %d nodes, fails, and that a node has 100", c.name, x.MeasuredAt, x.Text, c.nodes)
		}
		rate, ci, err := NodeRateOf([]model.Finding{f}, data, "")
		if err != nil || ci == nil || !ci.Contains(rate) {
			t.Fatalf("%s: rate %v, %v, %v, want one with an interval", c.name, rate, ci, err)
		}
		wantValue(t, c.name+": node rate", &rate, 100, .2)
	}
}

// TestNodeRateIsOfJobs: bytes are no jobs.
func TestNodeRateIsOfJobs(t *testing.T) {
	for _, unitName := range []string{"byte/s", "MB/s", "Gbit/s"} {
		f := one(t, plain(6, .5).data, quick)
		f.Unit = unitName
		_, _, err := NodeRateOf([]model.Finding{f}, model.RunData{}, "")
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "--node-rate") {
			t.Errorf("a rate in %s: %v, want ErrUsage that asks for --node-rate", unitName, err)
		}
	}
}
