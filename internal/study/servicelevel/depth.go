package servicelevel

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// Place is a volume of a node. Without a name it is where the workload says.
type Place struct {
	Node   model.NodeID `json:"node"`
	Volume string       `json:"volume,omitempty"`
}

// Cell is what is measured with several depths and repetitions.
type Cell struct {
	Place
	Size  int64 `json:"size"`  // of an operation, bytes
	Reads int   `json:"reads"` // percent
}

func (c Cell) share() float64 { return float64(c.Reads) / 100 }

// factors are what the study stores with a step.
type factors struct {
	Cell
	Depth int `json:"depth"`
	// Drain: the step spends credits and measures nothing.
	Drain bool `json:"drain,omitempty"`
	// Burst: by the model credits were left when the measurement began.
	Burst bool `json:"burst,omitempty"`
	// Lab are the inputs of the lab's model.
	Lab map[string]any `json:"lab,omitempty"`
}

// point is what one step came to.
type point struct {
	factors
	step  model.Step
	ops   [2]float64 // operations a second, reads and writes
	valid bool
}

// opsMetrics are what the workload reports of reads and of writes.
var opsMetrics = [2]string{"disk_read_iops", "disk_write_iops"}

// pointOf reads a step of the study.
func pointOf(run *observe.Run, s model.Step) (p point, err error) {
	if err := json.Unmarshal(s.Factors, &p.factors); err != nil {
		return p, fmt.Errorf("step %d has no cell of the study: %w", s.Number+1, err)
	}
	p.step = s
	for _, x := range run.Measured(s) {
		for _, sample := range x.Samples {
			if i := slices.Index(opsMetrics[:], sample.Metric); i >= 0 && num.Finite(sample.Value) {
				p.ops[i], p.valid = sample.Value, true
			}
		}
	}
	return p, nil
}

func (p point) total() float64 { return p.ops[0] + p.ops[1] }

// leastGain is by what share twice as many operations in flight must do more: else they
// are of no use.
const leastGain = 0.02

// reached is which of the points, by ascending depth, tells what the cell comes to; done
// is false while a greater depth is to be tried, and saturated where it is known to be of
// no use. If a point is below what is expected, two doublings in a row must be of no use:
// chance must not end it.
func reached(points []point, most int, below func(point) bool) (i int, done, saturated bool) {
	gain := func(k int) float64 { return points[k].total()/points[k-1].total() - 1 }
	last, useless := len(points)-1, 0
	for k := last; k > 0 && gain(k) < leastGain; k-- {
		useless++
	}
	i = last
	if useless > 0 && gain(last) <= -leastGain { // too many slow each other down
		i--
	}
	atMost := last >= 0 && points[last].Depth >= most
	saturated = useless > 1 || useless == 1 && (atMost || !below(points[i]))
	return i, saturated || atMost, saturated
}

// measured are the points of a cell by repetition, in each by ascending depth.
type measured map[Cell]map[int][]point

func (m measured) add(p point) {
	if m[p.Cell] == nil {
		m[p.Cell] = make(map[int][]point)
	}
	m[p.Cell][p.step.Trial] = append(m[p.Cell][p.step.Trial], p)
}

// settled is the depth of a cell, from the first repetition that found it. If none did, it is
// the greatest that was measured, and more is to be tried.
func (p *Params) settled(trials map[int][]point, e *Expected) (depth int, gain *float64, done, saturated bool) {
	if p.Depth > 0 {
		return p.Depth, nil, true, false
	}
	for trial := 1; trial <= len(trials); trial++ {
		points := slices.DeleteFunc(slices.Clone(trials[trial]), func(x point) bool { return !x.valid })
		i, over, enough := reached(points, p.DepthMost, func(x point) bool { return e != nil && x.total() < p.least(e.Ops) })
		if i < 0 || points[0].Depth > 1 && trial > 1 { // it measured at the depth that was known
			continue
		}
		if depth, done, saturated = max(depth, points[i].Depth), over, enough; len(points) > 1 {
			gain = num.IfFinite(points[len(points)-1].total()/points[len(points)-2].total() - 1)
		}
		if over {
			return points[i].Depth, gain, true, saturated
		}
	}
	return depth, gain, done, saturated
}

// least is what a volume does at least that does what is expected.
func (p *Params) least(expected float64) float64 { return expected * (1 - float64(p.Margin)/100) }
