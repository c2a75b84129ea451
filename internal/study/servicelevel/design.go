package servicelevel

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// workloadKind is that of the workload that is measured.
const workloadKind = "disk"

// design plans the steps one after another. It decides from what was seen alone, so that
// a run that is resumed goes on as it would have.
type design struct {
	*Params
	study.Setup
	work    study.Workload
	ramp    time.Duration
	cells   []Cell
	places  map[Place]*state
	seen    measured
	lost    []model.NodeID
	lasting time.Duration // of a step
}

// state is what is known of a volume.
type state struct {
	expectation
	subject int // of the workload
	lab     map[string]any
	credits credits
	burst   bool // spending the credits failed
}

// Plan implements study.Designer.
func (p *Params) Plan(setup study.Setup) (*study.Plan, error) {
	d := &design{Params: p, Setup: setup, places: make(map[Place]*state), seen: make(measured)}
	if len(setup.Workloads) != 1 || setup.Workloads[0].Kind != workloadKind {
		return nil, refuse("workloads", "the study measures one workload", "one of the kind disk")
	}
	d.work = setup.Workloads[0]
	d.lasting = d.work.Bench.Estimate()
	if text, ok := d.work.Params["ramp"].(string); ok {
		ramp, _ := unit.ParseDuration(text) // the workload was checked
		d.ramp = ramp.Std()
	}
	for i, name := range d.work.Names {
		if err := d.addNode(i, name); err != nil {
			return nil, err
		}
	}
	plan := &study.Plan{Next: d.next, Left: d.left()}
	plan.Outlook = []study.Outlook{{Phase: Phase, Workload: d.work.Name, Trials: setup.Trials,
		Steps: (plan.Left.Steps + setup.Trials - 1) / setup.Trials, Step: d.lasting, Note: d.note(*plan.Left)}}
	for _, c := range d.cells {
		plan.First = append(plan.First, d.treatment(c, 1, max(1, p.Depth), p.Drain),
			d.treatment(c, 1, max(p.Depth, min(2, p.DepthMost)), false))
	}
	return plan, nil
}

// addNode adds the cells of all volumes of a node.
func (d *design) addNode(subject int, id model.NodeID) error {
	labs := make(map[string]map[string]any)
	var volumes []string
	for _, v := range d.Setup.Volumes {
		if v.Node == id {
			volumes = append(volumes, v.Name)
			labs[v.Name] = labInputs(v)
		}
	}
	_, path := d.work.Params["path"]
	switch name, named := d.work.Params["volume"].(string); {
	case len(d.Params.Volumes) > 0:
		volumes = d.Params.Volumes
	case named:
		volumes = []string{name}
	case path || len(volumes) == 0:
		volumes = []string{""} // where the workload says
	}
	node := nodeOf(d.Nodes, id)
	for _, name := range volumes {
		e, err := d.expect(node, name, labs[name])
		if err != nil {
			return err
		}
		at := Place{id, name}
		d.places[at] = &state{expectation: e, subject: subject, lab: labs[name], credits: e.full()}
		d.cells = append(d.cells, d.cellsOf(at, e)...)
	}
	return nil
}

// cellsOf are all cells of a volume, or its corners and centre.
func (d *design) cellsOf(at Place, e expectation) (out []Cell) {
	sizes := slices.Sorted(slices.Values(d.Sizes))
	reads := slices.SortedFunc(slices.Values(d.Reads), func(a, b int) int { return b - a })
	turn := unit.Size(0) // from which bytes bind
	for _, size := range sizes {
		x := e.at(Cell{at, size.Bytes(), reads[0]})
		if turn == 0 && x != nil && x.bytes {
			turn = size
		}
		for _, r := range reads {
			out = append(out, Cell{at, size.Bytes(), r})
		}
	}
	corners := []int64{sizes[0].Bytes(), sizes[len(sizes)-1].Bytes()}
	return slices.DeleteFunc(out, func(c Cell) bool {
		corner := slices.Contains(corners, c.Size) && (c.Reads == reads[0] || c.Reads == reads[len(reads)-1])
		middle := c.Size == sizes[len(sizes)/2].Bytes() && c.Reads == reads[len(reads)/2]
		return d.Reduced && !corner && !middle && (c.Size != turn.Bytes() || c.Reads != reads[0])
	})
}

// next is study.Plan.Next: one step at a time.
func (d *design) next(seen study.Seen) (more study.More, err error) {
	d.lost = seen.Lost
	for _, s := range seen.Run.Steps() {
		p, err := pointOf(seen.Run, s)
		if err != nil {
			return more, err
		}
		v := d.places[p.Place]
		if v == nil {
			return more, fmt.Errorf("%w: step %d measured %s, which the study has not", model.ErrUsage, s.Number+1, p.name())
		}
		if p.Drain {
			clear(v.credits)
			v.burst = s.State != model.StepComplete
			continue
		}
		v.pass(v.credits, p.Cell, d.lasting.Seconds())
		d.seen.add(p)
		more.Latest = fmt.Sprintf("%s: %s", p.label(), num.Human(p.total(), "op/s"))
	}
	more.Left = d.left()
	for trial := 1; trial <= d.Trials; trial++ {
		for _, c := range d.order(trial) {
			if depth := d.depth(c, trial); depth > 0 {
				more.Treatments = []study.Treatment{d.treatment(c, trial, depth, d.Drain)}
				return more, nil
			}
		}
	}
	return more, nil
}

