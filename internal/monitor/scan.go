package monitor

// The files of /proc are read every second, so they are cut up in place:
// nothing here allocates. Input that is not as expected is skipped; a metric
// that cannot be read is missing, never zero.

// emit takes one value of a metric. Counters are given as the kernel counts
// them; the sheet makes them start at 0.
type emit func(metric string, value float64)

// nextLine cuts off the first line, without its end.
func nextLine(b []byte) (line, rest []byte) {
	for i, c := range b {
		if c == '\n' {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

// nextField cuts off the first field, without the blanks around it; it is
// empty when there is none.
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

// eachPair calls fn for every line of the form "key value …" or "key: value
// …" whose value is a number.
func eachPair(b []byte, fn func(key []byte, value uint64)) {
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		key, rest := nextField(line)
		if n := len(key); n > 0 && key[n-1] == ':' {
			key = key[:n-1]
		}
		if value, _, ok := nextUint(rest); ok {
			fn(key, value)
		}
	}
}
