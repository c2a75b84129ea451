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
	setup   study.Setup
	work    study.Workload
	ramp    time.Duration
	groups  [][]int // subjects that measure at once
	cells   []cell
	expects map[place]expectation
	credits map[place]credits
	burst   map[place]bool // draining failed
	points  map[repetition][]point
	broken  map[repetition]bool
	lost    []model.NodeID
}

// place is a volume of a node.
type place struct {
	node   model.NodeID
	volume string
}

type repetition struct {
	cell
	trial int
}

// Plan implements study.Designer.
func (p *Params) Plan(setup study.Setup) (*study.Plan, error) {
	d := &design{Params: p, setup: setup, expects: make(map[place]expectation), credits: make(map[place]credits),
		burst: make(map[place]bool), points: make(map[repetition][]point), broken: make(map[repetition]bool)}
	i := slices.IndexFunc(setup.Workloads, func(w study.Workload) bool { return w.Kind == workloadKind })
	if i < 0 || len(setup.Workloads) != 1 {
		return nil, refuse("kind", fmt.Sprintf("the file has %s", num.Count(len(setup.Workloads), "workload")), "one workload of the kind disk")
	}
	d.work = setup.Workloads[i]
	if text, ok := d.work.Params["ramp"].(string); ok {
		ramp, _ := unit.ParseDuration(text) // the workload was checked
		d.ramp = ramp.Std()
	}
	for i := range d.work.Subjects {
		d.groups = append(d.groups, []int{i})
	}
	if p.AtOnce {
		d.groups = [][]int{slices.Concat(d.groups...)}
	}
	if err := d.layOut(); err != nil {
		return nil, err
	}
	for _, c := range d.cells {
		if lasts, _ := d.drainOf(c); p.Drain && d.work.Timeout > 0 && lasts >= d.work.Timeout {
			return nil, refuse("workloads."+d.work.Name+".timeout", fmt.Sprintf("spending the credits of %s takes %s", volumeName(c.Volume), num.Seconds(lasts.Seconds())),
				"a longer timeout, or drain: false in the study")
		}
	}
	plan := &study.Plan{Next: d.next, Left: d.left(), Outlook: d.outlook()}
	for _, c := range d.cells {
		plan.First = append(plan.First, d.treatment(c, 1, max(1, p.Depth), false))
	}
	if len(d.cells) > 0 && p.Depth == 0 && p.DepthMost > 1 { // the engine must take more than one, too
		plan.First = append(plan.First, d.treatment(d.cells[0], 1, 2, false))
	}
	return plan, nil
}

// layOut lists the cells, and what is expected of their volumes.
func (d *design) layOut() error {
	for g, group := range d.groups {
		for _, volume := range d.volumes(group) {
			lab := labInputs(d.setup.Volumes, volume)
			var expects expectation
			for _, i := range group {
				at := place{d.work.Names[i], volume}
				node := slices.IndexFunc(d.setup.Nodes, func(n model.Node) bool { return n.ID == at.node })
				e, err := d.expect(d.setup.Nodes[node], volume, lab[at.node])
				if err != nil {
					return err
				}
				d.expects[at], d.credits[at] = e, e.full()
				expects = append(expects, e...)
			}
			d.cells = append(d.cells, d.cellsOf(g, volume, expects)...)
		}
	}
	return nil
}

// volumes are those that a group measures, one after another.
func (d *design) volumes(group []int) (out []string) {
	if len(d.Volumes) > 0 {
		return d.Volumes
	}
	if name, ok := d.work.Params["volume"].(string); ok {
		return []string{name}
	}
	for _, v := range d.setup.Volumes {
		if v.Node == d.work.Names[group[0]] {
			out = append(out, v.Name)
		}
	}
	if _, own := d.work.Params["path"]; own || len(out) == 0 {
		return []string{""} // where the workload says
	}
	return out
}

// cellsOf are all cells of a volume, or its corners and centre.
func (d *design) cellsOf(group int, volume string, e expectation) (out []cell) {
	sizes, reads := d.sortedSizes(), d.sortedReads()
	for _, size := range sizes {
		for _, r := range reads {
			out = append(out, cell{group, volume, size, r})
		}
	}
	if !d.Reduced {
		return out
	}
	last, lastReads := sizes[len(sizes)-1], reads[len(reads)-1]
	middle := cell{group, volume, sizes[len(sizes)/2], reads[len(reads)/2]}
	turn := e.turn(sizes, float64(reads[0])/100)
	return slices.DeleteFunc(out, func(c cell) bool {
		corner := (c.Size == sizes[0] || c.Size == last) && (c.Reads == reads[0] || c.Reads == lastReads)
		return !corner && c != middle && !(c.Size == turn && c.Reads == reads[0])
	})
}

