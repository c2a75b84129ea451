package monitor

import (
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/kernel"
)

// BenchmarkReading is what a reading of this machine costs in processor time,
// the kernel's share included, beside some TCP connections. At one reading a
// second, 5 ms were 0.5 % of a core.
func BenchmarkReading(b *testing.B) {
	for _, connections := range []int{0, 50, 1000} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			connect(b, connections)
			sources := openAll(b)
			for _, s := range sources {
				if d, ok := s.(*diag); ok {
					d.allowed.PerTurn = time.Hour // every reading pays for the queues
				}
			}
			b.ReportAllocs()
			before := ownCPU(b)
			for b.Loop() {
				for _, s := range sources {
					s.Read(func(string, float64) {})
				}
			}
			b.ReportMetric(float64((ownCPU(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkSource tells the sources of the cost apart.
func BenchmarkSource(b *testing.B) {
	for i, s := range openAll(b) {
		name := fmt.Sprint(i)
		if f, ok := s.(*kernel.File); ok {
			name = f.Name()
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Read(func(string, float64) {})
			}
		})
	}
}

// openAll opens all sources, until the end.
func openAll(b *testing.B) []source {
	b.Helper()
	sources := New(Config{}).open()
	b.Cleanup(func() {
		for _, s := range sources {
			s.Close()
		}
	})
	return sources
}

// connect holds so many connections open over loopback until the end.
func connect(b *testing.B, n int) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() }) // nothing can be done about it
	for range n {
		for _, open := range []func() (net.Conn, error){
			func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }, l.Accept,
		} {
			c, err := open()
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = c.Close() }) // as above
		}
	}
}

// ownCPU is the processor time of this process, user and system.
func ownCPU(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}
