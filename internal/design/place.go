package design

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// hosts are nodes that some services of a step share.
type hosts struct {
	tiers []*tier
	want  int
	on    map[string]string
	own   bool // no other services are there, if other nodes can have them
	nodes []model.NodeID
}

// place chooses the nodes of the services of a step: of those that match, the first;
// of services that have hosts of their own, such that all of them have.
func place(tiers []tier, nodes []model.Node) error {
	var all []*hosts
	for i := range tiers {
		t := &tiers[i]
		at := slices.IndexFunc(all, func(h *hosts) bool { return h.own && h.tiers[0].hosts == t.hosts })
		if t.hosts == "" || at < 0 {
			at, all = len(all), append(all, &hosts{own: t.hosts != "", on: make(map[string]string)})
		}
		if err := all[at].add(t); err != nil {
			return err
		}
	}
	for _, h := range all {
		if err := h.enough(nodes); err != nil {
			return err
		}
	}
	if err := assign(all, nodes); err != nil {
		return err
	}
	for _, h := range all {
		for _, t := range h.tiers {
			t.nodes = h.nodes[:t.want:t.want]
			t.level = model.ServiceLevel{Nodes: t.nodes, On: t.on, CPU: t.CPU(), Memory: t.Memory().Bytes(), Sizes: t.SizesNow(), Port: t.Port}
		}
	}
	return nil
}

// add adds a service, which needs nodes with its labels and those of the others.
func (h *hosts) add(t *tier) error {
	for _, key := range slices.Sorted(maps.Keys(t.on)) {
		if other, ok := h.on[key]; ok && other != t.on[key] {
			return serviceError(t.Name, "on", fmt.Sprintf("it is to share hosts with %s, and no node has both %s=%s and %s=%s", h.names(), key, other, key, t.on[key]),
				"give services that share hosts the same labels")
		}
	}
	maps.Copy(h.on, t.on)
	h.tiers, h.want = append(h.tiers, t), max(h.want, t.want)
	return nil
}

func (h *hosts) names() string {
	var out []string
	for _, t := range h.tiers {
		out = append(out, t.Name)
	}
	return strings.Join(out, " and ")
}

// enough refuses where fewer nodes match than are wanted.
func (h *hosts) enough(nodes []model.Node) error {
	found := 0
	for _, n := range nodes {
		if n.Has(h.on) {
			found++
		}
	}
	t := slices.MaxFunc(h.tiers, func(a, b *tier) int { return a.want - b.want })
	switch {
	case found == 0:
		return serviceError(t.Name, "on", "no node has "+labelList(h.on), labelsOf(nodes))
	case found < h.want:
		return serviceError(t.Name, t.counts(), fmt.Sprintf("%d instances are asked for, and %d nodes have %s", h.want, found, labelList(h.on)), "add nodes, or ask for fewer")
	}
	return nil
}

// counts is the key that says how many there are.
func (t *tier) counts() string {
	if t.Count == 0 {
		return "on"
	}
	return "count"
}

// assign gives each its nodes. Those of their own are a matching (H. W. Kuhn, Naval
// Research Logistics Quarterly 2, 1955): one that may be on many nodes leaves those to
// others that may only be there.
func assign(all []*hosts, nodes []model.Node) error {
	owner := make([]*hosts, len(nodes))
	var seen []bool
	var find func(h *hosts) bool
	find = func(h *hosts) bool {
		for _, taken := range []bool{false, true} { // what is free first
			for i, n := range nodes {
				if seen[i] || owner[i] == h || !n.Has(h.on) || taken != (owner[i] != nil) {
					continue
				}
				seen[i] = true
				if !taken || find(owner[i]) {
					owner[i] = h
					return true
				}
			}
		}
		return false
	}
	for _, h := range all {
		for range h.want {
			if seen = make([]bool, len(nodes)); h.own && !find(h) {
				return short(h, all, owner, nodes)
			}
		}
	}
	for _, owned := range []bool{false, true} { // others go where they have no company first
		for i, n := range nodes {
			for _, h := range all {
				if owner[i] == h && owned || !h.own && owned == (owner[i] != nil) && len(h.nodes) < h.want && n.Has(h.on) {
					h.nodes = append(h.nodes, n.ID)
				}
			}
		}
	}
	return nil
}

// company says which services are on hosts that others have for themselves, for want
// of other nodes: what they take is missing there.
func company(tiers []tier) (out []string) {
	for _, t := range tiers {
		for _, owner := range tiers {
			shared := slices.IndexFunc(t.nodes, func(id model.NodeID) bool { return slices.Contains(owner.nodes, id) })
			if t.hosts == "" && owner.hosts != "" && shared >= 0 {
				out = append(out, fmt.Sprintf("%s is on %s, a host of %s, for no other node has %s: what it takes there is missing; add a node, or give it other labels", t.Name, t.nodes[shared], owner.Name, labelList(t.on)))
				break
			}
		}
	}
	return out
}

// short says which services together want more nodes of their own than there are for
// them.
func short(h *hosts, all []*hosts, owner []*hosts, nodes []model.Node) error {
	rivals := map[*hosts]bool{h: true}
	for range all { // whoever has a node that one of them could have
		for i, n := range nodes {
			if owner[i] != nil && slices.ContainsFunc(all, func(x *hosts) bool { return rivals[x] && n.Has(x.on) }) {
				rivals[owner[i]] = true
			}
		}
	}
	var wants, labels []string
	want, there := 0, 0
	for _, x := range all {
		if rivals[x] {
			wants, want = append(wants, fmt.Sprintf("%s %d", x.names(), x.want)), want+x.want
			if text := labelList(x.on); !slices.Contains(labels, text) {
				labels = append(labels, text)
			}
		}
	}
	for _, n := range nodes {
		if slices.ContainsFunc(all, func(x *hosts) bool { return rivals[x] && n.Has(x.on) }) {
			there++
		}
	}
	return serviceError(h.tiers[0].Name, h.tiers[0].counts(), fmt.Sprintf("%d hosts of their own are asked for (%s), of %s with %s", want, strings.Join(wants, ", "), num.Count(there, "node"), strings.Join(labels, " or ")),
		"add nodes, ask for fewer, or let services share hosts")
}
