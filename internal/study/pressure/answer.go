package pressure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// answer is one sentence for a decision: the service that was at its limit for longest,
// and what to do about it.
func (r *Result) answer() string {
	worst := r.worst()
	if worst == nil {
		return "No service has a pressure: the data lack what the limits of the models count."
	}
	if worst.atLimit() == 0 {
		return r.answerBelow(worst)
	}
	text := fmt.Sprintf("%s was at its %s limit for %s", worst.name(r.nodes), worst.words(), worst.TCPT.sentence())
	if t := worst.Throttled; t != nil && 100**t > worst.TCPT.shown() {
		text = fmt.Sprintf("The provider held %s back at its %s limit for %s of the time", worst.name(r.nodes), worst.words(),
			percentOf(*t))
	}
	if a := r.adviceFor(worst); a != nil {
		text += "; " + r.sentence(a)
	}
	return text + "."
}

// answerBelow is the answer if no period was above the critical pressure. The advice may still be a raise: credits do
// not last, or a limit is so close that the demand may be clipped.
func (r *Result) answerBelow(worst *Service) string {
	if !slices.ContainsFunc(r.candidates(), func(s *Service) bool { return s.SLP.Max > 0 }) {
		return "No service was used in the time of the data."
	}
	text := "No period had a pressure above " + num.Percent(r.Critical)
	for _, u := range r.used {
		if a := r.adviceFor(u.of); a != nil && u.sustained {
			last := "do not last"
			if u.Pressure <= 1 {
				last = "just last"
			}
			return fmt.Sprintf("The credits of %s %s: its mean load of %s is %s of the rate at which they fill; %s. %s up to "+
				"now.", u.of.name(r.nodes), last, u.of.words(), percentOf(u.Pressure), r.sentence(a), text)
		}
	}
	text += fmt.Sprintf(". The closest is %s with %s of its %s (99th percentile)", worst.name(r.nodes),
		percentOf(worst.SLP.P99), worst.words())
	if worst.TCPT.Hi > 0 {
		hide := "its means of " + num.Seconds(r.Period)
		if worst.line.creditsUnknown() > 0 {
			hide += " and its unknown credits"
		}
		text += fmt.Sprintf("; %s may hide up to %s of the time at the limit", hide, percentOf(worst.TCPT.Hi/100))
	}
	if a := r.adviceFor(worst); a != nil {
		text += ". That is close enough to hold it back: " + r.sentence(a)
	}
	return text + "."
}

// worst is the service that was at its limit for longest, or closest to it.
func (r *Result) worst() *Service {
	all := r.candidates()
	if len(all) == 0 {
		return nil
	}
	return slices.MaxFunc(all, func(a, b *Service) int {
		return cmp.Or(cmp.Compare(a.atLimit(), b.atLimit()), cmp.Compare(a.SLP.P99, b.SLP.P99))
	})
}

// name is the service for people: with its node if there are several.
func (s *Service) name(nodes int) string {
	name := s.Service + " of " + s.Node
	switch {
	case s.Node == "" || nodes < 2 && s.Service != "":
		name = cmp.Or(s.Service, "the node")
	case s.Service == "":
		name = s.Node
	}
	return name + s.raised()
}

// raised is what the name of a service ends with after a raise.
func (s *Service) raised() string {
	if strings.HasSuffix(s.Source, afterRaise) {
		return afterRaise
	}
	return ""
}

// words is the limit for people.
func (l LimitOf) words() string {
	of, way, _ := strings.Cut(l.Quality, ".")
	word := map[string]string{string(levels.Ops): "operations", string(levels.Bytes): "bytes",
		string(levels.CPU): "processor"}[of]
	text := strings.TrimSpace(way + " " + cmp.Or(word, of))
	if l.Service == telemetry.Network {
		return strings.NewReplacer("read", "received", "write", "sent").Replace(text)
	}
	return text
}

// rate is a rate in the unit of the limit.
func (l LimitOf) rate(x float64) string {
	of, _, _ := strings.Cut(l.Quality, ".")
	return levels.Quality(of).Format(x)
}

// service is that of the limit for people.
func (l LimitOf) service() string { return cmp.Or(l.Service, "all volumes") }

// shown is the time at the limit for people: what was sampled, as far as the bounds allow it.
func (t TCPT) shown() float64 { return min(max(t.Percent, t.Lo), t.Hi) }

// sentence is it in a sentence, with the bounds as far as they say more.
func (t TCPT) sentence() string {
	if t.Hi-t.Lo < 1 {
		return num.Digits(t.shown(), 3) + " % of the time"
	}
	return fmt.Sprintf("%s %% of the time (at least %s, at most %s %%)", num.Digits(t.shown(), 3), num.Digits(t.Lo, 3),
		num.Digits(t.Hi, 3))
}

