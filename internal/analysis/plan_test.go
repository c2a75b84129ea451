package analysis

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// planCase is one case of testdata/plans.json: section 5.3 of the paper and
// what a plan makes of it.
type planCase struct {
	Name             string
	Target, NodeRate float64
	PerJob, Capacity string
	Result           model.PlanResult
}

// TestPlanGolden: the arithmetic of section 5.3. The paper prints 590 and 1,065
// videos/s, 125 and 430 nodes.
func TestPlanGolden(t *testing.T) {
	const file = "testdata/plans.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []planCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		perJob, err := ParseJobAmount(c.PerJob)
		if err != nil {
			t.Fatal(err)
		}
		limit, err := ParseAmount(c.Capacity)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Plan(PlanInput{
			Target: c.Target, NodeRate: c.NodeRate,
			Demands:    []Demand{{Resource: perJob.Resource, Amount: perJob.Value * c.NodeRate, Unit: perJob.Unit, Source: "given"}},
			Capacities: []Capacity{{Resource: limit.Resource, Total: limit.Value, Unit: limit.Unit, Limited: true, Source: "given"}},
		})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if *update {
			cases[i].Result = got
		} else if diff := cmp.Diff(c.Result, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
	if *update {
		out, err := json.MarshalIndent(cases, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSection53: the same numbers, by hand.
func TestSection53(t *testing.T) {
	for _, c := range []struct {
		name                       string
		rate, target, limit        float64 // videos/s, videos/s, MB/s
		atTarget, nodes, rateLimit float64 // MB/s, nodes, videos/s
		answer                     model.PlanAnswer
	}{
		{"cloud B, 65 nodes", 227. / 65, 227, 1250, 1203.1, 67.53, 235.8, model.PlanFits},
		{"cloud C", 4.8, 100, 3125, 530, 122.8, 589.6, model.PlanFits},
		{"cloud D", 2.5, 2000, 5640, 10600, 425.7, 1064.2, model.PlanFails},
	} {
		r, err := Plan(PlanInput{
			Target: c.target, NodeRate: c.rate,
			Demands:    []Demand{{Resource: model.ResourceObjectGet, Amount: 5.3 * c.rate, Unit: "MB/s"}},
			Capacities: []Capacity{{Resource: model.ResourceObjectGet, Total: c.limit, Unit: "MB/s", Limited: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		x := r.Resources[0]
		wantValue(t, c.name+": at the target", &x.AtTarget, c.atTarget, .05)
		wantValue(t, c.name+": nodes", x.NodeLimit, c.nodes, .05)
		wantValue(t, c.name+": rate", x.RateLimit, c.rateLimit, .05)
		if r.Answer != c.answer || r.Binding != model.ResourceObjectGet || *r.Largest != int(c.nodes) {
			t.Errorf("%s: answer %s, binding %q, largest %d, want %s, objectstore.get, %d", c.name, r.Answer, r.Binding, *r.Largest, c.answer, int(c.nodes))
		}
	}
}

// TestPlanAnswers: fits, fails, untested, and what is said beside it.
func TestPlanAnswers(t *testing.T) {
	measured := func(total float64, limited bool, doubt string) Capacity {
		alone := 120e6
		return Capacity{Resource: model.ResourceNetworkReceive, Workload: "net", Metric: "receive", Total: total, Unit: byteRate,
			Nodes: 10, Alone: &alone, Limited: limited, Doubt: doubt, CI: &model.Interval{.97 * total, 1.03 * total}, Source: "net/receive, 10 nodes"}
	}
	demand := func(amount float64) Demand {
		return Demand{Resource: model.ResourceNetworkReceive, Amount: amount, Unit: byteRate}
	}
	seen := func(amount float64) Demand {
		d := demand(amount)
		d.Measured = true
		return d
	}
	for _, c := range []struct {
		name    string
		d       Demand
		c       []Capacity
		answer  model.PlanAnswer
		text    string // of the resource
		warning string
	}{
		{"fits below a limit", demand(10e6), []Capacity{measured(500e6, true, "")}, model.PlanFits, "used up at 50 nodes, 100/s", ""},
		{"fits, no limit", demand(10e6), []Capacity{measured(500e6, false, "")}, model.PlanFits, "fits: 20 nodes at 2/s take 1.6 Gbit/s; 10 together had 4 Gbit/s, and no limit was seen", ""},
		{"fails", demand(30e6), []Capacity{measured(500e6, true, "")}, model.PlanFails, "which is used up at 16.67 nodes, 33.33/s; the largest useful fleet is 16 nodes, 32/s (95 %: 16 to 17)", ""},
		{"untested", demand(30e6), []Capacity{measured(500e6, false, "")}, model.PlanUntested, "no limit was seen: measure with 12 nodes or more", ""},
		{"not measured", demand(30e6), nil, model.PlanUntested, "its capacity was not measured", ""},
		{"without a verdict", demand(30e6), []Capacity{measured(500e6, false, "poor overlap")}, model.PlanUntested, "untested", "has no verdict (poor overlap)"},
		{"too close", demand(25e6), []Capacity{measured(500e6, true, "")}, model.PlanFits, "fits", "too close to call"},
		{"more than one node has", demand(130e6), []Capacity{measured(5000e6, false, "")}, model.PlanFails, "not even one node works at this rate: alone it has 960 Mbit/s and the application takes 1.04 Gbit/s", ""},
		{"more than one node has, as measured", seen(130e6), []Capacity{measured(5000e6, false, "")}, model.PlanFits, "fits", "one node alone has 960 Mbit/s"},
		{"more than there is for one", demand(130e6), []Capacity{{Resource: model.ResourceNetworkReceive, Total: 100e6, Unit: byteRate, Limited: true}}, model.PlanFails, "its limit is 800 Mbit/s: not even one node fits", ""},
		{"measured twice", demand(30e6), []Capacity{measured(900e6, true, ""), measured(500e6, true, "")}, model.PlanFails, "4 Gbit/s", "measured in 2 ways"},
		{"another unit", seen(30e6), []Capacity{{Resource: model.ResourceNetworkReceive, Total: 5, Unit: "op/s", Nodes: 3}}, model.PlanUntested, `its capacity is known only in "op/s"`, "cannot be compared"},
	} {
		r, err := Plan(PlanInput{Target: 40, NodeRate: 2, Demands: []Demand{c.d}, Capacities: c.c})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Answer != c.answer || r.Nodes != 20 {
			t.Errorf("%s: %s with %d nodes, want %s with 20", c.name, r.Answer, r.Nodes, c.answer)
		}
		if !strings.Contains(r.Resources[0].Text, c.text) {
			t.Errorf("%s: text %q, want %q in it", c.name, r.Resources[0].Text, c.text)
		}
		if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", c.name, r.Warnings, c.warning)
		}
	}
}

// TestPlanBinding: of several resources the one that ends growth first binds,
// and the worst answer counts.
func TestPlanBinding(t *testing.T) {
	r, err := Plan(PlanInput{
		Target: 100, NodeRate: 1,
		Demands: []Demand{{Resource: "memory", Amount: 1, Unit: byteRate}, {Resource: "cpu", Amount: 1, Unit: unitCore}, {Resource: "disk.write", Amount: 2, Unit: byteRate}, {Resource: "network.send", Amount: 1, Unit: byteRate}},
		Capacities: []Capacity{
			{Resource: "cpu", Total: 90, Unit: unitCore, Nodes: 9}, {Resource: "disk.write", Total: 150, Unit: byteRate, Limited: true},
			{Resource: "network.send", Total: 80, Unit: byteRate, Limited: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, x := range r.Resources {
		order = append(order, x.Resource+" "+string(x.Answer))
	}
	if diff := cmp.Diff([]string{"disk.write fails", "network.send fails", "cpu untested", "memory untested"}, order); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if r.Answer != model.PlanFails || r.Binding != "disk.write" || *r.Largest != 75 || *r.LargestRate != 75 {
		t.Errorf("plan %+v, want fails by disk.write at 75 nodes", r)
	}
}

// TestPlanProperties: t nodes suffice and t−1 do not; t* nodes fit and t*+1 do
// not; and no whole number is lost to floating point.
func TestPlanProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 2000 {
		whole := float64(1 + rng.IntN(500))
		rate := math.Round(1000*(.01+rng.Float64())) / 1000
		r, err := Plan(PlanInput{
			Target: whole * rate, NodeRate: rate,
			Demands:    []Demand{{Resource: "x", Amount: rate / 3, Unit: "u"}},
			Capacities: []Capacity{{Resource: "x", Total: whole * (rate / 3), Unit: "u", Limited: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Nodes != int(whole) || *r.Largest != int(whole) || r.Answer != model.PlanFits {
			t.Fatalf("%v nodes at %v: t = %d, t* = %d, %s, want both equal and fits", whole, rate, r.Nodes, *r.Largest, r.Answer)
		}
	}
	for range 2000 {
		in := PlanInput{
			Target: 100 * rng.Float64(), NodeRate: .01 + rng.Float64(),
			Demands:    []Demand{{Resource: "x", Amount: .1 + rng.Float64(), Unit: "u"}},
			Capacities: []Capacity{{Resource: "x", Total: 100 * rng.Float64(), Unit: "u", Limited: true}},
		}
		r, err := Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		d, c := in.Demands[0].Amount, in.Capacities[0].Total
		if n := float64(r.Nodes); n*in.NodeRate < in.Target*(1-1e-8) || (n-1)*in.NodeRate >= in.Target*(1+1e-8) {
			t.Errorf("t = %v for %v at %v", n, in.Target, in.NodeRate)
		}
		if n := float64(*r.Largest); n*d > c*(1+1e-8) || (n+1)*d <= c*(1-1e-8) {
			t.Errorf("t* = %v for %v of %v", n, d, c)
		}
		if (r.Answer == model.PlanFits) != (r.Nodes <= *r.Largest) {
			t.Errorf("%s with %d nodes of %d", r.Answer, r.Nodes, *r.Largest)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	d := []Demand{{Resource: "cpu", Amount: 1, Unit: unitCore}}
	for name, in := range map[string]PlanInput{
		"no target":    {NodeRate: 1, Demands: d},
		"NaN":          {Target: math.NaN(), NodeRate: 1, Demands: d},
		"no rate":      {Target: 1, Demands: d},
		"no demand":    {Target: 1, NodeRate: 1},
		"zero demand":  {Target: 1, NodeRate: 1, Demands: []Demand{{Resource: "cpu", Unit: unitCore}}},
		"twice":        {Target: 1, NodeRate: 1, Demands: append(d, d...)},
		"another unit": {Target: 1, NodeRate: 1, Demands: d, Capacities: []Capacity{{Resource: "cpu", Total: 5, Unit: "events/s"}}},
		"endless plan": {Target: 1e30, NodeRate: 1e-9, Demands: d},
	} {
		if r, err := Plan(in); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %+v, %v, want ErrUsage", name, r, err)
		}
	}
}

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text   string
		perJob bool
		want   Amount // zero: refused
	}{
		{"network.receive=25MB/s", false, Amount{"network.receive", 25e6, byteRate}},
		{"network.receive = 100 Mbit/s", false, Amount{"network.receive", 12.5e6, byteRate}},
		{"disk.write=1.5kop/s", false, Amount{"disk.write", 1500, "op/s"}},
		{"disk.write=300op/s", false, Amount{"disk.write", 300, "op/s"}},
		{"cpu=2.5core", false, Amount{"cpu", 2.5, unitCore}},
		{"cpu=2cores", false, Amount{"cpu", 2, unitCore}},
		{"web/score=12events/s", false, Amount{"web/score", 12, "events/s"}},
		{"x=3byte/s", false, Amount{"x", 3, byteRate}},
		{"objectstore.get=5.3MB", true, Amount{"objectstore.get", 5.3e6, byteRate}},
		{"objectstore.get=64KiB", true, Amount{"objectstore.get", 65536, byteRate}},
		{"disk.write=40op", true, Amount{"disk.write", 40, "op/s"}},
		{"cpu=0.25s", true, Amount{"cpu", .25, unitCore}},
		{"cpu=2", false, Amount{}},
		{"cpu", false, Amount{}},
		{"=2core", false, Amount{}},
		{"network.send=25MB", false, Amount{}},
		{"network.send=25M/s", false, Amount{}},
		{"network.send=25KB/s", false, Amount{}},
		{"network.send=25Mbps/s", false, Amount{}},
		{"network.send=-25MB/s", false, Amount{}},
		{"network.send=0MB/s", false, Amount{}},
		{"network.send=1.2.3MB/s", false, Amount{}},
		{"objectstore.get=5MB/s", true, Amount{}},
		{"objectstore.get=5M", true, Amount{}},
	} {
		parse := ParseAmount
		if c.perJob {
			parse = ParseJobAmount
		}
		got, err := parse(c.text)
		if c.want == (Amount{}) {
			if !errors.Is(err, model.ErrUsage) {
				t.Errorf("%q: %+v, %v, want ErrUsage", c.text, got, err)
			}
			continue
		}
		if err != nil || got.Resource != c.want.Resource || got.Unit != c.want.Unit || math.Abs(got.Value-c.want.Value) > 1e-9*c.want.Value {
			t.Errorf("%q = %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"network.receive=25MB/s", "cpu=0.25s", "x=1e9y", "=", "a==1b", "disk=.5KiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Amount, error){ParseAmount, ParseJobAmount} {
			a, err := parse(text)
			if err != nil {
				if !errors.Is(err, model.ErrUsage) {
					t.Errorf("%q: %v is not ErrUsage", text, err)
				}
				continue
			}
			if !(a.Value > 0) || math.IsInf(a.Value, 0) || a.Resource == "" || a.Unit == "" {
				t.Errorf("%q = %+v, want a resource, a unit and a number above 0", text, a)
			}
		}
	})
}

// monitored is a run of two nodes whose monitor saw these rates per second.
func monitored(rates map[string]float64) *builder {
	b := plain(2, .5)
	for i := range b.data.Results {
		r := &b.data.Results[i]
		for name, rate := range rates {
			h := model.HostSeries{Metric: name, Unit: "byte", Counter: true}
			for s := int64(-1); s <= 10; s++ {
				h.Offsets = append(h.Offsets, s*int64(time.Second))
				// Before the task, and on the second node, it is otherwise.
				value := rate * float64(s) * (1 + .1*float64(i%2))
				if s < 0 {
					value = 0
				}
				h.Values = append(h.Values, value)
			}
			r.Host = append(r.Host, h)
		}
	}
	return b
}

// TestDemandsOf: mean rates of the serial steps, over nodes.
func TestDemandsOf(t *testing.T) {
	b := monitored(map[string]float64{"net.rx_bytes": 100, "cgroup.cpu": 2, "cpu.user": 7, "volume.data.write_bytes": 50, "volume.log.write_bytes": 20, "disk.write_bytes": 999, "disk.read_bytes": 0})
	got, err := DemandsOf(b.data, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{model.ResourceCPU: 2.1, model.ResourceNetworkReceive: 105, model.ResourceDiskWrite: 73.5}
	for _, d := range got {
		wantValue(t, d.Resource, &d.Amount, want[d.Resource], 1e-9)
		if d.CI == nil || !d.CI.Contains(d.Amount) || !strings.Contains(d.Source, "alone on 2 nodes") {
			t.Errorf("%s: interval %v, source %q, want both, of 2 nodes", d.Resource, d.CI, d.Source)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d demands %+v, want %d: what was not used is none", len(got), got, len(want))
	}
	machine, err := DemandsOf(monitored(map[string]float64{"cpu.user": 1, "cpu.system": .5, "cpu.idle": 6}).data, "work")
	if err != nil || len(machine) != 1 {
		t.Fatalf("demands of a machine %+v, %v, want one", machine, err)
	}
	wantValue(t, "cpu of the machine", &machine[0].Amount, 1.575, 1e-9)
	for name, bad := range map[string]model.RunData{"other": b.data, "": plain(2, 1).data} {
		if _, err := DemandsOf(bad, name); !errors.Is(err, model.ErrUsage) {
			t.Errorf("demands of workload %q: %v, want ErrUsage", name, err)
		}
	}
}

// TestCounterRate: which readings count for a task of 3 s.
func TestCounterRate(t *testing.T) {
	for _, c := range []struct {
		name    string
		offsets []float64 // s
		values  []float64
		want    float64 // 0: refused
	}{
		{"just around the task", []float64{-.03, 1, 2, 3.03}, []float64{0, 10, 20, 30.6}, 10},
		{"long before the start", []float64{-1, .5, 2.5}, []float64{0, 100, 120}, 10},
		{"less than half", []float64{-1, .9, 2, 4}, []float64{0, 9, 20, 20}, 0},
		{"one reading", []float64{1}, []float64{5}, 0},
		{"reset", []float64{0, 3}, []float64{50, 3}, 0},
		{"lengths differ", []float64{0, 3}, []float64{50}, 0},
	} {
		h := model.HostSeries{Counter: true, Values: c.values}
		for _, s := range c.offsets {
			h.Offsets = append(h.Offsets, int64(s*1e9))
		}
		got, ok := counterRate(h, 3*time.Second)
		if ok != (c.want > 0) || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
}

// TestCapacitiesOf: units, limits and intervals.
func TestCapacitiesOf(t *testing.T) {
	b := sweepCase{fleet: 8, trials: 2, sizes: []int{2, 4, 6}, noise: .01, total: fleetCap(800)}.run(rand.New(rand.NewPCG(7, 1)))
	for i := range b.data.Results {
		b.data.Results[i].Samples[0].Unit = "MB/s"
	}
	f, s := one(t, b.data, quick), scaled(t, b.data)
	got := CapacitiesOf([]model.Finding{f}, []model.Scaling{s}, b.data)
	if len(got) != 1 {
		t.Fatalf("%d capacities, want 1", len(got))
	}
	wantValue(t, "total", &got[0].Total, 800e6, 10e6)
	if !got[0].Limited || got[0].Caution != "" || got[0].Unit != byteRate || got[0].CI == nil || !got[0].CI.Contains(800e6) {
		t.Errorf("capacity %+v, want a limit in byte/s with 800 MB/s in its interval", got[0])
	}
}

func TestNodeRateOf(t *testing.T) {
	f := one(t, plain(6, .5).data, quick)
	rate, ci, err := NodeRateOf([]model.Finding{f}, model.RunData{}, "")
	if err != nil || ci == nil || !ci.Contains(rate) {
		t.Fatalf("rate %v, %v, %v, want one with an interval", rate, ci, err)
	}
	wantValue(t, "rate", &rate, 102.5, 1e-9)
	if _, _, err := NodeRateOf([]model.Finding{f, f}, model.RunData{}, ""); !errors.Is(err, model.ErrUsage) {
		t.Errorf("two rates: %v, want ErrUsage", err)
	}
	elapsed := f
	elapsed.Metric, elapsed.Reciprocal = "elapsed", true
	if again, _, err := NodeRateOf([]model.Finding{elapsed, f}, model.RunData{}, ""); err != nil || again != rate {
		t.Errorf("beside the reciprocal of a time: %v, %v, want %v", again, err, rate)
	}
	if _, _, err := NodeRateOf(nil, model.RunData{}, ""); !errors.Is(err, model.ErrUsage) {
		t.Errorf("no rate: %v, want ErrUsage", err)
	}
}
