package evaluation

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/internal/stats"
)

// Scaling is how the total capacity of a fleet grew with its size, for one
// metric of one workload (ScaleBench, section 5.3 and Fig. 11).
type Scaling struct {
	Workload string   `json:"workload"`
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	Resource string   `json:"resource,omitempty"`
	Of       Subjects `json:"of"`
	// Points are the sizes that were measured, ascending, all in the same trials.
	// The first is 1: the mean of the serial phase, where it was measured.
	Points []ScalingPoint `json:"points"`
	// Peak is the size from which on the total falls; nil where it does not.
	Peak *Peak `json:"peak,omitempty"`
	// Fit is the curve through the points; nil with fewer than three sizes, past a
	// peak, and where no curve describes them (the caveat [CodeNoCurve]).
	Fit *ScalingFit `json:"fit"`
	// Limit is the shared limit that the points show; nil when none does.
	Limit *SharedLimit `json:"limit"`
	// Groups are the limits that the nodes of single groups share, where these
	// explain the points better than one limit of the whole fleet.
	Groups []SharedLimit `json:"groups,omitempty"`
	// Smaller are the steps of fewer subjects than the fleet has.
	Smaller []Kept `json:"-"`
	// Doubts are what speaks against it; Warnings their texts.
	Doubts   caveat.List   `json:"doubts"`
	Warnings []caveat.Text `json:"warnings"`
}

// ScalingPoint is one size of fleet.
type ScalingPoint struct {
	Nodes int `json:"nodes"` // subjects that were active at once
	// Total is the mean over trials of the sum over subjects; Totals the sum
	// of each trial.
	Total  float64   `json:"total"`
	Totals []float64 `json:"totals"`
	CI     *Interval `json:"ci"` // of Total, over trials; nil with one trial
}

// Peak is the largest total of a fleet that does less with more subjects.
type Peak struct {
	Nodes int       `json:"nodes"` // the size that has it
	Total float64   `json:"total"`
	CI    *Interval `json:"ci"`
	// Last is the total of the largest size.
	Last float64 `json:"last"`
	// Text says it: "the sum is largest with 4 nodes, 40 op/s, and falls to
	// 12 op/s with 7".
	Text caveat.Text `json:"text"`
}

// Grows reports whether the largest size has the largest total by far.
func (s Scaling) Grows() bool {
	last := len(s.Points) - 1
	return last >= 1 && !slices.ContainsFunc(s.Points[:last], func(p ScalingPoint) bool {
		return s.Points[last].Total < p.Total*(1+growthShare)
	})
}

// ScalingFit is the curve min(a·n, cap) or a·n, whichever explains the points
// better by AICc.
type ScalingFit struct {
	Model string  `json:"model"` // "linear" or "capped"
	Slope float64 `json:"slope"` // a: capacity a subject adds below the cap
	// Cap is the constant total and Knee the size at which it is reached,
	// cap/a; nil for a linear fit.
	Cap   *float64  `json:"cap"`
	CapCI *Interval `json:"cap_ci"`
	Knee  *float64  `json:"knee"`
}

// SharedLimit is a limit that several subjects share, inferred from totals
// that stay the same while the fleet grows.
type SharedLimit struct {
	Total float64   `json:"total"` // where the sum stays, in the unit of the scaling
	CI    *Interval `json:"ci"`
	From  int       `json:"from"` // smallest size at which it was reached
	To    int       `json:"to"`   // largest size measured
	// Among says who shares it: empty for the whole fleet, or a label with its
	// value, "group=rack1".
	Among string `json:"among,omitempty"`
	// Text is the finding in words: "the sum stays at 300 Mbit/s from 2 to 4
	// nodes".
	Text caveat.Text `json:"text"`
}

// What a limit needs to be called one.
const (
	leastSizes = 3    // sizes for a curve
	levelShare = 0.02 // of the limit: a smaller change of the sum does not count
	// growthShare is by how much a larger fleet must do more to be said to grow.
	growthShare = 0.05
	// leastNoise is what totals of one trial scatter at least, relative to
	// themselves: what happens to all nodes of a step shows in no other.
	leastNoise = 0.02
	// fewDegrees of freedom that trials must have to tell the noise of totals.
	fewDegrees = 3
)

