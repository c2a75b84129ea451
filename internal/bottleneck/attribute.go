package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Verdict is what the trials tell.
type Verdict string

// Named: the bottleneck, or several. None: none was seen up to the last load.
// Unknown: they do not tell, and Answer.Why says why.
const (
	Named   Verdict = "named"
	None    Verdict = "none"
	Unknown Verdict = "unknown"
)

// Pattern is how several bottlenecks go together (after S. Malkowski, M. Hedwig, C.
// Pu, "Experimental evaluation of n-tier systems: observation and analysis of
// multi-bottlenecks", IISWC 2009; the cut-offs are ours).
type Pattern string

// Single: one resource is full nearly always. Simultaneous: several are, at once.
// Oscillating: each only at times, but always one of them, in turns. Concurrent:
// the same without turns.
const (
	Single       Pattern = "single"
	Simultaneous Pattern = "simultaneous"
	Oscillating  Pattern = "oscillating"
	Concurrent   Pattern = "concurrent"
)

// Answer is the attribution of one configuration.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	Pattern Pattern `json:"pattern,omitempty"`
	// Bottlenecks with what speaks for each; Load is that at which they were full
	// for the first time beyond the knee.
	Bottlenecks []Evidence `json:"bottlenecks"`
	Load        int        `json:"load,omitempty"`
	// Symptoms were full because of a bottleneck behind them; Later are resources
	// that became full only far beyond the knee.
	Symptoms []Symptom `json:"symptoms,omitempty"`
	Later    []Usage   `json:"later,omitempty"`
	// Suspects are signals that grew with the load where nothing was full, the
	// closest first.
	Suspects []Suspect `json:"suspects,omitempty"`
	Why      string    `json:"why,omitempty"`
	Knee     *Knee     `json:"knee"`
	Loads    []Load    `json:"loads"`
	Laws     *Laws     `json:"laws"`

	Doubts []model.Doubt `json:"doubts,omitempty"`
	doubts model.Doubts
}

// Evidence is a bottleneck with what speaks for it.
type Evidence struct {
	Usage
	// Bend is where its utilisation bends; null: too few loads, or it does not.
	Bend *stats.Interval `json:"bend"`
	// Held is in which share of its periods its processor was held back by its
	// quota; null: not known, or no processor.
	Held Optional `json:"held"`
	// SendQueue is the mean of what its tier had sent and was not taken yet, in
	// bytes.
	SendQueue Optional `json:"send_queue"`
}

// Symptom is a full resource that is full because of another.
type Symptom struct {
	Usage
	Of Resource `json:"of"`
}

// Analyze names what binds.
func Analyze(s System) Answer {
	if s.Thresholds == (Thresholds{}) {
		s.Thresholds = Defaults()
	}
	a := Answer{Bottlenecks: []Evidence{}}
	for _, users := range s.loads() {
		a.Loads = append(a.Loads, s.sumUp(users))
	}
	s.refuse(a.Loads)
	ok, refused := valid(a.Loads)
	s.judge(&a, ok, refused)
	for _, d := range slices.Concat(a.lawDoubts(ok), a.errorDoubts(ok), s.missing(a.Loads), s.colocated(a.Loads)) {
		a.doubts.Add(d)
	}
	if len(ok) > 0 {
		a.Laws = s.laws(ok, a.Knee)
	}
	a.Doubts = a.doubts
	for _, d := range a.Doubts {
		if d.Severity == model.Problem && a.Verdict != Unknown {
			// What is withdrawn is not named either.
			a.Verdict, a.Why, a.Bottlenecks, a.Pattern = Unknown, d.Text, []Evidence{}, ""
		}
	}
	return a
}