// atLimit is the time at the limit in percent, by the samples or by the provider.
func (s *Service) atLimit() float64 {
	if t := s.Throttled; t != nil {
		return max(s.TCPT.shown(), 100**t)
	}
	return s.TCPT.shown()
}

func (s *Service) words() string { return s.limit().words() }

// adviceFor is that to raise a service.
func (r *Result) adviceFor(s *Service) *Advised {
	i := slices.IndexFunc(r.Advice, func(a Advised) bool {
		return (a.Action == ActionRaise || a.Action == ActionOtherService) && a.LimitOf == s.limit()
	})
	if i < 0 {
		return nil
	}
	return &r.Advice[i]
}

// also says which limits have to be raised, too.
func (r *Result) also(a *Advised) (text string) {
	alike, others := 0, 0
	for i := range r.Advice {
		x := &r.Advice[i]
		switch {
		case x == a || x.Action != ActionRaise && x.Action != ActionOtherService:
		case x.Action == a.Action && x.Quality == a.Quality && (x.To == nil || a.To != nil && *x.To == *a.To):
			alike++
		default:
			others++
		}
	}
	if alike > 0 {
		text = ", and " + num.Count(alike, "other service") + " alike"
	}
	if others > 0 {
		text += ", and " + num.Count(others, "other limit") + " as the table says"
	}
	return text
}

// farAway is the growth from which the next known limit says little: one that has no model is reached before. It is
// shown as farText.
const (
	farAway = 100
	farText = "more than 100 times"
)

// far reports whether the next known limit, or the largest that the model has, is so far away.
func (a *Advised) far() bool { return a.Growth != nil && a.Growth.Value >= farAway }

// sentence says what to raise.
func (r *Result) sentence(a *Advised) string {
	also, useless := r.also(a), ""
	switch room := fmt.Sprintf(" has room for %s the throughput", farText); {
	case len(a.Next) > 0 && a.far():
		useless = fmt.Sprintf("; the next known limit (%s)", a.next()) + room
	case len(a.Next) > 0:
		useless = "; more is of no use, because " + a.binds()
	case a.far() && a.Action == ActionRaise: // a model may have no maximum
		useless = "; its model" + room
	}
	switch {
	case a.Action == ActionOtherService && (a.To == nil || a.far()):
		return "its model has no higher level" + also + ": more takes another size or kind of service" + useless
	case a.Action == ActionOtherService:
		return fmt.Sprintf("its model has no higher level%s. Another size or kind of service is of use up to %s%s", also,
			a.rate(*a.To), useless)
	case a.To == nil:
		return "raise it as far as needed" + also + ": no other limit is known"
	case a.far():
		return "raise it as far as needed" + also + useless
	case a.Other:
		return fmt.Sprintf("raise it as far as needed, up to %s%s; more takes another size or kind of service",
			a.rate(*a.To), also)
	}
	return "raise it to " + a.rate(*a.To) + also + useless
}

// binds says which limits bind after a raise.
func (a *Advised) binds() string {
	n, text, verb := a.first(), a.next(), " are"
	if n.Service != a.Service || n.Node != a.Node {
		text = "the " + text
	}
	if levels.Quality(n.Quality) == levels.CPU {
		verb = " is"
	}
	return text + verb + " at 100 % then"
}

// first is the limit that is named of those that bind then: one of the same service, or else the first.
func (a *Advised) first() LimitOf {
	own := slices.IndexFunc(a.Next, func(n LimitOf) bool { return n.Service == a.Service && n.Node == a.Node })
	return a.Next[max(0, own)]
}

// next is that limit for people, such as "connection bytes of db-1"; empty: none is known.
func (a *Advised) next() string {
	if len(a.Next) == 0 {
		return ""
	}
	n := a.first()
	parts, label := strings.Split(n.Quality, "."), ""
	if way := parts[len(parts)-1]; len(parts) > 1 && way != string(levels.Read) && way != string(levels.Write) {
		parts, label = parts[:len(parts)-1], way+" "
	}
	limit := n
	limit.Quality = strings.Join(parts, ".")
	text := label + limit.words()
	if n.Service != a.Service || n.Node != a.Node {
		text += n.place()
	}
	if n.Service != "" && n.Node != a.Node {
		text += " of " + n.Node
	}
	return text
}

// place is the service of a limit after its words: a volume may be called "data".
func (l LimitOf) place() string {
	switch {
	case l.Service == "":
		return " of " + cmp.Or(l.Node, "the node")
	case l.Service == telemetry.Processor:
		return "" // "the processor" says it
	case l.Service == telemetry.Network:
		return " of the network"
	}
	return " of volume " + l.Service
}
