// Package microbench reads what microbenchmarks measured of the nodes and connections of a
// run: what a context switch costs (workload context_switch), and what the network
// carries (workload network). Any study may stand on it.
package microbench

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// Is reports whether a workload of this kind is one of them.
func Is(kind string) bool { return kind == "context_switch" || kind == "network" }

// Alone are the steps of a design that measure them: one node, or pair of nodes, at a
// time, and no service.
func Alone(setup study.Setup, phase model.Phase) (out []study.Treatment) {
	none := make(map[string]study.ServiceLevel)
	for _, s := range setup.Services {
		none[s.Name] = study.ServiceLevel{Count: -1}
	}
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, w := range setup.Workloads {
			for i := 0; Is(w.Kind) && i < w.Subjects; i++ {
				out = append(out, study.Treatment{Phase: phase, Label: w.Name + " alone", Workload: w.Name, Trial: trial, Active: []int{i}, Services: none})
			}
		}
	}
	return out
}

// switchMetric is how the metric of a context switch begins.
const switchMetric = "context_switch_time{threads="

// Switch is what a context switch costs on a node, with so many threads that take
// turns. The platform is what the caller says.
type Switch struct {
	Workload string       `json:"workload"`
	Platform string       `json:"platform,omitempty"`
	Node     model.NodeID `json:"node"`
	Threads  int          `json:"threads"`
	// Cost is the mean over trials in ns of processor time, CI its interval; null: one
	// trial.
	Cost   float64         `json:"cost_ns"`
	CI     *stats.Interval `json:"ci"`
	Trials int             `json:"trials"`

	Run model.RunID `json:"-"`
}

// Network is what the connections of a node, or between a pair of them, carry:
// means over trials. Null is what was not measured.
type Network struct {
	Workload string       `json:"workload"`
	Platform string       `json:"platform,omitempty"`
	Subject  model.NodeID `json:"subject"`
	// Received and Sent are bytes a second.
	Received   *float64        `json:"received"`
	ReceivedCI *stats.Interval `json:"received_ci"`
	Sent       *float64        `json:"sent"`
	SentCI     *stats.Interval `json:"sent_ci"`
	// Times of round trips in seconds: the median of the idle network, and while it is
	// full, with the 99th percentile.
	Idle          *float64        `json:"rtt_idle"`
	IdleCI        *stats.Interval `json:"rtt_idle_ci"`
	Loaded        *float64        `json:"rtt_loaded"`
	LoadedCI      *stats.Interval `json:"rtt_loaded_ci"`
	Tail          *float64        `json:"rtt_loaded_p99"`
	TailCI        *stats.Interval `json:"rtt_loaded_p99_ci"`
	Retransmits   *float64        `json:"retransmits"` // segments a trial
	RetransmitsCI *stats.Interval `json:"retransmits_ci"`
	// Messages are round trips of the idle network over sizes of messages, ascending.
	Messages []Message `json:"messages,omitempty"`
	Trials   int       `json:"trials"`
}

// Message is how long a message of so many bytes takes there and back: the mean over
// trials of the median, in seconds.
type Message struct {
	Size int64           `json:"size"`
	RTT  float64         `json:"rtt"`
	CI   *stats.Interval `json:"rtt_ci"`
}

// messageMetric is how the metric of such a round trip begins.
const messageMetric = "message_rtt_p50{size="

// Read is what a run has, whatever the phase; place tells the platform of a node.
func Read(run *observe.Run, place func(model.NodeID) string) (switches []Switch, network []Network) {
	for _, m := range metrics(run) {
		text, isSwitch := strings.CutPrefix(m.Name, switchMetric)
		threads, _ := strconv.Atoi(strings.TrimSuffix(text, "}")) // a label that the workload made
		for subject, values := range alone(m) {
			mean, ci := stats.MeanWithin(values, stats.DefaultLevel)
			if !isSwitch {
				row := Network{Workload: m.Workload, Platform: placeOf(subject, place), Subject: subject, Trials: len(values)}
				network = takeNetwork(network, row, m.Name, mean, ci)
				continue
			}
			switches = append(switches, Switch{Workload: m.Workload, Platform: place(subject), Node: subject, Threads: threads, Cost: mean,
				CI: ci, Trials: len(values), Run: run.Run().ID})
		}
	}
	slices.SortFunc(switches, func(a, b Switch) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Threads, b.Threads))
	})
	slices.SortFunc(network, func(a, b Network) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Workload, b.Workload))
	})
	return switches, network
}

