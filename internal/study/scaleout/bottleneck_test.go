package scaleout

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/scalability"
)

// TestBottleneckRules: what is named rests on what grew, on what is busy, and on how much of a
// resource is used. Nodes that others keep busy are not at the limit of their processors.
func TestBottleneckRules(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	put := func(use float64) []Use {
		return []Use{{Resource: model.ResourceObjectPut, Capacity: &Range{Value: 1}, Use: &use, stage: Put}}
	}
	for _, c := range []struct {
		name       string
		efficiency float64
		plausible  []scalability.Kind
		grew       Part
		uses       []Use
		busy       float64
		want       Bottleneck
	}{
		{"busy nodes", .95, nil, "", nil, .9, OwnProcessors},
		{"idle nodes", .95, nil, "", nil, .05, None},
		{"nodes whose use is not known", .95, nil, "", nil, nan, None},
		{"noise", .85, []scalability.Kind{scalability.Capped, scalability.Linear}, Wait, nil, .1, None},
		{"no noise", .85, []scalability.Kind{scalability.Capped}, Wait, nil, .1, Queue},
		{"a store in full use", .5, nil, Put, put(.9), .1, model.ResourceObjectPut},
		{"a store near its limit, and growth", .85, nil, Put, put(.6), .1, None},
		{"a store near its limit, and none", .5, nil, Put, put(.6), .1, model.ResourceObjectPut},
		{"a store with room", .5, nil, Put, put(.4), .1, Unknown},
		{"a store that was not measured", .5, nil, Get, nil, .1, model.ResourceObjectGet},
		{"waiting for jobs", .5, nil, Wait, nil, .1, Queue},
		{"computing on busy nodes", .5, nil, Compute, nil, .9, OwnProcessors},
		{"computing on idle nodes", .5, nil, Compute, nil, .1, Unknown},
	} {
		r := &Result{Sizes: []Size{{Nodes: 1, Rate: 1}, {Nodes: 4, Rate: 4 * c.efficiency}}, Uses: c.uses}
		if c.plausible != nil {
			r.curves = &scalability.Curves{Kind: scalability.Unclear, Plausible: c.plausible}
		}
		if c.grew != "" {
			r.Stages = []Stage{{Stage: c.grew, Smallest: 1, Largest: 2, Share: 1}}
		}
		if got := r.bottleneck(c.busy, nan); got != c.want {
			t.Errorf("%s: bottleneck() = %s, want %s", c.name, got, c.want)
		}
	}
}
