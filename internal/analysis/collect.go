package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// campaign is all that a run did with one workload.
type campaign struct {
	workload string
	steps    []model.Step // serial and parallel, by number
	results  map[model.StepID][]model.Result
}

// campaigns divides a run by workload, in the order of the steps. Steps of a
// batch have no phase to compare and are left out.
func campaigns(data model.RunData) []campaign {
	steps := slices.Clone(data.Steps)
	slices.SortStableFunc(steps, func(a, b model.Step) int { return cmp.Compare(a.Number, b.Number) })
	accepted := make(map[model.StepID][]model.Result)
	for _, r := range data.Accepted() {
		accepted[r.Step] = append(accepted[r.Step], r)
	}
	var out []campaign
	for _, s := range steps {
		if s.Phase != model.Serial && s.Phase != model.Parallel {
			continue
		}
		i := slices.IndexFunc(out, func(c campaign) bool { return c.workload == s.Workload })
		if i < 0 {
			i = len(out)
			out = append(out, campaign{workload: s.Workload, results: make(map[model.StepID][]model.Result)})
		}
		out[i].steps = append(out[i].steps, s)
		rs := accepted[s.ID]
		slices.SortFunc(rs, func(a, b model.Result) int { return cmp.Compare(a.Task, b.Task) })
		out[i].results[s.ID] = rs
	}
	return out
}

// metricKey names a metric with its labels: "score" or "score{test=pipe}".
func metricKey(s model.Sample) string {
	if len(s.Labels) == 0 {
		return s.Metric
	}
	pairs := make([]string, 0, len(s.Labels))
	for k, v := range s.Labels {
		pairs = append(pairs, k+"="+v)
	}
	slices.Sort(pairs)
	return s.Metric + "{" + strings.Join(pairs, ",") + "}"
}

// metrics lists the campaign's metrics in the order of first appearance, each
// with the sample that introduced it: its unit and direction hold for all.
// Values that only describe a trial (Info) are no capacities and left out.
func (c campaign) metrics() (keys []string, first map[string]model.Sample) {
	first = make(map[string]model.Sample)
	for _, step := range c.steps {
		for _, r := range c.results[step.ID] {
			for _, s := range r.Samples {
				key := metricKey(s)
				if _, ok := first[key]; !ok && !s.Info {
					keys = append(keys, key)
					first[key] = s
				}
			}
		}
	}
	return keys, first
}

// reading is what one task says about one metric.
type reading struct {
	node           model.NodeID
	subject        model.NodeID // what is measured: the node, or its pair
	started, ended time.Time
	clockError     time.Duration
	value          float64 // as reported, above zero
	curve          *curve  // nil: see refused
	refused        string  // why there is no curve; empty: no series at all
	whole, scored  float64 // capacities; set by package-internal scoring
	fuzz           fuzz    // of scored
}

// task is the time of the whole task.
func (r reading) task() span { return span{r.started, r.ended} }

// stepReadings are the readings of one step, with the subjects that gave none,
// or not all.
type stepReadings struct {
	step     model.Step
	readings []reading
	missing  []model.NodeID
}

// read collects one metric over all complete steps. Tasks that only serve
// others measure nothing and are passed over.
func (c campaign) read(key string, like model.Sample, opt Options, n *notes) []stepReadings {
	var out []stepReadings
	for _, step := range c.steps {
		if step.State != model.StepComplete {
			continue
		}
		sr := stepReadings{step: step}
		tasks := tasksOf(step)
		for _, r := range c.results[step.ID] {
			task, known := tasks[r.Task]
			if known && task.Spec.Role == model.RoleServe {
				continue
			}
			rd, err := readResult(r, key, like, opt)
			if err != nil {
				n.warn("%s, trial %d: node %s, task %s: %v; left out", step.Phase, step.Trial, r.Node, r.Task, err)
				continue
			}
			if rd.subject = r.Node; known {
				rd.subject = subjectOf(task)
			}
			sr.readings = append(sr.readings, rd)
		}
		sr.missing = missingSubjects(step, sr.readings)
		out = append(out, sr)
	}
	return out
}

// missingSubjects lists the subjects of which some measuring task gave no
// reading: half of a pair is no pair.
func missingSubjects(step model.Step, rs []reading) []model.NodeID {
	var out []model.NodeID
	for _, t := range measuring(step) {
		subject := subjectOf(t)
		given := slices.ContainsFunc(rs, func(r reading) bool { return r.node == t.Node && r.subject == subject })
		if !given && !slices.Contains(out, subject) {
			out = append(out, subject)
		}
	}
	return out
}

// readResult finds the one sample of this metric in a result and its series.
func readResult(r model.Result, key string, like model.Sample, opt Options) (reading, error) {
	if r.Outcome != model.OutcomeOK {
		return reading{}, fmt.Errorf("it ended as %s", r.Outcome)
	}
	var found []model.Sample
	for _, s := range r.Samples {
		if metricKey(s) == key {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return reading{}, fmt.Errorf("it reported %s %d times instead of once", key, len(found))
	}
	s := found[0]
	if s.Unit != like.Unit || s.Better != like.Better {
		return reading{}, fmt.Errorf("it reported %s in %q (better: %s) where others report %q (better: %s)", key, s.Unit, s.Better, like.Unit, like.Better)
	}
	if !isCapacity(s.Value) {
		return reading{}, fmt.Errorf("it reported %s = %v, which is no capacity: it must be a number above 0", key, s.Value)
	}
	rd := reading{node: r.Node, started: r.Started, ended: r.Ended, clockError: r.ClockError, value: s.Value}
	rd.curve, rd.refused = readCurve(r, s, opt)
	return rd, nil
}

// Beyond these a number is a mistake in whatever unit; within them no sum,
// ratio or square of capacities leaves the range of a float64.
const leastCapacity, largestCapacity = 1e-100, 1e100

// isCapacity reports whether v, and 1/v, can be a capacity.
func isCapacity(v float64) bool { return v >= leastCapacity && v <= largestCapacity }

// readCurve returns the progress curve of a sample, or why there is none.
func readCurve(r model.Result, s model.Sample, opt Options) (*curve, string) {
	var found []model.Series
	for _, series := range r.Series {
		if series.Metric == s.Metric {
			found = append(found, series)
		}
	}
	switch {
	case len(found) == 0:
		return nil, ""
	case len(found) > 1:
		return nil, fmt.Sprintf("there are %d of it", len(found))
	case sameMetric(r.Samples, s.Metric) > 1:
		return nil, "samples with different labels share it"
	case r.Started.IsZero() || !r.Ended.After(r.Started):
		return nil, "the task has no start and end times"
	}
	c, err := newCurve(found[0], span{r.Started, r.Ended}, opt.MaxGap)
	if err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// sameMetric counts the samples of this name, whatever their labels.
func sameMetric(samples []model.Sample, metric string) int {
	count := 0
	for _, s := range samples {
		if s.Metric == metric {
			count++
		}
	}
	return count
}
