package servers

import (
	"net"
	"sync"
	"testing"
)

// Serve handles each connection to an address on loopback in a goroutine of its own. When the
// test ends it closes them, and waits.
func Serve(t testing.TB, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &accepting{open: make(map[net.Conn]bool)}
	s.left.Go(func() { s.accept(l, handle) })
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for c := range s.open {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.left.Wait()
	})
	return l.Addr().String()
}

type accepting struct {
	left sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool
}

func (s *accepting) accept(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[c] = true
		s.mu.Unlock()
		s.left.Go(func() {
			defer func() {
				s.mu.Lock()
				delete(s.open, c)
				s.mu.Unlock()
				_ = c.Close()
			}()
			handle(c)
		})
	}
}
