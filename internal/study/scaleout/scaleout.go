// Package scaleout is the question how far a real application scales: ScaleBench, section
// 5 with Fig. 9 to 11.
//
//  1. [Params.Plan]: first the capacities that all nodes share and the rate of one node.
//     From them comes the prediction, which the steps of larger fleets store before they
//     run (design.go, prediction.go). Then each size in random order in each block.
//  2. [Params.Answer]: the curve, its plateau and its knee (result.go), the bottleneck with
//     evidence (bottleneck.go), the prediction beside what was measured, and what a target
//     needs (target.go). Also of a table (table.go).
//  3. Figures as 10 and 11 of the paper (document.go, figures.go).
package scaleout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/study"
)

const name = "scaleout"

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: name, Summary: "how far an application scales, what ends growth, and how many nodes a target needs",
		Long: `Says how the throughput of a fleet grows with its size: the kind of the curve, the
plateau and the knee with intervals, and the bottleneck with its evidence.

A run of an experiment with "study: {kind: scaleout}" also has the prediction that was made
from one node and the measured capacities, before larger fleets ran. A table in CSV has the
columns nodes and throughput, and perhaps trial.

Kinds: linear, capped (growth ends at a hard limit), amdahl, usl (growth turns into a
fall), and unclear where several curves describe the data. No fall is predicted past the
largest size that was measured.`,
		Example: "  scalebench scaleout latest\n  scalebench scaleout latest --target 590 --prices prices.csv\n" +
			"  scalebench scaleout fleet.csv --target 590 --demand objectstore.put=5.3MB " +
			"--capacity objectstore.put=3125MB/s",
		New:    func() study.Study { return New() },
		Phases: []model.Phase{model.Parallel}, Named: true,
		Takes: func(study.Study) study.Takes {
			return study.Takes{Least: 1, Most: 1, Read: readTable}
		},
		Caveats: caveats,
	}
}

// Params are the parameters of the study. The file's trials are its blocks.
type Params struct {
	Workload   string        `json:"workload,omitempty" jsonschema_description:"Name of the workload that is the application. Default: the only one that capacities does not name."`
	Sizes      []int         `json:"sizes,omitempty" jsonschema:"maxItems=100,uniqueItems=true,minimum=1" jsonschema_description:"Sizes of the fleet: [1, 2, 3, 4, 6]. One node is always measured. Default: 1, 2, 4 and so on, up to all nodes."`
	Capacities []string      `json:"capacities,omitempty" jsonschema:"maxItems=20,uniqueItems=true" jsonschema_description:"Names of workloads that measure what the nodes share, such as objectstore get and put. All nodes measure each together, before everything else."`
	Singles    int           `json:"singles" jsonschema:"minimum=2,maximum=100" jsonschema_description:"Steps of one node before the prediction, on different nodes. There are up to three times as many if the prediction is wider than half_width."`
	HalfWidth  study.Percent `json:"half_width" jsonschema:"exclusiveMinimum=0,maximum=100" jsonschema_description:"Half-width of the predicted band that is wanted at every size, in percent of its middle."`

	Target   float64  `json:"target,omitempty" flag:"target" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Throughput that is wanted, in the unit that was measured, such as jobs a second. The answer has the nodes, what they cost, and what to raise if more nodes do not help."`
	Prices   string   `json:"prices,omitempty" flag:"prices" from:"file" jsonschema_description:"What nodes cost, CSV: type, price_per_hour, currency, and perhaps zone."`
	Type     string   `json:"type,omitempty" flag:"type" jsonschema_description:"Type of the nodes in the prices. Default: the label type of the nodes, or what their cloud says."`
	Demand   []string `json:"demand,omitempty" flag:"demand" jsonschema_description:"Demand of one job: RESOURCE=AMOUNT, such as objectstore.put=5.3MB; repeatable. Default: as measured."`
	Capacity []string `json:"capacity,omitempty" flag:"capacity" jsonschema_description:"Capacity that all nodes share: RESOURCE=RATE, such as objectstore.put=3125MB/s, or requests a second: objectstore.get=5500op/s; repeatable. Default: as measured."`
}

