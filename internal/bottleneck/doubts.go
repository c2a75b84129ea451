package bottleneck

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// doubtNoWay is that users did not find where to go.
const doubtNoWay = "no_way"

// share is that of a load's worst trial, and the mean of all.
type share struct {
	worst *OfTrial
	mean  *float64
}

// ofAll is a share of a load as a whole.
func ofAll(v float64) share { return share{&OfTrial{Value: v}, num.IfFinite(v)} }

// words say it, and of which trial it is unless all are alike: "28.0 % of the operations
// failed in trial 3 with 80 users (9.3 % on average)". noun is empty after the first load.
func (x share) words(noun string, l Load) string {
	text, mean, with := num.Fraction(x.worst.value()), num.Fraction(value(x.mean)), fmt.Sprint(l.Users)
	alike := text == mean
	if noun != "" {
		text, with = text+" "+noun, num.Count(l.Users, "user")
	}
	if alike {
		return text + " with " + with
	}
	return fmt.Sprintf("%s in trial %d with %s (%s on average)", text, x.worst.Trial, with, mean)
}

// perLoad adds one doubt of each severity about all loads of which judge says that their
// share of something speaks against the answer: "3.0 % of the operations failed with 50
// users, 4.0 % with 80". rest says what follows from it.
func perLoad(out *model.Doubts, code, noun string, loads []Load, judge func(Load) (share, model.Severity), rest func(s model.Severity, at []Load) string) {
	for _, severity := range []model.Severity{model.Problem, model.Warning} {
		var shares []string
		var at []Load
		for _, l := range loads {
			x, s := judge(l)
			if s != severity {
				continue
			}
			said := noun
			if len(at) > 0 {
				said = ""
			}
			at, shares = append(at, l), append(shares, x.words(said, l))
		}
		if len(at) > 0 {
			out.Add(model.Doubt{Code: code, Severity: severity, Text: strings.Join(shares, ", ") + rest(severity, at)})
		}
	}
}

// carries reports whether what is wrong with a load could carry the verdict: it is the one
// that decided, or, where none did, the last, up to which the throughput grew.
func (a *Answer) carries(l Load, loads []Load) bool {
	return l.Users == a.Load || a.Load == 0 && l.Users == loads[len(loads)-1].Users
}

// lawDoubts are about loads with a trial in which the law of closed loops does not hold:
// two that are off to both sides are right on average. Where it is far off at the load
// that carries the verdict there is none. At the smallest loads chance alone does it.
func (a *Answer) lawDoubts(loads []Load) (out model.Doubts) {
	perLoad(&out, "closed_loop", "of the users is what throughput times response and think time come to", loads, func(l Load) (share, model.Severity) {
		switch off := math.Abs(l.WorstLaw.value() - 1); {
		case off > lawBroken && a.carries(l, loads):
			return share{l.WorstLaw, l.Law}, model.Problem
		case off > lawTolerance: // not of NaN
			return share{l.WorstLaw, l.Law}, model.Warning
		}
		return share{}, ""
	}, func(_ model.Severity, at []Load) string {
		if slices.ContainsFunc(at, func(l Load) bool { return l.WorstLaw.value() > otherUnits }) {
			return ", where the law says 100 %" + unitsText
		}
		if !slices.ContainsFunc(at, func(l Load) bool { return !l.alwaysWaiting() }) {
			return ", where the law says 100 %, for a think time of 0 lets users wait for answers all the time: " +
				"see that it is not missing, and that the users are no rates of requests"
		}
		return ", where the law says 100 %: trials were too short for their response times, users were missing, or operations failed"
	})
	return append(out, a.partDoubts(loads)...)
}

// alwaysWaiting reports whether users are said never to think, and waited for an answer for
// a part of the time only, though operations did not fail.
func (l Load) alwaysWaiting() bool {
	failing := l.WorstErrors.value() >= tooManyErrors // not of NaN
	return l.Think != nil && *l.Think == 0 && l.WorstLaw.value() < 1-lawBroken && !failing
}

