package sizing

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// store is an object store: so many calls and bytes a second for all nodes together, and
// for each of them.
type store struct{ calls, bytes, nodeCalls, nodeBytes float64 }

// each is what each of n nodes does with objects of a size.
func (s store) each(n, size float64) float64 {
	return min(s.calls/n, s.bytes/n/size, s.nodeCalls, s.nodeBytes/size)
}

// put measures a store with objects of each size, a workload each.
func (s store) put(rng *rand.Rand, nodes int, sizes map[string]float64) model.RunData {
	b := simulated.New(nodes)
	step := func(workload string, phase model.Phase, trial, first, n int) {
		var results []model.Result
		for i := range n {
			calls := s.each(float64(n), sizes[workload]) * (1 + .005*rng.NormFloat64())
			r := b.Reported(first+i, 0, 10, 0)
			r.Samples = nil
			for metric, x := range map[string]struct {
				unit  string
				value float64
			}{
				"objectstore_put_throughput": {"byte/s", calls * sizes[workload]},
				"objectstore_put_rate":       {"op/s", calls}, "objectstore_operations": {"op/s", calls},
			} {
				r.Samples = append(r.Samples, model.Sample{Metric: metric, Unit: x.unit, Value: x.value, Better: model.Higher,
					Resource: model.ResourceObjectPut})
			}
			results = append(results, r)
		}
		b.Step(phase, trial, results...)
		b.Data.Steps[len(b.Data.Steps)-1].Workload = workload
	}
	for trial := 1; trial <= 3; trial++ {
		for _, workload := range slices.Sorted(maps.Keys(sizes)) {
			for i := range nodes {
				step(workload, model.Serial, trial, i, 1)
			}
			step(workload, model.Parallel, trial, 0, nodes)
		}
	}
	return b.Data
}

// planOf plans with what a run measured; each node of the application does jobs a second,
// with requests each.
func planOf(t *testing.T, capacities model.RunData, jobs, requests float64, demands ...string) *Result {
	t.Helper()
	b := monitored(map[string]float64{"net.rx_bytes": 1})
	b.Data.Run.ID = "R"
	b.Data.Steps = slices.DeleteFunc(b.Data.Steps, func(s model.Step) bool { return s.Phase == model.Parallel })
	for i := range b.Data.Results {
		b.Data.Results[i].Samples = []model.Sample{{Metric: "jobs", Unit: "job/s", Value: jobs, Better: model.Higher},
			{Metric: "jobs_put_requests", Unit: "1", Value: requests, Info: true}}
	}
	p := &Params{Target: "1000/s", DemandRun: "R", DemandPerJob: demands, Capacity: []string{"network.receive=1GB/s"}}
	open := func(context.Context, string) (*observe.Run, error) { return observe.Of(b.Data), nil }
	r, err := p.Analyze(t.Context(), study.Input{Run: observe.Of(capacities), Open: open})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
}

// TestCallsFromARun: a limit of calls that small objects show ends growth where the laws say,
// as bytes do that large objects show. Where nothing but large objects was measured, calls
// are not asked about, and where calls have no limit none is named.
func TestCallsFromARun(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(29, seed))
		nodes := 4 + rng.IntN(5)
		s := store{calls: 1000 + 9000*rng.Float64(), nodeBytes: 100e6}
		s.nodeCalls = s.calls / float64(nodes) * (1.6 + rng.Float64())
		s.bytes = s.nodeBytes * float64(nodes) * (.4 + .2*rng.Float64())
		sizes := map[string]float64{"large": 8 << 20, "small": .1 * s.bytes / s.calls}
		jobs, requests := 2+8*rng.Float64(), 2+8*rng.Float64()
		r := planOf(t, s.put(rng, nodes, sizes), jobs, requests)
		want := s.calls / requests / jobs
		x := r.Resources[0]
		if r.Binding != model.ResourceObjectPut || x.Unit != observe.CallRate || x.NodeLimit == nil {
			t.Fatalf("%d: %s, bound by %q: %+v", seed, r.Answer, r.Binding, r.Resources)
		}
		wantValue(t, "nodes at the limit of calls", x.NodeLimit, want, .02*want)
		if !strings.Contains(x.CapacitySource, "small/objectstore_") ||
			!strings.Contains(x.CapacitySource, "where there are") ||
			slices.ContainsFunc(r.Doubts, func(d model.Doubt) bool { return d.Code == "measured_twice" }) {
			t.Errorf("%d: source %q, doubts %v", seed, x.CapacitySource, r.Warnings)
		}
		// The bytes of large objects are those of the store, whatever small ones moved.
		r = planOf(t, s.put(rng, nodes, sizes), jobs, requests, "objectstore.put=1MB")
		i := slices.IndexFunc(r.Resources, func(x Resource) bool {
			return x.Resource == model.ResourceObjectPut && x.Unit == evaluation.ByteRate
		})
		wantValue(t, "nodes at the limit of bytes", r.Resources[i].NodeLimit, s.bytes/1e6/jobs, .02*s.bytes/1e6/jobs)

		delete(sizes, "small")
		if r := planOf(t, s.put(rng, nodes, sizes), jobs, requests); len(r.Resources) != 1 || r.Answer != Fits {
			t.Errorf("%d: of large objects alone: %s, %+v", seed, r.Answer, r.Resources)
		}
		s.calls, sizes["small"] = 1e9, .1*s.nodeBytes/s.nodeCalls
		r = planOf(t, s.put(rng, nodes, sizes), jobs, requests)
		if r.Binding == model.ResourceObjectPut || r.Answer == Fails {
			t.Errorf("%d: without a limit of calls: %s, bound by %q", seed, r.Answer, r.Binding)
		}
	}
}

// TestPacketsOfALink: small packets that fill a link show its bytes, with what the wire adds
// to each, and no limit of packets; one that leaves room on the link does.
func TestPacketsOfALink(t *testing.T) {
	const payload, frame, whole = 76., 166., 1448. / 1538
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(31, seed))
		link := 1e7 * math.Pow(1000, rng.Float64())
		packets, bound := link/frame*(.97+.03*rng.Float64()), seed%2 == 0
		if bound {
			packets *= .05 + .35*rng.Float64()
		}
		of := func(workload, unit string, total float64) capacity {
			return capacity{workload: workload, resource: model.ResourceNetworkSend, unit: unit, total: total, nodes: 4}
		}
		all := []capacity{
			of("bytes", evaluation.ByteRate, whole*link), of("packets", evaluation.ByteRate, payload*packets),
			of("packets", observe.PacketRate, packets),
		}
		if boundByCalls(all); all[2].calls != bound || !all[1].partial || all[0].partial {
			t.Errorf("%d: %.0f packets/s on a link of %.0f B/s: limit of packets %v, want %v", seed, packets, link,
				all[2].calls, bound)
		}
	}
}
