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

func groupAdvice(n model.Node) string {
	switch n.Labels[model.LabelFleet] {
	case model.FleetLab:
		return "give the lab groups: instead of nodes:"
	case model.FleetLocal:
		return "the nodes of a local fleet have no groups: use a lab with groups:, or another pairing"
	}
	return fmt.Sprintf("give its agent --label %s=NAME", model.LabelGroup)
}