// judge fills the verdict from the loads that count.
func (s System) judge(a *Answer, ok []Load, refused *Load) {
	a.Verdict = Unknown
	if refused != nil && len(ok) == 0 {
		a.Why = fmt.Sprintf("the load generator binds, already with %s: %s", num.Count(refused.Users, "user"), refused.Refused)
		return
	}
	knee, err := findKnee(ok)
	switch {
	case err != nil && tooFew(err):
		a.Why = fmt.Sprintf("%s tell no knee: it takes %d", num.Count(len(ok), "load"), leastLoads)
	case err != nil:
		a.Why = "the throughput has no curve: " + err.Error()
	case knee == nil && refused == nil:
		if a.Why = s.unclear(ok); a.Why == "" {
			a.Verdict = None
		}
	}
	if refused != nil {
		text := fmt.Sprintf("from %s on the load generator binds: %s", num.Count(refused.Users, "user"), refused.Refused)
		if knee == nil {
			a.Why = text
		} else {
			a.doubts.Warn("generator", "%s; only the loads below count", text)
		}
	}
	if a.Knee = knee; knee != nil {
		s.attribute(a, ok)
	}
}

// unclear says why there may be a knee although none is told from chance: something was
// full at the last load, or the throughput there is far behind the users. Empty: it
// grew.
func (s System) unclear(loads []Load) string {
	const remedy = "the trials are too few to tell where the throughput bends: measure more trials, or more loads"
	first, last := loads[0], loads[len(loads)-1]
	if full := always(last); len(full) > 0 {
		return fmt.Sprintf("%s is full with %s, and %s", full[0], num.Count(last.Users, "user"), remedy)
	}
	lost := 1 - last.Throughput/float64(last.Users)/(first.Throughput/float64(first.Users))
	if lost >= 2*materialLoss {
		return fmt.Sprintf("with %s the throughput is %s behind the users, and %s", num.Count(last.Users, "user"), num.Fraction(lost), remedy)
	}
	return ""
}

// attribute names what was full beyond the knee. The first load at which anything
// was full nearly always decides; if there is none, the first at which always some
// resource was.
func (s System) attribute(a *Answer, loads []Load) {
	beyond := beyondKnee(a.Knee, loads)
	if len(beyond) == 0 {
		a.Why = "the knee is at the last load: measure with more users"
		return
	}
	for _, l := range beyond {
		causes, symptoms := s.pushBack(l)
		if causes = s.atKnee(a, loads, beyond[0], causes); len(causes) > 0 {
			causes = l.with(causes, beyond)
			pattern := Single
			if len(causes) > 1 {
				pattern = Simultaneous
			}
			s.name(a, loads, l, causes, symptoms, pattern)
			return
		}
	}
	for _, l := range beyond {
		if causes, pattern := s.inTurns(l); pattern != "" {
			s.name(a, loads, l, causes, nil, pattern)
			return
		}
	}
	a.Why = "nothing that was measured was full beyond the knee"
	a.Suspects = s.suspects(loads)
}

// beyondKnee are the loads above the knee's interval, or, if there are none, above
// the knee.
func beyondKnee(k *Knee, loads []Load) []Load {
	for _, from := range []float64{k.CI.Hi, k.Users} {
		i := slices.IndexFunc(loads, func(l Load) bool { return float64(l.Users) > from })
		if i >= 0 {
			return loads[i:]
		}
	}
	return nil
}

// usages are those of some resources.
func (l Load) usages(of []Resource) []Usage {
	var out []Usage
	for _, u := range l.Usage {
		if slices.Contains(of, u.Resource) {
			out = append(out, u)
		}
	}
	return out
}

// always are the resources that were full nearly all the time. A host alone counts
// where its tier as a whole does not: then its load is not shared evenly.
func always(l Load) (out []Resource) {
	for _, u := range l.Usage {
		tier := l.usage(Resource{Tier: u.Tier, Kind: u.Kind})
		if u.Full && (u.Node == "" || !tier.Full) {
			out = append(out, u.Resource)
		}
	}
	return out
}

// asFull is from which share of the utilisation of a full one on hardware is as full:
// more of the one would soon meet the other.
const asFull = .95

