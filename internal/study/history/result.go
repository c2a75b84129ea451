package history

import (
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// Result is the history of each metric. Its JSON form is a contract.
type Result struct {
	Name    string   `json:"name"`
	Level   float64  `json:"level"`
	Metrics []Metric `json:"metrics"`
	Told    []string `json:"told,omitempty"`

	limit *study.Percent
	zone  string
}

// Gate implements study.Result.
func (r *Result) Gate() error {
	if r.limit == nil {
		return nil
	}
	limit := study.Limit{Most: float64(*r.limit), Unit: "%", By: "--fail-worse, or fail_worse in the file"}
	var errs []error
	for _, m := range r.Metrics {
		what := m.name() + ": what the latest run is worse by"
		if m.Latest == nil || m.Latest.Verdict == Unknown {
			errs = append(errs, limit.Unknown(m.name()+": the runs do not tell whether the latest is worse"))
			continue
		}
		switch ci := m.open(); m.Better {
		case model.Higher:
			errs = append(errs, limit.Check(what, 100*(1-ci.Hi), 100*(1-ci.Lo)))
		case model.Lower:
			errs = append(errs, limit.Check(what, 100*(ci.Lo-1), 100*(ci.Hi-1)))
		default:
			errs = append(errs, limit.Unknown(m.name()+": it is not known which direction is better (--better says it)"))
		}
	}
	return errors.Join(errs...)
}

// Metric is the history of one metric. Null is what cannot be computed.
type Metric struct {
	Workload string        `json:"workload,omitempty"`
	Metric   string        `json:"metric"`
	Phase    model.Phase   `json:"phase,omitempty"`
	Branch   string        `json:"branch,omitempty"`
	Unit     string        `json:"unit,omitempty"`
	Better   model.Better  `json:"better,omitempty"`
	Runs     []Run         `json:"runs"` // by time
	Changes  []Change      `json:"changes"`
	Latest   *Latest       `json:"latest"` // null: too few runs before it
	Warnings []string      `json:"warnings"`
	Doubts   []model.Doubt `json:"doubts"`
	facts    []map[string]string
	doubts   model.Doubts
	copies   bool // equal runs may be copies of one
	// calm are the runs by what was measured undisturbed; nil: all was.
	calm map[model.RunID]Run
}

func (m *Metric) name() string {
	name := frame.Key{Workload: m.Workload, Metric: m.Metric, Phase: m.Phase}.Name()
	if m.Branch != "" {
		name += " on " + m.Branch
	}
	return name
}

// Run is what one run came to.
type Run struct {
	Run model.RunID `json:"run"`
	At  time.Time   `json:"at,omitzero"` // of its first value; zero: the table has no times
	// Mean is that over subjects of the mean of each, N how many there are; of one
	// subject that over its values. CI is Student's over these; null: it has none.
	Mean float64 `json:"mean"`
	// AtLeast: the run found only that it is no less, as a search that ended before it
	// had a capacity does.
	AtLeast bool            `json:"at_least,omitempty"`
	CI      *stats.Interval `json:"ci"`
	N       int             `json:"n"`

	nodes map[string]float64 // the mean of each, where nodes are known
	// worth is how many values of one node's scatter the mean is worth; squares and
	// free are the sum of squares of the values, relative to their node's mean, and
	// its degrees of freedom.
	worth, squares, free float64
	// half is half a unit of the last digit of the values.
	half float64
}

// Change is where the level changed.
type Change struct {
	Index int         `json:"index"` // of the first run at the new level
	Run   model.RunID `json:"run"`
	At    time.Time   `json:"at,omitzero"`
	// Before and After are medians of the runs on either side, up to the next
	// changes; P is that of so clear a change by chance.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	P      float64 `json:"p"`
	Facts  []Fact  `json:"facts,omitempty"` // that changed there
}

// Fact is one that changed from one run to the next.
type Fact struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// Index is the first run that has it: that of the change, or the one before or
	// after, for where a level changes is known to about a run.
	Index int `json:"index"`
}

// Verdict is how the latest run lies to those before.
type Verdict string

// The verdict words. As: the interval holds no change. Unknown: something could
// carry the answer.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
	As     Verdict = "as before"

	Unknown Verdict = "unknown"
)

// Latest is the latest run against those before.
type Latest struct {
	Before int `json:"before"` // how many runs those are
	// Ratio is the latest over the geometric mean of those before. CI is Student's
	// for a single run: it holds what runs differ by anyway.
	Ratio   float64        `json:"ratio"`
	CI      stats.Interval `json:"ci"`
	Level   float64        `json:"level"`
	P       float64        `json:"p"`
	Q       float64        `json:"q"` // corrected for the number of metrics
	Verdict Verdict        `json:"verdict"`
	Facts   []Fact         `json:"facts,omitempty"` // that changed with this run

	estimate stats.Estimate // of the logarithm
}
