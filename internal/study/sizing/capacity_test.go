package sizing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestCapacitiesOf: units, limits and intervals.
func TestCapacitiesOf(t *testing.T) {
	b := simulated.Sweep{Fleet: 8, Trials: 2, Sizes: []int{2, 4, 6}, Noise: .01, Total: simulated.Cap(800)}.Run(rand.New(rand.NewPCG(7, 1)))
	for i := range b.Data.Results {
		b.Data.Results[i].Samples[0].Unit = "MB/s"
	}
	f, s := one(t, b.Data, quick), scaled(t, b.Data)
	got := capacitiesOf([]evaluation.Finding{f}, []evaluation.Scaling{s}, observe.Of(b.Data))
	if len(got) != 1 {
		t.Fatalf("%d capacities, want 1", len(got))
	}
	wantValue(t, "total", &got[0].total, 800e6, 10e6)
	if !got[0].limited || got[0].caution != "" || got[0].unit != evaluation.ByteRate || got[0].ci == nil || !got[0].ci.Contains(800e6) {
		t.Errorf("capacity %+v, want a limit in byte/s with 800 MB/s in its interval", got[0])
	}
}

// TestTotalIntervalOfSameTrials: the interval of a capacity is of the trials that
// the capacity is of. Every node gives 100 op/s in trials 1 and 2, 50 in trial 3.
func TestTotalIntervalOfSameTrials(t *testing.T) {
	resolved := 1.959964 * 400 * math.Hypot(1./100/math.Sqrt(12), .002) // values of 100 are known to the last digit, and tasks have ends
	const student, student2 = 4.30265272991, 12.7062047364              // t(0.975) at 2 and 1 degrees
	for _, c := range []struct {
		name  string
		lost  int // step
		total float64
		ci    *evaluation.Interval
	}{
		{"all complete", -1, 1000. / 3, &evaluation.Interval{1000./3 - student*200/3, 1000./3 + student*200/3}}, // 400, 400, 200: SD 200/√3
		{"serial step of trial 3 lost", 15, 400, &evaluation.Interval{400 - resolved, 400 + resolved}},          // 400, 400
		{"serial step of trial 1 lost", 1, 300, &evaluation.Interval{0, 300 + student2*100}},
		{"size 3 of trial 3 lost", 19, 1000. / 3, nil}, // the point at 4 nodes is of trials 1 and 2
	} {
		b := simulated.Lossless(100, 100, 50)
		if c.lost >= 0 {
			b.Data.Steps[c.lost].State = model.StepInvalid
		}
		f, s := one(t, b.Data, quick), scaled(t, b.Data)
		got := capacitiesOf([]evaluation.Finding{f}, []evaluation.Scaling{s}, observe.Of(b.Data))[0]
		wantValue(t, c.name+": total", &got.total, c.total, 1e-9)
		switch {
		case (c.ci == nil) != (got.ci == nil):
			t.Errorf("%s: interval %v, want %v", c.name, got.ci, c.ci)
		case c.ci != nil:
			wantValue(t, c.name+": lower bound", &got.ci[0], c.ci[0], 1e-6)
			wantValue(t, c.name+": upper bound", &got.ci[1], c.ci[1], 1e-6)
		}
	}
}

