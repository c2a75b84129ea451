package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// What a limit needs to be called one.
const (
	leastSizes = 3    // sizes for a curve
	levelShare = 0.02 // of the limit: a change of the sum this small is none
)

// Scaling returns how the total of every metric grew with the size of the
// fleet (ScaleBench, section 5.3), in the order of [CDI]: the serial phase as
// size 1, and every size of the parallel phase. Three sizes give a curve; a
// shared limit is named only where the points show one. The same data and
// options give the same result. A run without a serial or parallel phase is a
// model.ErrUsage.
func Scaling(data model.RunData, opt Options) ([]model.Scaling, error) {
	opt = opt.withDefaults()
	if opt.Seed == 0 {
		opt.Seed = uint64(data.Run.Seed)
	}
	all := campaigns(data)
	if len(all) == 0 {
		return nil, fmt.Errorf("run %s has no serial or parallel phase, so there are no sizes to compare: %w", data.Run.ID, model.ErrUsage)
	}
	out := []model.Scaling{}
	for _, c := range all {
		keys, first := c.metrics()
		for _, key := range keys {
			out = append(out, c.scaling(data, key, first[key], opt))
		}
	}
	return out, nil
}

// scaling computes one metric.
func (c campaign) scaling(data model.RunData, key string, like model.Sample, opt Options) model.Scaling {
	s := c.sweepOf(data, key, like, opt)
	out := model.Scaling{
		Workload: c.workload, Metric: key, Unit: s.unit, Resource: like.Resource, Of: s.of,
		Points: s.points(),
	}
	f := c.quickFinding(key, like, opt)
	s.notes.warnings = slices.DeleteFunc(s.notes.warnings, func(w string) bool { return slices.Contains(f.Warnings, w) })
	if len(out.Points) < leastSizes {
		s.noteFewSizes(out.Points, f)
	} else {
		s.grow(&out, opt)
	}
	out.Warnings = s.notes.all()
	return out
}

// quickFinding is the CDI of the metric, for its verdict.
func (c campaign) quickFinding(key string, like model.Sample, opt Options) model.Finding {
	const leastResamples = 100 // the bootstrap is not looked at
	opt.Resamples = leastResamples
	cmp := c.largest().compare(key, like, opt)
	return cmp.finding(opt)
}

// noteFewSizes says, where capacity was lost, that two sizes cannot tell a
// shared limit from a loss that every node has for itself, and what would.
func (s *sweep) noteFewSizes(points []model.ScalingPoint, f model.Finding) {
	if f.Verdict != model.VerdictDegraded || len(points) < 2 {
		return
	}
	p := points[len(points)-1]
	knee := p.Total / (points[0].Total / float64(points[0].Nodes))
	s.notes.warn("the sum of %s is %s; whether that is a limit they share cannot be told from one size: %s",
		plural(p.Nodes, string(s.of)), s.amount(p.Total), s.advice(knee, points))
}

// amount prints a capacity of the sweep for people.
func (s *sweep) amount(v float64) string { return AmountText(v, s.unit, s.like.Resource) }

// advice says what to measure to see at least two sizes past a knee.
func (s *sweep) advice(knee float64, points []model.ScalingPoint) string {
	sizes := missingSizes(knee, points)
	if len(sizes) == 0 {
		return fmt.Sprintf("measure a larger fleet, at two sizes of more than %d %ss", int(math.Ceil(knee)), s.of)
	}
	return "measure more sizes: " + sizesText(sizes)
}

// maxAdvised bounds how many sizes are proposed.
const maxAdvised = 3

// missingSizes proposes sizes past the knee and below the largest that were not
// measured, evenly spread.
func missingSizes(knee float64, points []model.ScalingPoint) []int {
	var free []int
	for n := int(math.Floor(knee)) + 1; n < points[len(points)-1].Nodes; n++ {
		if n > 1 && !slices.ContainsFunc(points, func(p model.ScalingPoint) bool { return p.Nodes == n }) {
			free = append(free, n)
		}
	}
	if len(free) <= maxAdvised {
		return free
	}
	out := make([]int, maxAdvised)
	for i := range out {
		out[i] = free[i*(len(free)-1)/(maxAdvised-1)]
	}
	return out
}

