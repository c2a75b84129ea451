package evaluation

import (
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// sweep is one metric of a part at every size of fleet that was measured.
type sweep struct {
	scoring
	like         metric
	of           Subjects
	groups       map[model.NodeID]string // of each subject; none where its nodes differ
	observations []observation
	smaller      []Kept // what subjects kept in steps of fewer than the fleet has
	resolution   resolution
	alike        stats.Noise // between subjects, within a step or a serial phase
	notes        caveat.List
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

// sweepOf reads and scores all steps of all sizes in the same way. It leaves out,
// with a warning, a step in which a subject was not measured or the subjects
// overlapped too little, and the trials that do not count at every size.
func (p part) sweepOf(like metric) *sweep {
	s := &sweep{like: like, of: p.steps[0].Of(), groups: p.groups()}
	steps := s.scored(p.measuredSizes(), p.read(like, &s.notes))
	p.giveBack(steps, like.Resource, &s.notes)
	s.resolution = resolutionOf(steps)
	subjects, serial, parallel := arrange(steps)
	if s.alike = alikeness(serial); s.alike.Degrees == 0 {
		s.alike = alikeness(parallel)
	}
	s.alone(serial, subjects)
	for _, r := range parallel {
		s.observe(r, subjects)
		if len(r.subjects) < len(subjects) {
			s.smaller = append(s.smaller, r.kept(serial, subjects))
		}
	}
	return s
}

// kept is what each subject keeps of its mean over serial repetitions.
func (r replicate) kept(serial []replicate, names []model.NodeID) Kept {
	out := make(Kept, len(r.subjects))
	for i, subject := range r.subjects {
		var alone []float64
		for _, s := range serial {
			if v, ok := s.at(subject); ok {
				alone = append(alone, v)
			}
		}
		if mean := stats.Average(alone); mean > 0 { // NaN of none
			out[names[subject]] = r.values[i] / mean
		}
	}
	return out
}

// scored scores the steps that count. How much subjects overlapped is known only
// then, and a step that is not usable takes its trial with it: the rest is scored
// again.
func (s *sweep) scored(m measuredSizes, steps []stepReadings) []stepReadings {
	for _, sr := range steps {
		m.unusable[sr.step.ID] = s.incomplete(sr)
	}
	for {
		var n caveat.List
		counted := m.balanced(steps, &n)
		s.scoring = score(counted, s.like.Sample, &n)
		again := false
		for _, sr := range counted {
			if s.scattered(sr) {
				m.unusable[sr.step.ID], again = true, true
			}
		}
		if !again {
			s.notes.Add(slices.DeleteFunc(n, func(c caveat.Caveat) bool { return c.Severity == model.Problem })...)
			return counted
		}
	}
}

// incomplete reports, and notes, a step that says nothing about its size.
func (s *sweep) incomplete(sr stepReadings) bool {
	if len(sr.missing) == 0 {
		return false
	}
	s.notes.Add(sizeMissing.Warn(missingAtSize{stepSize(sr.step, s.of), sr.missing, caveat.Verbatim(s.like.key)}))
	return true
}

// scattered reports, and notes, that the subjects of a parallel step were not
// active together.
func (s *sweep) scattered(sr stepReadings) bool {
	if sr.step.Phase != model.Parallel {
		return false
	}
	_, active := timesOf(sr.readings, s.window == WindowCommon)
	if active.Overlap() >= minOverlap {
		return false
	}
	s.notes.Add(sizeOverlap.Warn(overlapAtSize{stepSize(sr.step, s.of), active.Overlap()}))
	return true
}

// stepSize says which step of a sweep it is.
func stepSize(step model.Step, of Subjects) stepOfSize {
	return stepOfSize{step.Phase, len(observe.Subjects(step)), of, step.Trial}
}

// alone adds the serial phase as size 1: in each trial, the mean of all
// subjects.
func (s *sweep) alone(trials []replicate, subjects []model.NodeID) {
	for _, r := range trials {
		if len(r.subjects) < len(subjects) {
			continue // of subjects that were measured again in the trial
		}
		s.observe(r, subjects)
		s.observations[len(s.observations)-1].perSubject()
	}
}

// observe adds the capacities of subjects that were active together.
func (s *sweep) observe(r replicate, subjects []model.NodeID) {
	o := observation{trial: r.trial, groups: make(map[string]share)}
	for i, subject := range r.subjects {
		o.add(r.values[i])
		if group := s.groups[subjects[subject]]; group != "" {
			part := o.groups[group]
			part.add(r.values[i])
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

// alikeness is what subjects of one repetition scatter, relative to their mean.
func alikeness(reps []replicate) stats.Noise {
	var out stats.Noise
	var squares float64
	for _, r := range reps {
		if m := stats.Average(r.values); m > 0 {
			for _, v := range r.values {
				squares += (v/m - 1) * (v/m - 1)
			}
			out.Degrees += float64(len(r.values) - 1)
		}
	}
	if out.Degrees > 0 {
		out.SD = math.Sqrt(squares / out.Degrees)
	}
	return out
}

// groups maps every subject to its group (label "group"), if all its nodes are
// in the same one.
func (p part) groups() map[model.NodeID]string {
	label := make(map[model.NodeID]string, len(p.run.Nodes()))
	for _, n := range p.run.Nodes() {
		label[n.ID] = n.Labels[model.LabelGroup]
	}
	out := make(map[model.NodeID]string)
	for _, s := range p.steps {
		for _, t := range s.Tasks {
			subject := observe.SubjectOf(t)
			if known, ok := out[subject]; ok && known != label[t.Node] {
				out[subject] = "" // an end in each
			} else {
				out[subject] = label[t.Node]
			}
		}
	}
	return out
}

// fleet returns all observations as sizes and totals.
func (s *sweep) fleet() (sizes, totals []float64) {
	for _, o := range s.observations {
		sizes, totals = append(sizes, float64(o.size)), append(totals, o.total)
	}
	return sizes, totals
}

// points arranges the observations by size, ascending.
func (s *sweep) points() []ScalingPoint {
	totals := make(map[int][]float64)
	for _, o := range s.observations {
		totals[o.size] = append(totals[o.size], o.total)
	}
	out := make([]ScalingPoint, 0, len(totals))
	for _, size := range slices.Sorted(maps.Keys(totals)) {
		mean, err := stats.Mean(totals[size])
		if err != nil {
			s.notes.Add(sizeSummary.Warn(causeAtSize{size, caveat.Verbatim(err.Error())}))
			continue
		}
		out = append(out, ScalingPoint{Nodes: size, Total: mean, Totals: totals[size], CI: s.trialInterval(mean, totals[size])})
	}
	return out
}

// trialInterval is Student's interval of a mean over trials, no narrower than
// the instrument resolves; nil with one trial. A capacity is not negative.
func (s *sweep) trialInterval(mean float64, totals []float64) *Interval {
	half, err := stats.MeanHalfWidth(totals, level)
	if err != nil {
		return nil
	}
	half = max(half, coverage*s.resolution.parallel*mean)
	return &Interval{max(0, mean-half), mean + half}
}
