package load

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// SLA is what a server has to keep in a window: all of its terms.
type SLA struct {
	Terms []Term
}

// Term is one condition: on a latency, or on the share of errors.
type Term struct {
	// Quantile, in (0, 1], is the share of all operations due that must be
	// answered within Latency. 0: this is a term on errors.
	Quantile float64
	Latency  time.Duration
	// Errors is the largest share, in [0, 1), of operations due that may fail.
	Errors float64
}

// OnErrors reports whether the term bounds errors and not a latency.
func (t Term) OnErrors() bool { return t.Quantile == 0 }

// defaultErrors is the share of errors allowed where the SLA does not say: a
// percentile alone would allow one in ten.
const defaultErrors = .01

// ParseSLA reads "p90=150ms" or "p99=500ms,errors=0.1%": percentiles (p50,
// p99.9, max) with a latency, and errors with a share. Without a term on errors
// at most 1 % may fail. The error is model.ErrUsage.
func ParseSLA(text string) (SLA, error) {
	var s SLA
	bounded := false
	for part := range strings.SplitSeq(text, ",") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return SLA{}, fmt.Errorf("%w: SLA %q: %w; write percentile=latency, such as p90=150ms, optionally with errors=0.1%%", model.ErrUsage, text, err)
		}
		bounded = bounded || t.OnErrors()
		s.Terms = append(s.Terms, t)
	}
	if s.Slowest() == 0 {
		return SLA{}, fmt.Errorf("%w: SLA %q has no latency limit, without which a queue may grow without end; write percentile=latency, however long, such as p90=150ms or p90=5s,errors=1%%", model.ErrUsage, text)
	}
	if !bounded {
		s.Terms = append(s.Terms, Term{Errors: defaultErrors})
	}
	return s, nil
}

// CheckSLA refuses what ParseSLA reads, because it may stand in stored runs, but
// a user may mean otherwise: a term that stands twice, and a share of errors
// without %. The error is model.ErrUsage.
func CheckSLA(text string) error {
	s, err := ParseSLA(text)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	for i, part := range strings.Split(text, ",") {
		name := "errors"
		if t := s.Terms[i]; !t.OnErrors() {
			name = Percentile(t.Quantile)
		} else if t.Errors > 0 && !strings.Contains(part, "%") {
			_, bare, _ := strings.Cut(part, "=")
			bare = strings.TrimSpace(bare)
			return fmt.Errorf("%w: SLA %q: errors=%s has no %%; write errors=%s%% or errors=%s", model.ErrUsage, text, bare, bare, percent(t.Errors))
		}
		if seen[name] {
			return fmt.Errorf("%w: SLA %q: %s stands twice; leave one of them out", model.ErrUsage, text, name)
		}
		seen[name] = true
	}
	return nil
}

func parseTerm(text string) (Term, error) {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok:
		return Term{}, fmt.Errorf("%q has no =", text)
	case name == "errors":
		share, err := parseShare(value)
		return Term{Errors: share}, err
	}
	q, err := parseQuantile(name)
	if err != nil {
		return Term{}, err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return Term{}, fmt.Errorf("%q is not a latency", value)
	}
	return Term{Quantile: q, Latency: d}, nil
}

// parseQuantile reads "p90", "p99.9", "median" and "max".
func parseQuantile(name string) (float64, error) {
	switch name {
	case "max":
		return 1, nil
	case "median":
		return .5, nil
	}
	digits, isPercentile := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(digits, 64)
	if !isPercentile || err != nil || !(p > 0) || p > 100 {
		return 0, fmt.Errorf("%q is not a percentile", name)
	}
	return math.Round(p*1e6) / 1e8, nil // 99.9/100 is a little more than .999
}

// parseShare reads "0.1%" and "0.001".
func parseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0) || v >= 1 {
		return 0, fmt.Errorf("%q is not a share below 100%%", text)
	}
	return v, nil
}

// Latencies yields the terms on latencies, in their order.
func (s SLA) Latencies() iter.Seq[Term] {
	return func(yield func(Term) bool) {
		for _, t := range s.Terms {
			if !t.OnErrors() && !yield(t) {
				return
			}
		}
	}
}

// Slowest is the largest latency that a term allows: answers must be waited for
// longer than that.
func (s SLA) Slowest() time.Duration {
	var d time.Duration
	for t := range s.Latencies() {
		d = max(d, t.Latency)
	}
	return d
}

// Drain is how long answers are waited for after the last operation was due:
// longer than any term allows, so that what has not come by then has missed it.
func (s SLA) Drain() time.Duration { return s.Slowest()*5/4 + 100*time.Millisecond }

// Tightest is the smallest latency that a term allows.
func (s SLA) Tightest() time.Duration {
	d := time.Duration(math.MaxInt64)
	for t := range s.Latencies() {
		d = min(d, t.Latency)
	}
	return d
}

func (s SLA) String() string {
	var parts []string
	for _, t := range s.Terms {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, ",")
}

func (t Term) String() string {
	if t.OnErrors() {
		return "errors=" + percent(t.Errors)
	}
	return Percentile(t.Quantile) + "=" + t.Latency.String()
}

// Percentile names a quantile: "p90" of .9, "max" of 1.
func Percentile(q float64) string {
	if q == 1 {
		return "max"
	}
	return "p" + trim(100*q)
}

func percent(share float64) string { return trim(100*share) + "%" }

