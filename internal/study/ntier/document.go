package ntier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/microbench"
	"github.com/scalebench/scalebench/internal/stats"
)

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	said := r.said()
	d := &doc.Document{Title: r.title, Warnings: doc.Warnings(r.Warnings), Data: r.data(), Answer: said[0], More: said[1:]}
	if len(r.Configurations) == 1 {
		d.Verdict = tagOf(r.Configurations[0])
	}
	if len(r.Growth) > 0 {
		d.Sections = append(d.Sections, r.growthSection())
	}
	d.Sections = append(d.Sections, r.overview())
	if len(r.Reversals) > 0 {
		d.Sections = append(d.Sections, r.turned())
	}
	for _, c := range r.costs() {
		s := c.Section(r.sla)
		if c.Mix != "" {
			s.ID, s.Title = s.ID+"-"+c.Mix, s.Title+" with the mix "+c.Mix
		}
		d.Sections = append(d.Sections, s)
	}
	if len(r.Switching)+len(r.Network) > 0 {
		d.Sections = append(d.Sections, microbench.Section(r.Switching, r.Network))
	}
	for i := range r.Configurations {
		d.Sections = append(d.Sections, r.Configurations[i].section(r.tiers))
	}
	return d
}

// said is the answer in one sentence, and what else a reader needs.
func (r *Result) said() []string {
	var out []string
	for _, f := range r.Configurations {
		text := f.Text
		if len(r.Configurations) > 1 {
			text = f.Configuration + ": " + text
		}
		out = append(out, num.Sentence(text))
	}
	if len(out) > 1 {
		out = append([]string{r.summary()}, out...)
	}
	for _, f := range r.Configurations {
		out = append(out, f.Sizes.words(f.Configuration)...)
	}
	var grown []string
	for _, g := range r.Growth {
		grown = append(grown, g.words(r.ceiling, r.currency)...)
	}
	out = append(grown, out...)
	for _, x := range r.Reversals {
		out = append(out, reversalWords(x)+".")
	}
	if k := r.Rankings; k.Pairs > 0 {
		text := fmt.Sprintf("Of %s of two configurations on two platforms, turned over: %d; the same on both: %d; not told from chance or %g %%: %d",
			num.Count(k.Pairs, "ranking"), len(r.Reversals), k.Same, 100*bottleneck.Repeatability, k.Pairs-k.Same-len(r.Reversals)-k.StillGrew-k.WithoutInterval)
		if k.WithoutInterval > 0 {
			text += fmt.Sprintf("; without an interval: %d (%s)", k.WithoutInterval, k.Why)
		}
		if k.StillGrew > 0 {
			text += fmt.Sprintf("; open because what is behind still grew: %d", k.StillGrew)
		}
		out = append(out, text+".")
	}
	for _, c := range r.costs() {
		switch {
		case c.At > 0 && c.Mix != "":
			out = append(out, c.Mix+": "+c.Words(r.sla))
		case c.At > 0:
			out = append(out, c.Words(r.sla))
		}
	}
	for _, note := range r.Notes {
		out = append(out, num.Sentence(note))
	}
	return out
}

// summary counts the verdicts and names what binds, the most frequent first.
func (r *Result) summary() string {
	var names, parts []string
	count := make(map[string]int)
	for _, f := range r.Configurations {
		name := map[bottleneck.Verdict]string{bottleneck.None: "none seen", bottleneck.Unknown: "unknown"}[f.Verdict]
		if name == "" {
			name = strings.Join(f.names("the "), " with ")
			if count[name] == 0 {
				names = append(names, name)
			}
		}
		count[name]++
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	for _, name := range append(names, "none seen", "unknown") {
		if count[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", name, count[name]))
		}
	}
	return fmt.Sprintf("What binds in %d configurations: %s.", len(r.Configurations), strings.Join(parts, ", "))
}

func tagOf(f Finding) doc.Tag {
	switch f.Verdict {
	case bottleneck.Named:
		words := map[bottleneck.Pattern]string{bottleneck.Single: "one bottleneck", bottleneck.Simultaneous: "bottlenecks at once", bottleneck.Oscillating: "bottlenecks in turns"}
		return doc.Tag{Word: cmp.Or(words[f.Pattern], string(f.Pattern)+" bottlenecks"), Tone: doc.Note}
	case bottleneck.None:
		return doc.Tag{Word: "none seen", Tone: doc.Good}
	}
	return doc.Tag{Word: "unknown", Tone: doc.Doubt}
}

// id is that of the part of a configuration.
func (f Finding) id() string { return "c-" + f.Configuration }

// overview is a row for each configuration.
func (r *Result) overview() doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("configuration", "configuration"), doc.Number("hosts", "hosts"),
		doc.Number("peak", "peak", "largest throughput; ≥: no end of its growth was seen"),
		doc.Number("users", "users\nthere"),
		doc.Number("knee", "knee\nusers [95 %]"), {Key: "binds", Head: "what binds", Wrap: 24},
		doc.Number("limit", "limit by\nthe laws", "least capacity ÷ demand over the measured resources"),
	}}
	for _, f := range r.Configurations {
		limit := doc.Of(nil, num.Missing)
		if f.Laws != nil && f.Laws.Limit != nil {
			limit = doc.Of(nil, rate(*f.Laws.Limit))
		}
		peak, users, knee, binds := f.cells()
		t.Add(doc.Say(f.Configuration).To("#"+f.id()), doc.Int(f.Hosts), peak, users, knee, binds, limit)
	}
	s := doc.Section{ID: "configurations", Title: "Configurations", Blocks: []doc.Block{{Table: t}}}
	if len(r.Configurations) > 1 {
		s.Blocks = slices.DeleteFunc(append(s.Blocks, r.comparison()...), doc.Block.Empty)
	}
	return s
}

