// Package monitor reads what a node does while a task runs on it: processors,
// memory, disks, network, and how long threads had to wait for them.
//
//  1. [New] says what to watch; nothing is held open yet.
//  2. [Monitor.Start] opens the kernel's files and takes a first reading before
//     it returns, so before the task starts.
//  3. Every second all files are read at once and make one row of a table
//     (package recording).
//  4. Stop of the recording takes a last reading; Series gives columns, with
//     times since the task's start.
//
// [Metrics] lists the metrics, with their unit and source. Counters begin at 0 at
// the first reading, and their rate is what matters: of seconds a second, cpu.user
// has the rate of cores in use. What a kernel or a node does not have is missing.
//
// Which part of the machine they are about:
//
//   - cpu, sched, memory, disk and psi are the whole machine's, also when the
//     node is a container or a host of a lab: what others do on the machine is
//     in them. The kinds of cpu add up to cores × time. That pressure on
//     processors was "full" is not defined for a whole machine.
//   - cgroup is the node's own: the control group that the agent, and so its
//     tasks, belong to, with all below it. It is there where that is not the
//     root group; version 1 and 2.
//   - net and tcp are those of the node's network namespace. net has the
//     interfaces by which packets enter and leave, each packet once: the
//     hardware, or in a namespace without hardware what connects it with
//     others; not loopback, bridges, bonds, tunnels. tcp has all connections,
//     those over loopback included.
//   - disk is the sum over whole disks: no partitions, nothing made of other
//     devices (RAID, LVM), no loop devices, no memory. With two to eight of
//     them each has its own series, too, and with up to 64 those of operations
//     and bytes; busy and queue of the sum add up as well, so the sum can be
//     busy for more than a second a second. An EBS volume says for how long its
//     limits were exceeded, if the agent is root.
//   - volume is a volume that the node offers to workloads, by its name in
//     [Config], whatever its device is: a loop device of a lab, a partition. A
//     device that several volumes or nodes share is in each of them whole.
//
// A reading takes 0.3 to 0.5 ms of processor time when it is repeated
// (BenchmarkReading), and 1 ms when it comes once a second and finds cold
// caches: 0.1 % of a core. The queues of sockets cost most where there are
// thousands, and are then read less often, such that they take no more than
// another 0.1 %.
package monitor

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/recording"
)

// Config says what to watch, and how. The zero value watches this machine.
type Config struct {
	// Root is the directory below which proc, sys and the control groups are
	// found; "/" if empty.
	Root string
	// Volumes are the node's volumes by name, as workloads know them: paths of
	// folders or block devices. Those on a device that the kernel counts get
	// series of their own, "volume.NAME.write_bytes".
	Volumes map[string]string
	// Step is the time between readings; a second if zero.
	Step time.Duration
	// Recent and After are those of [recording.Config].
	Recent int
	After  func(*recording.Recording)
	// Now is the clock; time.Now if nil. Its times must carry Go's monotonic
	// reading, so that a clock that is set does not shift readings.
	Now func() time.Time

	// What tests replace.
	pageSize int
	diag     func() source
}

// Monitor reads the metrics of this node. It holds nothing open between
// recordings and may be shared.
type Monitor struct{ cfg Config }

// New returns a monitor. Where there is nothing to read, as on other systems
// than Linux, its recordings have no series.
func New(cfg Config) *Monitor {
	if cfg.Root == "" {
		cfg.Root = "/"
		cfg.diag = socketQueues
	}
	if cfg.diag == nil {
		cfg.diag = func() source { return nil } // another machine's files have no kernel to ask
	}
	if cfg.Step <= 0 {
		cfg.Step = time.Second
	}
	cfg.pageSize = cmp.Or(cfg.pageSize, os.Getpagesize())
	return &Monitor{cfg}
}

// source is something to read metrics from.
type source = recording.Source

// Start takes a first reading and goes on reading until Stop is called or ctx
// ends. Stop must be called in either case.
func (m *Monitor) Start(ctx context.Context) *recording.Recording {
	defs := make(map[string]Metric)
	for _, d := range Metrics() {
		defs[d.Name] = d
	}
	return recording.Start(ctx, recording.Config{
		Step: m.cfg.Step, Now: m.cfg.Now, Sources: m.open(), Recent: m.cfg.Recent, After: m.cfg.After,
		Metric: func(name string) Metric { return defs[pattern(name)] },
	})
}

// open returns the sources that this machine has.
func (m *Monitor) open() []source {
	var list []source
	buf := kernel.NewBuffer()
	proc, groups := filepath.Join(m.cfg.Root, "proc")+"/", findCgroups(m.cfg.Root)
	for _, f := range []struct {
		name  string
		parse func([]byte, emit)
	}{
		{proc + "stat", parseStat},
		{proc + "meminfo", parseMeminfo},
		{proc + "vmstat", vmstatParser(m.cfg.pageSize)},
		{proc + "diskstats", newDisks(filepath.Join(m.cfg.Root, "sys"), m.volumes()).parse},
		{proc + "net/dev", kernel.NewNetwork(kernel.Links).Parse},
		{proc + "net/snmp", parseSNMP},
		{proc + "pressure/cpu", pressureParser("psi.cpu_some", "")},
		{proc + "pressure/memory", pressureParser("psi.memory_some", "psi.memory_full")},
		{proc + "pressure/io", pressureParser("psi.io_some", "psi.io_full")},
		{groups.usage1, parseUsage1},
		{groups.stat1, parseStat1},
		{groups.stat2, parseStat2},
		{groups.memory, parseMemory},
	} {
		if file, err := kernel.Open(f.name, buf, f.parse); err == nil {
			list = append(list, file)
		}
	}
	if d := m.cfg.diag(); d != nil {
		list = append(list, d)
	}
	return list
}

// volumes finds the devices of the node's volumes, by name.
func (m *Monitor) volumes() []volume {
	var list []volume
	for _, name := range slices.Sorted(maps.Keys(m.cfg.Volumes)) {
		if major, minor, ok := deviceNumber(m.cfg.Volumes[name]); ok {
			list = append(list, volume{volume: name, major: major, minor: minor})
		}
	}
	return list
}
