package servicelevel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	steps "github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/disk"
)

var fast = volume{ops: 300, bytes: 60 << 20, latency: .004, noise: .002}

// labels are what the steps are of.
func labels(said []study.Treatment) (out []string) {
	for _, x := range said {
		out = append(out, x.Label)
	}
	return out
}

// TestPlanResumes: a plan that is told of any number of steps at once goes on as the one
// that was told of each.
func TestPlanResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 3, map[string]volume{"data": fast, "log": fast})
	p := params(300, 60<<20)
	p.Volumes = []string{"data", "log"}
	said := w.run(t, p)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		n := rng.IntN(len(said))
		plan, err := p.Plan(w.setup)
		if err != nil {
			t.Fatal(err)
		}
		more, err := plan.Next(study.Seen{Run: observe.Of(model.RunData{Nodes: w.data.Nodes, Steps: w.data.Steps[:n],
			Results: w.data.Results[:n]})})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(said[n:n+1], more.Treatments, cmp.AllowUnexported(factors{})); diff != "" {
			t.Fatalf("after %d steps (-told one by one +told at once):\n%s", n, diff)
		}
	}
}

// TestPlan: each cell of each node and volume in each repetition; the first raises the
// depth, and each repetition has its own order.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 3, map[string]volume{"data": fast})
	p := params(300, 60<<20)
	p.Volumes = []string{"data"}
	said := w.run(t, p)
	type repetition struct {
		Cell
		trial int
	}
	count := make(map[repetition]int)
	var orders [4][]Cell
	for _, x := range said {
		f, _ := x.Factors.(factors)
		r := repetition{f.Cell, x.Trial}
		if count[r]++; count[r] == 1 {
			orders[x.Trial] = append(orders[x.Trial], f.Cell)
		}
		if len(x.Active) != 1 || w.setup.Workloads[0].Names[x.Active[0]] != f.Node {
			t.Errorf("%s: active are %v", x.Label, x.Active)
		}
	}
	for r, n := range count {
		if r.trial > 1 && n != 1 || r.trial == 1 && (n < 2 || n > 5) {
			t.Errorf("cell %+v: %d steps in repetition %d", r.Cell, n, r.trial)
		}
	}
	if n := 2 * 3 * 3; len(count) != 3*n || len(orders[1]) != n {
		t.Errorf("%d cells in all repetitions, %d in the first; want %d in each", len(count), len(orders[1]), n)
	}
	if cmp.Equal(orders[2], orders[3]) || cmp.Equal(orders[1], orders[2]) {
		t.Error("two repetitions have one order")
	}
}

// TestLevels: what a step sets of the workload.
func TestLevels(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1, map[string]volume{"data": fast})
	p := params(300, 60<<20)
	p.Volumes, p.Sizes, p.Depth, p.Order = []string{"data"}, []unit.Size{64 * unit.KiB}, 8, OrderAscending
	var got []map[string]any
	for _, x := range w.run(t, p) {
		got = append(got, x.Levels)
	}
	level := func(operation string) map[string]any {
		return map[string]any{"block_size": "64KiB", "depth": 8, "operation": operation, "pattern": "random",
			"volume": "data"}
	}
	mixed := level("mixed")
	mixed["read_share"] = 50
	if diff := cmp.Diff([]map[string]any{level("read"), mixed, level("write")}, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

// TestReduced: corners, the middle, and the size from which bytes bind.
func TestReduced(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1, map[string]volume{"": fast})
	p := params(1800, 60<<20) // 34.1 KiB
	p.Sizes, p.Reads = New().Sizes, New().Reads
	p.Reduced, p.Depth, p.Order = true, 8, OrderAscending
	want := []string{"4.00 KiB, 100", "4.00 KiB, 0", "64.0 KiB, 100", "64.0 KiB, 50", "1.00 MiB, 100", "1.00 MiB, 0"}
	got := labels(w.run(t, p))
	if len(got) != len(want) {
		t.Fatalf("cells %q, want %q", got, want)
	}
	for i := range want {
		if wanted := strings.NewReplacer(".00", "", ".0", "").Replace(want[i]); !strings.Contains(strings.NewReplacer(".00",
			"", ".0", "").Replace(got[i]), wanted) {
			t.Errorf("cell %d is %q, want %q", i, got[i], wanted)
		}
	}
}

