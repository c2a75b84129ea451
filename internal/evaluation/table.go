package evaluation

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Table collects the user's own numbers of one workload and metric. It keeps
// about 20 bytes a value and the name of each node once.
type Table struct {
	Workload, Metric, Unit string
	Better                 model.Better

	index            map[model.NodeID]int32
	nodes            []model.NodeID // by index
	serial, parallel tablePhase
	decimals         int // of the most precise value
	published        *published
}

// tablePhase holds the values of one phase.
type tablePhase struct {
	values []float64 // as in the file, in its order
	lines  []uint32  // where each stands in the file
	trials map[int]*tableTrial
	last   *tableTrial // the trial of the last value
}

// tableTrial says where the value of each node is: 1 + its place among the
// values of the phase. Node indices far beyond the number of values would leave
// most of dense empty; those are in sparse.
type tableTrial struct {
	number int
	count  int
	dense  []uint32
	sparse map[int32]uint32
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
	i, ok := t.index[model.NodeID(node)]
	if !ok {
		if t.index == nil {
			t.index = make(map[model.NodeID]int32)
		}
		name := model.NodeID(strings.Clone(node)) // the row that it is a part of is not kept
		i = int32(len(t.nodes))
		t.index[name], t.nodes = i, append(t.nodes, name)
	}
	p := &t.serial
	if phase == model.Parallel {
		p = &t.parallel
	}
	at := p.trial(trial).at(i)
	if at > 0 {
		return int(p.lines[at-1])
	}
	p.values, p.lines = append(p.values, value), append(p.lines, uint32(line))
	p.last.set(i, uint32(len(p.values)))
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

// trial finds or makes a trial. Most values belong to the trial of the value
// before.
func (p *tablePhase) trial(number int) *tableTrial {
	if p.last != nil && p.last.number == number {
		return p.last
	}
	if p.trials == nil {
		p.trials = make(map[int]*tableTrial)
	}
	t := p.trials[number]
	if t == nil {
		t = &tableTrial{number: number}
		p.trials[number] = t
	}
	p.last = t
	return t
}

func (t *tableTrial) at(node int32) uint32 {
	if int(node) < len(t.dense) && t.dense[node] > 0 {
		return t.dense[node]
	}
	return t.sparse[node]
}

func (t *tableTrial) set(node int32, place uint32) {
	t.count++
	if int(node) >= 8*t.count+64 {
		if t.sparse == nil {
			t.sparse = make(map[int32]uint32)
		}
		t.sparse[node] = place
		return
	}
	for len(t.dense) <= int(node) {
		t.dense = append(t.dense, 0)
	}
	t.dense[node] = place
}

// Finding computes what the table's numbers allow. The table cannot be added to
// afterwards.
func (t *Table) Finding(opt Options) Finding {
	c := comparison{
		workload: t.Workload, metric: t.Metric, of: OfNodes, fromFile: true,
		scoring: scoring{window: WindowWhole, unit: t.Unit, reciprocal: t.Better == model.Lower},
	}
	if c.reciprocal {
		c.unit = inverseUnit(t.Unit)
	}
	c.notes.warn("from_a_file", "the numbers come from a file: it is unknown whether the nodes were active together and whether they are equal")
	if t.published != nil {
		return t.published.finding(c)
	}
	t.balance(&c.notes)
	last := math.Pow10(-t.decimals)
	c.resolution = resolution{reportedUncertainty(t.serial.values, last), reportedUncertainty(t.parallel.values, last)}
	rank := t.sortNodes()
	c.subjects = t.nodes
	c.serial, c.parallel = t.serial.replicates(rank, c.reciprocal), t.parallel.replicates(rank, c.reciprocal)
	t.serial, t.parallel = tablePhase{}, tablePhase{}
	c.noteFleet()
	return c.finding(opt.orElse(0))
}

// balance leaves out the trials that are not complete in both phases, by the
// rule of runs (part.balanced): a phase would else be averaged over other trials
// than its counterpart. Of a single trial, and of one phase, the comparison says
// what is missing.
func (t *Table) balance(n *notes) {
	if len(t.serial.trials) == 0 || len(t.parallel.trials) == 0 {
		return
	}
	numbers := slices.Concat(slices.Collect(maps.Keys(t.serial.trials)), slices.Collect(maps.Keys(t.parallel.trials)))
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if len(numbers) == 1 {
		return
	}
	var dropped incompleteTrials
	for _, number := range numbers {
		dropped.add(number, t.lacks(number))
	}
	if !dropped.leave(len(numbers), n) {
		return
	}
	for _, number := range dropped.numbers {
		t.serial.drop(number)
		t.parallel.drop(number)
	}
}

// lacks says what a trial lacks to be complete: parallel values, or serial ones
// of nodes that have a parallel one.
func (t *Table) lacks(number int) []string {
	serial, parallel := t.serial.trials[number], t.parallel.trials[number]
	switch {
	case parallel == nil:
		return []string{"no parallel value"}
	case serial == nil:
		return []string{"no serial value"}
	}
	var missing []model.NodeID
	for node := range parallel.all() {
		if serial.at(node) == 0 {
			missing = append(missing, t.nodes[node])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return []string{"no serial value of " + named(OfNodes, missing)}
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
			c.notes.sameFleet(c.of, names(before), names(now))
			return
		}
	}
}

// all lists the nodes of a trial with the places of their values, in no order.
func (t *tableTrial) all() iter.Seq2[int32, uint32] {
	return func(yield func(int32, uint32) bool) {
		for node, place := range t.dense {
			if place > 0 && !yield(int32(node), place) {
				return
			}
		}
		for node, place := range t.sparse {
			if !yield(node, place) {
				return
			}
		}
	}
}

// drop removes a trial. Its values become 0, which no capacity is.
func (p *tablePhase) drop(number int) {
	if t := p.trials[number]; t != nil {
		for _, place := range t.all() {
			p.values[place-1] = 0
		}
		delete(p.trials, number)
	}
}

// sortNodes sorts the nodes by name; rank is the new place of each.
func (t *Table) sortNodes() (rank []int32) {
	t.index = nil
	order := make([]int32, len(t.nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(string(t.nodes[a]), string(t.nodes[b])) })
	rank, sorted := make([]int32, len(order)), make([]model.NodeID, len(order))
	for place, i := range order {
		rank[i], sorted[place] = int32(place), t.nodes[i]
	}
	t.nodes = sorted
	return rank
}

// replicates arranges the values by trial, ascending.
func (p tablePhase) replicates(rank []int32, reciprocal bool) []replicate {
	var out []replicate
	for _, number := range slices.Sorted(maps.Keys(p.trials)) {
		t := p.trials[number]
		type entry struct {
			subject int32
			place   uint32
		}
		entries := make([]entry, 0, t.count)
		for node, place := range t.all() {
			entries = append(entries, entry{rank[node], place})
		}
		delete(p.trials, number)
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.subject, b.subject) })
		r := replicate{trial: number, subjects: make([]int32, len(entries)), values: make([]float64, len(entries))}
		for i, e := range entries {
			r.subjects[i], r.values[i] = e.subject, capacityOf(p.values[e.place-1], reciprocal)
		}
		r.whole = r.values
		out = append(out, r)
	}
	return out
}

// reportedUncertainty is the relative error of printed values: each is known
// to its last digit. Those that were dropped (0) do not count.
func reportedUncertainty(values []float64, last float64) float64 {
	var rounding, count float64
	for _, v := range values {
		if v > 0 {
			rounding += last / v
			count++
		}
	}
	if count > 0 {
		rounding /= count
	}
	return math.Sqrt(rounding * rounding / 12)
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
		c.notes.doubt("no_index", "the index cannot be computed: %v", err)
	} else {
		cdi := degradation(ratio)
		whole := cdi
		f.CDI, f.CDIWhole = &cdi, &whole
	}
	c.notes.doubt("only_means", "only means over the nodes are given: there is no interval, and least, largest and SD are not known")
	f.Doubts = c.notes.all()
	f.Warnings = model.Texts(f.Doubts)
	return f
}
