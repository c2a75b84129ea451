package capacity

import (
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// Found is what one search of a run has found.
type Found struct {
	Workload string // its name in the experiment file
	Target   string // what was searched, for people
	Trial    int    // from 1
	Config   Config
	Result   Result
}

// Find computes what a run's searches have found, in the order of their first
// windows. searches are those of the experiment by workload; targets name what
// they are of.
func Find(data model.RunData, searches map[string]Config, targets map[string]string) ([]Found, error) {
	type key struct {
		workload string
		trial    int
	}
	seen := make(map[key]bool)
	var out []Found
	for _, s := range data.Steps {
		k := key{s.Workload, s.Trial}
		if s.Phase != model.Search || seen[k] {
			continue
		}
		seen[k] = true
		windows, broken, err := Windows(data, s.Workload, s.Trial)
		if err != nil {
			return nil, err
		}
		cfg := searches[s.Workload]
		state, err := cfg.Evaluate(windows)
		if err != nil {
			return nil, err
		}
		if broken {
			state.Result.Warnings = append(state.Result.Warnings, "a generator was lost in mid-window: the search ended there")
		}
		out = append(out, Found{Workload: s.Workload, Target: targets[s.Workload], Trial: s.Trial, Config: cfg, Result: state.Result})
	}
	return out, nil
}

// Percentiles that are shown of every window.
var Percentiles = []float64{.5, .9, .95, .99, .999}

// Record is a search as it is written for programs: rates are in operations
// per second, latencies in milliseconds; null where there is none.
type Record struct {
	Workload  string           `json:"workload"`
	Target    string           `json:"target"`
	Trial     int              `json:"trial"`
	SLA       string           `json:"sla"`
	Algorithm search.Algorithm `json:"algorithm"`
	Passed    *float64         `json:"passed"`
	Failed    *float64         `json:"failed"`
	Estimate  *float64         `json:"estimate"`
	CI        *[2]float64      `json:"ci"`
	Limit     Limit            `json:"limit"`
	Confirmed bool             `json:"confirmed"`
	Windows   []WindowRecord   `json:"windows"`
	Warnings  []string         `json:"warnings"`
}

// WindowRecord is one window of a [Record].
type WindowRecord struct {
	Load       float64          `json:"load"`
	Phase      search.Phase     `json:"phase"`
	Verdict    Verdict          `json:"verdict"`
	Misses     []string         `json:"misses,omitempty"`
	Generators []string         `json:"generators,omitempty"`
	Start      time.Time        `json:"start,omitzero"`
	Scored     float64          `json:"scored_s"`
	Achieved   float64          `json:"achieved"`
	Due        int64            `json:"due"`
	OK         int64            `json:"ok"`
	Errors     map[string]int64 `json:"errors,omitempty"`
	Dropped    int64            `json:"dropped"`
	Unfinished int64            `json:"unfinished"`
	Late       int64            `json:"late"`
	Waited     int64            `json:"waited"`
	// Latency is by percentile, of all that was due; null where fewer ended
	// well.
	Latency map[string]*float64 `json:"latency_ms"`
	LagP99  *float64            `json:"lag_p99_ms"`
	RTT     *float64            `json:"rtt_ms"`
	// PathChanged: round trips were not those of the baseline.
	PathChanged bool    `json:"path_changed,omitempty"`
	Busy        float64 `json:"generator_busy"`
}

// Record returns what was found for programs.
func (f Found) Record() Record {
	r := f.Result
	out := Record{
		Workload: f.Workload, Target: f.Target, Trial: f.Trial, SLA: f.Config.SLA.String(), Algorithm: f.Config.Algorithm,
		Passed: r.Passed, Failed: r.Failed, Estimate: r.Estimate, CI: r.CI, Limit: r.Limit, Confirmed: r.Confirmed,
		Windows: make([]WindowRecord, 0, len(r.Windows)), Warnings: append([]string{}, r.Warnings...),
	}
	for _, w := range r.Windows {
		out.Windows = append(out.Windows, w.Record())
	}
	return out
}

// Record returns what is known of the window for programs.
func (j Judged) Record() WindowRecord {
	out := WindowRecord{
		Load: j.Load, Phase: j.Phase, Verdict: j.Verdict, Misses: j.Misses, Generators: j.Generators, Start: j.Start,
		Scored: j.Scored.Seconds(), Achieved: j.Achieved(), Due: j.Counts.Due, OK: j.Counts.OK,
		Dropped: j.Counts.Dropped, Unfinished: j.Counts.Unfinished, Late: j.Counts.Late, Waited: j.Counts.Waited,
		Latency: make(map[string]*float64), RTT: known(1000 * median(j.RTT)), PathChanged: j.PathChanged, Busy: j.Busy,
	}
	for _, q := range Percentiles {
		out.Latency[percentileName(q)] = nil
		if d, ok := j.Latency(q); ok {
			out.Latency[percentileName(q)] = milliseconds(d)
		}
	}
	if j.Lags != nil && j.Lags.TotalCount() > 0 {
		out.LagP99 = milliseconds(time.Duration(j.Lags.ValueAtPercentile(99)))
	}
	for k, n := range j.Counts.Errors {
		if n > 0 {
			if out.Errors == nil {
				out.Errors = make(map[string]int64)
			}
			out.Errors[load.Kind(k).String()] = n
		}
	}
	return out
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}
