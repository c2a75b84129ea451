// Package evaluation compares what nodes can do alone with what they can do
// together: the capacity degradation index (CDI) of ScaleBench, section 2.3,
// with its interval, its verdict and every reason to doubt it, and how the
// total grows with the size of the fleet (section 5.3). It reads no files and
// knows no clock.
//
// The pipeline, for each metric of each workload:
//
//  1. collect: what counts (package observe) becomes readings, one a task;
//     values that cannot be a capacity are refused by name. Only trials that
//     are complete in both phases go on.
//  2. curve: progress counters become curves; a parallel step has a common
//     window, in which all of its nodes were active.
//  3. score: both phases are scored in one and the same way, "common" (rate of
//     the counter) or, where some curve does not allow it, "whole" (the value
//     that the workload reported).
//  4. comparison: capacities are added up by subject (node or node pair),
//     paired over the phases and become a [Finding], with an interval no
//     narrower than the instrument resolves.
//  5. parts: who is unlike the others, so that the mean describes nobody.
//  6. verdict: what makes the answer "unknown", and what is only a warning.
//
// A [Table] enters at step 4 with the user's own numbers. [Scalings] takes all
// fleet sizes through steps 1 to 3 and looks how the total grows: a peak from which
// it falls, or a curve, from which shared limits are inferred.
//
// docs/methods.md explains the formulas.
package evaluation

