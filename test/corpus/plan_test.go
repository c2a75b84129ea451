package corpus

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// application is a run of one to eight nodes of which each does a job and a half a
// second alone, with half a core and so many bytes on the link, and together at most so
// many jobs a second.
func application(id string, most float64) *builder {
	b := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: []int{2, 4, 6}, Noise: .005, Total: simulated.Cap(most / 1.5 * simulated.Solo)}.Run(seeded(50))
	b.Data.Run.ID = model.RunID(id)
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		r.Samples[0].Value *= 1.5 / simulated.Solo
		r.Host = append(r.Host, grownInTask(observe.MetricCgroupCPU, 5), grownInTask(observe.MetricReceived, 10e6*(1+.01*float64(i%3))))
	}
	return b
}

// grownInTask is a counter that is read just before and just after a task of ten seconds.
func grownInTask(metric string, by float64) model.HostSeries {
	return model.HostSeries{Metric: metric, Counter: true, Offsets: []int64{-1e8, 101e8}, Values: []float64{0, by * 1.02}}
}

// demandRun is the id of the application's run.
const demandRun = "01J0DEMAND0000000000000000"

// planCases are questions about how many nodes a target takes.
func planCases() (out []question) {
	bare := func(name, params string) {
		out = append(out, question{name: "plan/given/" + name, study: "sizing", params: params, bare: true})
	}
	bare("fits", `{"target": "227/s", "node_rate": "3.5/s", "demand_per_job": ["objectstore.get=5.3MB"], "capacity": ["objectstore.get=1250MB/s"]}`)
	bare("fits, nodes wait", `{"target": "230/s", "node_rate": "3.5/s", "demand_per_job": ["objectstore.get=5.3MB"], "capacity": ["objectstore.get=1250MB/s"]}`)
	bare("fails", `{"target": "2000/s", "node_rate": "2.5/s", "demand_per_job": ["objectstore.get=5.3MB"], "capacity": ["objectstore.get=5640MB/s"]}`)
	bare("fails for one node", `{"target": "4/s", "node_rate": "2/s", "demand": ["network.receive=130MB/s"], "capacity": ["network.receive=100MB/s"]}`)
	bare("fits, gate", `{"target": "227/s", "node_rate": "3.5/s", "demand_per_job": ["objectstore.get=5.3MB"], "capacity": ["objectstore.get=1500MB/s"], "fail_unless_fits": true}`)
	bare("fails, gate", `{"target": "2000/s", "node_rate": "2.5/s", "demand_per_job": ["objectstore.get=5.3MB"], "capacity": ["objectstore.get=5640MB/s"], "fail_unless_fits": true}`)
	bare("untested, gate", `{"target": "40/s", "node_rate": "2/s", "demand": ["network.receive=10MB/s", "cpu=1core"], "capacity": ["network.receive=5000MB/s"], "fail_unless_fits": true}`)
	bare("several", `{"target": "40/s", "node_rate": "2/s", "demand": ["network.receive=30MB/s", "disk.write=20MB/s"], "capacity": ["network.receive=10Gbit/s", "disk.write=700MB/s", "cpu=100core"]}`)
	bare("another unit", `{"target": "40/s", "node_rate": "2/s", "demand": ["disk.write=300op/s"], "capacity": ["disk.write=700MB/s"]}`)
	bare("no demand", `{"target": "40/s", "node_rate": "2/s", "capacity": ["disk.write=700MB/s"]}`)
	bare("no capacity", `{"target": "40/s", "node_rate": "2/s", "demand": ["disk.write=300op/s"]}`)
	bare("no target", `{"node_rate": "2/s", "demand": ["disk.write=300op/s"], "capacity": ["disk.write=700op/s"]}`)
	bare("rate with a prefix", `{"target": "2k/s", "node_rate": "2/s", "demand": ["disk.write=300op/s"], "capacity": ["disk.write=700op/s"]}`)
	bare("no unit", `{"target": "20/s", "node_rate": "2/s", "demand": ["disk.write=300"], "capacity": ["disk.write=700op/s"]}`)
	bare("per job and per second", `{"target": "20/s", "node_rate": "2/s", "demand_per_job": ["disk.write=300op/s"], "capacity": ["disk.write=700op/s"]}`)
	bare("unknown resource", `{"target": "20/s", "node_rate": "2/s", "demand": ["disc.write=300op/s"], "capacity": ["disk.write=700op/s"]}`)
	bare("given twice", `{"target": "20/s", "node_rate": "2/s", "demand": ["disk.write=300op/s"], "capacity": ["disk.write=700op/s", "disk.write=800op/s"]}`)
	bare("too many nodes", `{"target": "9000000000/s", "node_rate": "0.001/s", "demand": ["disk.write=300op/s"], "capacity": ["disk.write=700op/s"]}`)
	out = append(out, plansOfRuns()...)
	out = append(out, plansByRun()...)
	return append(out, plansOfTables()...)
}

