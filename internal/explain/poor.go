package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Poor is a node that became worse than its own history, or that is worse than its peers.
type Poor struct {
	Node string  `json:"node"`
	Why  PoorWhy `json:"why"`
	// Since is when the level fell; null where it is worse than its peers.
	Since *time.Time `json:"since"`
	// Before is the median of the values until then, or of the levels of the peers, and Now
	// that of the values since, or of all.
	Before float64 `json:"before"`
	Now    float64 `json:"now"`
	// Relative is Now/Before − 1, less what all nodes have in common.
	Relative float64 `json:"relative"`
	N        int     `json:"n"`               // values behind Now
	Peers    int     `json:"peers,omitempty"` // other nodes with the same facts
}

// PoorWhy is with what a poor node is compared.
type PoorWhy string

// What a node is worse than.
const (
	PoorFell  PoorWhy = "own_history"
	PoorBelow PoorWhy = "peers"
)

const (
	leastPoorNodes = 3   // to tell one node from what all have in common
	leastFall      = .05 // of the level, to be named
	leastBelow     = .10 // below the peers, which are never quite alike
	leastOfNode    = 10  // values that have a history
)

// history is the values of one node, as logarithms in the order of time: less what all
// nodes have in common, and with the worse values below.
type history struct {
	rows   []int32
	values []float64
}

// Poor are the nodes that are worse than their own history or than their peers, the worst
// first. Healthy nodes are named in at most Alpha of fleets. What all nodes have in common, as
// a daily cycle or a change of all of them, is taken out first: the median over nodes of each
// round. A node that recovered is not poor. Lower bounds and values that are not above 0 are
// left out.
//
//   - own_history: the level changed ([stats.ChangePoints]), and was at least 5 % worse from
//     then on than before, also by Student's t among all places and nodes.
//   - peers: of the nodes with the same facts it lies apart ([stats.Apart]), by at least 10 %.
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
	alpha := x.Alpha / 2
	var out []Poor
	healthy := make(map[uint16]history)
	for code, h := range all {
		if len(h.rows) == 0 || x.Ended() != nil {
			continue
		}
		at := h.fellAt(alpha)
		if at == 0 || h.chance(at)*float64(len(h.values)*nodes.Used) > alpha {
			healthy[uint16(code)] = h //nolint:gosec // an index of Codes
			continue
		}
		diff := stats.Average(h.values[at:]) - stats.Average(h.values[:at])
		out = append(out, Poor{Node: nodes.Levels[code], Why: PoorFell, Since: x.At(int(h.rows[at])), N: len(h.rows) - at,
			Before:   stats.Median(pickRows(x.Frame.Values, h.rows[:at])),
			Now:      stats.Median(pickRows(x.Frame.Values, h.rows[at:])),
			Relative: math.Expm1(sign * diff)})
	}
	out = append(out, x.belowPeers(nodes, healthy, sign, alpha)...)
	slices.SortStableFunc(out, func(a, b Poor) int {
		return cmp.Or(cmp.Compare(sign*a.Relative, sign*b.Relative), cmp.Compare(a.Node, b.Node))
	})
	return out
}

func pickRows(values []float64, rows []int32) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = values[row]
	}
	return out
}

// histories are those of the nodes, by their code.
func (x *Rows) histories(nodes *Fact, sign float64) []history {
	out := make([]history, len(nodes.Levels))
	bounds := x.Frame.Bounds()
	for i, v := range x.Frame.Values {
		code := nodes.Codes[i]
		if code == 0 || !(v > 0) || bounds != nil && bounds[i] {
			continue
		}
		h := &out[code]
		h.rows, h.values = append(h.rows, int32(i)), append(h.values, sign*math.Log(v)) //nolint:gosec // a row
	}
	round := x.rounds(out)
	shared := make(map[string][]float64)
	for _, h := range out {
		middle := stats.Median(h.values)
		for k := range h.rows {
			name := round(h, k)
			shared[name] = append(shared[name], h.values[k]-middle)
		}
	}
	common := make(map[string]float64, len(shared))
	for name, of := range shared {
		if len(of) >= leastPoorNodes {
			common[name] = stats.Median(of)
		}
	}
	for _, h := range out {
		for k := range h.values {
			h.values[k] -= common[round(h, k)]
		}
	}
	return out
}