// TestLost: the study goes on without a node that is lost, and ends without any.
func TestLost(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 2, map[string]volume{"": fast})
	plan, err := params(300, 60<<20).Plan(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	empty := observe.Of(model.RunData{})
	for range 3 {
		more, err := plan.Next(study.Seen{Run: empty, Lost: []model.NodeID{"n2"}})
		if err != nil || !cmp.Equal(more.Treatments[0].Active, []int{0}) {
			t.Errorf("active %v, error %v", more.Treatments[0].Active, err)
		}
	}
	if more, err := plan.Next(study.Seen{Run: empty, Lost: []model.NodeID{"n1", "n2"}}); err != nil ||
		len(more.Treatments) > 0 {
		t.Errorf("with all lost there are %v, error %v", more.Treatments, err)
	}
}

// TestInvalidStep: a cell is given up for the repetition in which its step was invalid, and
// the next one finds the depth.
func TestInvalidStep(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 2, map[string]volume{"": fast})
	p := params(300, 60<<20)
	p.Sizes, p.Reads = []unit.Size{4 * unit.KiB}, []int{100}
	w.fail = func(x study.Treatment) bool { f, _ := x.Factors.(factors); return x.Trial == 1 && f.Depth == 2 }
	var depths []int
	for _, x := range w.run(t, p) {
		f, _ := x.Factors.(factors)
		depths = append(depths, f.Depth)
	}
	if !cmp.Equal(depths, []int{1, 2, 1, 2, 4}) {
		t.Errorf("depths %v", depths)
	}
}

// gp2 is a volume of 100 GiB that saves credits: 2,000 s of burst.
const gp2 = `model: own
limits:
- {of: ops, unit: 256KiB, rate: 300, bucket: {size: 5.4e6, burst: 3000, start: full}}
- {of: bytes, rate: 128MiB/s}
`

// TestDrain: credits are spent before the first cell, for as long as the model says.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 2, map[string]volume{"": fast})
	p := params(1, 1)
	p.ModelFile = gp2
	said := w.run(t, p)
	first, _ := said[0].Factors.(factors)
	if got := said[0].Levels["duration"]; !first.Drain || got != (2200*time.Second).String() && got != "36m40s" &&
		got != "2200s" {
		t.Errorf("the first step is %+v with %v", first, said[0].Levels)
	}
	for _, x := range said[1:] {
		if f, _ := x.Factors.(factors); f.Drain || f.Burst {
			t.Errorf("%s: %+v", x.Label, f)
		}
	}
	p.Drain = false
	w = newWorld(1, 2, map[string]volume{"": fast})
	w.run(t, p)
	r, _ := w.result(t, p)
	for _, c := range r.Cells {
		if c.Verdict != Unknown || len(c.Compared) > 0 {
			t.Errorf("%s was measured with credits left, and is %s", c.name(), c.Verdict)
		}
	}
}

