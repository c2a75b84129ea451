package master

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// recordNodes waits for the nodes, those apart that were given up, stores who
// they are, and how long those took that the run's fleet was asked for. It returns
// those that have not come in time.
func (x *execution) recordNodes(ctx context.Context, requested time.Time) (missing []model.NodeID, err error) {
	ids := slices.DeleteFunc(slices.Clone(x.nodes), func(id model.NodeID) bool { return x.givenUp[id] })
	missing = x.awaitNodes(ctx, ids)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var nodes []model.Node
	for _, id := range ids {
		if slices.Contains(missing, id) {
			continue
		}
		n, _ := x.reg.get(id)
		if x.fleet != nil && n.joined.After(requested) {
			took := n.joined.Sub(requested) - x.fleet.Beside()
			x.startups[id] = append(x.startups[id], model.Startup{Requested: requested.UTC(), Took: took})
		}
		n.node.Startups = x.startups[id]
		nodes = append(nodes, n.node)
		x.noteChange(n.node)
	}
	return missing, x.persist(ctx, "recording the nodes", func() error {
		return x.store.PutRunNodes(ctx, x.run.ID, nodes)
	})
}

// noteChange records that a node which took part before is another host now:
// what it measured then and what it measures from now on are two things.
func (x *execution) noteChange(n model.Node) {
	old, ok := x.before[n.ID]
	x.before[n.ID] = n
	if !ok || old.Facts.CPUModel == "" {
		return // it has not measured anything yet
	}
	var changes []string
	for _, c := range []struct{ what, old, now string }{
		{"CPU model", old.Facts.CPUModel, n.Facts.CPUModel},
		{"cores", fmt.Sprint(old.Facts.Cores), fmt.Sprint(n.Facts.Cores)},
		{"memory", fmt.Sprint(old.Facts.Memory), fmt.Sprint(n.Facts.Memory)},
		{"kernel", old.Facts.Kernel, n.Facts.Kernel},
		{"microcode", old.Facts.Microcode, n.Facts.Microcode},
		{"key", old.PublicKey, n.PublicKey},
	} {
		if c.old != c.now {
			changes = append(changes, fmt.Sprintf("%s was %q and is now %q", c.what, c.old, c.now))
		}
	}
	if len(changes) == 0 {
		return
	}
	x.ev.emit(model.Event{Run: x.run.ID, Node: n.ID, Kind: model.EventNodeChanged, Severity: model.Warning,
		Text: fmt.Sprintf("the host of node %s has changed: %s", n.ID, strings.Join(changes, "; "))})
}

// nodesReady waits for the nodes of a step. It does not wait again for a node
// that once did not come back in time, so that a run with a dead node ends in
// reasonable time.
func (x *execution) nodesReady(ctx context.Context, tasks []model.Task) (problem string, ok bool) {
	var wait, dead []model.NodeID
	now, _ := x.reg.missing(nodesOf(tasks))
	for _, id := range now {
		if x.givenUp[id] {
			dead = append(dead, id)
		} else {
			wait = append(wait, id)
		}
	}
	if len(dead) == 0 && len(wait) > 0 {
		dead = x.awaitNodes(ctx, wait)
		for _, id := range dead {
			x.givenUp[id] = true
		}
	}
	if len(dead) > 0 && ctx.Err() == nil {
		return nodeList(dead) + " did not come back" + x.ends.why(dead), false
	}
	return "", true
}

// awaitNodes waits until these nodes are up, at most timeouts.node and only while
// one of those that are missing can still come. It returns those that are
// missing.
func (x *execution) awaitNodes(ctx context.Context, ids []model.NodeID) []model.NodeID {
	timeout := time.After(x.timeouts.node)
	for {
		missing, changed := x.reg.missing(ids)
		if len(missing) == 0 {
			return nil
		}
		if x.ends.final(missing) {
			return missing
		}
		select {
		case <-ctx.Done():
			return missing
		case <-timeout:
			left := time.Until(x.extended(time.Now()))
			if left <= 0 {
				return missing
			}
			timeout = time.After(left)
		case <-changed:
		}
	}
}

