package load

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// Segments are TCP segments that arrived in this network namespace, which mostly
// is the machine, for whichever process.
type Segments struct {
	// In is all of them, as the kernel's driver handed them on: several of one
	// connection that came together may count as one.
	In int64
	// OutOfOrder are those that came while one sent earlier was missing: it was
	// lost on the way, or overtaken.
	OutOfOrder int64
}

// Sub returns what has arrived since before.
func (s Segments) Sub(before Segments) Segments {
	return Segments{In: s.In - before.In, OutOfOrder: s.OutOfOrder - before.OutOfOrder}
}

// Add counts others, too.
func (s *Segments) Add(o Segments) {
	s.In += o.In
	s.OutOfOrder += o.OutOfOrder
}

// Share is that of the segments out of order. known is false where none
// arrived, or none were counted.
func (s Segments) Share() (share float64, known bool) {
	if s.In <= 0 {
		return 0, false
	}
	return float64(s.OutOfOrder) / float64(s.In), true
}

// CountSegments returns how many have arrived since the network namespace was
// made. ok is false where the kernel does not say: only Linux does.
func CountSegments() (s Segments, ok bool) {
	const dir = "/proc/thread-self/net/"
	snmp, _ := os.ReadFile(dir + "snmp") // without it nothing is found in it
	netstat, _ := os.ReadFile(dir + "netstat")
	in, known := counter(snmp, "Tcp:", "InSegs")
	outOfOrder, knownToo := counter(netstat, "TcpExt:", "TCPOFOQueue")
	return Segments{In: in, OutOfOrder: outOfOrder}, known && knownToo
}

// counter finds a value in a table of the kernel: a line with the names, then
// one with the values; both begin with the table's name.
func counter(table []byte, of, name string) (value int64, ok bool) {
	var names [][]byte
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		switch {
		case len(fields) == 0 || string(fields[0]) != of:
		case names == nil:
			names = fields
		default:
			at := slices.IndexFunc(names, func(n []byte) bool { return string(n) == name })
			if at < 0 || at >= len(fields) {
				return 0, false
			}
			v, err := strconv.ParseInt(string(fields[at]), 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}
