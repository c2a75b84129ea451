package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Poor is a node that became worse than its own history.
type Poor struct {
	Node  string     `json:"node"`
	Since *time.Time `json:"since"` // when the level fell
	// Now is the median since then, and Expected what it were at the level before, with what
	// all nodes have in common since. Relative is Now/Expected − 1.
	Now      float64 `json:"now"`
	Expected float64 `json:"expected"`
	Relative float64 `json:"relative"`
	N        int     `json:"n"` // rounds behind Now
}

const (
	leastPoorNodes = 3   // to tell one node from what all have in common
	leastFall      = .05 // of the level, to be named
	leastOfNode    = 10  // rounds that are a history
)

// mostFell is the change of the logarithm at or below which a level fell.
var mostFell = math.Log1p(-leastFall)

// history is one node, with a value a round.
type history struct {
	rows     []int32 // the first of each round
	rounds   []int64
	measured []float64 // medians of the rounds
	bounds   []bool    // rounds with a value that is only a lower bound
	// values are the logarithms of measured, less what all nodes have in common; the worse,
	// the lower.
	values []float64
}

// Poor are the nodes that are worse than their own history, the worst first: the level changed
// ([stats.ChangePoints]), and was at least 5 % worse from then on than before, also by
// Student's t among all places and nodes. Healthy nodes are named in at most Alpha of
// fleets. What all nodes have in common, as a daily cycle or a drift, is taken out first.
// A node is not poor if it recovered, if most nodes of its region, type or another fact fell
// with it, or if lower bounds after the fall leave open what it does. Values that are not
// above 0 are left out, and so are lower bounds where lower is better.
func (x *Rows) Poor() []Poor {
	nodes := x.Fact(frame.FactSubject)
	if x.Frame.Better == "" || x.Frame.Times == nil || nodes == nil || nodes.Used < leastPoorNodes || madeAnew(x.Frame) {
		return nil
	}
	sign := 1.0
	if x.Frame.Better == model.Lower {
		sign = -1
	}
	all := x.histories(nodes, sign)
	whole := slices.Clone(all) // with the values of before
	for code := range all {
		all[code].values = slices.Clone(all[code].values)
	}
	kinds := sync.OnceValue(func() [][]history { return x.kindsOf(nodes, whole) })
	polish(all, nil)
	var out []Poor
	for code, h := range all {
		if x.Ended() != nil {
			return nil
		}
		at := h.fellAt(x.Alpha)
		if at == 0 || slices.Contains(h.bounds[at:], true) {
			continue
		}
		fell := func(h history) bool {
			return h.fall(at) <= mostFell && h.chance(at)*float64(len(h.values)*nodes.Used) <= x.Alpha
		}
		withKind := func(of []history) bool { return of[code].values != nil && !fell(of[code]) }
		if !fell(h) || slices.ContainsFunc(kinds(), withKind) {
			continue
		}
		ratio := math.Exp(sign * h.fall(at))
		now := stats.Median(h.measured[at:])
		out = append(out, Poor{Node: nodes.Levels[code], Since: x.At(int(h.rows[at])), N: len(h.rows) - at,
			Now: now, Expected: now / ratio, Relative: ratio - 1})
	}
	slices.SortStableFunc(out, func(a, b Poor) int {
		return cmp.Or(cmp.Compare(sign*a.Relative, sign*b.Relative), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// histories are those of the nodes, by their code. Rounds of fewer than three nodes are left
// out: nothing tells what is common there.
func (x *Rows) histories(nodes *Fact, sign float64) []history {
	rounds := x.rounds(nodes)
	rows := make(map[cell][]int32)
	bounds := x.Frame.Bounds()
	for i, v := range x.Frame.Values {
		if v > 0 && nodes.Codes[i] != 0 && (bounds == nil || !bounds[i] || sign > 0) {
			at := cell{rounds[i], nodes.Codes[i]}
			rows[at] = append(rows[at], int32(i)) //nolint:gosec // a row
		}
	}
	measured := make(map[int64]int)
	for at := range rows {
		measured[at.round]++
	}
	out := make([]history, len(nodes.Levels))
	for _, at := range slices.SortedFunc(maps.Keys(rows), func(a, b cell) int { return cmp.Compare(a.round, b.round) }) {
		if measured[at.round] < leastPoorNodes {
			continue
		}
		var values []float64
		bound := false
		for _, row := range rows[at] {
			values = append(values, x.Frame.Values[row])
			bound = bound || bounds != nil && bounds[row]
		}
		h, middle := &out[at.node], stats.Median(values)
		h.rows, h.rounds, h.bounds = append(h.rows, rows[at][0]), append(h.rounds, at.round), append(h.bounds, bound)
		h.measured, h.values = append(h.measured, middle), append(h.values, sign*math.Log(middle))
	}
	return out
}

// kindsOf are the histories less what nodes of one level have in common, for each fact of
// which each node has one level, such as its region. Those of levels with fewer than three
// nodes have no values.
func (x *Rows) kindsOf(nodes *Fact, all []history) [][]history {
	var out [][]history
	for _, f := range x.Frame.Facts {
		if f.Name == nodes.Name {
			continue
		}
		of, sizes, one := make([]uint16, len(all)), make(map[uint16]int), true
		for i, node := range nodes.Codes {
			switch level := f.Codes[i]; {
			case of[node] == 0 && level != 0:
				of[node] = level
				sizes[level]++
			case level != 0:
				one = one && of[node] == level
			}
		}
		if !one || len(sizes) < 2 || len(sizes) == len(all)-1 {
			continue
		}
		copies := slices.Clone(all)
		for code := range copies {
			copies[code].values = slices.Clone(all[code].values)
			if sizes[of[code]] < leastPoorNodes {
				copies[code].values, copies[code].rounds = nil, nil
			}
		}
		polish(copies, of)
		out = append(out, copies)
	}
	return out
}

// cell is a node, or a kind of nodes, in a round.
type cell struct {
	round int64
	node  uint16
}

// polish takes out what all nodes of a kind have in common in a round, by median polish (J. W.
// Tukey, "Exploratory Data Analysis", 1977): nodes that joined late, or miss rounds, share it.
// kinds are by node; nil: all are of one.
func polish(all []history, kinds []uint16) {
	const sweeps = 5
	if kinds == nil {
		kinds = make([]uint16, len(all))
	}
	for range sweeps {
		residuals, common := make(map[cell][]float64), make(map[cell]float64)
		for code, h := range all {
			if len(h.values) == 0 {
				continue
			}
			middle := stats.Median(h.values)
			for k, round := range h.rounds {
				at := cell{round, kinds[code]}
				residuals[at] = append(residuals[at], h.values[k]-middle)
			}
		}
		for at, of := range residuals {
			common[at] = stats.Median(of)
		}
		for code, h := range all {
			for k, round := range h.rounds {
				h.values[k] -= common[cell{round, kinds[code]}]
			}
		}
	}
}

// rounds say in which span of time each row is. Spans are as long as it takes between two
// values of a node, doubled until half of the rows have half of the nodes beside them.
func (x *Rows) rounds(nodes *Fact) []int64 {
	times := make(map[uint16][]int64)
	for i, code := range nodes.Codes {
		times[code] = append(times[code], x.Frame.Times[i])
	}
	var gaps []float64
	for _, of := range times {
		slices.Sort(of)
		for i := 1; i < len(of); i++ {
			gaps = append(gaps, float64(of[i]-of[i-1]))
		}
	}
	begin, end := slices.Min(x.Frame.Times), slices.Max(x.Frame.Times)
	out := make([]int64, len(x.Frame.Times))
	if len(gaps) == 0 {
		return out
	}
	for width := max(1, int64(stats.Median(gaps))); ; width *= 2 {
		size, cells := make(map[int64]int), make(map[cell]bool)
		for i, t := range x.Frame.Times {
			out[i] = (t - begin + width/4) / width // what begins a little early belongs to it, too
			if at := (cell{out[i], nodes.Codes[i]}); !cells[at] {
				cells[at] = true
				size[out[i]]++
			}
		}
		crowded := 0
		for _, round := range out {
			if 2*size[round] >= nodes.Used {
				crowded++
			}
		}
		if 2*crowded >= len(out) || width > end-begin {
			return out
		}
	}
}

// fall is how much higher the values are from one on than before: below 0 they fell.
func (h history) fall(at int) float64 {
	return stats.Average(h.values[at:]) - stats.Average(h.values[:at])
}

// fellAt is the first value of the level that is worse than all of what was before, to
// the end; 0: there is none.
func (h history) fellAt(alpha float64) (at int) {
	if len(h.values) < leastOfNode || !h.mayHaveFallen() {
		return 0
	}
	changes, err := stats.ChangePoints(h.values, alpha, seed)
	if err != nil {
		return 0
	}
	for k := len(changes) - 1; k >= 0; k-- {
		from := changes[k].Index
		before := stats.Average(h.values[:from])
		for i := k; i < len(changes); i++ {
			to := len(h.values)
			if i+1 < len(changes) {
				to = changes[i+1].Index
			}
			if stats.Average(h.values[changes[i].Index:to]) > before+mostFell {
				return at
			}
		}
		at = from
	}
	return at
}

// chance is the probability of so large a difference from that value on, by Student's t.
// Values are worth as many independent ones as their autocorrelation says.
func (h history) chance(at int) float64 {
	before, after := h.values[:at], h.values[at:]
	r := stats.Autocorrelation(before, after)
	n, m := float64(len(before)), float64(len(after))
	worth := (1 - r) / (1 + r)
	a, _ := stats.PopulationSD(before)
	b, _ := stats.PopulationSD(after)
	variance := (n*a*a + m*b*b) / (n + m - 2)
	e := stats.Estimate{Mean: stats.Average(after), Var: variance / worth * (1/n + 1/m), Degrees: max(1, (n+m)*worth-2)}
	return e.P(stats.Average(before))
}

// mayHaveFallen spares the test of a node of which no last part is worse by enough.
func (h history) mayHaveFallen() bool {
	const shortest = 5 // values of a level, as of stats.ChangePoints
	total := 0.0
	for _, v := range h.values {
		total += v
	}
	head := 0.0
	for i, v := range h.values {
		if n := i; n >= shortest && len(h.values)-n >= shortest &&
			(total-head)/float64(len(h.values)-n) <= head/float64(n)+mostFell {
			return true
		}
		head += v
	}
	return false
}
