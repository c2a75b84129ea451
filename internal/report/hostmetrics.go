package report

import (
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// The monitor's metrics that the page draws and judges; package monitor
// documents each with its source. All are counters, apart from those that are
// marked as states.
const (
	hostUser         = "cpu.user"
	hostNice         = "cpu.nice"
	hostSystem       = "cpu.system"
	hostGuest        = "cpu.guest"
	hostIRQ          = "cpu.irq"
	hostSoftIRQ      = "cpu.softirq"
	hostIOWait       = "cpu.iowait"
	hostSteal        = "cpu.steal"
	hostIdle         = "cpu.idle"
	hostCores        = "cpu.cores" // state
	hostCgroupCPU    = "cgroup.cpu"
	hostThrottled    = "cgroup.cpu_throttled"
	hostCgroupMemory = "cgroup.memory"    // state
	hostRunQueue     = "sched.running"    // state
	hostMemTotal     = "memory.total"     // state
	hostMemAvailable = "memory.available" // state
	hostSwapIn       = "memory.swap_in"
	hostSwapOut      = "memory.swap_out"
	hostOOMKills     = "memory.oom_kills"
	hostDiskRead     = "disk.read_bytes"
	hostDiskWrite    = "disk.write_bytes"
	hostReceived     = "net.rx_bytes"
	hostSent         = "net.tx_bytes"
	hostRxPackets    = "net.rx_packets"
	hostTxPackets    = "net.tx_packets"
	hostRxDrops      = "net.rx_drops"
	hostTxDrops      = "net.tx_drops"
	hostSegments     = "tcp.segments_out"
	hostRetransmits  = "tcp.retransmits"
	hostSendQueue    = "tcp.send_queue" // state
	hostPSICPU       = "psi.cpu_some"
	hostPSIMemory    = "psi.memory_some"
	hostPSIIO        = "psi.io_some"
)

// hostVolume is what the metrics of the volumes begin with that a node offers
// its workloads, "volume.NAME.write_bytes": they are no physical disks, and
// not part of the disks' sum.
const hostVolume = "volume."

// cpuKinds are all kinds of CPU time; together they are the time of all cores.
// The monitor counts the time of guests under its own name only.
var cpuKinds = []string{
	hostUser, hostNice, hostGuest, hostSystem, hostIRQ, hostSoftIRQ, hostIOWait, hostSteal, hostIdle,
}

// cpuRunning are the kinds in which something ran here.
var cpuRunning = []string{hostUser, hostNice, hostGuest, hostSystem, hostIRQ, hostSoftIRQ}

// hostPanel is one small chart of a node over time.
type hostPanel struct {
	title string
	// scale chooses the unit of the values from the largest.
	scale func(top float64) num.Scale
	// top is the least that the axis reaches; 0 follows the values.
	top float64
	// of computes the values over a grid; nil where the node has none.
	of func(hostNode, grid) []float64
}

// percentScale prints shares between 0 and 1 as percent.
func percentScale(float64) num.Scale { return num.Scale{Factor: 0.01, Unit: "%"} }

func unitScale(resource, unit string) func(float64) num.Scale {
	return func(top float64) num.Scale { return rateScale(resource, unit, top) }
}

// hostPanels are the charts with one line a node, in the order of the page.
// A chart in which nothing happened on any node is named and not drawn.
var hostPanels = []hostPanel{
	{"CPU at work", percentScale, 1, cpuBusy},
	{"CPU of the node’s own processes", unitScale("", "cores"), 0, rateOf(hostCgroupCPU)},
	{"Held back by its CPU limit, all cores together", unitScale("", "s/s"), 0, rateOf(hostThrottled)},
	{"Run queue: threads that run or could", unitScale("", ""), 0, stateOf(hostRunQueue)},
	{"Memory in use", unitScale("", "B"), 0, memoryUsed},
	{"Memory of the node’s own processes", unitScale("", "B"), 0, stateOf(hostCgroupMemory)},
	{"Disk reads", unitScale("", "B/s"), 0, rateOf(hostDiskRead)},
	{"Disk writes", unitScale("", "B/s"), 0, rateOf(hostDiskWrite)},
	{"Volumes, reads", unitScale("", "B/s"), 0, volumeRate("read_bytes")},
	{"Volumes, writes", unitScale("", "B/s"), 0, volumeRate("write_bytes")},
	{"Network, receiving", unitScale("network.receive", "B/s"), 0, rateOf(hostReceived)},
	{"Network, sending", unitScale("network.send", "B/s"), 0, rateOf(hostSent)},
	{"Sent and not acknowledged (send queue)", unitScale("", "B"), 0, stateOf(hostSendQueue)},
	{"Waiting for CPU (PSI some)", percentScale, 0, rateOf(hostPSICPU)},
	{"Waiting for memory (PSI some)", percentScale, 0, rateOf(hostPSIMemory)},
	{"Waiting for I/O (PSI some)", percentScale, 0, rateOf(hostPSIIO)},
}

// cpuLayers are the parts of the stacked chart, from the bottom.
var cpuLayers = []struct {
	name, class string
	kinds       []string
}{
	{"user", "user", []string{hostUser, hostNice, hostGuest}},
	{"system", "system", []string{hostSystem, hostIRQ, hostSoftIRQ}},
	{"waiting for I/O", "iowait", []string{hostIOWait}},
	{"stolen", "steal", []string{hostSteal}},
}

// rateOf is how fast a counter grew.
func rateOf(metric string) func(hostNode, grid) []float64 {
	return func(n hostNode, g grid) []float64 { return g.rates(n.series(metric)) }
}

// volumeRate adds up what all volumes of a node read or wrote.
func volumeRate(suffix string) func(hostNode, grid) []float64 {
	return func(n hostNode, g grid) []float64 {
		var metrics []string
		for m := range n.byName {
			if strings.HasPrefix(m, hostVolume) && strings.HasSuffix(m, "."+suffix) {
				metrics = append(metrics, m)
			}
		}
		slices.Sort(metrics)
		return g.sum(n, metrics)
	}
}

// stateOf is what a gauge read.
func stateOf(metric string) func(hostNode, grid) []float64 {
	return func(n hostNode, g grid) []float64 { return g.states(n.series(metric)) }
}

// memoryUsed is what is not available, as the kernel estimates it.
func memoryUsed(n hostNode, g grid) []float64 {
	total, available := g.states(n.series(hostMemTotal)), g.states(n.series(hostMemAvailable))
	if total == nil || available == nil {
		return nil
	}
	for i := range total {
		total[i] -= available[i]
	}
	return total
}

// cpuShare is the share of all cores' time that went to some kinds.
func cpuShare(n hostNode, g grid, kinds []string) []float64 {
	all, part := g.sum(n, cpuKinds), g.sum(n, kinds)
	if all == nil || part == nil {
		return nil
	}
	for i := range part {
		part[i] /= all[i]
	}
	return part
}

// cpuBusy is the share of all cores' time in which something ran here.
func cpuBusy(n hostNode, g grid) []float64 {
	return cpuShare(n, g, cpuRunning)
}
