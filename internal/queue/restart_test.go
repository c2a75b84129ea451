package queue

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// restart stops the server in an orderly way and starts it on the same port
// and directory.
func (w *world) restart(t *testing.T, hs Handlers) {
	t.Helper()
	listen, err := listenOf(w.conn.Info())
	check(t, err)
	w.stop()
	w.listen = listen
	w.start(t, hs)
}

// A node hears of tasks after the server was restarted, without a new dial.
func TestTasksAfterARestart(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	for attempt := range 3 {
		w.restart(t, Handlers{})
		<-l.Reconnected()
		check(t, l.nc.Flush()) // its subscriptions are known, as after a Hello
		check(t, w.hub.Dispatch(assignment("n", k.Public(), 0, attempt+1)))
		d := must[Delivery](t)(l.Next(ctx))
		if check(t, d.Refused); d.Assignment.Attempt != attempt+1 {
			t.Errorf("got attempt %d, want %d", d.Assignment.Attempt, attempt+1)
		}
	}
}

// A request that waits while the server goes away ends at once, and one made
// while it is away waits for it to come back.
func TestRequestsAcrossARestart(t *testing.T) {
	entered := make(chan struct{}, 1)
	w := newWorld(t, Handlers{Result: func(ctx context.Context, _ model.Result) wire.ResultReply {
		entered <- struct{}{}
		<-ctx.Done()
		return wire.ResultReply{}
	}})
	ctx := testCtx(t)
	l, _ := w.agent(t, "n")
	failed := make(chan error, 1)
	go func() {
		_, err := l.Result(ctx, someResult("n"))
		failed <- err
	}()
	<-entered
	w.stop()
	err := <-failed
	if err != nil && !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("a request to a server that went away: %v, want %v", err, model.ErrUnavailable)
	}
	done := make(chan error, 1)
	go func() {
		for { // as the agent does
			_, err := l.Result(ctx, someResult("n"))
			if err == nil || !errors.Is(err, model.ErrUnavailable) {
				done <- err
				return
			}
		}
	}()
	w.listen, err = listenOf(w.conn.Info())
	check(t, err)
	w.start(t, Handlers{Result: func(context.Context, model.Result) wire.ResultReply { return wire.ResultReply{Stored: true} }})
	check(t, <-done)
}

func TestOneServerPerDirectory(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, err := StartServer(testCtx(t), ServerConfig{DataDir: w.dir, Key: w.key, Authority: w.auth})
	if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), "in use by another scalebench server") {
		t.Errorf("a second server: %v", err)
	}
}

func TestPortInUse(t *testing.T) {
	w := newWorld(t, Handlers{})
	listen, err := listenOf(w.conn.Info())
	check(t, err)
	_, err = StartServer(testCtx(t), ServerConfig{DataDir: t.TempDir(), Listen: listen, Key: w.key, Authority: w.auth})
	if err == nil || !strings.Contains(err.Error(), "check that no other server is running there") {
		t.Errorf("a port in use: %v", err)
	}
}

func TestDialWaitsForTheServer(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, k := w.agent(t, "n")
	info := w.conn.Info()
	listen, err := listenOf(info)
	check(t, err)
	w.stop()
	dialled := make(chan error, 1)
	go func() {
		l, err := DialAgent(testCtx(t), info, k, "n", DialOptions{})
		if err == nil {
			// The server takes connections before its master listens.
			for err = model.ErrUnavailable; errors.Is(err, model.ErrUnavailable); {
				_, _, err = l.Clock(testCtx(t))
			}
			_ = l.Close()
		}
		dialled <- err
	}()
	w.listen = listen
	w.start(t, Handlers{})
	check(t, <-dialled)
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(testCtx(t))
	cancel()
	info := ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://127.0.0.1:1"}, ServerKey: newKey(t, identity.RoleServer).Public()}}
	_, err := DialAgent(ctx, info, newKey(t, identity.RoleAgent), "n", DialOptions{})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("DialAgent = %v, want %v", err, context.Canceled)
	}
}

func TestBadListenAddress(t *testing.T) {
	for _, listen := range []string{"nonsense", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", "127.0.0.1:-1"} {
		_, err := StartServer(testCtx(t), ServerConfig{DataDir: t.TempDir(), Listen: listen})
		if !errors.Is(err, model.ErrUsage) {
			t.Errorf("listening on %q: %v, want %v", listen, err, model.ErrUsage)
		}
	}
}
