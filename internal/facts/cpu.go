package facts

import (
	"fmt"
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/procself"
)

type cpuInfo struct {
	models    []string // distinct, in the order of the processors
	microcode []string // distinct
	// flags says that the processor lists its features as x86 does; without
	// it, a missing hypervisor flag means nothing.
	flags      bool
	hypervisor bool // x86: the hypervisor bit of CPUID
}

// parseCPUInfo reads the form of x86 and of arm64: blocks of "key : value",
// one a processor.
func parseCPUInfo(text string) cpuInfo {
	var info cpuInfo
	for block := range strings.SplitSeq(text, "\n\n") {
		cpu := map[string]string{}
		for line := range strings.SplitSeq(block, "\n") {
			if key, value, ok := strings.Cut(line, ":"); ok {
				cpu[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
		name := cpu["model name"]
		if name == "" {
			name = armModel(cpu)
		}
		info.models = appendNew(info.models, strings.Join(strings.Fields(name), " "))
		info.microcode = appendNew(info.microcode, cpu["microcode"])
		if flags, ok := cpu["flags"]; ok {
			info.flags = true
			info.hypervisor = info.hypervisor || slices.Contains(strings.Fields(flags), "hypervisor")
		}
	}
	return info
}

// appendNew appends s unless it is empty or there already.
func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// microcode returns the revision, from cpuinfo or, where a hypervisor hides it
// there, from sysfs.
func microcode(root tree, cpu cpuInfo) string {
	if len(cpu.microcode) > 0 {
		return strings.Join(cpu.microcode, ", ")
	}
	return root.text("sys/devices/system/cpu/cpu0/microcode/version")
}

// cores counts the processors that this process may use and that are online.
// The kernel lists every possible processor as allowed, so both lists are
// needed; where they are missing, the runtime knows.
func cores(root tree) int {
	allowed := parseCPUList(root.line("proc/self/status", "Cpus_allowed_list:"))
	online := parseCPUList(root.text("sys/devices/system/cpu/online"))
	n := 0
	for cpu := range allowed {
		if online[cpu] {
			n++
		}
	}
	if n == 0 {
		return runtime.NumCPU()
	}
	return n
}

// maxCPU bounds a processor's number, so that a broken list cannot fill the
// memory; Linux supports 8192.
const maxCPU = 1 << 16

// parseCPUList reads "0-3,8,10-11". A list that is not one is empty.
func parseCPUList(text string) map[int]bool {
	set := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 0 || to >= maxCPU {
			return nil
		}
		for cpu := from; cpu <= to; cpu++ {
			set[cpu] = true
		}
	}
	return set
}

// limits returns what the control groups of this process allow: cores (a
// fraction of time, so not whole) and bytes of memory; 0 means no limit.
// Versions 1 and 2 may be mounted together; every group up to the root limits
// its members, so the lowest limit counts.
func limits(root tree) (cpu float64, mem int64) {
	cpu, mem = math.Inf(1), math.MaxInt64
	paths := procself.Groups(root.text("proc/self/cgroup"))
	for m := range procself.Mounts(root.text("proc/self/mountinfo")) {
		key := "" // version 2
		switch {
		case m.Unified():
		case m.Controls("cpu"):
			key = "cpu"
		case m.Controls("memory"):
			key = "memory"
		default:
			continue
		}
		mount := strings.TrimPrefix(path.Clean(m.Point), "/") // a tree has no leading slashes
		for rel := procself.Below(m.Root, paths[key]); ; rel = path.Dir(rel) {
			dir := path.Join(mount, "."+rel)
			if c := cpuLimit(root, dir); c > 0 {
				cpu = min(cpu, c)
			}
			for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
				if n, err := strconv.ParseInt(root.text(path.Join(dir, file)), 10, 64); err == nil && n > 0 {
					mem = min(mem, n)
				}
			}
			if rel == "/" {
				break
			}
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

// cpuLimit returns a group's quota/period in cores, 0 without a limit.
func cpuLimit(root tree, dir string) float64 {
	quota, period := root.text(path.Join(dir, "cpu.cfs_quota_us")), root.text(path.Join(dir, "cpu.cfs_period_us"))
	if quota == "" {
		quota, period, _ = strings.Cut(root.text(path.Join(dir, "cpu.max")), " ")
	}
	q, err1 := strconv.ParseInt(quota, 10, 64) // "max" and "" are no limit
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// armModel names an ARM processor by its identification register, as arm64's
// cpuinfo has no name: implementer and part say which core it is, variant and
// revision which step of it ("r3p1").
func armModel(cpu map[string]string) string {
	implementer, part := cpu["CPU implementer"], cpu["CPU part"]
	if implementer == "" || part == "" {
		return ""
	}
	name, ok := armCores[implementer+" "+part]
	if !ok {
		name = fmt.Sprintf("ARM implementer %s part %s", implementer, part)
	}
	variant, err := strconv.ParseUint(cpu["CPU variant"], 0, 8)
	revision := cpu["CPU revision"]
	if err != nil || revision == "" {
		return name
	}
	return fmt.Sprintf("%s r%dp%s", name, variant, revision)
}

// armCores names the cores of rented and of common machines. Source: the
// MIDR_EL1 values in the technical reference manuals of their makers.
var armCores = map[string]string{
	"0x41 0xd03": "ARM Cortex-A53",
	"0x41 0xd07": "ARM Cortex-A57",
	"0x41 0xd08": "ARM Cortex-A72",
	"0x41 0xd0b": "ARM Cortex-A76",
	"0x41 0xd0c": "ARM Neoverse-N1", // AWS Graviton2, Ampere Altra
	"0x41 0xd40": "ARM Neoverse-V1", // AWS Graviton3
	"0x41 0xd49": "ARM Neoverse-N2", // Azure Cobalt 100, Alibaba Yitian 710
	"0x41 0xd4f": "ARM Neoverse-V2", // AWS Graviton4, Google Axion
	"0x41 0xd84": "ARM Neoverse-V3",
	"0x41 0xd8e": "ARM Neoverse-N3",
	"0x46 0x001": "Fujitsu A64FX",
	"0x48 0xd01": "HiSilicon Kunpeng-920",
	"0x61 0x000": "Apple virtual processor",
	"0xc0 0xac3": "Ampere-1",
	"0xc0 0xac4": "Ampere-1a",
}