func nodeList(ids []model.NodeID) string {
	if len(ids) == 1 {
		return "node " + string(ids[0])
	}
	return "nodes " + some(ids, ", ")
}

// Before a step begins no node of the run, and no other one on its hosts, may
// still be at work on something else: what goes on beside a measurement is
// measured with it. Left-over work comes from a former life of the server, from
// a run that is over, or from a task that was called off and did not end at
// once. What another run has leased is at its work.

// quietPoll is how often the nodes' own word is looked at; heartbeats bring it.
const quietPoll = 100 * time.Millisecond

// awaitIdle ends left-over work and waits until every such node that is up says that
// it has none. If that takes longer than timeouts.node the run cannot go on now;
// it can be resumed.
func (x *execution) awaitIdle(ctx context.Context) error {
	deadline := time.Now().Add(x.timeouts.node)
	told := make(map[wire.Attempt]bool)
	for {
		busy, lost := x.reg.atWork(x.hasEnded)
		harmless := func(node model.NodeID, _ wire.Attempt) bool { return !x.leases.disturbs(x.claim, node) }
		maps.DeleteFunc(busy, harmless)
		maps.DeleteFunc(lost, harmless)
		if len(busy) == 0 {
			// Nodes on its hosts that were lost while they were at work are recorded, once
			// a run: a task whose agent is stopped or cut off may go on.
			for _, node := range slices.Sorted(maps.Keys(lost)) {
				if at := lost[node]; !x.unreachable[at] && x.leases.beside(x.claim, node) {
					x.unreachable[at] = true
					x.ev.emit(model.Event{Run: x.run.ID, Node: node, Kind: model.EventUnreachable, Severity: model.Warning,
						Text: fmt.Sprintf("node %s is on a host of this run and was lost while it worked on %s: "+
							"that work may go on beside this run's", node, at.Task)})
				}
			}
			return nil
		}
		for node, at := range busy {
			if !told[at] {
				told[at] = true
				x.endLeftover(ctx, node, at)
			}
		}
		if time.Now().After(x.extended(deadline)) {
			var all []string
			for node, at := range busy {
				all = append(all, fmt.Sprintf("node %s is still working on %s", node, at))
			}
			return model.Unavailablef("%s", strings.Join(all, "; "))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(quietPoll):
		}
	}
}

// endLeftover orders a node to end work that no run waits for.
func (x *execution) endLeftover(ctx context.Context, node model.NodeID, at wire.Attempt) {
	step := string(at.Task)
	if i := strings.LastIndexByte(step, '/'); i > 0 {
		step = step[:i] // a task's id is its step's, and its position
	}
	x.order(ctx, wire.Order{Kind: wire.OrderCancel, Run: x.run.ID, Step: model.StepID(step), Attempt: at.Attempt,
		Reason: "its result is no longer needed"}, []model.NodeID{node}, "ending left-over work")
	x.log.Info("a node is still working on another task; it was told to stop", "node", node, "attempt", at)
}

// endedMemory bounds how many ended attempts are remembered. Only a node's
// last one can matter, for at most a heartbeat.
const endedMemory = 10000

// noteEnded remembers that a node has delivered an attempt: its next heartbeats
// may still name it.
func (m *Master) noteEnded(r model.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ended) >= endedMemory {
		clear(m.ended)
	}
	m.ended[wire.Attempt{Task: r.Task, Attempt: r.Attempt}] = true
}

func (m *Master) hasEnded(at wire.Attempt) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[at]
}

// addressBook says where the nodes of a run can be reached by each other.
type addressBook map[model.NodeID]model.Host

// addresses looks every node of the run up, as it is now: an agent that came
// back may have another address. Nodes that share an address get slots, in the
// order of their ids, so that all tasks of a run agree on them. links are those that
// the fleet sets.
func (x *execution) addresses(links map[model.NodeID]model.Link) addressBook {
	book := make(addressBook, len(x.nodes))
	used := make(map[string]int)
	for _, id := range slices.Sorted(slices.Values(x.nodes)) {
		n, _ := x.reg.get(id)
		h := model.Host{Node: id, Address: addressOf(n.node), Link: links[id]}
		h.Slot = used[h.Address]
		used[h.Address]++
		book[id] = h
	}
	return book
}

