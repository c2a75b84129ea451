package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// Verdict is the answer in one word.
type Verdict string

// The verdict words. Better and Worse, or Higher and Lower where it is not known
// which direction is good: the interval of B/A does not hold 1. Equivalent: it
// lies within the margin, and those of all summaries do. Unclear: neither; more
// repetitions would tell. Unknown: the measurement allows no answer.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Higher     Verdict = "higher"
	Lower      Verdict = "lower"
	Equivalent Verdict = "equivalent"
	Unclear    Verdict = "unclear"
	Unknown    Verdict = "unknown"
)

// Tone is how a verdict is meant.
func (v Verdict) Tone() doc.Tone {
	switch v {
	case Better:
		return doc.Gain
	case Worse:
		return doc.Bad
	case Equivalent:
		return doc.Good
	case Higher, Lower, Unclear:
		return doc.Note
	}
	return doc.Doubt
}

// different reports whether a verdict says that the sides differ.
func (v Verdict) different() bool { return slices.Contains([]Verdict{Better, Worse, Higher, Lower}, v) }

// of reads an interval of B/A. What is within the margin is of no interest, even
// if it is shown to differ.
func (p *Params) of(ci stats.Interval, better model.Better) Verdict {
	margin := 1 + float64(p.Margin)/100
	switch {
	case ci.Lo >= 1/margin && ci.Hi <= margin:
		return Equivalent
	case ci.Lo > 1:
		return map[model.Better]Verdict{model.Higher: Better, model.Lower: Worse}[better].or(Higher)
	case ci.Hi < 1:
		return map[model.Better]Verdict{model.Higher: Worse, model.Lower: Better}[better].or(Lower)
	}
	return Unclear
}

// ratioLike is an interval of differences where it lies to 0 as one of ratios to
// 1: nothing is said of how much.
func ratioLike(difference stats.Interval) stats.Interval {
	switch {
	case difference.Lo > 0:
		return stats.Interval{Lo: math.MaxFloat64, Hi: math.MaxFloat64}
	case difference.Hi < 0:
		return stats.Interval{}
	}
	return stats.Interval{Lo: 0, Hi: math.MaxFloat64}
}

func (v Verdict) or(other Verdict) Verdict {
	if v == "" {
		return other
	}
	return v
}

// judge gives every comparison its interval at the level that their number asks for
// (stats.SelectedLevels), and its verdict.
func (p *Params) judge(all []Comparison) error {
	var tested []int
	var ps []float64
	for i := range all {
		if c := &all[i]; c.P != nil {
			tested, ps = append(tested, i), append(ps, *c.P)
		}
	}
	qs, levels, err := stats.SelectedLevels(ps, p.Level)
	if err != nil {
		return fmt.Errorf("correcting for the number of comparisons: %w", err)
	}
	for k, i := range tested {
		all[i].Q = &qs[k]
		if len(tested) > 1 {
			all[i].widen(levels[k])
		}
	}
	for i := range all {
		p.conclude(&all[i])
	}
	return nil
}

// word is the verdict by interval and p-value alone. That the sides differ takes both:
// the interval without 1, and p of at most 1−level.
func (p *Params) word(c *Comparison, ci stats.Interval) Verdict {
	word := p.of(ci, c.Better)
	if word.different() && *c.P > 1-c.Level+1e-12 {
		return Unclear
	}
	return word
}

// answer is the verdict by what was measured alone; empty: there is none.
func (p *Params) answer(c *Comparison) Verdict {
	switch {
	case c.CI != nil:
		return p.word(c, *c.CI)
	case c.difference != nil:
		return p.word(c, ratioLike(*c.difference))
	}
	return ""
}

