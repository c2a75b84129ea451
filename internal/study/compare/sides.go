package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// side is all that was measured of A, or of B.
type side struct {
	Name   string
	Frames []frame.Frame
}

// matched is one metric of both sides.
type matched struct {
	key          frame.Key
	nameA, nameB string
	a, b         *frame.Frame
	together     bool // they are parts of one source
}

// sides are what is compared, the base first; told is what was guessed or left
// out on the way.
func (p *Params) sides(sources []study.Source) (out []side, told []string, err error) {
	sources = withRuns(sources)
	for _, s := range sources {
		for _, text := range s.Told {
			if len(sources) > 1 {
				text = s.Name + ": " + text
			} else {
				text = strings.ToUpper(text[:1]) + text[1:]
			}
			told = append(told, text+".")
		}
	}
	switch {
	case p.A != "":
		out, err = p.workloads(sources[0])
	case p.By != "":
		out, err = p.split(sources[0])
	default:
		for i, s := range sources {
			name := s.Name
			same := func(o study.Source) bool { return o.Name == s.Name }
			if slices.ContainsFunc(sources[:i], same) || slices.ContainsFunc(sources[i+1:], same) {
				name = fmt.Sprintf("%s (%d)", name, i+1)
			}
			out = append(out, side{name, s.Frames})
		}
	}
	if err == nil && len(out) < 2 {
		err = &model.InputError{Problem: "there is nothing to compare with", Allowed: "give two sources, or one with --by FACT"}
	}
	return out, told, err
}

// withRuns has the repetitions of campaigns as runs, those of each source apart: a
// run is compared with a campaign by runs, and number 1 of two campaigns is no pair.
func withRuns(sources []study.Source) []study.Source {
	out := slices.Clone(sources)
	for i := range out {
		out[i].Frames = slices.Clone(out[i].Frames)
		for k, f := range out[i].Frames {
			out[i].Frames[k] = f.WithRuns(func(number string) string { return strconv.Itoa(i) + "/" + number })
		}
	}
	return out
}

// workloads are two workloads of one source.
func (p *Params) workloads(s study.Source) ([]side, error) {
	out := []side{{Name: p.A}, {Name: p.B}}
	var names []string
	for _, f := range s.Frames {
		if !slices.Contains(names, f.Workload) {
			names = append(names, f.Workload)
		}
		for i := range out {
			if f.Workload == out[i].Name {
				f.Workload = "" // both sides have the metric, each by its own workload
				out[i].Frames = append(out[i].Frames, f)
			}
		}
	}
	for i, key := range []string{"a", "b"} {
		if len(out[i].Frames) == 0 {
			return nil, &model.InputError{Path: key, Problem: fmt.Sprintf("%s has no measurements of a workload %q", s.Name, out[i].Name), Allowed: "it has " + num.List(names)}
		}
	}
	return out, nil
}

// split is one source by the levels of a fact.
func (p *Params) split(s study.Source) ([]side, error) {
	fact, wanted, chosen := strings.Cut(p.By, "=")
	all, err := levelsOf(s, fact)
	if err != nil {
		return nil, err
	}
	refuse := func(problem, allowed string) ([]side, error) {
		return nil, &model.InputError{Path: "by", Problem: problem, Allowed: allowed}
	}
	levels, two := all, fmt.Sprintf("choose two, the base first: --by %s=%s,%s", fact, all[0], all[min(1, len(all)-1)])
	if chosen {
		levels = strings.Split(wanted, ",")
	}
	switch {
	case len(all) == 1:
		return refuse(fmt.Sprintf("all of %s has %s %s", s.Name, fact, all[0]), "choose a fact that differs, or give a second source")
	case len(all) > 2 && !chosen:
		return refuse(fmt.Sprintf("%s has %d levels of %s: %s", s.Name, len(all), fact, num.List(all)), two)
	case len(levels) < 2:
		return refuse("one level cannot be compared", two)
	}
	var out []side
	for i, level := range levels {
		if !slices.Contains(all, level) {
			return refuse(fmt.Sprintf("%s has no %s %q", s.Name, fact, level), "it has "+num.List(all))
		}
		if slices.Contains(levels[:i], level) {
			return refuse(fmt.Sprintf("%s stands there twice", level), "name different levels")
		}
		out = append(out, part(s, fact, level))
	}
	return out, nil
}

