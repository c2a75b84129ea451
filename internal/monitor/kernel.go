package monitor

// userHZ is the unit of processor times in /proc: 1/100 s on every processor
// that Linux shows to programs today, whatever its own tick is (proc(5)).
const userHZ = 100

// cpuKinds are the columns of the line "cpu" in /proc/stat. Kernels before
// 2.6.33 have fewer columns; what is not there is missing.
var cpuKinds = [...]string{"cpu.user", "cpu.nice", "cpu.system", "cpu.idle", "cpu.iowait",
	"cpu.irq", "cpu.softirq", "cpu.steal", "cpu.guest"}

// parseStat reads /proc/stat.
func parseStat(b []byte, out emit) {
	cores := 0
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		key, rest := nextField(line)
		if len(key) > 3 && string(key[:3]) == "cpu" {
			cores++ // only processors that are online have a line
			continue
		}
		switch string(key) {
		case "cpu":
			parseCPU(rest, out)
		case "ctxt":
			first(rest, "sched.switches", out)
		case "intr":
			first(rest, "sched.interrupts", out)
		case "processes":
			first(rest, "sched.forks", out)
		case "procs_running":
			first(rest, "sched.running", out)
		case "procs_blocked":
			first(rest, "sched.blocked", out)
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

// first emits the first number of a line.
func first(b []byte, metric string, out emit) {
	if n, _, ok := nextUint(b); ok {
		out(metric, float64(n))
	}
}

// parseMeminfo reads /proc/meminfo, whose numbers are KiB.
func parseMeminfo(b []byte, out emit) {
	var cached, swapTotal, swapFree uint64
	var haveCached, haveSwap bool
	eachPair(b, func(key []byte, kib uint64) {
		value := float64(kib) * 1024
		switch string(key) {
		case "MemTotal":
			out("memory.total", value)
		case "MemFree":
			out("memory.free", value)
		case "MemAvailable": // since Linux 3.14
			out("memory.available", value)
		case "Dirty":
			out("memory.dirty", value)
		case "Writeback":
			out("memory.writeback", value)
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
	return func(b []byte, out emit) {
		eachPair(b, func(key []byte, n uint64) {
			switch string(key) {
			case "pswpin":
				out("memory.swap_in", float64(n)*float64(page))
			case "pswpout":
				out("memory.swap_out", float64(n)*float64(page))
			case "pgmajfault":
				out("memory.major_faults", float64(n))
			case "oom_kill": // since Linux 4.13
				out("memory.oom_kills", float64(n))
			}
		})
	}
}

// pressureParser reads a file of /proc/pressure: lines "some avg10=… avg60=…
// avg300=… total=…" and "full …". Totals are µs. An empty name drops the line.
func pressureParser(some, full string) func([]byte, emit) {
	return func(b []byte, out emit) {
		for len(b) > 0 {
			var line []byte
			line, b = nextLine(b)
			key, rest := nextField(line)
			metric := ""
			switch string(key) {
			case "some":
				metric = some
			case "full":
				metric = full
			}
			if us, ok := pressureTotal(rest); ok && metric != "" {
				out(metric, float64(us)/1e6)
			}
		}
	}
}

func pressureTotal(b []byte) (us uint64, ok bool) {
	const prefix = "total="
	for len(b) > 0 {
		var field []byte
		field, b = nextField(b)
		if len(field) > len(prefix) && string(field[:len(prefix)]) == prefix {
			return parseUint(field[len(prefix):])
		}
	}
	return 0, false
}

// parseSNMP reads the two lines "Tcp:" of /proc/net/snmp: names, and values in
// the same order.
func parseSNMP(b []byte, out emit) {
	var names []byte
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		key, rest := nextField(line)
		if string(key) != "Tcp:" {
			continue
		}
		if names == nil {
			names = rest
			continue
		}
		parseTCP(names, rest, out)
		return
	}
}

func parseTCP(names, values []byte, out emit) {
	for len(names) > 0 && len(values) > 0 {
		var name, field []byte
		name, names = nextField(names)
		field, values = nextField(values)
		n, ok := parseUint(field) // MaxConn is -1
		if !ok {
			continue
		}
		switch string(name) {
		case "CurrEstab":
			out("tcp.established", float64(n))
		case "OutSegs":
			out("tcp.segments_out", float64(n))
		case "RetransSegs":
			out("tcp.retransmits", float64(n))
		}
	}
}
