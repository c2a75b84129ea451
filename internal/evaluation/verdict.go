package evaluation

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// verdict answers in one word, after everything else is known. It adds what
// the word leaves open.
func (c *comparison) verdict(f *Finding) Verdict {
	if f.CI == nil || len(c.notes.doubts) > 0 {
		return Unknown
	}
	word := verdictOf(*f.CI)
	if word == None && f.CI[1] >= 100 {
		// A capacity is never negative, so no degradation exceeds 100 %.
		c.notes.doubt("the interval contains every degradation up to a total loss: %s with this much scatter allow no conclusion", num.Count(f.Nodes, string(c.of)))
		return Unknown
	}
	if f.BCa != nil && verdictOf(*f.BCa) != word {
		c.notes.warn("the bootstrap interval [%.1f, %.1f] would give the verdict %s; the verdict follows the Fieller interval", f.BCa[0], f.BCa[1], verdictOf(*f.BCa))
	}
	if word == None && f.CI[1]-f.CI[0] > 2*wideInterval {
		c.notes.warn("the interval is wide: with %s a degradation of up to %.0f %% cannot be excluded (CDI %.1f %%)", num.Count(f.Nodes, string(c.of)), math.Ceil(f.CI[1]), *f.CDI)
	}
	return word
}

// verdictOf reads an interval of the index.
func verdictOf(i Interval) Verdict {
	switch {
	case i[0] > 0:
		return Degraded
	case i[1] < 0:
		return Gain
	default:
		return None
	}
}

// repetitions sets the index of each repetition alone and compares how much
// repetitions and how much nodes differ.
func (c *comparison) repetitions(f *Finding) {
	if f.CDI == nil {
		return
	}
	f.CDITrials = c.cdiTrials(f.Pairs)
	if len(c.parallel) == 1 {
		c.notes.warn("one parallel repetition: the interval covers the differences between %ss, not between repetitions", c.of)
	}
	if f.CI != nil && c.trialsDisagree(*f) {
		c.notes.warn("repetitions differ more than %ss do (CDI from %.1f %% to %.1f %%): something that all of them share changed between them and the interval is too narrow; add trials",
			c.of, slices.Min(f.CDITrials), slices.Max(f.CDITrials))
	}
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

// trialsDisagree tests the variance of the mean that the repetitions show
// against the one that the nodes show, by a one-sided F test. Were the errors
// of nodes and repetitions independent, both would estimate the same.
func (c *comparison) trialsDisagree(f Finding) bool {
	repetitions := float64(len(f.CDITrials))
	sd, err := stats.SampleSD(f.CDITrials)
	if err != nil {
		return false // one repetition
	}
	degrees := float64(f.Nodes - 1)
	t, errT := stats.TQuantile((1+level)/2, degrees)
	limit, errF := stats.FQuantile(trialsLevel, repetitions-1, degrees)
	byNodes := (f.CI[1] - f.CI[0]) / 2 / t
	return errT == nil && errF == nil && byNodes > 0 && sd*sd/repetitions > limit*byNodes*byNodes
}

// groups warns of few nodes and of nodes that fall in two groups.
func (c *comparison) groups(f *Finding, serial, parallel []float64) {
	if f.Nodes > 1 && f.Nodes < fewNodes {
		c.notes.warn("only %d %ss: the interval is wide and says nothing about %ss that were not measured; %d or more are better", f.Nodes, c.of, c.of, fewNodes)
	}
	if split, ok := twoGroups(serial); ok {
		c.notes.warn("the %ss are of two kinds when alone: %d near %s and %d near %s %s", c.of, split.Low, number(split.LowMean), split.High, number(split.HighMean), f.Unit)
	}
	kept := make([]float64, len(serial))
	for i := range kept {
		kept[i] = parallel[i] / serial[i]
	}
	if split, ok := twoGroups(kept); ok {
		c.notes.warn("the %ss fall in two groups: %d keep %.0f %% of their capacity and %d keep %.0f %%; the mean describes neither", c.of, split.Low, 100*split.LowMean, split.High, 100*split.HighMean)
	}
}

// twoGroups reports two groups that are distinct and far enough apart to matter.
func twoGroups(xs []float64) (stats.Split, bool) {
	split, err := stats.TwoGroups(xs)
	if err != nil {
		return stats.Split{}, false // too few nodes, or no difference at all
	}
	return split, split.Distinct && split.HighMean-split.LowMean > groupGap*split.HighMean
}
