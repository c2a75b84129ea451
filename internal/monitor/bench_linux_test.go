package monitor

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkReading is what a reading of this machine costs in processor time,
// the kernel's share included, beside some TCP connections. At one reading a
// second, 5 ms were 0.5 % of a core.
func BenchmarkReading(b *testing.B) {
	for _, connections := range []int{0, 50, 1000} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			connect(b, connections)
			r := New(Config{Step: time.Hour}).Start(context.Background())
			defer r.Stop()
			for _, s := range r.sources {
				if d, ok := s.(*diag); ok {
					d.allowed.perTurn = time.Hour // every reading pays for the queues
				}
			}
			b.ReportAllocs()
			before := ownCPU(b)
			tick := int64(0)
			for b.Loop() {
				tick++
				r.read(tick)
			}
			b.ReportMetric(float64((ownCPU(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkSource tells the sources of the cost apart.
func BenchmarkSource(b *testing.B) {
	r := New(Config{Step: time.Hour}).Start(context.Background())
	defer r.Stop()
	for i, s := range r.sources {
		name := fmt.Sprint(i)
		if f, ok := s.(*file); ok {
			name = f.f.Name()
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.read(func(string, float64) {})
			}
		})
	}
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
