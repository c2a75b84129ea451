package ntier

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/stats"
)

// Grow is how far configurations grow.
type Grow struct {
	Hosts   int     `json:"hosts,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"Most hosts of a configuration. Default: as many as the fleet has."`
	PerHour float64 `json:"price_per_hour,omitempty" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Most that the hosts of a configuration cost an hour together, by prices."`
}

// Growth is the path of one configuration: each on it has a host more of the tiers that the
// one before was named for (the paper, section III-A).
type Growth struct {
	Path  []Grown `json:"path"`
	Ended Ended   `json:"ended"`
	// Next is the configuration that would follow; empty: there is none.
	Next string `json:"next,omitempty"`
}

// Grown is a configuration on a path.
type Grown struct {
	Configuration string   `json:"configuration"`
	Hosts         int      `json:"hosts"`
	Hourly        *float64 `json:"hourly"` // null: without prices, or not known
	// Added are the tiers that have a host more than before, or hosts of their own.
	Added []string `json:"added,omitempty"`
	// Aside: another variant gave more throughput a host, and the path went on with that.
	// Undecided: their intervals do not show it.
	Aside     bool `json:"aside,omitempty"`
	Undecided bool `json:"undecided,omitempty"`

	finding Finding
}

// Ended is why a path ends.
type Ended string

// Ends of a path.
const (
	EndedNone     Ended = "none"         // no bottleneck was seen
	EndedSoft     Ended = "soft"         // only threads or pools bind, which are settings
	EndedUneven   Ended = "uneven"       // one host is full, and the others of its tier are not
	EndedUnknown  Ended = "unknown"      // the answer is
	EndedHosts    Ended = "hosts"        // the next has too many
	EndedPrice    Ended = "price"        // the next costs too much
	EndedUnpriced Ended = "unpriced"     // a host of the next has no price
	EndedFleet    Ended = "fleet"        // it has no hosts for the next
	EndedOpen     Ended = "not_measured" // the next is not measured yet
)

// judged is a configuration with its answer.
type judged struct {
	measured
	Finding
}

// path follows a configuration through what was measured. wanted is what is to be measured
// next; fits reports whether the fleet has hosts for it.
func (p *Params) path(start Configuration, all map[string]judged, list prices.List,
	fits func(Configuration) bool,
) (g Growth, wanted []Configuration) {
	var added []string
	for at := all[start.String()]; ; {
		g.Path = append(g.Path, at.grown(list, added))
		var next []Configuration
		if next, added, g.Ended = at.after(); g.Ended == EndedUnknown && slices.ContainsFunc(at.failed, trial.open) {
			g.Ended, g.Next = EndedOpen, at.configuration.String()
		}
		if g.Ended != "" {
			return g, nil
		}
		g.Next = next[0].String()
		next = slices.DeleteFunc(next, func(c Configuration) bool {
			if _, ok := all[c.String()]; ok { // no ceiling was in its way
				return false
			}
			end := p.ceiling(c, at.measured, list)
			if end == "" && !fits(c) {
				end = EndedFleet
			}
			g.Ended = cmp.Or(g.Ended, end)
			return end != ""
		})
		if len(next) == 0 {
			return g, nil
		}
		for _, c := range next {
			if _, ok := all[c.String()]; !ok {
				wanted = append(wanted, c)
			}
		}
		if len(wanted) > 0 {
			g.Ended, g.Next = EndedOpen, wanted[0].String()
			return g, wanted
		}
		g.Ended, g.Next = "", ""
		best := slices.MaxFunc(next, func(a, b Configuration) int {
			return cmp.Compare(all[a.String()].perHost(), all[b.String()].perHost())
		})
		for _, c := range next {
			if x := all[c.String()]; c.String() != best.String() {
				aside := x.grown(list, nil)
				aside.Aside, aside.Undecided = true, !x.behind(all[best.String()])
				g.Path = append(g.Path, aside)
			}
		}
		at = all[best.String()]
	}
}

// ceiling is the one that a configuration is above; empty: none.
func (p *Params) ceiling(c Configuration, m measured, list prices.List) Ended {
	if p.Grow.Hosts > 0 && c.Hosts() > p.Grow.Hosts {
		return EndedHosts
	}
	if p.Grow.PerHour == 0 {
		return ""
	}
	hourly := m.hourly(c, list)
	const same = 1 + 1e-9 // sums in another order differ by as much
	switch {
	case hourly == nil:
		return EndedUnpriced
	case *hourly > p.Grow.PerHour*same:
		return EndedPrice
	}
	return ""
}

// hourly is the price of a configuration whose tiers have hosts like those that were
// measured; nil: it is not known.
func (m measured) hourly(c Configuration, list prices.List) *float64 {
	var hosts []prices.Place
	for _, set := range c.sets() {
		place := prices.Place{}
		for _, t := range m.trials {
			place = t.places[m.system.Tiers[set[0]]]
		}
		place.Type = cmp.Or(place.Type, c.Type)
		hosts = append(hosts, slices.Repeat([]prices.Place{place}, c.hostsOf(set))...)
	}
	sum, missing := list.Sum(hosts, untyped)
	if missing != "" {
		return nil
	}
	return &sum
}

