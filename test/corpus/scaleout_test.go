package corpus

import (
	"encoding/json"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// fleetRun is what the study scaleout measured, with a truth that is known.
type fleetRun struct {
	rate, roof float64 // jobs a second of one node, and of the store
	busy       float64 // share of a node's processors that one node uses alone
	drift      float64 // by what share one node becomes slower after the prediction
	wide       float64 // half-width of the rate that was predicted, as a share
	capacity   bool    // the store was measured
	predicted  bool
	late       bool // the prediction says a time after larger fleets began
	failed     int  // a size of which the first step failed
	stages     bool
	lost       int     // a size that lost its nodes after the first trial
	uncounted  bool    // nodes report rates alone, and no counters
	queue      bool    // of which items were set aside, or done by an earlier attempt
	packet     float64 // bytes of what counts as one; 0: packets are not counted
	machine    bool    // all nodes are of one
}

const (
	fleetBytes  = 826e3 // that a job puts
	fleetTrials = 3
)

func (x fleetRun) sizes() []int { return []int{1, 2, 4, 6, 8} }

// throughput is the truth for so many nodes.
func (x fleetRun) throughput(nodes int) float64 {
	n := float64(nodes) * x.rate
	return n / math.Pow(1+math.Pow(n/x.roof, 6), 1./6)
}

// run is what was measured.
func (x fleetRun) run() model.RunData {
	b, rng := simulated.New(8), seeded(730)
	for i := range b.Data.Nodes {
		b.Data.Nodes[i].Labels = map[string]string{"type": "small"}
		if x.machine {
			b.Data.Nodes[i].Facts.BootID = "one"
		}
	}
	step := func(trial, nodes int, slower float64, factors map[string]any) {
		total := x.throughput(nodes) * (1 - slower) * math.Exp(.01*rng.NormFloat64())
		var results []model.Result
		for i := range nodes {
			r := b.Reported(i, 0, 20, total/float64(nodes))
			r.Samples = []model.Sample{{Metric: "jobs", Unit: "job/s", Value: total / float64(nodes), Better: model.Higher}}
			if !x.uncounted {
				r.Series = []model.Series{{Metric: "jobs", Unit: "job", Offsets: []int64{0, 20e9},
					Values: []float64{0, 20 * total / float64(nodes)}}}
			}
			all := float64(nodes) / total
			add := func(metric string, v float64) {
				r.Samples = append(r.Samples, model.Sample{Metric: metric, Value: v, Info: true, Better: model.Lower})
			}
			if x.stages {
				add("jobs_wait", 0)
				add("jobs_compute", x.busy/x.rate)
				add("jobs_put", all-x.busy/x.rate)
				add("jobs_put_bytes", fleetBytes)
			}
			add("jobs_time", all)
			if x.queue {
				add(observe.MetricItemsDone, 20)
				add(observe.MetricItemsSetAside, 1)
				add(observe.MetricItemsEarlier, 2)
			}
			if x.packet > 0 {
				sent := 20 * fleetBytes * total / float64(nodes)
				for metric, v := range map[string]float64{observe.MetricSent: sent, observe.MetricTxPackets: sent / x.packet} {
					r.Host = append(r.Host, model.HostSeries{Metric: metric, Counter: true, Offsets: []int64{0, 20e9},
						Values: []float64{0, v}})
				}
			}
			used := 20 * x.busy / (all * x.rate)
			for metric, v := range map[string]float64{observe.MetricUser: used, observe.MetricIdle: 20 - used} {
				r.Host = append(r.Host, model.HostSeries{Metric: metric, Unit: "s", Counter: true, Offsets: []int64{0, 20e9},
					Values: []float64{0, v}})
			}
			results = append(results, r)
		}
		b.Step(model.Parallel, trial, results...)
		s := &b.Data.Steps[len(b.Data.Steps)-1]
		s.Study = "scaleout"
		s.Factors, _ = json.Marshal(factors) // it is of plain values
		if nodes == x.failed && trial == 1 {
			s.State = model.StepInvalid
		}
	}
	for range 3 {
		step(1, 1, 0, map[string]any{"role": "single", "nodes": 1})
	}
	for trial := 1; trial <= fleetTrials; trial++ {
		for _, n := range x.sizes() {
			if n == x.lost && trial > 1 {
				continue
			}
			factors := map[string]any{"role": "fleet", "nodes": n}
			if x.predicted {
				factors["prediction"] = x.prediction()
			}
			step(trial, n, x.drift, factors)
		}
	}
	return stored(b.Data, 97, "fleet", 0)
}

// prediction is what the steps stored.
func (x fleetRun) prediction() map[string]any {
	made := simulated.Epoch.Add(time.Minute)
	if x.late {
		made = made.Add(90 * 24 * time.Hour)
	}
	out := map[string]any{"made": made, "rate": map[string]any{"value": x.rate, "ci": []float64{x.rate * (1 - x.wide),
		x.rate * (1 + x.wide)}}, "steps": 3, "slots": 1, "limits": []any{}}
	roof := math.Inf(1)
	if x.capacity {
		roof = x.roof
		c := x.roof * fleetBytes
		out["limits"] = []any{map[string]any{"resource": "objectstore.put", "workload": "put",
			"per_job": map[string]any{"value": fleetBytes, "ci": nil}, "capacity": map[string]any{"value": c,
				"ci": []float64{.98 * c, 1.02 * c}}}}
	}
	var sizes []any
	for _, n := range x.sizes() {
		most := min(float64(n)*x.rate, roof)
		sizes = append(sizes, map[string]any{"nodes": n, "lower": .8 * most * (1 - x.wide), "upper": most * (1 + x.wide),
			"network": .85 * most, "bound": most, "half_width": .1 + x.wide})
	}
	out["sizes"] = sizes
	return out
}

// scaleoutCases are fleets that were measured, and tables.
func scaleoutCases() (out []question) {
	add := func(name, params string, x fleetRun) {
		out = append(out, question{name: "scaleout/" + name, study: "scaleout", params: params,
			runs: []model.RunData{x.run()}, sources: []string{"fleet"}})
	}
	link := fleetRun{rate: .7, roof: 2.9, busy: .65, wide: .04, capacity: true, predicted: true, stages: true}
	but := func(change func(x *fleetRun)) fleetRun {
		x := link
		change(&x)
		return x
	}
	const priced = `, "prices": "type,price_per_hour,currency\nsmall,0.10,USD\n"}`
	add("link", "", link)
	add("processors", "", but(func(x *fleetRun) { x.roof, x.busy = 60, .95 }))
	add("none yet", `{"target": 20`+priced, but(func(x *fleetRun) { x.roof = 60 }))
	add("target, reached", `{"target": 2`+priced, link)
	add("target, not reached", `{"target": 6, "type": "large"`+priced, link)
	add("drift", "", but(func(x *fleetRun) { x.drift = .2 }))
	add("wide", `{"half_width": 15}`, but(func(x *fleetRun) { x.wide = .2 }))
	add("late", "", but(func(x *fleetRun) { x.late = true }))
	add("a step failed", "", but(func(x *fleetRun) { x.failed = 6 }))
	add("nodes lost", "", but(func(x *fleetRun) { x.lost = 8 }))
	add("no counters", "", but(func(x *fleetRun) { x.uncounted = true }))
	add("items", "", but(func(x *fleetRun) { x.queue = true }))
	add("target, more than the capacity", `{"target": 2, "capacity": ["objectstore.put=1MB/s"]}`, link)
	add("no capacity", "", but(func(x *fleetRun) { x.capacity = false }))
	add("no prediction", "", but(func(x *fleetRun) { x.predicted = false }))
	const packets = `{"target": 2, "capacity": ["network.send=2kpacket/s"]}`
	add("packets", packets, but(func(x *fleetRun) { x.packet = 1400 }))
	add("packets that devices divide", packets, but(func(x *fleetRun) { x.packet = 9e3 }))
	add("one machine", "", but(func(x *fleetRun) { x.machine = true }))
	add("no stages", "", but(func(x *fleetRun) { x.stages = false }))
	table := func(name, params, text string) {
		out = append(out, question{name: "scaleout/table, " + name, study: "scaleout", params: params,
			files: []file{{"fleet.csv", "nodes,throughput\n" + text}}})
	}
	const paper = `, "demand": ["objectstore.put=5.3MB"], "capacity": ["objectstore.put=3125MB/s"]}`
	const linear = "1,4.8\n2,9.6\n4,19.2\n8,38.4\n16,76.8\n32,153.6\n"
	table("specsdm91", "", "1,64.9\n18,995.9\n36,1652.4\n72,1853.2\n108,1828.9\n144,1775.0\n216,1702.2\n")
	table("raytracer", `{"target": 250}`,
		"1,20\n4,78\n8,130\n12,170\n16,190\n20,200\n24,210\n28,230\n32,260\n48,280\n64,310\n")
	table("cap", `{"target": 5}`, "1,1\n2,2\n3,3\n4,4\n5,4\n6,4\n7,4\n8,4\n")
	table("paper, 227", `{"target": 227`+paper, linear)
	table("paper, 590", `{"target": 590`+paper, linear)
	table("copies", `{"target": 3.5}`, "1,1\n1,1\n2,2\n2,2\n4,3.9\n4,3.9\n")
	table("above the curve's plateau", `{"target": 5.5}`, "1,1\n2,1.9\n4,3.4\n8,5.2\n16,6.0\n32,4.5\n")
	table("below the curve", `{"target": 31.8}`, "1,1.1\n2,1.9\n4,4.2\n8,7.7\n16,16.4\n32,31.7\n")
	table("few", `{"target": 5}`, "1,1\n2,2\n")
	return out
}
