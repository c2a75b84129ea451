package service

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
)

// What a quota can be.
const (
	minCores = 0.01
	maxCores = 1024
)

// groupPrefix is what the names of the control groups of services begin with.
const groupPrefix = "scalebench-"

// group is a control group of a service, below that of its node; without folders where
// none can be made.
type group struct {
	cgroup.Group
	node cgroup.Group
}

// agentGroup is the group in which the agent is. A machine may have both versions mounted:
// version 1 is taken where it has the controller cpu.
func agentGroup() (g cgroup.Group, err error) {
	v1, v2, err := cgroup.Own("cpu", "cpuacct", "memory")
	switch {
	case err != nil:
		return g, err
	case v1["cpu"] != "":
		return cgroup.Group{V1: v1}, nil
	case len(v2) > 0:
		return cgroup.Group{V2: v2[0].Own}, nil
	}
	return g, errors.New("this node has no control groups")
}

// nodeGroup are the folders of the group in which this process is, if it has any.
func nodeGroup() []string {
	node, _ := agentGroup()
	return node.Dirs()
}

func newGroup(name string) (*group, error) {
	node, err := agentGroup()
	if err != nil {
		return nil, err
	}
	g := below(node, groupPrefix+name)
	for _, dir := range g.Dirs() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			g.remove()
			return nil, err
		}
	}
	return g, nil
}

func below(node cgroup.Group, name string) *group { return &group{node.Below(name), node} }

// control lets groups below that of the node have limits: of memory, too, which some
// kernels do not have, where that is needed.
func (g *group) control(memory bool) error {
	if g.V2 == "" {
		return nil
	}
	err := cgroup.PassOn(g.node.V2, "cpu", "memory")
	if err != nil && !memory {
		err = cgroup.PassOn(g.node.V2, "cpu")
	}
	return err
}

// allows fails where the node does not have so many cores, or so much memory in bytes:
// by its own limits, by those above them, or because the machine has less.
func (g *group) allows(cores float64, memory int64) error {
	has, room := g.node.Allowed()
	has, room = min(has, float64(runtime.NumCPU())), min(room, memoryOfMachine())
	switch {
	case cores > has+1e-9:
		return fmt.Errorf("it is to have %v cores, and its node has %v: give the node more (cpu of its group in a lab), or the service less", cores, has)
	case memory > room:
		return fmt.Errorf("it is to have %s of memory, and its node has %s: give the node more (memory of its group in a lab), or the service less", unit.Size(memory), num.Bytes(room))
	}
	return nil
}

// memoryOfMachine is in bytes.
func memoryOfMachine() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.MaxInt64
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// start starts a command in the group from its first instruction on.
func (g *group) start(cmd *exec.Cmd) error {
	if g.V2 != "" {
		return cgroup.Start(g.Dirs(), cmd)
	}
	return procself.OnThread(func() error { return cgroup.Start(g.Dirs(), cmd) })
}

// awaitExit returns when a child has ended; its id stays taken until Wait.
func awaitExit(pid int) error { return procself.AwaitExit(pid) }

// kill kills what is in the group, and in those below it, until nothing is. With
// version 2 the kernel kills all of it at once (Linux 5.14, cgroup.kill), also what is
// being started; a service's group never has this process in it.
func (g *group) kill(until time.Time) {
	if g.V2 != "" {
		_ = cgroup.Write(g.V2, "cgroup.kill", "1") // without it, one by one
	}
	for time.Now().Before(until) {
		if left, _ := cgroup.Kill(g.Dirs()...); len(left) == 0 {
			return // or only zombies are, which their parent has to wait for
		}
	}
}

// remove removes the group, with the processes in it.
func (g *group) remove() {
	deadline := time.Now().Add(killTime)
	g.kill(deadline)
	for errors.Is(cgroup.Remove(g.Dirs()...), unix.EBUSY) && time.Now().Before(deadline) { // else the next task tries again
		reap()
		<-time.After(5 * time.Millisecond)
	}
}

// sweepGroups removes the groups that dead tasks have left on this node.
func sweepGroups(self owner) {
	node, _ := agentGroup() // without one there is nothing left
	for _, dir := range node.Dirs() {
		entries, _ := os.ReadDir(dir) // what cannot be read has none of ours
		for _, e := range entries {
			name, ours := strings.CutPrefix(e.Name(), groupPrefix)
			if ours && e.IsDir() && self.left(name) {
				below(node, e.Name()).remove()
			}
		}
	}
}
