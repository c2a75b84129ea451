package sizing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// monitored is a run of two nodes; their monitor saw these rates per second.
func monitored(rates map[string]float64) *simulated.Builder {
	b := simulated.Plain(2, 1)
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
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
	got, err := demandsOf(observe.Of(b.Data), "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{model.ResourceCPU: 2.1, model.ResourceNetworkReceive: 105, model.ResourceDiskWrite: 73.5}
	for _, d := range got {
		wantValue(t, d.resource, &d.amount, want[d.resource], 1e-9)
		if d.ci == nil || !d.ci.Contains(d.amount) || !strings.Contains(d.source, "alone on 2 nodes") {
			t.Errorf("%s: interval %v, source %q, want both, of 2 nodes", d.resource, d.ci, d.source)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d demands %+v, want %d: what was not used is none", len(got), got, len(want))
	}
	machine, err := demandsOf(observe.Of(monitored(map[string]float64{"cpu.user": 1, "cpu.system": .5, "cpu.idle": 6}).Data), "work")
	if err != nil || len(machine) != 1 {
		t.Fatalf("demands of a machine %+v, %v, want one", machine, err)
	}
	wantValue(t, "cpu of the machine", &machine[0].amount, 1.575, 1e-9)
	for name, bad := range map[string]model.RunData{"other": b.Data, "": simulated.Plain(2, 1).Data} {
		if _, err := demandsOf(observe.Of(bad), name); !errors.Is(err, model.ErrUsage) {
			t.Errorf("demands of workload %q: %v, want ErrUsage", name, err)
		}
	}
}

// TestCountedDemands: operations, packets and requests of a job are held against limits that
// are given, at the rate of the target. Without one they do not make the plan untested.
func TestCountedDemands(t *testing.T) {
	const jobs, reads, packets, requests = 4., 30., 700., 3.
	b := monitored(map[string]float64{"net.rx_bytes": 10e6, "net.rx_packets": jobs * packets, "disk.reads": jobs * reads})
	b.Data.Run.ID = "R"
	b.Data.Steps = slices.DeleteFunc(b.Data.Steps, func(s model.Step) bool { return s.Phase == model.Parallel })
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		for k := range r.Host { // all nodes are alike
			for j := range r.Host[k].Values {
				r.Host[k].Values[j] /= 1 + .1*float64(i%2)
			}
		}
		r.Samples = []model.Sample{{Metric: "jobs", Unit: "job/s", Value: jobs, Better: model.Higher},
			{Metric: "jobs_get_requests", Unit: "1", Value: requests, Info: true}}
	}
	plan := func(capacities ...string) *Result {
		p := &Params{Target: "100/s", DemandRun: "R", Capacity: append(capacities, "network.receive=1GB/s")}
		open := func(context.Context, string) (*observe.Run, error) { return observe.Of(b.Data), nil }
		r, err := p.Analyze(t.Context(), study.Input{Open: open})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*Result)
	}
	if r := plan(); r.Answer != Fits || len(r.Resources) != 1 {
		t.Errorf("without further limits: %s, %+v", r.Answer, r.Resources)
	}
	for text, want := range map[string]struct {
		perJob float64
		answer Answer
	}{
		"network.receive=71kpacket/s": {packets, Fits}, "network.receive=69000packet/s": {packets, Fails},
		"disk.read=3100op/s": {reads, Fits}, "disk.read=2.9kop/s": {reads, Fails},
		"objectstore.get=310op/s": {requests, Fits}, "objectstore.get=290op/s": {requests, Fails},
	} {
		r := plan(text)
		told := slices.ContainsFunc(r.Doubts, func(d model.Doubt) bool { return d.Code == "segmented_packets" })
		if asked := strings.Contains(text, "packet"); told != asked { // they have 3,571 bytes
			t.Errorf("%s: doubts %+v", text, r.Doubts)
		}
		i := slices.IndexFunc(r.Resources, func(x Resource) bool { return x.Unit != evaluation.ByteRate })
		if r.Answer != want.answer || i < 0 {
			t.Errorf("%s: %s, want %s: %+v", text, r.Answer, want.answer, r.Resources)
			continue
		}
		wantValue(t, text, &r.Resources[i].Demand, jobs*want.perJob, 1e-6)
		wantValue(t, text+", limit", r.Resources[i].RateLimit, *r.Resources[i].Capacity/want.perJob, 1e-6)
	}
}

