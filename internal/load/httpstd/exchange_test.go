package httpstd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/servers"
)

// serveConns handles each connection, until the test ends.
func serveConns(t *testing.T, handle func(net.Conn)) (url string) {
	t.Helper()
	return "http://" + servers.Serve(t, handle)
}

func open(t *testing.T, requests ...load.Request) *client {
	t.Helper()
	target, err := New(Config{Requests: requests})
	if err != nil {
		t.Fatal(err)
	}
	c, err := target.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = c.Close(), target.Close()
	})
	return c.(*client)
}

// TestRepeat: a server that closes a connection while a request is on its way
// costs none that may be sent again; what it had and did not answer is an error.
func TestRepeat(t *testing.T) {
	const always, never = time.Hour, -time.Hour
	for _, c := range []struct {
		name, method string
		crossing     time.Duration
		repeated     bool
	}{
		{"crossed", http.MethodGet, always, true},
		{"crossed, to put", http.MethodPut, always, true},
		{"crossed, with a second effect", http.MethodPatch, always, false},
		{"not answered", http.MethodGet, never, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The second request over a connection is read, and nothing is said.
			url := serveConns(t, func(conn net.Conn) {
				r := bufio.NewReader(conn)
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				_, _ = http.ReadRequest(r)
			})
			client := open(t, load.Request{Name: "it", Method: c.method, URL: url, Weight: 1})
			if err := client.Do(t.Context(), 0); err != nil || client.Repeated() {
				t.Fatalf("the first request: %v", err)
			}
			client.connections[0].(*exchange).crossing = c.crossing
			err := client.Do(t.Context(), 0)
			if client.Repeated() != c.repeated || c.repeated && err != nil ||
				!c.repeated && load.KindOf(err) != load.ErrClosed {
				t.Errorf("Do() = %v, repeated %v", err, client.Repeated())
			}
		})
	}
}

// TestEarlyAnswer: a server may answer before it has read a large request, and read
// no further.
func TestEarlyAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	url := serveConns(t, func(conn net.Conn) {
		if n, _ := conn.Read(make([]byte, 1000)); n > 0 {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			<-ctx.Done()
		}
	})
	client := open(t, load.Request{Name: "it", Method: http.MethodPost, URL: url, Body: make([]byte, 16<<20),
		Weight: 1})
	begin := time.Now()
	err := client.Do(ctx, 0)
	e, ok := errors.AsType[*load.Error](err)
	if !ok || e.Status != http.StatusRequestEntityTooLarge || client.Alive() || time.Since(begin) > 10*time.Second {
		t.Errorf("after %v: Do() = %v, alive %v", time.Since(begin), err, client.Alive())
	}
	cancel()
}

// TestLargeRequest: a request beyond what is written at once arrives whole, and its
// connection is used again.
func TestLargeRequest(t *testing.T) {
	const size = 3 << 20
	url := serveConns(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			status := "200 OK"
			if n, err := io.Copy(io.Discard, q.Body); n != size || err != nil {
				status = "400 Short"
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
		}
	})
	client := open(t, load.Request{Name: "it", Method: http.MethodPut, URL: url, Body: make([]byte, size), Weight: 1})
	for range 3 {
		if err := client.Do(t.Context(), 0); err != nil || !client.Alive() {
			t.Errorf("Do() = %v, alive %v", err, client.Alive())
		}
	}
}
