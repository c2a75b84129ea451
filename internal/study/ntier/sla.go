package ntier

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
)

// Kept is whether one load kept the SLA, by the interval over its trials.
type Kept struct {
	Users int   `json:"users"`
	Kept  *bool `json:"kept"` // null: it is not known
	// TrialsKept is how many of the trials did by themselves.
	TrialsKept int    `json:"trials_kept"`
	Trials     int    `json:"trials"`
	Why        string `json:"why,omitempty"` // what was missed, or why it is not known
}

const generatorBound = "the generator was the limit"

// keptBy judges each load, unless all of them are withdrawn: then only one at which
// every operation failed is told.
func keptBy(sla load.SLA, loads []bottleneck.Load, trials []trial, withdrawn string) []Kept {
	var out []Kept
	for _, l := range loads {
		k := Kept{Users: l.Users}
		var of []load.Outcome
		known, failed := true, l.Refused == ""
		for _, t := range trials {
			if t.Users == l.Users {
				// Where every operation failed there is no latency, and nothing more to know.
				of, failed = append(of, load.Outcome{Latencies: t.latencies, Errors: t.Errors}), failed && t.Errors >= 1
				known = known && (t.Errors >= 1 || t.latencies != nil && !math.IsNaN(t.Errors))
			}
		}
		k.Trials = len(of)
		switch {
		case withdrawn != "" && !failed:
			k.Why = withdrawn
		case l.Refused != "":
			k.Why = generatorBound
		case !known || len(of) == 0:
			k.Why = "response times or errors are not known"
		default:
			k.Kept, k.TrialsKept, k.Why = sla.OverTrials(of)
			if k.kept() && l.Spoiled() { // users were missing, or waited for longer than is told
				k.Kept, k.Why = nil, "X·(R+Z)/N of a trial is off, or too much failed there"
			}
		}
		out = append(out, k)
	}
	return out
}

func (k Kept) kept() bool { return k.Kept != nil && *k.Kept }

// keeps is the verdict at a load; nil: it cannot be told, and why.
func (f Finding) keeps(users int) (kept *bool, why string) {
	for _, k := range f.Kept {
		if k.Users == users {
			return k.Kept, k.Why
		}
	}
	return nil, fmt.Sprintf("it was not measured with %s", num.Count(users, "user"))
}

// slaLoad is the largest load that kept the SLA, below the first that broke it; 0:
// none is known to. The doubt is what speaks against it.
func (f Finding) slaLoad() (users int, doubt string) {
	var open []string
	for i, k := range f.Kept {
		if k.kept() {
			users = k.Users
		} else if k.Kept != nil { // broken
			if later := slices.IndexFunc(f.Kept[i:], Kept.kept); later > 0 {
				return users, fmt.Sprintf("%s kept the SLA, and %d did not: repeat both", num.Count(f.Kept[i+later].Users, "user"), k.Users)
			}
			break
		} else if k.Why != generatorBound { // which is told where loads are
			open = append(open, fmt.Sprintf("with %s (%s)", num.Count(k.Users, "user"), k.Why))
		}
	}
	if len(open) > 0 {
		doubt = "whether the SLA was kept cannot be told " + num.List(open)
	}
	return users, doubt
}
