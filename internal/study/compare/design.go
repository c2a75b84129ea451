package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// Design implements study.Designer: two workloads in turns on the same nodes, a
// duet. A block is both, one right after the other; which is first alternates from
// trial to trial, beginning as the seed says, so that what grows with time meets
// both alike. In the parallel phase all nodes do the same at once; in the serial
// one a block is of one node, nodes take turns, and neighbours differ in which is
// first.
func (p *Params) Design(setup study.Setup) (study.Design, error) {
	if p.A == "" {
		return nil, &model.InputError{Path: "a", Problem: "the study measures two workloads, and the file does not say which", Allowed: "a: NAME and b: NAME, of two workloads of this file"}
	}
	var two [2]study.Workload
	for i, name := range []string{p.A, p.B} {
		k := slices.IndexFunc(setup.Workloads, func(w study.Workload) bool { return w.Name == name })
		if k < 0 {
			return nil, &model.InputError{Path: []string{"a", "b"}[i], Problem: fmt.Sprintf("there is no workload %q", name), Allowed: "the name of a workload of this file"}
		}
		two[i] = setup.Workloads[k]
	}
	if two[0].Subjects != two[1].Subjects {
		return nil, &model.InputError{Path: "b", Problem: fmt.Sprintf("%s is measured on %d at once and %s on %d", p.A, two[0].Subjects, p.B, two[1].Subjects), Allowed: "two workloads that run on the same nodes"}
	}
	d := duet{names: [2]string{p.A, p.B}, first: rand.New(rand.NewPCG(uint64(setup.Seed), 0xd0e7)).IntN(2)} //nolint:gosec // a seed, and no secret
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, phase := range setup.Phases {
			if phase != model.Serial {
				d.block(phase, trial, trial, nil)
				continue
			}
			for i := range two[0].Subjects {
				subject := (i + trial - 1) % two[0].Subjects
				d.block(phase, trial, trial+subject, []int{subject})
			}
		}
	}
	return study.Fixed(d.treatments), nil
}

// duet is a design in the making.
type duet struct {
	names      [2]string
	first      int // which of the names even turns begin with
	blocks     int
	treatments []study.Treatment
}

// block adds both workloads on these subjects; which is first alternates by turn.
func (d *duet) block(phase model.Phase, trial, turn int, active []int) {
	first := (d.first + turn) % 2
	d.blocks++
	for _, i := range []int{first, 1 - first} {
		d.treatments = append(d.treatments, study.Treatment{Phase: phase, Workload: d.names[i], Trial: trial, Block: d.blocks, Active: active})
	}
}
