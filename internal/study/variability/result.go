package variability

import (
	"time"

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Verdict says in a word how a metric varies.
type Verdict string

// The verdicts. Unclear: the interval of the COV lies on both sides of the limit of
// [Steady]. Changes comes before Bands, for a level that changed makes bands;
// Unknown before all.
const (
	Steady  Verdict = "steady"
	Varies  Verdict = "varies"
	Unclear Verdict = "unclear"
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
	Told     []string          `json:"told,omitempty"`
	Metrics  []Metric          `json:"metrics"`
	Together *explain.Together `json:"together,omitempty"`
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
	explain.Spread
	// SettledBy is, of an unclear verdict, about how many times as many values would tell
	// on which side of the limit the COV is; null: no number that can be measured, or
	// the verdict is another.
	SettledBy     *float64               `json:"settled_by"`
	Dependence    explain.Dependence     `json:"dependence"`
	Subjects      *explain.Subjects      `json:"subjects,omitempty"`
	Bands         explain.BandSearch     `json:"bands"`
	Cutoffs       []explain.Cutoff       `json:"cutoffs,omitempty"`
	Facts         []explain.Effect       `json:"facts"`              // those that explain most first
	Constant      []explain.Constant     `json:"constant,omitempty"` // facts with one level
	Confounded    []explain.Confounded   `json:"confounded,omitempty"`
	Groups        []explain.Grouping     `json:"groups,omitempty"`
	Decomposition *explain.Decomposition `json:"decomposition,omitempty"`
	Slots         []*explain.Slots       `json:"slots,omitempty"`
	Course        *explain.Course        `json:"course,omitempty"`
	Outliers      explain.Outliers       `json:"outliers"`
	Repeated      explain.Repeated       `json:"repeated"`
	Repetitions   []Needed               `json:"repetitions"` // a row a target
	Baseline      *Baseline              `json:"baseline,omitempty"`
	Clusters      *explain.Clusters      `json:"clusters,omitempty"`
	Poor          []explain.Poor         `json:"poor,omitempty"`     // nodes, the worst first
	Searches      *Searches              `json:"searches,omitempty"` // of capacities that were searched for
	Advice        []Advice               `json:"advice"`
	Doubts        model.Doubts           `json:"doubts"`
	Warnings      []string               `json:"warnings"`

	x    *examined
	note string // ends the answer
	// sample has the intervals if the fact of the doubt "alike" is a sample; nil: there
	// is no such doubt.
	sample *explain.Spread
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
	Source string            `json:"source"`
	N      int               `json:"n"`
	Mean   float64           `json:"mean"`
	COV    float64           `json:"cov"`
	COVCI  *explain.Interval `json:"cov_ci"`
	// Ratio is COV / baseline's COV.
	Ratio   *float64          `json:"ratio"`
	RatioCI *explain.Interval `json:"ratio_ci"`
}

// Advice is what the measurements allow to advise (the paper, section 8).
type Advice struct {
	// Code is one of redeploy, take_level, report_fact, more_repetitions, more_nodes, measure_longer,
	// level_changed, drift, same_mix, compare_within.
	Code string  `json:"code"`
	Fact string  `json:"fact,omitempty"`
	Node string  `json:"node,omitempty"`
	Text string  `json:"text"`
	Gain float64 `json:"gain,omitempty"` // by which advice is sorted, 0 to 1
}
