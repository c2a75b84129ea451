package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// taxonomy lists the resources that have names of their own.
func taxonomy() []string {
	return []string{
		model.ResourceCPU, model.ResourceMemory, model.ResourceDiskRead, model.ResourceDiskWrite,
		model.ResourceNetworkReceive, model.ResourceNetworkSend, model.ResourceObjectPut, model.ResourceObjectGet,
	}
}

// planAmount reads an amount of --demand, --demand-per-job or --capacity. A
// bare number is one where the resource was measured without a unit.
func planAmount(flag, text string, parse func(string) (analysis.Amount, error), known []analysis.Capacity) (analysis.Amount, error) {
	if bare, ok := analysis.ParseBareAmount(text); ok && isUnitless(bare.Resource, known) {
		return bare, nil
	}
	a, err := parse(text)
	if err != nil {
		return a, fmt.Errorf("%s: %w", flag, err)
	}
	return a, checkResource(flag, a.Resource, known)
}

// isUnitless reports a resource that was measured without a unit.
func isUnitless(name string, known []analysis.Capacity) bool {
	return slices.ContainsFunc(known, func(c analysis.Capacity) bool { return c.Is(name) && c.Unit == "" })
}

// checkResource refuses a name that means nothing: neither one of the taxonomy,
// nor WORKLOAD/METRIC, nor something that was measured.
func checkResource(flag, name string, known []analysis.Capacity) error {
	measured := slices.ContainsFunc(known, func(c analysis.Capacity) bool { return c.Is(name) })
	if measured || strings.Contains(name, "/") || slices.Contains(taxonomy(), name) {
		return nil
	}
	names := taxonomy()
	for _, c := range known {
		if c.Resource == "" && c.Workload != "" && !slices.Contains(names, c.Workload) {
			names = append(names, c.Workload)
		}
	}
	hint := ";"
	if s := experiment.Suggest(name, names); s != "" {
		hint = fmt.Sprintf("; did you mean %q?", s)
	}
	return fmt.Errorf("%w: %s: there is no resource %q%s known are %s, and WORKLOAD/METRIC", model.ErrUsage, flag, name, hint, strings.Join(names, ", "))
}

// givenCapacities adds the limits that somebody knows. Each stands in place of
// what was measured of the same resource in the same unit.
func givenCapacities(o planOptions, in *analysis.PlanInput) error {
	var given []analysis.Amount
	for _, text := range o.capacities {
		a, err := planAmount("--capacity", text, analysis.ParseAmount, in.Capacities)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(given, func(b analysis.Amount) bool { return b.Resource == a.Resource && b.Unit == a.Unit }) {
			return fmt.Errorf("%w: --capacity is given twice for %s; give one", model.ErrUsage, a.Resource)
		}
		given = append(given, a)
	}
	for _, a := range given {
		in.Capacities = append(withoutCapacity(in.Capacities, a), analysis.Capacity{
			Resource: a.Resource, Total: a.Value, Unit: a.Unit, Limited: true, Source: "given",
		})
	}
	return nil
}

// withoutCapacity drops the capacities of a resource in a unit.
func withoutCapacity(cs []analysis.Capacity, a analysis.Amount) []analysis.Capacity {
	out := make([]analysis.Capacity, 0, len(cs))
	for _, known := range cs {
		if !known.Is(a.Resource) || known.Unit != a.Unit {
			out = append(out, known)
		}
	}
	return out
}

// givenDemands reads --demand and --demand-per-job; d = r · amount per job.
func givenDemands(o planOptions, in *analysis.PlanInput) error {
	for _, text := range o.demands {
		a, err := planAmount("--demand", text, analysis.ParseAmount, in.Capacities)
		if err != nil {
			return err
		}
		in.Demands = append(in.Demands, analysis.Demand{Resource: a.Resource, Amount: a.Value, Unit: a.Unit, Source: "given"})
	}
	for _, text := range o.perJob {
		a, err := planAmount("--demand-per-job", text, analysis.ParseJobAmount, in.Capacities)
		if err != nil {
			return err
		}
		in.Demands = append(in.Demands, analysis.Demand{
			Resource: a.Resource, Amount: a.Value * in.NodeRate, Unit: a.Unit, Source: "given per job",
		})
	}
	return nil
}

// checkFits is --fail-unless-fits: a model.ErrThreshold names what does not
// fit, a model.ErrInvalid what cannot be answered because a verdict is unknown.
func checkFits(in analysis.PlanInput, r model.PlanResult) error {
	unjudged := analysis.Unjudged(in)
	var bad []string
	for _, x := range r.Resources {
		if x.Answer != model.PlanFits && !slices.Contains(unjudged, x.Resource) {
			bad = append(bad, fmt.Sprintf("%s: %s", x.Resource, x.Answer))
		}
	}
	nodes := fmt.Sprintf("%d nodes", r.Nodes)
	if r.Nodes == 1 {
		nodes = "1 node"
	}
	switch {
	case len(bad) > 0:
		return fmt.Errorf("%w: not every resource fits %s: %s", model.ErrThreshold, nodes, strings.Join(bad, ", "))
	case len(unjudged) > 0:
		return fmt.Errorf("%w: the verdict of %s is unknown, so --fail-unless-fits cannot be answered; give the limit with --capacity if you know it", model.ErrInvalid, strings.Join(unjudged, ", "))
	}
	return nil
}
