package servicelevel

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
)

// Result is what the volumes gave. Its JSON form is a contract.
type Result struct {
	Level  float64 `json:"level"`  // confidence level of all verdicts together
	Margin float64 `json:"margin"` // percent
	Cells  []Cell  `json:"cells"`
	caveat.Notes
	title string
	apart bool // a model tells reads and writes apart
}

// Cell is a volume of a node under operations of one size and mix.
type Cell struct {
	Node     model.NodeID `json:"node"`
	Volume   string       `json:"volume,omitempty"`
	Workload string       `json:"workload"`
	Size     int64        `json:"size"`  // of an operation, bytes
	Reads    int          `json:"reads"` // percent
	// Depth is how many operations were in flight; Gain by what share ops/s grew when
	// they were doubled to the last depth that was tried, null: one depth was measured.
	Depth int      `json:"depth"`
	Gain  *float64 `json:"gain"`
	// Saturated: more operations in flight are known to be of no use.
	Saturated bool `json:"saturated"`
	Ops       Rate `json:"ops"`   // operations a second, reads and writes together
	Bytes     Rate `json:"bytes"` // bytes a second
	// Expected is what the model says; null: there is none.
	Expected *Expected `json:"expected"`
	// Compared are the measured rates beside it: all operations, or where the model tells
	// them apart reads and writes of a mix.
	Compared []Comparison `json:"compared,omitempty"`
	Verdict  Verdict      `json:"verdict,omitempty"` // the worst of them

	burst   bool
	ways    [][2]float64 // of each repetition: ops/s of reads and of writes
	seconds []float64    // ops/s of each second
	apart   bool
}

// Rate is a rate with what is known of it.
type Rate struct {
	Mean float64         `json:"mean"`
	CI   *stats.Interval `json:"ci"` // Student's, over repetitions; null: fewer than two, or no scatter
	// Repetitions are the means of each.
	Repetitions []float64 `json:"repetitions"`
	// Seconds are the first percentile, the first quartile, the mean, the third quartile
	// and the 99th percentile of the rates in single seconds.
	Seconds chart.Summary `json:"seconds"`
}

func rate(repetitions, seconds []float64, each, level float64) Rate {
	of := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = each * v
		}
		return out
	}
	r := Rate{Repetitions: of(repetitions), Seconds: chart.Summarize(of(seconds), chart.Percentiles)}
	r.Mean, r.CI = stats.MeanWithin(r.Repetitions, level)
	return r
}

// name is how texts call a cell.
func (c Cell) name() CellName {
	return cellName(c.Node, cell{Volume: c.Volume, Size: unit.Size(c.Size), Reads: c.Reads})
}

func cellName(n model.NodeID, c cell) CellName {
	text := volumeName(c.Volume)
	if n != "" {
		text += " of " + string(n)
	}
	return CellName(fmt.Sprintf("%s, %s, %s", text, num.Bytes(c.Size.Bytes()), mixName(c.Reads)))
}

func volumeName(name string) string { return cmp.Or(name, "the volume") }

func mixName(reads int) string { return fmt.Sprintf("%d %% reads", reads) }

// measured collects the cells of a run.
func (p *Params) measured(run *observe.Run) (*Result, error) {
	if err := run.Need(observe.Series, opsMetrics[0], opsMetrics[1]); err != nil {
		return nil, err
	}
	r := &Result{Level: p.Level, Margin: float64(p.Margin), Cells: []Cell{}, title: run.Title()}
	points := make(map[repetition][]point)
	var cells []cell
	for _, s := range run.Steps() {
		if s.Phase != Phase || len(s.Factors) == 0 {
			continue
		}
		x, err := pointOf(run, s)
		if err != nil {
			return nil, err
		}
		if x.Drain || !x.valid {
			continue
		}
		if !slices.Contains(cells, x.cell) {
			cells = append(cells, x.cell)
		}
		points[repetition{x.cell, s.Trial}] = append(points[repetition{x.cell, s.Trial}], x)
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), a.Group-b.Group, cmp.Compare(a.Size, b.Size), b.Reads-a.Reads)
	})
	nodes := make(map[model.NodeID]model.Node)
	for _, n := range run.Nodes() {
		nodes[n.ID] = n
	}
	for _, c := range cells {
		var trials [][]point
		for trial := 1; trial <= lastTrial(run); trial++ {
			trials = append(trials, points[repetition{c, trial}])
		}
		for _, id := range nodesOf(trials) {
			e, err := p.expect(nodes[id], c.Volume, labOf(trials, id))
			if err != nil {
				return nil, err
			}
			r.Cells = append(r.Cells, p.cellOf(run, c, id, trials, e))
			r.apart = r.apart || e.apart()
		}
	}
	return r, nil
}

