package sizing

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// wholeNode is the part of a node's cores that a workload must have kept busy
// for its capacity to be the node's. What is missing is the operating system's
// and the ends of a task, where it starts and stops its threads.
const wholeNode = 0.8

// processor is what the nodes of a finding did alone, on average.
type processor struct {
	used float64 // cores busy in the serial steps
	own  float64 // cores that a node may use; 0 when some do not say
}

// processorOf reads the monitor's processor time in the serial steps of the
// finding's workload. It fails when a measuring node has none.
func processorOf(f evaluation.Finding, run *observe.Run) (processor, error) {
	if run == nil {
		return processor{}, fmt.Errorf("the processor time of %s is unknown", f.Workload)
	}
	processors := observe.Meters()[0]
	if err := run.Need(observe.Hosts, processors.Counters()...); err != nil {
		return processor{}, err
	}
	rates := ratesOf(processors, run, f.Workload)
	var used, own []float64
	for _, node := range endsOf(f, run).nodes() {
		mean, err := stats.Mean(rates[node])
		if err != nil {
			return processor{}, fmt.Errorf("the monitor saw no processor time of %s alone on node %s", f.Workload, node)
		}
		if cores := coresOf(node, run.Nodes()); cores > 0 {
			// What the machine did beyond the node's own cores was not the node.
			mean = min(mean, cores)
			own = append(own, cores)
		}
		used = append(used, mean)
	}
	var p processor
	var err error
	if p.used, err = stats.Mean(used); err != nil || !evaluation.IsCapacity(p.used) {
		return processor{}, fmt.Errorf("the monitor saw no processor time of %s alone", f.Workload)
	}
	if len(own) == len(used) {
		p.own, _ = stats.Mean(own) // there are as many as of used
	}
	return p, nil
}

// coresOf is how many cores a node may use; 0 when it does not say.
func coresOf(id model.NodeID, nodes []model.Node) float64 {
	i := slices.IndexFunc(nodes, func(n model.Node) bool { return n.ID == id })
	if i < 0 {
		return 0
	}
	return nodes[i].Facts.Processors()
}

// inCores expresses a capacity of the cpu in cores, for demands are in cores: a
// node alone had the processor time that it used, and the fleet C_n/C_s times
// as much. If its workload left cores idle it is only a lower bound, and no
// limit, whatever was lost: the idle cores were not tried.
func (c capacity) inCores(p processor) capacity {
	factor, alone := p.used / *c.alone, max(p.used, p.own) // it has all its cores, also the busy system's
	c.aloneCI = nil
	c.total, c.unit, c.alone = factor*c.total, evaluation.Core, &alone
	c.sizes = slices.Clone(c.sizes)
	for i := range c.sizes {
		c.sizes[i].total *= factor
	}
	c.ci = multiplied(c.ci, factor)
	c.source += fmt.Sprintf(", in cores: %.3g were busy on a node alone", p.used)
	if p.used >= wholeNode*p.own && p.own > 0 {
		return c
	}
	left := "the number of cores of the nodes is unknown"
	if p.own > 0 {
		left = fmt.Sprintf("%s kept only %.3g of a node's %.4g cores busy", c.workload, p.used, p.own)
	}
	// Alone is not what a node has either.
	c.limited, c.partial, c.alone, c.caution = false, true, nil, ""
	c.open, c.advice = left, "measure with as many threads as cores"
	return c
}