// addressOf is what its owner says, or else the node's first address; empty
// when neither is known.
func addressOf(n model.Node) string {
	found := append(slices.Clone(n.Facts.Addresses), "")[0]
	if found == "" && n.Labels[model.LabelFleet] == model.FleetLocal {
		found = "127.0.0.1" // of a machine without a network
	}
	return cmp.Or(n.Labels[model.LabelAddress], found)
}

func (b addressBook) hosts(ids []model.NodeID) (out []model.Host) {
	for _, id := range ids {
		out = append(out, b[id])
	}
	return out
}

// addressForm is what an address may be: one of IP, or the name of a host. Addresses
// come from the nodes, and stand in commands of other nodes, which the server signs.
var addressForm = regexp.MustCompile(`^[A-Za-z0-9:]([A-Za-z0-9.:_-]{0,252}(%[A-Za-z0-9._-]{1,64})?)?$`)

// checkAddresses fails where one of the steps to come needs an address that is unknown:
// before anything is measured, and not hours later.
func (x *execution) checkAddresses() error {
	book := x.addresses(nil)
	for _, s := range x.steps {
		if s.State == model.StepComplete {
			continue
		}
		if err := book.check(s, s.Tasks); err != nil {
			return err
		}
	}
	return nil
}

// checkAddress refuses an address that others cannot be told; empty: there is none.
func checkAddress(node model.NodeID, address string) error {
	if address == "" || addressForm.MatchString(address) {
		return nil
	}
	return model.Unavailablef("node %s says that its address is %.80q, which is neither an IP address nor the name of a "+
		"host; start its agent with --label %s=ADDRESS", node, address, model.LabelAddress)
}

// check refuses tasks that need an address which is unknown, or none.
func (b addressBook) check(step model.Step, tasks []model.Task) error {
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if err := checkAddress(id, b[id].Address); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(step.Services)) {
		for _, id := range step.Services[name].Nodes {
			if b[id].Address == "" {
				return model.Unavailablef("node %s, which runs the service %s, has no address at which others can reach it; start "+
					"its agent with --label %s=ADDRESS", id, name, model.LabelAddress)
			}
		}
	}
	for _, t := range tasks {
		for _, id := range append(slices.Clone(t.Spec.Peers), t.Spec.Clients...) {
			if b[id].Address == "" {
				return model.Unavailablef("node %s has no address at which %s can reach it; start its agent with --label "+
					"%s=ADDRESS", id, t.Node, model.LabelAddress)
			}
		}
	}
	return nil
}

// inPlace fills in what is known only now that the fleet is up: the addresses
// of its services and of those of the step, where parameters name them as
// ${service.NAME}.
func (x *execution) inPlace(spec model.Spec, step model.Step, book addressBook) model.Spec {
	var pairs []string
	if x.fleet != nil {
		for name, address := range x.fleet.Services() {
			pairs = append(pairs, model.Addressed(name, []string{address})...)
		}
	}
	for name, s := range step.Services {
		var addresses []string
		for _, h := range book.hosts(s.Nodes) {
			addresses = append(addresses, h.Address)
		}
		pairs = append(pairs, model.Addressed(name, addresses)...)
	}
	if len(pairs) == 0 {
		return spec
	}
	r := strings.NewReplacer(pairs...)
	spec.Params = fill(spec.Params, r).(map[string]any)
	spec.Await = slices.Clone(spec.Await)
	for i := range spec.Await {
		c := &spec.Await[i]
		c.Address, c.HTTP, c.Command = r.Replace(c.Address), r.Replace(c.HTTP), r.Replace(c.Command)
	}
	return spec
}

// fill replaces in every string of a value; the value itself stays as it is,
// for the tasks of a workload share it.
func fill(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = fill(v[k], r)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], r)
		}
		return out
	}
	return v
}
