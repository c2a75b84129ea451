package load

import (
	"os"

	"github.com/scalebench/scalebench/internal/kernel"
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
	return segmentsIn(snmp, netstat)
}

// segmentsIn reads two tables of the kernel.
func segmentsIn(snmp, netstat []byte) (s Segments, ok bool) {
	found := 0
	kernel.Columns(snmp, "Tcp:", func(name []byte, n uint64) {
		if string(name) == "InSegs" {
			s.In, found = int64(n), found+1
		}
	})
	kernel.Columns(netstat, "TcpExt:", func(name []byte, n uint64) {
		if string(name) == "TCPOFOQueue" {
			s.OutOfOrder, found = int64(n), found+1
		}
	})
	return s, found == 2
}
