package analysis

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// unitCore is the unit of processor time per second: of cores in use.
const unitCore = "core"

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
func processorOf(f model.Finding, data model.RunData) (processor, error) {
	c, err := campaignOf(data, f.Workload)
	if err != nil {
		return processor{}, fmt.Errorf("the processor time that %s used is not known", f.Workload)
	}
	meter := meters[slices.IndexFunc(meters, func(m meter) bool { return m.resource == model.ResourceCPU })]
	rates := c.metered(meter)
	var used, own []float64
	for _, node := range endsOf(f, data).nodes() {
		mean, err := stats.Mean(rates[node])
		if err != nil {
			return processor{}, fmt.Errorf("the monitor saw no processor time of %s alone on node %s", f.Workload, node)
		}
		cores := coresOf(node, data.Nodes)
		if cores > 0 {
			// What the machine did beyond the node's own cores was not the node.
			mean = min(mean, cores)
			own = append(own, cores)
		}
		used = append(used, mean)
	}
	p := processor{}
	if p.used, err = stats.Mean(used); err != nil || !isCapacity(p.used) {
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
	cores := float64(nodes[i].Facts.Cores)
	if limit := nodes[i].Facts.CPULimit; limit > 0 && (cores == 0 || limit < cores) {
		cores = limit
	}
	return cores
}

// withCores adds a capacity of the cpu in cores to one that was measured in
// something else, for demands are in cores: a node alone had the processor
// time that it used, and the fleet C_n/C_s times as much. Where that time is
// not known the capacity says why it cannot be told in cores.
func withCores(c Capacity, f model.Finding, data model.RunData) []Capacity {
	if category(c.Resource) != model.ResourceCPU || c.Unit == unitCore || c.Alone == nil {
		return []Capacity{c}
	}
	p, err := processorOf(f, data)
	if err != nil {
		c.NoCores = err.Error()
		return []Capacity{c}
	}
	return []Capacity{c, c.inCores(p)}
}

// inCores expresses a capacity in cores. If its workload left cores idle it is
// only a lower bound, and no limit, whatever was lost: the idle cores were not
// tried.
func (c Capacity) inCores(p processor) Capacity {
	factor, alone := p.used / *c.Alone, max(p.used, p.own) // it has all its cores, also the busy system's
	c.AloneCI = nil
	c.Total, c.Unit, c.Alone = factor*c.Total, unitCore, &alone
	if c.CI != nil {
		c.CI = &model.Interval{factor * c.CI[0], factor * c.CI[1]}
	}
	c.Source += fmt.Sprintf(", in cores: %.3g were busy on a node alone", p.used)
	if p.used >= wholeNode*p.own && p.own > 0 {
		return c
	}
	left := "how many cores the nodes have is not known"
	if p.own > 0 {
		left = fmt.Sprintf("%s kept only %.3g of a node's %.4g cores busy", c.Workload, p.used, p.own)
	}
	// Alone is not what a node has either.
	c.Limited, c.Partial, c.Alone, c.Caution = false, true, nil, ""
	c.Open, c.Advice = left, "measure with as many threads as cores"
	return c
}