// TestAloneIsNotNegative: what one node has, and its rate, are not below 0 by
// Student's interval of two unequal nodes.
func TestAloneIsNotNegative(t *testing.T) {
	b := simulated.New(2)
	b.Step(model.Serial, 1, b.Reported(0, 0, 10, 10))
	b.Step(model.Serial, 1, b.Reported(1, 0, 10, 100))
	b.Step(model.Parallel, 1, b.Reported(0, 0, 10, 10), b.Reported(1, 0, 10, 90))
	f := one(t, b.Data, quick)
	run := observe.Of(b.Data)
	alone := capacitiesOf([]evaluation.Finding{f}, nil, run)[0].aloneCI
	_, rate, err := nodeRateOf([]evaluation.Finding{f}, run, "")
	if err != nil || alone == nil || rate == nil || alone[0] != 0 || rate[0] != 0 {
		t.Errorf("alone %v, rate %v, %v, want intervals that begin at 0", alone, rate, err)
	}
}

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
		data := simulated.Pairs(rand.New(rand.NewPCG(1, 2)), 6, 2, .5, .0001, c.serve).Data
		f := one(t, data, quick)
		got := capacitiesOf([]evaluation.Finding{f}, []evaluation.Scaling{scaled(t, data)}, observe.Of(data))
		if len(got) != 1 || got[0].nodes != c.nodes || got[0].perSubject != c.nodes/6 || !strings.Contains(got[0].source, "work/rate, 6 pairs") {
			t.Fatalf("%s: capacities %+v, want one of %d nodes", c.name, got, c.nodes)
		}
		wantValue(t, c.name+": total", &got[0].total, c.total, 1)
		wantValue(t, c.name+": alone", got[0].alone, 100, .2)
		if got[0].ci == nil || !got[0].ci.Contains(got[0].total) {
			t.Errorf("%s: interval %v, want one around the total", c.name, got[0].ci)
		}
		// 150 is more than a node has, less than a pair.
		r, err := answerOf(question{target: 2, nodeRate: 1, demands: []demand{{resource: "work/rate", amount: 150, unit: "op/s"}}, capacities: got})
		if err != nil {
			t.Fatal(err)
		}
		if x := r.Resources[0]; x.MeasuredAt != c.nodes || x.Answer != Fails || *x.Largest != 0 || !strings.Contains(x.Text, "alone it has 100") {
			t.Errorf("%s: measured with %d, %q, want %d nodes, fails, and that a node has 100", c.name, x.MeasuredAt, x.Text, c.nodes)
		}
		rate, ci, err := nodeRateOf([]evaluation.Finding{f}, observe.Of(data), "")
		if err != nil || ci == nil || !ci.Contains(rate) {
			t.Fatalf("%s: rate %v, %v, %v, want one with an interval", c.name, rate, ci, err)
		}
		wantValue(t, c.name+": node rate", &rate, 100, .2)
	}
}

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
		answer  Answer
		text    string
		warning string
	}{
		{"linear", sizes, third, Untested, "the sum was still growing with n: measure with", ""},
		{"slower growth", sizes, slower, Untested, "the sum was still growing with n, more slowly: measure with", ""},
		{"falling", sizes, falling, Fails, "4 together had 800", "the sum is largest with 4 nodes"},
		{"a limit", sizes, simulated.Cap(3 * solo), Fails, "used up at", ""},
		{"one size", nil, simulated.Cap(3 * solo), Fails, "used up at", "one size cannot show whether"},
		{"one size, small loss", nil, func(a []int, s float64) float64 { return .9 * s * float64(len(a)) }, Fails, "used up at", "one size cannot show whether"},
		{"one size past the knee", []int{2, 3, 4}, simulated.Cap(6 * solo), Fails, "used up at", "only one size lies past that point"},
	} {
		data := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: c.sizes, Noise: .003, Total: c.total}.Run(rand.New(rand.NewPCG(3, 4))).Data
		f, s := one(t, data, quick), scaled(t, data)
		if f.Verdict != evaluation.Degraded {
			t.Fatalf("%s: verdict %s, want degraded", c.name, f.Verdict)
		}
		r, err := answerOf(question{
			target: 100, nodeRate: 1, demands: []demand{{resource: "work/rate", amount: 100, unit: "op/s"}},
			capacities: capacitiesOf([]evaluation.Finding{f}, []evaluation.Scaling{s}, observe.Of(data)),
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
		if limited := r.Largest != nil; limited != (c.answer == Fails) {
			t.Errorf("%s: largest useful fleet named = %v with the answer %s", c.name, limited, c.answer)
		}
	}
}

