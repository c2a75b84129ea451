package monitor

import (
	"os"
	"path"
	"path/filepath"
	"strings"
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
	paths := groupPaths(readText(filepath.Join(root, "proc/self/cgroup")))
	for line := range strings.SplitSeq(readText(filepath.Join(root, "proc/self/mountinfo")), "\n") {
		m, ok := parseMount(line)
		if !ok {
			continue
		}
		if m.v2 {
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
func (f *cgroupFiles) addV1(root string, m mount, paths map[string]string) {
	for _, c := range []struct {
		controller, file string
		into             *string
	}{
		{"cpuacct", "cpuacct.usage", &f.usage1},
		{"cpu", "cpu.stat", &f.stat1},
		{"memory", "memory.usage_in_bytes", &f.memory},
	} {
		if !m.has(c.controller) {
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

// groupDir is where a group is mounted. In a container the mounted part of
// the hierarchy is often the group itself.
func groupDir(root string, m mount, group string) string {
	rel := group
	if m.root != "/" {
		var ok bool
		if rel, ok = strings.CutPrefix(group, m.root); !ok || (rel != "" && rel[0] != '/') {
			rel = ""
		}
	}
	return filepath.Join(root, m.point, path.Clean("/"+rel))
}

// groupPaths reads /proc/self/cgroup: lines of "id:controllers:path". The key
// is the controller, empty for version 2.
func groupPaths(text string) map[string]string {
	paths := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	return paths
}

// mount is a line of /proc/self/mountinfo that mounts control groups.
type mount struct {
	root    string // which part of the hierarchy is mounted
	point   string // where
	v2      bool
	options string // of the hierarchy: its controllers
}

func (m mount) has(controller string) bool {
	return strings.Contains(","+m.options+",", ","+controller+",")
}

// parseMount reads "id parent major:minor root point options tags… - type
// source superoptions" (proc(5)).
func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	front, back := strings.Fields(before), strings.Fields(after)
	if !ok || len(front) < 6 || len(back) < 3 {
		return mount{}, false
	}
	m := mount{root: front[3], point: front[4], v2: back[0] == "cgroup2", options: back[2]}
	return m, m.v2 || back[0] == "cgroup"
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
