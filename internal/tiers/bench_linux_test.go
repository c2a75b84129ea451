package tiers

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// threadsOf is a program with so many threads that wait.
const threadsOf = `
import sys, threading
threading.stack_size(65536)
e = threading.Event()
for _ in range(%d - 1):
    threading.Thread(target=e.wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
`

// BenchmarkReading is what one reading of the kernel costs in processor time, if
// every thread and connection is read each time.
func BenchmarkReading(b *testing.B) {
	for _, connections := range []int{10, 1000} {
		for _, n := range []int{10, 2000} {
			b.Run(fmt.Sprintf("connections=%d/threads=%d", connections, n), func(b *testing.B) {
				h := benchHost(b, connections, n)
				b.ReportAllocs()
				for b.Loop() {
					h.Read(func(string, float64) {})
				}
				b.ReportMetric(float64(h.spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
				for _, x := range h.bounds {
					b.ReportMetric(float64(x.spent.Nanoseconds())/float64(b.N), x.what+"-ns/op")
				}
			})
		}
	}
}

// BenchmarkBounded is the same with the bound, as it is used: the share of a core
// that readings every 50 ms take.
func BenchmarkBounded(b *testing.B) {
	h := benchHost(b, 1000, 2000)
	const step = 50 * time.Millisecond
	for _, x := range h.bounds {
		x.PerTurn = time.Duration(share * float64(step))
	}
	for b.Loop() {
		h.Read(func(string, float64) {})
	}
	b.ReportMetric(100*h.spent.Seconds()/(float64(b.N)*step.Seconds()), "%-of-a-core")
	b.ReportMetric(float64(h.bounds[0].took)/float64(b.N), "thread-readings/op")
	b.ReportMetric(float64(h.bounds[1].took)/float64(b.N), "connection-readings/op")
}

func benchHost(b *testing.B, connections, n int) *host {
	b.Helper()
	g := makeGroup(b)
	_, out, _ := command(b, g, "python3", "-c", fmt.Sprintf(threadsOf, n))
	if line, err := out.ReadString('\n'); line != "ready\n" {
		b.Fatalf("it said %q, %v", line, err)
	}
	l, err := net.Listen("tcp", ":0") // of all addresses, so that no other end has this port
	if err != nil {
		b.Fatal(err)
	}
	s := &listener{Listener: l, port: l.Addr().(*net.TCPAddr).Port}
	b.Cleanup(func() { _ = l.Close() }) // nothing can be done about it
	for i := range connections {
		here, there, err := s.connectFrom(fmt.Sprintf("127.0.1.%d", 1+i%20)) // more than have signals of their own
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _, _ = here.Close(), there.Close() }) // as above
	}
	d := &doubts{began: time.Now()}
	h := openHost(Config{Service: "svc", Group: g.dirs, Ports: []int{s.port}, Step: time.Hour}, d)
	b.Cleanup(h.Close)
	got := map[string]float64{}
	h.Read(func(name string, v float64) { got[name] = v })
	if got["threads"] != float64(n) || got["connections"] != float64(connections) {
		b.Fatalf("%v threads and %v connections, want %d and %d: %q", got["threads"], got["connections"], n, connections, d.texts())
	}
	h.spent = 0
	for _, x := range h.bounds {
		x.spent, x.took, x.left = 0, 0, 0
	}
	return h
}
