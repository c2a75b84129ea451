package history

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// fewestRuns is how many runs before the latest tell how much runs differ.
const fewestRuns = 3

// mostBefore is with how many runs the latest is compared at most.
const mostBefore = 50

// judge holds the latest run of each metric against those before.
func (p *Params) judge(metrics []Metric) error {
	var ps []float64
	var of []*Metric
	for i := range metrics {
		m := &metrics[i]
		if m.Latest = m.latest(); m.Latest != nil {
			ps, of = append(ps, m.Latest.P), append(of, m)
		}
	}
	qs, levels, err := stats.SelectedLevels(ps, p.Level)
	if err != nil {
		return fmt.Errorf("correcting for the number of metrics: %w", err)
	}
	for i, m := range of {
		x := m.Latest
		x.Q, x.Level = qs[i], levels[i]
		if x.CI, err = x.estimate.Interval(levels[i]); err != nil {
			return fmt.Errorf("the interval of the latest run: %w", err)
		}
		x.CI = stats.Interval{Lo: math.Exp(x.CI.Lo), Hi: math.Exp(x.CI.Hi)}
		x.Verdict = verdict(x.CI, m.Better)
		m.undisturbed()
		m.sameNodes()
		m.censored()
		m.drifting()
		if slices.ContainsFunc(m.doubts, func(d model.Doubt) bool { return d.Severity == model.Problem }) {
			x.Verdict = Unknown
		}
	}
	for i := range metrics {
		m := &metrics[i]
		m.Doubts, m.Warnings = append([]model.Doubt{}, m.doubts...), model.Texts(m.doubts)
	}
	return nil
}

// undisturbed asks again of what was measured undisturbed alone, and doubts a verdict
// that is another then.
func (m *Metric) undisturbed() {
	x, last := m.Latest, len(m.Runs)-1
	if m.calm == nil {
		return
	}
	var before []Run
	for _, r := range m.Runs[last-x.Before : last] {
		if calm, has := m.calm[r.Run]; has {
			before = append(before, calm)
		}
	}
	latest, has := m.calm[m.Runs[last].Run]
	if !has && 2*len(before) >= x.Before {
		m.doubts.Problem("disturbed", "all of the latest run was disturbed, and most of the %d before were not; measure again", x.Before)
	} else if !has {
		m.doubts.Warn("disturbed", "all of the latest run was disturbed, as were most of the %d before: how much of its difference is due to that cannot be told; measure again undisturbed", x.Before)
	}
	if !has || len(before) < fewestRuns {
		return // those before were disturbed as much as the latest
	}
	m.again("disturbed", before, latest, "what disturbed the nodes", "without what was disturbed")
}

func verdict(ci stats.Interval, better model.Better) Verdict {
	up := ci.Lo > 1
	switch {
	case !up && ci.Hi >= 1:
		return As
	case better == "":
		return map[bool]Verdict{true: Higher, false: Lower}[up]
	}
	return map[bool]Verdict{true: Better, false: Worse}[up == (better == model.Higher)]
}

// latest is the latest run against those before it, back to the last change; nil
// where those do not tell. The means of runs are taken to be independent and their
// logarithms normal: the interval is that of the difference of a single value from
// the mean of n others, s·√(1+1/n) with n−1 degrees of freedom.
func (m *Metric) latest() *Latest {
	last := len(m.Runs) - 1
	from := max(0, last-mostBefore)
	for _, c := range m.Changes {
		if c.Index <= last-fewestRuns {
			from = max(from, c.Index)
		}
	}
	n := last - from
	if n < fewestRuns {
		m.doubts.Warn("few_before", "%s before the latest: %d or more tell how much runs differ", num.Count(max(n, 0), "run"), fewestRuns)
		return nil
	}
	for _, r := range m.Runs[from:] {
		if !(r.Mean > 0) {
			m.doubts.Warn("not_positive", "run %s has the mean %v: the latest run is compared by ratios, which need values above 0", r.Run, r.Mean)
			return nil
		}
	}
	e, err := m.against(m.Runs[from:last], m.Runs[last])
	if err != nil {
		m.doubts.Warn("no_scatter", "the %d runs before the latest are all equal, and nothing shows that they are not "+
			"copies of one", n)
		return nil
	}
	return &Latest{Before: n, Ratio: math.Exp(e.Mean), P: e.P(0), Facts: m.changed(last), estimate: e}
}