// order is that of the cells in a repetition.
func (d *design) order(trial int) []Cell {
	out := slices.Clone(d.cells)
	if d.Order == OrderRandom {
		rng := rand.New(rand.NewPCG(uint64(d.Seed), 0x5ce11+uint64(trial))) //nolint:gosec // repeatable on purpose
		rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// depth is how many operations are in flight in the next step of a cell; 0: none follows.
// The first repetition finds the depth, the others measure at it.
func (d *design) depth(c Cell, trial int) int {
	points := d.seen[c][trial]
	n := len(points)
	depth, _, done, _ := d.settled(d.seen[c], d.places[c.Place].at(c))
	switch {
	case n > 0 && (done || !points[n-1].valid), slices.Contains(d.lost, c.Node):
		return 0
	case done:
		return depth
	case n == 0:
		return 1
	}
	return min(2*points[n-1].Depth, d.DepthMost)
}

// treatment is the next step of a cell, or one that spends the credits of its volume before
// it.
func (d *design) treatment(c Cell, trial, depth int, drain bool) study.Treatment {
	v := d.places[c.Place]
	f, set := factors{Cell: c, Depth: depth, Lab: v.lab, Burst: v.burst}, make(map[string]any)
	if lasts, with := v.drain(v.credits, d.ramp); lasts > 0 {
		f.Drain, f.Burst = drain, !drain
		if drain {
			f.Size, f.Reads, f.Depth = with, 100, drainDepth
			set["ramp"], set["duration"] = "0s", unit.Duration(lasts).String()
		}
	}
	set["block_size"], set["depth"], set["operation"] = unit.Size(f.Size).String(), f.Depth, "mixed"
	switch f.Reads {
	case 100:
		set["operation"] = "read"
	case 0:
		set["operation"] = "write"
	default:
		set["read_share"] = f.Reads
	}
	if c.Volume != "" {
		set["volume"] = c.Volume
	}
	if _, given := d.work.Params["pattern"]; !given {
		set["pattern"] = "random"
	}
	return study.Treatment{Phase: Phase, Workload: d.work.Name, Trial: trial, Block: trial, Label: f.label(),
		Active: []int{v.subject},
		Levels: set, Factors: f}
}

// label says what a step is of, for people.
func (f factors) label() string {
	if f.Drain {
		return fmt.Sprintf("%s of %s, spending credits", volumeName(f.Volume), f.Node)
	}
	return fmt.Sprintf("%s, depth %d", f.name(), f.Depth)
}

// left bounds what follows: in each cell the first repetition finds the depth.
func (d *design) left() *study.Left {
	out := &study.Left{}
	for i, c := range d.cells {
		n := 0
		for trial := 1; trial <= d.Trials; trial++ {
			if depth := d.depth(c, trial); depth > 0 {
				n++
				if _, _, known, _ := d.settled(d.seen[c], d.places[c.Place].at(c)); !known && n == 1 {
					n += bits.Len(uint(d.DepthMost-1)) - len(d.seen[c][trial])
				}
			}
		}
		out.Steps, out.Time = out.Steps+n, out.Time+time.Duration(n)*d.lasting
		v := d.places[c.Place]
		if lasts, _ := v.drain(v.credits, d.ramp); d.Drain && n > 0 && !slices.ContainsFunc(d.cells[:i],
			func(x Cell) bool { return x.Place == c.Place }) {
			out.Steps, out.Time = out.Steps+min(1, int(lasts)), out.Time+lasts
		}
	}
	return out
}

// note says what the steps read and write at most by the models, and what that costs.
func (d *design) note(left study.Left) string {
	bytes := 0.0
	for _, c := range d.cells {
		if x := d.places[c.Place].at(c); x != nil {
			bytes += x.Bytes * left.Time.Seconds() / float64(len(d.cells))
		}
	}
	text := fmt.Sprintf("all take at most %s, plus preparation", num.Seconds(left.Time.Seconds()))
	if bytes > 0 {
		text += fmt.Sprintf("; by the models at most %s are read and written then", num.Bytes(int64(bytes)))
	}
	if d.Price != nil {
		cost := d.Price.PerHour * left.Time.Hours() * float64(len(d.Nodes))
		text += fmt.Sprintf("; %s cost at most %.2f %s", num.Count(len(d.Nodes), "node"), cost, d.Price.Currency)
	}
	return text
}
