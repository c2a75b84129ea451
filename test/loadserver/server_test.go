package loadserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestServerProcess: a server in a process of its own does what it is told,
// and its clock is ours.
func TestServerProcess(t *testing.T) {
	s := Start(t, Behaviour{Service: 10 * time.Millisecond, Body: 3})
	before := Now()
	get := func() string {
		r, err := http.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }() // it was read
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.StatusCode, string(b))
	}
	defer http.DefaultClient.CloseIdleConnections()
	if got := get(); got != "200xxx" {
		t.Errorf("got %s", got)
	}
	since := s.Set(Behaviour{Fail: Fail{Share: 1}})
	if got := get(); got != "503" {
		t.Errorf("after the change got %s", got)
	}
	after := Now()
	r := s.Take()
	if len(r.Requests) != 2 || r.Outstanding != 0 || r.CPU <= 0 {
		t.Fatalf("%+v, want two requests", r)
	}
	a, b := r.Requests[0], r.Requests[1]
	if a.Due-a.Arrived != 10*time.Millisecond || a.Arrived < before || a.Sent > since || b.Arrived < since || b.Sent > after {
		t.Errorf("%+v, %+v; asked between %v and %v, with a change at %v", a, b, before, after, since)
	}
	s.Stop()
	s.Stop() // once is enough, and twice no harm
	if c, err := net.Dial("tcp", s.Address()); err == nil {
		_ = c.Close()
		t.Error("it can be reached after Stop")
	}
}

// TestPrecision: answers leave when they are due, and never before. Half of them
// within a millisecond also on a busy machine and without root; BenchmarkServer
// shows how near they are otherwise.
func TestPrecision(t *testing.T) {
	s := Start(t, Behaviour{Service: 3 * time.Millisecond})
	users(t, s.Address(), 4, 500)
	r := s.Take()
	t.Logf("late: p50 %v, p99 %v, max %v", r.Late(.5), r.Late(.99), r.Late(1))
	if r.Count(OK) != 500 || r.Late(.5) > time.Millisecond || r.Late(1e-9) < 0 {
		t.Errorf("%d answers, half of them %v late", r.Count(OK), r.Late(.5))
	}
}

// TestRecordReplays: what the server says that it did follows from when requests
// arrived, and from nothing else; and no answer was sent before it was due.
func TestRecordReplays(t *testing.T) {
	const workers, service, n = 2, 2 * time.Millisecond, 400
	s := Start(t, Behaviour{Workers: workers, Service: service})
	users(t, s.Address(), 8, n)
	r := s.Take()
	if r.Count(OK) != n || r.Accepted != 8 {
		t.Fatalf("%d answers over %d connections, want %d over 8", r.Count(OK), r.Accepted, n)
	}
	var free [workers]time.Duration
	for i, x := range r.Requests {
		first := 0
		if free[1] < free[0] {
			first = 1
		}
		began := max(x.Arrived, free[first])
		free[first] = began + service
		if x.Began != began || x.Due != began+service || x.Sent < x.Due {
			t.Fatalf("request %d: %+v; want it to begin at %v", i, x, began)
		}
	}
	if took, least := r.Requests[n-1].Due-r.Requests[0].Arrived, n/workers*service; took < least {
		t.Errorf("all were served in %v, want at least %v", took, least)
	}
}

// users send n requests in all, each as soon as it has the answer before.
func users(t testing.TB, address string, many, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }() // all answers are read
			r := bufio.NewReader(c)
			for range n*(i+1)/many - n*i/many {
				if err := once(c, r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// once knows that answers have no body.
func once(c net.Conn, r *bufio.Reader) error {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || len(line) == 2 {
			return err
		}
	}
}

// BenchmarkServer offers about 20,000 requests a second, by twenty users and a
// service time of 1 ms, and shows how late answers are and how much of a
// processor the server takes.
func BenchmarkServer(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("load servers run on Linux only")
	}
	for _, service := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond} {
		b.Run(service.String(), func(b *testing.B) {
			s := Start(b, Behaviour{Service: service})
			s.Take()
			b.ResetTimer()
			users(b, s.Address(), 20, b.N)
			b.StopTimer()
			r := s.Take()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			b.ReportMetric(float64(r.CPU.Nanoseconds())/float64(b.N), "server-cpu-ns/op")
			for name, p := range map[string]float64{"p50": .5, "p99": .99, "p99.9": .999} {
				b.ReportMetric(float64(r.Late(p).Nanoseconds())/1e3, name+"-late-us")
			}
		})
	}
}

func BenchmarkDesk(b *testing.B) {
	d := newDesk(Behaviour{Workers: 16, Service: time.Millisecond, Times: Exponential, Room: 100}, 0)
	now := time.Duration(0)
	for b.Loop() {
		now += 70 * time.Microsecond
		d.receive(now)
	}
}

func BenchmarkParse(b *testing.B) {
	in := []byte("GET /index.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: scalebench\r\nAccept: */*\r\n\r\n")
	for b.Loop() {
		if _, n, err := parse(in); n != len(in) || err != nil {
			b.Fatal(n, err)
		}
	}
}
