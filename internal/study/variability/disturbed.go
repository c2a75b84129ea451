package variability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/observe"
)

// harmless are kinds of disturbances that change no value for which a node is not
// to answer: its own limit is part of the node, and a clock that is known badly
// tells the start skew badly.
var harmless = []string{observe.KindThrottled, "clock"}

// disturbed holds the answer against that of the rows that nothing disturbed. Where
// these say something else, or their interval does not hold the COV of all, it is
// unknown. Where nearly all were disturbed, the answer says so.
func (x *examined) disturbed(p *Params, m *Metric) {
	fact := x.Frame.Fact(frame.FactDisturbed)
	if fact == nil || m.Verdict == Unknown || m.COV == nil {
		return
	}
	bad, kinds := make([]bool, len(fact.Levels)), []string{}
	for i, level := range fact.Levels {
		for kind := range strings.SplitSeq(level, ", ") {
			if !slices.Contains([]string{"", "no", "false", "0"}, kind) && !slices.Contains(harmless, kind) {
				bad[i], kinds = true, append(kinds, kind)
			}
		}
	}
	rest := x.Frame.Where(func(row int) bool { return !bad[fact.Codes[row]] })
	n := m.N - rest.Len()
	if n == 0 {
		return
	}
	for i := range kinds {
		if kinds[i] == "others" {
			kinds[i] = "other programs"
		}
	}
	slices.Sort(kinds)
	those := fmt.Sprintf("%d of %s (%s)", n, num.Count(m.N, "value"), num.List(slices.Compact(kinds)))
	if rest.Len() < fewest {
		m.note = "something disturbed " + those + ", and how much of this is due to that cannot be told"
		x.Doubts.Warn("disturbed", "%s: measure again undisturbed", m.note)
		return
	}
	q := *p
	q.By, q.Cutoffs = nil, nil
	y := &examined{Rows: explain.New(rest, x.Question)}
	var without Metric
	without.N, without.x = rest.Len(), y
	y.measure(&q, nil, &without)
	without.judge(y)
	weaker := without.Verdict == Unclear && (m.Verdict == Steady || m.Verdict == Varies) // fewer values tell less
	held := without.COV != nil && (without.COVCI == nil || without.COVCI[0] <= *m.COV && *m.COV <= without.COVCI[1])
	if held && (without.Verdict == m.Verdict || weaker) {
		return
	}
	x.Doubts.Problem("disturbed", "something disturbed %s, and they decide: with them the COV is %s%s (%s), without them %s%s (%s); measure again undisturbed",
		those, num.Fraction(*m.COV), percentInterval(m.COVCI), m.Verdict, num.Optional(without.COV, num.Fraction), percentInterval(without.COVCI), without.Verdict)
	m.judge(x)
}
