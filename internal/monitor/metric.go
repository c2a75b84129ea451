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

var metrics = []Metric{
	recording.Counter("cpu.user", seconds, "/proc/stat", "processor time of programs, without guests"),
	recording.Counter("cpu.nice", seconds, "/proc/stat", "the same at low priority"),
	recording.Counter("cpu.system", seconds, "/proc/stat", "of the kernel, for programs"),
	recording.Counter("cpu.irq", seconds, "/proc/stat", "of the kernel, in interrupts"),
	recording.Counter("cpu.softirq", seconds, "/proc/stat", "of the kernel, in deferred interrupts: most of the network's"),
	recording.Counter("cpu.guest", seconds, "/proc/stat", "of virtual machines that run on this one"),
	recording.Counter("cpu.steal", seconds, "/proc/stat", "taken by the hypervisor while there was work to do"),
	recording.Counter("cpu.iowait", seconds, "/proc/stat", "idle while a disk was waited for; the kernel calls it unreliable"),
	recording.Counter("cpu.idle", seconds, "/proc/stat", "idle otherwise"),
	recording.State("cpu.cores", one, "/proc/stat", "processors that are online"),
	recording.State("sched.running", one, "/proc/stat", "threads that run or wait for a processor"),
	recording.State("sched.blocked", one, "/proc/stat", "threads that wait for a disk"),
	recording.Counter("sched.switches", one, "/proc/stat", "context switches"),
	recording.Counter("sched.interrupts", one, "/proc/stat", "interrupts"),
	recording.Counter("sched.forks", one, "/proc/stat", "processes and threads made"),
	recording.State("memory.total", octets, "/proc/meminfo", "usable memory"),
	recording.State("memory.available", octets, "/proc/meminfo", "what programs can still get without swapping"),
	recording.State("memory.free", octets, "/proc/meminfo", "not in use"),
	recording.State("memory.cached", octets, "/proc/meminfo", "page cache, with buffers"),
	recording.State("memory.dirty", octets, "/proc/meminfo", "to be written"),
	recording.State("memory.writeback", octets, "/proc/meminfo", "being written"),
	recording.State("memory.swap_used", octets, "/proc/meminfo", "swapped out"),
	recording.Counter("memory.swap_in", octets, "/proc/vmstat", "read from swap"),
	recording.Counter("memory.swap_out", octets, "/proc/vmstat", "written to swap"),
	recording.Counter("memory.major_faults", one, "/proc/vmstat", "page faults that waited for a disk"),
	recording.Counter("memory.oom_kills", one, "/proc/vmstat", "processes killed because memory ran out"),
	recording.Counter("net.rx_bytes", octets, "/proc/net/dev", "received"),
	recording.Counter("net.tx_bytes", octets, "/proc/net/dev", "sent"),
	recording.Counter("net.rx_packets", one, "/proc/net/dev", "received"),
	recording.Counter("net.tx_packets", one, "/proc/net/dev", "sent"),
	recording.Counter("net.rx_errors", one, "/proc/net/dev", "bad packets received"),
	recording.Counter("net.tx_errors", one, "/proc/net/dev", "packets that could not be sent"),
	recording.Counter("net.rx_drops", one, "/proc/net/dev", "received packets thrown away"),
	recording.Counter("net.tx_drops", one, "/proc/net/dev", "packets thrown away unsent"),
	recording.State("tcp.established", one, "/proc/net/snmp", "connections"),
	recording.Counter("tcp.segments_out", one, "/proc/net/snmp", "segments sent, retransmissions apart"),
	recording.Counter("tcp.retransmits", one, "/proc/net/snmp", "segments sent again"),
	recording.State("tcp.send_queue", octets, "sock_diag(7)", "handed to the kernel and not acknowledged by the other end (Send-Q)"),
	recording.State("tcp.receive_queue", octets, "sock_diag(7)", "received and not read by the program (Recv-Q)"),
	recording.Counter("psi.cpu_some", seconds, "/proc/pressure/cpu", "time in which some thread waited for a processor"),
	recording.Counter("psi.memory_some", seconds, "/proc/pressure/memory", "some thread waited for memory"),
	recording.Counter("psi.memory_full", seconds, "/proc/pressure/memory", "all that were not idle did"),
	recording.Counter("psi.io_some", seconds, "/proc/pressure/io", "some thread waited for a disk"),
	recording.Counter("psi.io_full", seconds, "/proc/pressure/io", "all that were not idle did"),
	recording.Counter("cgroup.cpu", seconds, "cpu.stat, cpuacct.usage", "processor time of the node's own control group"),
	recording.Counter("cgroup.cpu_throttled", seconds, "cpu.stat", "time in which its quota kept it from running"),
	recording.State("cgroup.memory", octets, "memory.current, memory.usage_in_bytes", "memory of the group, page cache included"),
}

// diskSeries are those of a disk, a volume, and the sum of all disks.
var diskSeries = []Metric{
	recording.Counter("reads", one, "/proc/diskstats", "reads completed"),
	recording.Counter("writes", one, "/proc/diskstats", "writes completed"),
	recording.Counter("read_bytes", octets, "/proc/diskstats", "read"),
	recording.Counter("write_bytes", octets, "/proc/diskstats", "written"),
	recording.Counter("queue", seconds, "/proc/diskstats", "time of all requests together; its rate is the mean number of them"),
	recording.Counter("busy", seconds, "/proc/diskstats", "time with at least one request"),
	recording.State("inflight", one, "/proc/diskstats", "requests under way"),
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
