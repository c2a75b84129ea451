package analysis

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPlanAfterGrowth: a loss that every node has for itself ends no growth.
func TestPlanAfterGrowth(t *testing.T) {
	third := func(active []int, solo float64) float64 { return 2. / 3 * solo * float64(len(active)) }
	slower := func(active []int, solo float64) float64 {
		n := float64(len(active))
		return solo * (min(n, 3) + .25*max(n-3, 0))
	}
	falling := func(active []int, solo float64) float64 {
		n := float64(len(active))
		return solo * (min(n, 4) - .2*max(n-4, 0))
	}
	sizes := []int{2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name    string
		sizes   []int
		total   func([]int, float64) float64
		answer  model.PlanAnswer
		text    string
		warning string
	}{
		{"linear", sizes, third, model.PlanUntested, "the sum was still growing with n: measure with", ""},
		{"slower growth", sizes, slower, model.PlanUntested, "the sum was still growing with n, more slowly: measure with", ""},
		{"falling", sizes, falling, model.PlanFails, "used up at", ""},
		{"a limit", sizes, fleetCap(3 * solo), model.PlanFails, "used up at", ""},
		{"one size", nil, fleetCap(3 * solo), model.PlanFails, "used up at", "its loss at one size"},
		{"one size, small loss", nil, func(a []int, s float64) float64 { return .9 * s * float64(len(a)) }, model.PlanFails, "used up at", "its loss at one size"},
		{"one size past the knee", []int{2, 3, 4}, fleetCap(6 * solo), model.PlanFails, "used up at", "only one size lies past that point"},
	} {
		data := sweepCase{fleet: 8, trials: 3, sizes: c.sizes, noise: .003, total: c.total}.run(rand.New(rand.NewPCG(3, 4))).data
		f, s := one(t, data, quick), scaled(t, data)
		if f.Verdict != model.VerdictDegraded {
			t.Fatalf("%s: verdict %s, want degraded", c.name, f.Verdict)
		}
		r, err := Plan(PlanInput{
			Target: 100, NodeRate: 1, Demands: []Demand{{Resource: "work/rate", Amount: 100, Unit: "op/s"}},
			Capacities: CapacitiesOf([]model.Finding{f}, []model.Scaling{s}, data),
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer != c.answer || !strings.Contains(r.Resources[0].Text, c.text) {
			t.Errorf("%s: %q, want %s and %q", c.name, r.Resources[0].Text, c.answer, c.text)
		}
		if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", c.name, got, c.warning)
		}
		if limited := r.Largest != nil; limited != (c.answer == model.PlanFails) {
			t.Errorf("%s: largest useful fleet named = %v with the answer %s", c.name, limited, c.answer)
		}
	}
}

// TestPlanOfGroups: limits of single groups are said to be those.
func TestPlanOfGroups(t *testing.T) {
	data := sweepCase{fleet: 8, trials: 3, sizes: []int{2, 3, 4, 5, 6, 7}, noise: .003, groups: 2, total: fleetCap(1.5 * solo)}.run(rand.New(rand.NewPCG(3, 4))).data
	s := scaled(t, data)
	if len(s.Groups) == 0 {
		t.Fatalf("scaling %+v, want limits of groups", s)
	}
	got := CapacitiesOf([]model.Finding{one(t, data, quick)}, []model.Scaling{s}, data)
	if !got[0].Limited || !strings.Contains(got[0].Caution, "single groups") {
		t.Errorf("capacity %+v, want a limit with a caution about groups", got[0])
	}
}
