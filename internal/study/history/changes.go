package history

import (
	"errors"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// changes finds where the level changed. The level of the test is divided by the
// number of metrics (Bonferroni), so that a history without changes shows any with
// the probability 1−Level.
func (p *Params) changes(m *Metric, metrics int) {
	found, err := stats.ChangePoints(m.means(), (1-p.Level)/float64(metrics), 1)
	switch {
	case errors.Is(err, stats.ErrTooFew):
		m.doubts.Warn("few_runs", "%s: changes of level are looked for from 10 runs on", num.Count(len(m.Runs), "run"))
	case errors.Is(err, stats.ErrArgument):
		m.doubts.Warn("small_level", "changes of level are not looked for: of %s, each has too small a share of "+
			"the error rate %.2g; name fewer with --metric, or give a lower --level", num.Count(metrics, "metric"),
			1-p.Level)
	case err != nil:
		m.doubts.Warn("no_changes", "changes of level are not looked for: %v", err)
	}
	if err != nil {
		return
	}
	for _, c := range m.definite(found) {
		one := Change{Index: c.Index, Run: m.Runs[c.Index].Run, At: m.Runs[c.Index].At, Before: c.Before, After: c.After, P: c.P}
		for _, i := range []int{c.Index, c.Index - 1, c.Index + 1} {
			one.Facts = append(one.Facts, m.changed(i)...)
		}
		m.Changes = append(m.Changes, one)
	}
}

func (m *Metric) means() []float64 {
	out := make([]float64, len(m.Runs))
	for i, r := range m.Runs {
		out[i] = r.Mean
	}
	return out
}

// changed are the facts that are others in run i than in the one before.
func (m *Metric) changed(i int) []Fact {
	var out []Fact
	if i < 1 || i >= len(m.facts) {
		return nil
	}
	for name, to := range m.facts[i] {
		if from := m.facts[i-1][name]; from != to {
			out = append(out, Fact{name, from, to, i})
		}
	}
	slices.SortFunc(out, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return out
}
