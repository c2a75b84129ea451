package evaluation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Part is some of the subjects of a finding that are unlike the others.
type Part struct {
	Nodes []model.NodeID `json:"nodes"`
	// Serial and Parallel are the means of their capacities; Kept is the share
	// that they keep, Parallel/Serial.
	Serial   float64 `json:"serial"`
	Parallel float64 `json:"parallel"`
	Kept     float64 `json:"kept"`
}

// Levels at which subjects are said to be unlike the others. Two measures are
// tested, each in two ways, so that of equal subjects any is named in at most 2 %.
const (
	apartLevel = 0.002
	levelGap   = 2.  // gaps between groups are at least so many times as wide as a group
	alikeKept  = 10. // points of the index within which each subject loses what the mean says
)

// groups warns of few nodes, and of those that are unlike the others.
func (c *comparison) groups(f *Finding, serial, parallel []float64) {
	if f.Nodes > 1 && f.Nodes < leastNodes {
		c.notes.Add(fewNodes.Warn(few{c.of, f.Nodes}))
	}
	kept := make([]float64, len(serial))
	for i := range kept {
		kept[i] = parallel[i] / serial[i]
	}
	rows, together := c.byTrial(f.Pairs)
	f.SerialParts = f.parts(serial, c.ownNoise(rows), c.resolution.serial)
	for t, row := range rows {
		for i := range row {
			row[i] = together[t][i] / row[i]
		}
	}
	f.Parts = f.parts(kept, c.ownNoise(rows), math.Hypot(c.resolution.serial, c.resolution.parallel))
	c.noteParts(f)
}

// noteParts says who is unlike the others.
func (c *comparison) noteParts(f *Finding) {
	if len(f.SerialParts) > 0 {
		c.notes.Add(unlikeAlone.At(model.Warning, subjectOf(model.Serial, f.SerialParts),
			partsAlone{f.Of, f.Nodes, f.SerialParts, caveat.Verbatim(f.Unit), caveat.Verbatim(f.Resource)}))
	}
	if len(f.Parts) > 0 {
		c.notes.Add(unlikeLoss.At(model.Warning, subjectOf(model.Parallel, f.Parts), partsTogether{f.Of, f.Nodes, f.Parts}))
	}
}

// subjectOf is what a caveat about parts is about: the first is a single node at times.
func subjectOf(phase model.Phase, parts []Part) caveat.Subject {
	s := caveat.Subject{Phase: phase}
	if len(parts[0].Nodes) == 1 {
		s.Node = parts[0].Nodes[0]
	}
	return s
}

// ownNoise is the error of the logarithm of a subject's mean over trials, without
// what all subjects of a trial have in common; none of one trial.
func (c *comparison) ownNoise(rows [][]float64) stats.Noise {
	if len(rows) < 2 || len(rows) < c.trials() || len(rows[0]) < 2 {
		return stats.Noise{}
	}
	logs := make([][]float64, len(rows))
	for t, row := range rows {
		for _, v := range row {
			logs[t] = append(logs[t], math.Log(v))
		}
	}
	trials, n := float64(len(rows)), float64(len(rows[0]))
	return stats.Noise{SD: math.Sqrt(interaction(logs) / trials), Degrees: (n - 1) * (trials - 1)}
}

// parts divides the subjects by a value of each: the few that stand out, those
// below before those above, and then the rest; or groups. Nil: they are alike, or
// differ without an order.
func (f *Finding) parts(values []float64, noise stats.Noise, floor float64) []Part {
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	apart, err := stats.Apart(logs, noise, floor, math.Log1p(groupGap), apartLevel)
	if err != nil {
		return f.levels(order, logs, noise, floor) // of two, if they are apart
	}
	if len(apart) == 0 {
		if out := f.levels(order, logs, noise, floor); out != nil {
			return out
		}
		split, ok := twoGroups(values)
		if !ok {
			return nil
		}
		low, high := order[:split.Low], order[split.Low:]
		if len(low) > len(high) {
			low, high = high, low // the few first
		}
		return []Part{f.part(low), f.part(high)}
	}
	stands := make([]bool, len(values))
	for _, i := range apart {
		stands[i] = true
	}
	first := slices.IndexFunc(order, func(i int) bool { return !stands[i] })
	rest := order[first : first+len(order)-len(apart)]
	var out []Part
	for _, nodes := range [][]int{order[:first], order[first+len(rest):]} {
		out = append(out, f.runs(nodes, values)...)
	}
	return append(out, f.part(rest))
}

