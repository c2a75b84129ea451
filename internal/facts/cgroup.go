package facts

import (
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/procself"
)

// limits returns what the control groups of this process allow: cores (a
// fraction of time, so not whole) and bytes of memory; 0 where there is no
// limit. Versions 1 and 2 may be mounted together; every group up to the root
// limits its members, so the least counts.
func limits(root tree) (cpu float64, mem int64) {
	cpu, mem = math.Inf(1), math.MaxInt64
	for _, g := range groups(root) {
		if c := cpuLimit(root, g); c > 0 {
			cpu = min(cpu, c)
		}
		if m := memLimit(root, g); m > 0 {
			mem = min(mem, m)
		}
	}
	if math.IsInf(cpu, 1) {
		cpu = 0
	}
	// Version 1 writes "no limit" as the largest multiple of a page.
	if mem >= math.MaxInt64-1<<20 {
		mem = 0
	}
	return cpu, mem
}

// group is one directory of a control group: the process's own or an ancestor.
type group struct {
	dir string // in the tree
	v2  bool
	// cpu and memory say which limits a version 1 hierarchy holds.
	cpu, memory bool
}

// groups lists the control groups that may limit this process.
func groups(root tree) []group {
	paths := procself.Groups(root.text("proc/self/cgroup"))
	var list []group
	for m := range procself.Mounts(root.text("proc/self/mountinfo")) {
		// A tree has no leading slashes.
		dir := strings.TrimPrefix(path.Clean(m.Point), "/")
		g := group{dir: dir, v2: m.Unified(), cpu: m.Controls("cpu"), memory: m.Controls("memory")}
		if !g.v2 && !g.cpu && !g.memory {
			continue
		}
		key := "" // version 2
		if !g.v2 {
			key = "memory"
			if g.cpu {
				key = "cpu"
			}
		}
		list = append(list, g.upwards(procself.Below(m.Root, paths[key]))...)
	}
	return list
}

// upwards returns the group at this path below the mount point, its ancestors,
// and the mount point itself.
func (g group) upwards(rel string) []group {
	list := []group{g}
	mount := g.dir
	for rel = path.Clean("/" + rel); rel != "/"; rel = path.Dir(rel) {
		g.dir = path.Join(mount, rel)
		list = append(list, g)
	}
	return list
}

// cpuLimit returns quota/period in cores, 0 without a limit.
func cpuLimit(root tree, g group) float64 {
	var quota, period string
	switch {
	case g.v2:
		quota, period, _ = strings.Cut(root.text(path.Join(g.dir, "cpu.max")), " ")
	case g.cpu:
		quota = root.text(path.Join(g.dir, "cpu.cfs_quota_us"))
		period = root.text(path.Join(g.dir, "cpu.cfs_period_us"))
	}
	q, err1 := strconv.ParseInt(quota, 10, 64) // "max" and "" are no limit
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// memLimit returns bytes, 0 without a limit.
func memLimit(root tree, g group) int64 {
	file := "memory.max"
	if !g.v2 {
		if !g.memory {
			return 0
		}
		file = "memory.limit_in_bytes"
	}
	n, err := strconv.ParseInt(root.text(path.Join(g.dir, file)), 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return n
}
