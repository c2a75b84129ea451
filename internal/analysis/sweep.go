package analysis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// sweep is one metric of a campaign at every size of fleet that was measured.
type sweep struct {
	scoring
	key          string
	like         model.Sample
	of           model.Subjects
	groups       map[model.NodeID]string // of each subject; none where its nodes differ
	observations []observation
	resolution   resolution
	notes        notes
}

// observation is the capacity of a fleet of one size in one trial.
type observation struct {
	share
	trial  int
	groups map[string]share // the part that each group had in it
}

// share is a number of subjects and the sum of their capacities.
type share struct {
	size  int
	total float64
}

// sweepOf reads and scores all steps of all sizes in one and the same way. A
// step in which some subject was not measured, or too little of which was
// simultaneous, is left out with a warning.
func (c campaign) sweepOf(data model.RunData, key string, like model.Sample, opt Options) *sweep {
	s := &sweep{key: key, like: like, of: c.measures(), groups: c.groups(data.Nodes)}
	steps := c.read(key, like, opt, &s.notes)
	steps = slices.DeleteFunc(steps, func(sr stepReadings) bool { return s.incomplete(sr) })
	s.scoring = score(steps, like, opt, &s.notes)
	steps = slices.DeleteFunc(steps, func(sr stepReadings) bool { return s.scattered(sr, opt) })
	s.resolution = resolutionOf(steps)
	s.alone(c, steps)
	for _, sr := range steps {
		if sr.step.Phase == model.Parallel {
			s.observe(sr.step.Trial, sr.repetition().values)
		}
	}
	s.noteLost(c)
	return s
}

// incomplete reports, and notes, a step that says nothing about its size.
func (s *sweep) incomplete(sr stepReadings) bool {
	if len(sr.missing) == 0 {
		return false
	}
	s.notes.warn("%s: %s gave no usable %s; left out", sizeName(sr.step, s.of), named(s.of, sr.missing), s.key)
	return true
}

// scattered reports, and notes, a parallel step whose subjects were not active
// together.
func (s *sweep) scattered(sr stepReadings, opt Options) bool {
	if sr.step.Phase != model.Parallel {
		return false
	}
	t := timingOf(sr.readings, s.window == windowCommon)
	if t.known && t.overlap >= opt.MinOverlap {
		return false
	}
	s.notes.warn("%s: its %ss were active together for %.0f %% of the time, or when is not known; left out", sizeName(sr.step, s.of), s.of, 100*t.overlap)
	return true
}

// noteLost names the steps of the sweep that came to no valid end.
func (s *sweep) noteLost(c campaign) {
	var lost []string
	for _, step := range c.steps {
		if step.Phase == model.Parallel && step.State != model.StepComplete {
			lost = append(lost, sizeName(step, s.of)+" "+string(step.State))
		}
	}
	if len(lost) > 0 {
		s.notes.warn("sizes without a valid result, left out: %s", list(lost))
	}
}

// sizeName says which step of a sweep it is.
func sizeName(step model.Step, of model.Subjects) string {
	return fmt.Sprintf("%s with %s, trial %d", step.Phase, plural(len(subjects(step)), string(of)), step.Trial)
}

// alone adds the serial phase as size 1: in each trial that measured every
// subject, their mean. Where no trial did, it is the mean of what there is.
func (s *sweep) alone(c campaign, steps []stepReadings) {
	var trials []repetition
	for _, sr := range steps {
		if sr.step.Phase == model.Serial {
			trials = merged(trials, sr.repetition())
		}
	}
	wanted := c.alone()
	whole := slices.DeleteFunc(slices.Clone(trials), func(r repetition) bool { return len(r.values) < len(wanted) })
	if len(whole) == 0 && len(trials) > 0 {
		s.notes.warn("no trial measured every %s alone: size 1 is the mean of what there is", s.of)
		values := means(trials, func(r repetition) map[model.NodeID]float64 { return r.values })
		whole = []repetition{{trial: trials[0].trial, values: values}}
	}
	for _, r := range whole {
		s.observe(r.trial, r.values)
		s.observations[len(s.observations)-1].perSubject()
	}
}

// alone lists the subjects that the serial phase was to measure.
func (c campaign) alone() []model.NodeID {
	var out []model.NodeID
	for _, s := range c.steps {
		if s.Phase == model.Serial {
			out = append(out, subjects(s)...)
		}
	}
	slices.SortFunc(out, compareNodes)
	return slices.Compact(out)
}

// observe adds the capacities of subjects that were active together. They are
// added up in order, so that sums do not depend on the order of a map.
func (s *sweep) observe(trial int, values map[model.NodeID]float64) {
	o := observation{trial: trial, groups: make(map[string]share)}
	for _, subject := range slices.SortedFunc(maps.Keys(values), compareNodes) {
		o.add(values[subject])
		if group := s.groups[subject]; group != "" {
			part := o.groups[group]
			part.add(values[subject])
			o.groups[group] = part
		}
	}
	s.observations = append(s.observations, o)
}

func (s *share) add(value float64) {
	s.size++
	s.total += value
}

// perSubject turns sums into means: size 1.
func (o *observation) perSubject() {
	o.share = share{1, o.total / float64(o.size)}
	for group, part := range o.groups {
		o.groups[group] = share{1, part.total / float64(part.size)}
	}
}

// groups tells the group (label "group") of every subject whose nodes are all
// in one.
func (c campaign) groups(nodes []model.Node) map[model.NodeID]string {
	label := make(map[model.NodeID]string, len(nodes))
	for _, n := range nodes {
		label[n.ID] = n.Labels[groupLabel]
	}
	out := make(map[model.NodeID]string)
	for _, s := range c.steps {
		for _, t := range s.Tasks {
			subject := subjectOf(t)
			if known, ok := out[subject]; ok && known != label[t.Node] {
				out[subject] = "" // an end in each
			} else {
				out[subject] = label[t.Node]
			}
		}
	}
	return out
}

// groupLabel is the label of nodes that may share something.
const groupLabel = "group"

// fleet returns all observations as sizes and totals.
func (s *sweep) fleet() (sizes, totals []float64) {
	for _, o := range s.observations {
		sizes, totals = append(sizes, float64(o.size)), append(totals, o.total)
	}
	return sizes, totals
}

// points arranges the observations by size, ascending.
func (s *sweep) points() []model.ScalingPoint {
	totals := make(map[int][]float64)
	for _, o := range s.observations {
		totals[o.size] = append(totals[o.size], o.total)
	}
	out := make([]model.ScalingPoint, 0, len(totals))
	for _, size := range slices.Sorted(maps.Keys(totals)) {
		mean, err := stats.Mean(totals[size])
		if err != nil {
			s.notes.warn("the totals of size %d cannot be summarised: %v", size, err)
			continue
		}
		out = append(out, model.ScalingPoint{Nodes: size, Total: mean, Totals: totals[size], CI: s.trialInterval(mean, totals[size])})
	}
	return out
}

// trialInterval is Student's interval of a mean over trials, no narrower than
// the instrument resolves; nil with one trial.
func (s *sweep) trialInterval(mean float64, totals []float64) *model.Interval {
	half, err := stats.MeanHalfWidth(totals, level)
	if err != nil {
		return nil
	}
	half = max(half, coverage*s.resolution.parallel*mean)
	return &model.Interval{mean - half, mean + half}
}
