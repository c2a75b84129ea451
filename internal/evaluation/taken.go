package evaluation

import (
	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// giveBack raises parallel values by what others surely took. Work of a processor
// waits for nothing else: what nodes used less than alone, while others used processors
// that were short, they would have used. All of a machine get back no more than others
// took there, and do no more than they did alone. It returns the factor by which it raised
// the sum of all.
func (p part) giveBack(steps []stepReadings, resource string, n *caveat.List) float64 {
	if resource != model.ResourceCPU {
		return 1
	}
	alone := p.usesAlone(steps)
	before, after, most := 0.0, 0.0, 0.0
	for _, s := range steps {
		if s.step.Phase != model.Parallel {
			continue
		}
		taken := p.run.TakenProcessors(s.step)
		machines := make(map[string]*machineUse)
		for _, r := range s.readings {
			t, known := taken[r.task]
			was, measured := alone[r.subject]
			if !known || !measured {
				continue
			}
			if machines[t.Machine] == nil {
				machines[t.Machine] = &machineUse{}
			}
			machines[t.Machine].add(was, use{t.Used, r.scored}, t.Others)
		}
		for i := range s.readings {
			r := &s.readings[i]
			before += r.scored
			if m, t := machines[taken[r.task].Machine], taken[r.task]; m != nil {
				most = max(most, m.others)
				r.given = m.share(alone[r.subject], t)
				r.scored, r.whole = r.scored/(1-r.given), r.whole/(1-r.given)
			}
			after += r.scored
		}
	}
	if !(before > 0) {
		return 1
	}
	factor := after / before
	if factor > 1+worthAWord/100 {
		n.Add(takenProcessors.Warn(givenBack{most, factor - 1}))
	}
	return factor
}

// use is what a node used, in processors, and did with them.
type use struct{ processors, capacity float64 }

// machineUse sums up the nodes of a machine in a parallel step.
type machineUse struct {
	less    float64 // what they used less than alone: some use more, as ends of tasks cut through a quota's periods
	missing float64 // what those used less that used less
	lost    float64 // capacity less than alone
	back    float64 // capacity that all of missing would add
	others  float64 // what was taken
}

func (m *machineUse) add(alone, now use, others float64) {
	m.less += alone.processors - now.processors
	m.lost += alone.capacity - now.capacity
	if missing := alone.processors - now.processors; missing > 0 {
		m.missing += missing
		m.back += now.capacity * missing / now.processors
	}
	m.others = max(m.others, others)
}

// share is which share of its capacity a node gets back.
func (m *machineUse) share(alone use, t observe.Taken) float64 {
	missing := alone.processors - t.Used
	if !(missing > 0) || !(m.less > 0) || !(m.lost > 0) {
		return 0
	}
	back := missing * min(m.less, m.others) / m.missing
	back *= min(1, m.lost/m.back)
	return back / (t.Used + back)
}

// usesAlone is what each node used alone, and did, on average.
func (p part) usesAlone(steps []stepReadings) map[model.NodeID]use {
	used, did := make(map[model.NodeID][]float64), make(map[model.NodeID][]float64)
	for _, s := range steps {
		if s.step.Phase != model.Serial {
			continue
		}
		taken := p.run.TakenProcessors(s.step)
		for _, r := range s.readings {
			if t, known := taken[r.task]; known {
				used[r.subject], did[r.subject] = append(used[r.subject], t.Used), append(did[r.subject], r.scored)
			}
		}
	}
	out := make(map[model.NodeID]use)
	for subject := range used {
		out[subject] = use{stats.Average(used[subject]), stats.Average(did[subject])}
	}
	return out
}
