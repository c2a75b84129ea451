package scaleout

import (
	"slices"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// machine is what one node takes of the machine that all nodes share; the zero value: they
// share none.
type machine struct {
	cores float64 // of the machine
	// job is how much processor time a job takes, most with all that else ran there except
	// for what is known to be of others, such as the store; in s, NaN: not known.
	job, most float64
}

// machineOf is what a step of one node took at this rate.
func machineOf(run *observe.Run, s model.Step, rate float64) (m machine) {
	if m.cores = run.SharedCores(); m.cores == 0 {
		return machine{}
	}
	m.job = mean(run, s, metricCPU) + mean(run, s, metricOwnCPU)
	m.most = m.job
	if others := run.TakenProcessors(s); len(others) > 0 {
		_, own := machineUse(run, s, others)
		m.most = max(m.most, own*m.cores/rate)
	}
	return m
}

// machineLimit are the processors of the machine that all nodes share, as a limit of what
// they do together. False: there is none, or the largest fleet does not come near it. As
// long as processors are idle, nodes do not wait for each other.
func machineLimit(singles []single, rate float64, largest int) (Limit, bool) {
	var jobs, most []float64
	for _, s := range singles {
		if s.machine.cores > 0 && s.machine.job > 0 {
			jobs, most = append(jobs, s.machine.job), append(most, s.machine.most)
		}
	}
	if len(jobs) == 0 {
		return Limit{}, false
	}
	cores := singles[0].machine.cores
	l := Limit{Resource: string(Machine), Capacity: Range{Value: cores}}
	l.PerJob = rangeOf(stats.MeanWithin(jobs, stats.DefaultLevel))
	if float64(largest)*rate*l.PerJob.Value < heavyUse*cores {
		return Limit{}, false
	}
	ends, all := l.PerJob.ends(), rangeOf(stats.MeanWithin(most, stats.DefaultLevel)).ends()
	l.PerJob.CI = &[2]float64{ends.Lo, max(ends.Hi, all.Hi)}
	return l, true
}

// unit is what the limit is counted in, a second.
func (l Limit) unit() string {
	if l.Resource == string(Machine) {
		return evaluation.Core
	}
	return evaluation.ByteRate
}

// quantity is what the limit is of.
func (l Limit) quantity() quantity { return quantity{l.Resource, l.unit()} }

// slower is by what share more time computing takes in the largest fleet where processors
// are short, and which part of all added time that is at least.
const slower = .1

// machineBusy reports whether all nodes share a machine that the largest fleet keeps busy.
func (r *Result) machineBusy() bool {
	return r.run != nil && r.run.SharedCores() > 0 && r.Processors != nil && r.Processors.MachineLargest != nil &&
		*r.Processors.MachineLargest >= busyMachine
}

// machineBinds reports whether growth ends at the machine that all nodes share. All that runs
// there becomes slower then, the store as well: the store is the bottleneck only if it is
// nearer to its own capacity, or if computing is as fast as before.
func (r *Result) machineBinds(shared float64, use *Use) bool {
	if !r.machineBusy() {
		return false
	}
	known := use != nil && use.Use != nil
	if known && *use.Use < heavyUse {
		return true
	}
	i := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Stage == Compute })
	slows := i >= 0 && r.Stages[i].Share >= slower && r.Stages[i].Largest > (1+slower)*r.Stages[i].Smallest
	return slows && !(known && *use.Use >= shared)
}
