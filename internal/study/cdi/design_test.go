package cdi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// designed lays out workloads a, b, … of n subjects each.
func designed(t *testing.T, p *Params, workloads, n, trials int, seed int64, phases ...model.Phase) []study.Treatment {
	t.Helper()
	setup := study.Setup{Trials: trials, Seed: seed, Phases: phases}
	for i := range workloads {
		setup.Workloads = append(setup.Workloads, study.Workload{Name: string(rune('a' + i)), Subjects: n})
	}
	plan, err := p.Plan(setup)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Next != nil {
		t.Error("after all treatments there are more, want none")
	}
	return plan.First
}

// outline is a design in short.
func outline(ts []study.Treatment) []string {
	var out []string
	for _, t := range ts {
		out = append(out, fmt.Sprint(t.Phase, " ", t.Workload, " ", t.Trial, " ", t.Active))
	}
	return out
}

// TestOrder: the order of treatments; seed 9 has always shuffled like this.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Params)
		phases []model.Phase
		want   []string
	}{
		"interleaved": {func(*Params) {}, nil, []string{
			"serial a 1 [1]", "serial a 1 [0]", "parallel a 1 []", "serial b 1 [1]", "serial b 1 [0]", "parallel b 1 []",
			"serial a 2 [0]", "serial a 2 [1]", "parallel a 2 []", "serial b 2 [0]", "serial b 2 [1]", "parallel b 2 []"}},
		"phase by phase, without rotation": {func(p *Params) { p.Interleave, p.Rotate = false, false }, nil, []string{
			"serial a 1 [1]", "serial a 1 [0]", "serial b 1 [1]", "serial b 1 [0]", "serial a 2 [1]", "serial a 2 [0]", "serial b 2 [1]", "serial b 2 [0]",
			"parallel a 1 []", "parallel b 1 []", "parallel a 2 []", "parallel b 2 []"}},
		"serial only": {func(*Params) {}, []model.Phase{model.Serial}, []string{
			"serial a 1 [1]", "serial a 1 [0]", "serial b 1 [1]", "serial b 1 [0]", "serial a 2 [0]", "serial a 2 [1]", "serial b 2 [0]", "serial b 2 [1]"}},
		"parallel only, with size 1": {func(p *Params) { p.Sizes = []int{1, 2} }, []model.Phase{model.Parallel}, []string{
			"parallel a 1 [1]", "parallel a 1 []", "parallel b 1 [1]", "parallel b 1 []", "parallel a 2 [0]", "parallel a 2 []", "parallel b 2 [0]", "parallel b 2 []"}},
	} {
		p := New()
		c.change(p)
		if diff := cmp.Diff(c.want, outline(designed(t, p, 2, 2, 2, 9, c.phases...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSeed: the same seed gives the order that it always gave.
func TestSeed(t *testing.T) {
	p := New()
	p.Sizes = []int{3}
	want := []string{
		"serial a 1 [1]", "serial a 1 [2]", "serial a 1 [0]", "serial a 1 [3]", "serial a 1 [4]", "parallel a 1 [0 1 2]", "parallel a 1 []",
		"serial a 2 [2]", "serial a 2 [0]", "serial a 2 [3]", "serial a 2 [4]", "serial a 2 [1]", "parallel a 2 [1 3 4]", "parallel a 2 []",
	}
	if diff := cmp.Diff(want, outline(designed(t, p, 1, 5, 2, 20261122))); diff != "" {
		t.Errorf("order of seed 20261122 (-want +got):\n%s", diff)
	}
}

// TestRotationIsALatinSquare: over n trials of n subjects each subject has each
// serial turn once.
func TestRotationIsALatinSquare(t *testing.T) {
	for n := 1; n <= 12; n++ {
		times := make(map[[2]int]int)
		for i, x := range designed(t, New(), 1, n, n, int64(n), model.Serial) {
			times[[2]int{x.Active[0], i % n}]++
		}
		for cell, k := range times {
			if k != 1 || len(times) != n*n {
				t.Errorf("%d subjects: subject %d has turn %d %d times, want once", n, cell[0], cell[1], k)
			}
		}
	}
}

// TestShuffleIsFair: over many seeds every subject is equally likely to come
// first (chi-square with 4 degrees of freedom below its 99.9 % quantile, 18.47).
func TestShuffleIsFair(t *testing.T) {
	const runs, n = 5000, 5
	first := make(map[int]float64)
	for seed := range int64(runs) {
		first[designed(t, New(), 1, n, 1, seed, model.Serial)[0].Active[0]]++
	}
	chi := 0.0
	for i := range n {
		chi += (first[i] - runs/n) * (first[i] - runs/n) / (runs / n)
	}
	if chi > 18.47 {
		t.Errorf("chi-square of who comes first is %.1f (%v)", chi, first)
	}
}

// TestSizesAreFair: over as many trials as subjects, all take part equally
// often in each size, whatever the shape.
func TestSizesAreFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 2 + rng.IntN(8)
		p, size := New(), 1+rng.IntN(n-1)
		p.Sizes = []int{size}
		part := make(map[int]int)
		for _, x := range designed(t, p, 1, n, n, rng.Int64(), model.Parallel) {
			for _, i := range x.Active {
				part[i]++
			}
		}
		for i := range n {
			if part[i] != size {
				t.Errorf("%d of %d at once: subject %d took part %d times in %d trials, want %d", size, n, i, part[i], n, size)
			}
		}
	}
}

// TestImpossibleSize: more than there are cannot be active at once.
func TestImpossibleSize(t *testing.T) {
	p := New()
	p.Sizes = []int{2, 9}
	_, err := p.Plan(study.Setup{Trials: 1, Workloads: []study.Workload{{Name: "a", Subjects: 4}}})
	var bad *model.InputError
	if !errors.As(err, &bad) || bad.Path != "sizes.1" || !errors.Is(err, model.ErrUsage) {
		t.Errorf("Plan = %v, want an error of sizes.1", err)
	}
}
