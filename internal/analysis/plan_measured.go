package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// meter says which of the monitor's counters make up a demand: the first
// alternative that was recorded counts. A name may hold one "*".
type meter struct {
	resource, unit string
	alternatives   [][]string
}

// meters are the demands that the monitor can tell. A node in a control group
// of its own has its processor time there; else it is the machine's. Volumes
// are what the node was given to write to; else it is all of its disks.
var meters = []meter{
	{model.ResourceCPU, unitCore, [][]string{
		{"cgroup.cpu"},
		{"cpu.user", "cpu.nice", "cpu.system", "cpu.irq", "cpu.softirq", "cpu.guest"},
	}},
	{model.ResourceDiskRead, byteRate, [][]string{{"volume.*.read_bytes"}, {"disk.read_bytes"}}},
	{model.ResourceDiskWrite, byteRate, [][]string{{"volume.*.write_bytes"}, {"disk.write_bytes"}}},
	{model.ResourceNetworkReceive, byteRate, [][]string{{"net.rx_bytes"}}},
	{model.ResourceNetworkSend, byteRate, [][]string{{"net.tx_bytes"}}},
}

// DemandsOf measures what an application takes of each resource on one node:
// the mean rates of the monitor's counters in the serial steps of a workload,
// each the mean over nodes of their means over trials, with Student's interval
// over nodes. What a node takes in idleness is in it. Resources that were not
// used at all make no demand.
//
// workload may be empty if the run has only one. Errors are model.ErrUsage: no
// such workload, or no serial step of it with the monitor's counters.
func DemandsOf(data model.RunData, workload string) ([]Demand, error) {
	c, err := campaignOf(data, workload)
	if err != nil {
		return nil, err
	}
	var out []Demand
	seen := false
	for _, m := range meters {
		byNode := c.metered(m)
		seen = seen || len(byNode) > 0
		d, ok := m.demand(byNode)
		if !ok {
			continue
		}
		d.Source = fmt.Sprintf("measured: %s of run %s alone on %s", c.workload, data.Run.ID, plural(len(byNode), "node"))
		out = append(out, d)
	}
	if !seen {
		return nil, fmt.Errorf("%w: run %s has no serial step of %s with the monitor's counters; give the demand with --demand", model.ErrUsage, data.Run.ID, c.workload)
	}
	return out, nil
}

// campaignOf finds a workload of a run by name, or its only one.
func campaignOf(data model.RunData, workload string) (campaign, error) {
	all := campaigns(data)
	var names []string
	for _, c := range all {
		if c.workload == workload || workload == "" && len(all) == 1 {
			return c, nil
		}
		names = append(names, c.workload)
	}
	switch {
	case len(all) == 0:
		return campaign{}, fmt.Errorf("%w: run %s has no serial phase to take a demand from", model.ErrUsage, data.Run.ID)
	case workload == "":
		return campaign{}, fmt.Errorf("%w: run %s has several workloads, name one: RUN:WORKLOAD with %s", model.ErrUsage, data.Run.ID, list(names))
	}
	return campaign{}, fmt.Errorf("%w: run %s has no workload %q, only %s", model.ErrUsage, data.Run.ID, workload, list(names))
}

// metered lists the mean rates of each node alone.
func (c campaign) metered(m meter) map[model.NodeID][]float64 {
	out := make(map[model.NodeID][]float64)
	for _, s := range c.steps {
		if s.Phase != model.Serial || s.State != model.StepComplete {
			continue
		}
		tasks := tasksOf(s)
		for _, r := range c.results[s.ID] {
			if tasks[r.Task].Spec.Role == model.RoleServe || r.Outcome != model.OutcomeOK {
				continue
			}
			if rate, ok := m.rate(r); ok {
				out[r.Node] = append(out[r.Node], rate)
			}
		}
	}
	return out
}

// rate is what one task took per second. Every counter of the alternative must
// be there; a name with "*" stands for all that match, at least one.
func (m meter) rate(r model.Result) (float64, bool) {
	for _, names := range m.alternatives {
		var sum float64
		complete := true
		for _, name := range names {
			rate, ok := hostRate(r, name)
			sum += rate
			// Old kernels do not count every kind of processor time; without
			// the first there is nothing to add to.
			complete = complete && (ok || name != names[0])
		}
		if complete {
			return sum, true
		}
	}
	return 0, false
}

// hostRate adds up the rates of the counters of this name.
func hostRate(r model.Result, name string) (sum float64, ok bool) {
	before, after, many := strings.Cut(name, "*")
	for _, h := range r.Host {
		matches := h.Metric == name || many && strings.HasPrefix(h.Metric, before) && strings.HasSuffix(h.Metric, after)
		if !matches || !h.Counter {
			continue
		}
		if rate, known := counterRate(h, r.Ended.Sub(r.Started)); known {
			sum, ok = sum+rate, true
		}
	}
	return sum, ok
}

// outside is how far, as a part of the task's length, a reading may lie before
// its start or after its end and still count for it: the monitor takes one just
// before and one just after. Idle time in between dilutes the rate by so much
// at most at either end.
const outside = 0.02

// counterRate is the rate of a counter between its first and its last reading
// of the task. They must cover half of it: nothing is extrapolated.
func counterRate(h model.HostSeries, length time.Duration) (float64, bool) {
	if len(h.Offsets) != len(h.Values) {
		return 0, false
	}
	slack := int64(outside * float64(length))
	first, last := -1, -1
	for i, offset := range h.Offsets {
		if offset < -slack || offset > int64(length)+slack {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 || last <= first {
		return 0, false
	}
	covered := time.Duration(h.Offsets[last] - h.Offsets[first])
	if covered <= 0 || 2*covered < length || h.Values[last] < h.Values[first] {
		return 0, false
	}
	return (h.Values[last] - h.Values[first]) / covered.Seconds(), true
}

// demand is the mean over nodes; ok is false when nothing was taken.
func (m meter) demand(byNode map[model.NodeID][]float64) (d Demand, ok bool) {
	var rates []float64
	for _, node := range slices.SortedFunc(maps.Keys(byNode), compareNodes) {
		mean, err := stats.Mean(byNode[node])
		if err != nil {
			return Demand{}, false
		}
		rates = append(rates, mean)
	}
	mean, err := stats.Mean(rates)
	if err != nil || !isCapacity(mean) {
		return Demand{}, false
	}
	d = Demand{Resource: m.resource, Amount: mean, Unit: m.unit, Measured: true, Wire: category(m.resource) == "network"}
	if half, err := stats.MeanHalfWidth(rates, level); err == nil {
		d.CI = &model.Interval{max(0, mean-half), mean + half}
	}
	return d, true
}