// with adds to what is full the hardware that is nearly full, if it is as full as the
// other, or becomes full at a later load.
func (l Load) with(causes []Resource, later []Load) []Resource {
	least := math.Inf(1)
	for _, u := range l.usages(causes) {
		if !u.Kind.Soft() && u.Node == "" {
			least = min(least, asFull*u.Mean)
		}
	}
	var out []Resource
	for _, u := range l.Usage {
		nearly := !u.Kind.Soft() && u.Node == "" && u.Mean >= nearlyFull && !math.IsInf(least, 1)
		meets := nearly && (u.Mean >= least || slices.ContainsFunc(later, func(x Load) bool { return x.Users > l.Users && x.usage(u.Resource).Full }))
		if meets || slices.Contains(causes, u.Resource) {
			out = append(out, u.Resource)
		}
	}
	return out
}

// inTurns are hardware resources of which always one was full, but none always; no
// pattern: there are none. Soft ones that were full at times are left out where any
// hardware was: they are its symptoms.
func (s System) inTurns(l Load) (of []Resource, p Pattern) {
	for _, soft := range []bool{false, true} {
		for _, u := range l.Usage {
			if u.Partial && u.Node == "" && u.Kind.Soft() == soft {
				of = append(of, u.Resource)
			}
		}
		if one, _ := together(l.seconds, of); len(of) >= 2 && one >= s.Thresholds.Full {
			if alternate(l.seconds, of) {
				return of, Oscillating
			}
			return of, Concurrent
		}
		if len(of) > 0 {
			break
		}
	}
	return nil, ""
}

// alternate reports whether the utilisations of two of the resources go against
// each other, by Spearman's correlation over the seconds of each trial, with as
// many values as they are worth (autocorrelation), Holm's correction for the pairs
// and trials, and without one that goes the other way.
func alternate(trials []map[Resource]seconds, of []Resource) bool {
	var ps, rhos []float64
	for _, t := range trials {
		for i, a := range of {
			for _, b := range of[:i] {
				x, y := known(t[a].use, t[b].use)
				if rho, p, _, err := stats.SpearmanOfSeries(x, y); err == nil {
					ps, rhos = append(ps, p), append(rhos, rho)
				}
			}
		}
	}
	qs, err := stats.Holm(ps)
	if err != nil {
		return false
	}
	against, along := 0, 0
	for i, q := range qs {
		if q < 1-level && rhos[i] < 0 {
			against++
		} else if q < 1-level {
			along++
		}
	}
	return against > along
}

// pushBack tells causes from symptoms: soft resources are full, too, where
// something behind them is (G. Franks et al., "Layered bottlenecks and their
// mitigation", QEST 2006). Full threads or pools are symptoms of busy hardware in
// their own tier or any behind it, and of a full soft resource behind them; the
// deepest one above idle hardware is the cause.
func (s System) pushBack(l Load) (causes []Resource, symptoms []Symptom) {
	all := always(l)
	for _, r := range all {
		of, pushed := s.behind(l, r, all)
		if !pushed {
			causes = append(causes, r)
			continue
		}
		u := l.usage(r)
		symptoms = append(symptoms, Symptom{u, of})
		// Hardware that is nearly full holds up what the full pool lets through.
		if hardware := l.usage(of); !hardware.Full && hardware.Mean >= nearlyFull && !slices.Contains(causes, of) {
			causes = append(causes, of)
		}
	}
	return causes, symptoms
}

