package sizing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// demand is what the application takes of one resource on one node that works
// at its rate.
type demand struct {
	resource string // of the taxonomy, or "workload/metric"
	amount   float64
	unit     string               // normal: "byte/s", "op/s", "core", or as given
	ci       *evaluation.Interval // over nodes; nil when the figure was given
	// wire: it was counted in packets, with their headers.
	wire bool
	// measured: a node was seen to take it, so that one can work at that rate.
	measured bool
	source   string // where the figure comes from, for people
	doubt    string // why a measured figure is not to be relied on; empty: nothing
}

// sourceGiven is the source of what the user gave for a second of one node.
const sourceGiven = "given"

// same reports a demand on the same resource in the same unit: one in
// operations does not replace one in bytes.
func (d demand) same(o demand) bool { return d.resource == o.resource && d.unit == o.unit }

// demands adds the node's rate and what it takes. A given demand replaces the
// measured one.
func (p *Params) demands(ctx context.Context, in study.Input, q *question) error {
	var measured []demand
	q.nodeRate, q.rateGiven = jobRate(p.NodeRate)
	if p.DemandRun != "" {
		var err error
		if measured, err = p.measure(ctx, in, q); err != nil {
			return fmt.Errorf("--demand-run: %w", err)
		}
	}
	for _, g := range p.given() {
		if g.key == "capacity" {
			continue
		}
		a, err := g.of(q.capacities)
		if err != nil {
			return err
		}
		d := demand{resource: a.resource, amount: a.value, unit: a.unit, source: sourceGiven}
		if g.key == keyPerJob {
			d.amount, d.source = a.value*q.nodeRate, "given per job"
		}
		q.demands = append(q.demands, d)
	}
	stated := q.demands
	for _, d := range measured {
		if !slices.ContainsFunc(stated, d.same) {
			q.demands = append(q.demands, d)
		}
	}
	return nil
}

// measure takes from the demand's run what a node takes, its rate unless that is
// given, and what several nodes did at once.
func (p *Params) measure(ctx context.Context, in study.Input, q *question) ([]demand, error) {
	name, workload, _ := strings.Cut(p.DemandRun, ":")
	run, err := in.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	measured, err := demandsOf(run, workload)
	if err != nil {
		return nil, err
	}
	findings, err := evaluation.Findings(run, evaluation.Options{Tolerance: in.Tolerance})
	switch {
	case err != nil:
	case p.NodeRate == "":
		q.oneRun = in.Run != nil && in.Run.Run().ID == run.Run().ID
		err = q.measureRate(findings, run, workload)
	default:
		q.doubts = courseOf(run, workload)
		q.doubtRate(findings, run, workload, func(d model.Doubt) bool { return d.Explains != nil })
		measured = q.scaled(measured, findings, run, workload)
	}
	if err != nil {
		return nil, err
	}
	return measured, q.measureTogether(findings, run, workload)
}

// courseOf says where a run did not come to its end, or lost serial steps of a
// workload.
func courseOf(run *observe.Run, workload string) []doubt {
	var out []doubt
	add := func(code, text string) {
		out = append(out, doubt{fmt.Sprintf("run %s", run.Run().ID), model.Doubt{Code: code, Text: text}})
	}
	if r := run.Run(); r.State != "" && r.State != model.RunDone {
		text := "it is " + string(r.State)
		if r.Reason != "" {
			text += " (" + r.Reason + ")"
		}
		add("not_over", text+": the demand rests on what was measured so far")
	}
	lost, all := 0, 0
	for _, s := range run.Steps() {
		if s.Phase != model.Serial || workload != "" && s.Workload != workload {
			continue
		}
		all++
		if s.State != model.StepComplete {
			lost++
		}
	}
	if lost > 0 {
		add("steps_lost", fmt.Sprintf("%s of %d without a valid result, left out", num.Count(lost, "serial step"), all))
	}
	return out
}