// TestDemandOfUnevenTrials: a trial that one node did not measure does not count
// for the other alone.
func TestDemandOfUnevenTrials(t *testing.T) {
	b := simulated.New(2)
	for trial := 1; trial <= 3; trial++ {
		for node := range 2 {
			r := b.Reported(node, 0, 10, 100)
			r.Host = counters(map[string]float64{"cgroup.cpu": float64(trial)})
			b.Step(model.Serial, trial, r)
		}
	}
	for _, c := range []struct {
		lost []int // steps, in the order of trials and nodes
		want float64
	}{{nil, 2}, {[]int{5}, 1.5}, {[]int{2, 5}, 1}, {[]int{0, 3, 5}, 1.75}} {
		for i := range b.Data.Steps {
			b.Data.Steps[i].State = model.StepComplete
			if slices.Contains(c.lost, i) {
				b.Data.Steps[i].State = model.StepInvalid
			}
		}
		d, err := demandsOf(observe.Of(b.Data), "")
		if err != nil || len(d) != 1 {
			t.Fatalf("without steps %v: %+v, %v", c.lost, d, err)
		}
		wantValue(t, "cpu", &d[0].amount, c.want, 1e-9)
	}
}

func TestNodeRateOf(t *testing.T) {
	f := one(t, simulated.Plain(6, .5).Data, quick)
	rate, ci, err := nodeRateOf([]evaluation.Finding{f}, nil, "")
	if err != nil || ci == nil || !ci.Contains(rate) {
		t.Fatalf("rate %v, %v, %v, want one with an interval", rate, ci, err)
	}
	wantValue(t, "rate", &rate, 102.5, 1e-9)
	if _, _, err := nodeRateOf([]evaluation.Finding{f, f}, nil, ""); !errors.Is(err, model.ErrUsage) {
		t.Errorf("two rates: %v, want ErrUsage", err)
	}
	thousands := f
	thousands.Unit = "kop/s"
	many, ci, err := nodeRateOf([]evaluation.Finding{thousands}, nil, "")
	if err != nil || ci == nil || !ci.Contains(many) {
		t.Fatalf("rate %v, %v, %v, want one with an interval", many, ci, err)
	}
	wantValue(t, "rate in kop/s", &many, 102.5e3, 1e-6)
	elapsed := f
	elapsed.Metric, elapsed.Reciprocal = "elapsed", true
	if again, _, err := nodeRateOf([]evaluation.Finding{elapsed, f}, nil, ""); err != nil || again != rate {
		t.Errorf("beside the reciprocal of a time: %v, %v, want %v", again, err, rate)
	}
	if _, _, err := nodeRateOf(nil, nil, ""); !errors.Is(err, model.ErrUsage) {
		t.Errorf("no rate: %v, want ErrUsage", err)
	}
}

// TestNodeRateIsOfJobs: bytes are no jobs.
func TestNodeRateIsOfJobs(t *testing.T) {
	for _, unitName := range []string{"byte/s", "MB/s", "Gbit/s"} {
		f := one(t, simulated.Plain(6, .5).Data, quick)
		f.Unit = unitName
		_, _, err := nodeRateOf([]evaluation.Finding{f}, nil, "")
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "--node-rate") {
			t.Errorf("a rate in %s: %v, want ErrUsage that asks for --node-rate", unitName, err)
		}
	}
}

// TestSameDemand: only a demand in the same unit replaces a measured one.
func TestSameDemand(t *testing.T) {
	given := []demand{{resource: model.ResourceDiskWrite, unit: "op/s"}}
	for _, c := range []struct {
		resource, unit string
		want           bool
	}{
		{model.ResourceDiskWrite, "op/s", true},
		{model.ResourceDiskWrite, "byte/s", false},
		{model.ResourceDiskRead, "op/s", false},
	} {
		if got := given[0].same(demand{resource: c.resource, unit: c.unit}); got != c.want {
			t.Errorf("same(%s in %s) = %v, want %v", c.resource, c.unit, got, c.want)
		}
	}
}

