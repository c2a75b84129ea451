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

// loadDoubt is about all loads at which a share of something speaks against the answer:
// "3.0 % of the operations failed with 50 users, 4.0 % with 80".
type loadDoubt struct {
	Code  string
	noun  string // what the share is of: "of the operations failed"
	share func(Load) share
	off   func(float64) float64 // by how much a share is wrong; nil: by all of it
	// problem and warning are from where on that is one; a problem only at a load that
	// carries the verdict.
	problem, warning float64
	carries          func(Load) bool
	// rest says what follows from it.
	rest func(s model.Severity, at []Load) string
}

// share is that of a load's worst trial, and the mean of all.
type share struct {
	worst *OfTrial
	mean  *float64
}

// words say it, and of which trial it is unless all are alike: "28.0 % of the operations
// failed in trial 3 with 80 users (9.3 % on average)". noun is empty after the first load.
func (x share) words(noun string, l Load) string {
	text, mean, with := num.Fraction(x.worst.value()), num.Fraction(value(x.mean)), fmt.Sprint(l.Users)
	alike := text == mean
	if noun != "" {
		text, with = text+" "+noun, l.String()
	}
	if alike {
		return text + " with " + with
	}
	return fmt.Sprintf("%s in trial %d with %s (%s on average)", text, x.worst.Trial, with, mean)
}

// severity is that of a load; empty: nothing speaks against it.
func (d loadDoubt) severity(l Load) model.Severity {
	v := d.share(l).worst.value()
	if d.off != nil {
		v = d.off(v)
	}
	switch {
	case v >= d.problem && d.carries(l):
		return model.Problem
	case v >= d.warning: // not of NaN
		return model.Warning
	}
	return ""
}

// addPerLoad adds one doubt of each severity.
func (a *analysis) addPerLoad(d loadDoubt) {
	for _, severity := range []model.Severity{model.Problem, model.Warning} {
		var shares []string
		var at []Load
		noun := d.noun
		for _, l := range a.counted {
			if d.severity(l) == severity {
				at, shares = append(at, l), append(shares, d.share(l).words(noun, l))
				noun = ""
			}
		}
		if len(at) > 0 {
			a.doubts.Add(model.Doubt{Code: d.Code, Severity: severity, Text: strings.Join(shares, ", ") + d.rest(severity, at)})
		}
	}
}

// decides reports whether a load carries the verdict: it is the one that decided, or,
// where none did, the last, up to which the throughput grew.
func (a *analysis) decides(l Load) bool {
	return l.Users == a.Load || a.Load == 0 && l.Users == a.last().Users
}

// lawPart is what trials tell of R and Z in X·(R+Z)/N: both, or only one of them, which is
// then the least that it can be.
type lawPart struct {
	name  string
	whole bool
	time  func(Trial) float64
}

var lawParts = []lawPart{
	{"response and think time come", true, func(t Trial) float64 { return t.Response + t.Think }},
	{"response time alone comes", false, func(t Trial) float64 { return without(t.Response, t.Think) }},
	{"think time alone comes", false, func(t Trial) float64 { return without(t.Think, t.Response) }},
}

// without is a time where the other is not known; NaN: it is.
func without(v, other float64) float64 {
	if !math.IsNaN(other) {
		return math.NaN()
	}
	return v
}

// share is what it comes to in the trial that is farthest off, and on average.
func (p lawPart) share(l Load) share {
	ideal := 0.0
	if p.whole {
		ideal = 1
	}
	return l.share(ideal, func(t Trial) float64 { return t.Throughput * p.time(t) / float64(t.Users) })
}

// off is by how much it is wrong: a part can only be too large.
func (p lawPart) off(v float64) float64 {
	if p.whole {
		return math.Abs(v - 1)
	}
	return v - 1
}

// lawAtLeast is the most that a part comes to in a trial; 0: there is none.
func (l Load) lawAtLeast() (most float64) {
	for _, part := range lawParts[1:] {
		if v := part.share(l).worst.value(); v > most { // not of NaN
			most = v
		}
	}
	return most
}

