package bottleneck

import (
	"errors"
	"fmt"
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
	// OneFull is the share of seconds in which at least one of several bottlenecks was
	// full; null: there is one.
	OneFull *float64 `json:"one_full,omitempty"`
	// Bottlenecks with what speaks for each; Load is that at which they were full
	// for the first time beyond the knee.
	Bottlenecks []Evidence `json:"bottlenecks"`
	Load        int        `json:"load,omitempty"`
	// Unexplained is by which share the throughput could grow until what is named is full,
	// where that is more than chance: something that was not measured may hold it; null:
	// what is named explains the peak.
	Unexplained *float64 `json:"unexplained,omitempty"`
	// Symptoms were full because of a bottleneck behind them; Later are resources
	// that became full only far beyond the knee.
	Symptoms []Symptom `json:"symptoms,omitempty"`
	Later    []Usage   `json:"later,omitempty"`
	// Suspects are signals that grew with the load where nothing was full, the
	// closest first.
	Suspects []Suspect `json:"suspects,omitempty"`
	Why      string    `json:"why,omitempty"`
	// Uncounted is why its throughput must carry no ranking and no cost; empty: it
	// may.
	Uncounted string `json:"uncounted,omitempty"`
	Knee      *Knee  `json:"knee"`
	Loads     []Load `json:"loads"`
	Laws      *Laws  `json:"laws"`

	Doubts []model.Doubt `json:"doubts,omitempty"`
	doubts model.Doubts
	early  []early
}

// Evidence is a bottleneck with what speaks for it.
type Evidence struct {
	Usage
	// Bend is where its utilisation bends; null: too few loads, or it does not.
	Bend *stats.Interval `json:"bend"`
	// Held is in which share of its periods its processor was held back by its
	// quota; null: not known, or no processor.
	Held *float64 `json:"held"`
	// SendQueue is the mean of what its tier had sent and was not taken yet, in
	// bytes; for an incoming link, of the tier beside it that waits most to send.
	SendQueue *float64 `json:"send_queue"`
	Sender    string   `json:"sender,omitempty"` // that tier
}

// Symptom is a full resource that is full because of another.
type Symptom struct {
	Usage
	Of Resource `json:"of"`
}

// Analyze names what binds.
func Analyze(s System) Answer {
	a := Answer{Bottlenecks: []Evidence{}, Loads: []Load{}}
	for _, users := range s.loads() {
		a.Loads = append(a.Loads, s.sumUp(users))
	}
	s.refuse(a.Loads)
	ok, refused := valid(a.Loads)
	s.judge(&a, ok, refused)
	doubts := slices.Concat(a.lawDoubts(ok), a.errorDoubts(ok), gaps(ok), s.missing(a.Loads, a.Bottlenecks), a.seldom(ok),
		s.colocated(a.Loads), s.front(ok), s.stepped(ok), s.demandDoubts(&a, ok), s.earlyDoubts(&a, ok))
	if len(ok) > 0 {
		laws, more := s.laws(ok, a.Knee)
		a.Laws = laws
		doubts = slices.Concat(doubts, more, a.unexplained(ok))
	}
	for _, d := range doubts {
		a.doubts.Add(d)
	}
	a.Doubts = a.doubts
	if s.ended(a.Knee, ok) && a.Uncounted == "" {
		a.Uncounted = s.front(ok)[0].Text
	}
	for _, d := range a.Doubts {
		if d.Severity == model.Problem && a.Verdict != Unknown {
			a.withdraw(d.Text)
		}
		if d.Severity == model.Problem {
			a.Uncounted = d.Text
		}
	}
	return a
}

// withdraw takes back what was named, and all that was told with it.
func (a *Answer) withdraw(why string) {
	a.Verdict, a.Why, a.Pattern, a.OneFull, a.Load = Unknown, why, "", nil, 0
	a.Bottlenecks, a.Symptoms, a.Later, a.Unexplained = []Evidence{}, nil, nil, nil
}

// judge fills the verdict from the loads that count.
func (s System) judge(a *Answer, ok []Load, refused *Load) {
	a.Verdict = Unknown
	if refused != nil && len(ok) == 0 {
		a.Why = fmt.Sprintf("the load generator binds, already with %s: %s; %s", num.Count(refused.Users, "user"), refused.Refused, moreGenerators)
		a.Uncounted = a.Why
		return
	}
	knee, err := findKnee(ok)
	switch {
	case errors.Is(err, stats.ErrTooFew):
		a.Why = fmt.Sprintf("a knee takes %d loads, and %s %s here: measure more numbers of users", LeastLoads, num.Count(len(ok), "load"), map[bool]string{true: "is", false: "are"}[len(ok) == 1])
	case err != nil:
		a.Why = "the throughput has no curve: " + err.Error()
	case knee == nil && refused == nil:
		if a.Why = s.unclear(a, ok); a.Why == "" {
			a.Verdict = None
		}
	}
	if refused != nil {
		text := fmt.Sprintf("from %s on the load generator binds: %s; %s", num.Count(refused.Users, "user"), refused.Refused, moreGenerators)
		if knee == nil { // the application may do more than it was asked for
			a.Why, a.Uncounted = text, text
		} else {
			a.doubts.Warn("generator", "%s. Only the loads below count", text)
		}
	}
	if a.Knee = knee; knee != nil {
		s.attribute(a, ok)
	}
}

// unclear says why there may be a knee although none is told from chance: something was
// full at the last load, or the throughput there is far behind the users. Empty: it
// grew.
func (s System) unclear(a *Answer, loads []Load) string {
	const remedy = "the trials are too few to tell where the throughput bends: measure more trials, or more loads"
	last := loads[len(loads)-1]
	for _, r := range always(last) {
		if saved, ok := s.cheaper(loads, r, last); ok {
			return fmt.Sprintf("the %s is full with %s, and the throughput still grew, for %s: %s",
				r, num.Count(last.Users, "user"), saved, last.moreUsers())
		}
	}
	if full := always(s.worked(a, loads, last)); len(full) > 0 {
		return fmt.Sprintf("the %s %s full with %s, and %s", full[0], map[bool]string{true: "are", false: "is"}[full[0].Kind == Threads], num.Count(last.Users, "user"), remedy)
	}
	most := 0.0 // that a user brings; not always at the first load, which may have been cold
	for _, l := range loads {
		most = max(most, l.Throughput/float64(l.Users))
	}
	lost := 1 - last.Throughput/float64(last.Users)/most
	if lost >= 2*materialLoss {
		return fmt.Sprintf("with %s the throughput is %s behind the users, and %s", num.Count(last.Users, "user"), num.Fraction(lost), remedy)
	}
	return ""
}