// levelsOf are the levels of a fact over all frames of a source, sorted.
func levelsOf(s study.Source, fact string) ([]string, error) {
	var levels []string
	for _, f := range s.Frames {
		if x := f.Fact(fact); x != nil {
			some, _ := x.Groups()
			levels = append(levels, some...)
		}
	}
	slices.Sort(levels)
	if len(levels) == 0 {
		return nil, &model.InputError{Path: "by", Problem: fmt.Sprintf("%s has no fact %q", s.Name, fact),
			Allowed: inPlace(s)}
	}
	return slices.Compact(levels), nil
}

// checkFacts refuses facts by which values are to be taken together and that a side has
// not.
func (p *Params) checkFacts(sides []side) error {
	for _, s := range sides {
		has := func(path, name string) error {
			if slices.ContainsFunc(s.Frames, func(f frame.Frame) bool { return f.Fact(name) != nil }) {
				return nil
			}
			return &model.InputError{Path: path, Problem: fmt.Sprintf("%s has no fact %q", s.Name, name),
				Allowed: itHas(s.Frames)}
		}
		for _, name := range p.pairs() {
			if err := has("pair", name); err != nil {
				return err
			}
		}
		if p.Cluster != "" {
			if err := has("cluster", p.Cluster); err != nil {
				return err
			}
		}
	}
	return nil
}

// itHas names the facts of frames.
func itHas(frames []frame.Frame) string {
	var facts []string
	for _, f := range frames {
		for _, x := range f.Facts {
			facts = append(facts, x.Name)
		}
	}
	if len(facts) == 0 {
		return "it has no facts"
	}
	slices.Sort(facts)
	return "it has " + num.List(slices.Compact(facts))
}

// inPlace is what a source has that can be compared instead of a fact that it has not.
func inPlace(s study.Source) string {
	allowed := itHas(s.Frames)
	if !slices.ContainsFunc(s.Frames, func(f frame.Frame) bool { return len(f.Facts) > 0 }) {
		allowed += "; give a second source"
	}
	var workloads []string
	for _, f := range s.Frames {
		if f.Workload != "" && !slices.Contains(workloads, f.Workload) {
			workloads = append(workloads, f.Workload)
		}
	}
	if len(workloads) > 1 {
		allowed += "; --a and --b compare two of its workloads: " + num.List(workloads)
	}
	return allowed
}

// part is the rows of a source with this level of a fact.
func part(s study.Source, fact, level string) side {
	out := side{Name: level}
	for _, f := range s.Frames {
		x := f.Fact(fact)
		if x == nil {
			continue
		}
		rows := f.Where(func(row int) bool { return x.Level(row) == level })
		rows.Facts = slices.DeleteFunc(rows.Facts, func(y frame.Fact) bool { return y.Name == x.Name })
		if rows.Len() > 0 {
			out.Frames = append(out.Frames, *rows)
		}
	}
	return out
}

