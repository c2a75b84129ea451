package evaluation

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Table collects the user's own numbers of one workload and metric.
type Table struct {
	Workload, Metric, Unit string
	Better                 model.Better
	// Resource is what it is a capacity of, such as model.ResourceCPU; empty: not known.
	Resource string

	serial, parallel cells
	decimals         int // of the most precise value
	published        *published
}

// cells are the values of one phase, by trial and node.
type cells map[int]map[model.NodeID]cell

// cell is a value as it was measured, and the line where it stands.
type cell struct {
	value float64
	line  int
}

// published is one row of a published table: means over nodes that are not
// given, as capacities.
type published struct {
	nodes            int
	serial, parallel float64
}

// Add adds the value that a node had in a phase and trial, as it was measured:
// where lower is better, a duration. line is where it stands, for messages. If
// there is a value of that node, phase and trial already, Add returns its line
// and changes nothing; otherwise 0.
func (t *Table) Add(node string, phase model.Phase, trial int, value float64, line int) (taken int) {
	p := &t.serial
	if phase == model.Parallel {
		p = &t.parallel
	}
	if *p == nil {
		*p = make(cells)
	}
	of := (*p)[trial]
	if of == nil {
		of = make(map[model.NodeID]cell)
		(*p)[trial] = of
	}
	if was, ok := of[model.NodeID(node)]; ok {
		return was.line
	}
	of[model.NodeID(strings.Clone(node))] = cell{value, line} // the row that it is a part of is not kept
	t.decimals = max(t.decimals, decimals(value))
	return 0
}

// Publish sets the means of a published table instead of values of nodes. It
// reports false if they are set already.
func (t *Table) Publish(nodes int, serial, parallel float64) bool {
	if t.published != nil {
		return false
	}
	reciprocal := t.Better == model.Lower
	t.published = &published{nodes, capacityOf(serial, reciprocal), capacityOf(parallel, reciprocal)}
	return true
}

// Finding computes what the table's numbers allow.
func (t *Table) Finding(opt Options) Finding {
	c := comparison{
		workload: t.Workload, metric: t.Metric, resource: t.Resource, of: OfNodes, fromFile: true,
		scoring: scoring{window: WindowWhole, unit: t.Unit, reciprocal: t.Better == model.Lower},
	}
	if c.reciprocal {
		c.unit = inverseUnit(t.Unit)
	}
	c.notes.Add(fromFile.Warn(struct{}{}))
	if t.published != nil {
		return t.published.finding(c)
	}
	t.balance(&c.notes)
	last := math.Pow10(-t.decimals)
	c.resolution = resolution{t.serial.uncertainty(last), t.parallel.uncertainty(last)}
	c.subjects = slices.Sorted(maps.Keys(t.nodes()))
	c.serial, c.parallel = t.serial.replicates(c.subjects, c.reciprocal), t.parallel.replicates(c.subjects, c.reciprocal)
	c.noteFleet()
	return c.finding(opt.orElse(0))
}

// balance leaves out the trials that are not complete in both phases, by the
// rule of runs (part.balanced): a phase would else be averaged over other trials
// than its counterpart. Of a single trial, and of one phase, the comparison says
// what is missing.
func (t *Table) balance(n *caveat.List) {
	if len(t.serial) == 0 || len(t.parallel) == 0 {
		return
	}
	all := maps.Clone(t.serial)
	maps.Copy(all, t.parallel)
	numbers := slices.Sorted(maps.Keys(all))
	if len(numbers) == 1 {
		return
	}
	var dropped lackingTrials
	for _, number := range numbers {
		dropped.add(number, t.lacks(number))
	}
	if !dropped.leave(len(numbers), n) {
		return
	}
	for _, x := range dropped {
		delete(t.serial, x.Trial)
		delete(t.parallel, x.Trial)
	}
}

// lacks says what a trial lacks to be complete: parallel values, or serial ones
// of nodes that have a parallel one.
func (t *Table) lacks(number int) []lack {
	serial, parallel := t.serial[number], t.parallel[number]
	switch {
	case parallel == nil:
		return []lack{{What: lacksPhase, Phase: model.Parallel}}
	case serial == nil:
		return []lack{{What: lacksPhase, Phase: model.Serial}}
	}
	var missing []model.NodeID
	for node := range parallel {
		if _, ok := serial[node]; !ok {
			missing = append(missing, node)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return []lack{{What: lacksValue, Phase: model.Serial, Of: OfNodes, Nodes: missing}}
}

// noteFleet doubts parallel trials of different nodes, as part.noteFleet.
func (c *comparison) noteFleet() {
	names := func(r replicate) []model.NodeID {
		out := make([]model.NodeID, len(r.subjects))
		for i, subject := range r.subjects {
			out[i] = c.subjects[subject]
		}
		return out
	}
	for i := 1; i < len(c.parallel); i++ {
		before, now := c.parallel[i-1], c.parallel[i]
		if !slices.Equal(before.subjects, now.subjects) {
			sameFleet(c.of, names(before), names(now), &c.notes)
			return
		}
	}
}

// nodes are all that have a value.
func (t *Table) nodes() map[model.NodeID]bool {
	out := make(map[model.NodeID]bool)
	for _, p := range []cells{t.serial, t.parallel} {
		for _, of := range p {
			for node := range of {
				out[node] = true
			}
		}
	}
	return out
}

// replicates arranges the values by trial, ascending, and by the place of their nodes.
func (p cells) replicates(nodes []model.NodeID, reciprocal bool) []replicate {
	var out []replicate
	for _, number := range slices.Sorted(maps.Keys(p)) {
		r := replicate{trial: number}
		for i, node := range nodes {
			if c, ok := p[number][node]; ok {
				r.subjects, r.values = append(r.subjects, int32(i)), append(r.values, capacityOf(c.value, reciprocal))
			}
		}
		r.whole = r.values
		out = append(out, r)
	}
	return out
}

// uncertainty is the relative error of printed values: each is known to its last digit.
func (p cells) uncertainty(last float64) float64 {
	var rounding []float64
	for _, number := range slices.Sorted(maps.Keys(p)) {
		of := p[number]
		for _, node := range slices.Sorted(maps.Keys(of)) { // sums depend on their order
			rounding = append(rounding, last/of[node].value)
		}
	}
	if len(rounding) == 0 {
		return 0
	}
	return stats.Average(rounding) / math.Sqrt(12)
}

// finding computes the index of published means. Least, largest and SD of the
// nodes are not known.
func (p published) finding(c comparison) Finding {
	f := Finding{
		Workload: c.workload, Metric: c.metric, Unit: c.unit, Nodes: p.nodes, Of: c.of,
		Window: c.window, Reciprocal: c.reciprocal, Verdict: Unknown,
		Pairs: []NodePair{},
	}
	total := float64(p.nodes) * p.parallel
	f.Serial.Mean, f.Parallel.Mean, f.Parallel.Total = &p.serial, &p.parallel, &total
	ratio, err := stats.RatioOfMeans([]float64{p.parallel}, []float64{p.serial})
	if err != nil {
		c.notes.Add(noIndex.Problem(because(err)))
	} else {
		cdi := degradation(ratio)
		whole := cdi
		f.CDI, f.CDIWhole = &cdi, &whole
	}
	c.notes.Add(onlyMeans.Problem(struct{}{}))
	f.Doubts = c.notes.Ordered()
	return f
}
