package httpstd_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpstd"
)

// hostile is a server that answers the way a test says, over plain
// connections.
type hostile struct {
	net.Listener
	answer func(net.Conn) // nil: it listens, and that is all

	mu   sync.Mutex
	open map[net.Conn]bool
	left sync.WaitGroup
}

func startHostile(t *testing.T, answer func(net.Conn)) *hostile {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{Listener: l, answer: answer, open: map[net.Conn]bool{}}
	h.left.Go(h.accept)
	t.Cleanup(h.end)
	return h
}

func (h *hostile) accept() {
	for {
		c, err := h.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.open[c] = true
		h.mu.Unlock()
		h.left.Go(func() { h.serve(c) })
	}
}

// serve answers each request, and closes when an answer has closed.
func (h *hostile) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	if h.answer == nil {
		_, _ = io.Copy(io.Discard, r)
		return
	}
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, q.Body)
		h.answer(c)
	}
}

func (h *hostile) end() {
	_ = h.Close()
	h.mu.Lock()
	for c := range h.open {
		_ = c.Close()
	}
	h.mu.Unlock()
	h.left.Wait()
}

func (h *hostile) url() string { return "http://" + h.Addr().String() + "/" }

// says answers with a text, and may close then.
func says(text string, closes bool) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		if closes {
			_ = c.Close()
		}
	}
}

// drips sends a byte in so many milliseconds, until the client is gone.
func drips(first string, ms int) func(net.Conn) {
	return func(c net.Conn) {
		_, err := io.WriteString(c, first)
		tick := time.NewTicker(time.Duration(ms) * time.Millisecond)
		defer tick.Stop()
		for err == nil {
			<-tick.C
			_, err = c.Write([]byte("x"))
		}
	}
}

// floods repeats a text until the client is gone.
func floods(first, text string) func(net.Conn) {
	many := strings.Repeat(text, 1000)
	return func(c net.Conn) {
		_, err := io.WriteString(c, first)
		for err == nil {
			_, err = io.WriteString(c, many)
		}
	}
}

