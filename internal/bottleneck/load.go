package bottleneck

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Load is what the trials with one number of users came to.
type Load struct {
	Users  int `json:"users"`
	Trials int `json:"trials"`
	// Throughput is the mean over trials, CI its interval after Student; null: one
	// trial, or no scatter. Throughputs are those of the trials.
	Throughput  float64         `json:"throughput"`
	Throughputs []float64       `json:"-"`
	CI          *stats.Interval `json:"ci"`
	Response    *float64        `json:"response"` // seconds, mean over operations
	Think       *float64        `json:"think"`    // seconds
	Errors      *float64        `json:"errors"`   // share
	// NoLink is the share after which a user found no link to where he wanted to go.
	NoLink     *float64 `json:"no_link"`
	Unfinished int      `json:"unfinished"`
	// Law is X·(R+Z)/N, which the interactive response time law says is 1, mean over
	// trials.
	Law *float64 `json:"law"`
	// WorstLaw is that of the trial in which it is farthest from 1, WorstErrors the share
	// of the one in which most failed: what they are judged by, for a mean hides them;
	// null: no trial tells.
	WorstLaw    *OfTrial `json:"worst_law"`
	WorstErrors *OfTrial `json:"worst_errors"`
	WorstNoLink *OfTrial `json:"worst_no_link"`
	// Any is the share of seconds in which at least one resource of the tiers was
	// full, All that in which all of those were that were full at times.
	Any float64 `json:"any_full"`
	All float64 `json:"all_full"`

	Usage []Usage `json:"usage"`
	// Refused is why what was measured says nothing about the application; empty:
	// it does.
	Refused string `json:"refused,omitempty"`

	beyond  string // what users waited in front of the first tier, without an explanation there; empty: nothing
	seconds []map[Resource]seconds
	trials  []Trial
}

// OfTrial is what one trial of a load came to.
type OfTrial struct {
	Trial int     `json:"trial"`
	Value float64 `json:"value"`
}

// worse is the one that is farther from what it should be; of NaN nothing is known.
func (w *OfTrial) worse(trial int, v, ideal float64) *OfTrial {
	if !num.Finite(v) || w != nil && math.Abs(v-ideal) <= math.Abs(w.Value-ideal) {
		return w
	}
	return &OfTrial{trial, v}
}

// value is the number, or NaN.
func (w *OfTrial) value() float64 {
	if w == nil {
		return math.NaN()
	}
	return w.Value
}

// Optional is the number, or nothing.
func (w *OfTrial) Optional() *float64 { return num.IfFinite(w.value()) }

// usage of a resource; nothing of it where it is not known.
func (l Load) usage(r Resource) Usage {
	for _, u := range l.Usage {
		if u.Resource == r {
			return u
		}
	}
	return Usage{}
}

// knows reports whether a resource was measured.
func (l Load) knows(r Resource) bool {
	return slices.ContainsFunc(l.Usage, func(u Usage) bool { return u.Resource == r })
}

// Counts reports whether a resource speaks for itself: one of a tier does, and one of a
// host that is full where its tier as a whole is not. Its load is not shared evenly.
func (l Load) Counts(u Usage) bool {
	return u.Node == "" || u.Full && !l.usage(u.ofTier()).Full
}

// firstThatKnows is the first of several loads that knows these resources, or else the
// first.
func firstThatKnows(loads []Load, of ...Resource) Load {
	return loads[max(0, slices.IndexFunc(loads, func(l Load) bool {
		return !slices.ContainsFunc(of, func(r Resource) bool { return !l.knows(r) })
	}))]
}

// String is how many users there are: "120 users".
func (l Load) String() string { return num.Count(l.Users, "user") }

// average is a weighted mean of what is known.
type average struct{ sum, weight float64 }

func (a *average) add(v, weight float64) {
	if !math.IsNaN(v) {
		a.sum, a.weight = a.sum+v*weight, a.weight+weight
	}
}

// mean is null where nothing is known.
func (a average) mean() *float64 { return num.IfFinite(a.sum / a.weight) }

// sumUp makes the load of the trials with so many users.
func (s System) sumUp(users int) Load { return s.sumUpOf(users, s.at(users)) }

// share is what something comes to in the trial that is farthest from what it should be,
// and on average.
func (l Load) share(ideal float64, of func(Trial) float64) (x share) {
	var mean average
	for _, t := range l.trials {
		mean.add(of(t), 1)
		x.worst = x.worst.worse(t.Trial, of(t), ideal)
	}
	x.mean = mean.mean()
	return x
}

// sumUpOf makes a load of trials.
func (s System) sumUpOf(users int, trials []Trial) Load {
	l := Load{Users: users, Trials: len(trials), trials: trials}
	var response, think average
	for _, t := range trials {
		l.Throughputs = append(l.Throughputs, t.Throughput)
		l.Unfinished += t.Unfinished
		l.seconds = append(l.seconds, s.resources(t))
		// Means over operations: a trial counts by how many it had.
		response.add(t.Response, t.Throughput)
		think.add(t.Think, t.Throughput)
	}
	l.Throughput = meanOf(l.Throughputs)
	_, l.CI = stats.MeanWithin(l.Throughputs, level)
	l.Response, l.Think = response.mean(), think.mean()
	law, errs, noLink := lawParts[0].share(l), l.share(0, func(t Trial) float64 { return t.Errors }),
		l.share(0, func(t Trial) float64 { return t.NoLink })
	l.Law, l.WorstLaw, l.Errors, l.WorstErrors, l.NoLink, l.WorstNoLink = law.mean, law.worst, errs.mean, errs.worst,
		noLink.mean, noLink.worst
	l.Usage = usageOf(l.seconds)
	var busy []Resource // of tiers, at least at times
	for _, u := range l.Usage {
		if u.Node == "" && (u.Full || u.Partial) {
			busy = append(busy, u.Resource)
		}
	}
	l.Any, l.All = together(l.seconds, busy)
	return l
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
		for i := 0; len(of) > 0 && i < n; i++ {
			full := 0
			for _, r := range of {
				if t[r].full[i] {
					full++
				}
			}
			if slices.ContainsFunc(of, func(r Resource) bool { return math.IsNaN(t[r].use[i]) }) {
				continue
			}
			known++
			one, all = one+float64(min(full, 1)), all+float64(full/len(of))
		}
	}
	known = max(1, known)
	return one / float64(known), all / float64(known)
}
