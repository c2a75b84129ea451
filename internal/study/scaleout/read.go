package scaleout

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// point is what a fleet of one size came to in one trial.
type point struct {
	nodes  int
	rate   float64 // jobs a second
	stages map[Part]float64
	takes  map[quantity]float64 // of one job, as far as it is known
	// node is how much of its processors a node used, machine how much of a machine's
	// processors all used that ran there; shares of 1, NaN: not known.
	node, machine float64
	single        bool // before the prediction
	step          model.Step
}

// Part is a part of the time of a job.
type Part string

// The parts of a job, in their order.
const (
	Wait    Part = "wait"
	Get     Part = "get"
	Compute Part = "compute"
	Put     Part = "put"
)

func parts() []Part { return []Part{Wait, Get, Compute, Put} }

// metricOf is what counts the jobs of a workload: "jobs", or its first capacity.
func metricOf(run *observe.Run, workload string) (first observe.Metric) {
	for _, m := range run.Metrics() {
		switch {
		case m.Workload != workload || m.Info || m.Better != model.Higher:
		case m.Name == metricJobs:
			return m
		case first.Name == "":
			first = m
		}
	}
	return first
}

// mean is a value that describes a step, the mean over its nodes; NaN: there is none.
func mean(run *observe.Run, s model.Step, metric string) float64 {
	var values []float64
	for _, x := range run.Measured(s) {
		for _, v := range x.Samples {
			if v.Metric == metric && v.Info {
				values = append(values, v.Value)
			}
		}
	}
	return stats.Average(values)
}

// capacitiesOf are what a step measured of what nodes share, in bytes: of a store, requests a
// second are measured, too.
func capacitiesOf(run *observe.Run, s model.Step) (out []Limit) {
	for _, m := range run.Metrics() {
		if _, known := stageOf[m.Resource]; !known || m.Workload != s.Workload || m.Info || m.Unit != observe.ByteRate {
			continue
		}
		if x, ok := score(run, s, m.Name, 0, 0); ok && x.total > 0 && !x.apart {
			out = append(out, Limit{Resource: m.Resource, Workload: m.Workload, Capacity: estimate([]scored{x})})
		}
	}
	return out
}

// singleOf is what one node came to alone.
func singleOf(run *observe.Run, s model.Step) (out single, ok bool) {
	x, ok := scoreJobs(run, s, metricOf(run, s.Workload).Name)
	return single{scored: x, time: mean(run, s, metricTime),
		bytes:   map[Part]float64{Get: mean(run, s, metricGet), Put: mean(run, s, metricPut)},
		stays:   map[Part]float64{Get: mean(run, s, Get.metric()), Put: mean(run, s, Put.metric())},
		machine: machineOf(run, s, x.total)}, ok && x.total > 0
}

// note keeps when the last measurement ended that a prediction rests on.
func (m *pilot) note(run *observe.Run, s model.Step) {
	if end := run.Times(s).LastEnd; end.After(m.made) {
		m.made = end
	}
}

// read collects what the steps of the study came to, and the prediction.
func (r *Result) read(run *observe.Run) (out []point, err error) {
	r.title, r.planned = run.Title(), make(map[cell]bool)
	for _, s := range run.Steps() {
		if s.Study != name {
			continue
		}
		f, err := factorsOf(s)
		if err != nil {
			return nil, err
		}
		if f.Role == Capacity {
			continue
		}
		if r.metric == "" {
			m := metricOf(run, s.Workload)
			r.metric, r.Unit = m.Name, m.Unit
			if err := run.Need(observe.Series, r.metric); err != nil {
				return nil, err
			}
		}
		if f.Role == Fleet {
			r.planned[cell{s.Trial, f.Nodes}] = true
		}
		x, ok := scoreJobs(run, s, r.metric)
		if f.Prediction != nil {
			r.keep(f, run.Times(s).FirstStart)
		}
		if s.State != model.StepComplete || !ok {
			r.Doubts.Add(stepLost.At(model.Warning, caveat.Subject{Steps: []int{s.Number}}, sizeOf{f.Nodes}))
			continue
		}
		if x.apart {
			r.Doubts.Add(noCommonTime.At(model.Warning, caveat.Subject{Steps: []int{s.Number}}, sizeOf{f.Nodes}))
		}
		out = append(out, pointOf(run, s, f, r.metric, x.total))
	}
	if len(out) == 0 {
		return nil, &model.InputError{Problem: "run " + string(run.Run().ID) + " has no step of the study " + name,
			Allowed: "a run whose file has study: {kind: scaleout}"}
	}
	return out, nil
}

// keep takes the prediction that a step stored before it ran.
func (r *Result) keep(f factors, begun time.Time) {
	if r.Predicted == nil {
		r.Predicted = &Predicted{Prediction: *f.Prediction}
	}
	if f.Nodes > 1 && !begun.IsZero() && (r.Predicted.FirstLarger == nil || begun.Before(*r.Predicted.FirstLarger)) {
		r.Predicted.FirstLarger = &begun
	}
}

func pointOf(run *observe.Run, s model.Step, f factors, metric string, rate float64) point {
	x := point{nodes: f.Nodes, rate: rate, stages: make(map[Part]float64),
		takes: takes(run, s, metric), single: f.Role == Single, step: s}
	for _, part := range parts() {
		x.stages[part] = mean(run, s, part.metric())
	}
	x.machine, x.node = machineUse(run, s, run.TakenProcessors(s))
	if run.SharedCores() > 0 && f.Nodes > 1 {
		x.node = math.NaN() // unless a quota says which part of the machine is its own
	}
	var shares []float64
	for _, q := range run.Quotas(s) {
		shares = append(shares, q.Share)
	}
	if len(shares) > 0 {
		slices.Sort(shares) // maps have no order, and sums of floats one
		x.node = stats.Average(shares)
	}
	return x
}

// machineUse is how much of the processors of its machines a step used, with all that ran
// there, and without what programs of others surely used; shares of 1, NaN: not known.
func machineUse(run *observe.Run, s model.Step, others map[model.TaskID]observe.Taken) (all, own float64) {
	if run.Need(observe.Hosts, observe.CPUKinds...) != nil {
		return math.NaN(), math.NaN() // Run.Err tells
	}
	var uses, owns []float64
	for _, x := range run.Measured(s) {
		h := observe.NewHost(x, x.Started)
		var busy, all, lasts float64
		for _, kind := range observe.CPUKinds {
			r := h.Readings(kind)
			if len(r.Values) < 2 {
				continue
			}
			last := len(r.Values) - 1
			grown := r.Values[last] - r.Values[0]
			all, lasts = all+grown, r.Times[last]-r.Times[0]
			if slices.Contains(observe.CPURunning, kind) {
				busy += grown
			}
		}
		if all > 0 {
			uses = append(uses, busy/all)
			owns = append(owns, max(0, busy-others[x.Task].Others*lasts)/all)
		}
	}
	return stats.Average(uses), stats.Average(owns)
}
