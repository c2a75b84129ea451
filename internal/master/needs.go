package master

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/internal/workload"
)

// Before the first step the nodes are asked what they lack of what the
// workloads need, where tasks will run and in their environment: programs, and
// variables that the file names. A run that lacks any fails at once, and says on
// which nodes.

const (
	// lookEvery is how often a node that has not answered is asked again, and
	// lookFor how long in all. Who has not answered by then is not refused: the
	// task will tell.
	lookEvery = time.Second
	lookFor   = 5 * time.Second
)

// need is what workloads need, and of which nodes.
type need struct {
	wire.Need
	get   string // as in workload.Tool
	nodes []model.NodeID
}

// needs are those of the workloads of an experiment. In a batch a job that fails
// is a result. Programs that an earlier workload may install are not looked for.
func needs(exp *experiment.Experiment, nodes []model.Node) (all []need) {
	add := func(w experiment.Workload, n need) {
		if wire.Check(n.Need) != nil {
			return // too long to be asked
		}
		i := slices.IndexFunc(all, func(other need) bool { return other.Need == n.Need })
		if i < 0 {
			i, all = len(all), append(all, n)
		}
		for _, node := range nodes {
			if node.Has(w.On) && !slices.Contains(all[i].nodes, node.ID) {
				all[i].nodes = append(all[i].nodes, node.ID)
			}
		}
	}
	installed := false
	for _, w := range exp.Workloads {
		if user, ok := w.Bench.(workload.EnvironUser); ok {
			names, _ := user.UsesEnviron()
			for _, name := range names {
				add(w, need{Need: wire.Need{Variable: name}})
			}
		}
		if user, ok := w.Bench.(workload.ToolUser); ok && !installed {
			for _, t := range user.Tools() {
				add(w, need{Need: wire.Need{Program: t.Name, Path: t.Path}, get: t.Get})
			}
		}
		if i, ok := w.Bench.(workload.Installer); ok {
			installed = installed || i.MayInstall()
		}
	}
	return all
}

// inquiry is an order to look, while it is answered. Master.mu guards it.
type inquiry struct {
	open    map[model.NodeID]bool // have not answered
	missing map[int][]model.NodeID
	done    chan struct{} // closed when all have answered
}

// Missing notes what a node lacks.
func (m *Master) Missing(answer wire.Missing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.inquiries[answer.Inquiry]
	if q == nil || !q.open[answer.Node] {
		return // answered before, or not asked
	}
	delete(q.open, answer.Node)
	for _, i := range answer.Needs {
		q.missing[i] = append(q.missing[i], answer.Node)
	}
	if len(q.open) == 0 {
		close(q.done)
	}
}

// checkNeeds fails if nodes lack what the run needs.
func (x *execution) checkNeeds(ctx context.Context) error {
	if x.exp == nil {
		return nil
	}
	var nodes []model.Node
	for _, id := range x.nodes {
		if n, ok := x.reg.get(id); ok {
			nodes = append(nodes, n.node)
		}
	}
	all := needs(x.exp, nodes)
	all = all[:min(len(all), wire.MaxNeeds)]
	if len(all) == 0 {
		return nil
	}
	missing, err := x.ask(ctx, all)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].nodes = slices.DeleteFunc(all[i].nodes, func(id model.NodeID) bool { return !slices.Contains(missing[i], id) })
	}
	return lack(all, nodes)
}

// ask asks the nodes, and returns for each need by position those that said that
// they lack it.
func (x *execution) ask(ctx context.Context, all []need) (map[int][]model.NodeID, error) {
	o := wire.Order{Kind: wire.OrderLook, Run: x.run.ID, Inquiry: rand.Text()}
	q := &inquiry{open: make(map[model.NodeID]bool), missing: make(map[int][]model.NodeID), done: make(chan struct{})}
	for _, n := range all {
		o.Needs = append(o.Needs, n.Need)
		for _, id := range n.nodes {
			q.open[id] = true
		}
	}
	if len(q.open) == 0 {
		return nil, nil
	}
	x.mu.Lock()
	x.inquiries[o.Inquiry] = q
	x.mu.Unlock()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	timeout := time.After(lookFor)
	for waiting := true; waiting; {
		x.mu.Lock()
		silent := slices.Sorted(maps.Keys(q.open))
		x.mu.Unlock()
		x.order(ctx, o, silent, "asking nodes what they lack")
		select {
		case <-q.done:
			waiting = false
		case <-timeout:
			waiting = false
			x.log.Warn("some nodes did not say whether they lack a program", "run", x.run.ID, "nodes", len(silent))
		case <-ctx.Done():
			waiting = false
		case <-again.C:
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.inquiries, o.Inquiry)
	return q.missing, context.Cause(ctx)
}

// lack is the error that names everything that is missing, and on which of these
// nodes; nil if nothing is. What the same nodes lack is said together.
func lack(all []need, nodes []model.Node) error {
	var said []string
	for i, n := range all {
		if len(n.nodes) == 0 || slices.ContainsFunc(all[:i], n.goesWith) {
			continue
		}
		var what, programs []string
		for _, other := range all[i:] {
			if !other.goesWith(n) {
				continue
			}
			name := other.Program + other.Variable
			if other.Path != "" {
				name += " (on the PATH " + other.Path + ")"
			}
			what, programs = append(what, name), append(programs, other.Program)
		}
		said = append(said, n.say(what, slices.Compact(slices.Sorted(slices.Values(programs))), nodes))
	}
	if len(said) == 0 {
		return nil
	}
	return errors.New(strings.Join(said, "; "))
}

// goesWith reports whether two needs are lacked by the same nodes, and can be
// mended in the same way.
func (n need) goesWith(other need) bool {
	known := func(n need) bool { return n.Program != "" && workload.InstallLine("", n.Program) != "" }
	return slices.Equal(n.nodes, other.nodes) && n.get == other.get && (n.Variable == "") == (other.Variable == "") && known(n) == known(other)
}

// say says that the nodes of a need lack all of these things, and what to do.
func (n need) say(things, programs []string, nodes []model.Node) string {
	is, it := "is", "it"
	if len(things) > 1 {
		is, it = "are", "them"
	}
	where := fmt.Sprintf("all %d nodes", len(nodes))
	if len(n.nodes) < len(nodes) || len(nodes) == 1 {
		where = fmt.Sprintf("%s (%d of %s)", some(n.nodes, ", "), len(n.nodes), num.Count(len(nodes), "node"))
	}
	what := strings.Join(things, ", ")
	switch {
	case n.Variable != "":
		return fmt.Sprintf("%s %s not set in the environment of the agents on %s; set %s where they start", what, is, where, it)
	case n.get != "":
		return fmt.Sprintf("%s %s missing on %s; %s", what, is, where, n.get)
	}
	return fmt.Sprintf("%s %s missing on %s; install %s there%s", what, is, where, it, n.how(programs, nodes))
}

// how are the commands that install programs, by the systems of the nodes that
// lack them; empty where their packages are not known.
func (n need) how(programs []string, nodes []model.Node) string {
	by := make(map[string][]model.NodeID)
	var lines []string
	for _, node := range nodes {
		if !slices.Contains(n.nodes, node.ID) {
			continue
		}
		line := workload.InstallLine(node.Facts.OS, programs...)
		if by[line] == nil {
			lines = append(lines, line)
		}
		by[line] = append(by[line], node.ID)
	}
	switch {
	case lines[0] == "":
		return ""
	case len(lines) == 1:
		return ": " + lines[0]
	}
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%s (%s)", line, some(by[line], ", "))
	}
	return ": " + strings.Join(lines, ", ")
}
