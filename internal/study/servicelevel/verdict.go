package servicelevel

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/stats"
)

// Verdict is how a cell stands to its model; empty where there is none.
type Verdict string

// The verdicts, see the help of the command.
const (
	Holds   Verdict = "holds"
	Lower   Verdict = "lower"
	Higher  Verdict = "higher"
	Unclear Verdict = "unclear"
	Unknown Verdict = "unknown"
)

// severity orders verdicts, the worst first.
var severity = [...]Verdict{Lower, Higher, Unknown, Unclear, Holds}

func (v Verdict) tone() doc.Tone {
	return map[Verdict]doc.Tone{Holds: doc.Good, Lower: doc.Bad, Higher: doc.Gain, Unknown: doc.Doubt,
		Unclear: doc.Note}[v]
}

// Comparison is a measured rate beside what is expected, in operations a second.
type Comparison struct {
	Way      string  `json:"way,omitempty"` // read or write; empty: both together
	Measured float64 `json:"measured"`
	Expected float64 `json:"expected"`
	// Ratio is the geometric mean over repetitions of measured by expected, and CI its
	// interval at IntervalLevel, with which all verdicts together hold.
	Ratio         float64         `json:"ratio"`
	CI            *stats.Interval `json:"ci"`
	IntervalLevel float64         `json:"interval_level,omitempty"`
	// P is the error rate at which this verdict alone could be given, corrected for all
	// comparisons after Holm.
	P       *float64 `json:"p"`
	Verdict Verdict  `json:"verdict"`

	logs []float64
}

// compare compares all cells with their models.
func (r *Result) compare(p *Params) {
	var all []*Comparison
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Expected == nil || c.burst {
			continue
		}
		c.Compared = c.comparisons()
		for k := range c.Compared {
			all = append(all, &c.Compared[k])
		}
	}
	judge(all, p.bounds(), p.Level)
	for i := range r.Cells {
		r.Cells[i].settle(p.least(1))
	}
	r.doubt()
}

// comparisons are those of a cell: of reads or of writes where a limit of these alone
// binds, and of all operations otherwise. What the other direction of a mix does is not up
// to the volume: its share is drawn at random.
func (c *Measurement) comparisons() (out []Comparison) {
	add := func(way levels.Way, share, reads, writes float64) {
		x := Comparison{Way: string(way), Expected: share * c.Expected.Ops}
		for _, w := range c.ways {
			rate := reads*w[0] + writes*w[1]
			x.Measured += rate / float64(len(c.ways))
			x.logs = append(x.logs, math.Log(rate/x.Expected))
		}
		out = append(out, x)
	}
	mixed := c.Reads > 0 && c.Reads < 100
	if mixed && slices.Contains(c.Expected.ways, levels.Read) {
		add(levels.Read, c.share(), 1, 0)
	}
	if mixed && slices.Contains(c.Expected.ways, levels.Write) {
		add(levels.Write, 1-c.share(), 0, 1)
	}
	if len(out) == 0 {
		add("", 1, 1, 1)
	}
	return out
}

// judge gives each comparison its verdict, so that the probability of any wrong one is at
// most 1−level.
//
// At the error rate p a comparison gets a verdict if its interval at 1−p excludes the
// expected rate, or lies within the bounds (two one-sided tests). The least such p is
// corrected after Holm. The interval that is shown has the level at which Holm's
// procedure looked at this comparison, so that it agrees with the verdict.
func judge(all []*Comparison, bounds stats.Interval, level float64) {
	var told []*Comparison
	var ps []float64
	for _, x := range all {
		x.Verdict = Unclear
		if p := x.smallest(bounds); !math.IsNaN(p) {
			told, ps = append(told, x), append(ps, p)
		}
	}
	corrected, err := stats.Holm(ps)
	if err != nil {
		return // p-values are 0 to 1
	}
	_, order := stats.SortRows(ps)
	left := len(ps)
	for _, i := range order {
		told[i].conclude(bounds, 1-(1-level)/float64(left), corrected[i])
		if corrected[i] <= 1-level { // else the procedure ends, and the rest is looked at as this one
			left--
		}
	}
}

// smallest is the least error rate at which a comparison has a verdict; NaN: there are too
// few repetitions, or no scatter.
func (x *Comparison) smallest(bounds stats.Interval) float64 {
	mean, _, err := stats.MeanInterval(x.logs, stats.DefaultLevel)
	if !math.IsNaN(mean) { // a repetition without any operation has no logarithm
		x.Ratio = math.Exp(mean)
	}
	if err != nil {
		return math.NaN()
	}
	sd, _ := stats.SampleSD(x.logs) // there is an interval
	tails := func(distance float64) float64 {
		t := distance / sd * math.Sqrt(float64(len(x.logs)))
		return stats.FTail(t*t, 1, float64(len(x.logs)-1))
	}
	if inside := min(mean-bounds.Lo, bounds.Hi-mean); inside > 0 {
		return min(tails(mean), tails(inside))
	}
	return tails(mean)
}

// conclude sets interval and verdict at a level.
func (x *Comparison) conclude(bounds stats.Interval, level, corrected float64) {
	_, ci, _ := stats.MeanInterval(x.logs, level) // there is one at any level
	x.CI, x.IntervalLevel, x.P = &stats.Interval{Lo: math.Exp(ci.Lo), Hi: math.Exp(ci.Hi)}, level, &corrected
	switch {
	case ci.Lo >= bounds.Lo && ci.Hi <= bounds.Hi:
		x.Verdict = Holds
	case ci.Hi < 0:
		x.Verdict = Lower
	case ci.Lo > 0:
		x.Verdict = Higher
	}
}

// worst is the most severe verdict; empty: there is none.
func worst[T any](all []T, of func(T) Verdict) Verdict {
	for _, v := range severity {
		if slices.ContainsFunc(all, func(x T) bool { return of(x) == v }) {
			return v
		}
	}
	return ""
}

// settle gives a cell the worst verdict of its comparisons. What a volume did with fewer
// operations in flight than it takes says nothing against its limit. least is the share of
// what is expected from which the limit was reached.
func (c *Measurement) settle(least float64) {
	for i, x := range c.Compared {
		if !c.Saturated && (x.Verdict == Lower || x.Verdict == Unclear && x.Ratio < least) {
			c.Compared[i].Verdict = Unknown
		}
	}
	c.Verdict = worst(c.Compared, func(x Comparison) Verdict { return x.Verdict })
	if c.burst && c.Expected != nil {
		c.Verdict = Unknown
	}
}

// doubt adds the caveats, one of each kind.
func (r *Result) doubt() {
	add := func(def caveat.Def[cellList], is func(Measurement) bool) {
		var cells []CellName
		for _, c := range r.Cells {
			if is(c) {
				cells = append(cells, c.name())
			}
		}
		if len(cells) > 0 {
			r.Doubts.Add(def.Warn(cellList{cells}))
		}
	}
	short := func(c Measurement) bool {
		return !c.Saturated && !c.burst && (c.Expected == nil || c.Verdict == Unknown)
	}
	add(latency, func(c Measurement) bool { return short(c) && c.Depth == 1 })
	add(notSaturated, func(c Measurement) bool { return short(c) && c.Depth > 1 })
	add(burst, func(c Measurement) bool { return c.burst })
	add(noInterval, func(c Measurement) bool {
		return slices.ContainsFunc(c.Compared, func(x Comparison) bool { return x.CI == nil })
	})
	add(noModel, func(c Measurement) bool { return c.Expected == nil })
}
