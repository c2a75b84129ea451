package variability

import (
	"encoding/json"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Verdict says in a word how a metric varies.
type Verdict string

// The verdicts. Changes comes before Bands, for a level that changed makes bands;
// Unknown before all.
const (
	Steady  Verdict = "steady"
	Varies  Verdict = "varies"
	Bands   Verdict = "bands"
	Changes Verdict = "changes"
	Unknown Verdict = "unknown"
)

// steadyCOV is the COV up to which a metric is steady.
const steadyCOV = 0.05

// Result answers how much the metrics of the sources vary. Its JSON form is a
// contract. COVs and shares are fractions, not percent; intervals are [lo, hi],
// and null where there is none; times are RFC 3339.
type Result struct {
	Level float64 `json:"level"` // of all intervals
	// Told is what was guessed or left out while the sources were read.
	Told     []string  `json:"told,omitempty"`
	Metrics  []Metric  `json:"metrics"`
	Together *Together `json:"together,omitempty"`
	// Doubts are what speaks against the answers, those of all metrics; Warnings
	// their texts.
	Doubts   model.Doubts `json:"doubts"`
	Warnings []string     `json:"warnings"`

	params *Params
	title  string
}

// Metric is one metric of one workload and phase.
type Metric struct {
	frame.Key
	Unit    string       `json:"unit"`
	Better  model.Better `json:"better,omitempty"`
	Verdict Verdict      `json:"verdict"`
	Text    string       `json:"text"` // the answer in a sentence
	N       int          `json:"n"`
	// From and To are the first and the last time; null where times are not known.
	From *time.Time `json:"from"`
	To   *time.Time `json:"to"`
	Zone string     `json:"zone"` // of hours and weekdays
	Spread
	Dependence    Dependence     `json:"dependence"`
	Subjects      *Subjects      `json:"subjects,omitempty"`
	Bands         BandSearch     `json:"bands"`
	Cutoffs       []Cutoff       `json:"cutoffs,omitempty"`
	Facts         []Effect       `json:"facts"`              // those that explain most first
	Constant      []Constant     `json:"constant,omitempty"` // facts with one level
	Confounded    []Confounded   `json:"confounded,omitempty"`
	Groups        []Grouping     `json:"groups,omitempty"`
	Decomposition *Decomposition `json:"decomposition,omitempty"`
	Course        *Course        `json:"course,omitempty"`
	Outliers      Outliers       `json:"outliers"`
	Repeated      Repeated       `json:"repeated"`
	Repetitions   []Needed       `json:"repetitions"` // a row a target
	Baseline      *Baseline      `json:"baseline,omitempty"`
	Clusters      *Clusters      `json:"clusters,omitempty"`
	Advice        []Advice       `json:"advice"`
	Doubts        model.Doubts   `json:"doubts"`
	Warnings      []string       `json:"warnings"`

	x    *examined
	note string // ends the answer
}

// Interval is the ends of a confidence interval; a pointer to it is nil where
// there is none.
type Interval [2]float64

// Spread is how far values vary, in their own unit. COV is SD/mean with the sample
// SD (the paper, section 4.5); null of fewer than two values, or where the mean is
// not above 0.
type Spread struct {
	Mean     float64   `json:"mean"`
	MeanCI   *Interval `json:"mean_ci"`
	Median   float64   `json:"median"`
	MedianCI *Interval `json:"median_ci"`
	Min      float64   `json:"min"`
	Max      float64   `json:"max"`
	Range    float64   `json:"range"`
	SD       *float64  `json:"sd"`
	COV      *float64  `json:"cov"`
	COVCI    *Interval `json:"cov_ci"`
	// Intervals says how they were computed, as rows may depend on each other:
	// "independent rows", "blocks of 12 rows", "nodes".
	Intervals string `json:"intervals"`
}

// Dependence is how much rows tell that others do not.
type Dependence struct {
	// Lag1 is the autocorrelation of neighbours in time; null where it cannot be
	// computed. Dependent says that it is more than chance.
	Lag1      *float64 `json:"lag1"`
	Dependent bool     `json:"dependent"`
	// EffectiveN is how many independent rows the rows are worth for the mean, by
	// autocorrelation and by rows of one node being alike; Block the length of
	// blocks, in rows, that are about independent.
	EffectiveN float64 `json:"effective_n"`
	Block      int     `json:"block,omitempty"`
	// InTime is EffectiveN by autocorrelation alone.
	InTime float64 `json:"effective_n_in_time"`
	// LimitedBy is the fact of which rows of one level are alike, so that EffectiveN
	// is what it is ("node"), and Groups how many levels have rows.
	LimitedBy string `json:"limited_by,omitempty"`
	Groups    int    `json:"groups,omitempty"`

	clustered *stats.Clustered // by LimitedBy; nil without
	ofTimes   *stats.Clustered // by time, where rows of one time are alike and nothing else limits
	ofSeries  float64          // what share of the times is independent
}

// Subjects is what rows of one node have in common.
type Subjects struct {
	N int `json:"n"`
	// Between is the COV of the nodes' means, Within the mean of the nodes' COVs;
	// null where they are not defined.
	Between *float64 `json:"between"`
	Within  *float64 `json:"within"`
	// ICC is the share of the variance that lies between nodes (intraclass
	// correlation, from one-way analysis of variance, not below 0).
	ICC float64 `json:"icc"`
}

// Band is a part of the values between two gaps.
type Band struct {
	From    float64   `json:"from"` // least and greatest value in it; null of none, as the mean
	To      float64   `json:"to"`
	N       int       `json:"n"`
	Share   float64   `json:"share"`
	ShareCI *Interval `json:"share_ci"` // Wilson
	Mean    float64   `json:"mean"`
	COV     *float64  `json:"cov"`
}

// MarshalJSON has no ends and no mean of a band without values.
func (b Band) MarshalJSON() ([]byte, error) {
	type plain Band
	if b.N > 0 {
		return json.Marshal(plain(b)) //nolint:wrapcheck // as json does
	}
	return json.Marshal(struct { //nolint:wrapcheck // as json does
		plain
		From *float64 `json:"from"`
		To   *float64 `json:"to"`
		Mean *float64 `json:"mean"`
	}{plain: plain(b)})
}

// BandSearch is whether the values fall into bands, by Hartigan's dip test, or
// a gap, and a mixture in the logarithm (docs/methods.md).
type BandSearch struct {
	Found bool     `json:"found"`
	P     *float64 `json:"p"`             // of dip test and gap; null where they were not made
	Why   string   `json:"why,omitempty"` // none were found, or looked for
	Bands []Band   `json:"bands,omitempty"`
	// By is the fact that explains best in which band a value is; null: none does.
	By *Explains `json:"explained_by"`
}

// Cutoff is two bands divided by a value, as in Table 2 of the paper: those
// strictly below it, and the others.
type Cutoff struct {
	At    float64   `json:"at"`
	Lower Band      `json:"lower"`
	Upper Band      `json:"upper"`
	By    *Explains `json:"explained_by"`
}

// Explains is how well a fact tells the band.
type Explains struct {
	Fact string `json:"fact"`
	// V is Cramér's, corrected for bias: 1 where the fact tells the band, 0 where it
	// tells nothing.
	V float64 `json:"cramers_v"`
	// Levels are those of each band that are in it most, with their share of it.
	Levels []BandLevel `json:"levels,omitempty"`
	// Same are facts that tell it as well, and cannot be told apart from this one.
	Same []string `json:"same,omitempty"`
}

// BandLevel is the level that most values of a band have.
type BandLevel struct {
	Level string  `json:"level"`
	Share float64 `json:"share"` // of the band's values
}

// Effect is how much of the variance a fact explains.
type Effect struct {
	Fact   string `json:"fact"`
	Levels int    `json:"levels"`
	// Eta2 is η² = SS_between/SS_total; Omega2 is ω², the same corrected for chance,
	// and not below 0; CI is the interval of the share that η² of these rows
	// estimates, as if they were independent.
	Eta2   float64   `json:"eta2"`
	Omega2 float64   `json:"omega2"`
	CI     *Interval `json:"eta2_ci"`
	// P tests whether the levels differ at all, over Units that are independent:
	// rows, or nodes, repetitions or stretches of time in which the level stays the
	// same. Adjusted is P after Holm, over all facts. Null: cannot be tested; Why
	// says for what, or that the units are too few for any p to stand out.
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
	Units    string   `json:"units,omitempty"`
	Why      string   `json:"why,omitempty"`
	// Significant: the fact explains something, with the error rate of alarms.
	Significant bool `json:"significant"`
	// Derived facts follow from the time of a row.
	Derived bool `json:"derived,omitempty"`

	sizes []float64 // units of each level; nil: many
}

// Constant is a fact that is the same in all rows.
type Constant struct {
	Fact  string `json:"fact"`
	Level string `json:"level"`
}

// Confounded are two facts that tell (nearly) the same of each row, so that what
// one explains may be due to the other.
type Confounded struct {
	A string  `json:"a"`
	B string  `json:"b"`
	V float64 `json:"cramers_v"`
}

// Grouping is the distribution of the values by the levels of a fact.
type Grouping struct {
	Fact   string  `json:"fact"`
	Groups []Group `json:"groups"` // those with most values first
	Rest   int     `json:"rest"`   // rows of further levels, or of none
}

// Group is the values of one level. P01 to P99 are for box plots as in AISLE:
// whiskers at 1 and 99 %, the box at 25 and 75 %.
type Group struct {
	Level  string    `json:"level"`
	N      int       `json:"n"`
	Share  float64   `json:"share"`
	Mean   float64   `json:"mean"`
	Median float64   `json:"median"`
	COV    *float64  `json:"cov"`
	COVCI  *Interval `json:"cov_ci"`
	Min    float64   `json:"min"`
	P01    float64   `json:"p01"`
	P25    float64   `json:"p25"`
	P75    float64   `json:"p75"`
	P99    float64   `json:"p99"`
	Max    float64   `json:"max"`
}

// Outliers are values far from all others, in each band by itself: beyond twice
// the distance of the fences of the adjusted boxplot (stats.OutlierFences) from the
// quartiles, where two of a million normal values lie. They are named, and count as
// all others do.
type Outliers struct {
	N     int       `json:"n"`
	Share float64   `json:"share"`
	Rows  []Outlier `json:"rows,omitempty"` // the farthest first, no more than MostOutliers
}

// MostOutliers is how many outliers are named.
const MostOutliers = 20

// Outlier is one value with what is known of it.
type Outlier struct {
	Row   int               `json:"row"` // from 1, in the order of times
	Time  *time.Time        `json:"time"`
	Value float64           `json:"value"`
	Node  string            `json:"node,omitempty"`
	Facts map[string]string `json:"facts,omitempty"`
}

// Repeated is how often it was measured: as often as By, one of repetition, run and
// trial, has levels; "": the rows do not say, and each counts.
type Repeated struct {
	By string `json:"by,omitempty"`
	N  int    `json:"n"`
}

// Needed is how often to measure for an interval of ±Target around mean and median.
type Needed struct {
	Target float64 `json:"target"` // a fraction
	// Mean and Median are how many repetitions it takes in all, as Repeated counts
	// them, and More how many are missing; null: it cannot be told, or no number of
	// them is enough on these nodes.
	Mean       *int `json:"mean"`
	MoreMean   *int `json:"more_mean"`
	Median     *int `json:"median"`
	MoreMedian *int `json:"more_median"`
	// Nodes are, where the rows of one node are alike, how many nodes it takes for
	// the mean, each as often as now; MedianNodes for the median.
	Nodes           *int   `json:"nodes,omitempty"`
	MoreNodes       *int   `json:"more_nodes,omitempty"`
	MedianNodes     *int   `json:"median_nodes,omitempty"`
	MoreMedianNodes *int   `json:"more_median_nodes,omitempty"`
	Why             string `json:"why,omitempty"`
}

// Baseline compares the COV with that of a baseline.
type Baseline struct {
	Source string    `json:"source"`
	N      int       `json:"n"`
	Mean   float64   `json:"mean"`
	COV    float64   `json:"cov"`
	COVCI  *Interval `json:"cov_ci"`
	// Ratio is COV / baseline's COV.
	Ratio   *float64  `json:"ratio"`
	RatioCI *Interval `json:"ratio_ci"`
}

// Advice is what the measurements allow to advise (the paper, section 8).
type Advice struct {
	// Code is one of take_level, report_fact, more_repetitions, more_nodes, measure_longer,
	// level_changed, drift, same_mix, compare_within.
	Code string  `json:"code"`
	Fact string  `json:"fact,omitempty"`
	Text string  `json:"text"`
	Gain float64 `json:"gain,omitempty"` // by which advice is sorted, 0 to 1
}

// interval is the pointer form of an interval that may have failed.
func interval(ci stats.Interval, err error) *Interval {
	if err != nil {
		return nil
	}
	return &Interval{ci.Lo, ci.Hi}
}