// placeOf is the platform of both ends of a connection; empty: they are on two.
func placeOf(subject model.NodeID, place func(model.NodeID) string) string {
	ends := strings.FieldsFunc(string(subject), func(r rune) bool { return r == '>' || r == '+' })
	first := place(model.NodeID(ends[0]))
	if slices.ContainsFunc(ends, func(end string) bool { return place(model.NodeID(end)) != first }) {
		return ""
	}
	return first
}

// metrics are what such workloads reported.
func metrics(run *observe.Run) []observe.Metric {
	is := make(map[string]bool)
	for _, s := range run.Steps() {
		for _, t := range s.Tasks {
			is[s.Workload] = is[s.Workload] || Is(t.Spec.Kind)
		}
	}
	return slices.DeleteFunc(slices.Clone(run.Metrics()), func(m observe.Metric) bool { return !is[m.Workload] })
}

// alone are the values of each subject, of those steps in which the fewest worked at
// once.
func alone(m observe.Metric) map[model.NodeID][]float64 {
	out, least := make(map[model.NodeID][]float64), math.MaxInt
	for _, v := range m.Values {
		least = min(least, v.Active)
	}
	for _, v := range m.Values {
		if v.Active == least {
			out[v.Subject] = append(out[v.Subject], v.Value)
		}
	}
	return out
}

// takeNetwork adds one metric of the network to its row, or to a new one.
func takeNetwork(all []Network, row Network, metric string, mean float64, ci *stats.Interval) []Network {
	size, isMessage := strings.CutPrefix(metric, messageMetric)
	if to, _ := row.field(metric); to == nil && !isMessage {
		return all
	}
	i := slices.IndexFunc(all, func(x Network) bool { return x.Workload == row.Workload && x.Subject == row.Subject })
	if i < 0 {
		i, all = len(all), append(all, row)
	}
	if strings.HasPrefix(metric, "rtt_") || isMessage { // microseconds
		mean /= 1e6
		if ci != nil {
			ci = &stats.Interval{Lo: ci.Lo / 1e6, Hi: ci.Hi / 1e6}
		}
	}
	if isMessage {
		bytes, _ := unit.ParseSize(strings.TrimSuffix(size, "}")) // a label that the workload made
		all[i].Messages = append(all[i].Messages, Message{int64(bytes), mean, ci})
		slices.SortFunc(all[i].Messages, func(a, b Message) int { return cmp.Compare(a.Size, b.Size) })
		return all
	}
	to, within := all[i].field(metric)
	*to, *within = &mean, ci
	return all
}

// field is where a metric goes; nil: nowhere.
func (n *Network) field(metric string) (mean **float64, ci **stats.Interval) {
	switch metric {
	case "network_receive_throughput":
		return &n.Received, &n.ReceivedCI
	case "network_send_throughput":
		return &n.Sent, &n.SentCI
	case "rtt_idle_p50":
		return &n.Idle, &n.IdleCI
	case "rtt_p50":
		return &n.Loaded, &n.LoadedCI
	case "rtt_p99":
		return &n.Tail, &n.TailCI
	case "network_retransmits":
		return &n.Retransmits, &n.RetransmitsCI
	}
	return nil, nil
}

// Curve is what switching costs against the number of threads, ascending, in seconds.
type Curve []Point

// Point is the cost of a switch between so many threads.
type Point struct{ Threads, Cost float64 }

// At interpolates over the logarithm of the number of threads; beyond what was
// measured it is the nearest. NaN: nothing was measured, or the number is not known.
func (c Curve) At(threads float64) float64 {
	if len(c) == 0 || math.IsNaN(threads) {
		return math.NaN()
	}
	i := slices.IndexFunc(c, func(p Point) bool { return threads <= p.Threads })
	switch {
	case i < 0:
		return c[len(c)-1].Cost
	case i == 0:
		return c[0].Cost
	}
	from, to := c[i-1], c[i]
	return from.Cost + math.Log(threads/from.Threads)/math.Log(to.Threads/from.Threads)*(to.Cost-from.Cost)
}

// Mean is the curve of those nodes that are wanted, by one workload, the first that has
// any: others may switch in other ways.
func Mean(all []Switch, wanted func(Switch) bool) Curve {
	sum, n := make(map[int]float64), make(map[int]float64)
	workload := ""
	for _, s := range all {
		if len(sum) == 0 {
			workload = s.Workload
		}
		if s.Workload == workload && wanted(s) {
			sum[s.Threads], n[s.Threads] = sum[s.Threads]+s.Cost/1e9, n[s.Threads]+1
		}
	}
	var out Curve
	for threads := range sum {
		out = append(out, Point{float64(threads), sum[threads] / n[threads]})
	}
	slices.SortFunc(out, func(a, b Point) int { return cmp.Compare(a.Threads, b.Threads) })
	return out
}
