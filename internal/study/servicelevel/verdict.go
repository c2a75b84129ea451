package servicelevel

import (
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
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
	return map[Verdict]doc.Tone{Holds: doc.Good, Lower: doc.Bad, Higher: doc.Gain, Unknown: doc.Doubt, Unclear: doc.Note}[v]
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
	p    float64 // not corrected; NaN: there is no interval
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
		r.Cells[i].settle()
	}
	r.doubt()
}

// comparisons are those of a cell: of reads and of writes each where both are limited on
// their own and both are done.
func (c *Cell) comparisons() []Comparison {
	add := func(way string, share float64, of func([2]float64) float64) Comparison {
		x := Comparison{Way: way, Expected: share * c.Expected.Ops}
		for _, w := range c.ways {
			x.Measured += of(w) / float64(len(c.ways))
			x.logs = append(x.logs, math.Log(of(w)/x.Expected))
		}
		return x
	}
	share := float64(c.Reads) / 100
	if !c.apart || c.Reads == 0 || c.Reads == 100 {
		return []Comparison{add("", 1, func(w [2]float64) float64 { return w[0] + w[1] })}
	}
	return []Comparison{
		add("read", share, func(w [2]float64) float64 { return w[0] }),
		add("write", 1-share, func(w [2]float64) float64 { return w[1] }),
	}
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
		if x.p = x.least(bounds); !math.IsNaN(x.p) {
			told, ps = append(told, x), append(ps, x.p)
		} else {
			x.Verdict = Unclear
		}
	}
	corrected, err := stats.Holm(ps)
	if err != nil {
		return // p-values are 0 to 1
	}
	_, order := stats.SortRows(ps)
	for rank, i := range order {
		x := told[i]
		if corrected[i] > 1-level { // the procedure ends here for all that follow
			for _, k := range order[rank:] {
				told[k].conclude(bounds, 1-(1-level)/float64(len(ps)-rank), corrected[k])
			}
			return
		}
		x.conclude(bounds, 1-(1-level)/float64(len(ps)-rank), corrected[i])
	}
}

// least is the least error rate at which a comparison has a verdict; NaN: there are too
// few repetitions, or no scatter.
func (x *Comparison) least(bounds stats.Interval) float64 {
	mean, half, err := meanAndError(x.logs)
	x.Ratio = math.Exp(mean)
	if err != nil {
		return math.NaN()
	}
	nu := float64(len(x.logs) - 1)
	tail := func(t float64) float64 { // two-sided
		return stats.FTail(t*t, 1, nu)
	}
	p := tail(mean / half)
	if inside := min(mean-bounds.Lo, bounds.Hi-mean); inside > 0 {
		p = min(p, tail(inside/half))
	}
	return p
}

// meanAndError are the mean of values and its standard error.
func meanAndError(values []float64) (mean, se float64, err error) {
	if mean, _, err = stats.MeanInterval(values, stats.DefaultLevel); err != nil {
		return mean, 0, err
	}
	sd, err := stats.SampleSD(values)
	return mean, sd / math.Sqrt(float64(len(values))), err
}

// conclude sets interval and verdict at a level.
func (x *Comparison) conclude(bounds stats.Interval, level, corrected float64) {
	_, ci, err := stats.MeanInterval(x.logs, level)
	if err != nil {
		x.Verdict = Unclear
		return
	}
	x.CI, x.IntervalLevel, x.P = &stats.Interval{Lo: math.Exp(ci.Lo), Hi: math.Exp(ci.Hi)}, level, &corrected
	switch {
	case ci.Lo >= bounds.Lo && ci.Hi <= bounds.Hi:
		x.Verdict = Holds
	case ci.Hi < 0:
		x.Verdict = Lower
	case ci.Lo > 0:
		x.Verdict = Higher
	default:
		x.Verdict = Unclear
	}
}

// settle gives a cell the worst verdict of its comparisons. What a volume did with fewer
// operations in flight than it takes says nothing against its limit.
func (c *Cell) settle() {
	if c.burst && c.Expected != nil {
		c.Verdict = Unknown
		return
	}
	for i := range c.Compared {
		x := &c.Compared[i]
		if !c.Saturated && (x.Verdict == Lower || x.Verdict == Unclear) {
			x.Verdict = Unknown
		}
	}
	for _, v := range severity {
		if slices.ContainsFunc(c.Compared, func(x Comparison) bool { return x.Verdict == v }) {
			c.Verdict = v
			return
		}
	}
}

// doubt adds the caveats, one of each kind.
func (r *Result) doubt() {
	var alone, spent, bare, noCI of
	deep := make(map[int][]CellName)
	for _, c := range r.Cells {
		name := c.name()
		switch {
		case c.Expected == nil:
			bare.Cells = append(bare.Cells, name)
		case c.burst:
			spent.Cells = append(spent.Cells, name)
		case slices.ContainsFunc(c.Compared, func(x Comparison) bool { return x.CI == nil }):
			noCI.Cells = append(noCI.Cells, name)
		}
		switch {
		case c.Saturated || c.Verdict == Holds || c.Verdict == Higher:
		case c.Depth == 1:
			alone.Cells = append(alone.Cells, name)
		default:
			deep[c.Depth] = append(deep[c.Depth], name)
		}
	}
	r.warn(latency, alone)
	for _, depth := range slices.Sorted(maps.Keys(deep)) {
		r.warn(rising, of{deep[depth], depth})
	}
	r.warn(burst, spent)
	r.warn(noInterval, noCI)
	r.warn(noModel, bare)
}

func (r *Result) warn(def caveat.Def[of], cells of) {
	if len(cells.Cells) > 0 {
		r.Doubts.Add(def.Warn(cells))
	}
}
