package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Metric is what the tasks of one workload reported under one name.
type Metric struct {
	Workload string
	Name     string // with its labels: "score" or "score{test=pipe}"
	Unit     string
	Better   model.Better
	Resource string // what it is a capacity of: see model.Sample
	// Info: it describes the trials and is not a capacity.
	Info bool
	// Values are what counts, in the order of the steps, and in each by subject.
	Values []Value
	// LeftOut are the tasks that should have given a value and did not.
	LeftOut []caveat.Caveat
}

// Value is what one subject came to in one step. Where several tasks measure one
// subject, as the two ends of a pair do, it is their sum if more is better, and
// their mean otherwise.
type Value struct {
	Phase model.Phase
	Trial int
	Step  int // its number in the run
	// Active is how many subjects were measured at once.
	Active  int
	Subject model.NodeID
	Value   float64 // finite
}

// Metrics are all that was measured in complete steps, in the order of first
// appearance. Unit and direction of a metric are those of its first sample.
func (r *Run) Metrics() []Metric { return r.metrics() }

// MetricsNamed are those of that name, with or without its labels, of all
// workloads; of no name, all that are capacities. None is a model.ErrUsage that
// lists the names there are; key is the parameter that has the name.
func (r *Run) MetricsNamed(key, name string) ([]Metric, error) {
	var out []Metric
	var names []string
	for _, m := range r.Metrics() {
		bare, _, _ := strings.Cut(m.Name, "{")
		if name == "" && !m.Info || name != "" && (name == m.Name || name == bare) {
			out = append(out, m)
		}
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(names) == 0:
		return nil, &model.InputError{Problem: fmt.Sprintf("run %s has measured nothing", r.Run().ID), Allowed: fmt.Sprintf("`scalebench show %s` says why", r.Run().ID)}
	}
	return nil, &model.InputError{Path: key, Problem: fmt.Sprintf("run %s has no metric %q", r.Run().ID, name), Allowed: "it has " + strings.Join(names, ", ")}
}

// Subjects are the subjects of a phase by name, each with the mean of its
// values over the trials: subjects are independent of each other, trials of one
// subject are not. Of steps with different numbers of subjects at once those
// with the most count; the others are of another treatment.
func (m Metric) Subjects(phase model.Phase) (names []model.NodeID, means []float64) {
	sum, n := make(map[model.NodeID]float64), make(map[model.NodeID]float64)
	for _, v := range largest(m.Values, phase) {
		if n[v.Subject] == 0 {
			names = append(names, v.Subject)
		}
		sum[v.Subject] += v.Value
		n[v.Subject]++
	}
	slices.Sort(names)
	for _, s := range names {
		means = append(means, sum[s]/n[s])
	}
	return names, means
}

// findMetrics collects the metrics, once.
func (r *Run) findMetrics() []Metric {
	type key struct{ workload, name string }
	var out []Metric
	index := make(map[key]int)
	for _, s := range r.Steps() { // names first: a task that lacks one is missing from the first step on
		for _, res := range r.Accepted(s.ID) {
			for _, x := range res.Samples {
				k := key{s.Workload, x.Key()}
				if _, known := index[k]; !known {
					index[k] = len(out)
					out = append(out, Metric{Workload: k.workload, Name: k.name, Unit: x.Unit, Better: x.Better, Resource: x.Resource, Info: x.Info})
				}
			}
		}
	}
	for _, s := range r.Steps() {
		if s.State != model.StepComplete {
			continue
		}
		results := make(map[model.TaskID]model.Result)
		for t, x := range r.Measured(s) {
			results[t.ID] = x
		}
		for i := range out {
			if out[i].Workload == s.Workload {
				out[i].add(s, results)
			}
		}
	}
	return out
}

// add takes the values of one step. A subject counts only if each of its tasks
// gave one, as in a pair both nodes must.
func (m *Metric) add(s model.Step, results map[model.TaskID]model.Result) {
	subjects := Subjects(s)
	sum, tasks := make(map[model.NodeID]float64), make(map[model.NodeID]float64)
	missing := make(map[model.NodeID]bool)
	for _, t := range Measuring(s) {
		subject := SubjectOf(t)
		x, err := SampleOf(results[t.ID], m.Name, m.Unit, m.Better)
		if err == nil && !num.Finite(x.Value) {
			err = fmt.Errorf("it is %v", x.Value)
		}
		if err != nil {
			missing[subject] = true
			at := caveat.Subject{Workload: m.Workload, Phase: s.Phase, Trial: s.Trial, Node: t.Node}
			m.LeftOut = append(m.LeftOut, leftOut.At(model.Warning, at, caveat.Because(m.Name, err.Error())))
		}
		sum[subject] += x.Value
		tasks[subject]++
	}
	for _, subject := range subjects {
		v := sum[subject]
		if m.Info || m.Better != model.Higher {
			v /= tasks[subject]
		}
		if !missing[subject] {
			m.Values = append(m.Values, Value{Phase: s.Phase, Trial: s.Trial, Step: s.Number, Active: len(subjects), Subject: subject, Value: v})
		}
	}
}

// SampleOf is the one sample that a task reported under a name (with its
// labels), in the unit and with the direction that the metric has.
func SampleOf(r model.Result, name, unit string, better model.Better) (model.Sample, error) {
	if r.Outcome != model.OutcomeOK {
		return model.Sample{}, fmt.Errorf("it ended as %s", r.Outcome)
	}
	var found []model.Sample
	for _, x := range r.Samples {
		if strings.HasPrefix(name, x.Metric) && x.Key() == name {
			found = append(found, x)
		}
	}
	if len(found) != 1 {
		return model.Sample{}, fmt.Errorf("it reported %s %d times instead of once", name, len(found))
	}
	if s := found[0]; s.Unit != unit || s.Better != better {
		return model.Sample{}, fmt.Errorf("it reported %s in %q (better: %s) where others report %q (better: %s)", name, s.Unit, s.Better, unit, better)
	}
	return found[0], nil
}
