package scaleout

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// quantity is what is counted of a resource, by its unit a second.
type quantity struct{ resource, unit string }

// amount prints so much of it a second, and perJob so much of one job.
func (q quantity) amount(v float64) string {
	if q.unit == evaluation.Core {
		return num.Digits(v, 4) + " cores"
	}
	return num.Human(v, strings.Replace(q.unit, "byte", "B", 1))
}

func (q quantity) perJob(v float64) string {
	switch unit := q.ofJob(); unit {
	case "s":
		return num.Seconds(v)
	case "byte":
		return num.Human(v, "B")
	default:
		return num.Human(v, unit)
	}
}

// ofJob is the unit of what one job takes.
func (q quantity) ofJob() string {
	if q.unit == evaluation.Core {
		return "s"
	}
	return strings.TrimSuffix(q.unit, "/s")
}

// example is so much of one job, as a user writes it.
func (q quantity) example() string {
	switch unit := q.ofJob(); unit {
	case "s":
		return "0.2s"
	case "byte":
		return "5.3MB"
	default:
		return "2" + unit
	}
}

// Demand is what a job takes of a resource, or how often something happens for a job that is
// done, in fleets of the smallest and the largest size.
type Demand struct {
	Resource string `json:"resource"` // or the metric of what happens
	Unit     string `json:"unit"`     // byte, op, packet, s of one processor; 1 of what happens
	// Null: it is not known.
	Smallest *float64 `json:"smallest"`
	Largest  *float64 `json:"largest"`
}

// happens reports that the demand is what happens to jobs.
func (d Demand) happens() bool { return d.Unit == "1" }

// usual reports what need not be told: each job is done in one execution, and nothing fails.
func (d Demand) usual() bool {
	is := func(v *float64, usual float64) bool { return v == nil || *v == usual }
	expected := 0.0
	if d.Resource == metricTries {
		expected = 1
	}
	return d.happens() && is(d.Smallest, expected) && is(d.Largest, expected)
}

// words say what it is.
func (d Demand) words() string {
	return cmp.Or(map[string]string{
		metricTries: "executions", "jobs_retries": "requests tried again", "jobs_failed": "executions that failed",
		"jobs_lost": "leases that ended", "jobs_duplicates": "results that did not count",
		"jobs_set_aside": "items set aside",
	}[d.Resource], d.Resource+d.counted())
}

// counted is what is counted of the resource, for people; empty: its unit says it.
func (d Demand) counted() string {
	switch {
	case d.Unit == "packet":
		return ", packets"
	case d.Unit == "op" && evaluation.Category(d.Resource) == "objectstore":
		return ", requests"
	case d.Unit == "op":
		return ", operations"
	}
	return ""
}

func (d Demand) shown(v float64) string {
	if d.happens() || d.counted() != "" {
		return num.Digits(v, 4)
	}
	return quantity{d.Resource, d.Unit}.perJob(v)
}

// sampled are the metrics of the workload jobs whose sum tells what a job takes; nil: the
// monitor tells.
func sampled(m observe.Meter) []string {
	switch {
	case m.Resource == model.ResourceCPU:
		return []string{metricCPU, metricOwnCPU}
	case m.Monitored():
		return nil
	default:
		return []string{m.PerJob()}
	}
}

// quantities are all that jobs may take: first what they tell, then what the monitor does.
func quantities() (out []quantity) {
	var monitored []quantity
	for _, m := range observe.Meters() {
		if q := (quantity{m.Resource, m.Unit}); m.Monitored() {
			monitored = append(monitored, q)
		} else {
			out = append(out, q)
		}
	}
	return append(out, monitored...)
}

// takes are what a job of a step took, as far as it is known.
func takes(run *observe.Run, s model.Step, metric string) map[quantity]float64 {
	out := make(map[quantity]float64)
	for _, m := range observe.Meters() {
		sum, names := 0.0, sampled(m)
		for _, name := range names {
			sum += mean(run, s, name)
		}
		if len(names) > 0 && num.Finite(sum) {
			out[quantity{m.Resource, m.Unit}] = sum
		}
	}
	for _, m := range metersOf(run) {
		if v := perJob(run, s, metric, m); num.Finite(v) {
			out[quantity{m.Resource, m.Unit}] = v
		}
	}
	return out
}

