package compare

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// Result is the comparisons of every metric, with each of the others. Its JSON
// form is a contract that scripts rely on.
type Result struct {
	Base        string       `json:"base"`
	Others      []string     `json:"others"`
	Level       float64      `json:"level"`
	Margin      float64      `json:"margin"` // in percent
	Comparisons []Comparison `json:"comparisons"`
	// Geomeans are one for each unit in which several metrics are measured.
	Geomeans []Geomean `json:"geomeans,omitempty"`
	// Told is what was guessed or left out.
	Told []string `json:"told,omitempty"`

	limit *study.Percent
}

// Side is what there is of A, or of B.
type Side struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
	// N is how many independent values they come to, or pairs.
	N      int      `json:"n"`
	Mean   *float64 `json:"mean"` // of the rows, in the unit of the metric
	Median *float64 `json:"median"`
	COV    *float64 `json:"cov"` // sample SD over mean; null: the mean is not above 0

	bounds int // rows that are only lower bounds
}

// Comparison is one metric of B against A. Null is what cannot be computed.
type Comparison struct {
	Workload string       `json:"workload,omitempty"`
	Metric   string       `json:"metric"`
	Phase    model.Phase  `json:"phase,omitempty"`
	Unit     string       `json:"unit,omitempty"`
	Better   model.Better `json:"better,omitempty"`
	A        Side         `json:"a"`
	B        Side         `json:"b"`
	// Of is what an independent value is (see docs/compare.md), By says it for
	// people; Successive is how many in the order of time were averaged again.
	Of         string `json:"of"`
	By         string `json:"by"`
	Paired     bool   `json:"paired"`
	Successive int    `json:"successive,omitempty"`
	// Method is the test that decides: Ratio is B/A by it, with its interval at
	// Level; P is its two-sided probability, Q that corrected for the number of
	// comparisons. Possible is CI, wider by what drift explains.
	Method   string          `json:"method"`
	Ratio    *float64        `json:"ratio"`
	CI       *stats.Interval `json:"ci"`
	Possible *stats.Interval `json:"ci_possible"`
	Level    float64         `json:"level"`
	P        *float64        `json:"p"`
	Q        *float64        `json:"q"`
	Verdict  Verdict         `json:"verdict"`
	// Needed is how many independent values of each side, or pairs, would settle
	// an unclear verdict with a probability of 80 %.
	Needed *int `json:"needed,omitempty"`
	// Summaries are by what other numbers that users may mean can differ: the mean,
	// and percentiles where the sides scatter differently.
	Summaries []Summary `json:"summaries,omitempty"`
	// T and what follows are of the independent values that N counts, and null where
	// those depend on each other and count for less. MeanRatio is that of --means.
	// T is Welch's test, of pairs the paired one; Ranks Mann and Whitney's U of B,
	// of pairs Wilcoxon's signed ranks. A12 is the share of pairs of values, one of
	// each side, in which B is higher.
	T           *TTest          `json:"t"`
	Ranks       *RankTest       `json:"ranks"`
	A12         *float64        `json:"a12"`
	A12CI       *stats.Interval `json:"a12_ci,omitempty"`
	Shift       *float64        `json:"shift"` // Hodges-Lehmann, B−A in the unit
	ShiftCI     *stats.Interval `json:"shift_ci"`
	MeanRatio   *float64        `json:"mean_ratio"`
	MeanRatioCI *stats.Interval `json:"mean_ratio_ci"`
	Warnings    []string        `json:"warnings"`
	Doubts      []model.Doubt   `json:"doubts"`

	doubts     model.Doubts
	layout     layout
	again      func(level float64) (estimate, error)
	besides    func(c *Comparison, level float64)
	drift      float64         // as a ratio, from A to B; 0: none
	driftOver  float64         // of how many seconds between the sides that is
	mixed      []mixed         // facts that the sides have other shares of
	difference *stats.Interval // of means, where there is no ratio
	rowsA      []float64
	rowsB      []float64
	outsider   *Summary // that makes an equivalent comparison unclear
	calm       *calm    // what nothing disturbed; nil: all, or nothing
}

// Summary is one number of both sides beside the typical value: by what factor it
// may differ in B. Null: it may be any.
type Summary struct {
	Name string          `json:"name"` // "mean", "p99"
	CI   *stats.Interval `json:"ci"`
}

// TTest is a test of means: of B−A.
type TTest struct {
	T          float64        `json:"t"`
	Degrees    float64        `json:"degrees"`
	P          float64        `json:"p"`
	Difference stats.Interval `json:"difference"` // in the unit of the metric
}

// RankTest is a test of ranks.
type RankTest struct {
	Statistic float64 `json:"statistic"`
	P         float64 `json:"p"`
}

// Geomean is the geometric mean of the ratios B/A of several metrics of one unit.
type Geomean struct {
	B      string       `json:"b"`
	Unit   string       `json:"unit,omitempty"`
	Better model.Better `json:"better,omitempty"`
	N      int          `json:"n"`
	Ratio  float64      `json:"ratio"`
}

func (c *Comparison) key() frame.Key {
	return frame.Key{Workload: c.Workload, Metric: c.Metric, Phase: c.Phase}
}

// geomeans are those of the metrics that have a ratio, in the order of their
// units.
func geomeans(all []Comparison) []Geomean {
	var out []Geomean
	for _, c := range all {
		if c.Ratio == nil || *c.Ratio == 0 { // what became nothing has no logarithm
			continue
		}
		i := slices.IndexFunc(out, func(g Geomean) bool {
			return g.B == c.B.Name && g.Unit == c.Unit && g.Better == c.Better
		})
		if i < 0 {
			i, out = len(out), append(out, Geomean{B: c.B.Name, Unit: c.Unit, Better: c.Better})
		}
		out[i].N++
		out[i].Ratio += math.Log(*c.Ratio)
	}
	out = slices.DeleteFunc(out, func(g Geomean) bool { return g.N < 2 })
	for i, g := range out {
		out[i].Ratio = math.Exp(g.Ratio / float64(g.N))
	}
	return out
}