// cells are the peak, the users there, the knee, and the bottlenecks.
func (f Finding) cells() (most, users, knee, binds doc.Cell) {
	peak, missing, tag := f.peak(), doc.Of(nil, num.Missing), tagOf(f)
	most, users, knee = missing, missing, missing
	if peak.Users > 0 { // a load counts
		users, most = doc.Int(peak.Users), doc.Of(peak.Throughput,
			atLeast(f.stillGrew())+rate(peak.Throughput)).As(doc.Strong)
		if f.ExcludedFromRanking != "" {
			most = most.As(doc.Doubt)
		}
	}
	if k := f.Knee; k != nil {
		knee = doc.Of(nil, k.String())
	}
	return most, users, knee, doc.Say(cmp.Or(strings.Join(f.names(""), ", "), tag.Word)).As(tag.Tone)
}

// atLeast marks what still grew.
func atLeast(grew bool) string { return map[bool]string{true: "≥ "}[grew] }

// stillGrew reports whether no end of the growth was seen: what was measured is the
// least that the configuration can do.
func (f Finding) stillGrew() bool { return f.Knee == nil && len(f.Loads) > 0 }

// peak is the load with the largest throughput, of those that count, and at which not too
// much failed.
func (f Finding) peak() (out bottleneck.Load) {
	for _, l := range bottleneck.Counted(f.Loads) {
		if l.Throughput > out.Throughput && !l.Spoiled() {
			out = l
		}
	}
	return out
}

func (r *Result) turned() doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("a", "configuration"), doc.Label("b", "against"), doc.Label("first", "on"),
		doc.Interval("ratio_first", "times"),
		doc.Label("second", "on"), doc.Interval("ratio_second", "times"),
	}}
	times := func(v float64, ci stats.Interval, grew string) doc.Cell {
		return doc.Of(v, fmt.Sprintf("%s%.2f [%.2f .. %.2f]", grew, v, ci.Lo, ci.Hi)).Within(ci.Lo, ci.Hi)
	}
	for _, x := range r.Reversals {
		t.Add(doc.Say(x.A), doc.Say(x.B), doc.Say(placeWords(x.First)), times(x.RatioFirst, x.CIFirst, atLeast(x.GrewFirst)),
			doc.Say(placeWords(x.Second)), times(x.RatioSecond, x.CISecond, map[bool]string{true: "≤ "}[x.GrewSecond]))
	}
	const intro = "The throughput at the load where it is largest, as a ratio; only pairs of which the whole interval is on one side on both platforms, by more than 1 %, corrected for all pairs."
	return doc.Section{ID: "reversals", Title: "Rankings that turn over", Intro: intro, Blocks: []doc.Block{{Table: t}}}
}

// section is all about one configuration.
func (f *Finding) section(tiers []string) doc.Section {
	s := doc.Section{ID: f.id(), Kind: "Configuration", Title: f.Configuration, Tag: tagOf(*f),
		Intro: num.Sentence(f.Text)}
	if f.Sizes != nil {
		part := &doc.Section{Title: "Sizes that were tried", Blocks: []doc.Block{{Table: f.Sizes.sizesTable()}}}
		s.Blocks = append(s.Blocks, doc.Block{Part: part})
	}
	if len(f.Loads) == 0 {
		return s
	}
	part := func(title, intro string, t *doc.Table) {
		s.Blocks = append(s.Blocks,
			doc.Block{Part: &doc.Section{Title: title, Intro: intro, Blocks: []doc.Block{{Table: t}}}})
	}
	s.Blocks = append(s.Blocks, f.throughputFigure(), f.responseFigure(first(tiers)), f.heatMap(tiers), doc.Block{Table: f.loadsTable()})
	s.Blocks = append(s.Blocks, f.signalFigures(tiers)...)
	if len(f.Interactions) > 0 {
		part(fmt.Sprintf("Interactions with %d users", f.At), "", f.interactionsTable())
	}
	if f.Laws != nil && len(f.Laws.Demands) > 0 {
		part("What the laws say", f.lawsWords(), f.demandsTable())
	}
	if len(f.Suspects) > 0 {
		part("What grew where nothing was full", "", f.suspectsTable())
	}
	if f.timeline != nil {
		s.Blocks = append(s.Blocks, timelineFigure(f.timeline(), f.At))
	}
	s.Blocks = slices.DeleteFunc(s.Blocks, doc.Block.Empty)
	return s
}

// first is the tier that users reach; empty: there is none.
func first(tiers []string) string { return strings.Join(tiers[:min(1, len(tiers))], "") }

func (f *Finding) lawsWords() string {
	l := f.Laws
	text := ""
	if l.Limit != nil {
		text = fmt.Sprintf("The %s allows least: %s", l.By, rate(*l.Limit))
		if l.LimitCI != nil {
			text += " " + num.For("op/s", *l.Limit).Interval(l.LimitCI.Lo, l.LimitCI.Hi)
		}
		text += ". "
	}
	if l.UsersAtKnee != nil {
		text += fmt.Sprintf("What users ask for if nothing waits meets that limit at N* = %s. ", num.Count(int(math.Round(*l.UsersAtKnee)), "user"))
	}
	return strings.TrimSpace(text + num.Sentence(l.Says))
}