// metersOf are those that see nothing but the node: a host of a lab has a network of its
// own, and a machine that nodes share counts what all of them take.
func metersOf(run *observe.Run) []observe.Meter {
	shared, lab := run.SharedMachine(), true
	for _, n := range run.Nodes() {
		lab = lab && n.Labels[model.LabelFleet] == model.FleetLab
	}
	var names []string
	out := slices.DeleteFunc(observe.Meters(), func(m observe.Meter) bool {
		own := !shared || lab && evaluation.Category(m.Resource) == "network"
		if !m.Monitored() || m.Resource == model.ResourceCPU || !own {
			return true
		}
		names = append(names, m.Counters()...)
		return false
	})
	if len(out) > 0 && run.Need(observe.Hosts, names...) != nil { // Run.Err tells
		return nil
	}
	return out
}

// perJob is what the nodes of a step took together for a job, in the time in which jobs were
// scored; NaN: it is not known of all of them.
func perJob(run *observe.Run, s model.Step, metric string, m observe.Meter) float64 {
	var taken, jobs float64
	for _, x := range run.Measured(s) {
		c := counterOf(x, metric)
		if len(c.Times) < 2 {
			return math.NaN()
		}
		from, to := c.Times[0], c.Times[len(c.Times)-1]
		length := time.Duration((to - from) * float64(time.Second))
		rate, known := m.Rate(x, length)
		if !known {
			return math.NaN()
		}
		taken, jobs = taken+rate, jobs+c.Between(from, to)/(to-from)
	}
	return taken / jobs // NaN of none
}

// demand adds what jobs took and what happened to them.
func (r *Result) demand(small, large []point) {
	add := func(name, unit string, of func(point) float64) {
		d := Demand{name, unit, num.IfFinite(average(small, of)), num.IfFinite(average(large, of))}
		if d.Smallest != nil || d.Largest != nil {
			r.Demands = append(r.Demands, d)
		}
	}
	for _, q := range quantities() {
		add(q.resource, q.ofJob(), func(x point) float64 {
			if v, ok := x.takes[q]; ok {
				return v
			}
			return math.NaN()
		})
	}
	if r.run == nil {
		return
	}
	add(metricTries, "1", func(x point) float64 { return mean(r.run, x.step, metricTries) })
	for _, metric := range outcomes {
		add(metric, "1", func(x point) float64 { return mean(r.run, x.step, metric) / mean(r.run, x.step, metricDone) })
	}
}

// outcomes are what may happen to jobs and to their requests.
var outcomes = []string{"jobs_retries", "jobs_failed", "jobs_lost", "jobs_duplicates", "jobs_set_aside"}

// Distribution is how long a part of a job took in all fleets of a size.
type Distribution struct {
	Stage Part    `json:"stage"` // "time" is the whole job
	Nodes int     `json:"nodes"`
	Jobs  int64   `json:"jobs"`
	P50   float64 `json:"p50"` // s
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
}

// Whole is all parts of a job together.
const Whole Part = "time"

func (p Part) words() string {
	if p == Whole {
		return "all"
	}
	return string(p)
}

// distribute adds the distributions of the smallest and the largest size.
func (r *Result) distribute(small, large []point) {
	if r.run == nil {
		return
	}
	all := append(parts(), Whole)
	var names []string
	for _, p := range all {
		names = append(names, p.metric())
	}
	if r.run.Need(observe.Histograms, names...) != nil { // Run.Err tells
		return
	}
	sizes := [][]point{small}
	if large[0].nodes != small[0].nodes {
		sizes = append(sizes, large)
	}
	for _, p := range all {
		for _, points := range sizes {
			h := merged(r.run, points, p.metric())
			if h == nil || h.TotalCount() == 0 {
				continue
			}
			at := func(q float64) float64 { return float64(h.ValueAtPercentile(q)) / microseconds }
			r.Distributions = append(r.Distributions, Distribution{p, points[0].nodes, h.TotalCount(), at(50), at(90), at(99)})
		}
	}
}

const microseconds = 1e6 // in a second

// metric is the mean time of a part, and its histogram.
func (p Part) metric() string { return metricJobs + "_" + string(p) }

// merged is the sum of the histograms of all nodes; nil: there is none that can be read.
func merged(run *observe.Run, points []point, metric string) (sum *hdr.Histogram) {
	for _, x := range points {
		for _, result := range run.Measured(x.step) {
			for _, h := range result.Histograms {
				if h.Metric != metric {
					continue
				}
				var err error
				if sum, err = histogram.Add(sum, h.Encoded); err != nil {
					return nil
				}
			}
		}
	}
	return sum
}