// next is study.Plan.Next: one step at a time.
func (d *design) next(seen study.Seen) (study.More, error) {
	d.lost = seen.Lost
	latest := ""
	for _, s := range seen.Run.Steps() {
		p, err := pointOf(seen.Run, s)
		if err != nil {
			return study.More{}, err
		}
		d.take(p)
		latest = p.text()
	}
	more := study.More{Left: d.left(), Latest: latest}
	for trial := 1; trial <= d.setup.Trials; trial++ {
		for _, c := range d.order(trial) {
			if depth := d.depth(c, trial); depth > 0 {
				more.Treatments = []study.Treatment{d.treatment(c, trial, depth, d.Drain)}
				return more, nil
			}
		}
	}
	return more, nil
}

// take adds a step that ended.
func (d *design) take(p point) {
	r := repetition{p.cell, p.step.Trial}
	for _, at := range d.places(p.cell) {
		if p.Drain {
			clear(d.credits[at])
			d.burst[at] = !p.valid
			continue
		}
		d.expects[at].pass(d.credits[at], p.cell, d.work.Bench.Estimate().Seconds())
	}
	switch {
	case p.Drain:
	case p.valid && len(p.ops) > 0:
		d.points[r] = append(d.points[r], p)
	default:
		d.broken[r] = true
	}
}

