package analysis

import (
	"io"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// CDIFromCSV returns a finding for each workload and metric of somebody's own
// numbers, in the order of the file. name is the file's name, for messages and
// for the workload where the file names none. The file has one of three forms,
// told apart by its header (docs/methods.md has an example of each):
//
//	node, phase, value      [workload, metric, unit, trial, better]  one value a line
//	node, serial, parallel  [workload, metric, unit, trial, better]  one node a line
//	nodes, serial_mean, parallel_mean  [workload, metric, unit, better]  a published table
//
// The last form has no nodes to compute an interval from: its verdict is
// always unknown. Everything that is wrong with the file is reported at once
// as [CSVErrors], which is a model.ErrUsage.
func CDIFromCSV(r io.Reader, name string, opt Options) ([]model.Finding, error) {
	sheet, err := readSheet(r, name)
	if err != nil {
		return nil, err
	}
	groups, err := sheet.groups()
	if err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	out := make([]model.Finding, 0, len(groups))
	for _, g := range groups {
		out = append(out, g.finding(opt))
	}
	return out, nil
}

// group is all rows of one workload and metric.
type group struct {
	workload, metric, unit string
	better                 model.Better
	line                   int // of its first row
	serial, parallel       []repetition
	published              *published
	serialFuzz             []fuzz // of every value in the file
	parallelFuzz           []fuzz
	seen                   map[cellKey]int // line of each value
}

// cellKey names one value of a group.
type cellKey struct {
	node  model.NodeID
	phase model.Phase
	trial int
}

// published is a row of the third form: means over nodes that are not given.
type published struct {
	nodes            int
	serial, parallel float64 // capacities
}

// put files one value, as it stands in the file, under its phase and trial. It
// returns the line that has one already, or 0.
func (g *group) put(k cellKey, value float64, line int) (taken int) {
	if before, ok := g.seen[k]; ok {
		return before
	}
	g.seen[k] = line
	reps, fuzzes := &g.serial, &g.serialFuzz
	if k.phase == model.Parallel {
		reps, fuzzes = &g.parallel, &g.parallelFuzz
	}
	*fuzzes = append(*fuzzes, reportedFuzz(value))
	i := slices.IndexFunc(*reps, func(r repetition) bool { return r.trial == k.trial })
	if i < 0 {
		i = len(*reps)
		values := make(map[model.NodeID]float64)
		*reps = append(*reps, repetition{trial: k.trial, values: values, whole: values})
	}
	(*reps)[i].values[k.node] = capacityOf(value, g.better == model.Lower)
	return 0
}

// finding computes what the group's numbers allow.
func (g *group) finding(opt Options) model.Finding {
	byTrial := func(a, b repetition) int { return a.trial - b.trial }
	slices.SortFunc(g.serial, byTrial)
	slices.SortFunc(g.parallel, byTrial)
	c := comparison{
		workload: g.workload, metric: g.metric, of: model.OfNodes, serial: g.serial, parallel: g.parallel,
		scoring: scoring{window: windowWhole, unit: g.unit, reciprocal: g.better == model.Lower},
	}
	if c.reciprocal {
		c.unit = inverseUnit(g.unit)
	}
	last := lastDigit(slices.Concat(g.serialFuzz, g.parallelFuzz))
	c.resolution = resolution{uncertainty(g.serialFuzz, 0, last), uncertainty(g.parallelFuzz, 0, last)}
	c.notes.warn("the numbers come from a file: whether the nodes were active together, and whether they are equal, is not known")
	if g.published != nil {
		return g.published.finding(c)
	}
	return c.finding(opt)
}

// finding computes the index of published means. Least, largest and SD of the
// nodes are not known.
func (p published) finding(c comparison) model.Finding {
	f := model.Finding{
		Workload: c.workload, Metric: c.metric, Unit: c.unit, Nodes: p.nodes, Of: c.of,
		Window: c.window, Reciprocal: c.reciprocal, Verdict: model.VerdictUnknown,
		Pairs: []model.NodePair{},
	}
	total := float64(p.nodes) * p.parallel
	f.Serial.Mean, f.Parallel.Mean, f.Parallel.Total = &p.serial, &p.parallel, &total
	ratio, err := stats.RatioOfMeans([]float64{p.parallel}, []float64{p.serial})
	if err != nil {
		c.notes.doubt("the index cannot be computed: %v", err)
	} else {
		cdi := degradation(ratio)
		whole := cdi
		f.CDI, f.CDIWhole = &cdi, &whole
	}
	c.notes.doubt("only means over the nodes are given: there is no interval, and least, largest and SD are not known")
	f.Warnings = c.notes.all()
	return f
}
