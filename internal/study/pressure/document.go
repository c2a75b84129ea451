package pressure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// document is study.Answer.Document.
func (r *Result) document() *doc.Document {
	d := &doc.Document{
		Title: r.title, Answer: r.answer(), Warnings: doc.Caveats(r.Doubts...),
		About: []doc.Field{{Label: "at its limit", Text: "above " + num.Percent(r.Critical)},
			{Label: "period", Text: num.Seconds(r.Period)}, {Label: "data", Text: r.span()}},
		More: r.more(),
		Data: doc.Flatten(r, "services"),
	}
	d.Sections = append(d.Sections, doc.Section{ID: "pressure", Title: "How close to its limits is each service?",
		Blocks: r.tableBlocks()})
	if blocks := r.adviceBlocks(); len(blocks) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "advice", Title: "What to raise", Blocks: blocks})
	}
	if blocks := r.growthBlocks(); len(blocks) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "growth", Title: "What growth costs", Blocks: blocks})
	}
	if blocks := r.sizeBlocks(); len(blocks) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "sizes", Title: "How the provider counts operations", Blocks: blocks})
	}
	d.Sections = append(d.Sections, r.figures()...)
	d.Sections = append(d.Sections, doc.Section{ID: doc.Reading, Title: "How to read this", Show: doc.Page,
		Blocks: []doc.Block{{List: &doc.List{Items: reading}}}})
	return d
}

// span is the time of the data.
func (r *Result) span() string {
	longest := 0.0
	for _, s := range r.Services {
		longest = max(longest, s.Observed)
	}
	all := r.To.Sub(r.From).Seconds()
	text := fmt.Sprintf("%s to %s", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime))
	if all > 0 && longest < leastCovered*all {
		text += fmt.Sprintf(", of which %s have values", num.Seconds(longest))
	}
	return text
}

// leastCovered is the share of the time with values, below which the rest is worth a word.
const leastCovered = .95

// more is what a reader needs to know beside the answer.
func (r *Result) more() []string {
	out := r.credits()
	for _, x := range r.Raised {
		out = append(out, x.sentence())
	}
	return out
}

// credits says when buckets run out.
func (r *Result) credits() (out []string) {
	for _, s := range r.Services {
		if s.Credits == nil || s.Credits.RunsOut == nil {
			continue
		}
		lo, hi := s.Credits.RunsOut.Lo-float64(r.To.Unix()), s.Credits.RunsOut.Hi-float64(r.To.Unix())
		when := num.Seconds(max(0, lo))
		switch {
		case hi <= 0:
			when = "already"
		case hi-lo > 1:
			when = fmt.Sprintf("%s to %s", when, num.Seconds(hi))
		}
		if hi > 0 {
			when += " after the end of the data"
		}
		out = append(out, fmt.Sprintf("%s: the credits of the %s run out %s, if the load of the last hour goes on.",
			s.name(r.nodes), s.words(), when))
	}
	return out
}

var reading = []string{
	"Pressure is what was observed, divided by what may be expected. At 100 % a service gives all that it promises.",
	"Time at the limit is the share of the time in which the pressure was above the critical one, as sampled. " +
		"A mean over a period hides its seconds: it was at least (≥) and at most (≤) what the bounds say.",
	"The longest is the longest time at the limit without a break. A gap in the data breaks it.",
	"P(s ≤ o) is the share of the time in which the service can be expected to deliver no more than what was observed.",
}

