package load

import (
	"bytes"
	"os"
	"strconv"
)

// Segments are TCP segments that arrived at this machine, or this network
// namespace of it, for whichever process.
type Segments struct {
	// In is all of them, as the kernel handed them on: several that came
	// together may count as one.
	In int64
	// Disordered are those that came before one sent earlier: that was lost on
	// the way, or overtaken.
	Disordered int64
}

// Sub returns what has arrived since before.
func (s Segments) Sub(before Segments) Segments {
	return Segments{In: s.In - before.In, Disordered: s.Disordered - before.Disordered}
}

// Add counts others, too.
func (s *Segments) Add(o Segments) {
	s.In += o.In
	s.Disordered += o.Disordered
}

// Share is that of the disordered; 0 where none arrived.
func (s Segments) Share() float64 {
	if s.In <= 0 {
		return 0
	}
	return float64(s.Disordered) / float64(s.In)
}

// CountSegments returns how many have arrived since the machine started. ok is
// false where the kernel does not say: only Linux does.
func CountSegments() (s Segments, ok bool) {
	const dir = "/proc/thread-self/net/"
	snmp, err := os.ReadFile(dir + "snmp")
	if err != nil {
		return Segments{}, false
	}
	netstat, err := os.ReadFile(dir + "netstat")
	if err != nil {
		return Segments{}, false
	}
	in, known := counter(snmp, "Tcp:", "InSegs")
	disordered, knownToo := counter(netstat, "TcpExt:", "TCPOFOQueue")
	return Segments{In: in, Disordered: disordered}, known && knownToo
}

// counter finds a value in a table of the kernel's: a line with the names and,
// after it, one with the values, both of which begin with the table's name.
func counter(table []byte, of, name string) (value int64, ok bool) {
	var names []string
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != of {
			continue
		}
		if names == nil {
			for _, f := range fields {
				names = append(names, string(f))
			}
			continue
		}
		for i, n := range names {
			if n == name && i < len(fields) {
				v, err := strconv.ParseInt(string(fields[i]), 10, 64)
				return v, err == nil
			}
		}
		return 0, false
	}
	return 0, false
}