// scaling computes one metric.
func (p part) scaling(like metric, opt Options) Scaling {
	s := p.sweepOf(like)
	out := Scaling{
		Workload: p.workload, Metric: like.key, Unit: s.unit, Resource: like.Resource, Of: s.of,
		Points: s.points(), Smaller: s.smaller,
	}
	quick := opt
	quick.Resamples = 100 // of the finding the verdict is wanted, not the bootstrap
	f := p.largest().compare(like).finding(quick)
	s.notes = slices.DeleteFunc(s.notes, func(c caveat.Caveat) bool {
		return c.Severity != model.Problem && slices.ContainsFunc(f.Doubts, c.Same)
	})
	if len(out.Points) < leastSizes {
		s.noteFewSizes(out.Points, f)
	} else {
		s.grow(&out, opt)
	}
	out.Doubts = s.notes.Ordered()
	return out
}

// noteFewSizes says, where capacity was lost, that two sizes cannot tell a
// shared limit from a loss that every node has for itself, and what would.
func (s *sweep) noteFewSizes(points []ScalingPoint, f Finding) {
	if f.Verdict != Degraded || len(points) < 2 {
		return
	}
	p := points[len(points)-1]
	knee := p.Total / (points[0].Total / float64(points[0].Nodes))
	s.notes.Add(oneSize.Warn(sizesWanted{s.sum(p.Total), p.Nodes, Wanted{knee, missingSizes(knee, points)}}))
}

// sum is a total of the sweep, for caveats.
func (s *sweep) sum(total float64) Sum {
	return Sum{s.of, total, caveat.Verbatim(s.unit), caveat.Verbatim(s.like.Resource)}
}

// maxAdvised bounds how many sizes are proposed.
const maxAdvised = 3

