package monitor

import (
	"os"
	"path/filepath"
	"strings"
)

// maxSingle is the largest number of disks that get series of their own beside
// the sum.
const maxSingle = 8

// diskMetrics are the last words of the metrics of disks and volumes, in the
// order of [diskStats].
var diskMetrics = [...]string{"reads", "writes", "read_bytes", "write_bytes", "queue", "busy", "inflight"}

// inflight is the index of the only one that is no counter.
const inflight = 6

// diskStats are the counters of one device, in the units of /proc/diskstats:
// operations, sectors of 512 bytes, ms.
type diskStats [len(diskMetrics)]counter

// columns are the places of the numbers in /proc/diskstats, counted behind the
// name, and the factor to the metric's unit.
var columns = [len(diskMetrics)]struct {
	at     int
	factor float64
}{{0, 1}, {4, 1}, {2, 512}, {6, 512}, {10, 1e-3}, {9, 1e-3}, {8, 1}}

// disks reads /proc/diskstats.
type disks struct {
	sys     string // path of /sys
	devices map[string]*disk
	// volumes are the devices to be shown by the name of a volume.
	volumes []volume
	settled bool // which have series of their own was decided, at the first reading
	sum     [len(diskMetrics)]string
}

// disk is a row of /proc/diskstats that is of interest.
type disk struct {
	physical bool // counts in the sum
	stats    diskStats
	names    [len(diskMetrics)]string // of its own series; empty without
	read     bool                     // in this reading
}

// volume is a device that a node offers its workloads to write to.
type volume struct {
	name         string
	major, minor uint64
	stats        diskStats
	names        [len(diskMetrics)]string
}

func newDisks(sys string, volumes []volume) *disks {
	for i := range volumes {
		volumes[i].names = diskNames("volume." + volumes[i].name + ".")
	}
	return &disks{sys: sys, devices: map[string]*disk{}, volumes: volumes, sum: diskNames("disk.")}
}

func diskNames(prefix string) (names [len(diskMetrics)]string) {
	for i, m := range diskMetrics {
		names[i] = prefix + m
	}
	return names
}

// parse reads the file: lines of major, minor, name, and at least 11 numbers.
// Kernels before 2.6.25 have four for partitions, which are skipped.
func (d *disks) parse(b []byte, out emit) {
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		d.line(line, out)
	}
	d.settle()
	d.emit(out)
}

func (d *disks) line(line []byte, out emit) {
	major, line, ok1 := nextUint(line)
	minor, line, ok2 := nextUint(line)
	name, line := nextField(line)
	var numbers [11]uint64
	if uints(line, numbers[:]) < len(numbers) || !ok1 || !ok2 || len(name) == 0 {
		return
	}
	for i := range d.volumes {
		if v := &d.volumes[i]; v.major == major && v.minor == minor {
			v.stats.add(&numbers)
			v.stats.emit(&v.names, out)
		}
	}
	dev := d.devices[string(name)]
	if dev == nil {
		dev = &disk{physical: physicalDisk(d.sys, string(name))}
		d.devices[string(name)] = dev
	}
	if dev.physical {
		dev.stats.add(&numbers)
		dev.read = true
	}
}

func (s *diskStats) add(numbers *[11]uint64) {
	for i := range s {
		raw := numbers[columns[i].at]
		if i == inflight {
			s[i].total = raw
			continue
		}
		s[i].add(raw)
	}
}

func (s *diskStats) emit(names *[len(diskMetrics)]string, out emit) {
	for i := range s {
		out(names[i], float64(s[i].total)*columns[i].factor)
	}
}

// settle decides once which disks get series of their own: one disk is the
// sum, and many would be a flood.
func (d *disks) settle() {
	if d.settled {
		return
	}
	d.settled = true
	var names []string
	for name, dev := range d.devices {
		if dev.physical {
			names = append(names, name)
		}
	}
	if len(names) < 2 || len(names) > maxSingle {
		return
	}
	for _, name := range names {
		d.devices[name].names = diskNames("disk." + name + ".")
	}
}

// emit gives the sum over all physical disks and each one by itself. A disk
// that is gone stays in the sums of counters with what it had.
func (d *disks) emit(out emit) {
	var sum diskStats
	any := false
	for _, dev := range d.devices {
		if !dev.physical {
			continue
		}
		any = true
		for i := range sum {
			if i != inflight || dev.read {
				sum[i].total += dev.stats[i].total
			}
		}
		if dev.names[0] != "" && dev.read {
			dev.stats.emit(&dev.names, out)
		}
		dev.read = false
	}
	if any {
		sum.emit(&d.sum, out)
	}
}

// stacked are the beginnings of names of devices that hold no data themselves,
// or hold it in memory, without saying so in /sys.
var stacked = []string{"loop", "ram", "zram", "fd", "sr", "drbd", "zd"}

// physicalDisk reports whether a name in /proc/diskstats is a whole device at
// the bottom: no partition (those are not in /sys/block), nothing that is made
// of other devices (dm, md, bcache: they name their slaves), no second path to
// the same namespace (hidden), no loop device and no memory.
func physicalDisk(sys, name string) bool {
	for _, prefix := range stacked {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	dir := filepath.Join(sys, "block", strings.ReplaceAll(name, "/", "!"))
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	if hidden, err := os.ReadFile(filepath.Join(dir, "hidden")); err == nil && strings.TrimSpace(string(hidden)) == "1" {
		return false
	}
	slaves, err := os.ReadDir(filepath.Join(dir, "slaves"))
	return err != nil || len(slaves) == 0
}

// counter adds up what one of the kernel's counters gained since it was first seen.
// Sums over devices are sums of counters: a device that comes, goes or is reset
// must not make them jump.
type counter struct {
	last, total uint64
	seen        bool
}

func (t *counter) add(raw uint64) {
	if t.seen {
		t.total += gain(t.last, raw)
	}
	t.last, t.seen = raw, true
}

// gain is how far a counter went from one reading to the next. One that went
// back has passed 2³², where the kernel counts in 32 bits (times of disks,
// bytes of interfaces on 32-bit machines), or was reset and began at 0.
func gain(last, raw uint64) uint64 {
	if raw >= last {
		return raw - last
	}
	if d := uint32(raw - last); last < 1<<32 && d < 1<<31 {
		return uint64(d)
	}
	return raw
}