// match finds the metrics that both sides have: of the same workload, metric and
// phase; or, where names are not exact, of the same metric and phase, if that is one on
// both sides; or the only one of each.
func (p *Params) match(a, b side) (out []matched, told []string, err error) {
	as, bs := p.wanted(a.Frames), p.wanted(b.Frames)
	if text := p.others(a, as); text != "" {
		told = append(told, text)
	}
	used := make([]bool, len(bs))
	for _, fa := range as {
		i := slices.IndexFunc(bs, func(fb *frame.Frame) bool { return fb.Key == fa.Key })
		if i < 0 && !fa.Exact && alone(as, fa) {
			i = slices.IndexFunc(bs, func(fb *frame.Frame) bool {
				return fb.Metric == fa.Metric && fb.Phase == fa.Phase && !fb.Exact && alone(bs, fb)
			})
		}
		if i < 0 && len(as) == 1 && len(bs) == 1 && !fa.Exact && !bs[0].Exact {
			i = 0
			told = append(told, fmt.Sprintf("%s of %s is compared with %s of %s: neither has anything else.", fa.Name(), a.Name, bs[0].Name(), b.Name))
		}
		if i < 0 || used[i] {
			told = append(told, fmt.Sprintf("%s is left out: %s does not have it.", fa.Name(), b.Name))
			continue
		}
		used[i] = true
		if fa.Unit != bs[i].Unit {
			return nil, nil, fmt.Errorf("%w: %s is measured %s in %s and %s in %s; give both in one unit", model.ErrUsage, fa.Name(), inUnit(fa.Unit), a.Name, inUnit(bs[i].Unit), b.Name)
		}
		if fa.Better != "" && bs[i].Better != "" && fa.Better != bs[i].Better {
			more, less := a.Name, b.Name
			if fa.Better == model.Lower {
				more, less = less, more
			}
			return nil, nil, fmt.Errorf("%w: of %s more is better by %s and less by %s: both must say the same",
				model.ErrUsage, fa.Name(), more, less)
		}
		out = append(out, matched{key: fa.Key, nameA: a.Name, nameB: b.Name, a: fa, b: bs[i], together: p.A != "" || p.By != ""})
	}
	for i, fb := range bs {
		if !used[i] {
			told = append(told, fmt.Sprintf("%s is left out: %s does not have it.", fb.Name(), a.Name))
		}
	}
	if len(out) == 0 {
		return nil, nil, p.nothing(a, b)
	}
	return out, told, nil
}

// inUnit is the unit of measured values in a sentence.
func inUnit(unit string) string {
	if unit == "" {
		return "without a unit"
	}
	return fmt.Sprintf("in %q", unit)
}

// wanted are the frames that are asked for: those of the metric, or those that are
// capacities, or latencies of a load at a fixed rate; where none is, all. How long
// nodes took to come up is asked by name.
func (p *Params) wanted(frames []frame.Frame) (out []*frame.Frame) {
	aside := func(f frame.Frame) bool {
		return f.Len() == 0 || f.Info && !isLatency(f) || f.Workload == observe.Startup
	}
	capacity := slices.ContainsFunc(frames, func(f frame.Frame) bool { return !aside(f) })
	for i := range frames {
		f := &frames[i]
		named := f.Matches(p.Metric)
		if p.Metric == "" {
			named = !capacity || !aside(*f)
		}
		if named && f.Len() > 0 {
			out = append(out, f)
		}
	}
	return out
}

// isLatency reports whether a metric is the latency of a load at a fixed rate.
func isLatency(f frame.Frame) bool { return strings.HasPrefix(f.Metric, model.MetricLoadLatency+"{") }

// others says which metrics of a load at a fixed rate are not compared unless they
// are asked for; empty without such a load.
func (p *Params) others(side side, compared []*frame.Frame) string {
	if p.Metric != "" || !slices.ContainsFunc(compared, func(f *frame.Frame) bool { return isLatency(*f) }) {
		return ""
	}
	var names []string
	for i := range side.Frames {
		f := &side.Frames[i]
		name, _, _ := strings.Cut(f.Metric, "{")
		if !slices.Contains(compared, f) && f.Len() > 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Load at a fixed rate is compared by its latencies, from when operations were due. There are also " + num.List(names) + ": name one with --metric."
}

// alone reports whether a frame is the only one of its metric and phase.
func alone(frames []*frame.Frame, of *frame.Frame) bool {
	return !slices.ContainsFunc(frames, func(f *frame.Frame) bool { return f != of && f.Metric == of.Metric && f.Phase == of.Phase })
}

// nothing says why there is nothing to compare.
func (p *Params) nothing(a, b side) error {
	have := func(s side) string {
		var names []string
		for _, f := range s.Frames {
			names = append(names, f.Name())
		}
		if len(names) == 0 {
			return s.Name + " has no measurements"
		}
		return s.Name + " has " + num.List(names)
	}
	if p.Metric != "" {
		return &model.InputError{Path: "metric", Problem: fmt.Sprintf("not both have %q", p.Metric), Allowed: have(a) + "; " + have(b)}
	}
	return &model.InputError{Problem: "the sides have no metric in common", Allowed: have(a) + "; " + have(b)}
}
