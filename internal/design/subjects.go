package design

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// subject is what is measured as one: a node, or a pair of nodes.
type subject struct {
	name  string
	nodes []model.NodeID // sorted
	links []link         // none for a node by itself
}

// link is a connection that a subject measures: client connects to server.
type link struct{ client, server model.NodeID }

// subjectsOf divides the fleet into what a workload measures. It fails when the
// nodes do not suit the pairing; the path begins in the workload.
func subjectsOf(bench workload.Workload, nodes []model.Node) ([]subject, *model.InputError) {
	paired, ok := bench.(workload.Paired)
	if !ok {
		return single(nodes), nil
	}
	p := paired.Pairing()
	switch p.Kind {
	case workload.Pairs:
		return neighbours(nodes, p.Both)
	case workload.Ring:
		return ring(nodes)
	case workload.AllToOne:
		return allToOne(nodes, p.Sink)
	case workload.AcrossGroups:
		return acrossGroups(nodes, p.Both)
	case workload.WithinGroups:
		return withinGroups(nodes, p.Both)
	case workload.Together:
		return together(nodes), nil
	}
	return nil, pairingError(fmt.Sprintf("unknown pairing %q", p.Kind), "use pairs, ring, all_to_one, across_groups or within_groups")
}

func pairingError(problem, allowed string) *model.InputError {
	return &model.InputError{Path: "pairing", Problem: problem, Allowed: allowed}
}

func tooFew(pairing string) *model.InputError {
	return pairingError(pairing+" needs at least 2 nodes, but there is 1", "add nodes to the fleet, or take on: away")
}

func sinkError(problem, allowed string) *model.InputError {
	return &model.InputError{Path: "sink", Problem: problem, Allowed: allowed}
}

func single(nodes []model.Node) []subject {
	out := make([]subject, len(nodes))
	for i, n := range nodes {
		out[i] = subject{name: string(n.ID), nodes: []model.NodeID{n.ID}}
	}
	return out
}

// pair connects two nodes; with both, each is a client of the other.
func pair(a, b model.NodeID, both bool) subject {
	s := subject{name: fmt.Sprintf("%s>%s", a, b), nodes: []model.NodeID{a, b}, links: []link{{a, b}}}
	if both {
		s.name = fmt.Sprintf("%s+%s", a, b)
		s.links = append(s.links, link{b, a})
	}
	slices.Sort(s.nodes)
	return s
}

// neighbours pairs the first node with the second, the third with the fourth.
func neighbours(nodes []model.Node, both bool) ([]subject, *model.InputError) {
	if len(nodes)%2 != 0 {
		return nil, pairingError(fmt.Sprintf("pairs needs an even number of nodes, but there are %d", len(nodes)), "add or remove one, or use pairing: ring")
	}
	var out []subject
	for i := 0; i < len(nodes); i += 2 {
		out = append(out, pair(nodes[i].ID, nodes[i+1].ID, both))
	}
	return out, nil
}

func ring(nodes []model.Node) ([]subject, *model.InputError) {
	if len(nodes) < 2 {
		return nil, tooFew("ring")
	}
	var out []subject
	for i, n := range nodes {
		out = append(out, pair(n.ID, nodes[(i+1)%len(nodes)].ID, false))
	}
	return out, nil
}

// allToOne makes every other node a client of the sink.
func allToOne(nodes []model.Node, sink string) ([]subject, *model.InputError) {
	if len(nodes) < 2 {
		return nil, tooFew("all_to_one")
	}
	one, err := sinkOf(nodes, sink)
	if err != nil {
		return nil, err
	}
	var out []subject
	for _, n := range nodes {
		if n.ID != one {
			out = append(out, pair(n.ID, one, false))
		}
	}
	return out, nil
}

// sinkOf finds the node that all connect to: by id, by a group of one node, or
// the first.
func sinkOf(nodes []model.Node, sink string) (model.NodeID, *model.InputError) {
	if sink == "" {
		return nodes[0].ID, nil
	}
	var group []model.NodeID
	for _, n := range nodes {
		if string(n.ID) == sink {
			return n.ID, nil
		}
		if n.Labels[model.LabelGroup] == sink {
			group = append(group, n.ID)
		}
	}
	switch len(group) {
	case 1:
		return group[0], nil
	case 0:
		return "", sinkError(fmt.Sprintf("no node or group is named %q", sink), "the nodes are "+listed(model.NodeIDs(nodes), 20))
	}
	return "", sinkError(fmt.Sprintf("group %q has %d nodes, but the sink must be one node", sink, len(group)), "name one of "+listed(group, 20))
}

