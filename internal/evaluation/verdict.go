package evaluation

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// verdict answers in one word, after everything else is known. It adds what
// the word leaves open.
func (c *comparison) verdict(f *Finding) Verdict {
	if f.CI == nil || c.notes.Problem() {
		return Unknown
	}
	word := verdictOf(*f.CI, c.tolerance)
	if word != Unclear {
		return word
	}
	if f.CI[1] >= 100 {
		wide := scattered{Of: c.of, Nodes: f.Nodes}
		if f.CIFleet != nil {
			wide.Trials = len(c.parallel)
		}
		c.notes.Add(tooWide.Problem(wide))
		return Unknown
	}
	c.notes.Add(unclear.Warn(c.undecided(f)))
	return word
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

// undecided says what would make an unclear finding clear, if its index is right:
// an interval without 0, or one within the tolerance, whichever is nearer.
func (c *comparison) undecided(f *Finding) undecided {
	out := undecided{Of: c.of, Most: f.CI[1]}
	half := max(*f.CDI-f.CI[0], f.CI[1]-*f.CDI)
	wanted := max(math.Abs(*f.CDI), c.tolerance-math.Abs(*f.CDI))
	_, floor := c.resolution.floor(*f.CI, *f.CDI)
	factor := half / wanted
	factor *= factor
	switch {
	case floor >= wanted:
		out.Resolved = true
	case f.CIFleet != nil:
		trials := len(c.parallel)
		out.MoreTrials, out.Seconds = max(1, int(math.Ceil(factor*float64(trials)))-trials), c.trialTime.Seconds()
	default:
		out.NodesWanted = int(math.Ceil(factor * float64(f.Nodes)))
	}
	return out
}

// repetitions sets the index of each trial alone.
func (c *comparison) repetitions(f *Finding) {
	if f.CDI == nil {
		return
	}
	f.CDITrials = c.cdiTrials(f.Pairs)
	if len(c.parallel) == 1 {
		c.notes.Add(oneTrial.Warn(struct{}{}))
	}
}

// warnTrialsDiffer says that trials differ more than what happens within them.
func (c *comparison) warnTrialsDiffer(pairs []NodePair) {
	trials := c.cdiTrials(pairs)
	c.notes.Add(trialsDiffer.Warn(indexRange{c.of, slices.Min(trials), slices.Max(trials)}))
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
