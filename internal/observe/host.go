package observe

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// The monitor's metrics that are judged and drawn; package monitor
// documents each with its source. All are counters, apart from those that are
// marked as states.
const (
	MetricUser         = "cpu.user"
	MetricNice         = "cpu.nice"
	MetricSystem       = "cpu.system"
	MetricGuest        = "cpu.guest"
	MetricIRQ          = "cpu.irq"
	MetricSoftIRQ      = "cpu.softirq"
	MetricIOWait       = "cpu.iowait"
	MetricSteal        = "cpu.steal"
	MetricIdle         = "cpu.idle"
	MetricCores        = "cpu.cores" // state
	MetricCgroupCPU    = "cgroup.cpu"
	MetricThrottled    = "cgroup.cpu_throttled"
	MetricCgroupMemory = "cgroup.memory"    // state
	MetricRunQueue     = "sched.running"    // state
	MetricMemTotal     = "memory.total"     // state
	MetricMemAvailable = "memory.available" // state
	MetricSwapIn       = "memory.swap_in"
	MetricSwapOut      = "memory.swap_out"
	MetricOOMKills     = "memory.oom_kills"
	MetricDiskRead     = "disk.read_bytes"
	MetricDiskWrite    = "disk.write_bytes"
	MetricReceived     = "net.rx_bytes"
	MetricSent         = "net.tx_bytes"
	MetricRxPackets    = "net.rx_packets"
	MetricTxPackets    = "net.tx_packets"
	MetricRxDrops      = "net.rx_drops"
	MetricTxDrops      = "net.tx_drops"
	MetricSegments     = "tcp.segments_out"
	MetricRetransmits  = "tcp.retransmits"
	MetricSendQueue    = "tcp.send_queue"    // state
	MetricReceiveQueue = "tcp.receive_queue" // state
	MetricPSICPU       = "psi.cpu_some"
	MetricPSIMemory    = "psi.memory_some"
	MetricPSIIO        = "psi.io_some"
)

// VolumePrefix is what the metrics of the volumes begin with that a node offers
// its workloads, "volume.NAME.write_bytes": they are no physical disks, and
// not part of the disks' sum.
const VolumePrefix = "volume."

// CPUKinds are all kinds of CPU time; together they are the time of all cores.
// The monitor counts the time of guests under its own name only.
var CPUKinds = []string{
	MetricUser, MetricNice, MetricGuest, MetricSystem, MetricIRQ, MetricSoftIRQ, MetricIOWait, MetricSteal, MetricIdle,
}

// CPURunning are the kinds in which something ran here.
var CPURunning = []string{MetricUser, MetricNice, MetricGuest, MetricSystem, MetricIRQ, MetricSoftIRQ}

// Host is what the monitor saw of one node during one task, in seconds
// since the agreed start of the task's step.
type Host struct {
	Node   model.NodeID
	Begin  float64 // where offset 0, the start of the task, lies
	End    float64 // of the task
	Series map[string]model.HostSeries
	// Others is how many cores the machine spent on anything but the task;
	// NaN where that is not known.
	Others float64
	// clock is how far off its clock may have been, step how far it was set since
	// the task before, skew the start skew of the task's step, NaN where it is not
	// known; in seconds.
	clock, step, skew float64
	pause             pause
	limited           bool    // the experiment limits its CPU
	limit             float64 // of its CPU, in cores; 0: none
}

// NewHost returns what was seen during the task of a result; zero is the
// agreed start of its step.
func NewHost(r model.Result, zero time.Time) Host {
	n := Host{
		Node: r.Node, Begin: r.Started.Sub(zero).Seconds(), End: r.Ended.Sub(zero).Seconds(),
		Series: make(map[string]model.HostSeries), Others: math.NaN(), clock: r.ClockError.Seconds(), skew: math.NaN(),
	}
	for _, s := range r.Samples {
		if s.Metric == model.MetricOtherCPU && s.Info {
			n.Others = s.Value
		}
	}
	for _, s := range r.Host {
		if len(s.Offsets) == len(s.Values) && len(s.Offsets) > 0 {
			n.Series[s.Metric] = s
		}
	}
	return n
}

// Readings are values of one metric at seconds since the agreed start.
type Readings struct{ Times, Values []float64 }

// Readings are the finite values of one metric.
func (n Host) Readings(metric string) Readings {
	s := n.Series[metric]
	var out Readings
	for i, at := range s.Offsets {
		if num.Finite(s.Values[i]) {
			out.Times = append(out.Times, n.Begin+float64(at)/1e9)
			out.Values = append(out.Values, s.Values[i])
		}
	}
	return out
}

// Counter are the readings of a counter of work that a task began at a moment, in s. At its
// start no work was done ([model.Series]).
func Counter(s model.Series, begin float64) (r Readings) {
	if len(s.Offsets) > 0 && s.Offsets[0] > 0 {
		r.Times, r.Values = append(r.Times, begin), append(r.Values, 0)
	}
	for i, at := range s.Offsets {
		r.Times = append(r.Times, begin+time.Duration(at).Seconds())
		r.Values = append(r.Values, s.Values[i])
	}
	return r
}

// Between is how much a counter grew from one moment to another.
func (r Readings) Between(from, to float64) float64 {
	before, k := stats.Interpolate(r.Times, r.Values, from, 0)
	after, _ := stats.Interpolate(r.Times, r.Values, to, k)
	return after - before
}

// Span is when the node was read.
func (n Host) Span() (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, s := range n.Series {
		from = min(from, n.Begin+float64(s.Offsets[0])/1e9)
		to = max(to, n.Begin+float64(s.Offsets[len(s.Offsets)-1])/1e9)
	}
	return from, to
}

// Spacing is the median time between two readings of a node, at least a
// tenth of a second; one second if it is unknown.
func (n Host) Spacing() float64 {
	var gaps []float64
	for _, s := range n.Series {
		for i := 1; i < len(s.Offsets); i++ {
			gaps = append(gaps, float64(s.Offsets[i]-s.Offsets[i-1])/1e9)
		}
		if len(gaps) > 0 {
			break // all metrics are read together
		}
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return max(gaps[len(gaps)/2], 0.1)
}