// plansOfRuns take the capacity from a run.
func plansOfRuns() (out []question) {
	add := func(name, params string, b *builder) {
		out = append(out, question{name: "plan/of a run/" + name, study: "sizing", params: params, runs: []model.RunData{b.Data}})
	}
	net := func(seed uint64, shape string, trials int, sizes ...int) *builder {
		return counts(sweep(seed, shape, 7, trials, .004, sizes...), model.ResourceNetworkReceive, "byte/s", 1e5)
	}
	params := func(target, rate, demand string) string {
		return fmt.Sprintf(`{"target": %q, "node_rate": %q, "demand": [%q], "fail_unless_fits": true}`, target, rate, demand)
	}
	add("fits below a limit", params("4/s", "2/s", "network.receive=15MB/s"), net(51, "limit", 3, 2, 4, 5))
	add("fails at a limit", params("40/s", "2/s", "network.receive=15MB/s"), net(51, "limit", 3, 2, 4, 5))
	add("too close", params("9/s", "2/s", "network.receive=15MB/s"), net(51, "limit", 3, 2, 4, 5))
	add("both within their intervals", params("9.05/s", "2/s", "network.receive=15MB/s"), net(51, "limit", 3, 2, 4, 5))
	add("measured in another unit", `{"target": "4/s", "node_rate": "2/s", "demand": ["disk.write=300op/s", "network.receive=15MB/s"], "fail_unless_fits": true}`,
		joined([]string{"net", "disk"}, net(51, "limit", 3, 2, 4, 5), counts(sweep(69, "linear", 7, 2, .004, 2, 4), model.ResourceDiskWrite, "byte/s", 1e5)))
	add("no limit", params("4/s", "2/s", "network.receive=15MB/s"), net(52, "linear", 3, 2, 4, 5))
	add("untested", params("40/s", "2/s", "network.receive=15MB/s"), net(52, "linear", 3, 2, 4, 5))
	add("one size", params("6/s", "2/s", "network.receive=15MB/s"), net(53, "limit", 3))
	add("one size, beyond", params("60/s", "2/s", "network.receive=15MB/s"), net(53, "limit", 3))
	add("collapse", params("8/s", "2/s", "network.receive=19MB/s"), net(54, "collapse", 3, 2, 3, 4, 5))
	add("beyond the peak", params("20/s", "2/s", "network.receive=19MB/s"), net(54, "collapse", 3, 2, 3, 4, 5))
	add("contention", params("8/s", "2/s", "network.receive=19MB/s"), net(55, "contention", 3, 2, 3, 4, 5))
	add("kinked", params("20/s", "2/s", "network.receive=19MB/s"), net(56, "kinked", 3, 2, 3, 4, 5, 6))
	add("falling", params("20/s", "2/s", "network.receive=19MB/s"), net(57, "falling", 2, 2, 3, 4, 5))
	add("no curve", params("20/s", "2/s", "network.receive=19MB/s"), net(58, "staircase", 3, 2, 3, 4, 5, 6))
	add("more than a node has", params("20/s", "2/s", "network.receive=25MB/s"), net(52, "linear", 3, 2, 4, 5))
	add("hardly more than a node has", params("20/s", "2/s", "network.receive=20.01MB/s"), net(52, "linear", 3, 2, 4, 5))
	add("without a verdict", params("6/s", "2/s", "network.receive=10MB/s"), counts(overlapping(), model.ResourceNetworkReceive, "byte/s", 1e5))
	add("few trials", params("6/s", "2/s", "network.receive=10MB/s"), net(59, "limit", 1, 2, 5))
	racks := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: []int{2, 3, 5, 6}, Noise: .005, Groups: 2, Total: simulated.Cap(450)}
	add("racks", params("6/s", "1/s", "network.receive=10MB/s"), counts(racks.Run(seeded(34)), model.ResourceNetworkReceive, "byte/s", 1e5))
	add("by workload and metric", params("6/s", "2/s", "work/rate=120op/s"), sweep(60, "limit", 6, 2, .004, 2, 4))
	add("processor in cores", params("6/s", "2/s", "cpu=1core"), processors(2))
	add("processor that was idle", params("6/s", "2/s", "cpu=1core"), processors(.7))
	add("processor unknown", params("6/s", "2/s", "cpu=1core"), counts(sweep(61, "limit", 6, 2, .004, 2, 4), model.ResourceCPU, "op/s", 1))
	add("measured twice", params("6/s", "2/s", "network.receive=10MB/s"), joined([]string{"a", "b"}, net(51, "limit", 2, 2, 4), net(62, "contention", 2, 2, 4)))
	add("pairs", params("6/s", "2/s", "network.receive=10MB/s"), counts(simulated.Pairs(seeded(63), 4, 3, .7, .01, false), model.ResourceNetworkReceive, "byte/s", 1e6))
	add("disturbed", params("6/s", "2/s", "network.receive=10MB/s"), counts(hostSees(keeping(64, 6, 3, .6, .01), model.Parallel, disturbing["others"]), model.ResourceNetworkReceive, "byte/s", 1e6))
	return out
}

