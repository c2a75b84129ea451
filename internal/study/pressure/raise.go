package pressure

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// Raise is the limits that a volume has after a raise; what is not set is as before.
type Raise struct {
	IOPS      int       `json:"iops,omitempty" jsonschema:"minimum=1" jsonschema_description:"Operations a second."`
	Bandwidth unit.Rate `json:"bandwidth,omitzero" jsonschema_description:"Bytes a second."`
}

// factors are the levels of a treatment.
type factors struct {
	Raised bool `json:"raised"`
}

// Plan implements study.Designer: in each trial each workload runs on all nodes with the
// volumes as the file has them, and then with those of Raise.
func (p *Params) Plan(setup study.Setup) (*study.Plan, error) {
	limits := make(map[string]study.VolumeLevel)
	for name, r := range p.Raise {
		limited := slices.ContainsFunc(setup.Volumes, func(v study.Volume) bool {
			return v.Name == name && v.VolumeLevel != (study.VolumeLevel{})
		})
		if !limited {
			return nil, &model.InputError{Path: "raise." + name, Problem: "the fleet sets no limits of this volume",
				Allowed: "use the name of a volume of a lab that has iops or bandwidth"}
		}
		rate, err := r.Bandwidth.BytesPerSecond()
		if err != nil && r.Bandwidth != (unit.Rate{}) {
			return nil, &model.InputError{Path: "raise." + name + ".bandwidth", Problem: err.Error(), Allowed: "use 60MiB/s"}
		}
		limits[name] = study.VolumeLevel{IOPS: r.IOPS, Bandwidth: rate}
	}
	plan := &study.Plan{}
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, w := range setup.Workloads {
			t := study.Treatment{Phase: model.Parallel, Workload: w.Name, Trial: trial, Block: trial, Factors: factors{}}
			plan.First = append(plan.First, t)
			if len(limits) > 0 {
				t.Volumes, t.Factors = limits, factors{Raised: true}
				plan.First = append(plan.First, t)
			}
		}
	}
	return plan, nil
}

// raisedIn reports whether a step was measured after a raise.
func raisedIn(s model.Step) bool {
	var f factors
	return len(s.Factors) > 0 && json.Unmarshal(s.Factors, &f) == nil && f.Raised
}

// inForce are the inputs of a lab's model: the limits that volumes had in a step.
func inForce(s model.Step) map[string]map[string]string {
	out := make(map[string]map[string]string)
	for name, v := range s.Volumes {
		out[name] = make(map[string]string)
		if v.IOPS > 0 {
			out[name]["iops"] = strconv.Itoa(v.IOPS)
		}
		if v.Bandwidth > 0 {
			out[name]["bandwidth"] = digits(v.Bandwidth) + "B/s"
		}
	}
	return out
}

// Raised is what a raise did to the throughput of a workload.
type Raised struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	// Before and After are the means of all nodes together, with intervals over trials.
	Before Throughput `json:"before"`
	After  Throughput `json:"after"`
	Growth float64    `json:"growth"` // measured
	// Predicted is the growth by the pressures before: at most so much; null: not known.
	Predicted *float64 `json:"predicted"`
	// ScaleOut is how many nodes in place of it the paper compares with, and EnoughNodes how many
	// serve as much: see [ScaleOut].
	ScaleOut    int `json:"scale_out_nodes"`
	EnoughNodes int `json:"enough_nodes"`
}

// Throughput is what was measured over trials.
type Throughput struct {
	Mean   float64         `json:"mean"`
	CI     *stats.Interval `json:"ci"` // 95 %; null: fewer than two trials
	Trials int             `json:"trials"`
}

// raised compares the throughput of each workload before and after the raise.
func (p *Params) raised(run *observe.Run, r *Result) (out []Raised) {
	for _, x := range run.Metrics() {
		if x.Info || x.Unit != "op/s" || x.Better != model.Higher {
			continue
		}
		before, after := totals(run, x, false), totals(run, x, true)
		if len(before) == 0 || len(after) == 0 {
			continue
		}
		of := Raised{Workload: x.Workload, Metric: x.Name, Unit: x.Unit, Before: throughput(before), After: throughput(after)}
		of.Growth = of.After.Mean / of.Before.Mean
		if g := r.predicted(p.Raise); g > 0 {
			of.Predicted = &g
		}
		of.ScaleOut, of.EnoughNodes = ScaleOut(r.nodes, of.Growth)
		out = append(out, of)
	}
	return out
}

// totals are the sums over nodes of a metric, by trial, before or after the raise.
func totals(run *observe.Run, x observe.Metric, raised bool) []float64 {
	byTrial := make(map[int]float64)
	for _, v := range x.Values {
		if raisedIn(run.Steps()[v.Step]) == raised {
			byTrial[v.Trial] += v.Value
		}
	}
	var out []float64
	for _, trial := range slices.Sorted(maps.Keys(byTrial)) {
		out = append(out, byTrial[trial])
	}
	return out
}

func throughput(values []float64) Throughput {
	mean, ci, err := stats.MeanInterval(values, stats.DefaultLevel)
	if err != nil {
		return Throughput{Mean: stats.Average(values), Trials: len(values)}
	}
	return Throughput{Mean: mean, CI: &ci, Trials: len(values)}
}

// predicted is the largest growth that the raised limits allow by the present uses; 0:
// not known.
func (r *Result) predicted(raise map[string]Raise) float64 {
	highest := 0.0
	for _, u := range r.used {
		factor, of := 1.0, u.of.line.level.Quality
		if to, ok := raise[u.Service]; ok {
			rate, _ := to.Bandwidth.BytesPerSecond() // it was checked
			switch {
			case of == levels.Ops && to.IOPS > 0:
				factor = float64(to.IOPS) / u.Rate
			case of == levels.Bytes && rate > 0:
				factor = rate / u.Rate
			}
		}
		highest = math.Max(highest, u.Pressure/factor)
	}
	if highest == 0 {
		return 0
	}
	return 1 / highest
}

// sentence says it.
func (x Raised) sentence() string {
	text := fmt.Sprintf("After the raise %s of %s is %s times as high", x.Metric, x.Workload, num.Digits(x.Growth, 3))
	if x.Predicted != nil {
		text += fmt.Sprintf("; the pressures before allowed at most %s times", num.Digits(*x.Predicted, 3))
	}
	return text + "."
}
