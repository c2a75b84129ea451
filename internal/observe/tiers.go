package observe

import (
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// Tier is a service of a step: where it ran, and what was recorded of it.
type Tier struct {
	Service string
	Level   model.ServiceLevel
	// Instances are in the order of their indices; those without a result that
	// counts are missing.
	Instances []Instance
}

// Instance is one instance of a service in a step.
type Instance struct {
	Node  model.NodeID
	Index int
	// Host is what was seen of its node, and recorded of the service, in seconds
	// since the agreed start of the step.
	Host Host
	// Stages are what it went through, in their order; times count from Host.Begin.
	Stages []model.Stage

	service string
}

// SignalName is the metric under which a signal of a service is recorded.
func SignalName(service, signal string) string { return service + ":" + signal }

// Signal are the readings of a signal of the instance: "cpu", "quota".
func (x Instance) Signal(name string) Readings { return x.Host.Readings(SignalName(x.service, name)) }

// Counts reports whether a signal is a counter.
func (x Instance) Counts(signal string) bool {
	return x.Host.Series[SignalName(x.service, signal)].Counter
}

// NeedSignals reads these signals of all services of the run, and metrics of their
// nodes; see Need.
func (r *Run) NeedSignals(signals []string, metrics ...string) error {
	for _, name := range r.Services() {
		for _, s := range signals {
			metrics = append(metrics, SignalName(name, s))
		}
	}
	if len(metrics) == 0 {
		return nil
	}
	return r.Need(Hosts, metrics...)
}

// Services are the names of the services that ran on nodes of the fleet, sorted.
func (r *Run) Services() []string {
	all := make(map[string]bool)
	for _, s := range r.Steps() {
		for name := range s.Services {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Tiers are the services of a step, by name, with the results that count. What
// was recorded has to be read before, by NeedSignals.
func (r *Run) Tiers(s model.Step) []Tier {
	results := make(map[model.NodeID]model.Result)
	for _, t := range s.Tasks {
		if t.Spec.Kind != model.KindService {
			continue
		}
		for _, x := range r.Accepted(s.ID) {
			if x.Task == t.ID {
				results[x.Node] = x
			}
		}
	}
	zero := s.StartAt
	if zero.IsZero() {
		zero = r.Times(s).FirstStart
	}
	var out []Tier
	for _, name := range slices.Sorted(maps.Keys(s.Services)) {
		t := Tier{Service: name, Level: s.Services[name]}
		for i, node := range t.Level.Nodes {
			if x, ok := results[node]; ok {
				t.Instances = append(t.Instances, Instance{Node: node, Index: i, Host: NewHost(x, zero), Stages: StagesOf(x, name), service: name})
			}
		}
		out = append(out, t)
	}
	return out
}

// StagesOf are the stages of a service in a result; of the task itself for "".
func StagesOf(r model.Result, service string) []model.Stage {
	return slices.DeleteFunc(slices.Clone(r.Stages), func(s model.Stage) bool { return s.Service != service })
}
