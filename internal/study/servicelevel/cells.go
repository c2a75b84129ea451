package servicelevel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// Result is what the volumes gave. Its JSON form is a contract.
type Result struct {
	Level  float64       `json:"level"`  // confidence level of all verdicts together
	Margin float64       `json:"margin"` // percent
	Cells  []Measurement `json:"cells"`
	caveat.Notes
	title string
	apart bool // a model tells reads and writes apart
}

// Measurement is what a cell came to.
type Measurement struct {
	Cell
	Workload string `json:"workload"`
	// Depth is how many operations were in flight; Gain by what share ops/s grew when
	// they were last doubled, null: one depth was measured.
	Depth int      `json:"depth"`
	Gain  *float64 `json:"gain"`
	// Saturated: more operations in flight are known to be of no use.
	Saturated bool `json:"saturated"`
	Ops       Rate `json:"ops"`   // operations a second, reads and writes together
	Bytes     Rate `json:"bytes"` // bytes a second
	// Expected is what the model says; null: there is none.
	Expected *Expected `json:"expected"`
	// Compared are the measured rates beside it: all operations, or the reads or writes of
	// a mix that have a limit of their own and reach it.
	Compared []Comparison `json:"compared,omitempty"`
	Verdict  Verdict      `json:"verdict,omitempty"` // the worst of them

	burst, apart bool
	ways         [][2]float64 // of each repetition: ops/s of reads and of writes
	seconds      []float64    // ops/s of each second
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

// rate is that of operations, in units of which each has so many.
func rate(repetitions, seconds []float64, each, level float64) (r Rate) {
	for _, v := range repetitions {
		r.Repetitions = append(r.Repetitions, each*v)
	}
	r.Mean, r.CI = stats.MeanWithin(r.Repetitions, level)
	r.Seconds = chart.Summarize(seconds, chart.Percentiles)
	for i := range r.Seconds.Five {
		r.Seconds.Five[i] *= each
	}
	return r
}

// CellName names a cell for people.
type CellName string

func (c Cell) name() CellName {
	return CellName(fmt.Sprintf("%s of %s, %s, %s", volumeName(c.Volume), c.Node, num.Bytes(c.Size), mixName(c.Reads)))
}

func volumeName(name string) string { return cmp.Or(name, "the volume") }

func mixName(reads int) string { return fmt.Sprintf("%d %% reads", reads) }

// read collects the cells of a run.
func (p *Params) read(run *observe.Run) (*Result, error) {
	if err := run.Need(observe.Series, opsMetrics[:]...); err != nil {
		return nil, err
	}
	seen := make(measured)
	for _, s := range run.Steps() {
		if s.Phase != Phase || len(s.Factors) == 0 {
			continue
		}
		x, err := pointOf(run, s)
		if err != nil {
			return nil, err
		}
		if x.valid && !x.Drain {
			seen.add(x)
		}
	}
	r := &Result{Level: p.Level, Margin: float64(p.Margin), Cells: []Measurement{}, title: run.Title()}
	for _, c := range slices.SortedFunc(maps.Keys(seen), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Size, b.Size),
			b.Reads-a.Reads)
	}) {
		m, err := p.measurement(run, c, seen[c])
		if err != nil {
			return nil, err
		}
		r.Cells, r.apart = append(r.Cells, m), r.apart || m.apart
	}
	return r, nil
}

// measurement is what a cell came to: the repetitions at the depth that was settled, or,
// where raising it was cut off, at the greatest.
func (p *Params) measurement(run *observe.Run, c Cell, trials map[int][]point) (Measurement, error) {
	m := Measurement{Cell: c}
	var all []point
	for _, trial := range slices.Sorted(maps.Keys(trials)) {
		all = append(all, trials[trial]...)
	}
	e, err := p.expect(nodeOf(run.Nodes(), c.Node), c.Volume, all[0].Lab)
	if err != nil {
		return m, err
	}
	m.Expected, m.apart = e.at(c), slices.ContainsFunc(e, levels.Levels.Directional)
	m.Depth, m.Gain, _, m.Saturated = p.settled(trials, m.Expected)
	var totals []float64
	for _, x := range all {
		if x.Depth == m.Depth {
			m.Workload, m.burst = x.step.Workload, m.burst || x.Burst
			m.ways, totals = append(m.ways, x.ops), append(totals, x.total())
			m.seconds = append(m.seconds, secondsOf(run, x.step)...)
		}
	}
	m.Ops, m.Bytes = rate(totals, m.seconds, 1, p.Level), rate(totals, m.seconds, float64(c.Size), p.Level)
	return m, nil
}

// secondsOf are the operations a second in each whole second of a step, from the counters
// that the workload reported.
func secondsOf(run *observe.Run, s model.Step) (out []float64) {
	for _, x := range run.Measured(s) {
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
