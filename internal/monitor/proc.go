package monitor

import (
	"bytes"
	"iter"
)

// The files of /proc are read every second, so they are cut up in place:
// nothing here allocates. Input that is not as expected is skipped; a metric
// that cannot be read is missing, never zero.
//
// prometheus/procfs would take 3 to 13 times as long for each file, with 5 to 25
// kB of garbage; it does not know /proc/vmstat, and tells what is missing as 0.

// emit takes one value of a metric. Counters are given as the kernel counts
// them; the table makes them start at 0.
type emit func(metric string, value float64)

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
	if n, _, ok := nextUint(b); ok {
		out(m.name, float64(n)/m.per)
	}
}

// pairParser reads a file of keys and numbers.
func pairParser(metrics map[string]scaled) func([]byte, emit) {
	return func(b []byte, out emit) {
		eachPair(b, func(key []byte, n uint64) {
			if m, ok := metrics[string(key)]; ok {
				out(m.name, float64(n)/m.per)
			}
		})
	}
}

var statMetrics = map[string]scaled{
	"ctxt": {"sched.switches", 1}, "intr": {"sched.interrupts", 1}, "processes": {"sched.forks", 1},
	"procs_running": {"sched.running", 1}, "procs_blocked": {"sched.blocked", 1},
}

func parseStat(b []byte, out emit) {
	cores := 0
	for line := range lines(b) {
		key, rest := nextField(line)
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
	n := uints(b, t[:])
	user, nice, guest := int64(t[0]-t[8]), int64(t[1]-t[9]), t[8]+t[9]
	t[0], t[1], t[8] = uint64(max(user, 0)), uint64(max(nice, 0)), guest
	for i, kind := range cpuKinds[:min(n, len(cpuKinds))] {
		out(kind, float64(t[i])/userHZ)
	}
}

// meminfoMetrics are lines of /proc/meminfo; a KiB is so much of a byte.
var meminfoMetrics = map[string]scaled{
	"MemTotal": {"memory.total", 1. / 1024}, "MemFree": {"memory.free", 1. / 1024},
	"MemAvailable": {"memory.available", 1. / 1024}, // since Linux 3.14
	"Dirty":        {"memory.dirty", 1. / 1024}, "Writeback": {"memory.writeback", 1. / 1024},
}

// parseMeminfo reads /proc/meminfo, with numbers in KiB.
func parseMeminfo(b []byte, out emit) {
	var cached, swapTotal, swapFree uint64
	var haveCached, haveSwap bool
	eachPair(b, func(key []byte, kib uint64) {
		if m, ok := meminfoMetrics[string(key)]; ok {
			out(m.name, float64(kib)/m.per)
		}
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
	return pairParser(map[string]scaled{
		"pswpin": {"memory.swap_in", perPage}, "pswpout": {"memory.swap_out", perPage},
		"pgmajfault": {"memory.major_faults", 1}, "oom_kill": {"memory.oom_kills", 1}, // since Linux 4.13
	})
}

// pressureParser reads a file of /proc/pressure: lines "some avg10=… avg60=…
// avg300=… total=…" and "full …". Totals are µs. An empty name drops the line.
func pressureParser(some, full string) func([]byte, emit) {
	names := map[string]string{"some": some, "full": full}
	return func(b []byte, out emit) {
		for line := range lines(b) {
			key, rest := nextField(line)
			_, total, _ := bytes.Cut(rest, []byte(" total="))
			if us, ok := parseUint(total); ok && names[string(key)] != "" {
				out(names[string(key)], float64(us)/1e6)
			}
		}
	}
}

var tcpMetrics = map[string]scaled{
	"CurrEstab": {"tcp.established", 1}, "OutSegs": {"tcp.segments_out", 1}, "RetransSegs": {"tcp.retransmits", 1},
}

// parseSNMP reads the two lines "Tcp:" of /proc/net/snmp: names, and values in
// the same order.
func parseSNMP(b []byte, out emit) {
	var names []byte
	for line := range lines(b) {
		key, values := nextField(line)
		switch {
		case string(key) != "Tcp:":
			continue
		case names == nil:
			names = values
			continue
		}
		for len(names) > 0 && len(values) > 0 {
			var name, value []byte
			name, names = nextField(names)
			value, values = nextField(values)
			if m, ok := tcpMetrics[string(name)]; ok {
				m.put(value, out)
			}
		}
		return
	}
}

// lines are those of a file, without their ends.
func lines(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			line, rest, _ := bytes.Cut(b, []byte{'\n'})
			if !yield(line) {
				return
			}
			b = rest
		}
	}
}

// nextField cuts off the first field, without the blanks around it; it is
// empty if b has no field.
func nextField(b []byte) (field, rest []byte) {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for i, c := range b {
		if blank(c) {
			return b[:i], b[i:]
		}
	}
	return b, nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// parseUint reads a decimal number that fills the field.
func parseUint(field []byte) (n uint64, ok bool) {
	if len(field) == 0 {
		return 0, false
	}
	for _, c := range field {
		d := uint64(c - '0')
		if d > 9 || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// nextUint is parseUint of the next field.
func nextUint(b []byte) (n uint64, rest []byte, ok bool) {
	field, rest := nextField(b)
	n, ok = parseUint(field)
	return n, rest, ok
}

// uints fills list with the numbers at the beginning of b and returns how
// many there were.
func uints(b []byte, list []uint64) int {
	for i := range list {
		var ok bool
		if list[i], b, ok = nextUint(b); !ok {
			return i
		}
	}
	return len(list)
}

// eachPair calls fn for every line of the form "key number …" or "key: number
// …".
func eachPair(b []byte, fn func(key []byte, value uint64)) {
	for line := range lines(b) {
		key, rest := nextField(line)
		if value, _, ok := nextUint(rest); ok {
			fn(bytes.TrimSuffix(key, []byte{':'}), value)
		}
	}
}
