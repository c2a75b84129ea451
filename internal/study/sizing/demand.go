package sizing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/queueing"
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
		if !slices.ContainsFunc(stated, d.same) && q.wants(d) {
			q.demands = append(q.demands, d)
		}
	}
	return nil
}

// wants reports whether a measured demand is asked about. Operations, packets and calls
// are held against limits that were given, and against what a workload measured that was
// bound by them: else that holds for operations of its size.
func (q *question) wants(d demand) bool {
	return d.unit == evaluation.ByteRate || d.unit == evaluation.Core ||
		slices.ContainsFunc(q.capacities, func(c capacity) bool {
			return (c.nodes == 0 || c.calls) && c.unit == d.unit && c.is(d.resource)
		})
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
	q.doubtPackets(run, measured)
	q.slots = slotsOf(run, workload)
	findings, err := evaluation.Findings(run, evaluation.Options{Tolerance: in.Tolerance})
	switch {
	case err != nil:
	case p.NodeRate == "":
		q.oneRun = in.Run != nil && in.Run.Run().ID == run.Run().ID
		err = q.measureRate(findings, run, workload)
	default:
		q.doubtCourse(run, workload)
		q.doubtRate(findings, run, workload, func(d model.Doubt) bool { return d.Explains != nil })
		measured = q.scaled(measured, findings, run, workload)
	}
	if err != nil {
		return nil, err
	}
	return measured, q.measureTogether(findings, run, workload)
}

// slotsOf is how many jobs a node works on at once; 0: it is not told, as of other workloads.
func slotsOf(run *observe.Run, workload string) int {
	var atOnce []float64
	for _, s := range run.Steps() {
		if s.Phase != model.Serial || s.State != model.StepComplete || workload != "" && s.Workload != workload {
			continue
		}
		for _, r := range run.Measured(s) {
			if n := observe.AtOnce(r); n > 0 {
				atOnce = append(atOnce, n)
			}
		}
	}
	if len(atOnce) == 0 {
		return 0
	}
	return queueing.SlotsOf(stats.Average(atOnce))
}

// doubtCourse says where a run did not come to its end, or lost serial steps of a
// workload.
func (q *question) doubtCourse(run *observe.Run, workload string) {
	if r := run.Run(); r.State != "" && r.State != model.RunDone {
		text := "it is " + string(r.State)
		if r.Reason != "" {
			text += " (" + r.Reason + ")"
		}
		q.doubt(run, "not_over", text+": the demand rests on what was measured so far")
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
		q.doubt(run, "steps_lost", fmt.Sprintf("%s of %d without a valid result, left out", num.Count(lost, "serial step"),
			all))
	}
}

// doubtPackets says where packets were counted that are none on the wire.
func (q *question) doubtPackets(run *observe.Run, measured []demand) {
	for _, p := range measured {
		i := slices.IndexFunc(measured, func(d demand) bool {
			return d.resource == p.resource && d.unit == evaluation.ByteRate
		})
		if p.unit == observe.PacketRate && q.wants(p) && i >= 0 && observe.Segmented(measured[i].amount, p.amount) {
			q.doubt(run, "segmented_packets", fmt.Sprintf("%s: its nodes count %s on average as one packet, and network "+
				"devices divide them: on the wire there are more; give the packets with --demand-per-job", p.resource,
				num.Human(measured[i].amount/p.amount, "B")))
		}
	}
}

// doubt notes what makes a run doubtful that rate and demands come from.
func (q *question) doubt(run *observe.Run, code, text string) {
	q.doubts = append(q.doubts, doubt{"run " + string(run.Run().ID), model.Doubt{Code: code, Text: text}})
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
	for _, m := range observe.Meters() {
		rates := ratesOf(m, run, workload)
		seen = seen || m.Monitored() && len(rates) > 0
		if d, ok := demandOf(m, rates); ok {
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
func demandOf(m observe.Meter, byNode map[model.NodeID][]float64) (d demand, ok bool) {
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
	return demand{resource: m.Resource, amount: mean, unit: m.Unit, ci: around(mean, rates, 1), measured: true,
		wire: evaluation.Category(m.Resource) == "network" && m.Unit == evaluation.ByteRate}, true
}

// ratesOf lists the mean rates of each node in the serial steps of a workload,
// one a trial. Where some trial has all nodes, those without one of them are left
// out: else a difference between trials would become one between nodes.
func ratesOf(m observe.Meter, run *observe.Run, workload string) map[model.NodeID][]float64 {
	trials, nodes := make(map[int]map[model.NodeID][]float64), make(map[model.NodeID]bool)
	for _, s := range run.Steps() {
		if s.Workload != workload || s.Phase != model.Serial || s.State != model.StepComplete {
			continue
		}
		for _, r := range run.Measured(s) {
			if rate, ok := m.Rate(r, r.Ended.Sub(r.Started)); ok && r.Outcome == model.OutcomeOK {
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