// rounds names the round of each value of a node, in which the others were measured, too: by
// repetition, run, trial and block where these tell the values of a node apart, and else
// by their order.
func (x *Rows) rounds(all []history) func(h history, k int) string {
	var facts []*frame.Fact
	for _, name := range []string{frame.FactRepetition, frame.FactRun, frame.FactTrial, frame.FactBlock} {
		if f := x.Frame.Fact(name); f != nil {
			facts = append(facts, f)
		}
	}
	named := func(h history, k int) string {
		var b strings.Builder
		for _, f := range facts {
			fmt.Fprint(&b, f.Codes[h.rows[k]], " ")
		}
		return b.String()
	}
	for _, h := range all {
		seen := make(map[string]bool)
		for k := range h.rows {
			name := named(h, k)
			if seen[name] {
				return func(_ history, k int) string { return fmt.Sprint(k) }
			}
			seen[name] = true
		}
	}
	return named
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
			if stats.Average(h.values[changes[i].Index:to]) > before+math.Log1p(-leastFall) {
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
			(total-head)/float64(len(h.values)-n) <= head/float64(n)+math.Log1p(-leastFall) {
			return true
		}
		head += v
	}
	return false
}

// belowPeers are the nodes that lie apart from those with the same facts, on the worse side.
func (x *Rows) belowPeers(nodes *Fact, all map[uint16]history, sign, alpha float64) (out []Poor) {
	groups := make(map[string][]uint16)
	facts := x.ofNodes(nodes)
	for code := range uint16(len(nodes.Levels)) { //nolint:gosec // at most MostLevels
		if h, ok := all[code]; ok {
			var b strings.Builder
			for _, f := range facts {
				fmt.Fprint(&b, f.Codes[h.rows[0]], " ")
			}
			groups[b.String()] = append(groups[b.String()], code)
		}
	}
	for _, peers := range groups {
		levels, medians := make([]float64, len(peers)), make([]float64, len(peers))
		var noise stats.Noise
		for i, code := range peers {
			h := all[code]
			levels[i], medians[i] = stats.Average(h.values), stats.Median(pickRows(x.Frame.Values, h.rows))
			if sd, err := stats.SampleSD(h.values); err == nil {
				noise.SD += sd * sd / float64(len(h.rows)*len(peers))
				noise.Degrees += float64(len(h.rows) - 1)
			}
		}
		noise.SD = math.Sqrt(noise.SD)
		apart, err := stats.Apart(levels, noise, leastOfLevels, -math.Log1p(-leastBelow), alpha/float64(len(groups)))
		if err != nil {
			continue // too few peers
		}
		for _, i := range apart {
			middle := stats.Median(levels)
			if levels[i] >= middle {
				continue
			}
			out = append(out, Poor{Node: nodes.Levels[peers[i]], Why: PoorBelow, Before: stats.Median(medians), Now: medians[i],
				Relative: math.Expm1(sign * (levels[i] - middle)), N: len(all[peers[i]].rows), Peers: len(peers) - 1})
		}
	}
	return out
}

// leastOfLevels is the least SD of levels of nodes to believe.
const leastOfLevels = .005

// ofNodes are the facts that are the same in all rows of each node, and that not each node
// has of its own.
func (x *Rows) ofNodes(nodes *Fact) (out []*Fact) {
	for i := range x.facts {
		f := &x.facts[i]
		if f.Derived || Passing(f.Name) || f.Name == nodes.Name || f.Used >= nodes.Used {
			continue
		}
		first, same := make(map[uint16]uint16), true
		for row, code := range nodes.Codes {
			had, known := first[code]
			if !known {
				first[code] = f.Codes[row]
			}
			same = same && (!known || had == f.Codes[row])
		}
		if same {
			out = append(out, f)
		}
	}
	return out
}
