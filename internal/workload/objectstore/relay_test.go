package objectstore

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// meter passes a rate of bytes, to all of its users together, and records what
// it has passed when. It gives credit for some milliseconds at most, so that no
// second carries more than the rate; if the machine delays the relay it carries
// less, and the record shows it.
type meter struct {
	rate float64 // bytes a second

	mu     sync.Mutex
	next   time.Time // when all that was taken has passed
	passed []passage
}

// passage is how many bytes had passed at a time.
type passage struct {
	at    time.Time
	bytes float64
}

const maxCredit = 10 * time.Millisecond

// take waits until n bytes have passed.
func (m *meter) take(ctx context.Context, n int) bool {
	if !pause(ctx, time.Until(m.admit(n))) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := 0.0
	if k := len(m.passed); k > 0 {
		before = m.passed[k-1].bytes
	}
	m.passed = append(m.passed, passage{time.Now(), before + float64(n)})
	return true
}

// admit returns when n bytes more have passed.
func (m *meter) admit(n int) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if earliest := time.Now().Add(-maxCredit); m.next.Before(earliest) {
		m.next = earliest
	}
	m.next = m.next.Add(time.Duration(float64(n) / m.rate * float64(time.Second)))
	return m.next
}

// carried returns the bytes a second that passed in a span of time.
func (m *meter) carried(from, to time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := func(t time.Time) (bytes float64) {
		for _, p := range m.passed {
			if p.at.After(t) {
				break
			}
			bytes = p.bytes
		}
		return bytes
	}
	return (until(to) - until(from)) / to.Sub(from).Seconds()
}

// startRelay starts a path to an address that carries a rate of bytes a second
// in each direction, over all connections together.
// Its own buffers are small: bytes that wait in them have not passed.
func startRelay(t *testing.T, target string, rate float64) *relay {
	t.Helper()
	small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 64<<10) })
	}}
	l, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &relay{ctx: ctx, url: "http://" + l.Addr().String(), target: target, up: &meter{rate: rate}, down: &meter{rate: rate}}
	r.all.Go(func() { r.accept(l) })
	t.Cleanup(func() {
		cancel()
		_ = l.Close() // what it accepted is over
		r.all.Wait()
	})
	return r
}

type relay struct {
	ctx      context.Context
	url      string
	target   string
	up, down *meter
	all      sync.WaitGroup
}

func (r *relay) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := (&net.Dialer{}).DialContext(r.ctx, "tcp", r.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		closeBoth := sync.OnceFunc(func() { _ = errors.Join(in.Close(), out.Close()) })
		context.AfterFunc(r.ctx, closeBoth)
		r.all.Go(func() { r.carry(out, in, r.up); closeBoth() })
		r.all.Go(func() { r.carry(in, out, r.down); closeBoth() })
	}
}

func (r *relay) carry(to io.Writer, from io.Reader, tokens *meter) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !tokens.take(r.ctx, n) {
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