// resets ends a connection so that the other side sees an error.
func resets(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// TestHostileServers: whatever a server answers, each operation ends in time,
// in the count where it belongs.
func TestHostileServers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		answer func(net.Conn)
		kind   load.Kind
	}{
		"no answer":           {func(net.Conn) {}, load.ErrTimeout},
		"slow status":         {drips("", 50), load.ErrTimeout},
		"slow header":         {drips(ok+"X: ", 50), load.ErrTimeout},
		"slow body":           {drips(ok+"Content-Length: 100000\r\n\r\n", 50), load.ErrTimeout},
		"closes at once":      {says("", true), load.ErrClosed},
		"closes in header":    {says(ok+"X: y", true), load.ErrClosed},
		"closes in body":      {says(ok+"Content-Length: 10\r\n\r\nfour", true), load.ErrClosed},
		"closes in chunk":     {says(ok+"Transfer-Encoding: chunked\r\n\r\n5\r\nab", true), load.ErrClosed},
		"resets":              {resets(""), load.ErrClosed},
		"resets in body":      {resets(ok + "Content-Length: 10\r\n\r\nfour"), load.ErrClosed},
		"nonsense":            {says("what?\r\n\r\n", true), load.ErrProtocol},
		"bad chunk":           {says(ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n", false), load.ErrProtocol},
		"two lengths":         {says(ok+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", false), load.ErrProtocol},
		"negative length":     {says(ok+"Content-Length: -1\r\n\r\n", false), load.ErrProtocol},
		"endless header":      {floods(ok, "X: y\r\n"), load.ErrProtocol},
		"endless header line": {floods(ok+"X: ", "y"), load.ErrProtocol},
		"endless chunks":      {floods(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"), load.ErrProtocol},
		"endless body":        {floods(ok+"\r\n", "x"), load.ErrProtocol},
		"endless interim":     {floods("", "HTTP/1.1 103 Early Hints\r\n\r\n"), load.ErrProtocol},
		"announces too much":  {floods(ok+"Content-Length: 9000000000\r\n\r\n", "x"), load.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostile(t, c.answer)
			target := newTarget(t, httpstd.Config{Requests: get(h.url()), MaxBody: 100_000})
			timeout := 10 * time.Second
			if c.kind == load.ErrTimeout {
				timeout = 400 * time.Millisecond
			}
			x := offer(t, target, load.PoolConfig{Clients: 4, Timeout: timeout}, 8, 100)
			if got := x.Errors[c.kind] + x.Dropped; got != 8 || x.Errors[c.kind] == 0 {
				t.Errorf("%+v, want only %v; example %v", x.Counts, c.kind, x.Examples)
			}
		})
	}
}

// TestWrongVersion: a server that answers in HTTP/1.1 what was asked in
// HTTP/2.
func TestWrongVersion(t *testing.T) {
	h := startHostile(t, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false))
	target := newTarget(t, httpstd.Config{Requests: get(h.url()), HTTP2: true})
	x := offer(t, target, load.PoolConfig{Clients: 1, Timeout: 2 * time.Second}, 1, 10)
	if x.OK != 0 || x.Errors[load.ErrStatus]+x.Errors[load.ErrWrong] != 0 {
		t.Errorf("%+v, want a failure of the protocol", x.Counts)
	}
}

// TestHTTP2Resets: a stream that the server resets is closed; its connection
// is not.
func TestHTTP2Resets(t *testing.T) {
	s := serve(t, true, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	x := offer(t, newTarget(t, httpstd.Config{Requests: get(s.URL), HTTP2: true, Insecure: true}), load.PoolConfig{Clients: 2}, 5, 50)
	if x.Errors[load.ErrClosed] != 5 {
		t.Errorf("%+v, want 5 closed; example %v", x.Counts, x.Examples[load.ErrClosed])
	}
}

// TestHTTP2ShortBody: a body that ends too early is an error, there as well.
func TestHTTP2ShortBody(t *testing.T) {
	s := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "four")
	})
	x := offer(t, newTarget(t, httpstd.Config{Requests: get(s.URL), HTTP2: true, Insecure: true}), load.PoolConfig{Clients: 1}, 2, 20)
	if x.Errors[load.ErrClosed] != 2 {
		t.Errorf("%+v, want 2 closed; examples %v", x.Counts, x.Examples)
	}
}

// TestNobodyThere: a port without a listener.
func TestNobodyThere(t *testing.T) {
	h := startHostile(t, func(net.Conn) {})
	h.end()
	target := newTarget(t, httpstd.Config{Requests: get(h.url())})
	x := offer(t, target, load.PoolConfig{Clients: 4}, 50, 100)
	if x.Errors[load.ErrConnect] != 50 || x.Opened != 0 {
		t.Errorf("%+v, want 50 without a connection", x.Counts)
	}
	var wrong *net.OpError
	if !errors.As(x.Examples[load.ErrConnect], &wrong) {
		t.Errorf("example %v, want the error of the network", x.Examples[load.ErrConnect])
	}
}

// TestSilentHandshake: a server that accepts and says nothing, where TLS is
// expected, is given up in time.
func TestSilentHandshake(t *testing.T) {
	h := startHostile(t, nil)
	url := strings.Replace(h.url(), "http:", "https:", 1)
	x := offer(t, newTarget(t, httpstd.Config{Requests: get(url)}), load.PoolConfig{Clients: 2, Timeout: 200 * time.Millisecond}, 4, 40)
	if x.Errors[load.ErrConnect] == 0 || x.Errors[load.ErrConnect]+x.Dropped != 4 {
		t.Errorf("%+v, want none with a connection", x.Counts)
	}
}

// TestStopsInTime: a server that never answers does not keep a run from ending
// when it is told to.
func TestStopsInTime(t *testing.T) {
	h := startHostile(t, func(net.Conn) {})
	p, err := load.NewPool(newTarget(t, httpstd.Config{Requests: get(h.url())}), load.PoolConfig{Clients: 20, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stopped time.Time
	timer := time.AfterFunc(300*time.Millisecond, func() { stopped = time.Now(); cancel() })
	defer timer.Stop()
	var total load.Counts
	plan := load.Plan{Arrivals: load.Poisson, Stages: []load.Stage{load.Hold(1000, time.Hour)}}
	_, err = p.Run(ctx, load.Run{Plan: plan, Share: load.All, Each: func(s load.Second) { total.Add(s.Total()) }})
	if took := time.Since(stopped); !errors.Is(err, context.Canceled) || took > time.Second {
		t.Errorf("Run = %v, %v after it was told to stop", err, took)
	}
	if total.Due != total.Settled() || total.Unfinished != 20 {
		t.Errorf("%+v, want all to have an end, and 20 to be unfinished", total)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestBodiesAreNotKept: memory does not grow with what a server sends.
func TestBodiesAreNotKept(t *testing.T) {
	const size, answers = 8 << 20, 8
	piece := bytes.Repeat([]byte("x"), 64<<10)
	h := startHostile(t, func(c net.Conn) {
		_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		for i := 0; err == nil && i < size/len(piece); i++ {
			_, err = c.Write(piece)
		}
	})
	client := open(t, newTarget(t, httpstd.Config{Requests: get(h.url())}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range answers {
		if err := client.Do(soon(t), 0); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > size {
		t.Errorf("%d bytes were allocated for %d answers of %d bytes", grown, answers, size)
	}
}