// behind is what a soft resource waits for: busy hardware from its own tier on,
// hardware of which always some is full, or another soft resource behind it.
func (s System) behind(l Load, r Resource, all []Resource) (of Resource, pushed bool) {
	if !r.Kind.Soft() {
		return Resource{}, false
	}
	var busy, atTimes, soft []Resource
	for _, u := range l.Usage {
		deeper := s.depth(u.Tier) >= s.depth(r.Tier)
		switch {
		case u.Node != "" && u.Node != r.Node && !slices.Contains(all, u.Resource):
		case !u.Kind.Soft() && deeper && (u.Full || u.Mean >= nearlyFull):
			busy = append(busy, u.Resource)
		case !u.Kind.Soft() && deeper && u.Partial:
			atTimes = append(atTimes, u.Resource)
		case u.Kind.Soft() && slices.Contains(all, u.Resource) && s.place(u.Resource) > s.place(r):
			soft = append(soft, u.Resource)
		}
	}
	if one, _ := together(l.seconds, atTimes); one < s.Thresholds.Full {
		atTimes = nil
	}
	for _, group := range [][]Resource{busy, atTimes, soft} {
		if len(group) > 0 {
			return slices.MaxFunc(group, func(a, b Resource) int { return cmp.Compare(s.place(a), s.place(b)) }), true
		}
	}
	return Resource{}, false
}

// place is where a request comes to a soft resource: threads at the entry of their
// tier, pools between it and the next.
func (s System) place(r Resource) int {
	if r.Kind == Pool {
		return 2*s.depth(r.Tier) + 1
	}
	return 2 * s.depth(r.Tier)
}

// atKnee keeps the resources that can have made the knee: they were busy where it
// ends, and their utilisation bends where the throughput does, as closely as the
// loads tell. A resource that is full only far beyond it is a consequence.
func (s System) atKnee(a *Answer, loads []Load, first Load, of []Resource) []Resource {
	around := a.Knee.CI
	for _, l := range loads {
		if users := float64(l.Users); users <= a.Knee.CI.Lo {
			around.Lo = users
		}
	}
	around.Hi = max(around.Hi, float64(first.Users))
	return slices.DeleteFunc(of, func(r Resource) bool {
		if u := first.usage(r); u.Mean < herdLevel {
			return true
		}
		at, ok := bends(loads, r)
		return ok && !a.Knee.AtMost && at.P < 1-level && at.After < smallBend*at.Before && !overlap(at.CI, around)
	})
}

// name fills the answer with the bottlenecks of a load.
func (s System) name(a *Answer, loads []Load, l Load, causes []Resource, symptoms []Symptom, p Pattern) {
	a.Verdict, a.Pattern, a.Load, a.Symptoms = Named, p, l.Users, symptoms
	for _, u := range l.usages(causes) {
		e := Evidence{Usage: u, SendQueue: some(l.meanSignal(u.Tier, SignalSendQueue))}
		if at, ok := bends(loads, u.Resource); ok && at.P < 1-level {
			e.Bend = &at.CI
		}
		if u.Kind == CPU {
			e.Held = some(l.held(u.Tier))
		}
		a.Bottlenecks = append(a.Bottlenecks, e)
	}
	for _, later := range loads {
		if later.Users <= l.Users {
			continue
		}
		for _, u := range later.Usage {
			known := slices.Contains(causes, u.Resource) || slices.ContainsFunc(symptoms, func(x Symptom) bool { return x.Resource == u.Resource }) ||
				slices.ContainsFunc(a.Later, func(x Usage) bool { return x.Resource == u.Resource })
			if u.Full && u.Node == "" && !known {
				a.Later = append(a.Later, u)
			}
		}
	}
}

// meanSignal is the mean over the hosts of a tier and the trials of a load; NaN:
// not known.
func (l Load) meanSignal(tier, signal string) float64 {
	var values []float64
	for _, t := range l.trials {
		for _, x := range t.Services {
			if x.Tier == tier {
				values = append(values, x.mean(signal))
			}
		}
	}
	return meanOf(values)
}

// known are the pairs of values of which both are known.
func known(a, b []float64) (x, y []float64) {
	for i := range min(len(a), len(b)) {
		if a[i] == a[i] && b[i] == b[i] { //nolint:gocritic // not NaN
			x, y = append(x, a[i]), append(y, b[i])
		}
	}
	return x, y
}
