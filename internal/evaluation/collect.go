package evaluation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// part is all that a run did with one workload.
type part struct {
	run      *observe.Run
	workload string
	steps    []model.Step // serial and parallel, by number
	all      []model.Step // also those that largest left out
}

// divide divides a run by workload, in the order of the steps. Steps of a batch
// or a search have no phase to compare and are left out; a run of such alone is
// a model.ErrUsage.
func divide(run *observe.Run) ([]part, error) {
	if err := run.Need(observe.Series); err != nil {
		return nil, err
	}
	steps := slices.Clone(run.Steps())
	slices.SortStableFunc(steps, func(a, b model.Step) int { return cmp.Compare(a.Number, b.Number) })
	var out []part
	for _, s := range steps {
		if s.Phase != model.Serial && s.Phase != model.Parallel {
			continue
		}
		i := slices.IndexFunc(out, func(p part) bool { return p.workload == s.Workload })
		if i < 0 {
			i = len(out)
			out = append(out, part{run: run, workload: s.Workload})
		}
		out[i].steps = append(out[i].steps, s)
	}
	for i := range out {
		out[i].all = out[i].steps
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("run %s has no serial or parallel phase, so there is nothing to compare; use an experiment file with `evaluations: [serial, parallel]`: %w", run.Run().ID, model.ErrUsage)
	}
	return out, nil
}

// largest is the part without the parallel steps of fewer subjects, which are
// points of a sweep over sizes.
func (p part) largest() part {
	size := observe.Fleet(p.steps)[p.workload]
	p.steps = slices.DeleteFunc(slices.Clone(p.steps), func(s model.Step) bool {
		return s.Phase == model.Parallel && len(observe.Subjects(s)) < size
	})
	return p
}

// metric is a metric of a part, with the sample that introduced it: its unit and
// direction hold for all.
type metric struct {
	model.Sample
	key string
}

// metrics lists the part's metrics in the order of first appearance. Values that
// only describe a trial (Info) are no capacities and left out.
func (p part) metrics() []metric {
	var out []metric
	seen := make(map[string]bool)
	for _, step := range p.steps {
		for _, r := range p.run.Accepted(step.ID) {
			for _, s := range r.Samples {
				if key := s.Key(); !seen[key] && !s.Info {
					seen[key] = true
					out = append(out, metric{s, key})
				}
			}
		}
	}
	return out
}

// reading is what one task says about one metric.
type reading struct {
	node           model.NodeID
	task           model.TaskID
	subject        model.NodeID // what is measured: the node, or its pair
	started, ended time.Time
	clockError     time.Duration
	value          float64 // as reported, above zero
	curve          *curve  // nil: see refused
	refused        string  // why there is no curve; empty: no series at all
	whole, scored  float64 // capacities; set by score
	given          float64 // share of them that others took and giveBack added
	precision      precision
}

// stepReadings are the readings of one step, with the subjects that gave none,
// or not all.
type stepReadings struct {
	step     model.Step
	readings []reading
	missing  []model.NodeID
}

// read collects one metric over all complete steps.
func (p part) read(like metric, n *caveat.List) []stepReadings {
	var out []stepReadings
	for _, step := range p.steps {
		if step.State != model.StepComplete {
			continue
		}
		sr, given := stepReadings{step: step}, make(map[model.TaskID]bool)
		for task, r := range p.run.Measured(step) {
			rd, err := readResult(r, like)
			if err != nil {
				n.Add(missingResult.Warn(unreadable{step.Phase, step.Trial, r.Node, r.Task, caveat.Verbatim(err.Error())}))
				continue
			}
			rd.task = task.ID
			rd.subject, given[task.ID] = observe.SubjectOf(task), true
			sr.readings = append(sr.readings, rd)
		}
		named := make(map[model.NodeID]bool) // both nodes of a pair must measure
		for _, t := range observe.Measuring(step) {
			if subject := observe.SubjectOf(t); !given[t.ID] && !named[subject] {
				named[subject] = true
				sr.missing = append(sr.missing, subject)
			}
		}
		out = append(out, sr)
	}
	return out
}

// readResult finds the sample of this metric in a result and its series.
func readResult(r model.Result, like metric) (reading, error) {
	s, err := observe.SampleOf(r, like.key, like.Unit, like.Better)
	if err != nil {
		return reading{}, err
	}
	if !IsCapacity(s.Value) {
		return reading{}, fmt.Errorf("it reported %s = %v, which is not a capacity: it must be a number above 0", like.key, s.Value)
	}
	rd := reading{node: r.Node, started: r.Started, ended: r.Ended, clockError: r.ClockError, value: s.Value}
	rd.curve, rd.refused = readCurve(r, s)
	return rd, nil
}

