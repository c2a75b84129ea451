package tiers

import (
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/recording"
)

// Signals lists what is known of a service while it is watched: names without
// that of the service. Those of probes are there if a probe tells them.
func Signals() []recording.Metric {
	return slices.Concat(
		recording.Counters("s",
			"cpu", // processor time of the service (cpu.stat, cpuacct.usage, /proc/PID/stat)
			// time in which that limit kept it from running, of all processors together (cpu.stat)
			"throttled",
			// time that its threads were ready and did not run; its rate is the mean length of the
			// queue for the processor (/proc/TID/schedstat)
			"run_delay",
			// processor time of reading all the above: no part of the service's
			// (CLOCK_THREAD_CPUTIME_ID)
			"watch",
		),
		recording.States("1",
			// cores that it may use: the tightest limit of its control group and those above it,
			// at most the processors of the machine (cpu.max, cpu.cfs_quota_us)
			"quota",
			// threads of the service that run or wait for a processor, throttled ones included
			// (/proc/TID/status)
			"runnable",
			"threads", // all its threads (tasks, cgroup.threads, /proc/PID/task)
			// established on its ports, those that wait to be accepted included (sock_diag(7))
			"connections",
			"accept_queue", // connections that wait to be accepted
			"accept_limit", // how many may wait (backlog)
		),
		recording.Counters("1",
			"periods",           // periods of the limit in which it ran or wanted to (cpu.stat)
			"throttled_periods", // those in which it used up its quota
			// context switches of threads that had to wait for something (/proc/TID/status)
			"switches_voluntary",
			"switches_involuntary", // of threads that had to give way
			"retransmits",          // segments that its connections sent again (sock_diag(7))
			// connections that found the accept queue full, of the whole network namespace
			// (/proc/net/netstat)
			"listen_overflows",
			// connections that listeners dropped for any reason, of the whole network namespace
			"listen_drops",
			// readings, of the kernel or of a probe, that failed; the result says which, and why
			// (scalebench)
			"probe_failed",
		),
		recording.States("byte",
			// handed to the kernel by the service and not acknowledged by the other end (Send-Q),
			// of its connections together (sock_diag(7))
			"send_queue",
			"send_queue_max", // of the connection with the most
			queueOf+"*]",     // Send-Q of the connections from one address
			// received by the kernel and not read by the service yet (Recv-Q), of its connections
			// together (sock_diag(7))
			"receive_queue",
		),
		recording.Metric{Unit: "1", Counter: true, Late: true}.Named(
			// those that its connections from one address sent again (sock_diag(7))
			againOf+"*]",
		),
		recording.States("ms",
			// round-trip time (smoothed by the kernel), mean of the connections that sent
			// something in the last second (sock_diag(7))
			"rtt",
		),
		recording.Counters("byte",
			"tx_bytes", // sent by the host (network namespace), with headers (/proc/net/dev)
			"rx_bytes", // received by it
		),
		recording.States("byte/s",
			"link", // rate of its link, where it is known (configuration, the kernel of a lab)
			// that of what it receives, where that is known by itself; else `link`, too (the
			// kernel of a lab)
			"link_in",
		),
		probe.Metrics(),
	)
}

// The signals that are told of each address from which there are connections begin so.
const (
	queueOf = "send_queue["
	againOf = "retransmits["
)

// withoutOnly leaves out what is told by address where there was one alone: it is the
// same as that of all connections.
func withoutOnly(list []model.HostSeries) []model.HostSeries {
	addresses := 0
	for _, s := range list {
		if strings.HasPrefix(s.Metric, queueOf) {
			addresses++
		}
	}
	if addresses > 1 {
		return list
	}
	return slices.DeleteFunc(list, func(s model.HostSeries) bool {
		return strings.HasPrefix(s.Metric, queueOf) || strings.HasPrefix(s.Metric, againOf)
	})
}

// signal describes one by its name.
func signal(name string) recording.Metric {
	for _, s := range Signals() {
		if s.Name == probe.Pattern(name) {
			return s
		}
	}
	return recording.Metric{Name: name, Unit: "1"}
}