// acrossGroups pairs the nodes of the first group with those of the second,
// of the third with the fourth, so that every pair's traffic leaves its group.
func acrossGroups(nodes []model.Node, both bool) ([]subject, *model.InputError) {
	groups, err := groupsOf("across_groups", nodes)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(groups))
	if len(names)%2 != 0 {
		return nil, pairingError(fmt.Sprintf("across_groups needs an even number of groups, but there are %d (%s)", len(names), strings.Join(names, ", ")), "add or remove one, or choose the nodes with on:")
	}
	var out []subject
	for i := 0; i < len(names); i += 2 {
		a, b := groups[names[i]], groups[names[i+1]]
		if len(a) != len(b) {
			return nil, pairingError(fmt.Sprintf("across_groups needs groups of equal size, but %s has %d nodes and %s has %d", names[i], len(a), names[i+1], len(b)), "add or remove nodes")
		}
		for j := range a {
			out = append(out, pair(a[j], b[j], both))
		}
	}
	return out, nil
}

// withinGroups pairs neighbours of each group, so that no pair's traffic leaves
// its group.
func withinGroups(nodes []model.Node, both bool) ([]subject, *model.InputError) {
	groups, err := groupsOf("within_groups", nodes)
	if err != nil {
		return nil, err
	}
	var out []subject
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		if len(g)%2 != 0 {
			return nil, pairingError(fmt.Sprintf("within_groups needs an even number of nodes in each group, but %s has %d", name, len(g)), "add or remove one, or choose the nodes with on:")
		}
		for i := 0; i < len(g); i += 2 {
			out = append(out, pair(g[i], g[i+1], both))
		}
	}
	return out, nil
}

// together makes all nodes one subject, with the first as the client of the others.
func together(nodes []model.Node) []subject {
	if len(nodes) < 2 {
		return single(nodes)
	}
	first := nodes[0].ID
	s := subject{name: fmt.Sprintf("%s and %d more", first, len(nodes)-1), nodes: model.NodeIDs(nodes)}
	for _, n := range nodes[1:] {
		s.links = append(s.links, link{first, n.ID})
	}
	slices.Sort(s.nodes)
	return []subject{s}
}

// groupsOf are the nodes by their group, which each must have.
func groupsOf(pairing string, nodes []model.Node) (map[string][]model.NodeID, *model.InputError) {
	groups := make(map[string][]model.NodeID)
	for _, n := range nodes {
		name := n.Labels[model.LabelGroup]
		if name == "" {
			return nil, pairingError(fmt.Sprintf("%s needs a group for each node, but %s has none", pairing, n.ID), groupAdvice(n))
		}
		groups[name] = append(groups[name], n.ID)
	}
	return groups, nil
}

// tasks returns the tasks of a step in which these subjects are measured at
// once: one for each node, which may be the client in one subject and serve
// in another. Nodes are in order.
func tasks(step model.StepID, active []subject, spec model.Spec) []model.Task {
	seats := make(map[model.NodeID]*model.Spec)
	at := func(n model.NodeID) *model.Spec {
		if seats[n] == nil {
			s := spec
			s.Role = model.RoleServe
			seats[n] = &s
		}
		return seats[n]
	}
	for _, sub := range active {
		if len(sub.links) == 0 {
			at(sub.nodes[0]).Role = model.RoleMeasure
		}
		for _, l := range sub.links {
			client, server := at(l.client), at(l.server)
			client.Role, client.Subject = model.RoleMeasure, sub.name
			client.Peers = append(client.Peers, l.server)
			server.Clients = append(server.Clients, l.client)
		}
	}
	var out []model.Task
	for i, n := range slices.Sorted(maps.Keys(seats)) {
		out = append(out, newTask(step, i, n, *seats[n]))
	}
	return out
}
