package evaluation

import (
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
)

// Verdict is the answer in one word.
type Verdict string

// The verdict words. Degraded: the lower bound of the interval is above 0. None:
// it is not, and no loss or gain beyond the tolerance is in the interval. Gain:
// the interval is below 0 and goes beyond the tolerance. Unclear: it contains 0
// and is wider than for none: more measurements would tell.
// Unknown: the measurement does not allow an answer.
const (
	None     Verdict = "none"
	Degraded Verdict = "degraded"
	Gain     Verdict = "gain"
	Unclear  Verdict = "unclear"
	Unknown  Verdict = "unknown"
)

// Subjects is what is measured as one.
type Subjects = model.Subjects

// A node by itself, or the two ends of a connection.
const (
	OfNodes = model.OfNodes
	OfPairs = model.OfPairs
)

// The two ways of scoring a finding: in the common window of a parallel step,
// or over whole tasks.
const (
	WindowCommon = "common"
	WindowWhole  = "whole"
)

// Spread describes capacities over nodes, in the finding's unit. SD is the
// population standard deviation (Stdev.P), as in the paper. Nil, JSON null, is
// a value that is not known: nothing was measured, or only means were given.
type Spread struct {
	Mean *float64 `json:"mean"`
	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	SD   *float64 `json:"sd"`
}

// Interval is a 95 % confidence interval. Both bounds always exist; without an
// interval the pointer to it is nil.
type Interval [2]float64

// Contains reports whether x lies in the closed interval.
func (i Interval) Contains(x float64) bool { return i[0] <= x && x <= i[1] }

// NodePair is the capacity of one subject in both phases, each the mean over
// trials. The subject is a node, or a node pair: then Node names both.
type NodePair struct {
	Node     model.NodeID `json:"node"`
	Serial   float64      `json:"serial"`
	Parallel float64      `json:"parallel"` // in the common window, where there is one
	// ParallelWhole is the same over the whole task: higher than Parallel
	// where early finishers left the rest uncontended.
	ParallelWhole float64 `json:"parallel_whole"`
}

// ParallelSpread adds the total over nodes, C_n; nil when it is not known.
type ParallelSpread struct {
	Spread
	Total *float64 `json:"total"`
}

// Finding is the CDI of one metric of one workload (ScaleBench, section 2.3).
// Its JSON form is a contract that scripts rely on.
type Finding struct {
	// Platform is where it was measured, where several are compared.
	Platform string `json:"platform,omitempty"`
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	// Resource is what the metric is a capacity of; empty when unknown.
	Resource string `json:"resource,omitempty"`
	// Nodes counts the subjects: n in CDI(n). Of says what they are.
	Nodes    int            `json:"nodes"`
	Of       Subjects       `json:"of"`
	Serial   Spread         `json:"serial"`
	Parallel ParallelSpread `json:"parallel"`
	// CDI is 100·(1 − mean parallel / mean serial), in percent; nil when it
	// cannot be computed.
	CDI *float64 `json:"cdi"`
	// CDIMeasured is the index of the values as they were measured, where these were
	// corrected. Capacities, CDI and intervals are of the corrected values. A doubt names
	// what was corrected if that is worth half a per cent or more.
	CDIMeasured *float64 `json:"cdi_measured,omitempty"`
	// Expected is the index that is known beforehand, such as that of a lab by
	// arithmetic; nil: none was given.
	Expected *float64 `json:"expected,omitempty"`
	// ExpectedHere is Expected on this machine, whose cores slow each other down
	// by calibration; nil where that is not known, or of other resources.
	ExpectedHere *float64 `json:"expected_here,omitempty"`
	// CI is the interval that the verdict follows: CIFleet where there is one,
	// else CINodes; nil when there is none.
	CI *Interval `json:"ci"`
	// Degrees are the degrees of freedom of CI; 0: it does not come from a t distribution.
	Degrees float64 `json:"-"`
	// CIFleet answers for the nodes that were measured: what would they show if
	// they were measured again? It comes from batches of time and from trials;
	// nil without either. CINodes answers for other nodes of their kind: the
	// paired Fieller interval over nodes; BCa is the bootstrap over nodes. Both
	// are nil when unbounded or not computable.
	CIFleet *Interval `json:"ci_fleet"`
	CINodes *Interval `json:"ci_nodes"`
	BCa     *Interval `json:"ci_bca"`
	// Possible is CI, wider by what disturbances can explain: what a threshold is
	// held against.
	Possible *Interval `json:"ci_possible"`
	// Overlap is the common window over the span from the first start to the
	// last end, 0 to 1, the least of the parallel trials; nil when unknown.
	Overlap *float64 `json:"overlap"`
	// StartSkewMS is the last start minus the first start, in milliseconds,
	// the largest of the parallel trials; nil when unknown.
	StartSkewMS *float64 `json:"start_skew_ms"`
	EndSpreadMS *float64 `json:"end_spread_ms"`
	// Window says what the parallel capacity was scored on: WindowCommon or
	// WindowWhole. CDIWhole is the index on whole tasks, for comparison.
	Window   string   `json:"window"`
	CDIWhole *float64 `json:"cdi_whole"`
	// CDITrials is the index of each trial alone, in trial order.
	CDITrials []float64 `json:"cdi_trials,omitempty"`
	// Reciprocal says that the metric is a duration and that 1/value was used
	// as capacity (equation 3: C = W/T).
	Reciprocal bool    `json:"reciprocal,omitempty"`
	Verdict    Verdict `json:"verdict"`
	// Doubts are what speaks against the finding; Warnings their texts.
	Doubts   caveat.List   `json:"doubts"`
	Warnings []caveat.Text `json:"warnings"`
	Pairs    []NodePair    `json:"pairs"`
	// Parts are the subjects by the share that they keep, where the mean describes
	// nobody: those that stand out first, the rest last. SerialParts are those of
	// what they do alone.
	Parts       []Part `json:"parts,omitempty"`
	SerialParts []Part `json:"serial_parts,omitempty"`
}

// Name is how sentences call the finding: by workload and metric, unless the
// metric begins with the workload's name.
func (f Finding) Name() string { return nameOf(f.Workload, f.Metric) }

func nameOf(workload, metric string) string {
	if strings.HasPrefix(metric, workload+"_") {
		return metric
	}
	return strings.TrimSpace(workload + " " + metric)
}

// About is the resource that the finding is about, or workload and metric where
// the workload does not name one.
func (f Finding) About() string {
	if f.Resource != "" {
		return f.Resource
	}
	return f.Workload + "/" + f.Metric
}

// Answered reports whether the finding says something: an index with interval
// and a verdict.
func (f Finding) Answered() bool {
	return f.CDI != nil && f.CI != nil && f.Verdict != Unknown
}

// Ends are the bounds, nil if there is no interval.
func (i *Interval) Ends() (lo, hi *float64) {
	if i == nil {
		return nil, nil
	}
	return &i[0], &i[1]
}
