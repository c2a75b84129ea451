package kernel

import (
	"syscall"
	"testing"
)

// FuzzLink: no answer of the kernel makes the parser of interfaces panic.
func FuzzLink(f *testing.F) {
	rib, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		f.Fatal(err)
	}
	messages, err := syscall.ParseNetlinkMessage(rib)
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range messages {
		f.Add(m.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := syscall.NetlinkMessage{Data: data}
		m.Header.Type = syscall.RTM_NEWLINK
		if l, ok := parseLink(&m); ok && l.name == "" {
			t.Errorf("parseLink = %+v without a name", l)
		}
	})
}

// FuzzMessages: no answer of the kernel makes the parsers of netlink panic.
func FuzzMessages(f *testing.F) {
	f.Add(make([]byte, netlinkHeader+diagMessage))
	f.Add([]byte{88, 0, 0, 0, 20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{16, 0, 0, 0, 3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Socket
		sockets := 0
		done, err := s.each(b, func(s *Socket) {
			sockets++
			s.Info()
			s.Remote()
		})
		if err != nil && !done {
			t.Error("an error that is not the end")
		}
		if most := len(b) / (netlinkHeader + diagMessage); sockets > most {
			t.Errorf("%d sockets from %d bytes", sockets, len(b))
		}
	})
}

// FuzzFiles: no text makes a parser panic or go back.
func FuzzFiles(f *testing.F) {
	f.Add(netText(map[string]uint64{"lo": 1, "eth0": 10}, ": "))
	f.Add("TcpExt: ListenOverflows\nTcpExt: 5\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := NewNetwork(func() []Link { return nil })
		for range 2 {
			n.Parse([]byte(text), func(metric string, v float64) {
				if !(v >= 0) {
					t.Errorf("%s = %v", metric, v)
				}
			})
		}
		Columns([]byte(text), "TcpExt:", func([]byte, uint64) {})
	})
}
