package analysis

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// CDI returns one finding for each metric of each workload that a run measured
// in a serial or parallel phase, in the order of its steps. A workload without
// any valid result gives a finding without a metric whose warnings say why:
// what was asked for never vanishes silently.
//
// A finding is about subjects, nodes or node pairs: where several tasks measure
// one subject, its capacity is their sum. Parallel steps of fewer subjects than
// the largest belong to a sweep over sizes ([Scaling]) and are not used here.
//
// It uses accepted results only (model.RunData.Accepted). The same data and
// options give the same findings. A run without such a phase is a
// model.ErrUsage.
func CDI(data model.RunData, opt Options) ([]model.Finding, error) {
	opt = opt.withDefaults()
	if opt.Seed == 0 {
		opt.Seed = uint64(data.Run.Seed)
	}
	all := campaigns(data)
	if len(all) == 0 {
		return nil, fmt.Errorf("run %s has no serial or parallel phase, so there is nothing to compare; use an experiment file with `evaluations: [serial, parallel]`: %w", data.Run.ID, model.ErrUsage)
	}
	var out []model.Finding
	for _, c := range all {
		out = append(out, c.largest().findings(data, opt)...)
	}
	return out, nil
}

// findings returns the campaign's findings, one a metric.
func (c campaign) findings(data model.RunData, opt Options) []model.Finding {
	keys, first := c.metrics()
	if len(keys) == 0 {
		empty := comparison{workload: c.workload, of: c.measures(), scoring: scoring{window: windowWhole}}
		empty.notes.doubt("no valid result reported a metric")
		c.noteRun(data, &empty.notes)
		return []model.Finding{empty.finding(opt)}
	}
	out := make([]model.Finding, 0, len(keys))
	for _, key := range keys {
		cmp := c.compare(key, first[key], opt)
		c.noteRun(data, &cmp.notes)
		c.noteFacts(data.Nodes, cmp, &cmp.notes)
		out = append(out, cmp.finding(opt))
	}
	return out
}

// noteRun adds what the course of the run says about the campaign.
func (c campaign) noteRun(data model.RunData, n *notes) {
	c.noteChanges(data.Events, n)
	noteState(data.Run, n)
	c.noteFailures(data, n)
}

// compare reads, scores and arranges one metric.
func (c campaign) compare(key string, like model.Sample, opt Options) comparison {
	cmp := comparison{workload: c.workload, metric: key, of: c.measures(), resource: like.Resource}
	n := &cmp.notes
	if like.Better != model.Higher && like.Better != model.Lower {
		n.warn("%s does not say which direction is better (%q); taken as higher", key, like.Better)
	}
	steps := c.balanced(c.read(key, like, opt, n), key, n)
	noteMissing(steps, key, cmp.of, n)
	cmp.scoring = score(steps, like, opt, n)
	cmp.resolution = resolutionOf(steps)
	cmp.common = commonOf(steps)
	cmp.simultaneity = simultaneityOf(steps, cmp.window, opt, n)
	for _, s := range steps {
		rep := s.repetition()
		switch {
		case len(rep.values) == 0:
		case s.step.Phase == model.Parallel:
			cmp.parallel = append(cmp.parallel, rep)
		default:
			cmp.serial = merged(cmp.serial, rep)
		}
	}
	c.noteFleet(steps, n)
	return cmp
}

// repetition arranges the scored readings of a step by subject. The capacity
// of a subject is the sum over its tasks: over both ends of a pair.
func (s stepReadings) repetition() repetition {
	rep := repetition{s.step.Trial, make(map[model.NodeID]float64), make(map[model.NodeID]float64)}
	for _, r := range s.readings {
		if slices.Contains(s.missing, r.subject) {
			continue // one end only
		}
		rep.values[r.subject] += r.scored
		rep.whole[r.subject] += r.whole
	}
	return rep
}

// merged adds a serial step, which holds one subject, to its trial.
func merged(reps []repetition, more repetition) []repetition {
	for _, r := range reps {
		if r.trial == more.trial && len(without(more.values, r.values)) == len(more.values) {
			for node, v := range more.values {
				r.values[node], r.whole[node] = v, more.whole[node]
			}
			return reps
		}
	}
	return append(reps, more)
}

// noteMissing doubts a parallel step in which not every subject was measured:
// the others then ran against something that the sum does not contain.
func noteMissing(steps []stepReadings, key string, of model.Subjects, n *notes) {
	for _, s := range steps {
		switch {
		case len(s.missing) == 0:
		case s.step.Phase == model.Parallel:
			n.doubt("parallel, trial %d: %s of %d gave no usable %s", s.step.Trial, named(of, s.missing), len(subjects(s.step)), key)
		default:
			n.warn("serial, trial %d: %s gave no usable %s", s.step.Trial, named(of, s.missing), key)
		}
	}
}

// noteFleet doubts parallel trials of different subjects: CDI(n) is of one
// fleet.
func (c campaign) noteFleet(steps []stepReadings, n *notes) {
	var fleet []model.NodeID
	for _, s := range steps {
		if s.step.Phase != model.Parallel {
			continue
		}
		now := subjects(s.step)
		if fleet != nil && !slices.Equal(fleet, now) {
			n.doubt("the parallel trials ran on different %ss (%s and %s)", c.measures(), list(fleet), list(now))
			return
		}
		fleet = now
	}
}
