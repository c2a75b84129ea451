package servicelevel

import (
	"encoding/json"
	"fmt"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
)

// cell is what is measured with several depths and repetitions.
type cell struct {
	Group  int       `json:"group"` // of nodes that measure at once
	Volume string    `json:"volume,omitempty"`
	Size   unit.Size `json:"size"`  // of an operation
	Reads  int       `json:"reads"` // percent
}

func (c cell) bytes() float64 { return float64(c.Size.Bytes()) }
func (c cell) share() float64 { return float64(c.Reads) / 100 }

// factors are what the study stores with a step.
type factors struct {
	cell
	Depth int `json:"depth"`
	// Drain: the step spends credits and measures nothing.
	Drain bool `json:"drain,omitempty"`
	// Burst: by the model credits were left when the measurement began.
	Burst bool `json:"burst,omitempty"`
	// Lab are the inputs of the lab's model for the volume of each node.
	Lab map[model.NodeID]map[string]any `json:"lab,omitempty"`
}

// point is what one step came to.
type point struct {
	factors
	step  model.Step
	ops   map[model.NodeID][2]float64 // operations a second, reads and writes
	valid bool                        // the step was complete
}

// pointOf reads a step of the study.
func pointOf(run *observe.Run, s model.Step) (p point, err error) {
	if err := json.Unmarshal(s.Factors, &p.factors); err != nil {
		return p, fmt.Errorf("step %d has no cell of the study: %w", s.Number+1, err)
	}
	p.step, p.valid, p.ops = s, s.State == model.StepComplete, make(map[model.NodeID][2]float64)
	for t, x := range run.Measured(s) {
		ops, found := [2]float64{}, false
		for _, sample := range x.Samples {
			for i, name := range opsMetrics {
				if sample.Metric == name && num.Finite(sample.Value) {
					ops[i], found = sample.Value, true
				}
			}
		}
		if found {
			p.ops[observe.SubjectOf(t)] = ops
		}
	}
	return p, nil
}

// opsMetrics are what the workload reports of reads and of writes.
var opsMetrics = [2]string{"disk_read_iops", "disk_write_iops"}

// total is what a node did, in operations a second.
func (p point) total(n model.NodeID) float64 { return p.ops[n][0] + p.ops[n][1] }

// leastGain is by what share twice as many operations in flight must do more: else they
// are of no use.
const leastGain = 0.02

// gain is by what share the node did more that gained most.
func (p point) gain(before point) (most float64) {
	most = -1
	for n := range p.ops {
		if was := before.total(n); was > 0 {
			most = max(most, p.total(n)/was-1)
		}
	}
	return most
}

// reached is which of the points, by ascending depth, tells what the cell comes to; done
// is false while a greater depth is to be tried, and saturated where it is known to be of
// no use. Where a point is below what is expected, chance must not have ended it: then
// two doublings in a row must be of no use.
func reached(points []point, most int, below func(point) bool) (i int, done, saturated bool) {
	n := len(points)
	if n == 0 {
		return -1, false, false
	}
	useless := 0
	for k := n - 1; k > 0 && points[k].gain(points[k-1]) < leastGain; k-- {
		useless++
	}
	i = n - 1
	if useless > 0 && points[i].gain(points[i-1]) <= -leastGain { // too many slow each other down
		i--
	}
	saturated = useless > 1 || useless == 1 && !below(points[i])
	atMost := points[n-1].Depth >= most
	return i, saturated || atMost, saturated || atMost && useless > 0
}
