package observe

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Units of what nodes take, a second.
const (
	ByteRate   = "byte/s"
	CallRate   = "op/s" // operations of a disk, calls of a service
	PacketRate = "packet/s"
	Core       = "core" // of processor time
)

// Metrics of the workload jobs that say how long a job takes, in s, and what of a store. Each is
// the mean of a node's task.
const (
	MetricJobs        = "jobs"
	MetricJobTime     = "jobs_time"
	MetricGetBytes    = "jobs_get_bytes"
	MetricPutBytes    = "jobs_put_bytes"
	MetricGetRequests = "jobs_get_requests"
	MetricPutRequests = "jobs_put_requests"
)

// Meter says what tells how much a node takes of a resource.
type Meter struct {
	Resource, Unit string
	// counters are alternatives of which the first that the monitor recorded counts. A
	// name may hold one "*".
	counters [][]string
	// perJob is a metric of the workload jobs, where the monitor knows nothing.
	perJob string
}

// Meters are what a node may take, that of the cpu first. A node in a control group of its
// own has its processor time there; else it is the machine's. Volumes are what the node was
// given to write to; else it is all of its disks.
func Meters() []Meter {
	disk := func(resource, unit, counter string) Meter {
		return Meter{Resource: resource, Unit: unit,
			counters: [][]string{{VolumePrefix + "*." + counter}, {"disk." + counter}}}
	}
	net := func(resource, unit, counter string) Meter {
		return Meter{Resource: resource, Unit: unit, counters: [][]string{{counter}}}
	}
	return []Meter{
		{Resource: model.ResourceCPU, Unit: Core, counters: [][]string{{MetricCgroupCPU},
			{MetricUser, MetricNice, MetricSystem, MetricIRQ, MetricSoftIRQ, MetricGuest}}},
		disk(model.ResourceDiskRead, ByteRate, "read_bytes"),
		disk(model.ResourceDiskWrite, ByteRate, "write_bytes"),
		net(model.ResourceNetworkReceive, ByteRate, MetricReceived),
		net(model.ResourceNetworkSend, ByteRate, MetricSent),
		disk(model.ResourceDiskRead, CallRate, "reads"),
		disk(model.ResourceDiskWrite, CallRate, "writes"),
		net(model.ResourceNetworkReceive, PacketRate, MetricRxPackets),
		net(model.ResourceNetworkSend, PacketRate, MetricTxPackets),
		{Resource: model.ResourceObjectGet, Unit: ByteRate, perJob: MetricGetBytes},
		{Resource: model.ResourceObjectGet, Unit: CallRate, perJob: MetricGetRequests},
		{Resource: model.ResourceObjectPut, Unit: ByteRate, perJob: MetricPutBytes},
		{Resource: model.ResourceObjectPut, Unit: CallRate, perJob: MetricPutRequests},
	}
}

// largestFrame is what a packet on a wire has at most: Ethernet with 1500-byte packets.
const largestFrame = 1518

// Segmented reports whether a node that counts so many bytes in so many packets counts them
// before its network device divides them. More go over the wire then.
func Segmented(bytes, packets float64) bool { return bytes > largestFrame*packets }

// Monitored reports whether the monitor tells.
func (m Meter) Monitored() bool { return m.perJob == "" }

// PerJob is the metric of the workload jobs that tells; empty: the monitor does.
func (m Meter) PerJob() string { return m.perJob }

// AtOnce is how many jobs a node worked on at once, by Little's law; NaN: it did none.
func AtOnce(r model.Result) float64 { return valueOf(r, MetricJobs) * valueOf(r, MetricJobTime) }

// Counters are all names of the monitor's metrics that may count.
func (m Meter) Counters() []string { return slices.Concat(m.counters...) }

// Rate is what a task took a second in its first time, so long. Every counter of the
// alternative must be there; a name with "*" stands for all that match, at least one.
func (m Meter) Rate(r model.Result, length time.Duration) (rate float64, known bool) {
	if !m.Monitored() {
		jobs, each := valueOf(r, MetricJobs), valueOf(r, m.perJob)
		return jobs * each, jobs > 0 && each > 0
	}
	for _, names := range m.counters {
		var sum float64
		complete := true
		for _, name := range names {
			rate, ok := hostRate(r, name, length)
			sum += rate
			// Old kernels do not count every kind of processor time; without
			// the first there is nothing to add to.
			complete = complete && (ok || name != names[0])
		}
		if complete {
			return sum, true
		}
	}
	return 0, false
}

// valueOf is the value that a task reported of a metric; NaN: none.
func valueOf(r model.Result, metric string) float64 {
	for _, s := range r.Samples {
		if s.Metric == metric {
			return s.Value
		}
	}
	return math.NaN()
}

// hostRate adds up the rates of the counters of this name.
func hostRate(r model.Result, name string, length time.Duration) (sum float64, ok bool) {
	before, after, many := strings.Cut(name, "*")
	for _, h := range r.Host {
		matches := h.Metric == name || many && strings.HasPrefix(h.Metric, before) && strings.HasSuffix(h.Metric, after)
		if !matches || !h.Counter {
			continue
		}
		if rate, known := counterRate(h, length); known {
			sum, ok = sum+rate, true
		}
	}
	return sum, ok
}

// outside is how far, as a part of the task's length, a reading may lie before
// its start or after its end and still count for it: the monitor takes one just
// before and one just after. Idle time in between dilutes the rate by so much
// at most at either end.
const outside = 0.02

// counterRate is the rate of a counter between its first and its last reading
// of the task. They must cover half of it: nothing is extrapolated.
func counterRate(h model.HostSeries, length time.Duration) (float64, bool) {
	if len(h.Offsets) != len(h.Values) {
		return 0, false
	}
	slack := int64(outside * float64(length))
	first, last := -1, -1
	for i, offset := range h.Offsets {
		if offset < -slack || offset > int64(length)+slack {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 || last <= first {
		return 0, false
	}
	covered := time.Duration(h.Offsets[last] - h.Offsets[first])
	if covered <= 0 || 2*covered < length || h.Values[last] < h.Values[first] {
		return 0, false
	}
	return (h.Values[last] - h.Values[first]) / covered.Seconds(), true
}
