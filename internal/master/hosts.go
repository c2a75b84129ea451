package master

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// addressBook says where the nodes of a run can be reached by each other.
type addressBook map[model.NodeID]model.Host

// addresses looks every node of the run up, as it is now: an agent that came
// back may have another address. Nodes that share an address get slots, in the
// order of their ids, so that all tasks of a run agree on them.
func (x *execution) addresses() addressBook {
	book := make(addressBook, len(x.nodes))
	used := make(map[string]int)
	for _, id := range slices.Sorted(slices.Values(x.nodes)) {
		n, _ := x.m.reg.get(id)
		h := model.Host{Node: id, Address: addressOf(n.node)}
		h.Slot = used[h.Address]
		used[h.Address]++
		book[id] = h
	}
	return book
}

// addressOf is what its owner says, or else the node's first address; empty
// when neither is known.
func addressOf(n model.Node) string {
	if a := n.Labels[model.LabelAddress]; a != "" {
		return a
	}
	if len(n.Facts.Addresses) > 0 {
		return n.Facts.Addresses[0]
	}
	return ""
}

func (b addressBook) host(id model.NodeID) model.Host { return b[id] }

func (b addressBook) hosts(ids []model.NodeID) []model.Host {
	if len(ids) == 0 {
		return nil
	}
	out := make([]model.Host, len(ids))
	for i, id := range ids {
		out[i] = b[id]
	}
	return out
}

// check refuses tasks that need an address that nobody knows.
func (b addressBook) check(tasks []model.Task) error {
	for _, t := range tasks {
		for _, id := range append(slices.Clone(t.Spec.Peers), t.Spec.Clients...) {
			if b[id].Address == "" {
				return fmt.Errorf("%w: node %s has no address at which %s can reach it; start its agent with --label %s=ADDRESS",
					model.ErrUnavailable, id, t.Node, model.LabelAddress)
			}
		}
	}
	return nil
}

// inPlace fills in what is known only now that the fleet is up: the addresses
// of its services, where parameters name them as ${service.NAME}.
func (x *execution) inPlace(spec model.Spec) model.Spec {
	if x.fleet == nil {
		return spec
	}
	var pairs []string
	for name, address := range x.fleet.Services() {
		pairs = append(pairs, model.ServicePlaceholder(name), address)
	}
	if len(pairs) > 0 {
		spec.Params = fillAll(spec.Params, strings.NewReplacer(pairs...))
	}
	return spec
}

// fillAll replaces in every string of an object; the object itself stays as it
// is, for the tasks of a workload share it.
func fillAll(m map[string]any, r *strings.Replacer) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = fill(v, r)
	}
	return out
}

func fill(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case map[string]any:
		return fillAll(v, r)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], r)
		}
		return out
	}
	return v
}
