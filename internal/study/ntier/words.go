package ntier

import (
	"cmp"
	"fmt"
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
		return "unknown: " + f.Why + suspectWords(f) + fallWords(f)
	}
	text := verb(f, strings.Join(f.names("the "), " and ")) + ", " + f.Knee.Words()
	text += ": " + evidence(f)
	if f.Proof != nil {
		text += "; " + f.Proof.Words()
	}
	return text
}

// names are those of the bottlenecks, each after an article.
func (f *Finding) names(article string) (out []string) {
	for _, b := range f.Bottlenecks {
		out = append(out, article+b.String())
	}
	return out
}

// verb says how the bottlenecks go together.
func verb(f Finding, names string) string {
	if f.Pattern == bottleneck.Single && f.Bottlenecks[0].Kind == bottleneck.Threads {
		return names + " bind"
	}
	return names + map[bottleneck.Pattern]string{
		bottleneck.Single: " binds", bottleneck.Simultaneous: " bind together",
		bottleneck.Oscillating: " bind in turns", bottleneck.Concurrent: " bind, now one and now another",
	}[f.Pattern]
}

// evidence is how full they were, and what was only full because of them.
func evidence(f Finding) string {
	var out []string
	inTurns := f.Pattern == bottleneck.Oscillating || f.Pattern == bottleneck.Concurrent
	for i, b := range f.Bottlenecks {
		text := fmt.Sprintf("full in %s of the seconds", num.Fraction(b.Share))
		if f.table || !inTurns && (!b.Full || b.Share < bottleneck.FullShare) { // full by its mean, or nearly full
			text = num.Fraction(b.Mean) + " busy"
		}
		if len(f.Bottlenecks) > 1 {
			text = "the " + b.String() + " " + text
		}
		for _, l := range f.Loads {
			if l.Users == f.Load && i == len(f.Bottlenecks)-1 {
				text += fmt.Sprintf(" with %s, %s", num.Count(l.Users, "user"), rate(l.Throughput))
			}
		}
		if b.Kind.Link() && b.SendQueue != nil && *b.SendQueue >= 1 {
			text += fmt.Sprintf(", while %s wait to be sent by %s (Send-Q)", num.Bytes(int64(*b.SendQueue)), cmp.Or(b.Sender, b.Tier))
		}
		out = append(out, text)
	}
	if inTurns && f.OneFull != nil {
		out = append(out, fmt.Sprintf("one of them in %s", num.Fraction(*f.OneFull)))
	}
	var full []string
	for _, s := range f.Symptoms {
		full = append(full, "the "+s.String())
	}
	if len(full) > 0 {
		out = append(out, num.List(full)+" full only because of it")
	}
	return strings.Join(out, "; ") + fallWords(f)
}

// fallWords say how far the throughput falls from its peak; empty: that may be chance.
func fallWords(f Finding) string {
	if f.Knee == nil || f.Knee.Fall == nil || !f.Knee.Fall.Sure {
		return ""
	}
	fall, interval := f.Knee.Fall, ""
	if fall.CI != nil {
		interval = " " + num.PercentInterval(100*fall.CI.Lo, 100*fall.CI.Hi)
	}
	return fmt.Sprintf("; from %s to %d the throughput falls by %s%s", num.Count(fall.Peak, "user"), fall.Last, num.Fraction(fall.Lost), interval)
}

// suspectWords names the signal that follows what is lost most closely.
func suspectWords(f Finding) string {
	for _, s := range f.Suspects {
		if s.Significant() {
			return fmt.Sprintf("; what grew most closely with what is lost is %s (ρ = %.2f, q = %.2g)", s, s.Rho, s.Q)
		}
	}
	return ""
}

func rate(x float64) string { return num.For("op/s", x).Value(x, 0) }

// reversalWords say a reversal.
func reversalWords(r Reversal) string {
	return fmt.Sprintf("On %s %s has %s%.2f times the throughput of %s [%.2f .. %.2f], on %s %s%.2f times [%.2f .. %.2f]: the ranking turns over",
		placeWords(r.First), r.A, map[bool]string{true: "at least "}[r.GrewFirst], r.RatioFirst, r.B, r.CIFirst.Lo, r.CIFirst.Hi,
		placeWords(r.Second), map[bool]string{true: "at most "}[r.GrewSecond], r.RatioSecond, r.CISecond.Lo, r.CISecond.Hi)
}