// TestDrainTime: what else limits the volume makes its credits last longer; documents that
// give only a time are believed.
func TestDrainTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits string
		want   time.Duration
	}{
		"alone": {"- {of: ops, unit: 256KiB, rate: 300, bucket: {size: 5.4e6, burst: 3000}}", 2200 * time.Second},
		"an instance": {"- {of: ops, rate: 300, bucket: {size: 5.4e6, burst: 3000}}\n" +
			"- {of: ops, name: node, rate: 1300}",
			5940 * time.Second},
		"never": {"- {of: ops, rate: 300, bucket: {size: 5.4e6, burst: 3000}}\n" +
			"- {of: ops, name: node, rate: 200}", 0},
		"for a time": {"- {of: ops, rate: 2000, bucket: {burst: 11800, for: 30m, fill: unknown}}", 1980 * time.Second},
		"bytes":      {"- {of: bytes, rate: 40MiB/s, bucket: {size: 1TiB, burst: 250MiB/s}}", 5493 * time.Second},
		"no bucket":  {"- {of: ops, rate: 300}", 0},
	} {
		m, err := levels.Parse("own.yaml", []byte("model: own\nlimits:\n"+c.limits+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := m.Levels(nil)
		if err != nil {
			t.Fatal(err)
		}
		e := expectation{l}
		if got, _ := e.drain(e.full(), time.Second); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSavesWhatItDoesNotUse: a volume that is bound by bytes saves credits meanwhile.
func TestSavesWhatItDoesNotUse(t *testing.T) {
	t.Parallel()
	p := params(1, 1)
	p.ModelFile = strings.Replace(gp2, "128MiB/s", "20MiB/s", 1)
	w := newWorld(1, 3, map[string]volume{"": {ops: 300, bytes: 20 << 20, latency: .001, noise: .001}})
	w.setup.Workloads[0].Params["ramp"] = "0s"
	drains := 0
	for _, x := range w.run(t, p) {
		if f, _ := x.Factors.(factors); f.Drain {
			drains++
		}
	}
	if drains < 5 {
		t.Errorf("%d drains; cells bound by bytes leave credits", drains)
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1, nil)
	w.setup.Workloads[0].Kind = "cpu"
	if _, err := params(1, 1).Plan(w.setup); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a workload of another kind: %v", err)
	}
}

// TestReached: which depth tells what a cell comes to.
func TestReached(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ops             []float64 // at 1, 2, 4, …
		below           bool
		i               int
		done, saturated bool
	}{
		"none yet":              {nil, false, -1, false, false},
		"one":                   {[]float64{100}, false, 0, false, false},
		"grows":                 {[]float64{100, 200}, false, 1, false, false},
		"levels off":            {[]float64{100, 200, 202}, false, 2, true, true},
		"below, once of no use": {[]float64{100, 101}, true, 1, false, false},
		"below, twice":          {[]float64{100, 101, 100}, true, 2, true, true},
		"below, then grows":     {[]float64{100, 101, 150}, true, 2, false, false},
		"too many":              {[]float64{100, 200, 150}, false, 1, true, true},
		"most, growing":         {[]float64{100, 200, 300, 400, 500}, true, 4, true, false},
		"most, levelling off":   {[]float64{100, 200, 300, 400, 401}, true, 4, true, true},
	} {
		var points []point
		for k, ops := range c.ops {
			points = append(points, point{factors: factors{Depth: 1 << k}, ops: [2]float64{ops / 2, ops / 2}})
		}
		i, done, saturated := reached(points, 16, func(point) bool { return c.below })
		if i != c.i || done != c.done || saturated != c.saturated {
			t.Errorf("%s: %d, %v, %v; want %d, %v, %v", name, i, done, saturated, c.i, c.done, c.saturated)
		}
	}
}

// TestFile: a file of a lab becomes steps, and its limits what is expected of them.
func TestFile(t *testing.T) {
	t.Parallel()
	const file = `fleet: {lab: {nodes: 2, volumes: [{name: data, type: raw, size: 1GiB, iops: 300, bandwidth: 60MiB/s}]}}
workloads: [{name: fio, kind: disk, size: 512MiB, layout: false, ramp: 5s, duration: 10s}]
trials: 3
study: {kind: servicelevel, sizes: [4KiB, 1MiB], reads: [100, 50]%s}
`
	kinds := experiment.Kinds{Workloads: workload.NewRegistry(disk.Kind()), Studies: study.Registry{Kind()}}
	nodes := []model.Node{{ID: "lab-1"}, {ID: "lab-2"}}
	said := func(more string) string {
		t.Helper()
		exp, err := experiment.Parse("a.yaml", []byte(fmt.Sprintf(file, more)), kinds, nil)
		if err != nil {
			return err.Error()
		}
		d, err := steps.Build(exp, "r", nodes)
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(d.Outlook)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for more, want := range map[string]string{
		"": `"trials":3,"steps":30,"step":15000000000,"note":"all take at most 22 min`,
		", depth: 16, price: {price_per_hour: 6, currency: USD}": "2 nodes cost at most 1.20 USD",
		", models: [{model: lab, inputs: {iops: 200}}]":          `"steps":30`,
		", models: [{model: lab, inputs: {iop: 200}}]": "study.models.0.inputs.iop: lab has no " +
			"such input",
		", models: [{model: labs}]": "a.yaml:4:85: study.models.0.model: " +
			"there is no model",
		", models: [{model: aws-gp2, inputs: {gib: 100}}]}\ntimeouts: {task: 30m": "the timeout of 30m is too short",
		", depth: 0": "a.yaml:4:75: study.depth",
	} {
		if got := said(more); !strings.Contains(got, want) {
			t.Errorf("with %q: %s\nwant %s", more, got, want)
		}
	}
	if got := said(", volumes: [log]"); !strings.Contains(got, "log") {
		t.Errorf("a volume that the lab lacks: %s", got)
	}
}
