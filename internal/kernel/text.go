// Package kernel reads what Linux tells of itself again and again: files of
// /proc and of control groups, network interfaces, TCP sockets.
//
// Such reading happens every second, or more often, beside what is measured. So
// files stay open, and text is cut up in place: nothing here allocates once it
// runs. Input that is not as expected is skipped; what cannot be read is missing,
// never zero.
//
// prometheus/procfs would take 3 to 13 times as long for each file, with 5 to 25
// kB of garbage; it does not know /proc/vmstat, and tells what is missing as 0.
package kernel

import (
	"bytes"
	"iter"
)

// Emit takes one value of a metric. Counters are given as the kernel counts
// them.
type Emit = func(metric string, value float64)

// Lines are those of a file, without their ends.
func Lines(b []byte) iter.Seq[[]byte] {
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

// Field cuts off the first field, without the blanks around it; it is empty if b
// has no field.
func Field(b []byte) (field, rest []byte) {
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

// ParseUint reads a decimal number that fills the field.
func ParseUint(field []byte) (n uint64, ok bool) {
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

// Uint is ParseUint of the next field.
func Uint(b []byte) (n uint64, rest []byte, ok bool) {
	field, rest := Field(b)
	n, ok = ParseUint(field)
	return n, rest, ok
}

// Uints fills list with the numbers at the beginning of b and returns how
// many there were.
func Uints(b []byte, list []uint64) int {
	for i := range list {
		var ok bool
		if list[i], b, ok = Uint(b); !ok {
			return i
		}
	}
	return len(list)
}

// Pairs calls fn for every line of the form "key number …" or "key: number …".
func Pairs(b []byte, fn func(key []byte, value uint64)) {
	for line := range Lines(b) {
		key, rest := Field(line)
		if value, _, ok := Uint(rest); ok {
			fn(bytes.TrimSuffix(key, []byte{':'}), value)
		}
	}
}

// Columns calls fn for the numbers of the first two lines that begin with a
// word, as "Tcp:" in /proc/net/snmp: names, and values in the same order.
func Columns(b []byte, word string, fn func(name []byte, value uint64)) {
	var names []byte
	for line := range Lines(b) {
		key, values := Field(line)
		switch {
		case string(key) != word:
			continue
		case names == nil:
			names = values
			continue
		}
		for len(names) > 0 && len(values) > 0 {
			var name, value []byte
			name, names = Field(names)
			value, values = Field(values)
			if n, ok := ParseUint(value); ok {
				fn(name, n)
			}
		}
		return
	}
}

// Counter adds up what one of the kernel's counters gained since it was first
// seen. Sums over devices are sums of counters: a device that comes, goes or is
// reset must not make them jump.
type Counter struct {
	Total uint64 // gained
	last  uint64
	seen  bool
}

// Add takes a reading of the kernel's counter.
func (t *Counter) Add(raw uint64) {
	if t.seen {
		t.Total += gain(t.last, raw)
	}
	t.last, t.seen = raw, true
}

// gain is how far a counter went from one reading to the next. One that went
// back has wrapped, or was reset and began at 0.
func gain(last, raw uint64) uint64 {
	switch {
	case raw >= last:
		return raw - last
	case Wrapped(last, raw):
		return uint64(uint32(raw - last))
	}
	return raw
}

// Wrapped reports whether a counter that went back may have passed 2³², where the
// kernel counts in 32 bits (times of disks, bytes of interfaces on 32-bit machines).
func Wrapped(last, raw uint64) bool {
	return raw < last && last < 1<<32 && uint32(raw-last) < 1<<31
}