// trim prints a number without the noise of its binary form.
func trim(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

// AchievedAtLeast is the share of the operations due that must be answered well,
// and while the load is offered, for a window to be passed, whatever the SLA
// allows.
const AchievedAtLeast = .95

// Miss is one way in which a window broke an SLA.
type Miss struct {
	Term *Term // nil if the load was not answered in time, whatever the terms
	Text string
}

// Judge says whether a window kept the SLA, and what it missed.
func (s SLA) Judge(w Window) (misses []Miss) {
	if w.Counts.Due == 0 {
		return []Miss{{Text: "nothing was due"}}
	}
	for i := range s.Terms {
		if text := s.Terms[i].Miss(w); text != "" {
			misses = append(misses, Miss{&s.Terms[i], text})
		}
	}
	if share := w.Share(w.Counts.OK); share < AchievedAtLeast {
		misses = append(misses, Miss{Text: fmt.Sprintf("%s of the load was answered, not %s", num.Share(share), num.Share(AchievedAtLeast))})
	}
	if behind := w.Behind(); behind != "" {
		misses = append(misses, Miss{Text: behind})
	}
	return misses
}

// Miss says how a window broke the term; empty if it kept it.
func (t Term) Miss(w Window) string {
	if t.OnErrors() {
		if share := w.Share(w.Counts.Due - w.Counts.OK); share > t.Errors {
			return fmt.Sprintf("errors %s (%s), not %s", num.Share(share), w.Counts.Failures(), trim(100*t.Errors)+" %")
		}
		return ""
	}
	got, known := w.Latency(t.Quantile)
	switch {
	case !known:
		return fmt.Sprintf("%s was not reached: fewer operations than that ended well", Percentile(t.Quantile))
	case got > t.Latency && !w.Latencies.ValuesAreEquivalent(int64(got), int64(t.Latency)): // histograms tell no less apart
		return fmt.Sprintf("%s %s, not %s", Percentile(t.Quantile), num.Brief(got), num.Exact(t.Latency))
	}
	return ""
}

// Missed is how many of the operations due in a window missed the term: failed,
// or were answered later than it allows.
func (t Term) Missed(w Window) int64 {
	kept := w.Counts.OK
	if !t.OnErrors() {
		kept = 0
		for _, bar := range w.Latencies.Distribution() {
			if bar.From <= int64(t.Latency) {
				kept += bar.Count
			}
		}
	}
	return w.Counts.Due - kept
}

// Nearest is the term on latencies that a window came nearest to breaking, or
// broke by most, relative to what it allows; zero if no term is on latencies.
func (s SLA) Nearest(w Window) (term Term) {
	worst := -1.0
	for t := range s.Latencies() {
		share := math.Inf(1)
		if got, known := w.Latency(t.Quantile); known {
			share = got.Seconds() / t.Latency.Seconds()
		}
		if share > worst {
			worst, term = share, t
		}
	}
	return term
}

// A server that is offered more than it can do falls behind, and its answers
// come the later the longer it goes on: at a load of 1+x times what it can do,
// an operation that is due after a time t waits for x·t. A window ends before
// such a wait has grown beyond what the SLA allows, if x is small.

// Tolerable is the overload that a window may fail to notice, as a share of what
// the server can do; leastScored is the least that is scored.
const (
	Tolerable   = .02
	leastScored = 10 * time.Second
)

// Unnoticed is the overload that windows fail to notice, as a share of what
// the server can do: with less the SLA is kept until the window's end. scored
// follows warmUp.
func (s SLA) Unnoticed(warmUp, scored time.Duration) float64 {
	least := math.Inf(1)
	for t := range s.Latencies() {
		// A share Quantile of the window is due before then.
		at := warmUp.Seconds() + t.Quantile*scored.Seconds()
		least = min(least, t.Latency.Seconds()/at)
	}
	return least
}

// Scored is how long windows have to be scored, in whole seconds, to fail to
// notice an overload of 2 % at most, and 10 s at least.
func (s SLA) Scored(warmUp time.Duration) time.Duration {
	scored := time.Duration(math.MaxInt64)
	for t := range s.Latencies() {
		seconds := (t.Latency.Seconds()/Tolerable - warmUp.Seconds()) / t.Quantile
		scored = min(scored, time.Duration(math.Ceil(seconds))*time.Second)
	}
	return max(scored, leastScored)
}

// Enough is how many operations a window needs for its SLA to be told from luck:
// if more than a share e of all operations failed, or were late, fewer than 1 in
// 20 windows of 3/e operations would have none (the rule of three: J. A. Hanley
// and A. Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA
// 249, 1983).
func (s SLA) Enough() int64 {
	enough := 1.0
	for _, t := range s.Terms {
		share := 1 - t.Quantile
		if t.OnErrors() {
			share = t.Errors
		}
		if share > 0 {
			enough = max(enough, math.Ceil(math.Round(3e6/share)/1e6))
		}
	}
	return int64(enough)
}

// few is how many operations more may be under way at the end of a window than
// at its beginning without meaning anything.
const few = 10

// Behind says by how much a server fell behind in a window; empty if it did not.
func (w Window) Behind() string {
	late := w.Counts.OK - w.Replies
	inTime := w.Share(w.Counts.Due - late)
	if late <= few || inTime >= AchievedAtLeast {
		return ""
	}
	return fmt.Sprintf("%s of the load was answered while it was offered, less than %s: the server fell behind", num.Share(inTime), num.Share(AchievedAtLeast))
}
