package tiers

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/kernel"
)

// openHost opens what there is to read. What cannot be opened is a failure.
func openHost(cfg Config, d *doubts) *host {
	h := &host{doubts: d}
	h.openProcesses(cfg)
	h.openNetwork(cfg)
	return h
}

func (h *host) openProcesses(cfg Config) {
	all := processors(cfg.PID)
	t := &threads{bound: newBound("threads", cfg.Step)}
	switch {
	case len(cfg.Group) > 0:
		g, err := openGroup(cfg.Group, all)
		h.add("control group", g, err)
		m, err := cgroup.OpenThreads(cfg.Group)
		if err != nil {
			h.doubts.failed("threads", err)
			return
		}
		t.list = m.List
	case cfg.PID > 0:
		tree := &tree{root: cfg.PID, processors: all}
		if len(cfg.Above) > 0 {
			g, err := openGroup(cfg.Above, all)
			switch {
			case err == nil:
				g.limitsOnly, tree.above = true, g
			case !errors.Is(err, cgroup.ErrTop):
				tree.unknown = true
				h.doubts.failed("limits of the node", err)
			}
		}
		h.add("processes", tree, nil)
		t.list = tree.list
	default:
		h.doubts.failed("processes", fmt.Errorf("service %s has neither control group nor process", cfg.Service))
		return
	}
	h.add("threads", t, t.open())
	h.bounds = append(h.bounds, t.bound)
}

// processors is how many a process may use, and where that is not known, how many
// this one may.
func processors(pid int) float64 {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return float64(runtime.NumCPU())
	}
	return float64(set.Count())
}

func (h *host) openNetwork(cfg Config) {
	if err := sameNamespace(cfg.PID); err != nil {
		h.doubts.failed("network", err)
		return
	}
	if len(cfg.Ports) > 0 {
		s := newSockets(cfg)
		h.add("connections", s, s.open())
		h.bounds = append(h.bounds, s.bound)
	}
	buf := kernel.NewBuffer()
	listeners, err := kernel.Open("/proc/self/net/netstat", buf, parseListeners)
	h.add("listeners", listeners, err)
	interfaces, err := kernel.Open("/proc/self/net/dev", buf, newInterfaces(cfg.Link, cfg.LinkIn))
	h.add("interfaces", interfaces, err)
}

// sameNamespace says what is wrong if a process is in another network namespace:
// what is counted in this one is not its network.
func sameNamespace(pid int) error {
	if pid == 0 {
		return nil
	}
	theirs, err1 := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/net")
	own, err2 := os.Readlink("/proc/self/ns/net")
	if err1 == nil && err2 == nil && theirs != own {
		return fmt.Errorf("process %d is in another network namespace: watch it from there", pid)
	}
	return cmp.Or(err1, err2)
}

func parseListeners(b []byte, out kernel.Emit) {
	kernel.Columns(b, "TcpExt:", func(name []byte, n uint64) {
		switch string(name) {
		case "ListenOverflows":
			out("listen_overflows", float64(n))
		case "ListenDrops":
			out("listen_drops", float64(n))
		}
	})
}

func newInterfaces(link, in float64) func([]byte, kernel.Emit) {
	network := kernel.NewNetwork(kernel.Links)
	return func(b []byte, out kernel.Emit) {
		network.Parse(b, func(metric string, v float64) {
			switch metric {
			case "net.tx_bytes":
				out("tx_bytes", v)
			case "net.rx_bytes":
				out("rx_bytes", v)
			}
		})
		if link > 0 {
			out("link", link)
		}
		if in > 0 {
			out("link_in", in)
		}
	}
}
