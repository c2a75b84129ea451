package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func TestClock(t *testing.T) {
	const ahead = 90 * time.Minute
	w := newWorldWith(t, Handlers{}, HubOptions{Now: func() time.Time { return time.Now().Add(ahead) }})
	l, _ := w.agent(t, "n")
	offset, bound, err := l.Clock(testCtx(t))
	check(t, err)
	if off := (offset - ahead).Abs(); off > bound {
		t.Errorf("offset %v is %v off, more than the bound %v", offset, off, bound)
	}
	if bound <= 0 || bound > time.Second {
		t.Errorf("bound %v", bound)
	}
	t.Logf("offset error %v, bound %v", offset-ahead, bound)
}

// A measurement ends as soon as it is good, never before four round trips and
// never after twelve. The agent's clock is injected: it is read before and
// after every round trip, and says how long that took.
func TestClockStopsEarly(t *testing.T) {
	const slow, good = 2*goodBound + 100*time.Microsecond, 2*goodBound - 2
	for _, c := range []struct {
		name  string
		took  []time.Duration // by round trip; the last one repeats
		want  int
		bound time.Duration
	}{
		{"good from the start", []time.Duration{good}, 4, good/2 + 1},
		{"good after the fourth", []time.Duration{slow, slow, slow, slow, slow, good}, 6, good/2 + 1},
		{"good once", []time.Duration{good, slow}, 4, good/2 + 1},
		{"never good", []time.Duration{slow}, 12, slow/2 + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Handlers{})
			_, k := w.agent(t, "n")
			var reads int
			at := time.Now()
			now := func() time.Time {
				if reads%2 == 1 {
					at = at.Add(c.took[min(reads/2, len(c.took)-1)])
				}
				reads++
				return at
			}
			l := must[*Link](t)(DialAgent(testCtx(t), w.conn.Info(), k, "n", DialOptions{Now: now}))
			defer func() { _ = l.Close() }()
			reads = 0
			_, bound, err := l.Clock(testCtx(t))
			check(t, err)
			if reads/2 != c.want || bound != c.bound {
				t.Errorf("%d round trips, bound %v; want %d, %v", reads/2, bound, c.want, c.bound)
			}
		})
	}
}

// Whether a task has expired is judged by the server's clock, from the first
// task on and after every reconnect, however wrong the node's own clock is.
func TestExpiryIsByTheServersClock(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	_, k := w.agent(t, "n")
	var wrong atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) }
	wrong.Store(int64(48 * time.Hour))
	l := must[*Link](t)(DialAgent(ctx, w.conn.Info(), k, "n", DialOptions{Now: now}))
	defer func() { _ = l.Close() }()

	next := func(what string, position int, expires time.Duration, want error) {
		t.Helper()
		a := assignment("n", k.Public(), position, 1)
		a.Expires = time.Now().Add(expires)
		check(t, w.hub.Dispatch(a))
		d := must[Delivery](t)(l.Next(ctx))
		if !errors.Is(d.Refused, want) || (want == nil && d.Refused != nil) {
			t.Errorf("%s: refused %v, want %v", what, d.Refused, want)
		}
	}
	next("clock two days ahead", 0, time.Hour, nil)
	next("clock two days ahead", 1, -time.Minute, ErrExpired)
	// The host sleeps, and its clock is set while the connection is away.
	wrong.Store(-int64(48 * time.Hour))
	check(t, l.nc.ForceReconnect())
	<-l.Reconnected()
	check(t, l.nc.Flush()) // its subscriptions are known, as after a Hello
	next("clock two days behind", 2, -time.Minute, ErrExpired)
	next("clock two days behind", 3, time.Hour, nil)
}

// An admitted agent cannot make the master write outside of the agent's own
// inbox, where it may not write itself: not with a clock request, and not with
// any other.
func TestAnswersGoToTheSendersInboxOnly(t *testing.T) {
	w := newWorld(t, Handlers{
		Ready: func(context.Context, wire.Ready) (wire.ReadyReply, error) { return wire.ReadyReply{}, nil },
	})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	_, other := w.agent(t, "other")
	n := w.hub.names
	all := must[*nats.Subscription](t)(w.hub.nc.SubscribeSync(n.root() + ".>"))
	question := must[[]byte](t)(k.Encrypt(w.key.Public(), append([]byte{clockQuestion}, random(t, clockNonceSize)...)))
	clock := append([]byte(k.Public()), question...)
	for _, c := range []struct {
		reply string
		want  bool
	}{
		{n.order("n"), false},
		{n.task("other"), false},
		{n.event(testRun), false},
		{"$JS.API.STREAM.PURGE.SB_" + n.id, false},
		{n.inbox(k.Public()) + ".*", false},
		{n.inbox(k.Public()) + ".>", false},
		{n.inbox(other.Public()) + ".x", false},
		{n.inbox(k.Public()), false},
		{n.inbox(k.Public()) + ".x", true},
	} {
		ready := must[[]byte](t)(sealFor(k, w.key.Public(), fromAgent+kindReady, bodyFrame([]byte(toJSON(t, wire.Ready{Node: "n", Attempt: attempt()}))), l.stamp.next()))
		for kind, data := range map[string][]byte{kindClock: clock, kindReady: ready} {
			check(t, l.nc.PublishRequest(n.agent("n", kind), c.reply, data))
			// A later request in the same queue is answered when this one was.
			barrier(ctx, t, l, kind)
			// And what the master published before that is here after a flush.
			check(t, w.hub.nc.Flush())
			if err := w.hub.nc.LastError(); err != nil {
				t.Errorf("%s with the reply subject %s: the master tried to answer: %v", kind, c.reply, err)
			}
			if got := count(t, all, c.reply); (got > 0) != c.want {
				t.Errorf("%s with the reply subject %s: %d answers there, want some: %v", kind, c.reply, got, c.want)
			}
		}
	}
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	must[int](t)(rand.Read(b))
	return b
}

// barrier returns when the hub has handled what the link sent before.
func barrier(ctx context.Context, t *testing.T, l *Link, kind string) {
	t.Helper()
	if kind == kindClock {
		_, _, err := l.measure(ctx, 1, 1)
		check(t, err)
		return
	}
	must[wire.ReadyReply](t)(l.Ready(ctx, wire.Ready{Node: model.NodeID("n"), Attempt: attempt()}))
}

// count reads what a subscription holds and counts the messages on a subject.
func count(t *testing.T, sub *nats.Subscription, subject string) (n int) {
	t.Helper()
	for pending, _, _ := sub.Pending(); pending > 0; pending-- {
		if m := must[*nats.Msg](t)(sub.NextMsg(time.Second)); m.Subject == subject {
			n++
		}
	}
	return n
}