// TestWireDemand: a demand counted in packets, a capacity in payload.
func TestWireDemand(t *testing.T) {
	measured := capacity{resource: model.ResourceNetworkReceive, total: 36e6, unit: evaluation.ByteRate, nodes: 8, limited: true}
	given := measured
	given.nodes = 0
	for _, c := range []struct {
		name    string
		wire    bool
		c       capacity
		largest [2]int // 0: no interval
		warned  bool
	}{
		// 36/1.5 is 24 nodes; of 1448/1514 of that each, 25.09.
		{"measured against measured", true, measured, [2]int{24, 25}, true},
		{"measured against a link's limit", true, given, [2]int{}, false},
		{"given against measured", false, measured, [2]int{}, false},
	} {
		r, err := answerOf(question{target: 10, nodeRate: 1, demands: []demand{{resource: model.ResourceNetworkReceive, amount: 1.5e6, unit: evaluation.ByteRate, wire: c.wire}}, capacities: []capacity{c.c}})
		if err != nil {
			t.Fatal(err)
		}
		x := r.Resources[0]
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "packets with their headers"); got != c.warned {
			t.Errorf("%s: warnings %q, want one about headers = %v", c.name, r.Warnings, c.warned)
		}
		if (x.LargestCI != nil) != c.warned || c.warned && *x.LargestCI != c.largest {
			t.Errorf("%s: largest fleet %v, want %v", c.name, x.LargestCI, c.largest)
		}
		if c.warned {
			wantValue(t, "lower bound of the demand", &x.DemandCI[0], 1.5e6*1448/1514, 1)
		}
	}
}

// TestWireDemandOfDemandsOf: what the monitor counts on a network is packets.
func TestWireDemandOfDemandsOf(t *testing.T) {
	ds, err := demandsOf(observe.Of(monitored(map[string]float64{"net.rx_bytes": 100, "net.tx_bytes": 10, "cgroup.cpu": 1}).Data), "")
	if err != nil || len(ds) != 3 {
		t.Fatalf("demands %+v, %v, want three", ds, err)
	}
	for _, d := range ds {
		if want := evaluation.Category(d.resource) == "network"; d.wire != want {
			t.Errorf("%s: counted in packets = %v, want %v", d.resource, d.wire, want)
		}
	}
}