// conclude gives a comparison its verdict, and says what would settle an unclear
// one.
func (p *Params) conclude(c *Comparison) {
	c.Verdict = Unknown
	word := p.answer(c)
	if word != "" {
		p.heed(c, word)
	}
	if c.CI != nil {
		if possible := p.word(c, *c.Possible); possible != word {
			c.doubts.Problem("drift", "values drift by as much as %s within %s: %s may come from that alone. Measure both "+
				"in turns (study compare with a and b)", percentOf(c.drift), span(c.driftOver), word)
		} else if *c.Possible != *c.CI {
			c.doubts.Warn("drift", "values drift by as much as %s within %s. Measure both in turns (study compare with a "+
				"and b)", percentOf(c.drift), span(c.driftOver))
		}
	}
	p.heedMeans(c, word)
	p.heedMix(c, word)
	c.heedBounds(word)
	if word != "" && !slices.ContainsFunc(c.doubts, func(d model.Doubt) bool { return d.Severity == model.Problem }) {
		c.Verdict = word
	}
	if s := c.outside(1 + float64(p.Margin)/100); c.Verdict == Equivalent && s != nil {
		c.Verdict, c.outsider = Unclear, s
		c.doubts.Warn(codeSummary, "typical values are equivalent, but %s may differ by %s; more values tell "+
			"whether it does", s.words(), s.most())
	} else if c.Verdict == Unclear && c.CI != nil {
		p.settle(c)
	}
	c.Doubts = append([]model.Doubt{}, c.doubts...)
	c.Warnings = model.Texts(c.doubts)
}

// heedMeans doubts a verdict about typical values where the means tell otherwise:
// the values of one side fall into bands, or have another form, and neither number
// alone says how the sides differ.
func (p *Params) heedMeans(c *Comparison, word Verdict) {
	if p.Means || c.CI == nil || c.MeanRatioCI == nil || word == "" || word == Unclear {
		return
	}
	switch means := p.of(*c.MeanRatioCI, c.Better); {
	case means == word || means == Unclear || !means.different() && !word.different():
		return
	case word == Equivalent && !beyond(*c.MeanRatioCI, 1+float64(p.Margin)/100):
		return
	default:
		c.doubts.Problem("form", "typical values are %s (%+.1f %%), but the means are %s (%+.1f %%): the values of the two sides are spread differently, as in bands; `scalebench variability` shows how, and --means compares the means", word, percent(*c.Ratio), means, percent(*c.MeanRatio))
	}
}

// codeSummary is that of a doubt about summaries other than the typical value.
const codeSummary = "summary"

// outside is the summary that may differ most, if its interval is not within the
// margin; nil if there is none.
func (c *Comparison) outside(margin float64) *Summary {
	var out *Summary
	for i := range c.Summaries {
		s := &c.Summaries[i]
		switch {
		case s.CI != nil && s.CI.Lo >= 1/margin && s.CI.Hi <= margin:
		case out == nil, s.CI == nil, out.CI != nil &&
			math.Abs(math.Log(farther(*s.CI))) > math.Abs(math.Log(farther(*out.CI))):
			out = s
		}
	}
	return out
}

// words name a summary for people.
func (s *Summary) words() string {
	if percentile, ok := strings.CutPrefix(s.Name, "p"); ok {
		return "the " + percentile + map[bool]string{true: "st", false: "th"}[percentile == "1"] + " percentile"
	}
	return "the " + s.Name
}

// most is by how much a summary may differ.
func (s *Summary) most() string {
	if s.CI == nil {
		return "any amount"
	}
	return "up to " + percentOf(farther(*s.CI))
}

// hull is the interval that holds all that a user may mean: the possible one of the
// typical value and those of the other summaries, each as far as drift may take it, and
// as far as lower bounds leave it open.
func (c *Comparison) hull() stats.Interval {
	out := *c.Possible
	for _, s := range c.Summaries {
		ci := stats.Interval{Lo: 0, Hi: math.Inf(1)}
		if s.CI != nil {
			ci = c.drifting(*s.CI)
		}
		out = stats.Interval{Lo: min(out.Lo, ci.Lo), Hi: max(out.Hi, ci.Hi)}
	}
	return c.open(out)
}

// beyond reports whether an interval of ratios lies outside the margin whole.
func beyond(ci stats.Interval, margin float64) bool { return ci.Lo > margin || ci.Hi < 1/margin }

const codeUnclear = "unclear"