// overlapping is a run whose nodes worked one after the other.
func overlapping() *builder {
	b := keeping(65, 5, 2, .6, .01)
	for _, i := range []int{9, 19} {
		b.Data.Results[i].Ended = b.Data.Results[i].Started.Add(3e9)
	}
	return b
}

// processors is a run of the processor; so many of two cores are busy alone.
func processors(busy float64) *builder {
	b := counts(sweep(66, "limit", 6, 2, .004, 2, 4), model.ResourceCPU, "op/s", 1)
	for i := range b.Data.Results {
		b.Data.Results[i].Host = append(b.Data.Results[i].Host, grownInTask(observe.MetricCgroupCPU, 10*busy))
	}
	return b
}

// plansByRun measure the demand in a run of the application.
func plansByRun() (out []question) {
	add := func(name string, most float64, params string, change func(b *builder)) {
		b := application(demandRun, most)
		if change != nil {
			change(b)
		}
		p := fmt.Sprintf(`{"target": "4/s", "demand_run": %q, "fail_unless_fits": true, %s}`, demandRun, params)
		out = append(out, question{name: "plan/by a run/" + name, study: "sizing", params: p, runs: []model.RunData{b.Data}, bare: true})
	}
	const wide = `"capacity": ["cpu=20core", "network.receive=500MB/s"]`
	add("agrees", 100, wide, nil)
	add("agrees at its limit", 6, `"demand_per_job": ["network.send=1MB"], "capacity": ["network.send=6MB/s", "cpu=20core", "network.receive=500MB/s"]`, nil)
	add("rate given", 100, `"node_rate": "1.4/s", `+wide, nil)
	add("rate far off", 100, `"node_rate": "1/s", `+wide, nil)
	add("other jobs", 100, `"node_rate": "40/s", `+wide, nil)
	add("other jobs, limit unknown", 5, `"node_rate": "0.01/s", "capacity": ["cpu=2000core", "network.receive=50000MB/s"]`, nil)
	add("rate too low", 100, `"node_rate": "0.34/s", "capacity": ["cpu=2.5core", "network.receive=500MB/s"]`, nil)
	add("demand too high", 100, `"demand_per_job": ["network.send=1MB"], "capacity": ["network.send=3MB/s"]`, nil)
	add("capacity too low", 100, `"capacity": ["cpu=1core"]`, nil)
	add("limit unknown", 5, wide, nil)
	add("no capacity known", 100, `"capacity": ["cpu=20core"]`, nil)
	add("capacity in another unit", 100, `"capacity": ["cpu=20core", "network.receive=50op/s"]`, nil)
	add("alone too slow", 100, wide, func(b *builder) {
		for i := range b.Data.Results {
			if r := &b.Data.Results[i]; stepOf(b, r.Step).Phase == model.Serial {
				r.Samples[0].Value /= 2
			}
		}
	})
	add("one node", 100, wide, func(b *builder) { b.Data.Steps, b.Data.Results = b.Data.Steps[:1], b.Data.Results[:1] })
	add("a node without counters", 100, wide, func(b *builder) {
		for i := range b.Data.Results {
			if r := &b.Data.Results[i]; r.Node == simulated.NodeName(2) {
				r.Host = nil
			}
		}
	})
	add("no counters", 100, wide, func(b *builder) {
		for i := range b.Data.Results {
			b.Data.Results[i].Host = nil
		}
	})
	add("no rate", 100, wide, func(b *builder) { counts(b, "", "point", 1) })
	add("rate of bytes", 100, wide, func(b *builder) { counts(b, "", "byte/s", 1) })
	add("no rate, one given", 100, `"node_rate": "1.5/s", `+wide, func(b *builder) { counts(b, "", "point", 1) })
	add("not over, rate given", 100, `"node_rate": "1.5/s", `+wide, func(b *builder) {
		b.Data.Run.State, b.Data.Run.Reason = model.RunCancelled, "by ana"
		b.Data.Steps[1].State = model.StepInvalid
	})
	add("scattering", 100, wide, func(b *builder) {
		rng := seeded(67)
		for i := range b.Data.Results {
			b.Data.Results[i].Samples[0].Value *= 1 + .5*rng.Float64()
		}
	})
	add("rate hardly told from nothing", 100, wide, func(b *builder) {
		for i := range b.Data.Results {
			if r := &b.Data.Results[i]; r.Node > simulated.NodeName(0) {
				r.Samples[0].Value /= 40
			}
		}
	})
	add("disturbed", 100, wide, func(b *builder) { hostSees(b, model.Serial, disturbing["others"]) })
	add("disturbed, rate given", 100, `"node_rate": "1.5/s", `+wide, func(b *builder) { hostSees(b, model.Serial, disturbing["others"]) })
	add("no serial phase", 100, wide, func(b *builder) { b.Data.Steps = nil })
	out = append(out, question{name: "plan/by a run/not there", study: "sizing", bare: true,
		params: `{"target": "4/s", "demand_run": "nightly", "capacity": ["cpu=20core"]}`})
	// The run of the capacities is that of the demand, too.
	b := application(demandRun, 6)
	net := joined([]string{"app", "net"}, b, counts(sweep(68, "limit", 8, 2, .004, 2, 4), model.ResourceNetworkReceive, "byte/s", 1e5))
	net.Data.Run.ID = demandRun
	renumber(net)
	out = append(out, question{name: "plan/by a run/of the capacities", study: "sizing", runs: []model.RunData{net.Data},
		params: fmt.Sprintf(`{"target": "3/s", "demand_run": "%s:app", "capacity": ["cpu=20core"]}`, demandRun)})
	out = append(out, question{name: "plan/by a run/several workloads", study: "sizing", runs: []model.RunData{net.Data},
		params: fmt.Sprintf(`{"target": "3/s", "demand_run": %q}`, demandRun)})
	return out
}

