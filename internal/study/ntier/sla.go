package ntier

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/stats"
)

// Kept is whether one load kept the SLA, by the interval over its trials.
type Kept struct {
	Users int   `json:"users"`
	Kept  *bool `json:"kept"` // null: it cannot be told
	// TrialsKept is how many of the trials did by themselves.
	TrialsKept int    `json:"trials_kept"`
	Trials     int    `json:"trials"`
	Why        string `json:"why,omitempty"` // what was missed, or why it cannot be told
}

// keptBy judges each load.
func keptBy(sla load.SLA, loads []bottleneck.Load, trials []trial) []Kept {
	var out []Kept
	for _, l := range loads {
		k := Kept{Users: l.Users}
		var of []trial
		known := true
		for _, t := range trials {
			if t.Users == l.Users {
				of, known = append(of, t), known && t.latencies != nil && !math.IsNaN(t.Errors)
			}
		}
		k.Trials = len(of)
		switch {
		case l.Refused != "":
			k.Why = "the generator was the limit"
		case !known || len(of) == 0:
			k.Why = "response times or errors are not known"
		default:
			k.judge(sla, of)
		}
		out = append(out, k)
	}
	return out
}

// judge holds each term to its limit: the SLA is kept if the whole interval of each
// is below, and broken if that of one is above.
func (k *Kept) judge(sla load.SLA, of []trial) {
	each := make([]bool, len(of)) // trial that missed a term
	kept := true
	for _, term := range sla.Terms {
		var values []float64
		limit := limitOf(term)
		for i, t := range of {
			v := valueOf(term, t.latencies, t.Errors)
			values, each[i] = append(values, v), each[i] || v > limit
		}
		broken, why := heldTo(values, limit, term)
		if broken {
			no := false
			k.Kept, k.Why, kept = &no, why, false
			break
		}
		if why != "" && kept {
			k.Why, kept = why, false
		}
	}
	for _, missed := range each {
		if !missed {
			k.TrialsKept++
		}
	}
	if kept {
		k.Kept = &kept
	}
}

// heldTo is whether values of trials are above a limit, and why, or why that cannot
// be told; neither: they are below.
func heldTo(values []float64, limit float64, term load.Term) (broken bool, why string) {
	name, print := "errors", num.Fraction
	if !term.OnErrors() {
		name, print = load.Percentile(term.Quantile), num.Seconds
	}
	lo, hi, above := math.Inf(1), math.Inf(-1), 0
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
		if v > limit {
			above++
		}
	}
	if len(values) < 2 {
		return false, fmt.Sprintf("%s %s in one trial: more trials would tell", name, amount(lo, print))
	}
	if mean, ci, err := stats.MeanInterval(values, stats.DefaultLevel); err == nil && !math.IsInf(mean, 0) {
		lo, hi = max(0, ci.Lo), ci.Hi
	}
	said := fmt.Sprintf("%s %s", name, amount(lo, print))
	if hi > lo {
		said = fmt.Sprintf("%s [%s .. %s]", name, amount(lo, print), amount(hi, print))
	}
	switch {
	case lo > limit:
		return true, fmt.Sprintf("%s, not %s", said, print(limit))
	case hi > limit:
		return false, fmt.Sprintf("%s, around %s: missed in %d of %d trials; more trials would tell", said, print(limit), above, len(values))
	}
	return false, ""
}

// amount prints a value that may be beyond all that was measured.
func amount(v float64, print func(float64) string) string {
	if math.IsInf(v, 1) {
		return "never"
	}
	return print(v)
}

// limitOf is that of a term, in seconds or as a share.
func limitOf(t load.Term) float64 {
	if t.OnErrors() {
		return t.Errors
	}
	return t.Latency.Seconds()
}

// valueOf is what a trial came to. An operation that failed is slower than any limit.
func valueOf(t load.Term, latencies *hdrhistogram.Histogram, errs float64) float64 {
	switch {
	case t.OnErrors():
		return errs
	case t.Quantile > 1-errs && errs > 0:
		return math.Inf(1)
	}
	return float64(latencies.ValueAtQuantile(100*t.Quantile/(1-errs))) / 1e9
}

// keeps is the verdict at a load; nil: it was not measured, or cannot be told.
func (f Finding) keeps(users int) *bool {
	for _, k := range f.Kept {
		if k.Users == users {
			return k.Kept
		}
	}
	return nil
}

// slaLoad is the largest load that kept the SLA, below the first that broke it; 0:
// none is known to. The doubt is what speaks against it.
func (f Finding) slaLoad() (users int, doubt string) {
	var open []int
	for i, k := range f.Kept {
		switch {
		case k.Kept == nil:
			open = append(open, k.Users)
			continue
		case !*k.Kept:
			for _, later := range f.Kept[i:] {
				if later.Kept != nil && *later.Kept {
					return users, fmt.Sprintf("%s kept the SLA, and %d did not: repeat both", num.Count(later.Users, "user"), k.Users)
				}
			}
		default:
			users = k.Users
		}
		if !*k.Kept {
			break
		}
	}
	if len(open) > 0 {
		doubt = fmt.Sprintf("whether the SLA was kept cannot be told with %s: more trials would tell", num.List(texts(open, "users")))
	}
	return users, doubt
}

// texts are numbers as words: "80 users".
func texts(numbers []int, of string) []string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = fmt.Sprintf("%d", n)
	}
	if len(out) > 0 {
		out[len(out)-1] += " " + of
	}
	return out
}
