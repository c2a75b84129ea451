package bottleneck

import (
	"errors"
	"fmt"

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
	// ExcludedFromRanking is why its throughput must carry no ranking and no cost;
	// empty: it may.
	ExcludedFromRanking string `json:"uncounted,omitempty"`

	Knee   *Knee         `json:"knee"`
	Loads  []Load        `json:"loads"`
	Laws   *Laws         `json:"laws"`
	Doubts []model.Doubt `json:"doubts,omitempty"`
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

// analysis is the attribution of one configuration while it is made.
type analysis struct {
	System
	*Answer
	counted []Load // that say something about the application
	beyond  []Load // those of them that are above the knee
	doubts  model.Doubts
	idle    []idleHolders
}

// Analyze names what binds.
func Analyze(s System) Answer {
	a := &analysis{System: s, Answer: &Answer{Verdict: Unknown, Bottlenecks: []Evidence{}, Loads: []Load{}}}
	for _, users := range s.loads() {
		a.Loads = append(a.Loads, s.sumUp(users))
	}
	s.refuse(a.Loads)
	var refused *Load
	a.counted, refused = valid(a.Loads)
	a.judge(refused)
	for _, doubt := range []func(){
		a.lawDoubts, a.errorDoubts, a.gaps, a.blind, a.unprobed, a.incomplete, a.colocated, a.inFront, a.limitChanges,
		a.cheaperDoubts, a.idleDoubts,
	} {
		doubt()
	}
	if len(a.counted) > 0 {
		a.laws()
		a.unexplained()
	}
	for _, d := range a.doubts {
		if d.Severity == model.Problem {
			a.withdraw(d.Text)
			a.ExcludedFromRanking = d.Text
		}
	}
	a.Doubts = a.doubts
	return *a.Answer
}

// withdraw takes back what was named, and all that came with it.
func (a *Answer) withdraw(why string) {
	if a.Verdict == Unknown {
		return
	}
	a.Verdict, a.Why, a.Pattern, a.OneFull, a.Load = Unknown, why, "", nil, 0
	a.Bottlenecks, a.Symptoms, a.Later, a.Unexplained = []Evidence{}, nil, nil, nil
}

// judge fills the verdict from the loads that count.
func (a *analysis) judge(refused *Load) {
	if refused != nil && len(a.counted) == 0 {
		a.Why = fmt.Sprintf("the load generator binds, already with %s: %s; %s", refused, refused.Refused,
			moreGenerators)
		a.ExcludedFromRanking = a.Why
		return
	}
	knee, err := findKnee(a.counted)
	switch {
	case errors.Is(err, stats.ErrTooFew):
		are := "are"
		if len(a.counted) == 1 {
			are = "is"
		}
		a.Why = fmt.Sprintf("a knee takes %d loads, and %s %s here: measure more numbers of users", LeastLoads,
			num.Count(len(a.counted), "load"), are)
	case err != nil:
		a.Why = "the throughput has no curve: " + err.Error()
	case knee == nil && refused == nil:
		if a.Why = a.unclear(); a.Why == "" {
			a.Verdict = None
		}
	}
	if refused != nil {
		text := fmt.Sprintf("from %s on the load generator binds: %s; %s", refused, refused.Refused, moreGenerators)
		if knee == nil { // the application may do more than it was asked for
			a.Why, a.ExcludedFromRanking = text, text
		} else {
			a.doubts.Warn("generator", "%s. Only the loads below count", text)
		}
	}
	if a.Knee = knee; knee != nil {
		a.attribute()
	}
}

// unclear says why there may be a knee although none is distinguished from chance: something was
// full at the last load, or the throughput there is far behind the users. Empty: it
// grew.
func (a *analysis) unclear() string {
	const remedy = "the trials are too few to tell where the throughput bends: measure more trials, or more loads"
	last := a.last()
	for _, r := range always(last) {
		if saved := a.cheaper(r); saved != "" {
			return fmt.Sprintf("the %s is full with %s, and the throughput still grew, for %s: %s", r, last, saved,
				last.moreUsers())
		}
	}
	if full := always(a.withoutIdleHolders(last)); len(full) > 0 {
		is := "is"
		if full[0].Kind == Threads {
			is = "are"
		}
		return fmt.Sprintf("the %s %s full with %s, and %s", full[0], is, last, remedy)
	}
	most := 0.0 // that a user brings; not always at the first load, which may have been cold
	for _, l := range a.counted {
		most = max(most, l.Throughput/float64(l.Users))
	}
	if lost := 1 - last.Throughput/float64(last.Users)/most; lost >= 2*materialLoss {
		return fmt.Sprintf("with %s the throughput is %s behind the users, and %s", last, num.Fraction(lost), remedy)
	}
	return ""
}

// last is the largest load that counts.
func (a *analysis) last() Load { return a.counted[len(a.counted)-1] }
