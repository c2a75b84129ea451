package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/unit"
)

// leastSize is the smallest default working set of a thread.
const leastSize = 64 * unit.MiB

// defaultSize is the working set of each thread when none is given: together
// the threads use four times the last-level cache (0 if unknown), STREAM's
// rule for an array.
func defaultSize(cache unit.Size, threads int) unit.Size {
	return max(leastSize, 4*cache/unit.Size(threads))
}

// lastLevelCache returns the size of the largest cache of processor 0, as
// Linux shows it below root ("/sys"); 0 if unknown.
func lastLevelCache(root string) unit.Size {
	files, err := filepath.Glob(filepath.Join(root, "devices/system/cpu/cpu0/cache/index*/size"))
	if err != nil {
		return 0
	}
	var largest unit.Size
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil {
			largest = max(largest, parseCacheSize(string(data)))
		}
	}
	return largest
}

// parseCacheSize reads "32768K"; 0 if it is something else.
func parseCacheSize(s string) unit.Size {
	s = strings.TrimSpace(s)
	factor := unit.Byte
	for suffix, f := range map[string]unit.Size{"K": unit.KiB, "M": unit.MiB, "G": unit.GiB} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, factor = rest, f
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return unit.Size(n) * factor
}

// available returns the memory that can be had without swapping (MemAvailable
// of proc(5)) in bytes, read from a file like /proc/meminfo; 0 if unknown.
func available(meminfo string) int64 {
	data, err := os.ReadFile(meminfo)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// checkFits refuses working sets that would make the machine swap or kill:
// that would measure a disk, or nothing.
func checkFits(need, available int64) error {
	if available == 0 || need <= available/10*9 {
		return nil
	}
	return fmt.Errorf("the working sets need %s, and %s of memory are available: give a smaller size or fewer threads",
		unit.Human(float64(need), "B"), unit.Human(float64(available), "B"))
}