// settle says how many repetitions would make an unclear comparison clear with a
// probability of 80 %, if its ratio is right: an interval without 1, or one within
// the margin, whichever is nearer. The half width shrinks with the root of their
// number, and that of few values for their degrees of freedom, too; 0.84 is the
// normal's quantile of 80 %.
func (p *Params) settle(c *Comparison) {
	z, err := stats.NormalQuantile((1 + c.Level) / 2)
	free := c.A.N + c.B.N - 2
	if c.Paired {
		free = c.A.N - 1
	}
	t, errT := stats.TQuantile((1+c.Level)/2, float64(max(1, free)))
	lo, hi, at := math.Log(c.CI.Lo), math.Log(c.CI.Hi), math.Log(*c.Ratio)
	wanted := max(math.Abs(at), math.Log1p(float64(p.Margin)/100)-math.Abs(at))
	if err != nil || errT != nil || !num.Finite(lo) || !num.Finite(hi) || !(wanted > 0) {
		return
	}
	factor := (hi - lo) / 2 * z / t / wanted * (1 + .8416/z)
	factor *= factor
	if n := math.Ceil(factor * float64(min(c.A.N, c.B.N))); n < 1e7 {
		needed := max(int(n), min(c.A.N, c.B.N)+1)
		c.Needed = &needed
	}
	what := "values of each side"
	if c.Paired {
		what = "pairs"
	}
	if c.Needed == nil {
		c.doubts.Warn(codeUnclear, "unclear: a difference of up to %s cannot be excluded, nor that there is none; more of the same hardly settles it", percentOf(farther(*c.CI)))
		return
	}
	c.doubts.Warn(codeUnclear, "unclear: a difference of up to %s cannot be excluded, nor that there is none; about %s %s instead of %d would settle it", percentOf(farther(*c.CI)), num.Grouped(int64(*c.Needed)), what, min(c.A.N, c.B.N))
}

// farther is the end of an interval of ratios that is farther from 1.
func farther(ci stats.Interval) float64 {
	if math.Abs(math.Log(ci.Lo)) > math.Abs(math.Log(ci.Hi)) {
		return ci.Lo
	}
	return ci.Hi
}

// percentOf is by how much a ratio differs from 1, without sign.
func percentOf(ratio float64) string { return num.Percent(math.Abs(percent(ratio))) }

// held holds what B is worse by to a limit: it is missed by the interval of the typical
// value, and kept by that of every summary, up to most, which lower bounds leave open.
func held(limit study.Limit, name string, lo, hi, most float64) error {
	if lo <= limit.Most {
		hi = most
	}
	return limit.Check(name+": what B is worse by", lo, hi)
}

// Gate implements study.Result: every metric is held to the threshold by its
// interval, with what drift can explain.
func (r *Result) Gate() error {
	if r.limit == nil {
		return nil
	}
	limit := study.Limit{Most: float64(*r.limit), Unit: "%", By: "--fail-worse, or fail_worse in the file"}
	if len(r.Comparisons) == 0 {
		return limit.Unknown("nothing was compared")
	}
	var errs []error
	for _, c := range r.Comparisons {
		name := c.named(len(r.Others) > 1)
		switch {
		case c.Verdict == Worse && c.Possible == nil && c.A.Mean != nil && *c.A.Mean == 0:
			errs = append(errs, fmt.Errorf("%w: %s: it was 0, and is more", model.ErrThreshold, name))
		case c.Verdict == Unknown || c.Possible == nil:
			errs = append(errs, limit.Unknown(name+": it is unknown by how much B differs"))
		case c.Verdict == Unclear && c.outsider == nil && !c.Possible.Contains(1):
			errs = append(errs, limit.Unknown(name+": so few values differ as much by chance"))
		case c.Better == model.Higher:
			errs = append(errs, held(limit, name, -percent(c.Possible.Hi), -percent(c.Possible.Lo),
				-percent(c.hull().Lo)))
		case c.Better == model.Lower:
			errs = append(errs, held(limit, name, percent(c.Possible.Lo), percent(c.Possible.Hi), percent(c.hull().Hi)))
		default:
			errs = append(errs, limit.Unknown(fmt.Sprintf("%s: it is not known which direction is better (--better says it)", name)))
		}
	}
	return errors.Join(errs...)
}
