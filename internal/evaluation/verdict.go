package evaluation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// verdict answers in one word, after everything else is known. It adds what
// the word leaves open.
func (c *comparison) verdict(f *Finding) Verdict {
	if f.CI == nil || len(c.notes.problems) > 0 {
		return Unknown
	}
	word := verdictOf(*f.CI, c.tolerance)
	if word != Unclear {
		return word
	}
	if f.CI[1] >= 100 {
		c.notes.doubt("too_wide", "the interval contains every degradation up to a total loss: %s", c.tooWide(f))
		return Unknown
	}
	c.notes.warn("unclear", "unclear: a loss of up to %s cannot be excluded, nor that there is none; %s",
		num.Percent(f.CI[1]), c.settles(f))
	return word
}

// tooWide says what an interval is too wide of, and what would help.
func (c *comparison) tooWide(f *Finding) string {
	if f.CIFleet != nil {
		return num.Count(len(c.parallel), "trial") + " with this much scatter allow no conclusion; add trials, or let tasks take longer"
	}
	return fmt.Sprintf("%s with this much scatter allow no conclusion; measure more %ss, or 3 or more trials", num.Count(f.Nodes, string(c.of)), c.of)
}

// verdictOf reads an interval of the index. Any loss is one; a gain must be able
// to exceed the tolerance: what does not is that of a processor which is kept
// awake, and nothing that a fleet is bought for.
func verdictOf(i Interval, tolerance float64) Verdict {
	switch {
	case i[0] > 0:
		return Degraded
	case -tolerance <= i[0] && i[1] <= tolerance:
		return None
	case i[1] < 0:
		return Gain
	}
	return Unclear
}

// settles says what would make an unclear finding clear, if its index is right:
// an interval without 0, or one within the tolerance, whichever is nearer.
func (c *comparison) settles(f *Finding) string {
	half := max(*f.CDI-f.CI[0], f.CI[1]-*f.CDI)
	wanted := max(math.Abs(*f.CDI), c.tolerance-math.Abs(*f.CDI))
	if _, floor := c.resolution.floor(*f.CI, *f.CDI); floor >= wanted {
		return "more of the same does not settle it, for what was measured is known no better: let tasks take longer, or report more digits"
	}
	factor := half / wanted
	factor *= factor
	if f.CIFleet != nil {
		trials := len(c.parallel)
		more := max(1, int(math.Ceil(factor*float64(trials)))-trials)
		text := num.Count(more, "more trial") + " would settle it"
		if c.trialTime > 0 {
			text += ", about " + num.Seconds(float64(more)*c.trialTime.Seconds())
		}
		return text
	}
	return fmt.Sprintf("3 or more trials would tell for these %ss, about %d %ss for others of their kind", c.of, int(math.Ceil(factor*float64(f.Nodes))), c.of)
}

// repetitions sets the index of each trial alone.
func (c *comparison) repetitions(f *Finding) {
	if f.CDI == nil {
		return
	}
	f.CDITrials = c.cdiTrials(f.Pairs)
	if len(c.parallel) == 1 {
		c.notes.warn("one_trial", "one parallel trial: the interval cannot cover what differs from trial to trial; use 3 or more")
	}
}

// warnTrialsDiffer says that trials differ more than what happens within them.
func (c *comparison) warnTrialsDiffer(pairs []NodePair) {
	trials := c.cdiTrials(pairs)
	c.notes.warn("trials_differ", "trials differ more than what happens within them explains (CDI from %.1f %% to %.1f %%): something that all %ss share changed between them; add trials",
		slices.Min(trials), slices.Max(trials), c.of)
}

// cdiTrials compares each parallel repetition with the serial one of the same
// trial, or with the mean of all if that trial has none.
func (c *comparison) cdiTrials(pairs []NodePair) []float64 {
	var out []float64
	for _, rep := range c.parallel {
		var base replicate // the serial one of the trial
		if i := slices.IndexFunc(c.serial, func(r replicate) bool { return r.trial == rep.trial }); i >= 0 {
			base = c.serial[i]
		}
		var serial, parallel []float64
		for i, subject := range rep.subjects {
			k, paired := slices.BinarySearchFunc(pairs, c.subjects[subject], func(p NodePair, name model.NodeID) int { return cmp.Compare(p.Node, name) })
			if !paired {
				continue
			}
			s, own := base.at(subject)
			if !own {
				s = pairs[k].Serial
			}
			serial, parallel = append(serial, s), append(parallel, rep.values[i])
		}
		if ratio, err := stats.RatioOfMeans(parallel, serial); err == nil {
			out = append(out, degradation(ratio))
		}
	}
	return out
}