// meter says which of the monitor's counters make up a demand: the first
// alternative that was recorded counts. A name may hold one "*".
type meter struct {
	resource, unit string
	alternatives   [][]string
}

// meters are the demands that the monitor can tell, that of the cpu first. A
// node in a control group of its own has its processor time there; else it is
// the machine's. Volumes are what the node was given to write to; else it is
// all of its disks.
var meters = []meter{
	{model.ResourceCPU, evaluation.Core, [][]string{
		{observe.MetricCgroupCPU},
		{observe.MetricUser, observe.MetricNice, observe.MetricSystem, observe.MetricIRQ, observe.MetricSoftIRQ, observe.MetricGuest},
	}},
	{model.ResourceDiskRead, evaluation.ByteRate, [][]string{{observe.VolumePrefix + "*.read_bytes"}, {observe.MetricDiskRead}}},
	{model.ResourceDiskWrite, evaluation.ByteRate, [][]string{{observe.VolumePrefix + "*.write_bytes"}, {observe.MetricDiskWrite}}},
	{model.ResourceNetworkReceive, evaluation.ByteRate, [][]string{{observe.MetricReceived}}},
	{model.ResourceNetworkSend, evaluation.ByteRate, [][]string{{observe.MetricSent}}},
}

// demandsOf measures what an application takes of each resource on one node:
// the mean rates of the monitor's counters in the serial steps of a workload,
// each the mean over nodes of their means over trials, with Student's interval
// over nodes. What a node takes in idleness is in it. Resources that were not
// used at all make no demand.
//
// workload may be empty if the run has only one. Errors are model.ErrUsage: no
// such workload, or no serial step of it with the monitor's counters.
func demandsOf(run *observe.Run, workload string) ([]demand, error) {
	id := run.Run().ID
	workload, err := workloadOf(run, workload)
	if err == nil {
		err = run.Need(observe.Hosts)
	}
	if err != nil {
		return nil, err
	}
	var out []demand
	seen := false
	for _, m := range meters {
		rates := m.ratesOf(run, workload)
		seen = seen || len(rates) > 0
		if d, ok := m.demand(rates); ok {
			d.source = fmt.Sprintf("measured: %s of run %s alone on %s", workload, id, num.Count(len(rates), "node"))
			d.doubt = doubtOfNodes(rates, planned(run, workload))
			out = append(out, d)
		}
	}
	if !seen {
		return nil, fmt.Errorf("%w: run %s has no serial step of %s with the monitor's counters; give the demand with --demand", model.ErrUsage, id, workload)
	}
	return out, nil
}

