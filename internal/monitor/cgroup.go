package monitor

import (
	"os"
	"path"
	"path/filepath"

	"github.com/scalebench/scalebench/internal/procself"
)

// cgroupFiles are the files that tell what this process's own control groups
// used; each is empty where the process is in the root group, which is the
// machine, or the hierarchy is not there.
type cgroupFiles struct {
	// usage1 is cpuacct.usage of version 1, stat1 cpu.stat of version 1,
	// stat2 cpu.stat of version 2.
	usage1, stat1, stat2 string
	memory               string // bytes, in either version
}

// findCgroups reads /proc/self/cgroup and /proc/self/mountinfo. Both versions
// may be mounted; each resource is taken from the hierarchy that controls it,
// and processor time from version 1 where both count it.
func findCgroups(root string) cgroupFiles {
	var f cgroupFiles
	paths := procself.Groups(readText(filepath.Join(root, "proc/self/cgroup")))
	for m := range procself.Mounts(readText(filepath.Join(root, "proc/self/mountinfo"))) {
		if m.Unified() {
			f.addV2(groupDir(root, m, paths[""]))
			continue
		}
		f.addV1(root, m, paths)
	}
	if f.usage1 != "" {
		f.stat2 = "" // both would count the same time
	}
	return f
}

func readText(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(data)
}

// addV2 takes a group that is not the root: only there is cgroup.events.
func (f *cgroupFiles) addV2(dir string) {
	if !exists(filepath.Join(dir, "cgroup.events")) {
		return
	}
	if f.stat2 == "" {
		f.stat2 = existing(dir, "cpu.stat")
	}
	if f.memory == "" {
		f.memory = existing(dir, "memory.current")
	}
}

// addV1 takes a group that is not the root: release_agent is only there.
func (f *cgroupFiles) addV1(root string, m procself.Mount, paths map[string]string) {
	for _, c := range []struct {
		controller, file string
		into             *string
	}{
		{"cpuacct", "cpuacct.usage", &f.usage1},
		{"cpu", "cpu.stat", &f.stat1},
		{"memory", "memory.usage_in_bytes", &f.memory},
	} {
		if !m.Controls(c.controller) {
			continue
		}
		dir := groupDir(root, m, paths[c.controller])
		if !exists(filepath.Join(dir, "release_agent")) {
			*c.into = existing(dir, c.file)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func existing(dir, file string) string {
	name := filepath.Join(dir, file)
	if !exists(name) {
		return ""
	}
	return name
}

// groupDir is where a group is mounted.
func groupDir(root string, m procself.Mount, group string) string {
	return filepath.Join(root, m.Point, path.Clean("/"+procself.Below(m.Root, group)))
}

// parseStat2 reads cpu.stat of version 2, in µs.
func parseStat2(b []byte, out emit) {
	eachPair(b, func(key []byte, us uint64) {
		switch string(key) {
		case "usage_usec":
			out("cgroup.cpu", float64(us)/1e6)
		case "throttled_usec": // only where the group has the cpu controller
			out("cgroup.cpu_throttled", float64(us)/1e6)
		}
	})
}

// parseStat1 reads cpu.stat of version 1, in ns.
func parseStat1(b []byte, out emit) {
	eachPair(b, func(key []byte, ns uint64) {
		if string(key) == "throttled_time" {
			out("cgroup.cpu_throttled", float64(ns)/1e9)
		}
	})
}

// parseUsage1 reads cpuacct.usage, in ns.
func parseUsage1(b []byte, out emit) {
	line, _ := nextLine(b)
	if ns, _, ok := nextUint(line); ok {
		out("cgroup.cpu", float64(ns)/1e9)
	}
}

// parseMemory reads memory.current or memory.usage_in_bytes.
func parseMemory(b []byte, out emit) {
	line, _ := nextLine(b)
	first(line, "cgroup.memory", out)
}