// levels divides ascending subjects at all gaps that are larger than the noise of
// their trials, that of each pair corrected for all pairs, and than what lies within
// a group. The largest group comes last. Nil: there are none, or one of more than two
// is a single subject: then they differ without an order.
func (f *Finding) levels(order []int, logs []float64, noise stats.Noise, floor float64) []Part {
	n := float64(len(order))
	t, err := stats.TQuantile(1-apartLevel/(n*(n-1)), noise.Degrees)
	if err != nil {
		return nil // one trial
	}
	limit := max(math.Log1p(groupGap), t*math.Sqrt2*max(noise.SD, floor))
	var groups [][]int
	least, widest := math.Inf(1), 0.
	for from, to := 0, 1; to <= len(order); to++ {
		gap := math.Inf(1)
		if to < len(order) {
			gap = logs[order[to]] - logs[order[to-1]]
		}
		if gap <= limit {
			continue
		}
		if to-from < 2 && len(order) > 2 {
			return nil
		}
		least, widest = min(least, gap), max(widest, logs[order[to-1]]-logs[order[from]])
		groups, from = append(groups, order[from:to]), to
	}
	if len(groups) < 2 || least < levelGap*widest {
		return nil
	}
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	out := make([]Part, 0, len(groups))
	for _, nodes := range groups {
		out = append(out, f.part(nodes))
	}
	return out
}

// runs joins ascending outliers that lie no farther apart than what is worth a
// word.
func (f *Finding) runs(nodes []int, values []float64) []Part {
	var out []Part
	for from := 0; from < len(nodes); {
		to := from + 1
		for to < len(nodes) && values[nodes[to]] <= values[nodes[to-1]]*(1+2*groupGap) {
			to++
		}
		out = append(out, f.part(nodes[from:to]))
		from = to
	}
	return out
}

// part describes some pairs of the finding, by name.
func (f *Finding) part(nodes []int) Part {
	var p Part
	for _, i := range slices.Sorted(slices.Values(nodes)) {
		pair := f.Pairs[i]
		p.Nodes = append(p.Nodes, pair.Node)
		p.Serial += pair.Serial / float64(len(nodes))
		p.Parallel += pair.Parallel / float64(len(nodes))
	}
	p.Kept = p.Parallel / p.Serial
	return p
}

// Alike reports whether each subject loses about what the mean says.
func (f Finding) Alike() bool {
	return f.CDI != nil && len(f.Parts) == 0 && !slices.ContainsFunc(f.Pairs, func(p NodePair) bool {
		return math.Abs(degradation(p.Parallel/p.Serial)-*f.CDI) > alikeKept
	})
}

// PartsText says what the parts keep: "node n04 keeps 20.0 % of its capacity, the
// other 5 nodes 99.1 %"; empty where there are none.
func (f Finding) PartsText() string {
	return f.partsText(f.Parts, "keeps", "keep", " of %s capacity", func(p Part) string { return num.Fraction(p.Kept) })
}

// mostEach is of how many subjects each is told, where no part is.
const mostEach = 3

// EachText says what each of few subjects loses that lose differently, where trials do
// not show that they do: "node n1 loses 45.0 % of its capacity, node n2 0.0 %"; empty of
// others.
func (f Finding) EachText() string {
	if f.Nodes < 2 || f.Nodes > mostEach || len(f.Parts) > 0 || f.CDI == nil || f.Alike() {
		return ""
	}
	lost := func(p NodePair) float64 { return degradation(p.Parallel / p.Serial) }
	var out string
	for i, p := range slices.SortedStableFunc(slices.Values(f.Pairs), func(a, b NodePair) int {
		return cmp.Compare(lost(b), lost(a))
	}) {
		if i == 0 {
			out = fmt.Sprintf("%s %s loses %s of its capacity", f.Of, p.Node, num.Percent(lost(p)))
			continue
		}
		out += fmt.Sprintf(", %s %s %s", f.Of, p.Node, num.Percent(lost(p)))
	}
	return out
}

// SerialPartsText says what the parts do alone: "alone node n04 does 36 Mbit/s,
// the other 5 nodes 100 Mbit/s".
func (f Finding) SerialPartsText() string {
	text := f.partsText(f.SerialParts, "does", "do", "", func(p Part) string {
		return AmountText(p.Serial, f.Unit, f.Resource)
	})
	if text == "" {
		return ""
	}
	return "alone " + text
}

func (f Finding) partsText(parts []Part, does, do, of string, value func(Part) string) string {
	var out string
	for i, p := range parts {
		who, verb, whose := fmt.Sprintf("%d %ss (%s)", len(p.Nodes), f.Of, num.List(p.Nodes)), do, "their"
		if len(p.Nodes) == 1 {
			who, verb, whose = fmt.Sprintf("%s %s", f.Of, p.Nodes[0]), does, "its"
		}
		if i > 0 && i == len(parts)-1 && f.Nodes > 2 {
			who = "the other " + num.Count(len(p.Nodes), string(f.Of))
		}
		if i == 0 {
			out = fmt.Sprintf("%s %s %s", who, verb, value(p))
			if of != "" {
				out += fmt.Sprintf(of, whose)
			}
			continue
		}
		out += fmt.Sprintf(", %s %s", who, value(p))
	}
	return out
}

// twoGroups reports two groups that are distinct and far enough apart to matter.
func twoGroups(xs []float64) (stats.Split, bool) {
	split, err := stats.TwoGroups(xs)
	if err != nil {
		return stats.Split{}, false // too few nodes, or no difference at all
	}
	return split, split.Distinct && split.HighMean-split.LowMean > groupGap*split.HighMean
}
