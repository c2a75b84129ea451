package evaluation

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// replicate holds the capacities of one repetition of one phase.
type replicate struct {
	trial int
	// subjects are indices into those of the comparison, ascending: the ones
	// that were measured in this repetition.
	subjects []int32
	// values are the capacities that count; whole those over whole tasks.
	values, whole []float64
}

// at returns the value of a subject.
func (r replicate) at(subject int32) (v float64, ok bool) {
	i, ok := slices.BinarySearch(r.subjects, subject)
	if !ok {
		return 0, false
	}
	return r.values[i], true
}

// repetition are the readings of one repetition of a phase.
type repetition struct {
	trial    int
	readings []reading
}

// arrange arranges the scored readings of steps by subject. Subjects are in
// order of name, so that sums are always made in the same order.
func arrange(steps []stepReadings) (subjects []model.NodeID, serial, parallel []replicate) {
	type cell struct {
		trial   int
		subject model.NodeID
	}
	index := make(map[model.NodeID]int32)
	times, place := make(map[cell]int), make(map[[2]int]int)
	var alone, together []repetition
	for _, s := range steps {
		rep := repetition{s.step.Trial, s.usable()}
		again := 0
		for _, r := range rep.readings {
			index[r.subject] = 0
			again = max(again, times[cell{rep.trial, r.subject}])
		}
		if s.step.Phase == model.Parallel {
			together = append(together, rep)
			continue
		}
		// A serial step holds one subject. Those of a trial make a repetition; a
		// subject that was measured again in it makes another.
		for _, r := range rep.readings {
			times[cell{rep.trial, r.subject}] = again + 1
		}
		k, ok := place[[2]int{rep.trial, again}]
		if !ok {
			k = len(alone)
			place[[2]int{rep.trial, again}] = k
			alone = append(alone, repetition{trial: rep.trial})
		}
		alone[k].readings = append(alone[k].readings, rep.readings...)
	}
	subjects = slices.Sorted(maps.Keys(index))
	for i, name := range subjects {
		index[name] = int32(i)
	}
	return subjects, replicates(alone, index), replicates(together, index)
}

// usable returns the readings of subjects that were measured in full.
func (s stepReadings) usable() []reading {
	if len(s.missing) == 0 {
		return s.readings
	}
	missing := make(map[model.NodeID]bool, len(s.missing))
	for _, subject := range s.missing {
		missing[subject] = true
	}
	return slices.DeleteFunc(slices.Clone(s.readings), func(r reading) bool { return missing[r.subject] })
}