// order is that of the cells in a repetition.
func (d *design) order(trial int) []cell {
	out := slices.Clone(d.cells)
	if d.Order == OrderRandom {
		rng := rand.New(rand.NewPCG(uint64(d.setup.Seed), 0x5ce11+uint64(trial))) //nolint:gosec // repeatable on purpose
		rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// depth is how many operations are in flight in the next step of a cell; 0: none follows.
// The first repetition finds the depth, the others measure at it.
func (d *design) depth(c cell, trial int) int {
	points := d.points[repetition{c, trial}]
	if d.broken[repetition{c, trial}] || d.allLost(c) {
		return 0
	}
	for t := 1; t <= trial; t++ {
		i, done, _ := reached(d.points[repetition{c, t}], d.DepthMost, d.below)
		switch {
		case d.Depth > 0 || !done:
		case t == trial || len(points) > 0:
			return 0
		default:
			return d.points[repetition{c, t}][i].Depth
		}
	}
	switch {
	case d.Depth > 0 && len(points) == 0:
		return d.Depth
	case d.Depth > 0:
		return 0
	case len(points) == 0:
		return 1
	}
	return min(2*points[len(points)-1].Depth, d.DepthMost)
}

// below reports whether a node did less than is expected of it.
func (d *design) below(p point) bool {
	for n := range p.ops {
		x := d.expects[place{n, p.Volume}].at(p.bytes(), p.share())
		if x != nil && p.total(n) < x.Ops*(1-float64(d.Margin)/100) {
			return true
		}
	}
	return false
}

func (d *design) allLost(c cell) bool {
	return !slices.ContainsFunc(d.places(c), func(at place) bool { return !slices.Contains(d.lost, at.node) })
}

// drainOf is how long the volumes of a cell take to spend their credits, and with
// operations of which size; 0: they have none.
func (d *design) drainOf(c cell) (lasts time.Duration, with unit.Size) {
	for _, at := range d.places(c) {
		if most, size := d.expects[at].drain(d.credits[at], d.ramp); most > lasts {
			lasts, with = most, size
		}
	}
	return lasts, with
}

// places are the volumes of a cell.
func (d *design) places(c cell) (out []place) {
	for _, i := range d.groups[c.Group] {
		out = append(out, place{d.work.Names[i], c.Volume})
	}
	return out
}

// treatment is the next step of a cell, or one that spends the credits of its volumes
// before it.
func (d *design) treatment(c cell, trial, depth int, mayDrain bool) study.Treatment {
	f := factors{cell: c, Depth: depth, Lab: labInputs(d.setup.Volumes, c.Volume)}
	lasts, with := d.drainOf(c)
	set := make(map[string]any)
	if f.Drain = lasts > 0 && mayDrain; f.Drain {
		f.Size, f.Reads, f.Depth = with, 100, drainDepth
		set["ramp"], set["duration"] = "0s", unit.Duration(lasts).String()
	}
	f.Burst = !f.Drain && (lasts > 0 || slices.ContainsFunc(d.places(c), func(at place) bool { return d.burst[at] }))
	set["block_size"], set["depth"] = f.Size.String(), f.Depth
	switch {
	case f.Reads == 100:
		set["operation"] = "read"
	case f.Reads == 0:
		set["operation"] = "write"
	default:
		set["operation"], set["read_share"] = "mixed", f.Reads
	}
	if c.Volume != "" {
		set["volume"] = c.Volume
	}
	if _, given := d.work.Params["pattern"]; !given {
		set["pattern"] = "random"
	}
	return study.Treatment{Phase: Phase, Workload: d.work.Name, Trial: trial, Block: trial, Label: f.text(),
		Active: d.groups[c.Group], Without: d.lost, Levels: set, Factors: f}
}

// text says what a step is of, for people.
func (f factors) text() string {
	if f.Drain {
		return volumeName(f.Volume) + ", spending credits"
	}
	return fmt.Sprintf("%s, depth %d", cellName("", f.cell), f.Depth)
}

// text says what a step came to, for people who watch.
func (p point) text() string {
	if !p.valid {
		return ""
	}
	sum := 0.0
	for n := range p.ops {
		sum += p.total(n)
	}
	return fmt.Sprintf("%s: %s", p.factors.text(), num.Human(sum, "op/s"))
}

// steps bounds how many steps of a cell follow in a repetition.
func (d *design) steps(c cell, trial int) int {
	if d.depth(c, trial) == 0 {
		return 0
	}
	known := d.Depth > 0 || trial > 1 // the first repetition finds the depth, unless it broke
	if known && !d.broken[repetition{c, 1}] {
		return 1
	}
	return max(1, bits.Len(uint(d.DepthMost-1))+1-len(d.points[repetition{c, trial}]))
}

// left bounds what follows.
func (d *design) left() *study.Left {
	out := &study.Left{}
	var drained []place
	for _, c := range d.cells {
		n := 0
		for trial := 1; trial <= d.setup.Trials; trial++ {
			n += d.steps(c, trial)
		}
		out.Steps, out.Time = out.Steps+n, out.Time+time.Duration(n)*d.work.Bench.Estimate()
		at := d.places(c)[0]
		if lasts, _ := d.drainOf(c); d.Drain && n > 0 && lasts > 0 && !slices.Contains(drained, at) {
			drained = append(drained, at)
			out.Steps, out.Time = out.Steps+1, out.Time+lasts
		}
	}
	return out
}

// outlook bounds the repetitions: the first finds the depths. Its note has bytes and cost.
func (d *design) outlook() []study.Outlook {
	left, first := d.left(), 0
	for _, c := range d.cells {
		first += d.steps(c, 1)
	}
	out := study.Outlook{Phase: Phase, Workload: d.work.Name, Trials: 1, Steps: first, Step: d.work.Bench.Estimate(), Note: d.note(*left)}
	if d.setup.Trials == 1 {
		return []study.Outlook{out}
	}
	more := out
	more.Trials, more.Steps, more.Note = d.setup.Trials-1, len(d.cells), ""
	return []study.Outlook{out, more}
}

// note says what the steps read and write at most by the models, and what that costs.
func (d *design) note(left study.Left) string {
	sum, known := 0.0, true
	for trial := 1; trial <= d.setup.Trials; trial++ {
		for _, c := range d.cells {
			for _, at := range d.places(c) {
				x := d.expects[at].at(c.bytes(), c.share())
				if known = known && x != nil; known {
					sum += float64(d.steps(c, trial)) * x.Bytes * d.work.Bench.Estimate().Seconds()
				}
			}
		}
	}
	text := "what is read and written is not known beforehand"
	if known {
		text = "at most " + num.Bytes(int64(sum)) + " are read and written, beside laying files out"
	}
	if left.Time > 0 {
		text = fmt.Sprintf("all takes at most %s, plus preparation; %s", num.Seconds(left.Time.Seconds()), text)
	}
	if d.Price != nil {
		cost := d.Price.PerHour * left.Time.Hours() * float64(len(d.setup.Nodes))
		text += fmt.Sprintf("; %s cost at most %.2f %s", num.Count(len(d.setup.Nodes), "node"), cost, d.Price.Currency)
	}
	return text
}
