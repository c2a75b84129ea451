package tiers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/recording"
)

// Signals lists what is known of a service while it is watched: names without
// that of the service. Those of probes are there if a probe tells them.
func Signals() []recording.Metric {
	kernel := []recording.Metric{
		recording.Counter("cpu", "s", "cpu.stat, cpuacct.usage, /proc/PID/stat", "processor time of the service"),
		recording.State("quota", "1", "cpu.max, cpu.cfs_quota_us", "cores that it may use: the tightest limit of its control group and those above it, at most the processors of the machine"),
		recording.Counter("throttled", "s", "cpu.stat", "time in which that limit kept it from running, of all processors together"),
		recording.Counter("periods", "1", "cpu.stat", "periods of the limit in which it ran or wanted to"),
		recording.Counter("throttled_periods", "1", "cpu.stat", "those in which it used up its quota"),
		recording.State("runnable", "1", "/proc/TID/status", "threads of the service that run or wait for a processor, throttled ones included"),
		recording.State("threads", "1", "tasks, cgroup.threads, /proc/PID/task", "all its threads"),
		recording.Counter("run_delay", "s", "/proc/TID/schedstat", "time that its threads were ready and did not run; its rate is the mean length of the queue for the processor"),
		recording.Counter("switches_voluntary", "1", "/proc/TID/status", "context switches of threads that had to wait for something"),
		recording.Counter("switches_involuntary", "1", "/proc/TID/status", "of threads that had to give way"),
		recording.State("connections", "1", "sock_diag(7)", "established on its ports, those that wait to be accepted included"),
		recording.State("send_queue", "byte", "sock_diag(7)", "handed to the kernel by the service and not acknowledged by the other end (Send-Q), of its connections together"),
		recording.State("send_queue_max", "byte", "sock_diag(7)", "of the connection with the most"),
		recording.State(queueOf+"*]", "byte", "sock_diag(7)", "Send-Q of the connections from one address"),
		recording.Counter("retransmits", "1", "sock_diag(7)", "segments that its connections sent again"),
		recording.BeginningLate(recording.Counter(againOf+"*]", "1", "sock_diag(7)", "those that its connections from one address sent again")),
		recording.State("rtt", "ms", "sock_diag(7)", "round-trip time (smoothed by the kernel), mean of the connections that sent something in the last second"),
		recording.State("accept_queue", "1", "sock_diag(7)", "connections that wait to be accepted"),
		recording.State("accept_limit", "1", "sock_diag(7)", "how many may wait (backlog)"),
		recording.Counter("listen_overflows", "1", "/proc/net/netstat", "connections that found the accept queue full, of the whole network namespace"),
		recording.Counter("listen_drops", "1", "/proc/net/netstat", "connections that listeners dropped for any reason, of the whole network namespace"),
		recording.Counter("tx_bytes", "byte", "/proc/net/dev", "sent by the host (network namespace), with headers"),
		recording.Counter("rx_bytes", "byte", "/proc/net/dev", "received by it"),
		recording.State("link", "byte/s", "configuration, the kernel of a lab", "rate of its link, where it is known"),
		recording.State("link_in", "byte/s", "the kernel of a lab", "that of what it receives, where that is known by itself; else `link`, too"),
		recording.Counter("watch", "s", "CLOCK_THREAD_CPUTIME_ID", "processor time of reading all the above: no part of the service's"),
		recording.Counter("probe_failed", "1", "scalebench", "readings, of the kernel or of a probe, that failed; the result says which, and why"),
	}
	return append(kernel, probe.Metrics()...)
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

// Table is the list of signals in Markdown, as docs/ntier.md has it.
func Table() string {
	var b strings.Builder
	b.WriteString("| signal | unit | source | what it is |\n|---|---|---|---|\n")
	for _, s := range Signals() {
		unit := s.Unit
		if s.Counter {
			unit += ", counter"
		}
		source := s.Source
		if source == "probe" {
			source = "probe: " + strings.Join(tellers(s.Name), ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, unit, source, s.Text)
	}
	return b.String()
}

// tellers are the kinds of servers that tell a signal.
func tellers(signal string) []string {
	var names []string
	for _, k := range probe.Kinds() {
		for _, t := range k.Tells {
			if t == signal {
				names = append(names, k.Name)
			}
		}
	}
	return names
}
