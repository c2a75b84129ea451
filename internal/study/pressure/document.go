package pressure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
)

// document is study.Answer.Document.
func (r *Result) document() *doc.Document {
	d := &doc.Document{
		Title: r.title, Answer: r.answer(), Warnings: doc.Caveats(r.Doubts...),
		About: []doc.Field{{Label: "at its limit", Text: "above " + num.Percent(r.Critical)},
			{Label: "period", Text: num.Seconds(r.Period)}},
		Data: doc.Flatten(r, "services"),
	}
	d.Sections = append(d.Sections, doc.Section{ID: "pressure", Title: "How close to its limits is each service?",
		Blocks: []doc.Block{{Table: r.table()}}})
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

var reading = []string{
	"Pressure is what was observed, divided by what may be expected. At 100 % a service gives all that it promises.",
	"Time at the limit is the share of the time in which the pressure was above the critical one, as sampled. " +
		"A mean over a period hides its seconds, so the bounds say how much and how little it can have been.",
	"The longest is the longest time at the limit without a break. A gap in the data breaks it.",
	"P(s ≤ o) is the share of the time in which the service cannot be expected to deliver what was observed.",
}

// answer is one sentence for a decision: the service that was at its limit for longest,
// and what to do about it.
func (r *Result) answer() string {
	worst := r.worst()
	if worst == nil {
		return "No service has a pressure: the data lack what its limits count."
	}
	if worst.TCPT.Percent == 0 {
		text := fmt.Sprintf("No period was above %s. The closest is %s with %s of its %s (99th percentile)",
			num.Percent(r.Critical), worst.name(r.nodes), percentOf(worst.SLP.P99), limitWords(worst.Quality))
		if worst.TCPT.Hi > 0 {
			text += fmt.Sprintf("; its means of %s can hide at most %s of the time at the limit", num.Seconds(r.Period),
				percentOf(worst.TCPT.Hi/100))
		}
		return text + "."
	}
	text := fmt.Sprintf("%s was at its %s limit for %s of the time", worst.name(r.nodes), limitWords(worst.Quality),
		percentBounds(worst.TCPT))
	if a := r.adviceFor(worst); a != nil {
		text += "; " + r.sentence(a)
	}
	return text + "."
}

// worst is the service that was at its limit for longest, or closest to it.
func (r *Result) worst() *Service {
	if len(r.Services) == 0 {
		return nil
	}
	worst := slices.MaxFunc(r.Services, func(a, b *Service) int {
		return cmp.Or(cmp.Compare(a.TCPT.Percent, b.TCPT.Percent), cmp.Compare(a.TCPT.Hi, b.TCPT.Hi),
			cmp.Compare(a.SLP.P99, b.SLP.P99))
	})
	return worst
}

// name is the service for people: with its node where there are several.
func (s *Service) name(nodes int) string {
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
	word := map[string]string{string(levels.Ops): "operations", string(levels.Bytes): "bytes", string(levels.CPU): "processor"}[of]
	return strings.TrimSpace(way + " " + cmp.Or(word, of))
}

// percentBounds is a share of the time with its bounds, as far as they say more.
func percentBounds(t TCPT) string {
	text := num.Digits(t.Percent, 3) + " %"
	if t.Hi-t.Lo < 1 {
		return text
	}
	return fmt.Sprintf("%s [%s .. %s]", text, num.Digits(t.Lo, 3), num.Digits(t.Hi, 3))
}

// table has a row for each limit of each service, those with the highest pressure first.
func (r *Result) table() *doc.Table {
	t := &doc.Table{OneLine: true, Columns: []doc.Column{
		{Key: "node", Head: "node"}, {Key: "service", Head: "service"}, {Key: "quality", Head: "limit"},
		{Key: "limit", Head: "expected", Right: true},
		{Key: "mean", Head: "pressure", Right: true, Tip: "mean over the time"},
		{Key: "p25", Head: "p25 .. p75", Right: true, Spare: 1}, {Key: "p99", Head: "p99", Right: true, Spare: 2},
		{Key: "tcpt", Head: "time at limit", Right: true, Tip: "total critical pressure time (TCPT), with its bounds"},
		{Key: "mcpt", Head: "longest", Right: true, Tip: "maximum critical pressure time (MCPT), with its bounds"},
	}}
	for _, s := range r.ranked() {
		t.Add(doc.Say(s.Node), doc.Say(s.Service), doc.Say(limitWords(s.Quality)), s.expected(),
			doc.Of(s.SLP.Mean, percentOf(s.SLP.Mean)),
			doc.Of(s.SLP.P25, num.Digits(100*s.SLP.P25, 3)+" .. "+percentOf(s.SLP.P75)),
			doc.Of(s.SLP.P99, percentOf(s.SLP.P99)),
			doc.Of(s.TCPT.Percent, percentBounds(s.TCPT)).As(s.tone()),
			doc.Of(s.MCPT.Seconds, s.longest()))
	}
	return t
}

// expected is the limit for people.
func (s *Service) expected() doc.Cell {
	if s.Limit == 0 {
		return doc.Of(nil, "not known")
	}
	return doc.Of(s.Limit, rateText(s.Quality, s.Limit))
}

func percentOf(share float64) string { return num.Digits(100*share, 3) + " %" }

func (s *Service) tone() doc.Tone {
	switch {
	case s.TCPT.Lo > 0 || s.TCPT.Percent > 0:
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
	text := num.Digits(m.Seconds, 3) + " s"
	if m.Hi-m.Lo < 1 {
		return text
	}
	return fmt.Sprintf("%s [%s .. %s]", text, num.Digits(m.Lo, 3), num.Digits(m.Hi, 3))
}

// adviceBlocks are the table of what to do.
func (r *Result) adviceBlocks() []doc.Block {
	if len(r.Advice) == 0 {
		return nil
	}
	t := &doc.Table{Columns: []doc.Column{
		{Key: "action", Head: "do"}, {Key: "node", Head: "node"}, {Key: "service", Head: "service"}, {Key: "quality", Head: "limit"},
		{Key: "from", Head: "now", Right: true}, {Key: "to", Head: "to", Right: true},
		{Key: "growth", Head: "throughput", Right: true, Tip: "largest throughput then, as a multiple of the present one"},
		{Key: "next", Head: "then binds"},
	}}
	for i := range r.Advice {
		a := &r.Advice[i]
		to, growth, next := "any", "", ""
		switch {
		case a.To != nil:
			to = rateText(a.Quality, *a.To)
		case a.Action == ActionHeadroom:
			to = ""
		}
		if g := a.Growth; g != nil {
			growth = fmt.Sprintf("× %s [%s .. %s]", num.Digits(g.Value, 3), num.Digits(g.Lo, 3), num.Digits(g.Hi, 3))
		}
		if len(a.Next) > 0 {
			next = binds(a)
		}
		t.Add(doc.Say(string(a.Action)), doc.Say(a.Node), doc.Say(a.Service), doc.Say(limitWords(a.Quality)),
			doc.Of(a.From, rateText(a.Quality, a.From)), doc.Of(a.To, to), doc.Of(growth, growth), doc.Say(next))
	}
	blocks := []doc.Block{{Table: t}}
	if slices.ContainsFunc(r.Advice, func(a Advised) bool { return a.AtLeast }) {
		blocks = append(blocks, doc.Remark("The demand is clipped at the limit: it is at least what was observed. "+
			"A raise supposes that requests need as much as now; measure again after it."))
	}
	return blocks
}