// against is the logarithm of a run over the geometric mean of those before. Where these
// are equal, they are taken to scatter by half a unit of the last digit of the values:
// the interval then holds all that rounding explains. Errors: stats.ErrNoSpread, where they may be
// copies of one.
func (m *Metric) against(before []Run, run Run) (stats.Estimate, error) {
	logs, n := make([]float64, len(before)), float64(len(before))
	for i, r := range before {
		logs[i] = math.Log(r.Mean)
	}
	mean, err := stats.Mean(logs)
	if err != nil {
		return stats.Estimate{}, fmt.Errorf("comparing a run: %w", err)
	}
	sd, err := stats.SampleSD(logs)
	if err == nil && !(sd > 1e-12) {
		half := run.half
		for _, r := range before {
			half = min(half, r.half)
		}
		if sd = half / before[0].Mean; m.copies {
			err = stats.ErrNoSpread
		}
	}
	if err != nil {
		return stats.Estimate{}, fmt.Errorf("comparing a run: %w", err)
	}
	return stats.Estimate{Mean: math.Log(run.Mean) - mean, Var: sd*sd*(1+1/n) + fewer(before, run), Degrees: n - 1}, nil
}

// fewer is by how much the mean of a run scatters more than those before do, because
// it is that of fewer values.
func fewer(before []Run, run Run) float64 {
	squares, free, inverse := run.squares, run.free, 0.0
	for _, r := range before {
		squares, free, inverse = squares+r.squares, free+r.free, inverse+1/r.worth
	}
	more := 1/run.worth - inverse/float64(len(before))
	if free < 1 || !(more > 0) {
		return 0
	}
	return squares / free * more
}

// sameNodes asks again of the nodes alone that the latest run and those before have
// in common, and doubts a verdict that is another then: without its fastest node a
// run is slower. Where they have none in common, nodes are made anew for each run.
func (m *Metric) sameNodes() {
	x, last := m.Latest, len(m.Runs)-1
	window := m.Runs[last-x.Before:]
	shared, differ := maps.Clone(m.Runs[last].nodes), false
	for _, r := range window[:x.Before] {
		for name := range shared {
			if _, has := r.nodes[name]; !has {
				delete(shared, name)
			}
		}
		differ = differ || len(r.nodes) != len(m.Runs[last].nodes)
	}
	if len(shared) == 0 || !differ && len(shared) == len(m.Runs[last].nodes) {
		return
	}
	runs := slices.Clone(window)
	for i, r := range window {
		sum := 0.0
		for name := range shared {
			sum += r.nodes[name]
		}
		runs[i].Mean = sum / float64(len(shared))
	}
	m.again("nodes", runs[:x.Before], runs[x.Before], "that not all runs have the same nodes", fmt.Sprintf("on the %s that all of them have", num.Count(len(shared), "node")))
}

// again doubts the verdict, where it is another by these means of runs.
func (m *Metric) again(code string, before []Run, latest Run, why, without string) {
	x := m.Latest
	ci, ratio, ok := m.compared(before, latest)
	if word := verdict(ci, m.Better); ok && word != x.Verdict {
		m.doubts.Problem(code, "%s may carry the answer: with all that was measured the latest run is %s (%s), %s %s (%s); measure again", why, x.Verdict, num.SignedPercent(100*(x.Ratio-1)), without, word, num.SignedPercent(100*(ratio-1)))
	}
}

// compared is a run over those before, by other means of runs, and its interval; ok is false
// where they do not tell.
func (m *Metric) compared(before []Run, latest Run) (ci stats.Interval, ratio float64, ok bool) {
	e, err := m.against(before, latest)
	if err != nil || math.IsNaN(e.Mean) {
		return ci, 0, false
	}
	ci, err = e.Interval(m.Latest.Level)
	return stats.Interval{Lo: math.Exp(ci.Lo), Hi: math.Exp(ci.Hi)}, math.Exp(e.Mean), err == nil
}
