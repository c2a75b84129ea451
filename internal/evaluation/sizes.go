package evaluation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
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

// size is one for caveats: "serial", "parallel", "parallel with 2 nodes".
type size struct {
	Phase model.Phase `json:"phase"`
	Size  int         `json:"size,omitempty"`
	Of    Subjects    `json:"of,omitempty"`
}

func (s size) String() string {
	if s.Phase == model.Serial || s.Size == 0 {
		return string(s.Phase)
	}
	return fmt.Sprintf("%s with %s", s.Phase, num.Count(s.Size, string(s.Of)))
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
func (m measuredSizes) lacks(trial int, at sizeAt) []lack {
	var out []lack
	steps := m.steps[trial][at]
	alone := make(map[model.NodeID]bool)
	for _, s := range steps {
		one := lack{What: lacksUse, Phase: s.Phase, Size: at.size, Of: m.of}
		if s.Phase == model.Serial {
			one = lack{What: lacksUse, Phase: s.Phase, Nodes: observe.Subjects(s)}
			for _, subject := range one.Nodes {
				alone[subject] = true
			}
		}
		switch {
		case s.State != model.StepComplete:
			one.What, one.State = lacksEnd, s.State
			out = append(out, one)
		case m.unusable[s.ID]:
			out = append(out, one)
		}
	}
	switch {
	case at.phase == model.Serial && len(alone) < len(m.subjects):
		absent := slices.DeleteFunc(slices.Clone(m.subjects), func(s model.NodeID) bool { return alone[s] })
		out = append(out, lack{What: lacksStep, Phase: model.Serial, Nodes: absent})
	case len(steps) == 0:
		out = append(out, lack{What: lacksStep, Phase: model.Parallel, Size: at.size, Of: m.of})
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
func (m measuredSizes) balanced(steps []stepReadings, n *caveat.List) []stepReadings {
	sizes, trials := m.choose()
	m.note(sizes, trials, n)
	return slices.DeleteFunc(slices.Clone(steps), func(sr stepReadings) bool {
		_, counts := slices.BinarySearch(trials, sr.step.Trial)
		return !counts || m.unusable[sr.step.ID] || !slices.Contains(sizes, sizeOf(sr.step))
	})
}

// note names the trials that are left out of all sizes, the sizes that are left
// out of all trials, and what they lack.
func (m measuredSizes) note(sizes []sizeAt, trials []int, n *caveat.List) {
	var left, lost []lackingTrial
	for _, trial := range slices.Sorted(maps.Keys(m.steps)) {
		_, counts := slices.BinarySearch(trials, trial)
		var lacks []lack
		for _, at := range m.sizes {
			if counts != slices.Contains(sizes, at) {
				lacks = append(lacks, m.lacks(trial, at)...)
			}
		}
		switch {
		case !counts:
			left = append(left, lackingTrial{trial, lacks})
		case len(lacks) > 0:
			lost = append(lost, lackingTrial{trial, lacks})
		}
	}
	if len(left) > 0 {
		n.Add(sizesUneven.Warn(leftOut{left}))
	}
	var without []size
	for _, at := range m.sizes {
		if !slices.Contains(sizes, at) {
			without = append(without, size{at.phase, at.size, m.of})
		}
	}
	if len(without) > 0 {
		n.Add(sizesLost.Warn(lostSizes{without, lost}))
	}
}
