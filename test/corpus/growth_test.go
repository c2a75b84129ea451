package corpus

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// shapes are how the total of a fleet grows with its size, of what one node has.
var shapes = map[string]func(n float64) float64{
	"linear":     func(n float64) float64 { return n },
	"limit":      func(n float64) float64 { return min(n, 3.4) },
	"collapse":   func(n float64) float64 { return map[bool]float64{true: n, false: 1.4}[n <= 4] },
	"contention": func(n float64) float64 { return n / (1 + .12*(n-1)) },
	"falling":    func(n float64) float64 { return n / (1 + .05*(n-1) + .04*n*(n-1)) },
	"creeping":   func(n float64) float64 { return min(n, 3.4+.025*(n-3.4)) },
	"staircase":  func(n float64) float64 { return 4 * math.Ceil(n/4) },
	"kinked":     func(n float64) float64 { return min(n, 3+.3*(n-3)) },
}

// sweep measures a shape at sizes.
func sweep(seed uint64, shape string, fleet, trials int, noise float64, sizes ...int) *builder {
	of := shapes[shape]
	return simulated.Sweep{Fleet: fleet, Trials: trials, Sizes: sizes, Noise: noise,
		Total: func(active []int, solo float64) float64 { return solo * of(float64(len(active))) }}.Run(seeded(seed))
}

// counts makes a run one of a resource.
func counts(b *builder, resource, unit string, factor float64) *builder {
	for _, r := range b.Data.Results {
		if len(r.Samples) > 0 { // not of one that only serves
			s := &r.Samples[0]
			s.Unit, s.Resource, s.Value = unit, resource, factor*s.Value
		}
	}
	return b
}

// growthCases are questions about how a total grows, and which resource ends it.
func growthCases() (out []question) {
	add := func(name string, b *builder) {
		out = append(out, question{name: "resources/" + name, study: "resources", runs: []model.RunData{b.Data}})
	}
	for i, shape := range slices.Sorted(maps.Keys(shapes)) {
		seed := uint64(20 + i)
		add(shape, sweep(seed, shape, 8, 3, .005, 2, 3, 4, 6))
		add(shape+", one trial", sweep(seed, shape, 8, 1, .01, 2, 4, 5, 6, 7))
		add(shape+", noise", sweep(seed, shape, 8, 2, .08, 2, 4, 6))
		add(shape+", one size", sweep(seed, shape, 6, 2, .005))
	}
	add("one size past the knee", sweep(30, "limit", 5, 2, .005, 2, 3))
	add("few totals", sweep(31, "limit", 6, 1, .005, 3))
	add("two sizes past the knee, one trial", sweep(32, "limit", 6, 1, .002, 2, 3, 5))
	add("scatter past the knee", sweep(33, "limit", 7, 2, .2, 2, 3, 5, 6))
	racks := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: []int{2, 3, 5, 6}, Noise: .005, Groups: 2, Total: simulated.Cap(450)}
	add("racks", racks.Run(seeded(34)))
	racks.Sizes = []int{2, 4, 6}
	add("racks in equal parts", racks.Run(seeded(35)))
	lost := sweep(36, "limit", 6, 2, .005, 2, 4)
	for i := range lost.Data.Steps {
		if s := &lost.Data.Steps[i]; s.Phase == model.Parallel && len(s.Tasks) == 4 {
			s.State = model.StepInvalid
		}
	}
	add("a size lost", lost)
	uneven := sweep(37, "limit", 6, 2, .005, 2, 4)
	uneven.Data.Steps[3].State = model.StepInvalid
	add("a trial lacks a step", uneven)
	silent := sweep(38, "limit", 6, 2, .005, 2, 4)
	lastOf(silent).Samples = nil
	add("a value missing", silent)
	apart := sweep(39, "linear", 4, 2, .005, 2, 3)
	lastOf(apart).Started = lastOf(apart).Started.Add(9e9)
	lastOf(apart).Ended = lastOf(apart).Ended.Add(9e9)
	add("not together", apart)
	add("network", counts(sweep(40, "limit", 6, 3, .003, 2, 4), model.ResourceNetworkReceive, "byte/s", 1e6/8))
	add("network falls", counts(sweep(41, "collapse", 7, 2, .003, 2, 4, 5), model.ResourceNetworkSend, "byte/s", 1e6/8))
	add("two resources", twoResources())
	add("all resources", allResources())
	add("pairs", simulated.Pairs(seeded(42), 3, 2, .6, .01, false))
	add("store behind a network that is not measured", counts(sweep(44, "limit", 6, 2, .004, 2, 4), model.ResourceObjectGet, "byte/s", .97e6))
	add("store behind a network without a verdict", joined([]string{"store", "net"},
		counts(sweep(44, "limit", 5, 2, .004, 2, 4), model.ResourceObjectGet, "byte/s", .97e6),
		counts(overlapping(), model.ResourceNetworkReceive, "byte/s", 1e6)))
	ends := counts(simulated.Pairs(seeded(43), 4, 3, .6, .01, true), model.ResourceNetworkSend, "byte/s", 1e6)
	for _, s := range ends.Data.Steps {
		for i := range s.Tasks {
			x := &s.Tasks[i].Spec
			x.Subject = x.Subject[:strings.Index(x.Subject, "+")] + ">store"
		}
	}
	add("pairs with a common end", ends)
	add("values beyond all bounds", counts(sweep(36, "limit", 6, 2, .005, 2, 4), "", "op/s", 5e305))
	add("no phases", &builder{Data: model.RunData{Run: model.Run{ID: "01J00000000000000000000000"}}})
	return out
}

// joined puts the steps of runs behind those of the first, each as a workload.
func joined(names []string, runs ...*builder) *builder {
	out := simulated.New(len(runs[0].Data.Nodes))
	for i, b := range runs {
		for _, s := range b.Data.Steps {
			var results []model.Result
			for _, r := range b.Data.Results {
				if r.Step == s.ID {
					results = append(results, r)
				}
			}
			out.Step(s.Phase, s.Trial, results...)
			out.Data.Steps[len(out.Data.Steps)-1].Workload = names[i]
		}
	}
	return out
}

// twoResources are an object store behind a link that both fill.
func twoResources() *builder {
	net := counts(sweep(43, "limit", 6, 2, .004, 2, 4), model.ResourceNetworkReceive, "byte/s", 1e6)
	get := counts(sweep(44, "limit", 6, 2, .004, 2, 4), model.ResourceObjectGet, "byte/s", .97e6)
	return joined([]string{"net", "store"}, get, net)
}

// allResources are what can be bought, each with another growth.
func allResources() *builder {
	return joined([]string{"cpu", "memory", "disk", "net", "store"},
		counts(sweep(45, "linear", 4, 2, .004, 2, 3), model.ResourceCPU, "op/s", 1),
		counts(sweep(46, "contention", 4, 2, .004, 2, 3), model.ResourceMemory, "byte/s", 1e7),
		counts(sweep(47, "falling", 4, 2, .004, 2, 3), model.ResourceDiskWrite, "byte/s", 1e5),
		counts(sweep(48, "limit", 4, 2, .004, 2, 3), model.ResourceNetworkSend, "byte/s", 1e6),
		counts(sweep(49, "kinked", 4, 2, .004, 2, 3), model.ResourceObjectPut, "op/s", 1))
}
