package ntier

import (
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
	d := &doc.Document{Title: r.title, Warnings: doc.Warnings(r.Warnings), Data: r.data()}
	said := r.said()
	d.Answer, d.More = said[0], said[1:]
	d.Verdict = r.tag()
	d.Sections = append(d.Sections, r.overview())
	if len(r.Reversals) > 0 {
		d.Sections = append(d.Sections, r.turned())
	}
	if r.Cost != nil {
		d.Sections = append(d.Sections, r.Cost.section(r.sla))
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
		out = append(out, sentence(text))
	}
	if len(out) > 1 {
		out = append([]string{r.summary()}, out...)
	}
	for _, x := range r.Reversals {
		out = append(out, reversalWords(x)+".")
	}
	if c := r.Cost; c != nil && c.At > 0 {
		out = append(out, c.words(r.sla))
	}
	return out
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// summary counts the verdicts and names what binds.
func (r *Result) summary() string {
	var names []string
	count := make(map[string]int)
	none, unknown := 0, 0
	for _, f := range r.Configurations {
		switch f.Verdict {
		case bottleneck.None:
			none++
		case bottleneck.Unknown:
			unknown++
		default:
			var parts []string
			for _, b := range f.Bottlenecks {
				parts = append(parts, "the "+b.String())
			}
			name := strings.Join(parts, " with ")
			if count[name]++; count[name] == 1 {
				names = append(names, name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s in %d", name, count[name]))
	}
	if none > 0 {
		parts = append(parts, fmt.Sprintf("none seen in %d", none))
	}
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("unknown in %d", unknown))
	}
	return fmt.Sprintf("What binds in %d configurations: %s.", len(r.Configurations), strings.Join(parts, ", "))
}

func (r *Result) tag() doc.Tag {
	if len(r.Configurations) != 1 {
		return doc.Tag{}
	}
	return tagOf(r.Configurations[0])
}

func tagOf(f Finding) doc.Tag {
	switch f.Verdict {
	case bottleneck.Named:
		return doc.Tag{Word: string(f.Pattern), Tone: doc.Note}
	case bottleneck.None:
		return doc.Tag{Word: "none seen", Tone: doc.Good}
	}
	return doc.Tag{Word: "unknown", Tone: doc.Doubt}
}

// href leads to the part of a configuration.
func (f Finding) href() string { return "#c-" + f.Configuration }

// overview is a row for each configuration.
func (r *Result) overview() doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "configuration", Head: "configuration"}, {Key: "hosts", Head: "hosts", Right: true}, {Key: "peak", Head: "peak", Right: true, Tip: "largest throughput; ≥: no end of its growth was seen"},
		{Key: "users", Head: "users\nthere", Right: true}, {Key: "knee", Head: "knee\nusers [95 %]", Right: true}, {Key: "binds", Head: "what binds", Wrap: 24},
		{Key: "limit", Head: "limit by\nthe laws", Right: true, Tip: "least capacity ÷ demand over the measured resources"},
	}}
	for _, f := range r.Configurations {
		peak := f.peak()
		users, most := doc.Int(peak.Users), doc.Of(peak.Throughput, f.least()+rate(peak.Throughput)).As(doc.Strong)
		if f.Uncounted != "" {
			most = most.As(doc.Doubt)
		}
		if peak.Users == 0 { // no load counts
			users, most = doc.Of(nil, num.Missing), doc.Of(nil, num.Missing)
		}
		knee, limit := num.Missing, num.Missing
		if k := f.Knee; k != nil {
			knee = kneeText(*k)
		}
		if f.Laws != nil && f.Laws.Limit != nil {
			limit = rate(*f.Laws.Limit)
		}
		tag := tagOf(f)
		binds := tag.Word
		if f.Verdict == bottleneck.Named {
			var names []string
			for _, b := range f.Bottlenecks {
				names = append(names, b.String())
			}
			binds = strings.Join(names, ", ")
		}
		t.Add(doc.Say(f.Configuration).To(f.href()), doc.Int(f.Hosts), most, users,
			doc.Of(nil, knee), doc.Say(binds).As(tag.Tone), doc.Of(nil, limit))
	}
	s := doc.Section{ID: "configurations", Title: "Configurations", Blocks: []doc.Block{{Table: t}}}
	if len(r.Configurations) > 1 {
		s.Blocks = slices.DeleteFunc(append(s.Blocks, r.comparison()...), empty)
	}
	return s
}

// stillGrew reports whether no end of the growth was seen: what was measured is the
// least that the configuration can do.
func (f Finding) stillGrew() bool { return f.Knee == nil && len(f.Loads) > 0 }

