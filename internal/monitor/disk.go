package monitor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/nvme"
	"github.com/scalebench/scalebench/internal/procself"
)

// Up to maxWhole disks have all series of their own beside the sum, and up to
// maxSingle have those of operations and bytes.
const maxWhole, maxSingle = 8, 64

// diskMetrics are the last words of the metrics of disks and volumes, in the
// order of [diskStats].
var diskMetrics = [...]string{"reads", "writes", "read_bytes", "write_bytes", "queue", "busy", "inflight",
	"read_merges", "write_merges", "exceeded_ops", "exceeded_bytes", "node_exceeded_ops", "node_exceeded_bytes"}

const (
	basic    = 4 // the first of them are operations and bytes
	inflight = 6 // the only state; the others are counters
	exceeded = 9 // from here on they are of EBS volumes only
)

// diskStats are the counters of one device, in the units of /proc/diskstats
// (operations, sectors of 512 bytes, ms), and the names of its series, empty for
// one that has none of its own.
type diskStats struct {
	counters [len(diskMetrics)]kernel.Counter
	names    [len(diskMetrics)]string
	ebs      bool // its limits are known
}

// numbers are those of /proc/diskstats behind the name, and the µs in which the limits
// of an EBS volume were exceeded.
type numbers [diskNumbers + len(nvme.Counters{}.Exceeded)]uint64

const diskNumbers = 11

// diskColumns are the places of the numbers, and the factor to the metric's unit.
var diskColumns = [len(diskMetrics)]struct {
	at     int
	factor float64
}{{0, 1}, {4, 1}, {2, 512}, {6, 512}, {10, 1e-3}, {9, 1e-3}, {8, 1}, {1, 1}, {5, 1}, {11, 1e-6}, {12, 1e-6}, {13, 1e-6},
	{14, 1e-6}}

func (s *diskStats) name(prefix string, metrics []string) {
	for i, m := range diskMetrics {
		if slices.Contains(metrics, m) {
			s.names[i] = prefix + m
		}
	}
}

func (s *diskStats) add(numbers *numbers) {
	for i := range s.counters {
		if raw := numbers[diskColumns[i].at]; i == inflight {
			s.counters[i].Total = raw
		} else {
			s.counters[i].Add(raw)
		}
	}
}

func (s *diskStats) emit(out emit) {
	for i, name := range s.names {
		if name != "" && (s.ebs || i < exceeded) {
			out(name, float64(s.counters[i].Total)*diskColumns[i].factor)
		}
	}
}

type disks struct {
	sys     string // path of /sys
	devices map[string]*disk
	// volumes are the devices to be shown by the name of a volume.
	volumes []volume
	settled bool // which have series of their own was decided, at the first reading
	// limits reads the counters of an EBS volume.
	limits func(device string) (nvme.Counters, error)
}

// disk is a row of /proc/diskstats. Physical ones count in the sum.
type disk struct {
	diskStats
	physical bool
	read     bool // in this reading
}

// volume is a device that a node offers its workloads to write to.
type volume struct {
	diskStats
	volume       string // name
	major, minor uint64
}

func newDisks(sys string, volumes []volume) *disks {
	for i := range volumes {
		volumes[i].name("volume."+volumes[i].volume+".", diskMetrics[:])
	}
	return &disks{sys: sys, devices: map[string]*disk{}, volumes: volumes, limits: nvme.Read}
}

// parse reads the file: lines of major, minor, name, and at least 11 numbers.
// Kernels before 2.6.25 have four for partitions, which are skipped.
func (d *disks) parse(b []byte, out emit) {
	for line := range kernel.Lines(b) {
		d.line(line, out)
	}
	if !d.settled {
		d.settle()
	}
	d.emit(out)
}

func (d *disks) line(line []byte, out emit) {
	major, line, ok1 := kernel.Uint(line)
	minor, line, ok2 := kernel.Uint(line)
	name, line := kernel.Field(line)
	var numbers numbers
	if kernel.Uints(line, numbers[:diskNumbers]) < diskNumbers || !ok1 || !ok2 || len(name) == 0 {
		return
	}
	dev := d.devices[string(name)]
	if dev == nil {
		dev = &disk{physical: physicalDisk(d.sys, string(name))}
		dev.ebs = dev.physical && nvme.Is(d.sys, string(name))
		d.devices[string(name)] = dev
	}
	if dev.ebs {
		counters, err := d.limits("/dev/" + string(name))
		dev.ebs = err == nil // without root it fails each time
		copy(numbers[diskNumbers:], counters.Exceeded[:])
	}
	for i := range d.volumes {
		if v := &d.volumes[i]; v.major == major && v.minor == minor {
			v.ebs = dev.ebs
			v.add(&numbers)
			v.emit(out)
		}
	}
	if dev.physical {
		dev.add(&numbers)
		dev.read = true
	}
}

// settle decides once which disks get series of their own: one disk is the
// sum, and all series of many would be a flood.
func (d *disks) settle() {
	d.settled = true
	physical := 0
	for _, dev := range d.devices {
		if dev.physical {
			physical++
		}
	}
	if physical < 2 || physical > maxSingle {
		return
	}
	metrics := diskMetrics[:]
	if physical > maxWhole {
		metrics = slices.Concat(metrics[:basic], metrics[exceeded:])
	}
	for name, dev := range d.devices {
		if dev.physical {
			dev.name("disk."+name+".", metrics)
		}
	}
}

// emit gives the sum over all physical disks and each one by itself. A disk
// that is gone stays in the sums of counters with what it had.
func (d *disks) emit(out emit) {
	sum := diskStats{names: diskSums}
	found := 0
	for _, dev := range d.devices {
		if !dev.physical {
			continue
		}
		found++
		sum.ebs = dev.ebs && found == 1 // shares of several cannot be added
		for i := range sum.counters {
			if i != inflight || dev.read {
				sum.counters[i].Total += dev.counters[i].Total
			}
		}
		if dev.names[0] != "" && dev.read {
			dev.emit(out)
		}
		dev.read = false
	}
	if found > 0 {
		sum.emit(out)
	}
}

// diskSums are the names of the sum over all disks.
var diskSums = func() [len(diskMetrics)]string {
	var s diskStats
	s.name("disk.", diskMetrics[:])
	return s.names
}()

// stacked are the beginnings of names of devices that hold no data themselves,
// or hold it in memory, without saying so in /sys.
var stacked = []string{"loop", "ram", "zram", "fd", "sr", "drbd", "zd"}

// physicalDisk reports whether a name in /proc/diskstats is a whole device at
// the bottom: no partition (those are not in /sys/block), nothing that is made
// of other devices (dm, md, bcache: they name their slaves), no second path to
// the same namespace (hidden), no loop device and no memory.
func physicalDisk(sys, name string) bool {
	if slices.ContainsFunc(stacked, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return false
	}
	dir := filepath.Join(sys, "block", strings.ReplaceAll(name, "/", "!"))
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	slaves, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	return len(slaves) == 0 && procself.ReadText(filepath.Join(dir, "hidden")) != "1"
}
