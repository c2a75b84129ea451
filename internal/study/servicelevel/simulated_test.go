package servicelevel

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// bench is a workload that knows how long it takes, and nothing else.
type bench struct{ workload.Workload }

const (
	ramp  = 2 * time.Second
	lasts = 10 * time.Second
)

func (bench) Estimate() time.Duration { return ramp + lasts }

// volume is a simulated one, whose truth is known.
type volume struct {
	ops, bytes float64 // limits of both ways together, or with apart of each
	apart      bool
	latency    float64 // s of one operation
	noise      float64 // relative, of a step
}

// truth is the limit for operations of a size with a share of reads, in operations a second.
func (v volume) truth(size, reads float64) float64 {
	least := min(v.ops/math.Ceil(size/(256<<10)), v.bytes/size)
	if v.apart {
		return least / max(reads, 1-reads)
	}
	return least
}

// world runs treatments on simulated volumes.
type world struct {
	setup   study.Setup
	volumes map[Place]volume
	seed    uint64
	fail    func(study.Treatment) bool
	data    model.RunData
}

func newWorld(nodes, trials int, volumes map[string]volume) *world {
	w := &world{volumes: make(map[Place]volume), seed: 1, fail: func(study.Treatment) bool { return false }}
	x := study.Workload{Name: "fio", Kind: workloadKind, Bench: bench{}, Params: map[string]any{"ramp": "2s",
		"duration": "10s"}, Subjects: nodes}
	for i := range nodes {
		n := model.Node{ID: model.NodeID(fmt.Sprintf("n%d", i+1)), Labels: map[string]string{"type": fmt.Sprintf("t%d", i+1)}}
		x.Names, w.setup.Nodes = append(x.Names, n.ID), append(w.setup.Nodes, n)
		for name, v := range volumes {
			w.volumes[Place{n.ID, name}] = v
		}
	}
	w.setup.Workloads, w.setup.Trials, w.setup.Seed = []study.Workload{x}, trials, 7
	w.data.Nodes = w.setup.Nodes
	return w
}

// step is what a treatment came to. Its noise depends on its number alone.
func (w *world) step(t *testing.T, x study.Treatment) model.RunData {
	t.Helper()
	number := len(w.data.Steps)
	s := model.Step{ID: model.NewStepID("r", number), Run: "r", Number: number, Phase: x.Phase, Workload: x.Workload,
		Trial: x.Trial, State: model.StepComplete, Attempt: 1}
	var err error
	if s.Factors, err = json.Marshal(x.Factors); err != nil {
		t.Fatal(err)
	}
	if w.fail(x) {
		s.State = model.StepInvalid
	}
	f, _ := x.Factors.(factors)
	rng := rand.New(rand.NewPCG(w.seed, uint64(number)))
	out := model.RunData{Nodes: w.data.Nodes}
	for i, k := range x.Active {
		id := w.setup.Workloads[0].Names[k]
		task := model.Task{ID: model.NewTaskID(s.ID, i), Node: id, Position: i}
		v := w.volumes[Place{id, f.Volume}]
		ops := min(v.truth(float64(f.Size), f.share()), float64(f.Depth)/v.latency) * math.Exp(v.noise*rng.NormFloat64())
		r := model.Result{Run: "r", Step: s.ID, Task: task.ID, Node: id, Attempt: 1, Outcome: model.OutcomeOK}
		for way, share := range [2]float64{f.share(), 1 - f.share()} {
			if share == 0 {
				continue
			}
			r.Samples = append(r.Samples, model.Sample{Metric: opsMetrics[way], Unit: "op/s", Value: ops * share,
				Better: model.Higher})
			series := model.Series{Metric: opsMetrics[way], Unit: "op"}
			for at := 0.0; at <= lasts.Seconds(); at += .5 {
				series.Offsets, series.Values = append(series.Offsets, int64((at+ramp.Seconds())*1e9)), append(series.Values,
					ops*share*at)
			}
			r.Series = append(r.Series, series)
		}
		s.Tasks, out.Results = append(s.Tasks, task), append(out.Results, r)
	}
	out.Steps = []model.Step{s}
	w.data.Steps, w.data.Results = append(w.data.Steps, s), append(w.data.Results, out.Results...)
	return out
}

// run plans and measures until the study is over.
func (w *world) run(t *testing.T, p *Params) []study.Treatment {
	t.Helper()
	plan, err := p.Plan(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	before := model.RunData{Nodes: w.data.Nodes}
	return simulated.Plan(t, plan, 5000, before, func(x study.Treatment) model.RunData { return w.step(t, x) })
}

// result is what the study says of all that was measured.
func (w *world) result(t *testing.T, p *Params) (*Result, *study.Answer) {
	t.Helper()
	answer, err := p.Answer(context.Background(), study.Input{Runs: []study.NamedRun{{Run: observe.Of(w.data)}}})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := answer.Result.(*Result)
	return r, answer
}

// own is a model file with these limits of both ways together.
func own(ops, bytes float64) string {
	return fmt.Sprintf("model: own\nlimits:\n- {of: ops, unit: 256KiB, rate: %g}\n- {of: bytes, rate: %g}\n", ops, bytes)
}

// params measure a few cells and compare them with such a model.
func params(ops, bytes float64) *Params {
	p := New()
	p.Sizes, p.Reads = []unit.Size{4 * unit.KiB, 64 * unit.KiB, 512 * unit.KiB}, []int{100, 50, 0}
	p.ModelFile, p.Models = own(ops, bytes), []Expectation{{Model: "own"}}
	return p
}
