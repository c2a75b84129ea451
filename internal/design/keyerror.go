package design

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// KeyError is a key of the experiment that is possible by itself, but not with
// the nodes that there are. It is a model.ErrUsage.
type KeyError struct {
	Workload string   // its name
	Path     []string // keys and indices from the root: "workloads", "0", "sink"
	Problem  string   // what is wrong
	Allowed  string   // what is allowed, or what to do
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("workload %s: %s: %s; %s", e.Workload, e.key(), e.Problem, e.Allowed)
}

// key is the innermost key, without what leads to it.
func (e *KeyError) key() string {
	if e.Path[0] == "workloads" {
		return strings.Join(e.Path[2:], ".")
	}
	return e.Path[0]
}

// Unwrap makes the error a model.ErrUsage.
func (e *KeyError) Unwrap() error { return model.ErrUsage }

// maxLabels bounds how many labels a message lists: a fleet may have one for
// each node.
const maxLabels = 20

// labelList writes labels as flags and people do: "group=rack, role=worker".
func labelList(labels map[string]string) string {
	out := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ", ")
}

// labelsOf says which labels the nodes have.
func labelsOf(nodes []model.Node) string {
	seen := map[string]bool{}
	for _, n := range nodes {
		for k, v := range n.Labels {
			seen[k+"="+v] = true
		}
	}
	all := slices.Sorted(maps.Keys(seen))
	if len(all) == 0 {
		return "the nodes have no labels"
	}
	if more := len(all) - maxLabels; more > 0 {
		all = append(all[:maxLabels], fmt.Sprintf("and %d more", more))
	}
	return "the nodes have " + strings.Join(all, ", ")
}

// groupAdvice says how a node comes by a group.
func groupAdvice(n model.Node) string {
	switch n.Labels[model.LabelFleet] {
	case model.FleetLab:
		return "give the lab groups: instead of nodes:"
	case model.FleetLocal:
		return "the nodes of a local fleet have no groups: use a lab with groups:, or another pairing"
	}
	return fmt.Sprintf("give its agent --label %s=NAME", model.LabelGroup)
}