// replicates adds the readings of repetitions up by subject: over both ends of a
// pair. One without any is left out.
func replicates(reps []repetition, index map[model.NodeID]int32) []replicate {
	var out []replicate
	for _, rep := range reps {
		r, sums := replicate{trial: rep.trial}, make(map[int32][2]float64, len(rep.readings))
		for _, rd := range rep.readings {
			i := index[rd.subject]
			sum, again := sums[i]
			if !again {
				r.subjects = append(r.subjects, i)
			}
			sums[i] = [2]float64{sum[0] + rd.scored, sum[1] + rd.whole}
		}
		slices.Sort(r.subjects)
		for _, i := range r.subjects {
			r.values, r.whole = append(r.values, sums[i][0]), append(r.whole, sums[i][1])
		}
		if len(r.subjects) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// means averages each of n subjects over the repetitions that have it, in their
// order; NaN where none has.
func means(reps []replicate, n int, of func(replicate) []float64) []float64 {
	start := make([]int, n+1) // of the values of each subject
	for _, r := range reps {
		for _, subject := range r.subjects {
			start[subject+1]++
		}
	}
	for i := range n {
		start[i+1] += start[i]
	}
	values, next := make([]float64, start[n]), slices.Clone(start[:n])
	for _, r := range reps {
		for i, subject := range r.subjects {
			values[next[subject]] = of(r)[i]
			next[subject]++
		}
	}
	out := make([]float64, n)
	var own []float64 // the same place for all: how a sum is rounded depends on its alignment
	for i := range out {
		own = append(own[:0], values[start[i]:start[i+1]]...)
		m, err := stats.Mean(own)
		if err != nil {
			m = math.NaN()
		}
		out[i] = m
	}
	return out
}

func scoredValues(r replicate) []float64 { return r.values }

// known reports whether a subject has a mean.
func known(v float64) bool { return !math.IsNaN(v) }

// measured are the means that are known.
func measured(means []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(means), func(v float64) bool { return !known(v) })
}

// comparison is what a finding is made of, wherever the numbers come from.
type comparison struct {
	workload, metric string
	of               Subjects
	resource         string
	scoring
	subjects         []model.NodeID // by name
	serial, parallel []replicate
	simultaneity
	resolution resolution
	common     common
	course     *course // nil: not known
	losses     []loss
	corrected  float64       // what the efficiency was multiplied by; 0: nothing
	fromFile   bool          // the numbers are a user's own
	tolerance  float64       // points of the index
	trialTime  time.Duration // how long a trial takes; 0: not known
	notes      caveat.List
}

// finding computes the index, its intervals and its verdict.
func (c comparison) finding(opt Options) Finding {
	f := Finding{
		Workload: c.workload, Metric: c.metric, Unit: c.unit, Resource: c.resource, Of: c.of,
		Overlap: c.overlap, StartSkewMS: c.skewMS, EndSpreadMS: c.spreadMS,
		Window: c.window, Reciprocal: c.reciprocal, Verdict: Unknown,
	}
	serial := means(c.serial, len(c.subjects), scoredValues)
	parallel := means(c.parallel, len(c.subjects), scoredValues)
	f.Pairs = c.pairs(serial, parallel)
	f.Nodes = len(f.Pairs)
	if f.Nodes > 0 {
		serial, parallel = Columns(f.Pairs)
	}
	c.describe(&f, serial, parallel)
	if f.Nodes > 0 {
		c.index(&f, serial, parallel)
		c.intervals(&f, serial, parallel, opt)
		c.repetitions(&f)
		c.groups(&f, serial, parallel)
	}
	if len(f.Pairs) == 0 { // of one phase only
		f.Nodes = max(len(measured(serial)), len(measured(parallel)))
	}
	c.doubtLosses(&f)
	f.Verdict = c.verdict(&f)
	f.bound()
	f.Doubts = c.notes.Ordered()
	return f
}

// bound ends intervals at a total loss: a capacity is never negative, so no
// degradation exceeds 100 %.
func (f *Finding) bound() {
	for _, i := range []*Interval{f.CI, f.CIFleet, f.CINodes, f.BCa, f.Possible} {
		if i != nil {
			i[0], i[1] = min(i[0], 100), min(i[1], 100)
		}
	}
}

// pairs pairs the mean capacities of each subject in both phases. One without
// a value in one of the phases has no pair; missing is missing.
func (c *comparison) pairs(serial, parallel []float64) []NodePair {
	whole := means(c.parallel, len(c.subjects), func(r replicate) []float64 { return r.whole })
	pairs := make([]NodePair, 0, len(serial))
	var alone, together []model.NodeID // measured in that phase only
	for i, name := range c.subjects {
		switch {
		case known(serial[i]) && known(parallel[i]):
			pairs = append(pairs, NodePair{Node: name, Serial: serial[i], Parallel: parallel[i], ParallelWhole: whole[i]})
		case known(serial[i]):
			alone = append(alone, name)
		case known(parallel[i]):
			together = append(together, name)
		}
	}
	withoutSerial, withoutParallel := len(pairs)+len(alone) == 0, len(pairs)+len(together) == 0
	if withoutSerial {
		c.notes.Add(noSerial.Problem(struct{}{}))
	}
	if withoutParallel {
		c.notes.Add(noParallel.Problem(struct{}{}))
	}
	if withoutSerial || withoutParallel {
		return pairs
	}
	if len(alone) > 0 {
		c.notes.Add(serialOnly.Warn(subjects{c.of, alone}))
	}
	if len(together) > 0 {
		c.notes.Add(parallelOnly.Problem(subjects{c.of, together}))
	}
	return pairs
}

// Columns returns the serial and the parallel capacities of pairs.
func Columns(pairs []NodePair) (serial, parallel []float64) {
	serial, parallel = make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		serial[i], parallel[i] = p.Serial, p.Parallel
	}
	return serial, parallel
}

// describe fills in the spreads: over the pairs, or, when only one phase was
// measured, over what there is of it.
func (c *comparison) describe(f *Finding, serial, parallel []float64) {
	serial, parallel = measured(serial), measured(parallel)
	f.Serial = c.spread(serial)
	f.Parallel.Spread = c.spread(parallel)
	if f.Parallel.Mean != nil {
		total := *f.Parallel.Mean * float64(len(parallel))
		f.Parallel.Total = &total
	}
}

// spread summarises capacities; of none nothing is known, which the doubts
// explain.
func (c *comparison) spread(xs []float64) Spread {
	if len(xs) == 0 {
		return Spread{}
	}
	s, err := stats.Describe(xs)
	if err != nil {
		c.notes.Add(noSummary.Problem(because(err)))
		return Spread{}
	}
	return Spread{Mean: &s.Mean, Min: &s.Min, Max: &s.Max, SD: &s.PopulationSD}
}