// common is what two hosts have in common. Hosts of several types have no price, because
// nobody knows which type the next one has.
func common(a, b prices.Place) prices.Place {
	if a.Type != b.Type {
		a.Type = "several types"
	}
	if a.Zone != b.Zone {
		a.Zone = ""
	}
	return a
}

func (j judged) grown(list prices.List, added []string) Grown {
	return Grown{Configuration: j.Configuration, Hosts: j.configuration.Hosts(),
		Hourly: j.hourly(j.configuration, list), Added: added, finding: j.Finding}
}

// perHost is the largest throughput a host.
func (j judged) perHost() float64 { return j.peak().Throughput / float64(j.configuration.Hosts()) }

// behind reports whether a variant has less throughput a host than another, by its interval.
// One that still grew, or whose throughput carries no ranking, may have more.
func (j judged) behind(o judged) bool {
	if j.stillGrew() || j.ExcludedFromRanking != "" {
		return false
	}
	_, ci, err := stats.RatioOfIndependentMeans(j.peak().Throughputs, o.peak().Throughputs, stats.DefaultLevel)
	return err == nil && ci.Hi*float64(o.configuration.Hosts()) < float64(j.configuration.Hosts())
}

// after are the configurations that may follow, and the tiers that have a host more. A
// second one follows on tiers that share a full host: each has its present hosts for itself.
func (j judged) after() (next []Configuration, added []string, end Ended) {
	switch j.Verdict {
	case bottleneck.None:
		return nil, nil, EndedNone
	case bottleneck.Unknown:
		return nil, nil, EndedUnknown
	}
	end = EndedSoft
	var hardware []bottleneck.Evidence
	for _, b := range j.Bottlenecks {
		switch {
		case b.Kind.Soft():
		case b.Node != "":
			end = EndedUneven
		default:
			hardware = append(hardware, b)
		}
	}
	more, apart, parted := j.configuration.clone(), j.configuration.clone(), false
	for i, tier := range j.system.Tiers {
		own, shared := false, false
		for _, b := range hardware {
			own = own || b.Of(tier) && !b.Shared()
			shared = shared || b.Of(tier) && b.Shared()
		}
		if own || shared {
			added = append(added, tier)
			more.Counts[i]++
		}
		if own {
			apart.Counts[i]++
		}
		if shared && apart.joined(i) {
			apart.Joined[i], parted = false, true
		}
	}
	if len(added) == 0 {
		return nil, nil, end
	}
	next = append(next, more)
	if parted {
		next = append(next, apart)
	}
	return next, added, ""
}

func (c Configuration) clone() Configuration {
	c.Counts, c.Joined = slices.Clone(c.Counts), slices.Clone(c.Joined)
	return c
}

// growth are the paths of a run.
func (p *Params) growth(all []measured, findings []Finding) []Growth {
	if p.Grow == nil {
		return nil
	}
	known, over := make(map[string]judged), true
	for i, m := range all {
		if len(m.trials)+len(m.failed) == 0 {
			continue // its search goes on
		}
		known[findings[i].Configuration] = judged{m, findings[i]}
		for _, t := range slices.Concat(m.trials, m.failed) {
			state := t.run.Run().State
			over = over && (state == model.RunDone || state == model.RunIncomplete)
		}
	}
	out, _ := p.paths(known, func(Configuration) bool { return !over })
	return out
}

// paths are those of all configurations that the file names, and what is to be measured
// next.
func (p *Params) paths(all map[string]judged, fits func(Configuration) bool) (out []Growth, wanted []string) {
	list, _ := p.list() // validated
	for _, text := range p.Configurations {
		start, _ := ParseConfiguration(text, p.Tiers) // validated
		if _, ok := all[start.String()]; !ok {
			continue // of another platform, or nothing of it was measured yet
		}
		g, more := p.path(start, all, list, fits)
		out = append(out, g)
		for _, c := range more {
			if name := c.String(); !slices.Contains(wanted, name) {
				wanted = append(wanted, name)
			}
		}
	}
	return out, wanted
}

// checkGrow holds the ceilings to the prices and to what the paths begin with.
func (p *Params) checkGrow() error {
	if len(p.Mixes) > 0 && (p.Grow != nil || len(p.Sizes) > 0) {
		return refuse("mixes", "a configuration grows, and its sizes are searched for, with the mix of the workload alone",
			"leave mixes out and write the mix below the workload")
	}
	if p.Grow == nil {
		return nil
	}
	if list, err := p.list(); p.Grow.PerHour > 0 && err == nil && list.Empty() {
		return refuse("grow.price_per_hour", "no host has a price",
			"add prices: {large: {price_per_hour: 0.34, currency: USD}}")
	}
	for i, text := range p.Configurations {
		c, err := ParseConfiguration(text, p.Tiers)
		if err == nil && p.Grow.Hosts > 0 && c.Hosts() > p.Grow.Hosts {
			return refuse(fmt.Sprintf("configurations.%d", i),
				fmt.Sprintf("%s has %d hosts, and grow.hosts is %d", c, c.Hosts(), p.Grow.Hosts),
				"begin with the smallest configuration")
		}
	}
	return nil
}

