package load

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// echo is a real server: it sends back each byte, and counts them.
type echo struct {
	net.Listener
	served atomic.Int64
	ended  chan struct{}
}

func startEcho(t testing.TB) *echo {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: l, ended: make(chan struct{})}
	go e.accept()
	t.Cleanup(func() {
		_ = l.Close()
		<-e.ended
	})
	return e
}

func (e *echo) accept() {
	defer close(e.ended)
	for {
		c, err := e.Accept()
		if err != nil {
			return
		}
		go e.serve(c)
	}
}

func (e *echo) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for b, err := r.ReadByte(); err == nil; b, err = r.ReadByte() {
		e.served.Add(1)
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
	}
}

func (e *echo) Mix() []Weight { return []Weight{{Name: "echo", Weight: 1}} }

func (e *echo) Open(ctx context.Context, _ int) (Client, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", e.Addr().String())
	return echoClient{c}, err
}

// echoClient sends a byte and waits for it to come back.
type echoClient struct{ net.Conn }

func (c echoClient) Do(ctx context.Context, _ int) error {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return &Error{Kind: ErrClosed, Err: err}
	}
	var b [1]byte
	if _, err := c.Write(b[:]); err != nil {
		return &Error{Kind: ErrClosed, Err: err}
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return &Error{Kind: ErrClosed, Err: err}
	}
	return nil
}

// TestPoolRealClock: with a real server, real connections and the exact alarm,
// each operation is sent once, and none before it is due.
func TestPoolRealClock(t *testing.T) {
	e := startEcho(t)
	p, err := NewPool(e, PoolConfig{Clients: 20, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for name, plan := range map[string]Plan{
		"constant": constantRate(1000, 300*ms),
		"poisson":  {Arrivals: Poisson, Stages: []Stage{Hold(1000, 300*ms)}, Seed: 1},
	} {
		before := e.served.Load()
		x := run(t.Context(), p, Run{Plan: plan, Drain: 10 * time.Second})
		x.check(t, 0)
		if want := planned(plan, plan.Duration()); x.total.OK != want || e.served.Load()-before != want {
			t.Errorf("%s: %+v; the server saw %d, the plan has %d", name, x.total, e.served.Load()-before, want)
		}
		if x.CPU <= 0 || x.Busy < 0 || x.Busy > 1 || x.Wall < 300*ms {
			t.Errorf("%s: usage %+v is not possible", name, x.Usage)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestPoolRealStop: a run is told to stop while its dispatcher sleeps in the
// kernel.
func TestPoolRealStop(t *testing.T) {
	p, err := NewPool(startEcho(t), PoolConfig{Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	seconds := 0
	begin := time.Now()
	_, err = p.Run(ctx, Run{Plan: Plan{Arrivals: Constant, Stages: []Stage{Hold(1, time.Second), Hold(0, time.Hour)}}, Share: All,
		Each: func(Second) {
			seconds++
			cancel(errTold)
		}})
	if took := time.Since(begin); !errors.Is(err, errTold) || took > time.Minute || seconds == 0 {
		t.Errorf("Run = %v after %v and %d seconds, want %v", err, took, seconds, errTold)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// instant is a target in memory that takes no time.
type instant struct{}

func (instant) Mix() []Weight                             { return []Weight{{Name: "op", Weight: 1}} }
func (instant) Open(context.Context, int) (Client, error) { return instant{}, nil }
func (instant) Do(context.Context, int) error             { return nil }
func (instant) Close() error                              { return nil }

// benchmarkRate runs b.N operations at a rate, and reports how late they were
// sent and what they cost the processor.
func benchmarkRate(b *testing.B, target Target, rate float64) {
	p, err := NewPool(target, PoolConfig{Clients: 100})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	x := run(b.Context(), p, Run{Plan: constantRate(rate, time.Duration(float64(b.N)/rate*1e9)), Drain: time.Second})
	if x.err != nil || x.total.OK < int64(b.N)-1 {
		b.Fatalf("%v, %+v", x.err, x.total)
	}
	reportPercentiles(b, "lag", x.lag)
	b.ReportMetric(float64(x.CPU.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(x.Busy, "busy")
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPoolLag is the hand-over at a rate that leaves time to sleep.
func BenchmarkPoolLag(b *testing.B) {
	b.Run("memory/1000", func(b *testing.B) { benchmarkRate(b, instant{}, 1000) })
	b.Run("memory/10000", func(b *testing.B) { benchmarkRate(b, instant{}, 10_000) })
	b.Run("tcp/10000", func(b *testing.B) { benchmarkRate(b, startEcho(b), 10_000) })
}

// BenchmarkPoolBusy is what an operation costs a client that is never idle.
func BenchmarkPoolBusy(b *testing.B) {
	p, err := NewPool(instant{}, PoolConfig{Clients: 1, Timeout: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	x := run(b.Context(), p, Run{Plan: constantRate(1e9, time.Duration(b.N)), Drain: time.Hour})
	if x.err != nil || x.total.OK != int64(b.N) {
		b.Fatalf("%v, %+v", x.err, x.total)
	}
}
