package compare

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// setup has two workloads on so many nodes.
func setup(nodes, trials int, phases ...model.Phase) study.Setup {
	return study.Setup{Trials: trials, Seed: 1, Phases: phases, Workloads: []study.Workload{{Name: "old", Subjects: nodes}, {Name: "new", Subjects: nodes}, {Name: "solo", Subjects: 1}}}
}

func designed(t *testing.T, s study.Setup) []study.Treatment {
	t.Helper()
	p := New()
	p.A, p.B = "old", "new"
	d, err := p.Design(s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDuet: blocks of both workloads, with the first one alternating.
func TestDuet(t *testing.T) {
	for name, c := range map[string]struct {
		setup study.Setup
		want  []string
	}{
		"all nodes at once": {setup(2, 3, model.Parallel), []string{
			"1 parallel old []", "1 parallel new []", "2 parallel new []", "2 parallel old []", "3 parallel old []", "3 parallel new []"}},
		"one node at a time": {setup(2, 2, model.Serial), []string{
			"1 serial old [0]", "1 serial new [0]", "2 serial new [1]", "2 serial old [1]",
			"3 serial old [1]", "3 serial new [1]", "4 serial new [0]", "4 serial old [0]"}},
	} {
		var got []string
		for _, x := range designed(t, c.setup) {
			got = append(got, fmt.Sprint(x.Block, " ", x.Phase, " ", x.Workload, " ", x.Active))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDuetIsBalanced: over an even number of trials each workload comes first
// equally often on each node, whatever their number; and over many seeds either
// begins.
func TestDuetIsBalanced(t *testing.T) {
	for nodes := 1; nodes <= 7; nodes++ {
		first := make(map[int]int)
		all := designed(t, setup(nodes, 8, model.Serial))
		for i := 0; i < len(all); i += 2 {
			if all[i].Workload == "old" {
				first[all[i].Active[0]]++
			}
		}
		for i := range nodes {
			if first[i] != 4 {
				t.Errorf("%d nodes: on node %d old is first in %d of 8 blocks, want 4", nodes, i, first[i])
			}
		}
	}
	old := 0
	for seed := range int64(200) {
		s := setup(1, 1, model.Parallel)
		if s.Seed = seed; designed(t, s)[0].Workload == "old" {
			old++
		}
	}
	if old < 70 || old > 130 {
		t.Errorf("old begins with %d of 200 seeds", old)
	}
}

// TestDuetRefuses: what cannot be measured in turns.
func TestDuetRefuses(t *testing.T) {
	for name, c := range map[string]struct{ a, b, path, want string }{
		"no workloads":      {"", "", "a", "does not say which"},
		"unknown workload":  {"old", "nwe", "b", `there is no workload "nwe"`},
		"on fewer subjects": {"old", "solo", "b", "measured on 2 at once and solo on 1"},
	} {
		p := New()
		p.A, p.B = c.a, c.b
		_, err := p.Design(setup(2, 1, model.Parallel))
		var bad *model.InputError
		if !errors.As(err, &bad) || bad.Path != c.path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error of %s: %s", name, err, c.path, c.want)
		}
	}
	for name, p := range map[string]*Params{
		"a alone":         {A: "x"},
		"the same twice":  {A: "x", B: "x"},
		"by and a":        {A: "x", B: "y", By: "zone"},
		"by without fact": {By: "=c,d"},
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