// moreUsers is what to do where the last load does not show what comes beyond it: more
// users show nothing where many operations fail already.
func (l Load) moreUsers() string {
	if e := l.WorstErrors.value(); e >= tooManyErrors { // not of NaN
		return fmt.Sprintf("find out first why %s of the operations failed there", num.Fraction(e))
	}
	return "measure with more users"
}

// errorDoubts are about operations that failed in a trial: they may have cost more or less
// than those that end well. Beyond the load that decided they carry nothing.
func (a *Answer) errorDoubts(loads []Load) (out model.Doubts) {
	perLoad(&out, "errors", "of the operations failed", loads, func(l Load) (share, model.Severity) {
		switch e := l.WorstErrors.value(); {
		case e >= tooManyErrors && (a.Load == 0 || l.Users <= a.Load):
			return share{l.WorstErrors, l.Errors}, model.Problem
		case e >= worthMentioning: // not of NaN
			return share{l.WorstErrors, l.Errors}, model.Warning
		}
		return share{}, ""
	}, func(s model.Severity, at []Load) string {
		return unended(at) + map[model.Severity]string{model.Problem: ", and what those cost is not known"}[s]
	})
	perLoad(&out, "nothing_ended", "of the trials had no operation that ended well", loads, func(l Load) (share, model.Severity) {
		switch of := l.nothingEnded(); {
		case of > 0 && (a.Load == 0 || l.Users <= a.Load):
			return ofAll(of), model.Problem
		case of > 0:
			return ofAll(of), model.Warning
		}
		return share{}, ""
	}, func(s model.Severity, at []Load) string {
		return unended(at) + map[model.Severity]string{model.Problem: ": what was full there served no one, and the throughput tells of no limit"}[s]
	})
	perLoad(&out, doubtNoWay, "of the pages had no link to where the user wanted to go", loads, func(l Load) (share, model.Severity) {
		if l.WorstNoWay.value() >= worthMentioning { // not of NaN
			return share{l.WorstNoWay, l.NoWay}, model.Warning
		}
		return share{}, ""
	}, func(model.Severity, []Load) string {
		return ": those users went home, and the mix is another one than was asked for; look at the pages, or at the rows behind them"
	})
	return out
}

// unended says how many operations had not ended with their trials; empty: none.
func unended(loads []Load) string {
	sum := 0
	for _, l := range loads {
		sum += l.Unfinished
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them because the trial ended before they did: a longer ramp-down waits for them)", sum)
}

// Spoiled reports whether so much failed in a trial of a load, or one tells so little of
// its users, that its throughput is none to compare.
func (l Load) Spoiled() bool {
	return l.WorstErrors.value() >= tooManyErrors || math.Abs(l.WorstLaw.value()-1) > lawBroken || l.lawAtLeast() > 1+lawBroken || l.nothingEnded() > 0 // none of NaN
}

// stepped are the doubts about limits that changed within the seconds that are scored:
// what was used then is held against a mean of both, which was the limit at no time.
func (s System) stepped(loads []Load) (out model.Doubts) {
	for _, x := range []struct{ signal, words, unit string }{
		{SignalQuota, "limit of the processor of", "cores"}, {SignalLink, "rate of the link of", "byte/s"}, {SignalLinkIn, "rate of the incoming link of", "byte/s"},
	} {
		for _, tier := range s.Tiers {
			var changes []string
			trials := 0
			for _, l := range loads {
				trials += l.Trials
				for _, t := range l.trials {
					if from, to, ok := t.step(tier, x.signal); ok {
						scale := num.For(x.unit, from, to)
						changes = append(changes, fmt.Sprintf("from %s to %s in trial %d with %s",
							scale.Value(from, 0), scale.Value(to, 0), t.Trial, num.Count(l.Users, "user")))
					}
				}
			}
			if len(changes) > 0 {
				out.Warn("limit_changed", "the %s %s changed within the run, %s, and so in %d of %s: what is told of it, and of the knee, is of both limits together; let it stay as it is from ramp-up to the end, and measure each limit by itself",
					x.words, tier, changes[0], len(changes), num.Count(trials, "trial"))
			}
		}
	}
	return out
}