// lawDoubts are about loads with a trial in which the law of closed loops does not hold:
// two that are off to both sides are right on average. Where it is far off at the load
// that carries the verdict there is none. At the smallest loads chance alone does it.
func (a *analysis) lawDoubts() {
	for _, part := range lawParts {
		a.addPerLoad(loadDoubt{
			Code: "closed_loop", noun: "of the users is what throughput times " + part.name + " to",
			share: part.share, off: part.off, problem: lawBroken, warning: lawTolerance, carries: a.decides,
			rest: func(_ model.Severity, at []Load) string {
				text := ", and more than 100 % cannot be"
				if part.whole {
					text = ", where the law says 100 %"
				}
				switch {
				case slices.ContainsFunc(at, func(l Load) bool { return part.share(l).worst.value() > otherUnits }):
					return text + ": see that response and think times are in seconds, and the throughput in operations per second"
				case !part.whole:
					return text
				case !slices.ContainsFunc(at, func(l Load) bool { return !l.alwaysWaiting() }):
					return text + ", for a think time of 0 lets users wait for answers all the time: " +
						"see that it is not missing, and that the users are no rates of requests"
				}
				return text + ": trials were too short for their response times, users were missing, or operations failed"
			},
		})
	}
}

// alwaysWaiting reports whether users are said never to think, and waited for an answer for
// a part of the time only, though operations did not fail.
func (l Load) alwaysWaiting() bool {
	// NaN does not fail
	return l.Think != nil && *l.Think == 0 && l.WorstLaw.value() < 1-lawBroken &&
		!(l.WorstErrors.value() >= tooManyErrors)
}

// moreUsers is what to do where the last load does not show what comes beyond it: more
// users show nothing where many operations fail already.
func (l Load) moreUsers() string {
	if e := l.WorstErrors.value(); e >= tooManyErrors { // not of NaN
		return fmt.Sprintf("find out first why %s of the operations failed there", num.Fraction(e))
	}
	return "measure with more users"
}

// doubtNoLink is that users did not find where to go.
const doubtNoLink = "no_way"

// errorDoubts are about operations that failed in a trial: they may have cost more or less
// than those that end well. Beyond the load that decided they carry nothing.
func (a *analysis) errorDoubts() {
	notBeyond := func(l Load) bool { return a.Load == 0 || l.Users <= a.Load }
	withUnfinished := func(problem string) func(model.Severity, []Load) string {
		return func(s model.Severity, at []Load) (text string) {
			sum := 0
			for _, l := range at {
				sum += l.Unfinished
			}
			if sum > 0 {
				text = fmt.Sprintf(" (%d of them because the trial ended before they did: a longer ramp-down waits for them)", sum)
			}
			if s == model.Problem {
				text += problem
			}
			return text
		}
	}
	a.addPerLoad(loadDoubt{
		Code: "errors", noun: "of the operations failed", share: func(l Load) share { return share{l.WorstErrors, l.Errors} },
		problem: tooManyErrors, warning: worthMentioning, carries: notBeyond,
		rest: withUnfinished(", and what those cost is not known"),
	})
	a.addPerLoad(loadDoubt{
		Code: "nothing_ended", noun: "of the trials had no operation that ended well",
		share: func(l Load) share {
			v := l.nothingEnded()
			return share{&OfTrial{Value: v}, &v}
		},
		problem: math.SmallestNonzeroFloat64, warning: math.SmallestNonzeroFloat64, carries: notBeyond,
		rest: withUnfinished(": what was full there served no one, and the throughput tells of no limit"),
	})
	a.addPerLoad(loadDoubt{
		Code: doubtNoLink, noun: "of the pages had no link to where the user wanted to go",
		share:   func(l Load) share { return share{l.WorstNoLink, l.NoLink} },
		problem: math.Inf(1), warning: worthMentioning,
		rest: func(model.Severity, []Load) string {
			return ": those users went home, and the mix is another one than was asked for; look at the pages, or at the rows behind them"
		},
	})
}

// nothingEnded is in which share of the trials no operation ended well.
func (l Load) nothingEnded() float64 {
	n := 0
	for _, x := range l.Throughputs {
		if x == 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(l.Throughputs)))
}

// Spoiled reports whether so much failed in a trial of a load, or one tells so little of
// its users, that its throughput is none to compare.
func (l Load) Spoiled() bool {
	return l.WorstErrors.value() >= tooManyErrors || math.Abs(l.WorstLaw.value()-1) > lawBroken || l.lawAtLeast() > 1+lawBroken || l.nothingEnded() > 0 // none of NaN
}

