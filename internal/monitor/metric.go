package monitor

import (
	"slices"
	"strings"
)

// Metric describes what the monitor reads.
type Metric struct {
	// Name is that of the series. "disk.*.reads" and "volume.*.reads" stand
	// for those of each disk and each volume.
	Name string
	Unit string // of the values: "s", "byte", "1"
	// Counter: the values grow from 0 at the first reading. Otherwise they are
	// the state at the moment of the reading.
	Counter bool
	Source  string // the kernel's file
	Text    string // what it is, for people
}

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

var metrics = []Metric{
	{"cpu.user", seconds, true, "/proc/stat", "processor time of programs, without guests"},
	{"cpu.nice", seconds, true, "/proc/stat", "the same at low priority"},
	{"cpu.system", seconds, true, "/proc/stat", "of the kernel, for programs"},
	{"cpu.irq", seconds, true, "/proc/stat", "of the kernel, in interrupts"},
	{"cpu.softirq", seconds, true, "/proc/stat", "of the kernel, in deferred interrupts: most of the network's"},
	{"cpu.guest", seconds, true, "/proc/stat", "of virtual machines that run on this one"},
	{"cpu.steal", seconds, true, "/proc/stat", "taken by the hypervisor while there was work to do"},
	{"cpu.iowait", seconds, true, "/proc/stat", "idle while a disk was waited for; the kernel calls it unreliable"},
	{"cpu.idle", seconds, true, "/proc/stat", "idle otherwise"},
	{"cpu.cores", one, false, "/proc/stat", "processors that are online"},
	{"sched.running", one, false, "/proc/stat", "threads that run or wait for a processor"},
	{"sched.blocked", one, false, "/proc/stat", "threads that wait for a disk"},
	{"sched.switches", one, true, "/proc/stat", "context switches"},
	{"sched.interrupts", one, true, "/proc/stat", "interrupts"},
	{"sched.forks", one, true, "/proc/stat", "processes and threads made"},
	{"memory.total", octets, false, "/proc/meminfo", "usable memory"},
	{"memory.available", octets, false, "/proc/meminfo", "what programs can still get without swapping"},
	{"memory.free", octets, false, "/proc/meminfo", "not in use"},
	{"memory.cached", octets, false, "/proc/meminfo", "page cache, with buffers"},
	{"memory.dirty", octets, false, "/proc/meminfo", "to be written"},
	{"memory.writeback", octets, false, "/proc/meminfo", "being written"},
	{"memory.swap_used", octets, false, "/proc/meminfo", "swapped out"},
	{"memory.swap_in", octets, true, "/proc/vmstat", "read from swap"},
	{"memory.swap_out", octets, true, "/proc/vmstat", "written to swap"},
	{"memory.major_faults", one, true, "/proc/vmstat", "page faults that waited for a disk"},
	{"memory.oom_kills", one, true, "/proc/vmstat", "processes killed because memory ran out"},
	{"net.rx_bytes", octets, true, "/proc/net/dev", "received"},
	{"net.tx_bytes", octets, true, "/proc/net/dev", "sent"},
	{"net.rx_packets", one, true, "/proc/net/dev", "received"},
	{"net.tx_packets", one, true, "/proc/net/dev", "sent"},
	{"net.rx_errors", one, true, "/proc/net/dev", "bad packets received"},
	{"net.tx_errors", one, true, "/proc/net/dev", "packets that could not be sent"},
	{"net.rx_drops", one, true, "/proc/net/dev", "received packets thrown away"},
	{"net.tx_drops", one, true, "/proc/net/dev", "packets thrown away unsent"},
	{"tcp.established", one, false, "/proc/net/snmp", "connections"},
	{"tcp.segments_out", one, true, "/proc/net/snmp", "segments sent, retransmissions apart"},
	{"tcp.retransmits", one, true, "/proc/net/snmp", "segments sent again"},
	{"tcp.send_queue", octets, false, "sock_diag(7)", "handed to the kernel and not acknowledged by the other end (Send-Q)"},
	{"tcp.receive_queue", octets, false, "sock_diag(7)", "received and not read by the program (Recv-Q)"},
	{"psi.cpu_some", seconds, true, "/proc/pressure/cpu", "time in which some thread waited for a processor"},
	{"psi.memory_some", seconds, true, "/proc/pressure/memory", "some thread waited for memory"},
	{"psi.memory_full", seconds, true, "/proc/pressure/memory", "all that were not idle did"},
	{"psi.io_some", seconds, true, "/proc/pressure/io", "some thread waited for a disk"},
	{"psi.io_full", seconds, true, "/proc/pressure/io", "all that were not idle did"},
	{"cgroup.cpu", seconds, true, "cpu.stat, cpuacct.usage", "processor time of the node's own control group"},
	{"cgroup.cpu_throttled", seconds, true, "cpu.stat", "time in which its quota kept it from running"},
	{"cgroup.memory", octets, false, "memory.current, memory.usage_in_bytes", "memory of the group, page cache included"},
}

// diskSeries are those of a disk, a volume, and the sum of all disks.
var diskSeries = []Metric{
	{"reads", one, true, "/proc/diskstats", "reads completed"},
	{"writes", one, true, "/proc/diskstats", "writes completed"},
	{"read_bytes", octets, true, "/proc/diskstats", "read"},
	{"write_bytes", octets, true, "/proc/diskstats", "written"},
	{"queue", seconds, true, "/proc/diskstats", "time of all requests together; its rate is the mean number of them"},
	{"busy", seconds, true, "/proc/diskstats", "time with at least one request"},
	{"inflight", one, false, "/proc/diskstats", "requests under way"},
}

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
