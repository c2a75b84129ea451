package evaluation

import (
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Channel is what subjects tell that keep a half or a quarter of what they do alone: a
// channel of one subject's capacity is then shared by two or four of them (ScaleBench,
// section 4.2).
type Channel struct {
	Share int            `json:"share"` // subjects on one channel
	Nodes []model.NodeID `json:"nodes"` // all subjects on such channels
	// Kept is the mean share of their capacity that they keep, CI its 95 % interval.
	Kept float64  `json:"kept"`
	CI   Interval `json:"ci"`
	// Probability is that of 1/Share against some other share, if both are as likely
	// before.
	Probability float64 `json:"probability"`
	// Sets say who shares with whom; none where the data do not tell.
	Sets [][]model.NodeID `json:"sets,omitempty"`
	// Outside is how many of Nodes share with something else than the fleet, at least.
	Outside int     `json:"outside,omitempty"`
	Total   float64 `json:"total"` // of one channel, in the finding's unit
}

// Kept is the share of its capacity that each subject of a step keeps.
type Kept map[model.NodeID]float64

const (
	mostShare      = 4     // subjects on a channel that are looked for
	channelScatter = 0.12  // of the shares on one level, in the logarithm
	levelApart     = 1.35  // least ratio of shares on two levels
	fullChannel    = 1.25  // more than the shares on one channel come to, with noise
	fairness       = 0.03  // how far from 1/Share channels divide, in the logarithm
	leastProbable  = 0.5   // for a channel to be named
	otherShares    = 2.079 // the logarithm of 8: what else is kept lies between 1/8 and 1
)

// Channels finds the channels that subjects of a finding share. All subjects lie on levels:
// at 1, 1/2 and 1/4 of their own capacity. One limit of the whole fleet brings all to one
// level. So subjects on a channel stand below others; or else smaller steps show who shares
// with whom.
func (f Finding) Channels(smaller []Kept) (out []Channel) {
	levels := make(map[int][]float64)
	for _, p := range f.Pairs {
		share := shareOf(p.Parallel / p.Serial)
		levels[share] = append(levels[share], math.Log(p.Parallel/p.Serial))
	}
	sd, degrees, ok := scatterOfLevels(levels)
	t, err := stats.TQuantile(1-(1-level)/2, degrees)
	if !ok || err != nil {
		return nil
	}
	above := false
	for _, share := range []int{1, 2, mostShare} {
		n := len(levels[share])
		if n == 0 {
			continue
		}
		mean, se := stats.Average(levels[share]), sd/math.Sqrt(float64(n))
		c := Channel{Share: share, Outside: n % share, Kept: math.Exp(mean),
			CI: Interval{math.Exp(mean - t*se), math.Exp(mean + t*se)}}
		c.Probability = probability(mean+math.Log(float64(share)), math.Hypot(se, fairness))
		if c.Probability < leastProbable {
			return nil // a level of its own
		}
		for _, p := range f.Pairs {
			if shareOf(p.Parallel/p.Serial) == share {
				c.Nodes = append(c.Nodes, p.Node)
				c.Total += p.Parallel * float64(share) / float64(n)
			}
		}
		if share > 1 && n >= share {
			var possible bool
			c.Sets, possible = c.sets(smaller)
			if possible && (above || len(c.Sets) > 1 && slices.ContainsFunc(smaller, Kept.uneven)) {
				out = append(out, c)
			}
		}
		above = true
	}
	return out
}

// shareOf is the level that a share lies on, as the number of subjects that explains it:
// 1, 2, 4, or 0 for less, and for what is no number.
func shareOf(kept float64) int {
	for share := 1; share <= mostShare; share *= 2 {
		if kept*float64(share) > math.Sqrt(.5) {
			return share
		}
	}
	return 0
}

// scatterOfLevels is the scatter within all levels together; !ok: they do not stand apart.
func scatterOfLevels(levels map[int][]float64) (sd, degrees float64, ok bool) {
	above := math.Inf(1)
	if len(levels[0]) > 0 {
		return 0, 0, false
	}
	for _, share := range []int{1, 2, mostShare} {
		logs := levels[share]
		if len(logs) == 0 {
			continue
		}
		if above-slices.Max(logs) < math.Log(levelApart) {
			return 0, 0, false
		}
		above = slices.Min(logs)
		mean := stats.Average(logs)
		for _, v := range logs {
			sd += (v - mean) * (v - mean)
		}
		degrees += float64(len(logs) - 1)
	}
	if degrees == 0 {
		return 0, 0, false
	}
	sd = max(math.Sqrt(sd/degrees), leastNoise)
	return sd, degrees, sd <= channelScatter
}

// probability is that of a level against a share that is anything else: off is the
// distance of their logarithms, se its error.
func probability(off, se float64) float64 {
	there := math.Exp(-off*off/(2*se*se)) / (se * math.Sqrt(2*math.Pi))
	return there / (there + 1/otherShares)
}

// uneven reports whether some subjects of a step keep all, and others a half or less.
func (k Kept) uneven() bool {
	kept := slices.Collect(maps.Values(k))
	return len(kept) > 1 && slices.Max(kept) > .85 && slices.Min(kept) < .6
}

// sets divides the subjects by channel. In each step the shares of two on one channel are
// alike and add up to no more than that channel. What is left is divided only if there is one
// way. It is not possible if a subject has too few others that it may share with: more share a
// wider channel then.
func (c Channel) sets(steps []Kept) (out [][]model.NodeID, possible bool) {
	together := func(a, b model.NodeID) bool {
		return !slices.ContainsFunc(steps, func(k Kept) bool {
			both := k[a] > 0 && k[b] > 0
			return both && (k[a]+k[b] > fullChannel || max(k[a], k[b]) > levelApart*min(k[a], k[b]))
		})
	}
	with := func(a model.NodeID, among []model.NodeID) []model.NodeID {
		return slices.DeleteFunc(slices.Clone(among), func(b model.NodeID) bool { return a != b && !together(a, b) })
	}
	few := func(a model.NodeID) bool { return len(with(a, c.Nodes)) < c.Share }
	switch {
	case c.Outside > 0 || len(steps) == 0 && len(c.Nodes) > c.Share:
		return nil, true
	case slices.ContainsFunc(c.Nodes, few):
		return nil, false
	}
	for left := c.Nodes; len(left) > 0; {
		i := slices.IndexFunc(left, func(a model.NodeID) bool { return len(with(a, left)) == c.Share })
		if i < 0 {
			return nil, true
		}
		set := with(left[i], left)
		if slices.ContainsFunc(set, func(a model.NodeID) bool { return len(with(a, set)) < c.Share }) {
			return nil, false // two of them are apart
		}
		out = append(out, set)
		left = slices.DeleteFunc(slices.Clone(left), func(a model.NodeID) bool { return slices.Contains(set, a) })
	}
	slices.SortFunc(out, slices.Compare)
	return out, true
}
