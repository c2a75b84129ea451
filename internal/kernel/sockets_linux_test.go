package kernel

import (
	"encoding/hex"
	"net/netip"
	"testing"
)

// TestRemote: the address of the other end, of both IP versions, and of one within
// the other.
func TestRemote(t *testing.T) {
	for _, c := range []struct {
		name   string
		family byte
		bytes  string
		want   netip.Addr
	}{
		{"IPv4", 2, "0a000104" + "000000000000000000000000", netip.MustParseAddr("10.0.1.4")},
		{"IPv6", 10, "fd000000000000000000000000000005", netip.MustParseAddr("fd00::5")},
		{"IPv4 within IPv6", 10, "00000000000000000000ffff0a000104", netip.MustParseAddr("10.0.1.4")},
		{"none", 0, "00000000000000000000000000000000", netip.Addr{}},
	} {
		message := make([]byte, diagMessage)
		message[0] = c.family
		remote, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		copy(message[diagRemote:], remote)
		var s Socket
		s.set(message)
		if got := s.Remote(); got != c.want {
			t.Errorf("%s: Remote = %v, want %v", c.name, got, c.want)
		}
	}
}