// missingSizes proposes sizes past the knee and below the largest that were not
// measured, evenly spread.
func missingSizes(knee float64, points []ScalingPoint) []int {
	var free []int
	for n := int(math.Floor(knee)) + 1; n < points[len(points)-1].Nodes; n++ {
		if n > 1 && !slices.ContainsFunc(points, func(p ScalingPoint) bool { return p.Nodes == n }) {
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

// grow fits the curve and names the limits that it shows.
func (s *sweep) grow(out *Scaling, opt Options) {
	sizes, totals := s.fleet()
	bySize, noise, err := s.scatter(sizes, totals)
	if err == nil && s.peak(out, bySize, noise) {
		return
	}
	g, err := scalability.ChooseGrowth(sizes, totals, s.noise(totals))
	if errors.Is(err, stats.ErrTooFew) {
		s.notes.Add(fewSizes.Warn(totalsOfSizes{len(totals), len(out.Points)}))
		return
	}
	if err != nil {
		s.notes.Add(noCurve.Warn(because(err)))
		return
	}
	if worst, off := g.Misses(bySize, noise); off {
		s.notes.Add(curveMisses.Warn(missedSize{s.sum(worst.Mean), int(worst.Size), g.At(worst.Size)}))
		return
	}
	fleet := curveOfGrowth{g, sizes, totals}
	ci := s.capInterval(fleet, opt)
	out.Fit = &ScalingFit{Model: string(g.Kind), Slope: g.Gamma}
	if g.Kind == scalability.Capped {
		out.Fit.Cap, out.Fit.CapCI, out.Fit.Knee = &g.Cap, ci, new(g.Knee())
	}
	out.Limit = s.limit(fleet, ci, out.Points)
	s.groupLimits(out, fleet, opt)
}

// scatter is what the totals of each size scatter from trial to trial, no less
// than the instrument resolves. With too few trials it is what subjects scatter
// alone, or, where that was not measured, together: each serial step is one draw of
// what a step adds.
func (s *sweep) scatter(sizes, totals []float64) ([]stats.SizeTotals, stats.Noise, error) {
	bySize, noise, err := stats.BySize(sizes, totals)
	if err != nil {
		return nil, stats.Noise{}, err
	}
	if noise.Degrees < fewDegrees {
		noise = s.alike
		noise.SD = max(noise.SD, leastNoise)
	}
	noise.SD = max(noise.SD, s.resolution.parallel)
	return bySize, noise, nil
}

// peak names the size from which on the totals surely fall.
func (s *sweep) peak(out *Scaling, bySize []stats.SizeTotals, noise stats.Noise) bool {
	top, falls := stats.Peak(bySize, noise)
	if !falls {
		return false
	}
	last := out.Points[len(out.Points)-1]
	p := Peak{Nodes: int(top.Size), Total: top.Mean, Last: last.Total}
	i := slices.IndexFunc(out.Points, func(x ScalingPoint) bool { return x.Nodes == p.Nodes })
	p.CI = out.Points[i].CI
	peak := peaked{s.sum(p.Total), p.Nodes, p.Last, last.Nodes}
	p.Text, out.Peak = caveat.Sentence(peak.text()), &p
	s.notes.Add(fallsPeak.Warn(peak))
	return true
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
	scalability.Curve
	sizes, totals []float64
}

// capInterval is the bootstrap interval of the cap, no narrower than the
// instrument resolves. A capacity is not negative.
func (s *sweep) capInterval(c curveOfGrowth, opt Options) *Interval {
	if c.Kind != scalability.Capped {
		return nil
	}
	iv, err := c.CapInterval(c.sizes, c.totals, opt.Resamples, opt.Seed)
	if err != nil {
		s.notes.Add(capInterval.Warn(capCause{caveat.Verbatim(err.Error())}))
		return nil
	}
	half := coverage * s.resolution.parallel * c.Cap
	return &Interval{max(0, min(iv.Lo, c.Cap-half)), max(iv.Hi, c.Cap+half)}
}

// limit names a shared limit if two sizes past the knee have the same total;
// otherwise it notes the reason.
func (s *sweep) limit(c curveOfGrowth, ci *Interval, points []ScalingPoint) *SharedLimit {
	if c.Kind != scalability.Capped {
		return nil
	}
	past := distinctAbove(c.sizes, c.Knee())
	if len(past) < 2 {
		s.notes.Add(onePastKnee.Warn(kneeAlone{s.sum(c.Cap), Wanted{c.Knee(), missingSizes(c.Knee(), points)}}))
		return nil
	}
	if !s.levels(c) {
		return nil
	}
	out := &SharedLimit{Total: c.Cap, CI: ci, From: reached(c.sizes, c.Knee()), To: past[len(past)-1]}
	out.Text = caveat.Sentence(s.limitWords(*out))
	return out
}

func (s *sweep) limitWords(l SharedLimit) string {
	return fmt.Sprintf("the sum stays at %s%s from %d to %s",
		s.sum(0).amount(l.Total), payload[Category(s.like.Resource)], l.From, num.Count(l.To, string(s.of)))
}

// levels tests whether the totals past the knee stay on one level. They do if a
// line through them changes by less than 2 % or not significantly, and surely
// rises by less than half of what a node adds below the knee: scatter that could
// hide further growth is not evidence of a limit.
func (s *sweep) levels(c curveOfGrowth) bool {
	l, err := c.LevelOff(c.sizes, c.totals, s.resolution.parallel*c.Cap)
	if err != nil {
		s.notes.Add(noLevelTest.Warn(untested{s.sum(c.Cap), caveat.Verbatim(err.Error())}))
		return false
	}
	same := l.Slope.Contains(0) || math.Abs(l.Change) < levelShare*c.Cap
	switch {
	case same && l.Slope.Hi < c.Gamma/2:
		return true
	case same:
		s.notes.Add(scatters.Warn(knee{s.of, c.Knee()}))
	case l.Change < 0:
		s.notes.Add(fallsPast.Warn(pastKnee{s.sum(l.Change), c.Knee()}))
	default:
		s.notes.Add(stillGrows.Warn(pastKnee{s.sum(l.Change), c.Knee()}))
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

// Name is how sentences call the scaling, as [Finding.Name].
func (s Scaling) Name() string { return nameOf(s.Workload, s.Metric) }
