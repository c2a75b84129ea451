package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// period of the CPU quota in microseconds: the kernel's default. Shorter ones make
// progress smoother, but of each some is lost to what a processor has fetched for itself
// and not used.
const period = 100_000

// LimitCPU sets how many cores the group may use.
func (g Group) LimitCPU(cores float64) error {
	quota, dir := strconv.FormatInt(int64(math.Round(cores*period)), 10), g.Dir("cpu")
	if g.V2 != "" {
		return Write(dir, "cpu.max", quota+" "+strconv.Itoa(period))
	}
	return cmp.Or(Write(dir, "cpu.cfs_period_us", strconv.Itoa(period)), Write(dir, "cpu.cfs_quota_us", quota))
}

// LimitMemory sets how many bytes of memory the group may use. It allows no swap: what
// swaps would put its load on the disk. A kernel without accounting of swap has no limit
// of it.
func (g Group) LimitMemory(bytes int64) error {
	text, dir := strconv.FormatInt(bytes, 10), g.Dir("memory")
	limit, swap, value := "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", text
	if g.V2 != "" {
		limit, swap, value = "memory.max", "memory.swap.max", "0"
	}
	if err := Write(dir, limit, text); err != nil {
		return err
	}
	if err := Write(dir, swap, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// LimitDevice limits reads, and writes, of a device ("major:minor") each: operations and
// bytes a second; 0: no limit. With version 1 it does not reach groups below.
func (g Group) LimitDevice(device string, iops int, bytes int64) error {
	if g.V2 != "" {
		return Write(g.V2, "io.max", ioMax(device, iops, bytes))
	}
	return throttle(g.Dir("blkio"), device, iops, bytes)
}

// throttle limits a device with version 1; 0 takes a limit away.
func throttle(dir, device string, iops int, bytes int64) (err error) {
	for _, way := range []string{"read", "write"} {
		err = errors.Join(err,
			Write(dir, "blkio.throttle."+way+"_iops_device", fmt.Sprintf("%s %d", device, iops)),
			Write(dir, "blkio.throttle."+way+"_bps_device", fmt.Sprintf("%s %d", device, bytes)))
	}
	return err
}

// ioMax is a line of io.max; 0 means no limit.
func ioMax(device string, iops int, bytes int64) string {
	text := func(n int64) string {
		if n == 0 {
			return "max"
		}
		return strconv.FormatInt(n, 10)
	}
	ops, bps := text(int64(iops)), text(bytes)
	return fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", device, bps, bps, ops, ops)
}

// DeviceLimit is what LimitDevice has set of a device's reads ("read") or writes ("write"):
// operations ("iops") or bytes ("bps") a second; 0: no limit.
func (g Group) DeviceLimit(device, way, what string) int64 {
	file, key := "blkio.throttle."+way+"_"+what+"_device", ""
	if g.V2 != "" {
		file, key = "io.max", way[:1]+what+"="
	}
	for line := range strings.Lines(Read(g.Dir("blkio"), file)) {
		for i, field := range strings.Fields(line) {
			if i == 0 && field != device {
				break
			}
			if value, ok := strings.CutPrefix(field, key); i > 0 && ok {
				n, _ := strconv.ParseInt(value, 10, 64) // "max" is no limit
				return n
			}
		}
	}
	return 0
}

// Unlimit takes away, in one folder, whatever would make the end of its processes slow:
// writes to these devices that wait for their turn cannot be killed. It is for groups that
// are about to go, of either version, so errors do not matter.
func Unlimit(dir string, devices []string) {
	_ = Write(dir, "cpu.cfs_quota_us", "-1")
	_ = Write(dir, "cpu.max", "max")
	for _, d := range devices {
		_ = Write(dir, "io.max", ioMax(d, 0, 0))
		_ = throttle(dir, d, 0, 0)
	}
}

// SharesPerCore is the weight, in shares, that the kernel gives each group, whatever is
// in it.
const SharesPerCore = 1024

// The kernel's bounds of cpu.shares (version 1), and of cpu.weight (version 2), of which
// 100 is what 1024 shares are.
const (
	leastShares, mostShares = 2, 1 << 18
	leastWeight, mostWeight = 1, 10_000
	weightPerShare          = 100.0 / SharesPerCore
)

// SetShares sets the weight of a group among those beside it; dir is its folder in the
// hierarchy with the controller cpu.
func SetShares(dir string, shares float64) error {
	if exists(dir, "cpu.shares") {
		return Write(dir, "cpu.shares", strconv.Itoa(int(min(max(shares, leastShares), mostShares))))
	}
	return Write(dir, "cpu.weight", strconv.Itoa(int(min(max(shares*weightPerShare, leastWeight), mostWeight))))
}

// Shares is what SetShares has set; 0: the folder is of no such group, or gone.
func Shares(dir string) float64 {
	n, _ := strconv.ParseFloat(Read(dir, "cpu.shares"), 64)
	weight, _ := strconv.ParseFloat(Read(dir, "cpu.weight"), 64)
	return cmp.Or(n, weight/weightPerShare)
}

// Allowed is how many cores and how many bytes of memory the group may use by its own
// limits and by those above it: +Inf and math.MaxInt64 without any.
func (g Group) Allowed() (cores float64, memory int64) {
	cores, memory = math.Inf(1), math.MaxInt64
	for dir := range upwards(g.Dir("cpu")) {
		if quota := quotaOf(dir); quota > 0 {
			cores = min(cores, quota)
		}
	}
	for dir := range upwards(g.Dir("memory")) {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if limit, err := strconv.ParseInt(Read(dir, file), 10, 64); err == nil && limit > 0 {
				memory = min(memory, limit)
			}
		}
	}
	return cores, memory
}

// Cores is how many processors this process may use by the limits of its control group,
// which are read once: of a share of one, one.
var Cores = sync.OnceValue(func() int {
	most := float64(runtime.NumCPU())
	if v1, v2, err := Own("cpu"); err == nil {
		groups := []Group{{V1: v1}}
		for _, m := range v2 {
			groups = append(groups, Group{V2: m.Own})
		}
		for _, g := range groups {
			if allowed, _ := g.Allowed(); allowed < most {
				most = allowed
			}
		}
	}
	return max(int(math.Ceil(most)), 1)
})

// upwards are a folder and those above it. What is above the control groups has no
// limits: in a container they begin where they are mounted.
func upwards(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; dir != "" && yield(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		}
	}
}

// quotaOf is the limit of a group in cores, 0 for none.
func quotaOf(dir string) float64 {
	q, p := Read(dir, "cpu.cfs_quota_us"), Read(dir, "cpu.cfs_period_us")
	if q == "" {
		q, p, _ = strings.Cut(Read(dir, "cpu.max"), " ")
	}
	quota, err1 := strconv.ParseFloat(q, 64)
	per, err2 := strconv.ParseFloat(p, 64)
	if err1 != nil || err2 != nil || quota <= 0 || per <= 0 {
		return 0
	}
	return quota / per
}

// OOMKills is how many of its processes the kernel has killed for want of memory; 0 where
// that is not known.
func (g Group) OOMKills() int {
	file := "memory.oom_control"
	if g.V2 != "" {
		file = "memory.events"
	}
	for line := range strings.Lines(Read(g.Dir("memory"), file)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, _ := strconv.Atoi(strings.TrimSpace(n))
			return kills
		}
	}
	return 0
}
