package design

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// wire is a workload that measures connections.
type wire struct{ how workload.Pairing }

func (*wire) Validate() error                              { return nil }
func (*wire) Estimate() time.Duration                      { return 0 }
func (*wire) Prepare(context.Context, *workload.Env) error { return nil }
func (*wire) Run(context.Context, *workload.Env) error     { return nil }
func (w *wire) Pairing() workload.Pairing                  { return w.how }

// grouped makes nodes a1, a2, … of group a, and so on.
func grouped(sizes ...int) []model.Node {
	var out []model.Node
	for g, size := range sizes {
		name := string(rune('a' + g))
		for i := range size {
			out = append(out, model.Node{ID: model.NodeID(fmt.Sprintf("%s%d", name, i+1)), Labels: map[string]string{model.LabelGroup: name}})
		}
	}
	return out
}

// shape is a step in one line: for each task its node, what it measures or
// that it serves, to whom it connects and who connects to it.
func shape(ts []model.Task) string {
	var out []string
	for _, t := range ts {
		what := t.Spec.Subject
		if t.Spec.Role == model.RoleServe {
			what = "serves"
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s to%v from%v", t.Node, what, t.Spec.Peers, t.Spec.Clients)))
	}
	return strings.Join(out, "; ")
}

func TestPairings(t *testing.T) {
	for _, c := range []struct {
		name     string
		pairing  workload.Pairing
		nodes    []model.Node
		parallel string
		serial   []string // in the order of the subjects
	}{
		{"pairs, both ends", workload.Pairing{Kind: workload.Pairs, Both: true}, grouped(4),
			"a1 a1+a2 to[a2] from[a2]; a2 a1+a2 to[a1] from[a1]; a3 a3+a4 to[a4] from[a4]; a4 a3+a4 to[a3] from[a3]",
			[]string{"a1 a1+a2 to[a2] from[a2]; a2 a1+a2 to[a1] from[a1]", "a3 a3+a4 to[a4] from[a4]; a4 a3+a4 to[a3] from[a3]"}},
		{"pairs, one way", workload.Pairing{Kind: workload.Pairs}, grouped(2),
			"a1 a1>a2 to[a2] from[]; a2 serves to[] from[a1]", []string{"a1 a1>a2 to[a2] from[]; a2 serves to[] from[a1]"}},
		{"ring", workload.Pairing{Kind: workload.Ring}, grouped(3),
			"a1 a1>a2 to[a2] from[a3]; a2 a2>a3 to[a3] from[a1]; a3 a3>a1 to[a1] from[a2]",
			[]string{"a1 a1>a2 to[a2] from[]; a2 serves to[] from[a1]", "a2 a2>a3 to[a3] from[]; a3 serves to[] from[a2]", "a1 serves to[] from[a3]; a3 a3>a1 to[a1] from[]"}},
		{"all to a group of one", workload.Pairing{Kind: workload.AllToOne, Sink: "b"}, grouped(2, 1),
			"a1 a1>b1 to[b1] from[]; a2 a2>b1 to[b1] from[]; b1 serves to[] from[a1 a2]",
			[]string{"a1 a1>b1 to[b1] from[]; b1 serves to[] from[a1]", "a2 a2>b1 to[b1] from[]; b1 serves to[] from[a2]"}},
		{"all to the first", workload.Pairing{Kind: workload.AllToOne}, grouped(2),
			"a1 serves to[] from[a2]; a2 a2>a1 to[a1] from[]", []string{"a1 serves to[] from[a2]; a2 a2>a1 to[a1] from[]"}},
		{"across groups", workload.Pairing{Kind: workload.AcrossGroups, Both: true}, grouped(2, 2),
			"a1 a1+b1 to[b1] from[b1]; a2 a2+b2 to[b2] from[b2]; b1 a1+b1 to[a1] from[a1]; b2 a2+b2 to[a2] from[a2]",
			[]string{"a1 a1+b1 to[b1] from[b1]; b1 a1+b1 to[a1] from[a1]", "a2 a2+b2 to[b2] from[b2]; b2 a2+b2 to[a2] from[a2]"}},
		{"together", workload.Pairing{Kind: workload.Together}, grouped(2, 1),
			"a1 a1 and 2 more to[a2 b1] from[]; a2 serves to[] from[a1]; b1 serves to[] from[a1]",
			[]string{"a1 a1 and 2 more to[a2 b1] from[]; a2 serves to[] from[a1]; b1 serves to[] from[a1]"}},
		{"together alone", workload.Pairing{Kind: workload.Together}, grouped(1), "a1  to[] from[]", []string{"a1  to[] from[]"}},
		{"within groups", workload.Pairing{Kind: workload.WithinGroups}, slices.Concat(grouped(2, 2)[2:], grouped(2, 2)[:2]),
			"a1 a1>a2 to[a2] from[]; a2 serves to[] from[a1]; b1 b1>b2 to[b2] from[]; b2 serves to[] from[b1]",
			[]string{"a1 a1>a2 to[a2] from[]; a2 serves to[] from[a1]", "b1 b1>b2 to[b2] from[]; b2 serves to[] from[b1]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			subjects, err := subjectsOf(&wire{c.pairing}, c.nodes)
			if err != nil {
				t.Fatal(err)
			}
			step := model.NewStepID(testRun, 0)
			if got := shape(tasks(step, subjects, model.Spec{})); got != c.parallel {
				t.Errorf("at once: %s\nwant %s", got, c.parallel)
			}
			var alone []string
			for _, s := range subjects {
				alone = append(alone, shape(tasks(step, []subject{s}, model.Spec{})))
			}
			if diff := cmp.Diff(c.serial, alone); diff != "" {
				t.Errorf("one at a time (-want +got):\n%s", diff)
			}
		})
	}
}

// TestShare: each task that measures has a part of a load; in a team each task has a
// number.
func TestShare(t *testing.T) {
	for team, want := range map[bool]string{false: "[0/1 0/0 0/0]", true: "[0/3 1/3 2/3]"} {
		tasks := tasks(model.NewStepID(testRun, 0), together(grouped(3)), model.Spec{})
		share(tasks, team)
		var got []string
		for _, task := range tasks {
			got = append(got, fmt.Sprintf("%d/%d", task.Spec.Part, task.Spec.Parts))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("team %v: parts %v, want %s", team, got, want)
		}
	}
}

func TestPairingErrors(t *testing.T) {
	for _, c := range []struct {
		pairing workload.Pairing
		nodes   []model.Node
		want    string
	}{
		{workload.Pairing{Kind: workload.Pairs}, grouped(3), "even number of nodes"},
		{workload.Pairing{Kind: workload.Ring}, grouped(1), "at least 2"},
		{workload.Pairing{Kind: workload.AllToOne}, grouped(1), "at least 2"},
		{workload.Pairing{Kind: workload.AllToOne, Sink: "c"}, grouped(2, 2), `no node or group is named "c"`},
		{workload.Pairing{Kind: workload.AllToOne, Sink: "b"}, grouped(2, 2), "group \"b\" has 2 nodes"},
		{workload.Pairing{Kind: workload.AcrossGroups}, grouped(2), "even number of groups"},
		{workload.Pairing{Kind: workload.AcrossGroups}, grouped(2, 1), "a has 2 nodes and b has 1"},
		{workload.Pairing{Kind: workload.AcrossGroups}, named("x", "y"), "x has none"},
		{workload.Pairing{Kind: "star"}, grouped(2), `unknown pairing "star"`},
	} {
		if _, err := subjectsOf(&wire{c.pairing}, c.nodes); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v on %d nodes: %v, want a model.ErrUsage with %q", c.pairing, len(c.nodes), err, c.want)
		}
	}
}

