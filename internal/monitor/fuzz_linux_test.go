package monitor

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
