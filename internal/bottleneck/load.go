package bottleneck

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Load is what the trials with one number of users came to.
type Load struct {
	Users  int `json:"users"`
	Trials int `json:"trials"`
	// Throughput is the mean over trials, CI its interval after Student; null: one
	// trial, or no scatter.
	Throughput float64         `json:"throughput"`
	CI         *stats.Interval `json:"ci"`
	Response   Optional        `json:"response"` // seconds, mean over operations
	Think      Optional        `json:"think"`    // seconds
	Errors     Optional        `json:"errors"`   // share
	Unfinished int             `json:"unfinished"`
	// Law is X·(R+Z)/N, which the interactive response time law says is 1.
	Law Optional `json:"law"`
	// Any is the share of seconds in which at least one resource of the tiers was
	// full, All that in which all of those were that were full at times.
	Any float64 `json:"any_full"`
	All float64 `json:"all_full"`

	Usage []Usage `json:"usage"`
	// Refused is why what was measured says nothing about the application; empty:
	// it does.
	Refused string `json:"refused,omitempty"`

	values  []float64 // throughput of each trial
	seconds []map[Resource]seconds
	trials  []Trial
}

// usage of a resource; nothing of it where it is not known.
func (l Load) usage(r Resource) Usage {
	for _, u := range l.Usage {
		if u.Resource == r {
			return u
		}
	}
	return Usage{}
}

// sumUp makes the load of the trials with so many users.
func (s System) sumUp(users int) Load {
	trials := s.at(users)
	l := Load{Users: users, Trials: len(trials), trials: trials}
	var work, errs, response, think float64
	for _, t := range trials {
		l.values = append(l.values, t.Throughput)
		l.Unfinished += t.Unfinished
		l.seconds = append(l.seconds, resourcesOf(t, s.Thresholds))
		work, errs = work+t.Throughput, errs+t.Errors
		response, think = response+t.Response*t.Throughput, think+t.Think*t.Throughput
	}
	n := float64(len(trials))
	l.Throughput = work / n
	if _, ci, err := stats.MeanInterval(l.values, level); err == nil {
		l.CI = &ci
	}
	// Means over operations: a trial counts by how many it had.
	l.Response, l.Think, l.Errors = some(response/work), some(think/work), some(errs/n)
	l.Law = some(l.Throughput * (response/work + think/work) / float64(users))
	l.Usage = usageOf(l.seconds, s.Thresholds)
	l.Any, l.All = together(l.seconds, l.busy())
	return l
}

// busy are the resources of tiers that were full at least at times.
func (l Load) busy() []Resource {
	var out []Resource
	for _, u := range l.Usage {
		if u.Node == "" && (u.Full || u.Partial) {
			out = append(out, u.Resource)
		}
	}
	return out
}

// together is in which share of seconds any of several resources was full, and in
// which all of them.
func together(trials []map[Resource]seconds, of []Resource) (one, all float64) {
	known := 0
	for _, t := range trials {
		n := math.MaxInt
		for _, r := range of {
			n = min(n, len(t[r].full))
		}
		for i := 0; n < math.MaxInt && i < n; i++ {
			if slices.ContainsFunc(of, func(r Resource) bool { return math.IsNaN(t[r].use[i]) }) {
				continue
			}
			full := 0
			for _, r := range of {
				if t[r].full[i] {
					full++
				}
			}
			known++
			if full > 0 {
				one++
			}
			if full == len(of) {
				all++
			}
		}
	}
	if known == 0 {
		return 0, 0
	}
	return one / float64(known), all / float64(known)
}

// lawDoubts are about loads at which the law of closed loops does not hold. Where it
// is far off at the load that decided, or any if none did, that could carry the
// verdict.
func (a *Answer) lawDoubts(loads []Load) (out model.Doubts) {
	for _, l := range loads {
		if l.Law == nil || math.Abs(*l.Law-1) <= lawTolerance {
			continue
		}
		severity := model.Warning
		if math.Abs(*l.Law-1) > lawBroken && (a.Load == 0 || a.Load == l.Users) {
			severity = model.Problem
		}
		out.Add(model.Doubt{Code: "closed_loop", Severity: severity, Text: fmt.Sprintf("with %s throughput times response and think time is %s of the users, where the law says 100 %%: the trial was too short for its response times, or users were missing",
			num.Count(l.Users, "user"), num.Fraction(*l.Law))})
	}
	return out
}

// errorDoubts are about operations that failed: they may have cost more or less than
// those that end well. Beyond the load that decided they carry nothing.
func (a *Answer) errorDoubts(loads []Load) (out model.Doubts) {
	for _, l := range loads {
		switch e := l.Errors; {
		case e == nil || *e < worthMentioning:
		case *e >= tooManyErrors && (a.Load == 0 || l.Users <= a.Load):
			out.Problem("errors", "with %s %s of the operations failed%s, and what those cost is not known", num.Count(l.Users, "user"), num.Fraction(*e), l.unended())
		default:
			out.Warn("errors", "with %s %s of the operations failed%s", num.Count(l.Users, "user"), num.Fraction(*e), l.unended())
		}
		var lost []float64
		for _, t := range l.trials {
			lost = append(lost, t.NoWay)
		}
		if share := meanOf(lost); share >= worthMentioning {
			out.Warn("no_way", "with %s, %s of the pages had no link to where the user wanted to go, who went home then: the mix is another one than was asked for; look at the pages, or at the rows behind them", num.Count(l.Users, "user"), num.Fraction(share))
		}
	}
	return out
}

// unended says how many operations had not ended with the trial; empty: none.
func (l Load) unended() string {
	if l.Unfinished == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them because the trial ended before they did (a longer ramp-down waits for them)", l.Unfinished)
}
