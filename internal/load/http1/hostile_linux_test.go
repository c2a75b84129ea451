package http1

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
)

// TestHostile: whatever a server does, each operation ends as what happened to
// it, in time, and the first is told as an example.
func TestHostile(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct {
		handle func(*server, *net.TCPConn)
		want   load.Kind
		says   string
	}{
		"a byte at a time": {loris(okAnswer, 20*time.Millisecond), load.ErrTimeout,
			"the answer began and did not end within"},
		"never answers": {never(), load.ErrTimeout, "connected, no answer to the request within"},
		"interim answers, then nothing": {answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
			return say(c, "HTTP/1.1 100 Continue\r\n\r\n")
		}), load.ErrTimeout, "the answer began and did not end within"},
		"endless header": {endless("HTTP/1.1 200 OK\r\n", lines(1000)), load.ErrProtocol,
			"the header of the answer is larger than the 256KiB allowed"},
		"endless line": {endless("HTTP/1.1 200 OK\r\nX: ", strings.Repeat("y", 5000)), load.ErrProtocol,
			"the header of the answer is larger than the 256KiB allowed"},
		"endless interim answers": {endless("", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100)),
			load.ErrProtocol, "the header of the answer is larger than the 256KiB allowed"},
		"endless chunks": {endless(chunked, "400\r\n"+strings.Repeat("x", 1024)+"\r\n"), load.ErrProtocol,
			"the body of the answer is larger than the 1MiB allowed"},
		"endless body": {endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 32<<10)),
			load.ErrProtocol, "the body of the answer is larger than the 1MiB allowed"},
		"endless trailers": {endless(chunked+"0\r\n", lines(1000)), load.ErrProtocol,
			"the header of the answer is larger than the 256KiB allowed"},
		"announces too much": {always("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"),
			load.ErrProtocol, "the body of the answer is larger than the 1MiB allowed"},
		"not HTTP": {always("220 ready for mail\r\n"), load.ErrProtocol, "does not begin with HTTP"},
		"zeros": {endless("", strings.Repeat("\x00", 10_000)), load.ErrProtocol,
			"the header of the answer is larger than the 256KiB allowed"},
		"longer than it says": {always("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok"), load.ErrProtocol,
			"data beyond its answer"},
		"two answers": {always(okAnswer + okAnswer), load.ErrProtocol, "data beyond its answer"},
		"speaks first": {func(s *server, c *net.TCPConn) {
			say(c, "220 ready\r\n")
			<-s.done
		}, load.ErrProtocol, ""},
		"shorter than it says": {once("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), load.ErrClosed,
			"before its answer was whole"},
		"no end of chunks": {once(chunked + "2\r\nok\r\n"), load.ErrClosed, "before its answer was whole"},
		"half a header": {once("HTTP/1.1 200 OK\r\nContent-"), load.ErrClosed,
			"before its answer was whole"},
		"half an answer, half closed": {halfClose("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), load.ErrClosed,
			"before its answer was whole"},
		"half closed at once": {func(s *server, c *net.TCPConn) {
			_ = c.CloseWrite()
			<-s.done
		}, load.ErrClosed, ""},
		"reset in the middle": {reset("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), load.ErrClosed,
			"reset"},
		"reset before the end":       {reset("HTTP/1.1 200 OK\r\n\r\nok"), load.ErrClosed, "reset"},
		"reset instead of an answer": {reset(""), load.ErrClosed, "reset"},
		"closed at once":             {func(*server, *net.TCPConn) {}, load.ErrClosed, ""},
		"reset at once":              {func(_ *server, c *net.TCPConn) { _ = c.SetLinger(0) }, load.ErrClosed, ""},
		"refuses by status": {always("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), load.ErrStatus,
			"status 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.handle)
			timeout := 3 * time.Second
			if c.want == load.ErrTimeout {
				timeout = 400 * time.Millisecond
			}
			d := open(t, Config{Requests: get(s.url), Loops: 1, Timeout: timeout, MaxBody: 1 << 20})
			got := run(t.Context(), t, d, load.Run{Plan: hold(100, 150*time.Millisecond), Drain: time.Minute})
			want := load.Counts{Due: 15, Late: got.Late}
			want.Errors[c.want] = 15
			if c.want == load.ErrStatus {
				want.Statuses.Add(503, 15)
			}
			if diff := cmp.Diff(want, got.Counts); diff != "" || got.err != nil {
				t.Error(diff, got.err)
			}
			if said := fmt.Sprint(got.usage.Examples[c.want]); !strings.Contains(said, c.says) || !strings.Contains(said, "127.0.0.1") {
				t.Errorf("an example is %q, want %q", said, c.says)
			}
			if n := occupiedPorts(t, s) - s.occupied; n > 0 {
				t.Errorf("%d local ports are still occupied", n)
			}
			if got.took > 5*time.Second {
				t.Errorf("it took %v", got.took)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	d := open(t, Config{Requests: get(closedPort(t)), Loops: 1})
	got := run(t.Context(), t, d, load.Run{Plan: hold(100, 150*time.Millisecond), Drain: time.Minute})
	if got.Errors[load.ErrConnect] != 15 || !strings.Contains(fmt.Sprint(got.usage.Examples[load.ErrConnect]), "refused") {
		t.Errorf("%+v, for example %v", got.Counts, got.usage.Examples)
	}
}

// TestNoHandshake: a server that does not accept has its kernel make a few
// connections, which are not answered, and ignore others, which are not made.
func TestNoHandshake(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, Config{Requests: get(fmt.Sprintf("http://127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)), Loops: 1, Timeout: 150 * time.Millisecond})
	got := run(t.Context(), t, d, load.Run{Plan: hold(100, 150*time.Millisecond), Drain: time.Minute})
	if got.Errors[load.ErrConnect] < 5 || got.Errors[load.ErrConnect]+got.Errors[load.ErrTimeout] != 15 || got.took > 2*time.Second {
		t.Errorf("after %v: %+v", got.took, got.Counts)
	}
}

// TestStray: what comes over a connection that is free closes it, and fails
// nothing.
func TestStray(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(*server, *net.TCPConn){
		"data": answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
			say(c, okAnswer)
			s.wait(20 * time.Millisecond)
			return say(c, okAnswer)
		}),
		"the end": answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
			say(c, okAnswer)
			s.wait(20 * time.Millisecond)
			return false
		}),
	} {
		s := serve(t, handle)
		d := open(t, Config{Requests: get(s.url), Loops: 1})
		got := run(t.Context(), t, d, load.Run{Plan: hold(10, 500*time.Millisecond), Drain: time.Minute})
		// A request that is sent late may find its connection not closed yet, or being
		// closed.
		if opened := got.usage.Opened; got.OK < 5-got.Late || got.OK > 5 || opened > 5 || opened < max(2, 5-got.Late) {
			t.Errorf("%s: %d connections: %+v", name, got.usage.Opened, got.Counts)
		}
	}
}

// TestEarlyAnswer: a server may answer before it has read a large request, and
// read no further.
func TestEarlyAnswer(t *testing.T) {
	const refusal = "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	s := serve(t, func(s *server, c *net.TCPConn) {
		if n, err := c.Read(make([]byte, 1000)); n > 0 && err == nil {
			s.requests.Add(1)
			say(c, refusal)
			s.wait(50 * time.Millisecond)
		}
	})
	requests := get(s.url)
	requests[0].Method, requests[0].Body = http.MethodPost, make([]byte, 8<<20)
	d := open(t, Config{Requests: requests, Loops: 1, Timeout: time.Second})
	got := run(t.Context(), t, d, load.Run{Plan: hold(50, 100*time.Millisecond), Drain: time.Minute})
	if got.Errors[load.ErrStatus] != 5 || got.Due != 5 {
		t.Errorf("%+v, for example %v", got.Counts, got.usage.Examples)
	}
}

// TestChaos: against an unpredictable server all operations are accounted for,
// nothing is left open, and memory does not grow.
func TestChaos(t *testing.T) {
	before := openFiles(t)
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(4, 4))
	moods := []func(*server, *net.TCPConn){
		always(okAnswer), after(20 * time.Millisecond), once(okAnswer), loris(okAnswer, 5*time.Millisecond), never(),
		reset("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), reset(""), halfClose("HTTP/1.1"),
		once("HTTP/1.1 200 OK\r\n\r\nok"), always("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), always(okAnswer + "x"),
		endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 10_000)), endless("HTTP/1.1 200 OK\r\nX: ", strings.Repeat("y", 1000)),
		func(*server, *net.TCPConn) {}, func(_ *server, c *net.TCPConn) { _ = c.SetLinger(0) },
	}
	handle := func(s *server, c *net.TCPConn) {
		mu.Lock()
		mood := moods[rng.IntN(len(moods))]
		mu.Unlock()
		mood(s, c)
	}
	one, two := serve(t, handle), serve(t, handle)
	requests := append(get(one.url), get(two.url)...)
	requests = append(requests, load.Request{Name: "post", Method: http.MethodPost, URL: one.url, Body: make([]byte, 100_000), Weight: .5})
	requests[1].Name = "two"
	d, err := New(t.Context(), Config{Requests: requests, Loops: 2, Connections: 40, Timeout: 60 * time.Millisecond, MaxBody: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	heap := heapInUse()
	for _, plan := range []load.Plan{
		{Arrivals: load.Poisson, Stages: []load.Stage{load.Hold(1000, time.Second)}, Seed: 7},
		{Closed: &load.Closed{Users: 50, Think: 5 * time.Millisecond, Duration: 500 * time.Millisecond}, Seed: 8},
	} {
		got := run(t.Context(), t, d, load.Run{Plan: plan, Drain: 30 * time.Millisecond})
		if got.err != nil || got.OK == 0 || got.Failed() == 0 {
			t.Errorf("%v: %+v", got.err, got.Counts)
		}
		if sent := got.Due - got.Dropped; one.requests.Load()+two.requests.Load() > sent {
			t.Errorf("the servers saw %d and %d requests, of %d sent", one.requests.Load(), two.requests.Load(), sent)
		}
		one.requests.Store(0)
		two.requests.Store(0)
	}
	if grown := heapInUse() - heap; grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	one.closeAll()
	two.closeAll()
	awaitClosed(t, one)
	awaitClosed(t, two)
	if now := openFiles(t); now > before+4 { // two listeners, and the two files of Go's own poller
		t.Errorf("%d files are open, and %d were before", now, before)
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func openFiles(t testing.TB) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
