package monitor

import (
	"math"
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
		var q queues
		done, err := q.addMessages(b)
		if err != nil && !done {
			t.Error("an error that is not the end")
		}
		if max := uint64(len(b)/(netlinkHeader+diagMessage)) * math.MaxUint32; q.send > max || q.receive > max {
			t.Errorf("queues of %d and %d bytes from %d bytes", q.send, q.receive, len(b))
		}
	})
}