// gaps are the doubts about what some trials do not tell of their operations.
func (a *analysis) gaps() {
	for _, x := range []struct {
		name string
		of   func(Trial) float64
	}{
		{"share of operations that failed", func(t Trial) float64 { return t.Errors }},
		{"response time", func(t Trial) float64 { return t.Response }},
		{"think time", func(t Trial) float64 { return t.Think }},
	} {
		missing, all, first := 0, 0, Load{}
		for _, l := range a.counted {
			for _, t := range l.trials {
				if all++; !math.IsNaN(x.of(t)) {
					continue
				}
				if missing++; missing == 1 {
					first = l
				}
			}
		}
		if missing > 0 && missing < all {
			a.doubts.Warn("incomplete", "the %s is not known of %d of %s, first with %s: what is told is that of the others",
				x.name, missing, num.Count(all, "trial"), first)
		}
	}
}

// blind are the doubts about resources of which a load does not tell, or not of all
// hosts of their tier: processors, and of the rest what any host reported at any load. What
// is named was seen where it was full, and not whether it was so before.
func (a *analysis) blind() {
	missing := make(map[Resource][]Load)
	for _, l := range a.Loads {
		for _, r := range a.unmeasured(l) {
			missing[r] = append(missing[r], l)
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(missing), Resource.compare) {
		some := func(l Load) bool { return slices.ContainsFunc(l.Usage, func(u Usage) bool { return u.ofTier() == r }) }
		if r.Kind != CPU && !slices.ContainsFunc(a.Loads, some) {
			continue
		}
		at, part := missing[r], ""
		if slices.ContainsFunc(at, some) {
			part = " on all of its hosts"
		}
		if len(at) < len(a.Loads) {
			part += " with " + at[0].String()
			if len(at) > 1 {
				part += fmt.Sprintf(", nor in %d more of %s", len(at)-1, num.Count(len(a.Loads), "load"))
			}
		}
		why := "the bottleneck can be there, and would not be seen"
		if slices.ContainsFunc(a.Bottlenecks, func(b Evidence) bool { return b.ofTier() == r }) {
			why = fmt.Sprintf("%s full at other loads, and whether %s there is not known", r.itWas(), r.itWas())
		}
		a.doubts.Warn("blind", "the %s %s not measured%s: %s", r, r.was(), part, why)
	}
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
		processor := func(r Resource) bool { return r.Of(tier) && r.Kind == CPU && r.Node == "" }
		if !slices.ContainsFunc(out, processor) && !slices.ContainsFunc(l.Usage, func(u Usage) bool {
			return processor(u.Resource)
		}) {
			out = append(out, Resource{Tier: tier, Kind: CPU})
		}
	}
	slices.SortFunc(out, Resource.compare)
	return slices.Compact(out)
}

// unprobed are the doubts about tiers that do not tell what only they know.
func (a *analysis) unprobed() {
	for _, tier := range a.Tiers {
		if i := slices.IndexFunc(a.Loads, func(l Load) bool { return l.meanSignal(tier, SignalProbeFailed) > 0 }); i >= 0 {
			a.doubts.Warn("probe_failed",
				"%s did not always tell about itself, first with %s: threads or connections that bind there may not be seen", tier,
				a.Loads[i])
		}
	}
	unchecked := slices.IndexFunc(a.Loads, func(l Load) bool {
		generated := slices.ContainsFunc(l.trials, func(t Trial) bool { return len(t.Generators) > 0 })
		return generated && l.Refused == "" && math.IsNaN(a.beyondServer(l))
	})
	if len(a.Tiers) > 0 && unchecked >= 0 {
		a.doubts.Warn("generator_unchecked", "the response time as %s sees it is not known, first with %s, so that a "+
			"generator that reads late is told by its own clock alone: add a probe that tells it (accesslog)",
			a.Tiers[0], a.Loads[unchecked])
	}
}

