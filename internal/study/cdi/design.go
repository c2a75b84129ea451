package cdi

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// Plan implements study.Designer: in each trial every subject works alone,
// in an order that rotates, and then all work together, after the smaller sizes
// that were asked for.
func (p *Params) Plan(setup study.Setup) (*study.Plan, error) {
	phases := setup.Phases
	if len(phases) == 0 {
		phases = []model.Phase{model.Serial, model.Parallel}
	}
	l := layout{Params: p, serial: slices.Contains(phases, model.Serial)}
	parallel := slices.Contains(phases, model.Parallel)
	if len(p.Sizes) > 0 && !parallel {
		return nil, &model.InputError{Path: "sizes", Problem: "only the parallel phase is repeated at other sizes", Allowed: "add parallel to evaluations"}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Expect)) {
		if !slices.ContainsFunc(setup.Workloads, func(w study.Workload) bool { return w.Name == name }) {
			return nil, &model.InputError{Path: "expect." + name, Problem: "there is no workload of that name", Allowed: "the name of a workload of this file"}
		}
	}
	for _, w := range setup.Workloads {
		for i, size := range p.Sizes {
			if size > w.Subjects {
				return nil, &model.InputError{
					Path: "sizes." + strconv.Itoa(i), Problem: fmt.Sprintf("%d cannot be active at once: there are only %d", size, w.Subjects),
					Allowed: fmt.Sprintf("workload %s allows at most %d", w.Name, w.Subjects),
				}
			}
		}
		l.turns = append(l.turns, newTurns(w.Subjects, setup.Seed, p.Rotate))
	}
	if p.Interleave {
		l.trials(setup, l.serial, parallel)
	} else {
		l.trials(setup, l.serial, false)
		l.trials(setup, false, parallel)
	}
	return &study.Plan{First: l.treatments}, nil
}

// layout collects the treatments; all are known before the first measurement.
type layout struct {
	*Params
	serial     bool    // one subject alone is measured anyway
	turns      []turns // of each workload
	treatments []study.Treatment
}

// trials adds the treatments of all trials, with the phases asked for.
func (l *layout) trials(setup study.Setup, serial, parallel bool) {
	add := func(phase model.Phase, workload string, trial int, active []int) {
		l.treatments = append(l.treatments, study.Treatment{Phase: phase, Workload: workload, Trial: trial, Active: active})
	}
	for trial := 1; trial <= setup.Trials; trial++ {
		for i, w := range setup.Workloads {
			if serial {
				for _, subject := range l.turns[i].serial(trial) {
					add(model.Serial, w.Name, trial, []int{subject})
				}
			}
			if !parallel {
				continue
			}
			for _, size := range l.Sizes {
				// The whole fleet is measured anyway, and so is one subject alone.
				if size < w.Subjects && (size > 1 || !l.serial) {
					add(model.Parallel, w.Name, trial, l.turns[i].some(trial, size))
				}
			}
			add(model.Parallel, w.Name, trial, nil)
		}
	}
}

// turns says which subjects are measured when.
type turns struct {
	shuffled []int
	rotate   bool
}

func newTurns(subjects int, seed int64, rotate bool) turns {
	t := turns{shuffled: make([]int, subjects), rotate: rotate}
	for i := range t.shuffled {
		t.shuffled[i] = i
	}
	// The second word separates this use of the seed from others.
	rng := rand.New(rand.NewPCG(uint64(seed), 0x5e71a1))
	rng.Shuffle(len(t.shuffled), func(i, j int) { t.shuffled[i], t.shuffled[j] = t.shuffled[j], t.shuffled[i] })
	return t
}

// serial returns the order of serial turns in a trial (from 1): a shuffle,
// rotated by one place a trial. Over n trials of n subjects it is a cyclic
// Latin square.
func (t turns) serial(trial int) []int { return t.from(trial - 1) }

// some returns size subjects for a trial: the next ones in the shuffled order,
// so that over the trials all take part equally often. They are returned in
// order, for they start together.
func (t turns) some(trial, size int) []int {
	return slices.Sorted(slices.Values(t.from((trial - 1) * size)[:size]))
}

// from returns the shuffled subjects, rotated by so many places.
func (t turns) from(shift int) []int {
	if !t.rotate || len(t.shuffled) == 0 {
		return t.shuffled
	}
	shift %= len(t.shuffled)
	return slices.Concat(t.shuffled[shift:], t.shuffled[:shift])
}
