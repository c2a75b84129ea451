package explain

import (
	"cmp"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// named are the facts of which rows of one level may be alike by what they mean:
// their levels are a sample of others.
var named = append(append([]string{frame.FactSubject}, frame.Machines...), frame.FactRepetition, frame.FactRun)

// leastSampled is from how many levels on a fact may be a sample of things: a server
// may be one of two products, and a machine one of three types.
const leastSampled = frame.LeastMachines

// Machines reports whether the levels of a fact of this name are what was measured:
// nodes, machines, servers.
func Machines(fact string) bool {
	return fact == frame.FactSubject || slices.Contains(frame.Machines, fact)
}

// sortedBy is the fact by which rows without times are sorted: each of its levels is one
// block, and rows differ more from the one before where a block begins; nil without. Their
// order tells no time, unless a level says when it is measured, as a run does, or, where
// the fact is no machine, rows or blocks depend on those before them.
func (x *Rows) sortedBy() (by *Fact) {
	if x.Frame.Times != nil {
		return nil
	}
	for i := range x.facts {
		f := &x.facts[i]
		switch {
		case by != nil && by.Used >= f.Used, f.ofCalendar(), Passing(f.Name):
		case f.Used < leastSampled && f.Name != frame.FactSubject:
		case f.Known < x.Frame.Len() || !f.inBlocks():
		case !Machines(f.Name) && (x.neighboursAlike(f) || remembers(f.blocks(x.Frame.Values)...).dependent):
		case x.jumps(f):
			by = f
		}
	}
	return by
}

// inBlocks reports whether each level is one block of rows. Most facts are known by few
// rows not to be that.
func (f *Fact) inBlocks() bool {
	blocks := 1
	for i := 1; i < len(f.Codes) && blocks <= f.Used; i++ {
		if f.Codes[i] != f.Codes[i-1] {
			blocks++
		}
	}
	return blocks == f.Used
}

// jumps reports whether rows differ more from the one before where that is of another
// level, with an error of 5 %: where a level wanders, they do not.
func (x *Rows) jumps(f *Fact) bool {
	var squares, n [2]float64
	for i := 1; i < len(f.Codes); i++ {
		k, d := 0, x.Frame.Values[i]-x.Frame.Values[i-1]
		if f.Codes[i] != f.Codes[i-1] {
			k = 1
		}
		squares[k], n[k] = squares[k]+d*d, n[k]+1
	}
	if n[0] < 1 || !(squares[1] > 0) {
		return false
	}
	return !(squares[0] > 0) || stats.FTail(squares[1]/n[1]/(squares[0]/n[0]), n[1], n[0]) <= .05
}

// blocks are the values of rows that follow each other with the same level.
func (f *Fact) blocks(values []float64) (out [][]float64) {
	from := 0
	for i := range values {
		if i+1 == len(values) || f.Codes[i+1] != f.Codes[i] {
			out, from = append(out, values[from:i+1]), i+1
		}
	}
	return out
}

// Subjects is what rows of one node have in common.
type Subjects struct {
	N int `json:"n"`
	// Between is the COV of the nodes' means, Within the mean of the nodes' COVs;
	// null where they are not defined.
	Between *float64 `json:"between"`
	Within  *float64 `json:"within"`
	// ICC is the share of the variance that lies between nodes (intraclass
	// correlation, from one-way analysis of variance, not below 0).
	ICC float64 `json:"icc"`
}

// Subjects are the nodes; nil where rows are of one node, or each of another.
func (x *Rows) Subjects() *Subjects {
	fact := x.Fact(frame.FactSubject)
	if fact == nil {
		return nil
	}
	out := &Subjects{N: fact.Used}
	if d, err := stats.Decompose(x.Frame.Values, fact.Codes, len(fact.Levels)); err == nil {
		out.Between, out.Within, out.ICC = &d.Between, &d.In, d.Share
	}
	return out
}

// nodeOfRun is the name of the fact that [nodesOfRuns] makes.
const nodeOfRun = "node of a run"

// nodesOfRuns is a fact for the rows that one node measured in one run: several
// trials of it are alike, also where the next run has other nodes of the same
// names. Nil where that is a row each, or no more than the node or the run; many
// where it has more levels than a fact can have.
func nodesOfRuns(f *frame.Frame) (fact *frame.Fact, many bool) {
	node, run := f.Fact(frame.FactSubject), cmp.Or(f.Fact(frame.FactRepetition), f.Fact(frame.FactRun))
	if node == nil || run == nil || len(node.Levels) < 3 && len(run.Levels) < 3 {
		return nil, false
	}
	codes, levels := make([]uint16, f.Len()), []string{""}
	known := make(map[uint32]uint16)
	last, lastCode := uint32(0), uint16(0)
	for i := range codes {
		pair := uint32(node.Codes[i])<<16 | uint32(run.Codes[i])
		if pair != last || i == 0 {
			code, ok := known[pair]
			if !ok {
				if 2*len(levels) > f.Len() {
					return nil, false
				}
				many = len(levels) > frame.MostLevels
				code = uint16(len(levels)) //nolint:gosec // of many no code is used
				name := ""
				if !many {
					name = node.Level(i) + " in " + run.Level(i)
				}
				known[pair], levels = code, append(levels, name)
			}
			last, lastCode = pair, code
		}
		codes[i] = lastCode
	}
	if len(levels) <= max(len(node.Levels), len(run.Levels)) {
		return nil, false
	}
	if many {
		return nil, true
	}
	return &frame.Fact{Name: nodeOfRun, Levels: levels, Codes: codes}, false
}

// madeAnew reports whether nodes come again under the same name but are made anew
// for each run, as those of a lab and of a local fleet: what differs between them
// is what made them, and the same node in the next run is another unit.
func madeAnew(f *frame.Frame) bool {
	fleet, node := f.Fact(model.LabelFleet), f.Fact(frame.FactSubject)
	run := cmp.Or(f.Fact(frame.FactRepetition), f.Fact(frame.FactRun))
	if fleet == nil || node == nil || run == nil {
		return false
	}
	own := make([]bool, len(fleet.Levels))
	for i, level := range fleet.Levels {
		own[i] = level == model.FleetLab || level == model.FleetLocal
	}
	first, again := make([]uint16, len(node.Levels)), false
	for i, c := range node.Codes {
		switch {
		case !own[fleet.Codes[i]]:
			return false
		case first[c] == 0:
			first[c] = run.Codes[i]
		default:
			again = again || first[c] != run.Codes[i]
		}
	}
	return again
}

// Repeated is how often it was measured: as often as By, one of repetition, run and
// trial, has levels; "": the rows do not say, and each counts.
type Repeated struct {
	By string `json:"by,omitempty"`
	N  int    `json:"n"`
}

// Repeated is as what the rows count as repetitions: what one repetition of a
// campaign, one run, or one trial of a run measured on all nodes is one. Where that
// is not known each row is.
func (x *Rows) Repeated() Repeated {
	var out Repeated
	for _, name := range []string{frame.FactRepetition, frame.FactRun, frame.FactTrial} {
		fact := x.Frame.Fact(name)
		if fact == nil {
			continue
		}
		n := 0
		for _, count := range countsOf(fact) {
			if count > 0 {
				n++
			}
		}
		// One run of several trials is repeated by these.
		if n > out.N {
			out = Repeated{By: name, N: n}
		}
		if n > 1 {
			break
		}
	}
	if out.N == 0 {
		out.N = x.Frame.Len()
	}
	return out
}

// Noun is what is repeated, for people.
func (r Repeated) Noun() string {
	if r.By == "" {
		return frame.FactRepetition
	}
	return r.By
}

func countsOf(fact *frame.Fact) []float64 {
	out := make([]float64, len(fact.Levels))
	for _, c := range fact.Codes {
		if c > 0 {
			out[c]++
		}
	}
	return out
}