// TestWireDemandOfOneNode: a node that fills its link is not said to take more
// than a node has.
func TestWireDemandOfOneNode(t *testing.T) {
	alone := 1448e3
	c := capacity{resource: model.ResourceNetworkSend, total: 10e6, unit: evaluation.ByteRate, nodes: 8, alone: &alone}
	for amount, want := range map[float64]bool{1514e3: false, 1600e3: true} {
		r, err := answerOf(question{target: 2, nodeRate: 1, demands: []demand{{resource: c.resource, amount: amount, unit: evaluation.ByteRate, wire: true, measured: true}}, capacities: []capacity{c}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "one node alone has"); got != want {
			t.Errorf("%v byte/s: warnings %q, want one about the node = %v", amount, r.Warnings, want)
		}
	}
}

// TestDoubtsOfTheDemandRun: what makes the run doubtful that rate and demand come
// from is said of the plan, in JSON, in the document and in CSV.
func TestDoubtsOfTheDemandRun(t *testing.T) {
	const demand, note = "cpu was measured on 1 of 2 nodes only, not on n01, and has no interval", "run R: it is cancelled (by ana): the demand rests on what was measured so far"
	broken := func(b *simulated.Builder) {
		b.Data.Run.State, b.Data.Run.Reason = model.RunCancelled, "by ana"
		for i, s := range b.Data.Steps {
			if s.Phase == model.Serial && s.Tasks[0].Node == "n01" {
				b.Data.Steps[i].State = model.StepInvalid
			}
		}
	}
	for _, c := range []struct {
		name, rate string
		breaks     func(*simulated.Builder)
		want, not  []string
	}{
		{"whole", "100/s", func(*simulated.Builder) {}, nil, []string{"run R", "was measured on"}},
		{"given rate", "100/s", broken, []string{note, "run R: 1 serial step of 2 without a valid result, left out", demand}, nil},
		{"measured rate", "", broken, []string{"the run is cancelled (by ana)", "without a valid result, left out: serial on n01", demand}, []string{note}},
		{"serial only", "", func(b *simulated.Builder) {
			b.Data.Steps = slices.DeleteFunc(b.Data.Steps, func(s model.Step) bool { return s.Phase == model.Parallel })
		}, nil, []string{"parallel values"}},
	} {
		b := monitored(map[string]float64{"cgroup.cpu": 2})
		b.Data.Run.ID = "R"
		c.breaks(b)
		p := &Params{Target: "10/s", NodeRate: c.rate, DemandRun: "R", Capacity: []string{"cpu=100core"}}
		r, err := p.Analyze(t.Context(), study.Input{Open: func(context.Context, string) (*observe.Run, error) { return observe.Of(b.Data), nil }})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		all := strings.Join(r.(*Result).Warnings, "; ")
		for _, text := range c.want {
			if strings.Count(all, text) != 1 {
				t.Errorf("%s: warnings %q, want %q once", c.name, all, text)
			}
		}
		for _, text := range c.not {
			if strings.Contains(all, text) {
				t.Errorf("%s: warnings %q, want none with %q", c.name, all, text)
			}
		}
		var csv strings.Builder
		if err := render.CSV(&csv, r.Document().Table()); err != nil || !strings.Contains(csv.String(), all) {
			t.Errorf("%s: CSV %s, %v, want the warnings", c.name, csv.String(), err)
		}
	}
}

// TestDoubtsOfOneRun: a warning about the run that capacity and rate both come
// from is said once.
func TestDoubtsOfOneRun(t *testing.T) {
	b := monitored(map[string]float64{"cgroup.cpu": 2})
	b.Data.Run.ID = "R"
	run := observe.Of(b.Data)
	for _, c := range []struct {
		main *observe.Run
		want string
	}{{nil, "run R: work rate: only 2 nodes"}, {run, "work/rate: only 2 nodes"}} {
		p := &Params{Target: "10/s", DemandRun: "R", Demand: []string{"work/rate=1op/s"}, Capacity: []string{"cpu=100core"}}
		if c.main == nil {
			p.Demand = nil
		}
		r, err := p.Analyze(t.Context(), study.Input{Run: c.main, Open: func(context.Context, string) (*observe.Run, error) { return run, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(r.(*Result).Warnings, "; "); strings.Count(all, "only 2 nodes") != 1 || !strings.Contains(all, c.want) {
			t.Errorf("warnings %q, want %q once", all, c.want)
		}
	}
}

// TestDemandAtAnotherRate: what a node took at the rate at which it was measured it
// takes in proportion at the rate that was given.
func TestDemandAtAnotherRate(t *testing.T) {
	b := monitored(map[string]float64{"net.rx_bytes": 10e6})
	b.Data.Run.ID = "R"
	b.Data.Steps = slices.DeleteFunc(b.Data.Steps, func(s model.Step) bool { return s.Phase == model.Parallel })
	plan := func(rate string) *Result {
		p := &Params{Target: "1000/s", NodeRate: rate, DemandRun: "R", Capacity: []string{"network.receive=1GB/s"}}
		r, err := p.Analyze(t.Context(), study.Input{Open: func(context.Context, string) (*observe.Run, error) { return observe.Of(b.Data), nil }})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*Result)
	}
	own := plan("")
	for _, times := range []float64{.5, 1.05, 2} {
		r := plan(fmt.Sprintf("%f/s", times*own.NodeRate))
		if got, want := r.Resources[0].AtTarget, own.Resources[0].AtTarget; math.Abs(got-want) > 1e-3*want {
			t.Errorf("a node rate of %v times what was measured: the target takes %v, want %v as before", times, got, want)
		}
		if told := slices.ContainsFunc(r.Doubts, func(d model.Doubt) bool { return d.Code == "demand_scaled" }); told != (times != 1.05) {
			t.Errorf("a node rate of %v times what was measured: doubts %+v", times, r.Doubts)
		}
	}
}

// TestGateByNodeRate: where the rate of a node is known by its interval only, so
// is what as many nodes as the target takes demand.
func TestGateByNodeRate(t *testing.T) {
	for _, c := range []struct {
		ci     *evaluation.Interval
		source string
		want   error
	}{
		{nil, sourceGiven, nil},
		{&evaluation.Interval{5, 15}, sourceGiven, model.ErrInvalid},
		{&evaluation.Interval{0, 20}, sourceGiven, model.ErrInvalid},
		{&evaluation.Interval{5, 15}, "given per job", nil}, // it goes with the rate
	} {
		q := question{target: 100, nodeRate: 10, nodeRateCI: c.ci,
			demands:    []demand{{resource: "network.receive", amount: 25e6, unit: evaluation.ByteRate, source: c.source}},
			capacities: []capacity{{resource: "network.receive", total: 300e6, unit: evaluation.ByteRate, limited: true}}}
		r, err := q.answer()
		if err != nil {
			t.Fatal(err)
		}
		r.held = true
		if err := r.Gate(); r.Answer != Fits || !errors.Is(err, c.want) {
			t.Errorf("%+v: %s, gate %v, want fits, %v", c, r.Answer, err, c.want)
		}
	}
}
