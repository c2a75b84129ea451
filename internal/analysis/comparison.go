package analysis

import (
	"errors"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// repetition holds the capacities of one repetition of one phase by subject.
type repetition struct {
	trial int
	// values are the capacities that count; whole those over whole tasks.
	values, whole map[model.NodeID]float64
}

// comparison is what a finding is made of, wherever the numbers come from.
type comparison struct {
	workload, metric string
	of               model.Subjects
	resource         string
	scoring
	serial, parallel []repetition
	simultaneity
	resolution resolution
	common     common
	notes      notes
}

// finding computes the index, its intervals and its verdict.
func (c comparison) finding(opt Options) model.Finding {
	f := model.Finding{
		Workload: c.workload, Metric: c.metric, Unit: c.unit, Resource: c.resource, Of: c.of,
		Overlap: c.overlap, StartSkewMS: c.skewMS, EndSpreadMS: c.spreadMS,
		Window: c.window, Reciprocal: c.reciprocal, Verdict: model.VerdictUnknown,
		Pairs: c.pairs(),
	}
	f.Nodes = len(f.Pairs)
	c.describe(&f)
	c.index(&f)
	c.intervals(&f, opt)
	c.repetitions(&f)
	c.nodes(&f)
	f.Verdict = c.verdict(&f)
	f.Warnings = c.notes.all()
	return f
}

// pairs averages each subject over its repetitions. One without a value in
// one of the phases has no pair; missing is missing.
func (c *comparison) pairs() []model.NodePair {
	serial := means(c.serial, func(r repetition) map[model.NodeID]float64 { return r.values })
	parallel := means(c.parallel, func(r repetition) map[model.NodeID]float64 { return r.values })
	whole := means(c.parallel, func(r repetition) map[model.NodeID]float64 { return r.whole })
	pairs := make([]model.NodePair, 0, len(serial))
	for node, s := range serial {
		if p, ok := parallel[node]; ok {
			pairs = append(pairs, model.NodePair{Node: node, Serial: s, Parallel: p, ParallelWhole: whole[node]})
		}
	}
	slices.SortFunc(pairs, func(a, b model.NodePair) int { return compareNodes(a.Node, b.Node) })
	c.noteUnpaired(serial, parallel)
	return pairs
}

// noteUnpaired names the nodes that were measured in one phase only.
func (c *comparison) noteUnpaired(serial, parallel map[model.NodeID]float64) {
	if len(serial) == 0 {
		c.notes.doubt("there are no serial values to compare with")
	}
	if len(parallel) == 0 {
		c.notes.doubt("there are no parallel values")
	}
	if len(serial) == 0 || len(parallel) == 0 {
		return
	}
	if only := without(serial, parallel); len(only) > 0 {
		c.notes.warn("%s: serial value only; left out", named(c.of, only))
	}
	if only := without(parallel, serial); len(only) > 0 {
		c.notes.doubt("%s took part in the parallel phase and has no serial value", named(c.of, only))
	}
}

// without lists the nodes of a that b has not, in order.
func without(a, b map[model.NodeID]float64) []model.NodeID {
	var out []model.NodeID
	for node := range a {
		if _, ok := b[node]; !ok {
			out = append(out, node)
		}
	}
	slices.SortFunc(out, compareNodes)
	return out
}

// means averages each node over the repetitions that have it.
func means(reps []repetition, of func(repetition) map[model.NodeID]float64) map[model.NodeID]float64 {
	values := make(map[model.NodeID][]float64)
	for _, r := range reps {
		for node, v := range of(r) {
			values[node] = append(values[node], v)
		}
	}
	out := make(map[model.NodeID]float64, len(values))
	for node, vs := range values {
		if m, err := stats.Mean(vs); err == nil {
			out[node] = m
		}
	}
	return out
}

// describe fills in the spreads: over the pairs, or, when only one phase was
// measured, over what there is of it.
func (c *comparison) describe(f *model.Finding) {
	serial, parallel := columns(f.Pairs)
	if len(f.Pairs) == 0 {
		serial = sorted(means(c.serial, func(r repetition) map[model.NodeID]float64 { return r.values }))
		parallel = sorted(means(c.parallel, func(r repetition) map[model.NodeID]float64 { return r.values }))
	}
	f.Serial = c.spread(serial)
	f.Parallel.Spread = c.spread(parallel)
	if f.Parallel.Mean != nil {
		total := *f.Parallel.Mean * float64(len(parallel))
		f.Parallel.Total = &total
	}
}

// spread summarises capacities; of none nothing is known, which the doubts
// explain.
func (c *comparison) spread(xs []float64) model.Spread {
	if len(xs) == 0 {
		return model.Spread{}
	}
	s, err := stats.Describe(xs)
	if err != nil {
		c.notes.doubt("the capacities cannot be summarised: %v", err)
		return model.Spread{}
	}
	return model.Spread{Mean: &s.Mean, Min: &s.Min, Max: &s.Max, SD: &s.PopulationSD}
}

// index sets the CDI, 100·(1 − mean(p)/mean(s)): ScaleBench, equation 6.
func (c *comparison) index(f *model.Finding) {
	if f.Nodes == 0 {
		return
	}
	serial, parallel := columns(f.Pairs)
	f.CDI = c.cdi(parallel, serial)
	whole := make([]float64, len(f.Pairs))
	for i, p := range f.Pairs {
		whole[i] = p.ParallelWhole
	}
	f.CDIWhole = c.cdi(whole, serial)
	if f.CDI != nil && f.CDIWhole != nil && math.Abs(*f.CDI-*f.CDIWhole) > wholeDeviation {
		c.notes.warn("over whole tasks the CDI would be %.1f %% instead of %.1f %%: %ss that finished early left the others uncontended", *f.CDIWhole, *f.CDI, c.of)
	}
}

// cdi is the index of these capacities, nil when there is none.
func (c *comparison) cdi(parallel, serial []float64) *float64 {
	ratio, err := stats.RatioOfMeans(parallel, serial)
	if err != nil {
		c.notes.doubt("the index cannot be computed: %v", err)
		return nil
	}
	v := degradation(ratio)
	return &v
}

// degradation is the CDI of an efficiency: ScaleBench, equation 9.
func degradation(efficiency float64) float64 { return 100 * (1 - efficiency) }

// intervals sets the Fieller interval, which carries the verdict, and the
// bootstrap's, which is shown beside it: with fewer than about 20 nodes the
// latter is too narrow (docs/methods.md has the figures).
func (c *comparison) intervals(f *model.Finding, opt Options) {
	if f.Nodes == 0 || f.CDI == nil {
		return
	}
	if f.Nodes < 2 {
		c.notes.doubt("one %s has no interval; at least 2 are needed, 6 or more are better", c.of)
		return
	}
	serial, parallel := columns(f.Pairs)
	iv, err := stats.Fieller(parallel, serial, level)
	f.CI = c.widened(cdiInterval(iv, err), *f.CDI, c.noteWidened)
	c.noteInterval(err)
	iv, err = stats.BCa(parallel, serial, level, opt.Resamples, opt.Seed)
	f.BCa = c.widened(cdiInterval(iv, err), *f.CDI, func(string, float64, model.Interval, model.Interval) {})
}

// widened adds to an interval over subjects what their scatter cannot show:
// what they went through together, and what the instrument resolves. note is
// told of each step: why, by how much in points, from and to which interval.
func (c *comparison) widened(iv *model.Interval, cdi float64, note func(why string, half float64, from, to model.Interval)) *model.Interval {
	if iv == nil {
		return nil
	}
	together, half := c.common.widen(*iv, cdi)
	note("vary together", half, *iv, together)
	wider, half := c.resolution.floor(together, cdi)
	note("are not told apart by the instrument", half, together, wider)
	return &wider
}

// noteWidened says that an interval was widened where that decides.
func (c *comparison) noteWidened(why string, half float64, from, to model.Interval) {
	if verdictOf(from) != verdictOf(to) {
		c.notes.warn("the %ss differ less (interval [%.3f, %.3f]) than they %s (± %.3f points): the interval is widened by that", c.of, from[0], from[1], why, half)
	}
}

// noteInterval says why there is no interval.
func (c *comparison) noteInterval(err error) {
	switch {
	case err == nil:
	case errors.Is(err, stats.ErrUnbounded):
		c.notes.doubt("the serial capacities differ so much that the interval has no bounds; measure more %ss, or equal ones", c.of)
	case errors.Is(err, stats.ErrNoSpread):
		c.notes.doubt("every %s has exactly the same ratio, as copied or coarsely rounded values have; there is no scatter to compute an interval from", c.of)
	default:
		c.notes.doubt("no interval: %v", err)
	}
}

// cdiInterval turns an interval of the efficiency into one of the index.
func cdiInterval(iv stats.Interval, err error) *model.Interval {
	if err != nil {
		return nil
	}
	return &model.Interval{degradation(iv.Hi), degradation(iv.Lo)}
}

// columns returns the serial and the parallel capacities of pairs.
func columns(pairs []model.NodePair) (serial, parallel []float64) {
	for _, p := range pairs {
		serial = append(serial, p.Serial)
		parallel = append(parallel, p.Parallel)
	}
	return serial, parallel
}

// sorted returns the values in the order of their nodes, so that sums do not
// depend on the order of a map.
func sorted(m map[model.NodeID]float64) []float64 {
	nodes := without(m, nil)
	out := make([]float64, len(nodes))
	for i, node := range nodes {
		out[i] = m[node]
	}
	return out
}
