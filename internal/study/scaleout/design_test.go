package scaleout

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

func factorOf(t *testing.T, x study.Treatment) factors {
	t.Helper()
	f, ok := x.Factors.(factors)
	if !ok {
		t.Fatalf("factors are %T", x.Factors)
	}
	return f
}

// TestPlan: capacities, then one node, then each size in each block in an order of its own.
// Larger fleets have the prediction, and nothing before has.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(transcoding(32e6/8), 6, 3)
	said := w.run(t, params(2, 3, 4, 6))
	count := make(map[cell]int)
	var orders [4][]int
	stage, roles := 0, []Role{Capacity, Single, Fleet}
	for i, x := range said {
		f := factorOf(t, x)
		at := slices.Index(roles, f.Role)
		if at < stage {
			t.Errorf("step %d is of %s after %s", i, f.Role, roles[stage])
		}
		stage = at
		if (f.Prediction != nil) != (f.Role == Fleet) {
			t.Errorf("step %d, %s: prediction %v", i, f.Role, f.Prediction)
		}
		if f.Role != Capacity && len(x.Active) != f.Nodes {
			t.Errorf("step %d of %d nodes has active %v", i, f.Nodes, x.Active)
		}
		if f.Role == Fleet {
			count[cell{x.Block, f.Nodes}]++
			orders[x.Block] = append(orders[x.Block], f.Nodes)
			begun := epoch.Add(time.Duration(i) * time.Minute)
			if !f.Prediction.Made.Before(begun) {
				t.Errorf("step %d begins at %v, and the prediction was made at %v", i, begun, f.Prediction.Made)
			}
		}
	}
	if len(count) != 3*5 || len(said) < 2+3+15 || len(said) > 2+9+15 {
		t.Errorf("%d cells in %d steps, want 15", len(count), len(said))
	}
	if cmp.Equal(orders[1], orders[2]) && cmp.Equal(orders[2], orders[3]) {
		t.Error("all blocks have one order")
	}
}

// TestPlanResumes: a plan that is told of any number of steps at once goes on as the one
// that was told of each.
func TestPlanResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(transcoding(32e6/8), 6, 2)
	p := params(2, 4, 6)
	said := w.run(t, p)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 12 {
		n := rng.IntN(len(said))
		ids := make(map[model.StepID]bool)
		for _, s := range w.data.Steps[:n] {
			ids[s.ID] = true
		}
		results := slices.DeleteFunc(slices.Clone(w.data.Results), func(r model.Result) bool { return !ids[r.Step] })
		plan, err := p.Plan(w.setup)
		if err != nil {
			t.Fatal(err)
		}
		more, err := plan.Next(study.Seen{Run: observe.Of(model.RunData{Run: w.data.Run, Nodes: w.data.Nodes,
			Steps: w.data.Steps[:n], Results: results})})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(said[n:n+1], more.Treatments); diff != "" {
			t.Fatalf("after %d steps (-told one by one +told at once):\n%s", n, diff)
		}
	}
}

// TestSteps: a step that fails is not lost for good where there is another try, and a node
// that is lost takes no part.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(transcoding(32e6/8), 4, 2)
	failed := make(map[Role]bool)
	w.fail = func(x study.Treatment) bool {
		f := factorOf(t, x)
		first := !failed[f.Role]
		failed[f.Role] = true
		return first
	}
	p := params(2, 4)
	w.run(t, p)
	r, _ := w.result(t, p)
	if r.Predicted == nil || len(r.Predicted.Limits) != 2 || r.Predicted.Steps < 3 {
		t.Errorf("predicted %+v, want 2 limits and 3 steps or more", r.Predicted)
	}
	if !slices.Contains(codes(r.Doubts), "step_lost") {
		t.Errorf("doubts are %v, want step_lost", codes(r.Doubts))
	}

	w = newWorld(transcoding(32e6/8), 4, 1)
	plan, err := p.Plan(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	lost := []model.NodeID{"n01", "n02"}
	seen := model.RunData{Run: w.data.Run, Nodes: w.data.Nodes}
	for range 100 {
		more, err := plan.Next(study.Seen{Run: observe.Of(seen), Lost: lost})
		if err != nil {
			t.Fatal(err)
		}
		if len(more.Treatments) == 0 {
			return
		}
		x := more.Treatments[0]
		if f := factorOf(t, x); f.Role != Capacity && (f.Nodes > 2 || slices.Contains(x.Active, 0) ||
			slices.Contains(x.Active, 1)) {
			t.Errorf("%s has active %v, and nodes 0 and 1 are lost", x.Label, x.Active)
		}
		seen = w.step(t, x)
	}
	t.Error("the study does not end")
}

// TestPlanRefuses what cannot be measured, with the place.
func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]func(*Params, *study.Setup){
		"sizes.1":      func(p *Params, _ *study.Setup) { p.Sizes = []int{2, 9} },
		"capacities.0": func(p *Params, _ *study.Setup) { p.Capacities = []string{"transcode"} },
		"capacities.1": func(p *Params, _ *study.Setup) { p.Capacities = []string{"get", "set"} },
		"workload": func(_ *Params, s *study.Setup) {
			delete(s.Workloads[0].Params, "duration")
		},
	} {
		w, p := newWorld(transcoding(4e6), 4, 1), params()
		change(p, &w.setup)
		_, err := p.Plan(w.setup)
		if bad, ok := errors.AsType[*model.InputError](err); !ok || bad.Path != path {
			t.Errorf("error %v, want one at %s", err, path)
		}
	}
	w, p := newWorld(transcoding(4e6), 4, 1), params()
	p.Workload = "trans"
	if _, err := p.Plan(w.setup); err == nil {
		t.Error("a workload that is not there is accepted")
	}
	p.Workload, p.Capacities = "", nil
	if _, err := p.Plan(w.setup); err == nil {
		t.Error("one of three workloads is guessed")
	}
}
