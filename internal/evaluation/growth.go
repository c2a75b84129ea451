package evaluation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
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
	// Points are the sizes that were measured, ascending. The first is 1: the
	// mean of the serial phase, where it was measured.
	Points []ScalingPoint `json:"points"`
	// Fit is the curve through the points; nil with fewer than three sizes.
	Fit *ScalingFit `json:"fit"`
	// Limit is the shared limit that the points show; nil when none does.
	Limit *SharedLimit `json:"limit"`
	// Groups are the limits that the nodes of single groups share, where these
	// explain the points better than one limit of the whole fleet.
	Groups   []SharedLimit `json:"groups,omitempty"`
	Warnings []string      `json:"warnings"`
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
	Text string `json:"text"`
}

// What a limit needs to be called one.
const (
	leastSizes = 3    // sizes for a curve
	levelShare = 0.02 // of the limit: a change of the sum this small is none
)

// scaling computes one metric.
func (p part) scaling(key string, like model.Sample, opt Options) Scaling {
	s := p.sweepOf(key, like, opt)
	out := Scaling{
		Workload: p.workload, Metric: key, Unit: s.unit, Resource: like.Resource, Of: s.of,
		Points: s.points(),
	}
	f := p.quickFinding(key, like, opt)
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
func (p part) quickFinding(key string, like model.Sample, opt Options) Finding {
	const leastResamples = 100 // the bootstrap is not looked at
	opt.Resamples = leastResamples
	cmp := p.largest().compare(key, like, opt)
	return cmp.finding(opt)
}

// noteFewSizes says, where capacity was lost, that two sizes cannot tell a
// shared limit from a loss that every node has for itself, and what would.
func (s *sweep) noteFewSizes(points []ScalingPoint, f Finding) {
	if f.Verdict != Degraded || len(points) < 2 {
		return
	}
	p := points[len(points)-1]
	knee := p.Total / (points[0].Total / float64(points[0].Nodes))
	s.notes.warn("the sum of %s is %s; one size cannot show whether that is a shared limit: %s",
		plural(p.Nodes, string(s.of)), s.amount(p.Total), s.advice(knee, points))
}

// amount prints a capacity of the sweep for people.
func (s *sweep) amount(v float64) string { return AmountText(v, s.unit, s.like.Resource) }

// advice says what to measure to see at least two sizes past a knee.
func (s *sweep) advice(knee float64, points []ScalingPoint) string {
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
func (s *sweep) grow(out *Scaling, opt Options) {
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
func fitOf(g stats.Growth, ci *Interval) *ScalingFit {
	if !g.Capped {
		return &ScalingFit{Model: "linear", Slope: g.Slope}
	}
	return &ScalingFit{Model: "capped", Slope: g.Slope, Cap: &g.Cap, CapCI: ci, Knee: &g.Knee}
}

// capInterval is the bootstrap interval of the cap, no narrower than the
// instrument resolves.
func (s *sweep) capInterval(c curveOfGrowth, opt Options) *Interval {
	if !c.Capped {
		return nil
	}
	iv, err := stats.CapInterval(c.Growth, c.sizes, c.totals, level, min(opt.Resamples, stats.GrowthResamples), opt.Seed)
	if err != nil {
		s.notes.warn("the limit has no interval: %v", err)
		return nil
	}
	half := coverage * s.resolution.parallel * c.Cap
	return &Interval{min(iv.Lo, c.Cap-half), max(iv.Hi, c.Cap+half)}
}

// limit names a shared limit if two sizes past the knee have the same total;
// else it notes why there is none.
func (s *sweep) limit(c curveOfGrowth, ci *Interval, points []ScalingPoint) *SharedLimit {
	if !c.Capped {
		return nil
	}
	past := distinctAbove(c.sizes, c.Knee)
	if len(past) < 2 {
		s.notes.warn("the sum seems to stop at %s, but one size past the knee at %.1f cannot distinguish a limit that all %ss share from a loss of each one: %s",
			s.amount(c.Cap), c.Knee, s.of, s.advice(c.Knee, points))
		return nil
	}
	if !s.levels(c) {
		return nil
	}
	out := &SharedLimit{Total: c.Cap, CI: ci, From: reached(c.sizes, c.Knee), To: past[len(past)-1]}
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
		s.notes.warn("cannot test whether the sum stays at %s: %v", s.amount(c.Cap), err)
		return false
	}
	same := l.Slope.Contains(0) || math.Abs(l.Change) < levelShare*c.Cap
	switch {
	case same && l.Slope.Hi < c.Slope/2:
		return true
	case same:
		s.notes.warn("the sums past %.1f %ss scatter so much that they may still grow: no limit is inferred; add trials", c.Knee, s.of)
	case l.Change < 0:
		s.notes.warn("past %.1f %ss the sum falls, by %s up to the largest fleet: that is contention, not a constant limit", c.Knee, s.of, s.amount(-l.Change))
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

// groupLimits looks for limits that the nodes of one group share, as behind the
// uplink of a rack. Two explanations compete for the total of every group at
// every size: each group has a curve of its own, or the fleet has one and the
// groups take part in it by their numbers. Groups are named only if they
// explain the totals better (AICc), and then the fleet's limit, which is only
// the sum of theirs, is not.
func (s *sweep) groupLimits(out *Scaling, fleet curveOfGrowth, opt Options) {
	names := s.groupNames()
	if len(names) < 2 {
		return
	}
	curves, err := s.groupCurves(names)
	if err != nil {
		return // too few observations of some group
	}
	apart, errApart := scoreOf(ownCurves(curves))
	together, errTogether := scoreOf(s.commonCurve(names, fleet))
	if errApart != nil || errTogether != nil {
		return
	}
	if apart >= together {
		s.noteEvenGroups(out.Limit, names)
		return
	}
	for _, name := range names {
		if l := s.groupLimit(name, curves[name], opt); l != nil {
			out.Groups = append(out.Groups, *l)
		}
	}
	if len(out.Groups) > 0 {
		out.Limit = nil
	}
}

// groupLimit infers the limit of one group by the same rules as the fleet's. A
// group of which nothing can be said is not worth a warning.
func (s *sweep) groupLimit(name string, c curveOfGrowth, opt Options) *SharedLimit {
	if !c.Capped {
		return nil
	}
	quiet := *s
	quiet.notes = notes{}
	l := quiet.limit(c, quiet.capInterval(c, opt), s.points())
	if l == nil {
		return nil
	}
	l.Among = model.LabelGroup + "=" + name
	l.Text = fmt.Sprintf("within %s %s", l.Among, l.Text)
	return l
}

// groupNames lists the groups of which at least two subjects were active at
// once; one subject shares nothing.
func (s *sweep) groupNames() []string {
	most := make(map[string]int)
	for _, o := range s.observations {
		for name, part := range o.groups {
			most[name] = max(most[name], part.size)
		}
	}
	maps.DeleteFunc(most, func(_ string, size int) bool { return size < 2 })
	return slices.Sorted(maps.Keys(most))
}

// groupCurves fits each group by itself.
func (s *sweep) groupCurves(names []string) (map[string]curveOfGrowth, error) {
	out := make(map[string]curveOfGrowth, len(names))
	for _, name := range names {
		var c curveOfGrowth
		for _, o := range s.observations {
			if part, ok := o.groups[name]; ok {
				c.sizes, c.totals = append(c.sizes, float64(part.size)), append(c.totals, part.total)
			}
		}
		var err error
		if c.Growth, err = stats.ChooseGrowth(c.sizes, c.totals, s.noise(c.totals)); err != nil {
			return nil, err
		}
		out[name] = c
	}
	return out, nil
}

// explanation is how well a model explains the totals of groups.
type explanation struct {
	sse        float64
	n          int
	parameters int // without the error variance
	scale      float64
}

// scoreOf is the AICc of an explanation, above the noise of rounding.
func scoreOf(e explanation) (float64, error) {
	least := float64(e.n) * e.scale * e.scale
	return stats.AICc(max(e.sse, least), e.n, e.parameters+1)
}

// roundingNoise is the relative error of a total below which a better fit is
// chance.
const roundingNoise = 1e-9

// ownCurves explains each group by its own curve.
func ownCurves(curves map[string]curveOfGrowth) explanation {
	var e explanation
	for _, name := range slices.Sorted(maps.Keys(curves)) {
		c := curves[name]
		e.sse += c.SSE
		e.n += len(c.sizes)
		e.parameters += parametersOf(c.Growth)
		e.scale = max(e.scale, roundingNoise*slices.Max(c.totals))
	}
	return e
}

// commonCurve explains each group by its share of the fleet's curve.
func (s *sweep) commonCurve(names []string, fleet curveOfGrowth) explanation {
	e := explanation{parameters: parametersOf(fleet.Growth)}
	for _, o := range s.observations {
		for _, name := range names {
			part, ok := o.groups[name]
			if !ok {
				continue
			}
			fitted := fleet.At(float64(o.size)) / float64(o.size) * float64(part.size)
			e.sse += (part.total - fitted) * (part.total - fitted)
			e.n++
			e.scale = max(e.scale, roundingNoise*part.total)
		}
	}
	return e
}

func parametersOf(g stats.Growth) int {
	if g.Capped {
		return 2
	}
	return 1
}

// noteEvenGroups says that the fleet's limit may as well be one of each group,
// where the groups always had equal shares in it.
func (s *sweep) noteEvenGroups(limit *SharedLimit, names []string) {
	if limit == nil {
		return
	}
	for _, o := range s.observations {
		if o.size < limit.From {
			continue
		}
		for _, name := range names {
			if o.groups[name].size*len(names) != o.size {
				return // uneven: the two explanations were put to the test
			}
		}
	}
	s.notes.warn("the groups %s were always active in equal parts, so the run cannot show whether the whole fleet shares the limit or each group has its own", num.List(names))
}

// Name is how sentences call the scaling, as [Finding.Name].
func (s Scaling) Name() string { return nameOf(s.Workload, s.Metric) }
