package monitor

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/scalebench/scalebench/internal/model"
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
	groups := procself.Groups(procself.ReadText(filepath.Join(root, "proc/self/cgroup")))
	for m := range procself.Mounts(procself.ReadText(filepath.Join(root, "proc/self/mountinfo"))) {
		// existing is a file of this process's group, "" if it is missing.
		existing := func(controller, file string) string {
			name := filepath.Join(root, m.Point, procself.Below(m.Root, groups[controller]), file)
			if _, err := os.Stat(name); err != nil {
				return ""
			}
			return name
		}
		if m.Unified() {
			if existing("", "cgroup.events") != "" { // not the root
				f.stat2 = cmp.Or(f.stat2, existing("", "cpu.stat"))
				f.memory = cmp.Or(f.memory, existing("", "memory.current"))
			}
			continue
		}
		for _, c := range []struct {
			controller, file string
			into             *string
		}{{"cpuacct", "cpuacct.usage", &f.usage1}, {"cpu", "cpu.stat", &f.stat1}, {"memory", "memory.usage_in_bytes", &f.memory}} {
			if m.Controls(c.controller) && existing(c.controller, "release_agent") == "" { // only the root has that
				*c.into = existing(c.controller, c.file)
			}
		}
	}
	if f.usage1 != "" {
		f.stat2 = "" // both would count the same time
	}
	return f
}

// The files of control groups: cpu.stat of version 2 is in µs, what is of version
// 1 in ns, memory in bytes.
var (
	parseStat2 = byKey{
		"usage_usec":     {"cgroup.cpu", 1e6},
		"throttled_usec": {"cgroup.cpu_throttled", 1e6}, // only where the group has the cpu controller
	}.parse
	parseStat1  = byKey{"throttled_time": {"cgroup.cpu_throttled", 1e9}}.parse
	parseUsage1 = firstLine(scaled{"cgroup.cpu", 1e9})
	parseMemory = firstLine(scaled{"cgroup.memory", 1})
)

func firstLine(m scaled) func([]byte, emit) {
	return func(b []byte, out emit) {
		line, _, _ := bytes.Cut(b, []byte{'\n'})
		m.put(line, out)
	}
}

// busyKinds are the kinds of processor time in which this machine worked.
var busyKinds = map[string]bool{
	"cpu.user": true, "cpu.nice": true, "cpu.system": true, "cpu.irq": true, "cpu.softirq": true, "cpu.guest": true,
}

// Others returns the processor time in seconds that this machine spent on
// anything but the task during a recording: other nodes on the same machine,
// other programs, the agent, and interrupts. own is what the task used in the
// same time: what its process and all its descendants used to their end
// (os.ProcessState), less what they had used when the recording began
// ([procself.Process]). Steal is not in it: that is time of other machines.
//
// The result is right to some 10 ms a core, the granularity of /proc/stat, and
// may be that far below 0; ok is false when the machine was not read.
func Others(host []model.HostSeries, own time.Duration) (seconds float64, ok bool) {
	for _, s := range host {
		if n := len(s.Values); busyKinds[s.Metric] && n > 1 {
			seconds += s.Values[n-1] - s.Values[0]
			ok = true
		}
	}
	return seconds - own.Seconds(), ok
}