// index sets the CDI, 100·(1 − mean(p)/mean(s)): ScaleBench, equation 6.
func (c *comparison) index(f *Finding, serial, parallel []float64) {
	f.CDI = c.cdi(parallel, serial)
	if f.CDI != nil && c.corrected != 0 && c.corrected != 1 {
		measured := degradation((1 - *f.CDI/100) / c.corrected)
		f.CDIMeasured = &measured
	}
	whole := make([]float64, len(f.Pairs))
	for i, p := range f.Pairs {
		whole[i] = p.ParallelWhole
	}
	f.CDIWhole = c.cdi(whole, serial)
	if f.CDI != nil && f.CDIWhole != nil && math.Abs(*f.CDI-*f.CDIWhole) > wholeDeviation {
		c.notes.Add(uncontendedEnd.Warn(twoIndices{c.of, *f.CDI, *f.CDIWhole}))
	}
}

// cdi is the index of these capacities, nil if it cannot be computed.
func (c *comparison) cdi(parallel, serial []float64) *float64 {
	ratio, err := stats.RatioOfMeans(parallel, serial)
	if err != nil {
		c.notes.Add(noIndex.Problem(because(err)))
		return nil
	}
	v := degradation(ratio)
	return &v
}

// degradation is the CDI of an efficiency: ScaleBench, equation 9.
func degradation(efficiency float64) float64 { return 100 * (1 - efficiency) }

// intervals sets the two intervals, for these nodes and for such nodes, and the
// bootstrap's beside the second: with fewer than about 20 nodes that is too
// narrow (docs/methods.md has the figures). The verdict follows the first where
// there is one.
func (c *comparison) intervals(f *Finding, serial, parallel []float64, opt Options) {
	if f.CDI == nil {
		return
	}
	c.tolerance = opt.Tolerance
	f.CIFleet, f.Degrees = c.thisFleet(f.Pairs)
	if f.Nodes < 2 {
		if f.CIFleet == nil {
			c.notes.Add(oneSubject.Problem(single{c.of, len(c.parallel)}))
		}
		f.CI = f.CIFleet
		return
	}
	iv, err := stats.Fieller(parallel, serial, level)
	if errors.Is(err, stats.ErrNoSpread) && !c.copied(f.Pairs) {
		f.CINodes, err = c.resolved(*f.CDI), nil
	} else {
		raw := cdiInterval(iv, err)
		f.CINodes = c.widened(raw, *f.CDI)
		if f.CIFleet == nil && raw != nil && *raw == *f.CINodes {
			f.Degrees = float64(f.Nodes - 1)
		}
		iv, errBCa := stats.BCa(parallel, serial, level, opt.Resamples, opt.Seed)
		f.BCa = c.widened(cdiInterval(iv, errBCa), *f.CDI)
	}
	if f.CI = f.CIFleet; f.CI == nil {
		f.CI = f.CINodes
		c.noteInterval(err)
	}
}

// resolved is the interval of an index without any scatter: what the instrument
// resolves. A volume at its provisioned rate gives every node the same.
func (c *comparison) resolved(cdi float64) *Interval {
	c.notes.Add(noScatter.Warn(resolvedOnly{c.of}))
	iv, _ := c.resolution.floor(Interval{cdi, cdi}, cdi)
	return &iv
}

// copied reports rows of a file that say a loss and nothing else: all of them are
// the same, as a mean is that was written into the row of every node. Rows of several
// trials are measurements of their own.
func (c *comparison) copied(pairs []NodePair) bool {
	return c.fromFile && c.trials() < 2 && pairs[0].Serial != pairs[0].Parallel && !slices.ContainsFunc(pairs, func(p NodePair) bool {
		return p.Serial != pairs[0].Serial || p.Parallel != pairs[0].Parallel
	})
}

// widened adds to an interval over subjects what their scatter cannot show: what
// they went through together, and what the instrument resolves.
func (c *comparison) widened(iv *Interval, cdi float64) *Interval {
	if iv == nil {
		return nil
	}
	wider, _ := c.common.widen(*iv, cdi)
	wider, _ = c.resolution.floor(wider, cdi)
	return &wider
}

// noteInterval says why there is no interval.
func (c *comparison) noteInterval(err error) {
	switch {
	case err == nil:
	case errors.Is(err, stats.ErrUnbounded):
		c.notes.Add(unbounded.Problem(measuredAs{c.of}))
	case errors.Is(err, stats.ErrNoSpread):
		c.notes.Add(copiedRows.Problem(measuredAs{c.of}))
	default:
		c.notes.Add(noInterval.Problem(because(err)))
	}
}

// cdiInterval turns an interval of the efficiency into one of the index.
func cdiInterval(iv stats.Interval, err error) *Interval {
	if err != nil {
		return nil
	}
	return &Interval{degradation(iv.Hi), degradation(iv.Lo)}
}
