package monitor

import (
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/recording"
)

// Metric describes what the monitor reads. "disk.*.reads" and "volume.*.reads"
// are the names for those of each disk and each volume.
type Metric = recording.Metric

// The units of metrics.
const (
	seconds = "s"
	octets  = "byte"
	one     = "1"
)

// Metrics lists all that the monitor can read. Which of it a node has depends
// on its kernel, its devices and its control groups.
func Metrics() []Metric {
	list := slices.Clone(metrics)
	for _, prefix := range []string{"disk.", "disk.*.", "volume.*."} {
		for _, m := range diskSeries {
			m.Name = prefix + m.Name
			list = append(list, m)
		}
	}
	return list
}

var metrics = slices.Concat(
	recording.Counters(seconds,
		"cpu.user",    // processor time of programs, without guests (/proc/stat)
		"cpu.nice",    // the same at low priority
		"cpu.system",  // of the kernel, for programs
		"cpu.irq",     // of the kernel, in interrupts
		"cpu.softirq", // of the kernel, in deferred interrupts: most of the network's
		"cpu.guest",   // of virtual machines that run on this one
		"cpu.steal",   // taken by the hypervisor while there was work to do
		"cpu.iowait",  // idle while a disk was waited for; the kernel calls it unreliable
		"cpu.idle",    // idle otherwise
		// time in which some thread waited for a processor (/proc/pressure/cpu)
		"psi.cpu_some",
		"psi.memory_some", // some thread waited for memory (/proc/pressure/memory)
		"psi.memory_full", // all that were not idle did
		"psi.io_some",     // some thread waited for a disk (/proc/pressure/io)
		"psi.io_full",     // all that were not idle did
		// processor time of the node's own control group (cpu.stat, cpuacct.usage)
		"cgroup.cpu",
		"cgroup.cpu_throttled", // time in which its quota kept it from running (cpu.stat)
	),
	recording.States(one,
		"cpu.cores",       // processors that are online (/proc/stat)
		"sched.running",   // threads that run or wait for a processor
		"sched.blocked",   // threads that wait for a disk
		"tcp.established", // connections (/proc/net/snmp)
	),
	recording.Counters(one,
		"sched.switches",      // context switches (/proc/stat)
		"sched.interrupts",    // interrupts
		"sched.forks",         // processes and threads made
		"memory.major_faults", // page faults that waited for a disk (/proc/vmstat)
		"memory.oom_kills",    // processes killed because memory ran out
		"net.rx_packets",      // received (/proc/net/dev)
		"net.tx_packets",      // sent
		"net.rx_errors",       // bad packets received
		"net.tx_errors",       // packets that could not be sent
		"net.rx_drops",        // received packets thrown away
		"net.tx_drops",        // packets thrown away unsent
		"tcp.segments_out",    // segments sent, retransmissions apart (/proc/net/snmp)
		"tcp.retransmits",     // segments sent again
	),
	recording.States(octets,
		"memory.total",     // usable memory (/proc/meminfo)
		"memory.available", // what programs can still get without swapping
		"memory.free",      // not in use
		"memory.cached",    // page cache, with buffers
		"memory.dirty",     // to be written
		"memory.writeback", // being written
		"memory.swap_used", // swapped out
		// handed to the kernel and not acknowledged by the other end (Send-Q) (sock_diag(7))
		"tcp.send_queue",
		"tcp.receive_queue", // received and not read by the program (Recv-Q)
		// memory of the group, page cache included (memory.current, memory.usage_in_bytes)
		"cgroup.memory",
	),
	recording.Counters(octets,
		"memory.swap_in",  // read from swap (/proc/vmstat)
		"memory.swap_out", // written to swap
		"net.rx_bytes",    // received (/proc/net/dev)
		"net.tx_bytes",    // sent
	),
)

// diskSeries are those of a disk, a volume, and the sum of all disks.
var diskSeries = slices.Concat(
	recording.Counters(one,
		"reads",        // reads completed
		"writes",       // writes completed
		"read_merges",  // reads that the kernel joined to others before it sent them
		"write_merges", // writes that it joined
	),
	recording.Counters(octets,
		"read_bytes",  // read
		"write_bytes", // written
	),
	recording.Counters(seconds,
		"queue", // time of all requests together; its rate is the mean number of them
		"busy",  // time with at least one request
		// of an EBS volume: time in which its limit of operations was exceeded (NVMe log page)
		"exceeded_ops",
		"exceeded_bytes",      // its limit of bytes
		"node_exceeded_ops",   // the limits of the instance for all its volumes
		"node_exceeded_bytes", // of bytes
	),
	recording.States(one,
		"inflight", // requests under way
	),
)

// pattern is the name under which [Metrics] lists a series.
func pattern(name string) string {
	for _, prefix := range []string{"disk.", "volume."} {
		rest, ok := strings.CutPrefix(name, prefix)
		if i := strings.LastIndexByte(rest, '.'); ok && i >= 0 {
			return prefix + "*" + rest[i:]
		}
	}
	return name
}
