// Package simulated makes the data of runs with a known truth, for tests of
// what is computed from runs, and measures the plans of studies.
package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Epoch is when simulated runs begin.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Builder makes the data of a run step by step.
type Builder struct {
	Data model.RunData
	Now  time.Time // when the next step begins
}

// New begins a run of so many nodes without steps.
func New(nodes int) *Builder {
	b := &Builder{Now: Epoch, Data: model.RunData{Run: model.Run{ID: "01J00000000000000000000000", Seed: 7}}}
	for i := range nodes {
		b.Data.Nodes = append(b.Data.Nodes, model.Node{ID: NodeName(i), Facts: model.Facts{CPUModel: "Model X", Cores: 2}})
	}
	return b
}

// NodeName is the id of a node, from 0.
func NodeName(i int) model.NodeID { return model.NodeID(fmt.Sprintf("n%02d", i)) }

// Step adds a complete step of these tasks.
func (b *Builder) Step(phase model.Phase, trial int, results ...model.Result) {
	number := len(b.Data.Steps)
	s := model.Step{
		ID: model.NewStepID(b.Data.Run.ID, number), Run: b.Data.Run.ID, Number: number, Phase: phase,
		Workload: "work", Trial: trial, State: model.StepComplete, Attempt: 1,
	}
	for i, r := range results {
		r.Run, r.Step, r.Task, r.Attempt = s.Run, s.ID, model.NewTaskID(s.ID, i), 1
		if r.Outcome == "" {
			r.Outcome = model.OutcomeOK
		}
		s.Tasks = append(s.Tasks, model.Task{ID: r.Task, Node: r.Node, Position: i})
		b.Data.Results = append(b.Data.Results, r)
	}
	b.Data.Steps = append(b.Data.Steps, s)
	b.Now = b.Now.Add(time.Hour)
}

// Reported is a task without progress, from start to end in seconds.
func (b *Builder) Reported(node int, start, end, value float64) model.Result {
	return model.Result{
		Node:    NodeName(node),
		Started: b.Now.Add(time.Duration(math.Round(start * 1e9))),
		Ended:   b.Now.Add(time.Duration(math.Round(end * 1e9))),
		Samples: []model.Sample{{Metric: "rate", Unit: "op/s", Value: value, Better: model.Higher}},
	}
}

// Plain is a run of n nodes without progress series: serial 100+i, parallel
// kept·(100+i) and a little scatter.
func Plain(n int, kept float64) *Builder {
	b := New(n)
	for i := range n {
		b.Step(model.Serial, 1, b.Reported(i, 0, 10, 100+float64(i)))
	}
	rs := make([]model.Result, n)
	for i := range n {
		rs[i] = b.Reported(i, 0, 10, kept*(100+float64(i))*(1+.01*float64(i%3-1)))
	}
	b.Step(model.Parallel, 1, rs...)
	return b
}

// Lossless is a sweep of 4 nodes over the sizes 1 to 4 in which nothing is lost:
// every node gives the value of the trial, in op/s. A trial has seven steps: four
// serial ones, then 2, 3 and 4 nodes.
func Lossless(values ...float64) *Builder {
	b := New(4)
	for trial, value := range values {
		for i := range 4 {
			b.Step(model.Serial, trial+1, b.Reported(i, 0, 10, value))
		}
		for size := 2; size <= 4; size++ {
			var rs []model.Result
			for i := range size {
				rs = append(rs, b.Reported(i, 0, 10, value))
			}
			b.Step(model.Parallel, trial+1, rs...)
		}
	}
	return b
}

// Pairs measures pairs of nodes; both ends receive, with serve the second end
// only serves. Each pair keeps the share kept.
func Pairs(rng *rand.Rand, pairs, trials int, kept, noise float64, serve bool) *Builder {
	b := New(2 * pairs)
	ends := func(pair int, share float64) []model.Result {
		var out []model.Result
		for end := range 2 {
			capacity := 100 * share * (1 + noise*rng.NormFloat64())
			r := b.Reported(2*pair+end, 0, 10, capacity)
			r.Samples = append(r.Samples, model.Sample{Metric: "rtt", Unit: "us", Value: 0, Better: model.Lower, Info: true})
			if serve && end == 1 {
				r.Samples = nil
				r.Ended = r.Ended.Add(3e9) // lingers until its client is done
			}
			out = append(out, r)
		}
		return out
	}
	for trial := 1; trial <= trials; trial++ {
		for pair := range pairs {
			b.Step(model.Serial, trial, ends(pair, 1)...)
		}
		var rs []model.Result
		for pair := range pairs {
			rs = append(rs, ends(pair, kept)...)
		}
		b.Step(model.Parallel, trial, rs...)
	}
	for i := range b.Data.Steps {
		for k := range b.Data.Steps[i].Tasks {
			task := &b.Data.Steps[i].Tasks[k]
			var node int
			if _, err := fmt.Sscanf(string(task.Node), "n%d", &node); err != nil {
				panic(err)
			}
			task.Spec.Subject = fmt.Sprintf("%s+%s", NodeName(node&^1), NodeName(node|1))
			if serve && node%2 == 1 {
				task.Spec.Role = model.RoleServe
			}
		}
	}
	return b
}

// Sweep is a simulated run over fleet sizes.
type Sweep struct {
	Fleet, Trials int
	Sizes         []int   // without the fleet's
	Spread        float64 // of the nodes' speeds
	Noise         float64 // relative, of every task
	Groups        int     // nodes i and j are in one group if i%groups == j%groups
	// Total is what these subjects get together when each could have solo.
	Total func(active []int, solo float64) float64
}

// Cap is one limit that all share.
func Cap(limit float64) func([]int, float64) float64 {
	return func(active []int, solo float64) float64 { return min(limit, solo*float64(len(active))) }
}

// Solo is what an average node does alone, in op/s.
const Solo = 200

// Run measures the case. Subjects of smaller sizes rotate.
func (c Sweep) Run(rng *rand.Rand) *Builder {
	b := New(c.Fleet)
	speeds := make([]float64, c.Fleet)
	for i := range speeds {
		speeds[i] = math.Exp(c.Spread * rng.NormFloat64())
		if c.Groups > 0 {
			b.Data.Nodes[i].Labels = map[string]string{"group": fmt.Sprintf("rack%d", i%c.Groups)}
		}
	}
	task := func(i int, capacity float64) model.Result {
		if capacity >= Solo {
			capacity *= speeds[i] // what is shared does not depend on its users
		}
		return b.Reported(i, 0, 10, capacity*(1+c.Noise*rng.NormFloat64()))
	}
	next := 0
	for trial := 1; trial <= c.Trials; trial++ {
		for i := range c.Fleet {
			b.Step(model.Serial, trial, task(i, Solo))
		}
		for _, size := range append(slices.Clone(c.Sizes), c.Fleet) {
			active := make([]int, size)
			for k := range active {
				active[k] = (next + k) % c.Fleet
			}
			next += size
			slices.Sort(active)
			rs := make([]model.Result, size)
			for k, i := range active {
				rs[k] = task(i, c.each(i, active))
			}
			b.Step(model.Parallel, trial, rs...)
		}
	}
	return b
}

// each is what node i gets among the active: by groups, if there are any.
func (c Sweep) each(i int, active []int) float64 {
	if c.Groups > 0 {
		active = slices.DeleteFunc(slices.Clone(active), func(j int) bool { return j%c.Groups != i%c.Groups })
	}
	return c.Total(active, Solo) / float64(len(active))
}