// renumber gives steps and tasks the ids of the run.
func renumber(b *builder) {
	id := b.Data.Run.ID
	steps, tasks := make(map[model.StepID]model.StepID), make(map[model.TaskID]model.TaskID)
	for i := range b.Data.Steps {
		s := &b.Data.Steps[i]
		now := model.NewStepID(id, s.Number)
		steps[s.ID], s.ID, s.Run = now, now, id
		for k := range s.Tasks {
			task := model.NewTaskID(now, s.Tasks[k].Position)
			tasks[s.Tasks[k].ID], s.Tasks[k].ID = task, task
		}
	}
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		r.Run, r.Step, r.Task = id, steps[r.Step], tasks[r.Task]
	}
}

// renumbered is a run with another id.
func renumbered(d model.RunData, id string) model.RunData {
	b := &builder{Data: copied(d)}
	b.Data.Run.ID = model.RunID(id)
	renumber(b)
	return b.Data
}

// plansOfTables take the capacity from a table.
func plansOfTables() (out []question) {
	add := func(name, params, text string) {
		out = append(out, question{name: "plan/of a table/" + name, study: "sizing", params: params, table: &file{"numbers.csv", text}})
	}
	rows := "workload,metric,unit,node,serial,parallel\n"
	for i := range 8 {
		rows += fmt.Sprintf("io,write,MB/s,n%d,%d.5,%d.25\n", i, 100+i%3, 60+i%4)
	}
	add("fails", `{"target": "60/s", "node_rate": "2/s", "demand": ["io/write=50MB/s"]}`, rows)
	add("fits", `{"target": "12/s", "node_rate": "2/s", "demand": ["io/write=50MB/s"], "fail_unless_fits": true}`, rows)
	add("another unit", `{"target": "12/s", "node_rate": "2/s", "demand": ["io/write=50op/s"], "fail_unless_fits": true}`, rows)
	bare := strings.ReplaceAll(strings.ReplaceAll(rows, ",unit", ""), ",MB/s", "")
	add("bare numbers", `{"target": "12/s", "node_rate": "2/s", "demand": ["io/write=50"]}`, bare)
	add("means", `{"target": "12/s", "node_rate": "2/s", "demand": ["io/write=50MB/s"], "fail_unless_fits": true}`,
		"workload,metric,unit,nodes,serial_mean,parallel_mean\nio,write,MB/s,8,200,120\n")
	add("no table", `{"target": "12/s", "node_rate": "2/s", "demand": ["io/write=50MB/s"]}`, "1;2\n")
	return out
}
