package evaluation

import (
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// sizeAt is one size of a sweep. The serial phase is size 1; a parallel step of
// one subject is measured for itself.
type sizeAt struct {
	phase model.Phase
	size  int
}

func sizeOf(s model.Step) sizeAt {
	if s.Phase == model.Serial {
		return sizeAt{model.Serial, 1}
	}
	return sizeAt{s.Phase, len(observe.Subjects(s))}
}

// name is how warnings call the size.
func (a sizeAt) name(of Subjects) string {
	if a.phase == model.Serial {
		return string(a.phase)
	}
	return string(a.phase) + " with " + num.Count(a.size, string(of))
}

// measuredSizes says which trials measured which sizes of a sweep. A trial that
// counts at one size and not at another would make of a difference between
// trials one between sizes.
type measuredSizes struct {
	of       Subjects
	subjects []model.NodeID
	sizes    []sizeAt                        // in the order of the steps
	steps    map[int]map[sizeAt][]model.Step // by trial
	unusable map[model.StepID]bool           // complete, and say nothing about their size
}

func (p part) measuredSizes() measuredSizes {
	m := measuredSizes{of: p.steps[0].Of(), steps: make(map[int]map[sizeAt][]model.Step), unusable: make(map[model.StepID]bool)}
	for _, s := range p.steps {
		at := sizeOf(s)
		if !slices.Contains(m.sizes, at) {
			m.sizes = append(m.sizes, at)
		}
		if m.steps[s.Trial] == nil {
			m.steps[s.Trial] = make(map[sizeAt][]model.Step)
		}
		m.steps[s.Trial][at] = append(m.steps[s.Trial][at], s)
		m.subjects = append(m.subjects, observe.Subjects(s)...)
	}
	slices.Sort(m.subjects)
	m.subjects = slices.Compact(m.subjects)
	return m
}

// lacks says what of a size a trial lacks. Size 1 is measured if every subject
// was measured alone.
func (m measuredSizes) lacks(trial int, at sizeAt) []string {
	var out []string
	steps := m.steps[trial][at]
	alone := make(map[model.NodeID]bool)
	for _, s := range steps {
		name := at.name(m.of)
		if s.Phase == model.Serial {
			name = phaseName(s)
			for _, subject := range observe.Subjects(s) {
				alone[subject] = true
			}
		}
		switch {
		case s.State != model.StepComplete:
			out = append(out, name+" "+string(s.State))
		case m.unusable[s.ID]:
			out = append(out, name+" not usable")
		}
	}
	switch {
	case at.phase == model.Serial && len(alone) < len(m.subjects):
		absent := slices.DeleteFunc(slices.Clone(m.subjects), func(s model.NodeID) bool { return alone[s] })
		out = append(out, "no serial step on "+num.List(absent))
	case len(steps) == 0:
		out = append(out, "no parallel step with "+num.Count(at.size, string(m.of)))
	}
	return out
}

// whole lists the sizes that a trial measured.
func (m measuredSizes) whole(trial int) []sizeAt {
	return slices.DeleteFunc(slices.Clone(m.sizes), func(at sizeAt) bool { return len(m.lacks(trial, at)) > 0 })
}

// choose returns the sizes that count and the trials that measured all of them:
// every size that some trial measured; or, if no trial measured all of these,
// those of the trial that measured most.
func (m measuredSizes) choose() (sizes []sizeAt, trials []int) {
	whole := make(map[int][]sizeAt)
	var most []sizeAt
	for _, trial := range slices.Sorted(maps.Keys(m.steps)) {
		whole[trial] = m.whole(trial)
		if len(whole[trial]) > len(most) {
			most = whole[trial]
		}
	}
	for _, trial := range slices.Sorted(maps.Keys(m.steps)) {
		if !slices.ContainsFunc(most, func(at sizeAt) bool { return !slices.Contains(whole[trial], at) }) {
			trials = append(trials, trial)
		}
	}
	return most, trials
}

// balanced returns the usable steps of the sizes and trials that count, and
// names those that do not.
func (m measuredSizes) balanced(steps []stepReadings, n *notes) []stepReadings {
	sizes, trials := m.choose()
	m.note(sizes, trials, n)
	return slices.DeleteFunc(slices.Clone(steps), func(sr stepReadings) bool {
		_, counts := slices.BinarySearch(trials, sr.step.Trial)
		return !counts || m.unusable[sr.step.ID] || !slices.Contains(sizes, sizeOf(sr.step))
	})
}

// note names the trials that are left out of all sizes, the sizes that are left
// out of all trials, and what they lack.
func (m measuredSizes) note(sizes []sizeAt, trials []int, n *notes) {
	var left, lost []string
	for _, trial := range slices.Sorted(maps.Keys(m.steps)) {
		_, counts := slices.BinarySearch(trials, trial)
		var lacks []string
		for _, at := range m.sizes {
			if counts != slices.Contains(sizes, at) {
				lacks = append(lacks, m.lacks(trial, at)...)
			}
		}
		switch {
		case !counts:
			left = append(left, trialText(trial, lacks))
		case len(lacks) > 0:
			lost = append(lost, trialText(trial, lacks))
		}
	}
	if len(left) > 0 {
		n.warn("missing_values", "left out of the growth with size, because not measured at every size: %s", num.List(left))
	}
	var without []string
	for _, at := range m.sizes {
		if !slices.Contains(sizes, at) {
			without = append(without, at.name(m.of))
		}
	}
	if len(without) > 0 {
		n.warn("sizes_lost", "sizes left out of the growth, because no trial that counts measured them: %s: %s", num.List(without), num.List(lost))
	}
}