// answer is one sentence for a decision: the service that was at its limit for longest,
// and what to do about it.
func (r *Result) answer() string {
	worst := r.worst()
	if worst == nil {
		return "No service has a pressure: the data lack what its limits count."
	}
	if worst.atLimit() == 0 {
		text := fmt.Sprintf("No period was above %s. The closest is %s with %s of its %s (99th percentile)",
			num.Percent(r.Critical), worst.name(r.nodes), percentOf(worst.SLP.P99), worst.words())
		if worst.TCPT.Hi > 0 {
			text += fmt.Sprintf("; its means of %s can hide at most %s of the time at the limit", num.Seconds(r.Period),
				percentOf(worst.TCPT.Hi/100))
		}
		return text + "."
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

// worst is the service that was at its limit for longest, or closest to it.
func (r *Result) worst() *Service {
	if len(r.candidates()) == 0 {
		return nil
	}
	worst := slices.MaxFunc(r.candidates(), func(a, b *Service) int {
		return cmp.Or(cmp.Compare(a.atLimit(), b.atLimit()), cmp.Compare(a.SLP.P99, b.SLP.P99))
	})
	return worst
}

// name is the service for people: with its node where there are several.
func (s *Service) name(nodes int) string {
	if strings.HasSuffix(s.Source, afterRaise) {
		plain := *s
		plain.Source = ""
		return plain.name(nodes) + afterRaise
	}
	if s.Node == "" || nodes < 2 && s.Service != "" {
		return cmp.Or(s.Service, "the node")
	}
	if s.Service == "" {
		return s.Node
	}
	return s.Service + " of " + s.Node
}

// limitWords is a quality for people.
func limitWords(quality string) string {
	of, way, _ := strings.Cut(quality, ".")
	word := map[string]string{string(levels.Ops): "operations", string(levels.Bytes): "bytes",
		string(levels.CPU): "processor"}[of]
	return strings.TrimSpace(way + " " + cmp.Or(word, of))
}

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

// serviceText is the service in a table.
func (s *Service) serviceText() string {
	if strings.HasSuffix(s.Source, afterRaise) {
		return s.Service + afterRaise
	}
	return s.Service
}

// words is the limit for people.
func (s *Service) words() string { return LimitOf{s.Node, s.Service, s.Quality}.words() }

func (l LimitOf) words() string {
	if l.Service == telemetry.Network {
		return strings.NewReplacer("read", "received", "write", "sent").Replace(limitWords(l.Quality))
	}
	return limitWords(l.Quality)
}

// percentBounds is a share of the time with its bounds.
func percentBounds(t TCPT) string { return bounded(num.Digits(t.shown(), 3)+" %", t.Lo, t.Hi) }

// bounded is a text with the bounds of its number, as far as they say more.
func bounded(text string, lo, hi float64) string {
	if hi-lo < 1 {
		return text
	}
	if lo > 0 {
		return fmt.Sprintf("%s (≥ %s, ≤ %s)", text, num.Digits(lo, 3), num.Digits(hi, 3))
	}
	return fmt.Sprintf("%s (≤ %s)", text, num.Digits(hi, 3))
}

// expected is the limit for people.
func (s *Service) expected() doc.Cell {
	if s.Limit == 0 {
		return doc.Of(nil, "not known")
	}
	return doc.Of(s.Limit, rateText(s.Quality, s.Limit))
}

// tableBlocks are the table, and the limits of which nothing was used.
func (r *Result) tableBlocks() []doc.Block {
	var unused []string
	for _, s := range r.Services {
		if s.SLP.Max == 0 {
			unused = append(unused, s.name(r.nodes)+" "+s.words())
		}
	}
	blocks := []doc.Block{{Table: r.table()}}
	if len(unused) > 0 {
		blocks = append(blocks, doc.Remark("Not used at all: "+num.List(unused)+"."))
	}
	return blocks
}

// table has a row for each limit of each service, those with the highest pressure first.
func (r *Result) table() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "node", Head: "node"}, {Key: "service", Head: "service"}, {Key: "quality", Head: "limit"},
		{Key: "limit", Head: "expected", Right: true},
		{Key: "mean", Head: "pressure", Right: true, Tip: "mean over the time"},
		{Key: "p99", Head: "p99", Right: true},
		{Key: "exceeds", Head: "P(s ≤ o)", Right: true, Tip: "share of the time in which the service can deliver no more"},
		{Key: "tcpt", Head: "time at limit", Right: true, Tip: "total critical pressure time (TCPT), with its bounds"},
		{Key: "mcpt", Head: "longest", Right: true, Tip: "maximum critical pressure time (MCPT), with its bounds"},
		{Key: "throttled", Head: "throttled", Right: true, Tip: "share of the time, by the provider"},
	}}
	throttled, reached := false, false
	for _, s := range r.ranked() {
		if s.SLP.Max == 0 {
			continue
		}
		throttled, reached = throttled || s.Throttled != nil, reached || len(s.line.level.Rate) > 1
		t.Add(doc.Say(s.Node), doc.Say(s.serviceText()), doc.Say(s.words()), s.expected(),
			doc.Of(s.SLP.Mean, percentOf(s.SLP.Mean)),
			doc.Of(s.SLP.P99, percentOf(s.SLP.P99)), doc.Of(s.Exceeds, percentOf(s.Exceeds)),
			doc.Of(s.TCPT.Percent, percentBounds(s.TCPT)).As(s.tone()),
			doc.Of(s.MCPT.Seconds, s.longest()), doc.Optional(s.Throttled, percentOf))
	}
	t.Drop(func(key string) bool { return key == "exceeds" && !reached || key == "throttled" && !throttled })
	return t
}

func percentOf(share float64) string { return num.Digits(100*share, 3) + " %" }

