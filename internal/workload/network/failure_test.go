package network

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// endless makes a test that only an error ends.
func endless(p *Params) {
	p.Duration, p.Stall = unit.Duration(time.Hour), unit.Duration(500*time.Millisecond)
}

// TestPeerEnds ends one node in mid-test: the other one's task fails within
// the stall time, names it, and reports no rate, whichever end it is.
func TestPeerEnds(t *testing.T) {
	for i, tt := range []struct{ name, direction string }{{"server of downloads", Receive}, {"server of uploads", Send}, {"both", Both}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			h, d := hostsIn(8+i, "a", "b"), tt.direction
			change := func(p *Params) { endless(p); p.Direction = d }
			a := newNode(t, h[0], "", h[1:], nil, change)
			b := newNode(t, h[1], model.RoleServe, nil, h[:1], change)
			if d == Both {
				a.env.Clients, b.env.Peers, b.env.Role = h[1:], h[:1], ""
			}
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			left, right := launch(t.Context(), t, a), launch(ctx, t, b)
			close(left.begin)
			close(right.begin)
			<-a.moved
			kill()
			if err := <-right.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the other Run() = %v, want the end of its context", err)
			}
			killed := time.Now()
			err := <-left.ended
			if err == nil || !strings.Contains(err.Error(), "b at "+h[1].Address) && !strings.Contains(err.Error(), "b ("+h[1].Address+")") {
				t.Errorf("Run() = %v, want an error that names b and its address", err)
			}
			if took := time.Since(killed); took > 2*time.Second {
				t.Errorf("it took %v to notice, want little more than 500ms", took)
			}
			if len(a.record.Samples) > 0 {
				t.Errorf("samples %v of a failed task, want none", a.record.Samples)
			}
		})
	}
}

// TestFlowsCalledOff: flows that ended because the task is called off have not
// done their work, whichever of the two is noticed first.
func TestFlowsCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // select takes any that is ready
		done := make(chan error, 1)
		done <- nil
		if err := tick(ctx, time.Time{}, done, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("tick() = %v, want %v", err, context.Canceled)
		}
	}
}

// launched is a task that is prepared, and runs when begun.
type launched struct {
	begin chan struct{}
	ended chan error
}

func launch(ctx context.Context, t *testing.T, n *node) launched {
	t.Helper()
	if err := n.params.Prepare(ctx, n.env); err != nil {
		t.Fatal(err)
	}
	l := launched{make(chan struct{}), make(chan error, 1)}
	go func() {
		<-l.begin
		n.record.Start = time.Now()
		l.ended <- n.params.Run(ctx, n.env)
	}()
	return l
}

// TestNobodyThere has a peer that does not listen.
func TestNobodyThere(t *testing.T) {
	h := hosts("a", "b")
	a := newNode(t, h[0], "", h[1:], nil, endless)
	errs := run(t.Context(), t, a)
	for _, want := range []string{"b at 127.0.7.2:7420", "500ms", "connection refused"} {
		if err := errs[0]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run() = %v, want %q", err, want)
		}
	}
}

// TestSilentPeer has a peer that accepts connections and says nothing.
func TestSilentPeer(t *testing.T) {
	h := hosts("a", "b")
	l, err := net.Listen("tcp", "127.0.7.2:7420")
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open = append(open, conn)
		}
	}()
	for _, d := range []string{Receive, Send} {
		a := newNode(t, h[0], "", h[1:], nil, func(p *Params) { endless(p); p.Direction = d; p.Size = 100_000_000 })
		errs := run(t.Context(), t, a)
		if err := errs[0]; err == nil || !strings.Contains(err.Error(), "b at 127.0.7.2:7420 for 500ms") {
			t.Errorf("%s: Run() = %v, want an error that names the peer", d, err)
		}
	}
	_ = l.Close()
	<-done
	for _, conn := range open {
		_ = conn.Close()
	}
}

// TestSilentClient has a client that never comes: the server names it.
func TestSilentClient(t *testing.T) {
	h := hosts("sink", "b", "c")
	change := func(p *Params) {
		p.Shape, p.Stall = "all_to_one", unit.Duration(500*time.Millisecond)
	}
	sink := newNode(t, h[0], model.RoleServe, nil, h[1:], change)
	b := newNode(t, h[1], "", h[:1], nil, change)
	errs := run(t.Context(), t, sink, b)
	if err := errs[0]; err == nil || !strings.Contains(err.Error(), "c (127.0.7.3)") || strings.Contains(err.Error(), "b (") {
		t.Errorf("the sink's Run() = %v, want an error that names c and not b", err)
	}
}

// relay stands between a client and the server, and spoils what comes back.
type relay struct {
	listener net.Listener
	to       string
	down     func(n int64, from, to net.Conn) // copies to the client; n is the connection's number
	count    atomic.Int64
	work     sync.WaitGroup
}

// newRelay listens instead of the host and returns where.
func newRelay(t *testing.T, host model.Host, down func(n int64, from, to net.Conn)) model.Host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.7.9:7420")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, to: host.Address + ":7420", down: down}
	r.work.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.work.Wait()
	})
	host.Address = "127.0.7.9"
	return host
}

func (r *relay) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = conn.Close()
			continue
		}
		n := r.count.Add(1)
		r.work.Go(func() {
			_, _ = io.Copy(to, conn)
			_ = to.Close()
		})
		r.work.Go(func() {
			r.down(n, to, conn)
			_ = conn.Close()
			_ = to.Close()
		})
	}
}