// step is how a limit of a host of a tier changed in a trial, the first of them that did:
// from what it was at first to what is farthest from that.
func (t Trial) step(tier, signal string) (from, to float64, ok bool) {
	for _, x := range t.Services {
		if x.Tier != tier {
			continue
		}
		from, to = math.NaN(), math.NaN()
		for _, v := range x.Signals[signal] {
			if math.IsNaN(from) {
				from, to = v, v
			}
			if math.Abs(v-from) > math.Abs(to-from) { // not of NaN
				to = v
			}
		}
		if math.Abs(to-from) > sameLimit*from {
			return from, to, true
		}
	}
	return 0, 0, false
}

// missing are the doubts about tiers of which nothing is known.
func (s System) missing(loads []Load, named []Evidence) (out model.Doubts) {
	out = s.blind(loads, named)
	for _, tier := range s.Tiers {
		if failed := slices.IndexFunc(loads, func(l Load) bool { return l.meanSignal(tier, SignalProbeFailed) > 0 }); failed >= 0 {
			out.Warn("probe_failed", "%s did not always tell about itself, first with %s: threads or connections that bind there may not be seen", tier, num.Count(loads[failed].Users, "user"))
		}
	}
	unchecked := slices.IndexFunc(loads, func(l Load) bool {
		generated := slices.ContainsFunc(l.trials, func(t Trial) bool { return len(t.Generators) > 0 })
		return generated && l.Refused == "" && math.IsNaN(s.beyondServer(l))
	})
	if len(s.Tiers) > 0 && unchecked >= 0 {
		out.Warn("generator_unchecked", "the response time as %s sees it is not known, first with %s, so that a generator that reads late is told by its own clock alone: add a probe that tells it (accesslog)",
			s.Tiers[0], num.Count(loads[unchecked].Users, "user"))
	}
	return out
}