// planned are the nodes that were to measure a workload alone.
func planned(run *observe.Run, workload string) []model.NodeID {
	var out []model.NodeID
	for _, s := range run.Steps() {
		if s.Workload == workload && s.Phase == model.Serial {
			for _, t := range observe.Measuring(s) {
				out = append(out, t.Node)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// doubtOfNodes says which of the planned nodes gave no rates, and that one node
// gives no interval.
func doubtOfNodes(rates map[model.NodeID][]float64, planned []model.NodeID) string {
	var without []model.NodeID
	for _, id := range planned {
		if len(rates[id]) == 0 {
			without = append(without, id)
		}
	}
	var text string
	if len(without) > 0 {
		text = fmt.Sprintf("was measured on %d of %s only, not on %s", len(rates), num.Count(len(planned), "node"), num.List(without))
	} else if len(rates) == 1 {
		text = "was measured on one node only"
	}
	if len(rates) == 1 {
		text += ", and has no interval"
	}
	return text
}

// workloadOf finds a workload by name among those with a serial or parallel
// phase, or the only one.
func workloadOf(run *observe.Run, workload string) (string, error) {
	var names []string
	for _, s := range run.Steps() {
		if (s.Phase == model.Serial || s.Phase == model.Parallel) && !slices.Contains(names, s.Workload) {
			names = append(names, s.Workload)
		}
	}
	id := run.Run().ID
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("%w: run %s has no serial phase to take a demand from", model.ErrUsage, id)
	case slices.Contains(names, workload):
		return workload, nil
	case workload != "":
		return "", fmt.Errorf("%w: run %s has no workload %q, only %s", model.ErrUsage, id, workload, num.List(names))
	case len(names) == 1:
		return names[0], nil
	}
	return "", fmt.Errorf("%w: run %s has several workloads, name one: RUN:WORKLOAD with %s", model.ErrUsage, id, num.List(names))
}

// demand is the mean over nodes; ok is false when nothing was taken.
func (m meter) demand(byNode map[model.NodeID][]float64) (d demand, ok bool) {
	var rates []float64
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		mean, err := stats.Mean(byNode[node])
		if err != nil {
			return demand{}, false
		}
		rates = append(rates, mean)
	}
	mean, err := stats.Mean(rates)
	if err != nil || !evaluation.IsCapacity(mean) {
		return demand{}, false
	}
	d = demand{resource: m.resource, amount: mean, unit: m.unit, measured: true, wire: evaluation.Category(m.resource) == "network"}
	if half, err := stats.MeanHalfWidth(rates, level); err == nil {
		d.ci = &evaluation.Interval{max(0, mean-half), mean + half}
	}
	return d, true
}

// ratesOf lists the mean rates of each node in the serial steps of a workload,
// one a trial. Where some trial has all nodes, those without one of them are left
// out: else a difference between trials would become one between nodes.
func (m meter) ratesOf(run *observe.Run, workload string) map[model.NodeID][]float64 {
	trials, nodes := make(map[int]map[model.NodeID][]float64), make(map[model.NodeID]bool)
	for _, s := range run.Steps() {
		if s.Workload != workload || s.Phase != model.Serial || s.State != model.StepComplete {
			continue
		}
		for _, r := range run.Measured(s) {
			if rate, ok := m.rate(r); ok && r.Outcome == model.OutcomeOK {
				if trials[s.Trial] == nil {
					trials[s.Trial] = make(map[model.NodeID][]float64)
				}
				trials[s.Trial][r.Node] = append(trials[s.Trial][r.Node], rate)
				nodes[r.Node] = true
			}
		}
	}
	return joined(trials, len(nodes))
}

// joined are the rates of the trials that have all nodes, or of all trials if
// none has.
func joined(trials map[int]map[model.NodeID][]float64, nodes int) map[model.NodeID][]float64 {
	all, whole := make(map[model.NodeID][]float64), make(map[model.NodeID][]float64)
	for _, number := range slices.Sorted(maps.Keys(trials)) {
		for node, rates := range trials[number] {
			all[node] = append(all[node], rates...)
			if len(trials[number]) == nodes {
				whole[node] = append(whole[node], rates...)
			}
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return all
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

// payloadShare is what a full packet carries for its user: 1448 bytes of 1514,
// TCP with timestamps over Ethernet with 1500-byte packets. With larger packets
// it is more.
const payloadShare = 1448. / 1514

// least is what a demand is at least, beside a capacity in payload. Smaller
// packets carry less, but use up the link like full ones.
func (d demand) least() float64 {
	if d.wire {
		return d.amount * payloadShare
	}
	return d.amount
}

// against converts a demand to what its capacity counts. A demand counted in
// packets is compared with a capacity that a workload measured in payload: its
// payload is less by an unknown amount, so its interval reaches down to the
// payload of full packets, and so does everything that follows from it. A given
// limit is assumed to count what the demand counts.
func (d demand) against(c capacity, n *model.Doubts) demand {
	if !d.wire || c.nodes == 0 {
		d.wire = false
		return d
	}
	lo, hi := ends(d.amount, d.ci)
	d.ci = &evaluation.Interval{lo * payloadShare, hi}
	n.Warn("headers", "the demand on %s was counted in packets with their headers, its capacity in payload: in full packets it is %s and not %s; the interval covers both",
		d.resource, evaluation.AmountText(d.least(), d.unit, d.resource), d.text())
	return d
}