// least marks a throughput that still grew.
func (f Finding) least() string { return map[bool]string{true: "≥ "}[f.stillGrew()] }

// peak is the load with the largest throughput that counts.
func (f Finding) peak() bottleneck.Load {
	var out bottleneck.Load
	for _, l := range bottleneck.Counted(f.Loads) {
		if l.Throughput > out.Throughput {
			out = l
		}
	}
	return out
}

func (r *Result) turned() doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "a", Head: "configuration"}, {Key: "b", Head: "against"}, {Key: "first", Head: "on"}, {Key: "ratio_first", Head: "times", Right: true, Interval: true},
		{Key: "second", Head: "on"}, {Key: "ratio_second", Head: "times", Right: true, Interval: true},
	}}
	times := func(v float64, ci stats.Interval) doc.Cell {
		return doc.Of(v, fmt.Sprintf("%.2f [%.2f .. %.2f]", v, ci.Lo, ci.Hi)).Within(ci.Lo, ci.Hi)
	}
	for _, x := range r.Reversals {
		t.Add(doc.Say(x.A), doc.Say(x.B), doc.Say(x.First), times(x.RatioFirst, x.CIFirst), doc.Say(x.Second), times(x.RatioSecond, x.CISecond))
	}
	const intro = "The throughput at the load where it is largest, as a ratio; only pairs of which the whole interval is on one side on both platforms, corrected for all pairs."
	return doc.Section{ID: "reversals", Title: "Rankings that turn over", Intro: intro, Blocks: []doc.Block{{Table: t}}}
}

// words say which configuration is the cheapest.
func (c *Cost) words(sla string) string {
	with := fmt.Sprintf("With %s ", num.Count(c.At, "user"))
	verb := func(of []string, one, several string) string {
		return num.List(of) + map[bool]string{true: one, false: several}[len(of) == 1]
	}
	switch {
	case len(c.Cheapest)+len(c.Unpriced) == 0:
		return with + fmt.Sprintf("no configuration that was measured is known to keep %s.", sla) + c.openWords()
	case len(c.Cheapest) == 0:
		return with + verb(c.Unpriced, " keeps ", " keep ") + sla + ", and no configuration that does has a price: which is the cheapest is not known." + c.openWords()
	}
	text := with + verb(c.Cheapest, " keeps ", " keep ") + sla + map[bool]string{true: " for the least money", false: " with the fewest hosts"}[c.priced]
	for _, row := range c.Rows {
		if row.Configuration == c.Cheapest[0] && row.Hourly != nil {
			text += fmt.Sprintf(", %.4g %s an hour", *row.Hourly, c.Currency)
		}
	}
	if len(c.Cheapest) > 1 {
		text += map[bool]string{true: " each", false: ", as many each"}[c.priced]
	}
	if len(c.Unpriced) > 0 {
		text += "; " + verb(c.Unpriced, " keeps it, too, and has no price", " keep it, too, and have no price")
	}
	return text + "." + c.openWords()
}

// openWords name what may be cheaper, and why that cannot be told.
func (c *Cost) openWords() string {
	less := ""
	if len(c.Cheapest) > 0 {
		less = map[bool]string{true: ", for less,", false: ", with fewer hosts,"}[c.priced]
	}
	text := ""
	for i, name := range c.Open {
		text += fmt.Sprintf(" Whether %s would%s cannot be told: %s.", name, less, c.openWhy[i])
	}
	return text
}

func (c *Cost) section(sla string) doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "configuration", Head: "configuration"}, {Key: "hourly", Head: c.Currency + "\nan hour", Right: true},
		{Key: "peak", Head: "at the\npeak", Right: true}, {Key: "per_million", Head: "a million there\n[95 %]", Right: true, Interval: true},
		{Key: "sla_users", Head: "keeps the SLA\nup to", Right: true}, {Key: "sla_per_million", Head: "a million there\n[95 %]", Right: true, Interval: true},
		{Key: "sla_per_request", Head: "a request", Right: true}, {Key: "keeps_sla", Head: fmt.Sprintf("with %d\nusers", c.At)},
	}}
	for _, row := range c.Rows {
		peak := doc.Of(nil, num.Missing)
		if row.Peak != nil {
			peak = doc.Of(row.Peak.Throughput, map[bool]string{true: "≥ "}[row.Peak.StillGrew]+rate(row.Peak.Throughput))
		}
		upTo, request := doc.Of(nil, num.Missing), doc.Of(nil, num.Missing)
		if row.SLA != nil {
			upTo = doc.Of(row.SLA.Users, num.Count(row.SLA.Users, "user")+", "+rate(row.SLA.Throughput))
			request = optional(row.SLA.PerRequest, short)
		}
		t.Add(doc.Say(row.Configuration), optional(row.Hourly, short), peak, row.Peak.cell(), upTo, row.SLA.cell(), request, keptCell(row.Keeps))
	}
	s := doc.Section{ID: "cost", Title: "What it costs", Blocks: []doc.Block{{Table: c.shown(t, sla)}}}
	if sla != "" {
		s.Intro = fmt.Sprintf("The SLA is %s. It is kept where the whole interval over the trials is below, and broken where it is above; otherwise it cannot be told.", sla)
	}
	return s
}