// words say how a path went, in sentences.
func (g Growth) words(ceiling Grow, currency string) []string {
	path := slices.DeleteFunc(slices.Clone(g.Path), func(s Grown) bool { return s.Aside })
	first, last := path[0], path[len(path)-1]
	text := first.Configuration + " has not grown."
	if len(path) > 1 {
		text = fmt.Sprintf("%s grew to %s in %s: from %s and %s to %s and %s.", first.Configuration,
			last.Configuration, num.Count(len(path)-1, "step"), num.Count(first.Hosts, "host"), first.peak(),
			num.Count(last.Hosts, "host"), last.peak())
	}
	if c := ceiling.PerHour; c > 0 && first.Hourly != nil && *first.Hourly > c {
		text += fmt.Sprintf(" It costs %s %s an hour already, above the ceiling of %s.", prices.Money(*first.Hourly),
			currency, prices.Money(c))
	}
	next := g.Next + " would be next, "
	switch g.Ended {
	case EndedNone:
		next = fmt.Sprintf("No bottleneck was seen there up to %s.", num.Count(last.users(), "user"))
	case EndedSoft:
		next = fmt.Sprintf("Only settings bind there: %s. Raise these first.", num.List(last.finding.names("the ")))
	case EndedUneven:
		next = fmt.Sprintf("One host is full there, and the others of its tier are not: %s. Spread the load first.",
			num.List(last.finding.names("the ")))
	case EndedUnknown:
		next = "The answer for it is unknown, so growth ends there."
	case EndedHosts:
		next += fmt.Sprintf("and the ceiling is %s.", num.Count(ceiling.Hosts, "host"))
	case EndedPrice:
		next += fmt.Sprintf("and the ceiling is %s %s an hour.", prices.Money(ceiling.PerHour), currency)
	case EndedUnpriced:
		next += "and what it costs is not known: give all hosts a type and a price."
	case EndedFleet:
		next += "but the run ended without it: the fleet had too few hosts, or the run had other ceilings."
	case EndedOpen:
		next = g.Next + " is not fully measured: resume the run."
	}
	for _, s := range g.Path {
		if s.Undecided {
			next += fmt.Sprintf(" %s was left aside, but it may give as much throughput per host, or more.", s.Configuration)
		}
	}
	return []string{text, next}
}

// peak is the largest throughput; users is the largest load that counts.
func (s Grown) peak() string {
	if s.finding.peak().Users == 0 {
		return "no throughput that counts"
	}
	return atLeast(s.finding.stillGrew()) + rate(s.finding.peak().Throughput)
}

func (s Grown) users() int {
	if ok := bottleneck.Counted(s.finding.Loads); len(ok) > 0 {
		return ok[len(ok)-1].Users
	}
	return 0
}

// growthSection has the paths as a table and a figure.
func (r *Result) growthSection() doc.Section {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("configuration", "configuration"), doc.Label("added", "a host\nmore of"),
		doc.Number("hosts", "hosts"), doc.Number("hourly", r.currency+"\nan hour"),
		doc.Number("peak", "peak", "largest throughput; ≥: no end of its growth was seen"),
		doc.Number("knee", "knee\nusers [95 %]"), {Key: "binds", Head: "bottleneck", Wrap: 24},
	}}
	var lines []chart.Curve
	for _, g := range r.Growth {
		line := chart.Curve{Name: "from " + g.Path[0].Configuration}
		for _, s := range g.Path {
			added := num.List(s.Added)
			if s.Aside {
				added = "left aside"
			} else if x := s.finding.peak().Throughput; x > 0 {
				line.Add(float64(s.Hosts), &x)
			}
			peak, _, knee, binds := s.finding.cells()
			t.Add(doc.Say(s.Configuration).To("#"+s.finding.id()), doc.Say(added), doc.Int(s.Hosts),
				doc.Optional(s.Hourly, prices.Money), peak, knee, binds)
		}
		lines = append(lines, line)
	}
	t.Drop(func(key string) bool { return key == "hourly" && r.currency == "" })
	const title = "Largest throughput against hosts"
	hosts := chart.Axis{Label: "hosts", Whole: true}
	figure := doc.Plot(title, chart.Cut(lines), chart.Curves(title, hosts, throughputAxis, lines))
	return doc.Section{ID: "growth", Title: "How it grew", Blocks: []doc.Block{{Table: t}, figure.On(doc.Page)}}
}
