package http1

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/servers"
)

func TestMain(m *testing.M) {
	if code, is := loadserver.Child(); is {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// server accepts connections and does with them what a test says.
type server struct {
	url      string
	listener net.Listener
	done     chan struct{} // closed when the test ends
	occupied int           // what occupiedPorts was before
	requests atomic.Int64
	accepted atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

// serve starts a server on a loopback address, which calls handle for each
// connection and closes it when handle returns, or the test ends.
func serve(t testing.TB, handle func(*server, *net.TCPConn)) *server {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", handle)
}

func serveAt(t testing.TB, address string, handle func(*server, *net.TCPConn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + l.Addr().String(), listener: l, done: make(chan struct{}), conns: make(map[net.Conn]bool)}
	s.occupied = occupiedPorts(t, s) // by another server with this port, earlier
	s.all.Go(func() { s.accept(handle) })
	t.Cleanup(s.stop)
	return s
}

func (s *server) accept(handle func(*server, *net.TCPConn)) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.accepted.Add(1)
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.all.Go(func() {
			handle(s, c.(*net.TCPConn))
			s.forget(c)
		})
	}
}

func (s *server) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	_ = c.Close() // the test may have closed it
}

// closeAll closes the connections there are.
func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close() // it may be closed already
	}
}

func (s *server) stop() {
	close(s.done)
	_ = s.listener.Close() // the test may have closed it
	s.closeAll()
	s.all.Wait()
}

// wait waits for a time, or the end of the test: then it reports false.
func (s *server) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.done:
		return false
	}
}

// okAnswer is a whole answer with a body of two bytes.
const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// answer returns a handler that reads requests, and hands each to reply until
// that says no.
func answer(reply func(*server, *net.TCPConn, *http.Request) bool) func(*server, *net.TCPConn) {
	return func(s *server, c *net.TCPConn) {
		b := bufio.NewReader(c)
		for {
			q, err := http.ReadRequest(b)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, q.Body); err != nil {
				return
			}
			s.requests.Add(1)
			if !reply(s, c, q) {
				return
			}
		}
	}
}

// always answers all requests with the same bytes.
func always(text string) func(*server, *net.TCPConn) {
	return answer(func(_ *server, c *net.TCPConn, _ *http.Request) bool { return say(c, text) })
}

// once answers one request, and closes the connection.
func once(text string) func(*server, *net.TCPConn) {
	return answer(func(_ *server, c *net.TCPConn, _ *http.Request) bool {
		say(c, text)
		return false
	})
}

// after answers after a time.
func after(d time.Duration) func(*server, *net.TCPConn) {
	return answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
		s.wait(d)
		return say(c, okAnswer)
	})
}

// never answers.
func never() func(*server, *net.TCPConn) {
	return answer(func(_ *server, c *net.TCPConn, _ *http.Request) bool {
		_, err := io.Copy(io.Discard, c) // until the client leaves
		return err == nil
	})
}

// endless says a beginning, and then the same again and again until the client
// has had enough.
func endless(first, again string) func(*server, *net.TCPConn) {
	return answer(func(_ *server, c *net.TCPConn, _ *http.Request) bool {
		for ok := say(c, first); ok; {
			ok = say(c, again)
		}
		return false
	})
}

// reset says something, and ends the connection with a TCP reset.
func reset(text string) func(*server, *net.TCPConn) {
	return answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
		say(c, text)
		s.wait(5 * time.Millisecond) // so that it arrives before the reset
		_ = c.SetLinger(0)
		return false
	})
}

// loris answers a byte at a time.
func loris(text string, each time.Duration) func(*server, *net.TCPConn) {
	return answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
		for i := range len(text) {
			if !s.wait(each) || !say(c, text[i:i+1]) {
				return false
			}
		}
		return true
	})
}

// halfClose says something, and that nothing will follow, but keeps the
// connection.
func halfClose(text string) func(*server, *net.TCPConn) {
	return answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
		say(c, text)
		_ = c.CloseWrite()
		_, err := io.Copy(io.Discard, c)
		return err == nil
	})
}

// say reports whether all of a text could be written.
func say(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

// closedPort is an address without a listener.
func closedPort(t testing.TB) string {
	t.Helper()
	return "http://" + servers.FreeAddress(t)
}

// lines is a header of n lines.
func lines(n int) string { return strings.Repeat("X: y\r\n", n) }

// onCalmMachine repeats a check of exact times, which other work on the same
// processors can spoil, until it passes or has failed eight times: what is
// wrong with a loop is wrong each time.
func onCalmMachine(t testing.TB, check func() error) {
	t.Helper()
	repeatedly(t, 8, check)
}

// repeatedly is for checks that take too long to be repeated so often.
func repeatedly(t testing.TB, times int, check func() error) {
	t.Helper()
	var err error
	for range times {
		if err = check(); err == nil {
			return
		}
		t.Log("again, for", err)
	}
	t.Error(err)
}

var errTooLate = errors.New("it took too long")
