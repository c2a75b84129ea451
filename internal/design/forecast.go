package design

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// Forecast says how long steps will take: what their workloads know, corrected
// by what steps have taken so far.
type Forecast struct {
	exp   *experiment.Experiment
	known map[string]time.Duration // by workload and levels
	took  map[alike][]time.Duration
	extra map[alike][]time.Duration // beyond what was known
}

// alike are steps that take about as long as each other.
type alike struct {
	workload string
	phase    model.Phase
	tasks    int
}

// NewForecast knows what an experiment's workloads know.
func NewForecast(exp *experiment.Experiment) *Forecast {
	return &Forecast{exp: exp, known: map[string]time.Duration{}, took: map[alike][]time.Duration{}, extra: map[alike][]time.Duration{}}
}

func alikes(s model.Step) alike { return alike{s.Workload, s.Phase, len(s.Tasks)} }

// Took notes how long a step took that became complete, from dispatch to result.
func (f *Forecast) Took(s model.Step, d time.Duration) {
	k := alikes(s)
	f.took[k] = append(f.took[k], d)
	if known := f.beforehand(s); known > 0 {
		f.extra[k] = append(f.extra[k], max(d-known, 0))
	}
}

// Step is how long a step will take; 0: that is not known.
func (f *Forecast) Step(s model.Step) time.Duration {
	if known := f.beforehand(s); known > 0 {
		return known + f.Beyond(s)
	}
	return median(f.took[alikes(s)])
}

// Beyond is what a step takes longer than is known of it: preparation, and the
// ways of messages. Without steps of the same kind all count; 0 at the start.
func (f *Forecast) Beyond(s model.Step) time.Duration {
	if same := f.extra[alikes(s)]; len(same) > 0 {
		return median(same)
	}
	var all []time.Duration
	for _, some := range f.extra {
		all = append(all, some...)
	}
	return median(all)
}

// Left is how long steps will take, one after another and none before its time,
// in a run that has taken so long until now; 0: of one of them it is not known.
func (f *Forecast) Left(steps []model.Step, until time.Duration) time.Duration {
	at := until
	for _, s := range steps {
		d := f.Step(s)
		if d == 0 {
			return 0
		}
		at = max(at, s.NotBefore) + d
	}
	return at - until
}

// beforehand is what the workload of a step knows, under the levels of the step.
func (f *Forecast) beforehand(s model.Step) time.Duration {
	if f.exp == nil {
		return 0
	}
	levels, err := json.Marshal(s.Levels)
	if err != nil {
		return 0
	}
	key := s.Workload + "\x00" + string(levels)
	task, ok := f.known[key]
	if !ok {
		if i := slices.IndexFunc(f.exp.Workloads, func(w experiment.Workload) bool { return w.Name == s.Workload }); i >= 0 {
			w := f.exp.Workloads[i]
			if len(s.Levels) > 0 {
				w, err = f.exp.WithLevels(i, s.Levels)
			}
			if err == nil {
				task = w.Estimate()
			}
		}
		f.known[key] = task
	}
	known, _ := stepTime(s, task)
	return known
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