// TestReconnect cuts the first connections in the middle of a transfer: the
// test goes on, counts what came, and tells the errors.
func TestReconnect(t *testing.T) {
	h := hosts("a", "b")
	change := func(p *Params) { p.Direction, p.Size = Receive, 2_000_000 }
	cut := newRelay(t, h[1], func(n int64, from, to net.Conn) {
		if n <= 3 {
			_, _ = io.CopyN(to, from, 1_000_000)
			return
		}
		_, _ = io.Copy(to, from)
	})
	a := newNode(t, h[0], "", []model.Host{cut}, nil, change)
	b := newNode(t, h[1], model.RoleServe, nil, h[:1], change)
	mustRun(t, a, b)
	if got := a.record.Find("network_errors").Value; got < 2 || got > 3 { // one of the three may be the echo
		t.Errorf("network_errors = %v, want 2 or 3", got)
	}
	if a.record.Find(metricReceive).Value <= 0 {
		t.Error("nothing was measured after the errors")
	}
}

// TestChangedOnTheWay changes one byte of the content.
func TestChangedOnTheWay(t *testing.T) {
	h := hosts("a", "b")
	change := func(p *Params) { endless(p); p.Direction = Receive }
	spoilt := newRelay(t, h[1], func(_ int64, from, to net.Conn) {
		buffer := make([]byte, 2000)
		n, err := io.ReadAtLeast(from, buffer, 1000)
		if err != nil {
			return // the echo
		}
		buffer[n-1] ^= 1
		_, _ = to.Write(buffer[:n])
		_, _ = io.Copy(to, from)
	})
	a := newNode(t, h[0], "", []model.Host{spoilt}, nil, change)
	b := newNode(t, h[1], model.RoleServe, nil, h[:1], change)
	errs := run(t.Context(), t, a, b)
	if err := errs[0]; !errors.Is(err, errFatal) || !strings.Contains(err.Error(), "differ from those sent") {
		t.Errorf("Run() = %v, want it to see that the bytes differ", err)
	}
}

// TestStrangers checks what a server does with requests that are not of its
// clients.
func TestStrangers(t *testing.T) {
	h := hosts("a", "b")
	n := newNode(t, h[0], model.RoleServe, nil, h[1:], nil)
	if err := n.params.Prepare(t.Context(), n.env); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.params.Cleanup(t.Context(), n.env); err != nil {
			t.Error(err)
		}
	}()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, tt := range []struct {
		method, path, node, body string
		status                   int
		length                   int64
	}{
		{"GET", "/object", "b", "", 200, 5_000_000},
		{"GET", "/object", "c", "", 403, -1},
		{"GET", "/object", "", "", 403, -1},
		{"GET", "/", "b", "", 404, 0},
		{"DELETE", "/object", "b", "", 404, 0},
		{"PUT", "/object", "b", "something else", 400, -1},
		{"POST", "/goodbye", "a", "", 403, -1},
	} {
		req, err := http.NewRequest(tt.method, "http://127.0.7.1:7420"+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(headerNode, tt.node)
		resp, err := web.Do(req)
		if err != nil {
			t.Fatalf("%s %s as %q: %v", tt.method, tt.path, tt.node, err)
		}
		got, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status || err != nil || tt.length >= 0 && got != tt.length {
			t.Errorf("%s %s as %q: status %d, %d bytes, %v; want %d, %d", tt.method, tt.path, tt.node, resp.StatusCode, got, err, tt.status, tt.length)
		}
	}
}

// TestManyConnections checks that a server has only so many at a time.
func TestManyConnections(t *testing.T) {
	h := hosts("a", "b")
	n := newNode(t, h[0], model.RoleServe, nil, h[1:], nil)
	if err := n.params.Prepare(t.Context(), n.env); err != nil {
		t.Fatal(err)
	}
	room := cap(n.params.state.server.slots)
	var open []net.Conn
	for range room {
		conn, err := net.Dial("tcp", "127.0.7.1:7420")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	one, err := net.Dial("tcp", "127.0.7.1:7420")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("connection %d: %v, want its end", room+1, err)
	}
	for _, conn := range append(open, one) {
		_ = conn.Close()
	}
	if err := n.params.Cleanup(t.Context(), n.env); err != nil {
		t.Error(err)
	}
}

// TestFrozen stops the process of one node in mid-test, as a machine that
// hangs: connections stay open, and nothing is said any more.
func TestFrozen(t *testing.T) {
	for i, tool := range []string{Builtin, Iperf3} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			h := hostsIn(11+i, "a", "b")
			change := func(p *Params) { endless(p); p.Direction = Receive }
			if tool == Iperf3 {
				needIperf3(t)
				change = func(p *Params) { iperf3Params(p); endless(p); p.Direction = Receive }
			}
			a := newNode(t, h[0], "", h[1:], nil, change)
			b := startHelper(t, task{Params: a.params, Self: h[1], Clients: h[:1], Role: model.RoleServe})
			left := launch(t.Context(), t, a)
			b.begin(t)
			close(left.begin)
			heard := a.params.state.session.echoes[0]
			eventually(t, func() bool { return heard.heard.Load() > int64(1500*time.Millisecond) })
			if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := <-left.ended; err == nil || !strings.Contains(err.Error(), "b at "+h[1].Address+":7420 for 500ms") {
				t.Errorf("Run() = %v, want an error that names b", err)
			}
		})
	}
}
