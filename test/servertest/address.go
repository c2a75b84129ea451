package servertest

import (
	"net"
	"testing"
)

// FreeAddress is an address of this machine, 127.0.0.1:PORT, at which nobody
// listens now. Somebody may before it is used: whoever starts a server there
// finds out.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}
