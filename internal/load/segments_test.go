package load

import "testing"

// TestSegmentsIn: a value stands in the line after its name; both must be known.
func TestSegmentsIn(t *testing.T) {
	const snmp = "Ip: InReceives\nIp: 5\nTcp: Max InSegs Out\nTcp: -1 1234 7\nTcp: 1 2 3\n"
	const netstat = "TcpExt: TCPOFOQueue Other\nTcpExt: 12 5\n"
	for _, c := range []struct {
		snmp, netstat string
		want          Segments
		ok            bool
	}{
		{snmp, netstat, Segments{In: 1234, OutOfOrder: 12}, true},
		{snmp, "", Segments{In: 1234}, false},
		{"", netstat, Segments{OutOfOrder: 12}, false},
		{"Udp: InSegs\nUdp: 1\n", netstat, Segments{OutOfOrder: 12}, false},
		{"Tcp: InSegs\n", netstat, Segments{OutOfOrder: 12}, false},
		{"Tcp: Out InSegs\nTcp: 4", netstat, Segments{OutOfOrder: 12}, false},
		{"Tcp: InSegs\nTcp: many\n", netstat, Segments{OutOfOrder: 12}, false},
	} {
		if got, ok := segmentsIn([]byte(c.snmp), []byte(c.netstat)); got != c.want || ok != c.ok {
			t.Errorf("segmentsIn(%q, %q) = %+v, %v, want %+v, %v", c.snmp, c.netstat, got, ok, c.want, c.ok)
		}
	}
}
