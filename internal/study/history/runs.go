package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// metric makes one value of each run.
func (p *Params) metric(s series) Metric {
	f := s.frame
	m := Metric{Branch: s.branch, Workload: f.Workload, Metric: f.Metric, Phase: f.Phase, Unit: f.Unit,
		Better: cmp.Or(f.Better, model.Better(p.Better)), Changes: []Change{}, copies: s.copies}
	m.Runs, m.facts = p.runs(f)
	if rows, others := observe.Undisturbed(f); others > 0 {
		calm, _ := p.runs(rows)
		m.calm = make(map[model.RunID]Run)
		for _, r := range calm {
			m.calm[r.Run] = r
		}
	}
	order := make([]int, len(m.Runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return m.Runs[a].At.Compare(m.Runs[b].At) })
	runsBy, factsBy := make([]Run, len(order)), make([]map[string]string, len(order))
	for to, from := range order {
		runsBy[to], factsBy[to] = m.Runs[from], m.facts[from]
	}
	m.Runs, m.facts = runsBy, factsBy
	if f.NamedTotal() { // the values of other metrics may rise from run to run
		if d, ok := f.TotalDoubt("give its rate, as the differences of its values by the seconds between them"); ok {
			m.doubts.Add(d)
		}
	}
	for _, d := range slices.Concat(f.Doubts, s.doubts) {
		if d.Code != frame.FactCensored { // told by the runs that it is about
			m.doubts.Add(d)
		}
	}
	return m
}

// runs makes one value of each run, with its facts.
func (p *Params) runs(f *frame.Frame) (out []Run, facts []map[string]string) {
	runs, rows := f.Fact(frame.FactRun).Groups()
	nodes := f.Fact(frame.FactSubject)
	for i, run := range runs {
		out = append(out, summary(f, nodes, run, rows[i], p.Level))
		facts = append(facts, factsOf(f, rows[i]))
	}
	return out, facts
}

// summary is the value of one run.
func summary(f *frame.Frame, nodes *frame.Fact, run string, rows []int32, level float64) Run {
	out := Run{Run: model.RunID(run), nodes: make(map[string]float64)}
	of := make(map[string][]float64)
	first := timeOf(f, rows[0])
	var names []string
	for _, row := range rows {
		name := ""
		if nodes != nil {
			name = nodes.Level(int(row))
		}
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], f.Values[row])
		first = min(first, timeOf(f, row))
	}
	values := of[names[0]]
	if len(names) > 1 {
		values = nil
	}
	slices.Sort(names)
	inverse, k := 0.0, float64(len(names))
	out.half = stats.HalfDigit() // of whole numbers, at most
	for _, name := range names {
		mean := stats.Average(of[name])
		out.half = min(out.half, stats.HalfDigit(of[name]...))
		if out.nodes[name] = mean; len(names) > 1 {
			values = append(values, mean)
		}
		inverse += 1 / float64(len(of[name]))
		if !(mean > 0) {
			continue
		}
		for _, x := range of[name] {
			out.squares += (x/mean - 1) * (x/mean - 1)
		}
		out.free += float64(len(of[name]) - 1)
	}
	out.N, out.worth = len(values), k*k/inverse
	if f.Times != nil {
		out.At = time.Unix(0, first).UTC()
	}
	out.Mean, out.CI = stats.MeanWithin(values, level)
	if ends := f.Ends; ends != nil && len(rows) == 1 && ends[rows[0]] != [2]float64{} {
		out.CI = &stats.Interval{Lo: ends[rows[0]][0], Hi: ends[rows[0]][1]}
	}
	if censored := f.Fact(frame.FactCensored); censored != nil {
		out.AtLeast = slices.ContainsFunc(rows, func(row int32) bool {
			return censored.Level(int(row)) == frame.Censored
		})
	}
	return out
}

// own are facts that tell runs, nodes or rows apart and explain nothing.
var own = []string{frame.FactRun, frame.FactRepetition, frame.FactSubject, frame.FactTrial, frame.FactBlock,
	frame.FactDisturbed, frame.FactCensored, "host", "instance"}

// factsOf is what is known of a run: each fact with all its levels there.
func factsOf(f *frame.Frame, rows []int32) map[string]string {
	out := make(map[string]string)
	for _, x := range f.Facts {
		if slices.Contains(own, x.Name) {
			continue
		}
		seen := make(map[uint16]bool)
		var levels []string
		for _, row := range rows {
			if code := x.Codes[row]; !seen[code] && code != 0 {
				seen[code] = true
				levels = append(levels, x.Levels[code])
			}
		}
		slices.Sort(levels)
		out[x.Name] = strings.Join(levels, " | ")
	}
	return out
}