// New returns parameters with their defaults.
func New() *Params { return &Params{Singles: 3, HalfWidth: 20} }

// refuse is the error about a parameter.
func refuse(path, problem, allowed string) error {
	return &model.InputError{Path: path, Problem: problem, Allowed: allowed}
}

// Check implements study.Study.
func (p *Params) Check() ([]caveat.Caveat, error) {
	_, demand := p.amounts("demand", p.Demand)
	_, capacity := p.amounts("capacity", p.Capacity)
	var price error
	if p.Prices != "" {
		_, price = prices.Read(p.Prices)
	}
	return nil, errors.Join(demand, capacity, price, p.unused())
}

// unused refuses what no answer would look at.
func (p *Params) unused() error {
	for path, given := range map[string]bool{"demand": len(p.Demand) > 0, "capacity": len(p.Capacity) > 0} {
		if given && p.Target == 0 {
			return refuse(path, "without a target it changes nothing", "add --target, the throughput that is wanted")
		}
	}
	if p.Type != "" && p.Prices == "" {
		return refuse("type", "without prices it changes nothing", "add --prices, a table of what nodes cost")
	}
	return nil
}

// amounts are those of a parameter: of one job, or of a second.
func (p *Params) amounts(key string, texts []string) (map[quantity]float64, error) {
	allowed, perSecond := "use RESOURCE=AMOUNT, such as objectstore.put=5.3MB, network.send=900packet or cpu=0.2s", ""
	if key == "capacity" {
		allowed = "use RESOURCE=RATE, such as objectstore.put=3125MB/s, objectstore.get=5500op/s or network.send=10Gbit/s"
	} else {
		perSecond = "/s"
	}
	out := make(map[quantity]float64)
	for _, text := range texts {
		resource, value, name, problem := evaluation.SplitAmount(text)
		if perSecond != "" && name == "s" {
			name = evaluation.Core
		} else {
			name += perSecond
		}
		unit, factor := evaluation.NormalUnit(name)
		q := quantity{resource, unit}
		switch {
		case problem != "" || !slices.ContainsFunc(quantities(), func(k quantity) bool { return k.unit == unit }) ||
			!evaluation.IsCapacity(value*factor):
			return nil, refuse(key, fmt.Sprintf("%q is no amount of a resource", text), allowed)
		case !slices.Contains(quantities(), q) && q != (Limit{Resource: string(Machine)}).quantity():
			return nil, refuse(key, fmt.Sprintf("%q is no resource of which jobs take %s", resource, q.ofJob()),
				"use "+known(unit))
		}
		if _, twice := out[q]; twice {
			return nil, refuse(key, fmt.Sprintf("%s is given twice", resource), "use each resource once")
		}
		out[q] = value * factor
	}
	return out, nil
}

// known are the resources that are counted in a unit.
func known(unit string) string {
	var names []string
	for _, q := range quantities() {
		if q.unit == unit {
			names = append(names, q.resource)
		}
	}
	return num.List(names)
}

// readTable is study.Takes.Read.
func readTable(_ context.Context, name string, in io.Reader) (json.RawMessage, error) {
	t, err := parseTable(name, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// Answer implements study.Study.
func (p *Params) Answer(_ context.Context, in study.Input) (*study.Answer, error) {
	run, r := in.Run(), &Result{}
	own := len(in.Sources) > 0
	var points []point
	switch {
	case own && in.Sources[0].Run != nil:
		run = in.Sources[0].Run
	case own:
		var t table
		if err := json.Unmarshal(in.Sources[0].Own, &t); err != nil {
			return nil, fmt.Errorf("decoding a table: %w", err)
		}
		r.title, points = in.Sources[0].Name, t.points()
	case run == nil:
		return nil, fmt.Errorf("%w: give a run or a file with the columns nodes and throughput", model.ErrUsage)
	}
	if run != nil {
		var err error
		if points, err = r.read(run); err != nil {
			return nil, err
		}
		if own { // the platform adds them to answers about runs alone
			r.Doubts.Add(run.Caveats()...)
		}
	}
	if err := p.analyse(r, run, points); err != nil {
		return nil, err
	}
	return &study.Answer{Result: r, Places: r.Places(), Document: r.document}, nil
}
