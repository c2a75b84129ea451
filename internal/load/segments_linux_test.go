package load_test

import (
	"io"
	"net"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
)

// TestCountSegments: what arrives over a connection of this machine is counted,
// and not as out of order.
func TestCountSegments(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(c, c) // until the other end has had enough
		_ = c.Close()
	}()
	before, ok := load.CountSegments()
	if !ok || before.In <= 0 {
		t.Fatalf("%+v, %v: the kernel does not say", before, ok)
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	const exchanges = 100
	b := make([]byte, 1)
	for range exchanges {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := load.CountSegments()
	got := after.Sub(before)
	if share, known := got.Share(); got.In < 2*exchanges || !known || share > .1 { // others of this machine count, too
		t.Errorf("%+v arrived, want %d or more, in order", got, 2*exchanges)
	}
	if share, known := (load.Segments{}).Share(); known {
		t.Errorf("of none, %v are out of order", share)
	}
}