func (s *Service) tone() doc.Tone {
	switch {
	case s.atLimit() > 0:
		return doc.Bad
	case s.TCPT.Hi > 0:
		return doc.Doubt
	}
	return doc.Good
}

// rateText is a rate in the unit of its quality.
func rateText(quality string, rate float64) string {
	of, _, _ := strings.Cut(quality, ".")
	switch levels.Quality(of) {
	case levels.Ops:
		return num.Digits(rate, 5) + " op/s"
	case levels.Bytes:
		return num.Digits(rate/(1<<20), 4) + " MiB/s"
	case levels.CPU:
		return num.Digits(rate, 4) + " cores"
	}
	return num.Digits(rate, 4)
}

// longest is the longest time at the limit, with its bounds where they say more.
func (s *Service) longest() string {
	m := s.MCPT
	if m.Hi == 0 {
		return "–"
	}
	return bounded(num.Digits(m.Seconds, 3)+" s", m.Lo, m.Hi)
}

// serviceOrAll names a service, or all volumes of a node.
func serviceOrAll(service string) string { return cmp.Or(service, "all volumes") }

// adviceBlocks are the table of what to do.
func (r *Result) adviceBlocks() []doc.Block {
	if len(r.Advice) == 0 {
		return nil
	}
	t := &doc.Table{Columns: []doc.Column{
		{Key: "action", Head: "do"}, {Key: "node", Head: "node"}, {Key: "service", Head: "service"},
		{Key: "quality", Head: "limit"}, {Key: "from", Head: "now", Right: true}, {Key: "to", Head: "to", Right: true},
		{Key: "inputs", Head: "choose", Tip: "inputs of the model"},
		{Key: "growth", Head: "throughput", Tip: "the largest then, as a multiple of the present one"},
		{Key: "interval", Head: "95 % interval"}, {Key: "next", Head: "next limit", Tip: "which binds then"},
	}}
	given := map[string]bool{"node": r.nodes > 1}
	for i := range r.Advice {
		a := &r.Advice[i]
		to, next := "any", a.next()
		if a.Other && a.Action == ActionRaise {
			next = "the model has no more"
		}
		switch {
		case a.To != nil:
			to = rateText(a.Quality, *a.To)
		case a.Action == ActionHeadroom:
			to = ""
		}
		inputs, growth, interval := settings(a.Inputs, nil), "", ""
		if g := a.Growth; g != nil {
			growth = num.Digits(g.Value, 3) + " times"
			if g.Hi > g.Lo {
				interval = num.Digits(g.Lo, 3) + " to " + num.Digits(g.Hi, 3)
			}
		}
		given[string(a.Action)] = true
		given["inputs"], given["interval"] = given["inputs"] || inputs != "", given["interval"] || interval != ""
		t.Add(doc.Say(strings.ReplaceAll(string(a.Action), "_", " ")), doc.Say(a.Node), doc.Say(serviceOrAll(a.Service)),
			doc.Say(LimitOf{a.Node, a.Service, a.Quality}.words()), doc.Of(a.From, rateText(a.Quality, a.From)),
			doc.Of(a.To, to), doc.Say(inputs), doc.Of(growth, growth), doc.Say(interval), doc.Say(next))
	}
	t.Drop(func(key string) bool {
		return slices.Contains([]string{"node", "inputs", "interval"}, key) && !given[key]
	})
	return append([]doc.Block{{Table: t}}, r.remarks(given)...)
}

// remarks say what the actions mean that were given.
func (r *Result) remarks(given map[string]bool) (blocks []doc.Block) {
	critical := num.Percent(r.Critical)
	for _, remark := range []struct {
		action Action
		text   string
	}{
		{ActionRaise, "Raise: up to this level more is of use. The next limit is then at 100 %. " +
			"With --growth, raises keep all limits at or below " + critical + "."},
		{ActionOtherService, "Other service: the model gives no more. A larger size or another kind of service may."},
		{ActionHeadroom, "Headroom: nothing has to change now. If the throughput grows so far, this limit is at 100 %."},
		{ActionLower, "Lower: this is enough for the present load, and for what a raise allows. " +
			"The 99th percentile stays at or below " + critical + ". A smaller volume still has to hold the data."},
	} {
		if given[string(remark.action)] {
			blocks = append(blocks, doc.Remark(remark.text))
		}
	}
	if given[string(ActionRaise)] || given[string(ActionOtherService)] {
		text := "A raise supposes that requests need as much as now; measure again after it."
		if slices.ContainsFunc(r.Advice, func(a Advised) bool { return a.AtLeast }) {
			text = "The demand is clipped at the limit: it is at least what was observed. " + text
		}
		blocks = append(blocks, doc.Remark(text))
	}
	return blocks
}