// TestPlanOfGroups: limits of single groups are said to be those.
func TestPlanOfGroups(t *testing.T) {
	data := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: []int{2, 3, 4, 5, 6, 7}, Noise: .003, Groups: 2, Total: simulated.Cap(1.5 * solo)}.Run(rand.New(rand.NewPCG(3, 4))).Data
	s := scaled(t, data)
	if len(s.Groups) == 0 {
		t.Fatalf("scaling %+v, want limits of groups", s)
	}
	got := capacitiesOf([]evaluation.Finding{one(t, data, quick)}, []evaluation.Scaling{s}, observe.Of(data))
	if !got[0].limited || !strings.Contains(got[0].caution, "single groups") {
		t.Errorf("capacity %+v, want a limit with a caution about groups", got[0])
	}
}

// processors is a run of six nodes of 8 cores. Each kept so many busy, by these
// counters of the monitor, and lost half of its speed when all worked.
func processors(t *testing.T, rates map[string]float64) (*simulated.Builder, []capacity) {
	t.Helper()
	b := simulated.Sweep{Fleet: 6, Trials: 2, Sizes: []int{3, 4, 5}, Noise: .001, Total: simulated.Cap(3 * solo)}.Run(rand.New(rand.NewPCG(7, 1)))
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Facts.Cores = 8
	}
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		r.Samples[0].Resource = model.ResourceCPU
		r.Host = counters(rates)
	}
	return b, capacitiesOf([]evaluation.Finding{one(t, b.Data, quick)}, []evaluation.Scaling{scaled(t, b.Data)}, observe.Of(b.Data))
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
		answer  Answer
		text    string // of the resource, or a warning
	}{
		{"one thread of eight, little wanted", map[string]float64{"cgroup.cpu": 1}, 3, false, .2, Fits, "kept only 1 of a node's 8 cores busy"},
		{"one thread of eight", map[string]float64{"cgroup.cpu": 1}, 3, false, 2, Untested, "kept only 1 of a node's 8 cores busy: measure with as many threads as cores"},
		{"all threads", map[string]float64{"cgroup.cpu": 7.8}, 23.4, true, 2.5, Fails, "used up at 9.3"},
		{"all threads, fits", map[string]float64{"cgroup.cpu": 7.8}, 23.4, true, 2, Fits, "used up at 11.6"},
		{"of the machine", map[string]float64{"cpu.user": 5, "cpu.system": 2}, 21, true, 3, Fails, ""},
		{"no counters", nil, 0, false, 2, Untested, "the monitor saw no processor time of work alone on node n00"},
	} {
		_, got := processors(t, c.rates)
		r, err := answerOf(question{target: 10, nodeRate: 1, demands: []demand{{resource: model.ResourceCPU, amount: c.demand, unit: evaluation.Core, measured: true}}, capacities: got})
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
		if len(got) != 2 || got[1].unit != evaluation.Core || got[1].limited != c.limited {
			t.Fatalf("%s: capacities %+v, want one in cores, limited = %v", c.name, got, c.limited)
		}
		wantValue(t, c.name, &got[1].total, c.total, .005*c.total)
	}
}

// TestPartialCapacityYields: where another workload used whole nodes, one that
// did not says nothing.
func TestPartialCapacityYields(t *testing.T) {
	_, short := processors(t, map[string]float64{"cgroup.cpu": 1})
	_, whole := processors(t, map[string]float64{"cgroup.cpu": 8})
	c, ok := question{capacities: append(short, whole...)}.capacityFor(demand{resource: model.ResourceCPU, unit: evaluation.Core}, &model.Doubts{})
	if !ok || c.partial || !c.limited {
		t.Errorf("capacity %+v, want that of whole nodes", c)
	}
}

// TestCoresBeyondTheNode: what a shared machine did beyond a node's own cores
// is not the node's.
func TestCoresBeyondTheNode(t *testing.T) {
	b, _ := processors(t, map[string]float64{"cpu.user": 30})
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Facts.CPULimit = 4
	}
	p, err := processorOf(one(t, b.Data, quick), observe.Of(b.Data))
	if err != nil || p.used != 4 || p.own != 4 {
		t.Errorf("processor %+v, %v, want 4 of 4 cores", p, err)
	}
}