// blind are the doubts about resources of which a load does not tell, or not of all
// hosts of their tier: processors, and of the rest what any host told at any load. What
// is named was seen where it was full, and not whether it was so before.
func (s System) blind(loads []Load, named []Evidence) (out model.Doubts) {
	told, partly, missing := make(map[Resource]bool), make(map[Resource]bool), make(map[Resource][]int)
	for _, l := range loads {
		for _, u := range l.Usage {
			told[u.ofTier()] = true
		}
	}
	for _, l := range loads {
		for _, r := range s.unmeasured(l) {
			if r.Kind == CPU || told[r] {
				missing[r] = append(missing[r], l.Users)
				partly[r] = partly[r] || slices.ContainsFunc(l.Usage, func(u Usage) bool { return u.ofTier() == r })
			}
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(missing), Resource.compare) {
		at, part := missing[r], ""
		if partly[r] {
			part = " on all of its hosts"
		}
		if len(at) < len(loads) {
			part += fmt.Sprintf(" with %s", num.Count(at[0], "user"))
			if len(at) > 1 {
				part += fmt.Sprintf(", nor in %d more of %s", len(at)-1, num.Count(len(loads), "load"))
			}
		}
		why := "the bottleneck can be there, and would not be seen"
		if slices.ContainsFunc(named, func(b Evidence) bool { return b.ofTier() == r }) {
			why = fmt.Sprintf("%s full at other loads, and whether %s there is not known", r.it(), r.it())
		}
		out.Warn("blind", "the %s %s not measured%s: %s", r, r.was(), part, why)
	}
	return out
}

// unmeasured are the resources of tiers that a load does not tell, with the processor of
// each tier that is not there.
func (s System) unmeasured(l Load) []Resource {
	var out []Resource
	for _, t := range l.trials {
		for r := range s.parts(t) {
			if !l.knows(r) {
				out = append(out, r)
			}
		}
	}
	for _, tier := range s.Tiers {
		ofTier := func(r Resource) bool { return r.Of(tier) && r.Kind == CPU && r.Node == "" }
		if !slices.ContainsFunc(out, ofTier) && !slices.ContainsFunc(l.Usage, func(u Usage) bool { return ofTier(u.Resource) }) {
			out = append(out, Resource{Tier: tier, Kind: CPU})
		}
	}
	slices.SortFunc(out, Resource.compare)
	return slices.Compact(out)
}

// seldom are the doubts about what is named and not all trials of the load that decided
// tell of, or not of all its hosts.
func (a *Answer) seldom(loads []Load) (out model.Doubts) {
	for _, b := range a.Bottlenecks {
		known, hosts := 0, hostsOf(b.Resource, loads)
		l := loads[slices.IndexFunc(loads, func(l Load) bool { return l.Users == a.Load })]
		for _, t := range l.seconds {
			if x, ok := t[b.Resource]; ok && x.hosts == hosts {
				known++
			}
		}
		if known < l.Trials {
			out.Warn("incomplete", "the %s %s measured in %d of %s with %s only: how full %s is told from those", b.Resource, b.was(), known, num.Count(l.Trials, "trial"), num.Count(l.Users, "user"), b.it())
		}
	}
	return out
}

// gaps are the doubts about what some trials do not tell of their operations.
func gaps(loads []Load) (out model.Doubts) {
	for _, x := range []struct {
		name string
		of   func(Trial) float64
	}{
		{"share of operations that failed", func(t Trial) float64 { return t.Errors }},
		{"response time", func(t Trial) float64 { return t.Response }},
		{"think time", func(t Trial) float64 { return t.Think }},
	} {
		var missing, all []int
		for _, l := range loads {
			for _, t := range l.trials {
				if all = append(all, l.Users); math.IsNaN(x.of(t)) {
					missing = append(missing, l.Users)
				}
			}
		}
		if len(missing) > 0 && len(missing) < len(all) {
			out.Warn("incomplete", "the %s is not known of %d of %s, first with %s: what is told is that of the others", x.name, len(missing), num.Count(len(all), "trial"), num.Count(missing[0], "user"))
		}
	}
	return out
}

// colocated are the doubts about tiers on one host whose processors are not known: each
// is held to its own limit, so that without such limits the host may be full with
// neither of them.
func (s System) colocated(loads []Load) (out model.Doubts) {
	for _, l := range loads {
		for _, t := range l.trials {
			on := make(map[model.NodeID]string)
			for _, x := range t.Services {
				if other := on[x.Node]; other != "" && other != x.Tier && !(t.Cores[x.Node] > 0) {
					out.Warn("colocated", "%s and %s share host %s, and how many processors it has is not known: unless each has a limit of its own, the host can be full with neither of them full", other, x.Tier, x.Node)
					return out
				}
				on[x.Node] = x.Tier
			}
		}
	}
	return out
}

// demandDoubts are about what is named and was full long before the throughput ceased to
// grow: an operation took less and less of it.
func (s System) demandDoubts(a *Answer, loads []Load) (out model.Doubts) {
	for _, b := range a.Bottlenecks {
		if saved, ok := s.cheaper(loads, b.Resource, loads[len(loads)-1]); ok {
			out.Warn("demand_falls", "the throughput grew on though the %s was full, for %s: what the laws allow by the demand at low load is a lower bound", b.Resource, saved)
		}
	}
	return out
}

// cheaper says by how much less of hardware an operation took at a load than where it
// was full first, or at the first load; ok is false unless the throughput grew by it.
func (s System) cheaper(loads []Load, r Resource, last Load) (text string, ok bool) {
	if r.Kind.Soft() {
		return "", false
	}
	from, least := loads[0], 2*materialLoss // what is used without operations is spread over more of them, too
	hosts := hostsOf(r, loads)
	demand := func(l Load) float64 { return meanOf(perOperation(r, []Load{l}, hosts)) }
	if i := slices.IndexFunc(loads, func(l Load) bool { return l.usage(r).Full }); i >= 0 && loads[i].Users < last.Users {
		from, least = loads[i], materialLoss
	}
	saved := 1 - demand(last)/demand(from)
	if !(saved >= least) || last.Throughput < from.Throughput/(1-saved/2) {
		return "", false
	}
	return fmt.Sprintf("an operation took %s less of it with %s than with %s", num.Fraction(saved), num.Count(last.Users, "user"), num.Count(from.Users, "user")), true
}

// value is the number, or NaN.
func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