// TestKeyErrors: every key that the nodes do not suit is named at once, with
// what there is instead.
func TestKeyErrors(t *testing.T) {
	pairs := &wire{workload.Pairing{Kind: workload.Pairs}}
	across := &wire{workload.Pairing{Kind: workload.AcrossGroups}}
	exp := &experiment.Experiment{Trials: 1, Evaluations: []model.Phase{model.Parallel}, Workloads: []experiment.Workload{
		{Name: "odd", Bench: pairs}, {Name: "nobody", Bench: pairs, On: map[string]string{"group": "rak", "x": "y"}}, {Name: "across", Bench: across},
		{Name: "within", Bench: &wire{workload.Pairing{Kind: workload.WithinGroups}}, On: map[string]string{"group": "b"}},
	}}
	nodes := grouped(2, 1)
	nodes[0].Labels[model.LabelFleet] = model.FleetLab
	delete(nodes[0].Labels, model.LabelGroup)
	_, err := Build(exp, testRun, nodes)
	want := `workloads.odd.pairing: pairs needs an even number of nodes, but there are 3; add or remove one, or use pairing: ring
workloads.nobody.on: no node has group=rak, x=y; the nodes have fleet=lab, group=a, group=b
workloads.across.pairing: across_groups needs a group for each node, but a1 has none; give the lab groups: instead of nodes:
workloads.within.pairing: within_groups needs an even number of nodes in each group, but b has 1; add or remove one, or choose the nodes with on:`
	if err == nil || !errors.Is(err, model.ErrUsage) || err.Error() != want {
		t.Errorf("Build = %v\nwant %s", err, want)
	}
}

// A sweep measures sizes between one and all in each trial, ascending, and
// over the trials every node takes part in it equally often.
func TestSizes(t *testing.T) {
	p := build(t, "sizes: [1, 2, 4]\ntrials: 4\nworkloads: [{kind: nap}]", nodes(4)...)
	took := map[model.NodeID]int{}
	for trial := 1; trial <= 4; trial++ {
		var counts []int
		for _, s := range p.Steps {
			if s.Trial != trial || s.Phase != model.Parallel {
				continue
			}
			counts = append(counts, len(s.Tasks))
			if len(s.Tasks) == 2 {
				for _, task := range s.Tasks {
					took[task.Node]++
				}
			}
		}
		if !slices.Equal(counts, []int{2, 4}) {
			t.Errorf("trial %d has parallel steps of %v nodes, want 2 and 4: one is the serial phase", trial, counts)
		}
	}
	for _, n := range nodes(4) {
		if took[n] != 2 {
			t.Errorf("%s took part in %d steps of size 2, want 2", n, took[n])
		}
	}
	alone := build(t, "sizes: [1]\nevaluations: [parallel]\nworkloads: [{kind: nap}]", nodes(2)...)
	if len(alone.Steps) != 2 || len(alone.Steps[0].Tasks) != 1 {
		t.Errorf("without a serial phase size 1 is measured: %v", outline(alone))
	}
}