import (
	"cmp"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// level is the confidence level of every interval.
const level = stats.DefaultLevel

// Limits beyond which a finding carries a warning.
const (
	minOverlap      = 0.5  // of a parallel step: with less the verdict is unknown
	leastNodes      = 6    // fewer nodes than this make a wide, fragile interval
	goodOverlap     = 0.9  // share of the time in which all nodes were active
	groupGap        = 0.05 // least relative distance of two groups worth a word
	sampleDeviation = 0.1  // between the reported value and the counter
	wholeDeviation  = 2.0  // CDI points between the two ways of scoring
	trialsLevel     = 0.01 // F test: do trials differ more than what happens within them?
)

// maxGap is how far from the edges of the common window the next point of a
// progress series may be, and how long a silence at the beginning still counts
// as work: twice what workloads promise.
const maxGap = 2 * time.Second

// Options are the parameters of an analysis. The zero value is sensible.
type Options struct {
	// Seed of the bootstrap; 0 means the run's own seed.
	Seed uint64
	// Resamples of the bootstrap; 0 means stats.DefaultResamples.
	Resamples int
	// Tolerance is the index, in points, up to which a loss or a gain is of no
	// interest; 0 means DefaultTolerance.
	Tolerance float64
}

// DefaultTolerance is how many points of the index are of no interest where the
// user does not say so.
const DefaultTolerance = 10

// orElse fills in what is zero.
func (o Options) orElse(seed int64) Options {
	return Options{
		Seed: cmp.Or(o.Seed, uint64(seed)), Resamples: cmp.Or(o.Resamples, stats.DefaultResamples),
		Tolerance: cmp.Or(o.Tolerance, DefaultTolerance),
	}
}

// Findings returns one finding for each metric of each workload that a run
// measured in a serial or parallel phase, in the order of its steps. A workload
// without any valid result gives a finding without a metric whose warnings say
// why: what was asked for never vanishes silently.
//
// A finding is about subjects, nodes or node pairs: where several tasks measure
// one subject, its capacity is their sum. Parallel steps of fewer subjects than
// the largest belong to a sweep over sizes ([Scalings]) and are not used here.
//
// The same run and options give the same findings. A run without such a phase
// is a model.ErrUsage.
func Findings(run *observe.Run, opt Options) ([]Finding, error) {
	all, err := divide(run)
	var out []Finding
	for _, p := range all {
		out = append(out, p.largest().findings(opt.orElse(run.Run().Seed))...)
	}
	return out, err
}

// Scalings returns how the total of every metric grew with the size of the
// fleet (ScaleBench, section 5.3), in the order of [Findings]: the serial phase
// as size 1, and every size of the parallel phase. Three sizes give a curve; a
// shared limit is named only where the points show one. The same run and
// options give the same result. A run without a serial or parallel phase is a
// model.ErrUsage.
func Scalings(run *observe.Run, opt Options) ([]Scaling, error) {
	all, err := divide(run)
	if err != nil {
		return nil, err
	}
	out := []Scaling{}
	for _, p := range all {
		for _, like := range p.metrics() {
			out = append(out, p.scaling(like, opt.orElse(run.Run().Seed)))
		}
	}
	return out, nil
}

// findings returns one finding a metric.
func (p part) findings(opt Options) []Finding {
	metrics := p.metrics()
	if len(metrics) == 0 {
		empty := comparison{workload: p.workload, of: p.steps[0].Of(), scoring: scoring{window: WindowWhole}}
		empty.notes.Add(noValues.Problem(struct{}{}))
		p.noteRun(&empty.notes)
		return []Finding{empty.finding(opt)}
	}
	out := make([]Finding, 0, len(metrics))
	for _, like := range metrics {
		c := p.compare(like)
		p.noteRun(&c.notes)
		p.noteErrors(&c.notes)
		p.noteFacts(c, &c.notes)
		out = append(out, c.finding(opt))
	}
	return out
}

// compare reads, scores and arranges one metric.
func (p part) compare(like metric) comparison {
	c := comparison{workload: p.workload, metric: like.key, of: p.steps[0].Of(), resource: like.Resource}
	n := &c.notes
	if like.Better != model.Higher && like.Better != model.Lower {
		n.Add(noDirection.Warn(direction{caveat.Verbatim(like.key), caveat.Verbatim(like.Better)}))
	}
	steps := p.balanced(p.read(like, n), like.key, n)
	noteMissing(steps, like.key, c.of, n)
	c.scoring = score(steps, like.Sample, n)
	c.corrected = 1 / p.awake(steps, n)
	c.corrected *= p.giveBack(steps, like.Resource, n)
	c.resolution = resolutionOf(steps)
	c.common, c.course = commonOf(steps), courseOf(steps)
	c.simultaneity = simultaneityOf(steps, c.window, n)
	c.trialTime = trialTime(steps)
	c.losses = p.losses(steps)
	if c.window == WindowWhole && c.overlap != nil && *c.overlap < goodOverlap && *c.overlap >= minOverlap {
		c.losses = append(c.losses, uncontended(*c.overlap))
	}
	c.subjects, c.serial, c.parallel = arrange(steps)
	p.noteFleet(steps, n)
	return c
}

// trialTime is how long a trial takes, without what lies between its steps.
func trialTime(steps []stepReadings) time.Duration {
	var all time.Duration
	trials := make(map[int]bool)
	for _, s := range steps {
		trials[s.step.Trial] = true
		if tasks, _ := timesOf(s.readings, false); tasks.N > 0 {
			all += tasks.LastEnd.Sub(tasks.FirstStart)
		}
	}
	return all / time.Duration(max(1, len(trials)))
}

// noteMissing doubts a parallel step in which not every subject was measured:
// the others then ran against something that the sum does not contain.
func noteMissing(steps []stepReadings, key string, of Subjects, n *caveat.List) {
	for _, s := range steps {
		switch {
		case len(s.missing) == 0:
		case s.step.Phase == model.Parallel:
			n.Add(missingTogether.Problem(missingParallel{s.step.Trial, of, s.missing, len(observe.Subjects(s.step)),
				caveat.Verbatim(key)}))
		default:
			n.Add(missingAlone.Warn(missingSerial{s.step.Trial, of, s.missing, caveat.Verbatim(key)}))
		}
	}
}

// noteFleet doubts parallel trials of different subjects: CDI(n) is of one
// fleet.
func (p part) noteFleet(steps []stepReadings, n *caveat.List) {
	var fleet []model.NodeID
	for _, s := range steps {
		if s.step.Phase != model.Parallel {
			continue
		}
		now := observe.Subjects(s.step)
		if fleet != nil && !sameFleet(p.steps[0].Of(), fleet, now, n) {
			return
		}
		fleet = now
	}
}
