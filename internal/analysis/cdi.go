package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// CDI returns one finding for each metric of each workload that a run measured
// in a serial or parallel phase, in the order of its steps. A workload without
// any valid result gives a finding without a metric whose warnings say why:
// what was asked for never vanishes silently.
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
		out = append(out, c.findings(data, opt)...)
	}
	return out, nil
}

// findings returns the campaign's findings, one a metric.
func (c campaign) findings(data model.RunData, opt Options) []model.Finding {
	keys, first := c.metrics()
	if len(keys) == 0 {
		empty := comparison{workload: c.workload, scoring: scoring{window: windowWhole}}
		empty.notes.doubt("no valid result reported a metric")
		c.noteRun(data, &empty.notes)
		return []model.Finding{empty.finding(opt)}
	}
	out := make([]model.Finding, 0, len(keys))
	for _, key := range keys {
		cmp := c.compare(key, first[key], opt)
		c.noteRun(data, &cmp.notes)
		noteFacts(data.Nodes, cmp, &cmp.notes)
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
	cmp := comparison{workload: c.workload, metric: key}
	n := &cmp.notes
	if like.Better != model.Higher && like.Better != model.Lower {
		n.warn("%s does not say which direction is better (%q); taken as higher", key, like.Better)
	}
	steps := c.balanced(c.read(key, like, opt, n), key, n)
	noteMissing(steps, key, n)
	cmp.scoring = score(steps, like, opt, n)
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
	noteFleet(steps, n)
	return cmp
}

// repetition arranges the scored readings of a step by node.
func (s stepReadings) repetition() repetition {
	rep := repetition{s.step.Trial, make(map[model.NodeID]float64), make(map[model.NodeID]float64)}
	for _, r := range s.readings {
		rep.values[r.node] = r.scored
		rep.whole[r.node] = r.whole
	}
	return rep
}

// merged adds a serial step, which holds one node, to its trial.
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

// noteMissing doubts a parallel step in which not every node was measured: the
// others then ran against something that the sum does not contain.
func noteMissing(steps []stepReadings, key string, n *notes) {
	for _, s := range steps {
		switch {
		case len(s.missing) == 0:
		case s.step.Phase == model.Parallel:
			n.doubt("parallel, trial %d: %s of %d gave no usable %s", s.step.Trial, nodeWord(s.missing), len(s.step.Tasks), key)
		default:
			n.warn("serial, trial %d: %s gave no usable %s", s.step.Trial, nodeWord(s.missing), key)
		}
	}
}

// noteFleet doubts parallel trials of different nodes: CDI(n) is of one n.
func noteFleet(steps []stepReadings, n *notes) {
	var fleet []model.NodeID
	for _, s := range steps {
		if s.step.Phase != model.Parallel {
			continue
		}
		nodes := make([]model.NodeID, 0, len(s.step.Tasks))
		for _, t := range s.step.Tasks {
			nodes = append(nodes, t.Node)
		}
		slices.SortFunc(nodes, compareNodes)
		if fleet != nil && !slices.Equal(fleet, nodes) {
			n.doubt("the parallel trials ran on different nodes (%d and %d of them)", len(fleet), len(nodes))
			return
		}
		fleet = nodes
	}
}

// compareNodes orders nodes by id.
func compareNodes(a, b model.NodeID) int { return strings.Compare(string(a), string(b)) }
