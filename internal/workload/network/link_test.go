package network

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
)

func TestReadAnswer(t *testing.T) {
	for _, tt := range []struct {
		text   string
		status int
		length int64
		fatal  bool
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", 200, 100_000_000, false},
		{"HTTP/1.0 503 Busy\r\n\r\n", 503, 0, false},
		{"HTTP/1.1 200\r\ncontent-length: 7\r\n\r\n", 200, 7, false},
		{"SSH-2.0-OpenSSH\r\n\r\n", 0, 0, true},
		{"HTTP/1.1 x\r\n\r\n", 0, 0, true},
		{"HTTP/1.1 -200 OK\r\n\r\n", 0, 0, true},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0, 0, true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n", 0, 0, true},
	} {
		status, length, err := readAnswer(bufio.NewReader(strings.NewReader(tt.text)))
		if errors.Is(err, errFatal) != tt.fatal || err == nil && (status != tt.status || length != tt.length) {
			t.Errorf("readAnswer(%q) = %d, %d, %v; want %d, %d, fatal %v", tt.text, status, length, err, tt.status, tt.length, tt.fatal)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
	f.Add("HTTP/1.1 403 Forbidden\r\n\r\nno")
	f.Fuzz(func(t *testing.T, text string) {
		status, length, err := readAnswer(bufio.NewReader(strings.NewReader(text)))
		if err == nil && (status < 100 || status > 999 || length < 0) {
			t.Errorf("readAnswer(%q) = %d, %d; want a possible status and length", text, status, length)
		}
	})
}

// located are clients with known addresses.
func located(t *testing.T, names ...string) *clients {
	t.Helper()
	cs := newClients(hosts(names...))
	if err := cs.locate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return cs
}

// FuzzRequests sends anything to a server: it must end the connection in good
// order, and believe no goodbye that was not said by a client of its own.
func FuzzRequests(f *testing.F) {
	f.Add([]byte("GET /object HTTP/1.1\r\nHost: x\r\nScalebench-Node: b\r\n\r\n"))
	f.Add([]byte("PUT /object HTTP/1.1\r\nHost: x\r\nScalebench-Node: b\r\nContent-Length: 3\r\n\r\nabc"))
	f.Add([]byte("GET /echo HTTP/1.1\r\nHost: x\r\nScalebench-Node: b\r\n\r\nabc"))
	f.Add([]byte("POST /goodbye HTTP/1.1\r\nHost: x\r\nScalebench-Node: c\r\n\r\n"))
	f.Add([]byte("GET /" + strings.Repeat("a", 10000) + " HTTP/1.1\r\n\r\n"))
	o, err := newObject(context.Background(), f.TempDir(), 10_000)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = o.close() })
	f.Fuzz(func(t *testing.T, sent []byte) {
		srv := &server{object: o, head: pattern(headSize), clients: located(t, "b"), complain: func(netip.Addr) {}, patience: time.Minute}
		here, there := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			srv.serve(newLink(there), netip.MustParseAddr("127.0.7.1"))
			_ = there.Close()
		}()
		go func() {
			_, _ = here.Write(sent) // the server may have enough before
			_ = here.Close()
		}()
		_, _ = io.Copy(io.Discard, here)
		<-done
		if srv.clients.byNode["b"].gone.Load() && !bytes.Contains(sent, []byte("/goodbye")) {
			t.Errorf("%q is taken for a goodbye", sent)
		}
	})
}

// TestHeaderTooLong checks that a header without end takes no memory without
// end.
func TestHeaderTooLong(t *testing.T) {
	srv := &server{clients: located(t, "b"), complain: func(netip.Addr) {}, patience: time.Minute}
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.serve(newLink(there), netip.MustParseAddr("127.0.7.1"))
		_ = there.Close()
	}()
	n, err := io.Copy(here, io.MultiReader(strings.NewReader("GET / HTTP/1.1\r\nX: "), endlessly{}))
	if n > 2*maxHeader+4096 || err == nil {
		t.Errorf("the server took %d bytes of a header, %v; want its end after %d", n, err, maxHeader)
	}
	_ = here.Close()
	<-done
}

type endlessly struct{}

func (endlessly) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestSlowHeader checks that a client that sends no request is not waited for
// for ever.
func TestSlowHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{clients: located(t, "b"), complain: func(netip.Addr) {}, patience: 12 * time.Second}
		here, there := net.Pipe()
		begin := time.Now()
		go func() {
			_, _ = here.Write([]byte("GET /object HT"))
		}()
		srv.serve(newLink(there), netip.MustParseAddr("127.0.7.1"))
		if took := time.Since(begin); took != 12*time.Second {
			t.Errorf("the server waited for %v, want 12s", took)
		}
		_, _ = here.Close(), there.Close()
	})
}

// TestWaitForClients tells time without waiting for it.
func TestWaitForClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := newClients(hosts("b", "c"))
		ended := make(chan error, 1)
		go func() { ended <- cs.wait(t.Context(), 5*time.Second) }()
		for range 10 { // c is heard, b is not needed any more
			<-time.After(3 * time.Second)
			cs.heard(cs.byNode["c"])
			cs.goodbye(cs.byNode["b"])
		}
		begin := time.Now()
		err := <-ended
		if err == nil || !strings.Contains(err.Error(), "from c (127.0.7.2) for 5s") {
			t.Errorf("wait() = %v, want an error that names c only", err)
		}
		if took := time.Since(begin); took < 5*time.Second || took > 5*time.Second+2*pace {
			t.Errorf("the error came after %v, want 5s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		cs := newClients(hosts("b", "c"))
		ended := make(chan error, 1)
		go func() { ended <- cs.wait(t.Context(), 5*time.Second) }()
		cs.goodbye(cs.byNode["b"])
		cs.goodbye(cs.byNode["c"])
		cs.goodbye(cs.byNode["c"]) // said again after a lost answer
		if err := <-ended; err != nil {
			t.Errorf("wait() = %v, want nil when all have said goodbye", err)
		}
	})
}

func TestAskSize(t *testing.T) {
	var b bytes.Buffer
	l := newLink(connWriter{Writer: &b})
	if err := l.ask("PUT", pathObject, "h:1", "n", 12345); err != nil {
		t.Fatal(err)
	}
	if got := len(askText("PUT", pathObject, "h:1", "n", 12345)); got != b.Len() {
		t.Errorf("askText() has length %d, want %d", got, b.Len())
	}
}

func TestObject(t *testing.T) {
	for _, size := range []unit.Size{1000, blockSize, 2*blockSize + 8, 3_000_001} {
		o, err := newObject(t.Context(), t.TempDir(), int64(size))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(o.file, 0, 1<<30))
		if err != nil || int64(len(got)) != int64(size) {
			t.Errorf("an object of %d bytes has %d, %v", size, len(got), err)
		}
		head := pattern(headSize)
		if n := min(len(got), len(head)); !bytes.Equal(got[:n], head[:n]) {
			t.Errorf("the object does not begin with its head")
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newObject(ended, t.TempDir(), 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("newObject() = %v, want the end of the context", err)
	}
}

// connWriter is a connection that can only be written to.
type connWriter struct {
	net.Conn
	io.Writer
}

func (c connWriter) Write(p []byte) (int, error) { return c.Writer.Write(p) }