// Beyond these a number is a mistake in whatever unit; within them no sum,
// ratio or square of capacities leaves the range of a float64.
const leastCapacity, largestCapacity = 1e-100, 1e100

// IsCapacity reports whether v, and 1/v, can be a capacity.
func IsCapacity(v float64) bool { return v >= leastCapacity && v <= largestCapacity }

// readCurve returns the progress curve of a sample, or why there is none.
func readCurve(r model.Result, s model.Sample) (*curve, string) {
	var found []model.Series
	for _, series := range r.Series {
		if series.Metric == s.Metric {
			found = append(found, series)
		}
	}
	same := 0 // samples of this name, whatever their labels
	for _, other := range r.Samples {
		if other.Metric == s.Metric {
			same++
		}
	}
	switch {
	case len(found) == 0:
		return nil, ""
	case len(found) > 1:
		return nil, fmt.Sprintf("there are %d of it", len(found))
	case same > 1:
		return nil, "samples with different labels share it"
	case r.Started.IsZero() || !r.Ended.After(r.Started):
		return nil, "the task has no start and end times"
	}
	c, err := newCurve(found[0], observe.Span{Start: r.Started, End: r.Ended})
	if err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// balanced returns the steps of the trials that are complete in both
// phases. In a run that was cut, is not over, or lost steps, one node would
// else be averaged over more trials than another, and a phase over other
// trials than its counterpart. Where no trial is complete, all steps are
// returned, with a doubt.
func (p part) balanced(steps []stepReadings, key string, n *caveat.List) []stepReadings {
	if !p.has(model.Serial) || !p.has(model.Parallel) {
		return steps // one phase only was asked for; comparison says so
	}
	missing := make(map[model.StepID][]model.NodeID)
	for _, s := range steps {
		missing[s.step.ID] = s.missing
	}
	trials := make(map[int]part)
	for _, s := range p.steps {
		t := trials[s.Trial]
		t.steps = append(t.steps, s)
		trials[s.Trial] = t
	}
	var dropped lackingTrials
	for _, number := range slices.Sorted(maps.Keys(trials)) {
		dropped.add(number, trials[number].lacks(missing, key))
	}
	if !dropped.leave(len(trials), n) {
		return steps
	}
	return slices.DeleteFunc(steps, func(s stepReadings) bool { return dropped.has(s.step.Trial) })
}

// has reports whether the run was to measure this phase of the workload.
func (p part) has(phase model.Phase) bool {
	return slices.ContainsFunc(p.steps, func(s model.Step) bool { return s.Phase == phase })
}

// alone are the subjects that the serial phase was to measure.
func (p part) alone() map[model.NodeID]bool {
	out := make(map[model.NodeID]bool)
	for _, s := range p.steps {
		if s.Phase == model.Serial {
			for _, subject := range observe.Subjects(s) {
				out[subject] = true
			}
		}
	}
	return out
}

// lacks says what a trial lacks to be complete: steps that did not come to a
// valid end, subjects that were not measured alone. One without a value in a
// complete parallel step is worse and not said here (noteMissing).
func (p part) lacks(missing map[model.StepID][]model.NodeID, key string) (out []lack) {
	alone := p.alone()
	for _, phase := range []model.Phase{model.Serial, model.Parallel} {
		if !p.has(phase) && phase == model.Parallel {
			out = append(out, lack{What: lacksStep, Phase: model.Parallel})
		}
		for _, s := range p.steps {
			silent := missing[s.ID]
			switch {
			case s.Phase != phase:
				continue
			case s.State != model.StepComplete:
				out = append(out, lack{What: lacksEnd, Phase: s.Phase, Nodes: aloneIn(s), State: s.State})
			case phase == model.Serial && len(silent) > 0:
				out = append(out, lack{What: lacksOwnValue, Of: s.Of(), Nodes: silent, Metric: caveat.Verbatim(key)})
			}
			for _, subject := range observe.Subjects(s) {
				if !alone[subject] {
					out = append(out, lack{What: lacksStep, Phase: model.Serial, Nodes: []model.NodeID{subject}})
				}
			}
		}
	}
	return out
}

// aloneIn is the subject of a serial step; none of others.
func aloneIn(s model.Step) []model.NodeID {
	if on := observe.Subjects(s); s.Phase == model.Serial && len(on) == 1 {
		return on
	}
	return nil
}