func lastTrial(run *observe.Run) (last int) {
	for _, s := range run.Steps() {
		last = max(last, s.Trial)
	}
	return last
}

// nodesOf are those that have measured.
func nodesOf(trials [][]point) (out []model.NodeID) {
	for _, p := range slices.Concat(trials...) {
		for n := range p.ops {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func labOf(trials [][]point, n model.NodeID) map[string]any {
	return slices.Concat(trials...)[0].Lab[n]
}

// cellOf is what a cell came to on a node: the repetitions at the depth that was reached,
// or, where raising it was cut off, at the greatest.
func (p *Params) cellOf(run *observe.Run, c cell, n model.NodeID, trials [][]point, e expectation) Cell {
	out := Cell{Node: n, Volume: c.Volume, Size: c.Size.Bytes(), Reads: c.Reads, Expected: e.at(c.bytes(), c.share()), apart: e.apart()}
	below := func(x point) bool {
		return out.Expected != nil && x.total(n) < out.Expected.Ops*(1-float64(p.Margin)/100)
	}
	for _, points := range trials {
		if len(points) < 2 && out.Depth > 0 { // the first repetition found it
			continue
		}
		if i, done, saturated := reached(points, p.DepthMost, below); i >= 0 {
			out.Depth, out.Saturated = points[i].Depth, saturated
			if len(points) > 1 {
				out.Gain = num.IfFinite(points[len(points)-1].gain(points[len(points)-2]))
			}
			if done {
				break
			}
		}
	}
	for _, points := range trials {
		for _, x := range points {
			if ops, ok := x.ops[n]; ok && x.Depth == out.Depth {
				out.Workload, out.burst = x.step.Workload, out.burst || x.Burst
				out.ways = append(out.ways, ops)
				out.seconds = append(out.seconds, secondsOf(run, x.step, n)...)
			}
		}
	}
	var totals []float64
	for _, w := range out.ways {
		totals = append(totals, w[0]+w[1])
	}
	out.Ops, out.Bytes = rate(totals, out.seconds, 1, p.Level), rate(totals, out.seconds, c.bytes(), p.Level)
	return out
}

// secondsOf are the rates of a node in the seconds of a step, in operations a second, from
// the counters that the workload reported.
func secondsOf(run *observe.Run, s model.Step, n model.NodeID) (out []float64) {
	for t, x := range run.Measured(s) {
		if observe.SubjectOf(t) != n {
			continue
		}
		for _, series := range x.Series {
			if !slices.Contains(opsMetrics[:], series.Metric) {
				continue
			}
			for i, v := range perSecond(series) {
				if i == len(out) {
					out = append(out, 0)
				}
				out[i] += v
			}
		}
	}
	return out
}

// perSecond is by how much a counter grew in each whole second.
func perSecond(s model.Series) (out []float64) {
	if len(s.Offsets) < 2 {
		return nil
	}
	at := make([]float64, len(s.Offsets))
	for i, ns := range s.Offsets {
		at[i] = time.Duration(ns - s.Offsets[0]).Seconds()
	}
	was, from := s.Values[0], 0
	for second := 1.0; second <= at[len(at)-1]; second++ {
		var is float64
		is, from = stats.Interpolate(at, s.Values, second, from)
		out, was = append(out, is-was), is
	}
	return out
}
