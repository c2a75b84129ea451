package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/scalebench/scalebench/internal/unit"
)

// period of the CPU quota in microseconds: the kernel's default. Shorter ones
// make a host's progress smoother, but of each some is lost to what a
// processor has fetched for itself and not used.
const period = 100_000

// make makes the lab's groups, parents first, so that processes can be put
// into them at once.
func (g groups) make(dirs []string) error {
	for _, d := range dirs {
		if err := g.makeOne(d); err != nil {
			return fmt.Errorf("making cgroup %s: %w", d, err)
		}
	}
	return nil
}

// makeOne makes a group. With v2, first everything above it passes its
// controllers on; the group itself cannot yet, for it may get processes.
func (g groups) makeOne(dir string) error {
	parent := filepath.Dir(dir)
	if filepath.Base(parent) == groupRoot {
		// Another lab's removal takes the common directory away when it is
		// empty, perhaps just now.
		for range 10 {
			err := g.makeIn(parent, dir)
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return g.makeIn(parent, dir)
}

// makeIn makes a group and the one above it.
func (g groups) makeIn(parent, dir string) error {
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if g.v2 != "" {
		if err := errors.Join(enable(g.v2), enable(parent)); err != nil {
			return err
		}
	}
	return os.Mkdir(dir, 0o755)
}

// limit sets the limits of a host.
func (g groups) limit(h Host) error {
	if h.CPU > 0 {
		if err := g.limitCPU(h); err != nil {
			return err
		}
	}
	if h.Memory > 0 {
		return g.limitMemory(h)
	}
	return nil
}

// limitCPU sets how many cores a host may use.
func (g groups) limitCPU(h Host) error {
	quota := strconv.FormatInt(int64(math.Round(h.CPU*period)), 10)
	if g.v2 != "" {
		return writeGroup(g.hostIn(g.v2, h), "cpu.max", quota+" "+strconv.Itoa(period))
	}
	dir := g.hostIn(g.v1[cpuV1], h)
	return errors.Join(
		writeGroup(dir, "cpu.cfs_period_us", strconv.Itoa(period)),
		writeGroup(dir, "cpu.cfs_quota_us", quota))
}

// limitMemory sets how much memory a host may use. Swap is none of it: a host
// that swaps would put its load on the machine's disk.
func (g groups) limitMemory(h Host) error {
	bytes := strconv.FormatInt(h.Memory.Bytes(), 10)
	if g.v2 != "" {
		dir := g.hostIn(g.v2, h)
		return errors.Join(writeGroup(dir, "memory.max", bytes), optional(writeGroup(dir, "memory.swap.max", "0")))
	}
	dir := g.hostIn(g.v1[memoryV1], h)
	return errors.Join(
		writeGroup(dir, "memory.limit_in_bytes", bytes),
		optional(writeGroup(dir, "memory.memsw.limit_in_bytes", bytes)))
}

// hostIn is the host's directory in one hierarchy.
func (g groups) hostIn(root string, h Host) string {
	return filepath.Join(root, groupRoot, g.id, string(h.Name))
}

// optional drops the error for a file that a kernel without swap accounting
// does not have.
func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// limitDevice sets the limits of a volume's device, "major:minor", for the
// whole lab.
func (g groups) limitDevice(device string, v Volume) error {
	bytes, err := v.bytesPerSecond()
	if err != nil {
		return err
	}
	if g.v2 != "" {
		return writeGroup(g.labIn(g.v2), "io.max", ioMax(device, v.IOPS, bytes))
	}
	dir := g.labIn(g.v1[blkioV1])
	for file, limit := range map[string]int64{
		"blkio.throttle.read_iops_device":  int64(v.IOPS),
		"blkio.throttle.write_iops_device": int64(v.IOPS),
		"blkio.throttle.read_bps_device":   bytes,
		"blkio.throttle.write_bps_device":  bytes,
	} {
		// 0 takes a limit away.
		if err := writeGroup(dir, file, fmt.Sprintf("%s %d", device, limit)); err != nil {
			return err
		}
	}
	return nil
}

// labIn is the lab's directory in one hierarchy.
func (g groups) labIn(root string) string { return filepath.Join(root, groupRoot, g.id) }

// ioMax is a line of io.max. A limit of 0 is none.
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

// bytesPerSecond is the volume's bandwidth; 0 is no limit.
func (v Volume) bytesPerSecond() (int64, error) {
	if v.Bandwidth == (unit.Rate{}) {
		return 0, nil
	}
	bytes, err := v.Bandwidth.BytesPerSecond()
	if err != nil {
		return 0, fmt.Errorf("volume %s: %w", v.Name, err)
	}
	return int64(math.Round(bytes)), nil
}

// unlimit takes away, in one group, whatever would make the end of its
// processes slow: writes that wait for their turn cannot be killed. It is
// called while a lab is removed, for whatever is there, so errors do not
// matter.
func unlimit(dir string, devices []string) {
	_ = writeGroup(dir, "cpu.cfs_quota_us", "-1")
	_ = writeGroup(dir, "cpu.max", "max")
	for _, d := range devices {
		_ = writeGroup(dir, "io.max", ioMax(d, 0, 0))
		for _, file := range []string{"read_iops", "write_iops", "read_bps", "write_bps"} {
			_ = writeGroup(dir, "blkio.throttle."+file+"_device", d+" 0")
		}
	}
}