// sizesText writes sizes as the experiment file takes them.
func sizesText(sizes []int) string {
	text := "sizes: ["
	for i, n := range sizes {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text + "]"
}

// grow fits the curve and names the limits that it shows.
func (s *sweep) grow(out *model.Scaling, opt Options) {
	sizes, totals := s.fleet()
	g, err := stats.ChooseGrowth(sizes, totals, s.noise(totals))
	if errors.Is(err, stats.ErrTooFew) {
		s.notes.warn("%d totals of %d sizes are too few to choose a curve, 5 are needed: add sizes or trials", len(totals), len(out.Points))
		return
	}
	if err != nil {
		s.notes.warn("no curve: %v", err)
		return
	}
	fleet := curveOfGrowth{g, sizes, totals}
	ci := s.capInterval(fleet, opt)
	out.Fit = fitOf(g, ci)
	out.Limit = s.limit(fleet, ci, out.Points)
	s.groupLimits(out, fleet, opt)
}

// noise is the least error of a total that the instrument allows to believe.
func (s *sweep) noise(totals []float64) float64 {
	mean, err := stats.Mean(totals)
	if err != nil {
		return 0
	}
	return s.resolution.parallel * mean
}

// curveOfGrowth is a fitted curve with its observations.
type curveOfGrowth struct {
	stats.Growth
	sizes, totals []float64
}

// fitOf puts a curve into the vocabulary.
func fitOf(g stats.Growth, ci *model.Interval) *model.ScalingFit {
	if !g.Capped {
		return &model.ScalingFit{Model: "linear", Slope: g.Slope}
	}
	return &model.ScalingFit{Model: "capped", Slope: g.Slope, Cap: &g.Cap, CapCI: ci, Knee: &g.Knee}
}

// capInterval is the bootstrap interval of the cap, no narrower than the
// instrument resolves.
func (s *sweep) capInterval(c curveOfGrowth, opt Options) *model.Interval {
	if !c.Capped {
		return nil
	}
	iv, err := stats.CapInterval(c.Growth, c.sizes, c.totals, level, min(opt.Resamples, stats.GrowthResamples), opt.Seed)
	if err != nil {
		s.notes.warn("the limit has no interval: %v", err)
		return nil
	}
	half := coverage * s.resolution.parallel * c.Cap
	return &model.Interval{min(iv.Lo, c.Cap-half), max(iv.Hi, c.Cap+half)}
}

// limit names a shared limit if two sizes past the knee have the same total;
// else it notes why there is none.
func (s *sweep) limit(c curveOfGrowth, ci *model.Interval, points []model.ScalingPoint) *model.SharedLimit {
	if !c.Capped {
		return nil
	}
	past := distinctAbove(c.sizes, c.Knee)
	if len(past) < 2 {
		s.notes.warn("the sum seems to stop at %s, but one size past the knee at %.1f cannot tell a limit that all %ss share from a loss that each has for itself: %s",
			s.amount(c.Cap), c.Knee, s.of, s.advice(c.Knee, points))
		return nil
	}
	if !s.levels(c) {
		return nil
	}
	out := &model.SharedLimit{Total: c.Cap, CI: ci, From: reached(c.sizes, c.Knee), To: past[len(past)-1]}
	out.Text = fmt.Sprintf("the sum stays at %s%s from %d to %s", s.amount(out.Total), payload(s.like.Resource), out.From, plural(out.To, string(s.of)))
	return out
}

// levels tests whether the totals past the knee stay on one level. They do if a
// line through them changes by less than 2 % or not significantly, and surely
// rises by less than half of what a node adds below the knee: so much scatter
// that it could hide further growth is no evidence of a limit.
func (s *sweep) levels(c curveOfGrowth) bool {
	l, err := stats.LevelOff(c.Growth, c.sizes, c.totals, level, s.resolution.parallel*c.Cap)
	if err != nil {
		s.notes.warn("whether the sum stays at %s cannot be tested: %v", s.amount(c.Cap), err)
		return false
	}
	same := l.Slope.Contains(0) || math.Abs(l.Change) < levelShare*c.Cap
	switch {
	case same && l.Slope.Hi < c.Slope/2:
		return true
	case same:
		s.notes.warn("the sums past %.1f %ss scatter so much that they may still grow: no limit is inferred; add trials", c.Knee, s.of)
	case l.Change < 0:
		s.notes.warn("past %.1f %ss the sum falls, by %s up to the largest fleet: that is contention, and no constant limit", c.Knee, s.of, s.amount(-l.Change))
	default:
		s.notes.warn("past %.1f %ss the sum grows more slowly, but it grows, by %s up to the largest fleet: no constant limit was reached", c.Knee, s.of, s.amount(l.Change))
	}
	return false
}

// distinctAbove lists the sizes past a knee, ascending, each once.
func distinctAbove(sizes []float64, knee float64) []int {
	var out []int
	for _, n := range sizes {
		if n > knee {
			out = append(out, int(n))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reached is the smallest size at which the limit was reached: at the knee, up
// to rounding, or past it.
func reached(sizes []float64, knee float64) int {
	least := math.Inf(1)
	for _, n := range sizes {
		if n >= knee*(1-1e-9) {
			least = min(least, n)
		}
	}
	return int(least)
}
