package ntier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// words say the answer for one configuration in a sentence, with its main evidence,
// without its full stop.
func words(f Finding) string {
	if len(f.Loads) == 0 {
		return "no trial ended well"
	}
	last := f.Loads[len(f.Loads)-1]
	switch f.Verdict {
	case bottleneck.None:
		return fmt.Sprintf("no bottleneck was seen up to %s and %s", num.Count(last.Users, "user"), rate(last.Throughput))
	case bottleneck.Unknown:
		return "unknown: " + f.Why + suspectWords(f)
	}
	var names []string
	for _, b := range f.Bottlenecks {
		names = append(names, "the "+b.String())
	}
	text := verb(f, strings.Join(names, " and ")) + ", " + kneeWords(*f.Knee)
	if e := evidence(f); e != "" {
		text += ": " + e
	}
	if f.Proof != nil {
		text += "; " + proofWords(*f.Proof)
	}
	return text
}

// verb says how the bottlenecks go together.
func verb(f Finding, names string) string {
	if f.Pattern == bottleneck.Single && f.Bottlenecks[0].Kind == bottleneck.Threads {
		return names + " bind"
	}
	return names + map[bottleneck.Pattern]string{
		bottleneck.Single: " binds", bottleneck.Simultaneous: " bind at once",
		bottleneck.Oscillating: " bind in turns", bottleneck.Concurrent: " bind, now one and now another",
	}[f.Pattern]
}

// kneeWords say from which number of users on.
func kneeWords(k bottleneck.Knee) string {
	switch {
	case k.AtMost:
		return fmt.Sprintf("from %.0f users on or fewer", k.CI.Hi)
	case k.AtLeast:
		return fmt.Sprintf("from about %.0f users on [%.0f or more]", k.Users, k.CI.Lo)
	}
	return fmt.Sprintf("from about %.0f users on [%.0f .. %.0f]", k.Users, k.CI.Lo, k.CI.Hi)
}

// kneeText is a knee with its interval.
func kneeText(k bottleneck.Knee) string { return fmt.Sprintf("%.0f [%s]", k.Users, kneeRange(k)) }

// kneeRange is its interval. One that begins at the first load, or ends at the last, is
// open there.
func kneeRange(k bottleneck.Knee) string {
	lo, hi := fmt.Sprintf("%.0f", k.CI.Lo), fmt.Sprintf("%.0f", k.CI.Hi)
	switch {
	case k.AtMost && k.AtLeast:
		lo, hi = lo+" or fewer", hi+" or more"
	case k.AtMost:
		lo += " or fewer"
	case k.AtLeast:
		return "≥ " + lo
	}
	return lo + " .. " + hi
}

// kneeEnds are the ends of the interval; null where it is open.
func kneeEnds(k bottleneck.Knee) (lo, hi *float64) {
	if !k.AtMost {
		lo = &k.CI.Lo
	}
	if !k.AtLeast {
		hi = &k.CI.Hi
	}
	return lo, hi
}

// evidence is how full they were, and what was only full because of them.
func evidence(f Finding) string {
	var out []string
	at := slices.IndexFunc(f.Loads, func(l bottleneck.Load) bool { return l.Users == f.Load })
	for i, b := range f.Bottlenecks {
		text := fmt.Sprintf("full in %s of the seconds", num.Fraction(b.Share))
		if len(f.Bottlenecks) > 1 {
			text = b.Tier + " " + text
		}
		if i == len(f.Bottlenecks)-1 && at >= 0 {
			text += fmt.Sprintf(" with %s, %s", num.Count(f.Load, "user"), rate(f.Loads[at].Throughput))
		}
		if b.Kind.Link() && b.SendQueue != nil && *b.SendQueue >= 1 {
			text += fmt.Sprintf(", while %s wait to be sent by %s (Send-Q)", num.Bytes(int64(*b.SendQueue)), cmp.Or(b.Sender, b.Tier))
		}
		out = append(out, text)
	}
	if f.Pattern == bottleneck.Oscillating || f.Pattern == bottleneck.Concurrent {
		out = append(out, fmt.Sprintf("one of them in %s", num.Fraction(f.Loads[at].Any)))
	}
	var full []string
	for _, s := range f.Symptoms {
		full = append(full, "the "+s.String())
	}
	if len(full) > 0 {
		out = append(out, num.List(full)+" full only because of it")
	}
	if fall := f.Knee.Fall; fall != nil && fall.Sure {
		out = append(out, fmt.Sprintf("beyond, the throughput falls by %s %s", num.Fraction(fall.Lost), num.PercentInterval(100*fall.CI.Lo, 100*fall.CI.Hi)))
	}
	return strings.Join(out, "; ")
}

func proofWords(p bottleneck.Proof) string {
	if p.Outcome == bottleneck.NotMade {
		return "no proof was made: " + p.Why
	}
	text := fmt.Sprintf("%s: %s", gainWords(p), p.Outcome)
	if p.Why != "" {
		text += ", for " + p.Why
	}
	return text
}

// gainWords say what a raise came to, beside what it should have.
func gainWords(p bottleneck.Proof) string {
	grew := fmt.Sprintf("%s times as much of it gave %.2f times the throughput", strings.TrimRight(fmt.Sprintf("%.2f", p.Factor), "0"), p.Gain)
	if p.CI != nil {
		grew += fmt.Sprintf(" [%.2f .. %.2f]", p.CI.Lo, p.CI.Hi)
	}
	return fmt.Sprintf("%s, where the laws say %.2f", grew, p.Predicted)
}

// suspectWords names the signal that follows what is lost most closely.
func suspectWords(f Finding) string {
	for _, s := range f.Suspects {
		if s.Significant() {
			return fmt.Sprintf("; what grew most closely with what is lost is %s of %s (ρ = %.2f, q = %.2g)", signalWords(s.Signal), s.Tier, s.Rho, s.Q)
		}
	}
	return ""
}

// signalWords name a signal for people.
func signalWords(name string) string {
	texts := map[string]string{
		bottleneck.SignalSendQueue: "what waits to be sent (Send-Q)", bottleneck.SignalSwitches: "the number of context switches", "switch_share": "the share of the processors that switching takes",
		bottleneck.SignalRunnable: "the number of threads that run or could", bottleneck.SignalRunDelay: "the number of threads that wait for a processor", bottleneck.SignalRTT: "the round-trip time", bottleneck.SignalRetransmits: "the rate of retransmits",
		bottleneck.SignalAcceptQueue: "the accept queue", bottleneck.SignalOverflows: "the rate of overflows of the accept queue", bottleneck.SignalDrops: "the rate of dropped connections",
	}
	if text, ok := texts[name]; ok {
		return text
	}
	return name
}

func rate(x float64) string { return num.For("op/s", x).Value(x, 0) }

// reversalWords say a reversal.
func reversalWords(r Reversal) string {
	return fmt.Sprintf("On %s %s has %.2f times the throughput of %s [%.2f .. %.2f], on %s %.2f times [%.2f .. %.2f]: the ranking turns over",
		r.First, r.A, r.RatioFirst, r.B, r.CIFirst.Lo, r.CIFirst.Hi, r.Second, r.RatioSecond, r.CISecond.Lo, r.CISecond.Hi)
}