// incomplete are the doubts about what is named and not all trials of the load that
// decided tell of, or not of all its hosts.
func (a *analysis) incomplete() {
	for _, b := range a.Bottlenecks {
		known, hosts := 0, hostsOf(b.Resource, a.counted)
		l := a.counted[slices.IndexFunc(a.counted, a.decides)]
		for _, t := range l.seconds {
			if x, ok := t[b.Resource]; ok && x.hosts == hosts {
				known++
			}
		}
		if known < l.Trials {
			a.doubts.Warn("incomplete", "the %s %s measured in %d of %s with %s only: how full %s is told from those",
				b.Resource, b.was(), known, num.Count(l.Trials, "trial"), l, b.itWas())
		}
	}
}

// colocated are the doubts about tiers on one host whose processors are not known: each
// is held to its own limit, so that without such limits the host may be full with
// neither of them.
func (a *analysis) colocated() {
	for _, l := range a.Loads {
		for _, t := range l.trials {
			on := make(map[model.NodeID]string)
			for _, x := range t.Services {
				if other := on[x.Node]; other != "" && other != x.Tier && !(t.Cores[x.Node] > 0) {
					a.doubts.Warn("colocated", "%s and %s share host %s, and how many processors it has is not known: unless each "+
						"has a limit of its own, the host can be full with neither of them full", other, x.Tier, x.Node)
					return
				}
				on[x.Node] = x.Tier
			}
		}
	}
}

// limitChanges are the doubts about limits that changed within the seconds that are
// scored: what was used then is held against a mean of both, which was the limit at no time.
func (a *analysis) limitChanges() {
	for _, x := range []struct{ signal, words, unit string }{
		{SignalQuota, "limit of the processor of", "cores"}, {SignalLink, "rate of the link of", "byte/s"}, {SignalLinkIn, "rate of the incoming link of", "byte/s"},
	} {
		for _, tier := range a.Tiers {
			first, changed, trials := "", 0, 0
			for _, l := range a.counted {
				trials += l.Trials
				for _, t := range l.trials {
					from, to, ok := t.limitChange(tier, x.signal)
					if !ok {
						continue
					}
					if changed++; changed == 1 {
						scale := num.For(x.unit, from, to)
						first = fmt.Sprintf("from %s to %s in trial %d with %s", scale.Value(from, 0), scale.Value(to, 0), t.Trial,
							l)
					}
				}
			}
			if changed > 0 {
				a.doubts.Warn("limit_changed", "the %s %s changed within the run, %s, and so in %d of %s: what is told of it, "+
					"and of the knee, is of both limits together; let it stay as it is from ramp-up to the end, and measure each "+
					"limit by itself",
					x.words, tier, first, changed, num.Count(trials, "trial"))
			}
		}
	}
}

// limitChange is how a limit of a host of a tier changed in a trial, the first of them
// that did: from what it was at first to what is farthest from that.
func (t Trial) limitChange(tier, signal string) (from, to float64, ok bool) {
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

// cheaperDoubts are about what is named and was full long before the throughput ceased to
// grow: an operation took less and less of it.
func (a *analysis) cheaperDoubts() {
	for _, b := range a.Bottlenecks {
		if saved := a.cheaper(b.Resource); saved != "" {
			a.doubts.Warn("demand_falls", "the throughput grew on though the %s was full, for %s: what the laws allow by the "+
				"demand at low load is a lower bound", b.Resource, saved)
		}
	}
}

// cheaper says by how much less of hardware an operation took at the last load than where
// it was full first, or at the first load; empty unless the throughput grew by it.
func (a *analysis) cheaper(r Resource) string {
	if r.Kind.Soft() {
		return ""
	}
	// what is used without operations is spread over more of them, too
	from, last, least := a.counted[0], a.last(), 2*materialLoss
	hosts := hostsOf(r, a.counted)
	demand := func(l Load) float64 { return meanOf(perOperation(r, []Load{l}, hosts)) }
	if i := slices.IndexFunc(a.counted, func(l Load) bool { return l.usage(r).Full }); i >= 0 && i < len(a.counted)-1 {
		from, least = a.counted[i], materialLoss
	}
	saved := 1 - demand(last)/demand(from)
	if !(saved >= least) || last.Throughput < from.Throughput/(1-saved/2) {
		return ""
	}
	return fmt.Sprintf("an operation took %s less of it with %s than with %s", num.Fraction(saved), last,
		from)
}

// value is the number, or NaN.
func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
