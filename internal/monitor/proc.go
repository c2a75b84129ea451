package monitor

import (
	"bytes"

	"github.com/scalebench/scalebench/internal/kernel"
)

// emit takes one value of a metric. Counters are given as the kernel counts
// them; the recording makes them start at 0.
type emit = kernel.Emit

// userHZ is the unit of processor times in /proc: 1/100 s on every processor
// that Linux shows to programs today, whatever its own tick is (proc(5)).
const userHZ = 100

// cpuKinds are the columns of the line "cpu" in /proc/stat. Kernels before
// 2.6.33 have fewer columns; what is not there is missing.
var cpuKinds = [...]string{"cpu.user", "cpu.nice", "cpu.system", "cpu.idle", "cpu.iowait",
	"cpu.irq", "cpu.softirq", "cpu.steal", "cpu.guest"}

// scaled is a metric; the file counts so many to one of its unit.
type scaled struct {
	name string
	per  float64
}

// put emits the number at the beginning of b.
func (m scaled) put(b []byte, out emit) {
	if n, _, ok := kernel.Uint(b); ok {
		out(m.name, float64(n)/m.per)
	}
}

// byKey are metrics by their keys in a file.
type byKey map[string]scaled

// put emits the metric with a key, if there is one.
func (m byKey) put(key []byte, n uint64, out emit) {
	if x, ok := m[string(key)]; ok {
		out(x.name, float64(n)/x.per)
	}
}

// parse reads a file of keys and numbers.
func (m byKey) parse(b []byte, out emit) {
	kernel.Pairs(b, func(key []byte, n uint64) { m.put(key, n, out) })
}

var statMetrics = byKey{
	"ctxt": {"sched.switches", 1}, "intr": {"sched.interrupts", 1}, "processes": {"sched.forks", 1},
	"procs_running": {"sched.running", 1}, "procs_blocked": {"sched.blocked", 1},
}

func parseStat(b []byte, out emit) {
	cores := 0
	for line := range kernel.Lines(b) {
		key, rest := kernel.Field(line)
		if metric, ok := statMetrics[string(key)]; ok {
			metric.put(rest, out)
		} else if string(key) == "cpu" {
			parseCPU(rest, out)
		} else if bytes.HasPrefix(key, []byte("cpu")) {
			cores++ // only processors that are online have a line
		}
	}
	if cores > 0 {
		out("cpu.cores", float64(cores))
	}
}

// parseCPU gives every kind of time once: the kernel counts the time of guests
// in user and nice as well, and it is taken out there.
func parseCPU(b []byte, out emit) {
	var t [10]uint64 // the ninth is guest, the tenth guest at low priority
	n := kernel.Uints(b, t[:])
	user, nice, guest := int64(t[0]-t[8]), int64(t[1]-t[9]), t[8]+t[9]
	t[0], t[1], t[8] = uint64(max(user, 0)), uint64(max(nice, 0)), guest
	for i, kind := range cpuKinds[:min(n, len(cpuKinds))] {
		out(kind, float64(t[i])/userHZ)
	}
}

// meminfoMetrics are lines of /proc/meminfo; a KiB is so much of a byte.
var meminfoMetrics = byKey{
	"MemTotal": {"memory.total", 1. / 1024}, "MemFree": {"memory.free", 1. / 1024},
	"MemAvailable": {"memory.available", 1. / 1024}, // since Linux 3.14
	"Dirty":        {"memory.dirty", 1. / 1024}, "Writeback": {"memory.writeback", 1. / 1024},
}

// parseMeminfo reads /proc/meminfo, with numbers in KiB.
func parseMeminfo(b []byte, out emit) {
	var cached, swapTotal, swapFree uint64
	var haveCached, haveSwap bool
	kernel.Pairs(b, func(key []byte, kib uint64) {
		meminfoMetrics.put(key, kib, out)
		switch string(key) {
		case "Buffers", "Cached":
			cached += kib
			haveCached = true
		case "SwapTotal":
			swapTotal = kib
		case "SwapFree":
			swapFree, haveSwap = kib, true
		}
	})
	if haveCached {
		out("memory.cached", float64(cached)*1024)
	}
	if haveSwap && swapTotal >= swapFree {
		out("memory.swap_used", float64(swapTotal-swapFree)*1024)
	}
}

// vmstatParser reads /proc/vmstat; it counts swapping in pages of this many
// bytes.
func vmstatParser(page int) func([]byte, emit) {
	perPage := 1 / float64(page)
	return byKey{
		"pswpin": {"memory.swap_in", perPage}, "pswpout": {"memory.swap_out", perPage},
		"pgmajfault": {"memory.major_faults", 1}, "oom_kill": {"memory.oom_kills", 1}, // since Linux 4.13
	}.parse
}

// pressureParser reads a file of /proc/pressure: lines "some avg10=… avg60=…
// avg300=… total=…" and "full …". Totals are µs. An empty name drops the line.
func pressureParser(some, full string) func([]byte, emit) {
	names := map[string]string{"some": some, "full": full}
	return func(b []byte, out emit) {
		for line := range kernel.Lines(b) {
			key, rest := kernel.Field(line)
			_, total, _ := bytes.Cut(rest, []byte(" total="))
			if us, ok := kernel.ParseUint(total); ok && names[string(key)] != "" {
				out(names[string(key)], float64(us)/1e6)
			}
		}
	}
}

var tcpMetrics = byKey{
	"CurrEstab": {"tcp.established", 1}, "OutSegs": {"tcp.segments_out", 1}, "RetransSegs": {"tcp.retransmits", 1},
}

// parseSNMP reads the two lines "Tcp:" of /proc/net/snmp.
func parseSNMP(b []byte, out emit) {
	kernel.Columns(b, "Tcp:", func(name []byte, n uint64) { tcpMetrics.put(name, n, out) })
}
