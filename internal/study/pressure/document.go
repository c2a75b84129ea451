package pressure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
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
	for _, s := range []doc.Section{
		{ID: "pressure", Title: "How close to its limits is each service?", Blocks: r.tableBlocks()},
		{ID: "advice", Title: "What to raise", Blocks: r.adviceBlocks()},
		{ID: "growth", Title: "What growth costs", Blocks: r.growthBlocks()},
		{ID: "sizes", Title: "How the provider counts operations", Blocks: r.sizeBlocks()},
	} {
		if len(s.Blocks) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	d.Sections = append(d.Sections, r.figures()...)
	d.AddSection(doc.Reading, "How to read this", "", doc.Page, doc.Block{List: &doc.List{Items: reading}})
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
	if g := r.Growth; g != nil && g.Raise != nil {
		out = append(out, fmt.Sprintf("\"What growth costs\" has the inputs for %s the load, with all limits at or below %s.",
			g.asked(), num.Percent(r.Critical)))
	} else if g != nil {
		out = append(out, fmt.Sprintf("No inputs of the models serve %s the load with all limits at or below %s.", g.asked(),
			num.Percent(r.Critical)))
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
		if hi-lo > 1 {
			when = fmt.Sprintf("%s to %s", when, num.Seconds(hi))
		}
		text := fmt.Sprintf("run out %s after the end of the data, if the load of the last hour goes on", when)
		if hi <= 0 {
			text = "are used up"
		}
		out = append(out, fmt.Sprintf("%s: the credits of the %s %s.", s.name(r.nodes), s.words(), text))
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
	return doc.Of(s.Limit, s.line.level.Quality.Format(s.Limit))
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
	t := &doc.Table{Columns: []doc.Column{doc.Label("node", "node"), doc.Label("service", "service"),
		doc.Label("quality", "limit"), doc.Number("limit", "expected"),
		doc.Number("mean", "pressure", "mean over the time"), doc.Number("p99", "p99"),
		doc.Number("exceeds", "P(s ≤ o)", "share of the time in which the service can deliver no more"),
		doc.Number("tcpt", "time at limit", "total critical pressure time (TCPT), with its bounds"),
		doc.Number("mcpt", "longest", "maximum critical pressure time (MCPT), with its bounds"),
		doc.Number("throttled", "throttled", "share of the time, by the provider"),
	}}
	throttled, reached := false, false
	for _, s := range r.ranked() {
		if s.SLP.Max == 0 {
			continue
		}
		throttled, reached = throttled || s.Throttled != nil, reached || len(s.line.level.Rate) > 1
		t.Add(doc.Say(s.Node), doc.Say(s.limit().service()+s.raised()), doc.Say(s.words()), s.expected(),
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

// longest is the longest time at the limit, with its bounds where they say more.
func (s *Service) longest() string {
	m := s.MCPT
	if m.Hi == 0 {
		return "–"
	}
	return bounded(num.Digits(m.Seconds, 3)+" s", m.Lo, m.Hi)
}

// adviceBlocks are the table of what to do.
func (r *Result) adviceBlocks() []doc.Block {
	if len(r.Advice) == 0 {
		return nil
	}
	t := &doc.Table{Columns: []doc.Column{doc.Label("action", "do"), doc.Label("node", "node"),
		doc.Label("service", "service"), doc.Label("quality", "limit"), doc.Number("from", "now"), doc.Number("to", "to"),
		doc.Label("inputs", "choose", "inputs of the model"),
		doc.Label("growth", "throughput\nat 100 %", "the largest then, as a multiple of the present one"),
		doc.Label("interval", "95 % interval"), doc.Label("next", "next limit", "which is reached then"),
	}}
	given := map[string]bool{"node": r.nodes > 1}
	for i := range r.Advice {
		a := &r.Advice[i]
		to, inputs, next, growth, interval := "as needed", "", a.next(), "", ""
		if a.Other && a.Action == ActionRaise && !a.far() {
			next = "the model has no more"
		}
		switch {
		case a.To != nil && (!a.far() || a.Action != ActionRaise):
			to, inputs = a.rate(*a.To), settings(a.Inputs, nil)
		case a.Action == ActionHeadroom:
			to = ""
		}
		if g := a.Growth; a.far() {
			growth = farText
		} else if g != nil {
			growth = num.Digits(g.Value, 3) + " times"
			if g.Hi > g.Lo {
				interval = num.Digits(g.Lo, 3) + " to " + num.Digits(g.Hi, 3)
			}
		}
		given[string(a.Action)] = true
		given["inputs"], given["interval"] = given["inputs"] || inputs != "", given["interval"] || interval != ""
		t.Add(doc.Say(strings.ReplaceAll(string(a.Action), "_", " ")), doc.Say(a.Node), doc.Say(a.service()),
			doc.Say(a.words()), doc.Of(a.From, a.rate(a.From)),
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
		{ActionRaise, "Raise: more is of use up to this level. Then the next limit is at 100 %, or the model has no more. " +
			"That leaves no headroom: --growth plans with at most " + critical + " of each limit."},
		{ActionOtherService, "Other service: the model gives no more. A larger size or another kind of service may."},
		{ActionHeadroom, "Headroom: nothing has to change now. This limit is at 100 % when the throughput has grown so far."},
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
	if slices.ContainsFunc(r.Advice, func(a Advised) bool { return a.far() }) {
		blocks = append(blocks, doc.Remark("A throughput of "+farText+" is beyond these models: a limit that has no model "+
			"is reached before. Plan with --growth and the throughput that you need."))
	}
	return blocks
}