// shown leaves out columns about prices, an SLA, or a load that there are not.
func (c *Cost) shown(t *doc.Table, sla string) *doc.Table {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		key := t.Columns[i].Key
		money := key == "hourly" || strings.Contains(key, "per_")
		if money && !c.priced || strings.Contains(key, "sla") && sla == "" || key == "keeps_sla" && c.At == 0 {
			t.Columns = slices.Delete(t.Columns, i, i+1)
			for row := range t.Rows {
				t.Rows[row].Cells = slices.Delete(t.Rows[row].Cells, i, i+1)
			}
		}
	}
	return t
}

// cell is the price of a million.
func (r *Rated) cell() doc.Cell {
	if r == nil {
		return doc.Of(nil, num.Missing)
	}
	if r.PerMillion == nil {
		return doc.Of(nil, num.Missing)
	}
	cell := ranged(r.PerMillion, r.PerMillionCI, short)
	if r.StillGrew {
		cell.Lines = []string{"at most " + cell.Lines[0]}
	}
	return cell
}

func keptCell(kept *bool) doc.Cell {
	switch {
	case kept == nil:
		return doc.Of(nil, "cannot be told").As(doc.Doubt)
	case *kept:
		return doc.Of(true, "kept").As(doc.Good)
	}
	return doc.Of(false, "broken").As(doc.Bad)
}

func short(x float64) string { return fmt.Sprintf("%.3g", x) }

// section is all about one configuration.
func (f *Finding) section(tiers []string) doc.Section {
	s := doc.Section{ID: f.href()[1:], Kind: "Configuration", Title: f.Configuration, Tag: tagOf(*f), Intro: sentence(f.Text)}
	if len(f.Loads) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, f.throughputFigure(), f.responseFigure(first(tiers)), f.heatMap(tiers), doc.Block{Table: f.loadsTable()})
	s.Blocks = append(s.Blocks, f.signalFigures(tiers)...)
	if len(f.Interactions) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{Title: fmt.Sprintf("Interactions with %d users", f.At), Blocks: []doc.Block{{Table: f.interactionsTable()}}}})
	}
	if f.Laws != nil && len(f.Laws.Demands) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{Title: "What the laws say", Intro: f.lawsWords(), Blocks: []doc.Block{{Table: f.demandsTable()}}}})
	}
	if len(f.Suspects) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{Title: "What grew where nothing was full", Blocks: []doc.Block{{Table: f.suspectsTable()}}}})
	}
	if f.timeline != nil {
		s.Blocks = append(s.Blocks, timelineFigure(f.timeline(), f.At))
	}
	return doc.Section{ID: s.ID, Kind: s.Kind, Title: s.Title, Tag: s.Tag, Intro: s.Intro, Blocks: slices.DeleteFunc(s.Blocks, empty)}
}

// first is the tier that users reach.
func first(tiers []string) string {
	if len(tiers) == 0 {
		return ""
	}
	return tiers[0]
}

func empty(b doc.Block) bool { return b.Figure == nil && b.Table == nil && b.Part == nil }

func (f *Finding) lawsWords() string {
	l := f.Laws
	text := ""
	if l.Limit != nil {
		text = fmt.Sprintf("The %s allows least: %s", l.By, rate(*l.Limit))
		if l.LimitCI != nil {
			s := num.For("op/s", *l.Limit)
			text += " " + s.Interval(l.LimitCI.Lo, l.LimitCI.Hi)
		}
		text += ". "
	}
	if l.UsersAtKnee != nil {
		text += fmt.Sprintf("What users ask for if nothing waits meets that limit at N* = %s. ", num.Count(int(math.Round(*l.UsersAtKnee)), "user"))
	}
	if l.Says != "" {
		text += sentence(l.Says)
	}
	return strings.TrimSpace(text)
}
