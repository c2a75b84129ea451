package design

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

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
	return "the nodes have " + listed(all, 20)
}

// groupAdvice says how a node comes by a group.
func groupAdvice(n model.Node) string {
	switch n.Labels[model.LabelFleet] {
	case model.FleetLab:
		return "give the lab groups: in place of nodes:"
	case model.FleetLocal:
		return "agent processes of a local fleet have none: use a lab with groups:, or another pairing"
	}
	return fmt.Sprintf("give its agent --label %s=NAME", model.LabelGroup)
}
