package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func TestStrangersAreRefused(t *testing.T) {
	w := newWorld(t, Handlers{})
	k := newKey(t, identity.RoleAgent)
	admitted := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: admitted.Public(), Role: identity.RoleAgent, Node: "n"}))
	for _, c := range []struct {
		name string
		opts []nats.Option
	}{
		{"nothing", nil},
		{"a user and password", []nats.Option{nats.UserInfo("a", "b")}},
		{"a token", []nats.Option{nats.Token("t")}},
		{"an unknown key", []nats.Option{nats.Nkey(k.Public(), k.Sign)}},
		{"an admitted key, signed by another", []nats.Option{nats.Nkey(admitted.Public(), k.Sign)}},
		{"the master's key, signed by another", []nats.Option{nats.Nkey(w.key.Public(), k.Sign)}},
		{"an admitted key, a constant signed", []nats.Option{nats.Nkey(admitted.Public(), func([]byte) ([]byte, error) { return admitted.Sign([]byte("x")) })}},
		{"an admitted key, no signature", []nats.Option{nats.Nkey(admitted.Public(), func([]byte) ([]byte, error) { return nil, nil })}},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, err := nats.Connect(w.server.URL(), c.opts...)
			if err == nil {
				nc.Close()
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("Connect = %v, want %v", err, nats.ErrAuthorization)
			}
		})
	}
}

func TestDialWithAnUnknownKey(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, err := DialAgent(testCtx(t), w.conn.Info(), newKey(t, identity.RoleAgent), "n", DialOptions{})
	if !errors.Is(err, model.ErrDenied) || !strings.Contains(err.Error(), "join with a new token") {
		t.Errorf("DialAgent = %v, want %v and what to do", err, model.ErrDenied)
	}
	_, err = DialClient(testCtx(t), w.conn.Info(), newKey(t, identity.RoleClient), DialOptions{})
	if !errors.Is(err, model.ErrDenied) {
		t.Errorf("DialClient = %v, want %v", err, model.ErrDenied)
	}
}

// raw is a connection with a key and without our own code around it.
func (w *world) raw(t *testing.T, k *identity.Key) *nats.Conn {
	nc, err := nats.Connect(w.server.URL(), nats.Nkey(k.Public(), k.Sign),
		nats.CustomInboxPrefix(w.hub.names.inbox(k.Public())),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // see forbidden
	check(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// forbidden reports whether the server refused to let a connection publish or
// subscribe ("Publish", "Subscription") to a subject. Flush waits for the
// server's answer to all before.
func forbidden(t *testing.T, nc *nats.Conn, what, subject string) bool {
	t.Helper()
	check(t, nc.Flush())
	err := nc.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) &&
		strings.Contains(err.Error(), what+` to "`+subject+`"`)
}

func TestPermissions(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, mine := w.agent(t, "mine")
	_, yours := w.agent(t, "yours")
	ck := newKey(t, identity.RoleClient)
	check(t, w.auth.Admit(identity.Grant{Key: ck.Public(), Role: identity.RoleClient, Node: "cli"}))
	tok := must[identity.Token](t)(w.hub.NewToken(identity.TokenSpec{Role: identity.RoleAgent}))
	tk := must[*identity.Key](t)(tok.Key())
	n, s := w.hub.names, "SB_"+w.hub.names.id
	conns := map[string]*nats.Conn{"agent": w.raw(t, mine), "client": w.raw(t, ck), "join": w.raw(t, tk), "master": w.raw(t, w.key)}
	for _, c := range []struct {
		who, do, subject string
		allowed          bool
	}{
		{"agent", "pub", n.agent("mine", kindResult), true},
		{"agent", "pub", n.agent("yours", kindResult), false},
		{"agent", "pub", n.task("mine"), false},
		{"agent", "pub", n.task("yours"), false},
		{"agent", "pub", n.order("mine"), false},
		{"agent", "pub", n.order("yours"), false},
		{"agent", "pub", n.event(testRun), false},
		{"agent", "pub", n.client(mine.Public(), kindCall), false},
		{"agent", "pub", n.inbox(yours.Public()) + ".x", false},
		{"agent", "pub", n.join(), false},
		{"agent", "pub", "$JS.API.INFO", false},
		{"agent", "pub", "$JS.API.CONSUMER.MSG.NEXT." + s + ".mine", false},
		{"agent", "pub", "$JS.API.CONSUMER.INFO." + s + ".mine", false},
		{"agent", "pub", "$JS.API.STREAM.MSG.GET." + s, false},
		{"agent", "pub", "$JS.API.DIRECT.GET." + s, false},
		{"agent", "pub", "$JS.API.STREAM.PURGE." + s, false},
		{"agent", "pub", "$JS.API.STREAM.DELETE." + s, false},
		{"agent", "pub", "$JS.API.CONSUMER.CREATE." + s, false},
		{"agent", "pub", "$JS.API.CONSUMER.DELETE." + s + ".mine", false},
		{"agent", "pub", "$JS.ACK." + s + ".mine.1.1.1.1.1", false},
		{"agent", "pub", "$JS.ACK.d.a." + s + ".mine.1.1.1.1.1", false},
		{"agent", "pub", "$SYS.REQ.SERVER.PING", false},
		{"agent", "sub", n.order("mine"), true},
		{"agent", "sub", n.order("yours"), false},
		{"agent", "sub", n.task("mine"), true},
		{"agent", "sub", n.task("yours"), false},
		{"agent", "sub", n.agent("yours", ">"), false},
		{"agent", "sub", n.inbox(mine.Public()) + ".*", true},
		{"agent", "sub", n.inbox(yours.Public()) + ".>", false},
		{"agent", "sub", n.root() + ".i.>", false},
		{"agent", "sub", n.anyEvent(), false},
		{"agent", "sub", ">", false},
		{"agent", "sub", "$JS.>", false},
		{"agent", "sub", "$SYS.>", false},
		{"client", "pub", n.client(ck.Public(), kindCall), true},
		{"client", "pub", n.client(mine.Public(), kindCall), false},
		{"client", "pub", n.agent("mine", kindResult), false},
		{"client", "pub", n.task("mine"), false},
		{"client", "pub", n.order("mine"), false},
		{"client", "pub", n.event(testRun), false},
		{"client", "pub", "$JS.API.STREAM.PURGE." + s, false},
		{"client", "pub", "$JS.API.CONSUMER.MSG.NEXT." + s + ".mine", false},
		{"client", "sub", n.event(testRun), true},
		{"client", "sub", n.task("mine"), false},
		{"client", "sub", n.agent("mine", ">"), false},
		{"client", "sub", ">", false},
		{"master", "pub", n.task("mine"), true},
		{"master", "pub", "$JS.API.STREAM.PURGE." + s, false},
		{"master", "sub", n.anyAgent(kindHello), true},
		{"master", "sub", "$JS.>", false},
		{"master", "sub", ">", false},
		{"join", "pub", n.join(), true},
		{"join", "pub", n.agent("mine", kindHello), false},
		{"join", "pub", n.client(tk.Public(), kindCall), false},
		{"join", "pub", n.task("mine"), false},
		{"join", "sub", n.inbox(tk.Public()) + ".*", true},
		{"join", "sub", n.inbox(mine.Public()) + ".*", false},
		{"join", "sub", n.anyEvent(), false},
		{"join", "sub", ">", false},
	} {
		nc, what := conns[c.who], "Publish"
		if c.do == "pub" {
			check(t, nc.Publish(c.subject, []byte("x")))
		} else {
			_, err := nc.SubscribeSync(c.subject)
			check(t, err)
			what = "Subscription"
		}
		if got := !forbidden(t, nc, what, c.subject); got != c.allowed {
			t.Errorf("%s %s %s: allowed %v, want %v", c.who, c.do, c.subject, got, c.allowed)
		}
	}
}

// On a foreign cluster anybody can publish anything: the hub must refuse by
// itself what the embedded server would not have let through.
func TestHubRefusesWhatPermissionsWouldNot(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	w := newWorld(t, Handlers{
		Heartbeat: func(h wire.Heartbeat) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, h.Session)
		},
		Missing: func(m wire.Missing) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, m.Inquiry)
		},
		Readings: func(r wire.Readings) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, "readings of "+string(r.Node))
		},
		API: func(context.Context, Caller, string, []byte) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, "call")
			return nil, nil
		},
		Ready: func(context.Context, wire.Ready) (wire.ReadyReply, error) { return wire.ReadyReply{}, nil },
	})
	l, k := w.agent(t, "n")
	_, other := w.agent(t, "m")
	stranger := newKey(t, identity.RoleAgent)
	beat := func(by *identity.Key, purpose, text string) []byte {
		return must[[]byte](t)(sealFor(by, w.key.Public(), purpose, bodyFrame([]byte(text)), time.Now()))
	}
	const purpose = fromAgent + kindHeartbeat
	call := bodyFrame(must[[]byte](t)(encodeCall("delete", nil)))
	for _, m := range []struct {
		subject string
		data    []byte
	}{
		{w.hub.names.agent("n", kindHeartbeat), []byte("junk")},
		{w.hub.names.agent("n", kindHeartbeat), beat(stranger, purpose, `{"node":"n","session":"stranger"}`)},
		{w.hub.names.agent("n", kindHeartbeat), beat(other, purpose, `{"node":"n","session":"another node"}`)},
		{w.hub.names.agent("m", kindHeartbeat), beat(other, purpose, `{"node":"n","session":"another node's name"}`)},
		{w.hub.names.agent("m", kindMissing), beat(other, fromAgent+kindMissing, `{"node":"n","inquiry":"another node's"}`)},
		{w.hub.names.agent("m", kindReadings), beat(other, fromAgent+kindReadings,
			`{"node":"n","began":"2026-01-01T00:00:00Z"}`)},
		{w.hub.names.agent("n", kindHeartbeat), beat(k, fromAgent+kindGoodbye, `{"node":"n","session":"another purpose"}`)},
		{w.hub.names.agent("n", kindHeartbeat), must[[]byte](t)(identity.Seal(k, purpose, []byte(`{"node":"n","session":"not encrypted"}`), time.Now()))},
		{w.hub.names.client(k.Public(), kindCall), must[[]byte](t)(sealFor(k, w.key.Public(), fromClient+kindCall, call, time.Now()))},
	} {
		check(t, w.hub.nc.Publish(m.subject, m.data))
	}
	check(t, w.hub.nc.Flush())
	for _, l := range []*Link{l, w.dial(t, "m", other)} { // both queues are drained
		must[wire.ReadyReply](t)(l.Ready(testCtx(t), wire.Ready{Node: l.node, Attempt: attempt()}))
	}
	check(t, w.hub.Close())
	w.hub = nil
	if len(heard) > 0 {
		t.Errorf("handlers were called: %q", heard)
	}
}

// A reply goes to inboxes only: the master writes nowhere for others.
func TestHubRepliesToInboxesOnly(t *testing.T) {
	w := newWorld(t, Handlers{Ready: func(context.Context, wire.Ready) (wire.ReadyReply, error) { return wire.ReadyReply{}, nil }})
	l, k := w.agent(t, "n")
	nc := w.raw(t, k)
	tasks := must[*nats.Subscription](t)(w.hub.nc.SubscribeSync(w.hub.names.task("n")))
	data := must[[]byte](t)(sealFor(k, w.key.Public(), fromAgent+kindReady, bodyFrame([]byte(toJSON(t, wire.Ready{Node: "n", Attempt: attempt()}))), time.Now()))
	check(t, nc.PublishRequest(w.hub.names.agent("n", kindReady), w.hub.names.task("n"), data))
	check(t, nc.Flush())
	must[wire.ReadyReply](t)(l.Ready(testCtx(t), wire.Ready{Node: "n", Attempt: attempt()}))
	check(t, w.hub.nc.Flush())
	if n := count(t, tasks, w.hub.names.task("n")); n != 0 {
		t.Errorf("the reply was sent as a task (%d)", n)
	}
}

func TestReplyIsBoundToItsRequest(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, k := w.agent(t, "n")
	reply := must[[]byte](t)(sealFor(w.key, k.Public(), replyPurpose([]byte("request 1")), bodyFrame(nil), time.Now()))
	if _, err := openReply(k, w.key.Public(), []byte("request 1"), reply); err != nil {
		t.Errorf("its own reply: %v", err)
	}
	if _, err := openReply(k, w.key.Public(), []byte("request 2"), reply); !errors.Is(err, identity.ErrPurpose) || !errors.Is(err, model.ErrDenied) {
		t.Errorf("another request's reply: %v, want %v", err, identity.ErrPurpose)
	}
	forged := must[[]byte](t)(sealFor(k, k.Public(), replyPurpose([]byte("request 1")), bodyFrame(nil), time.Now()))
	if _, err := openReply(k, w.key.Public(), []byte("request 1"), forged); !errors.Is(err, model.ErrDenied) {
		t.Errorf("a forged reply: %v, want %v", err, model.ErrDenied)
	}
}

func TestRevocationEndsTheConnection(t *testing.T) {
	w := newWorld(t, Handlers{})
	l, _ := w.agent(t, "n")
	check(t, w.auth.Revoke("n"))
	select {
	case <-l.done:
	case <-testCtx(t).Done():
		t.Fatal("the revoked agent is still connected")
	}
	if err := l.Err(); !errors.Is(err, model.ErrDenied) {
		t.Errorf("Err = %v, want %v", err, model.ErrDenied)
	}
	if _, err := l.Next(testCtx(t)); !errors.Is(err, model.ErrDenied) {
		t.Errorf("Next = %v, want %v", err, model.ErrDenied)
	}
}

func TestOffLoopbackWithoutTLSIsRefused(t *testing.T) {
	k := newKey(t, identity.RoleServer)
	for _, c := range []struct {
		info ServerInfo
		want error
	}{
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://192.0.2.1:4222"}}}, errNoTLS},
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://127.0.0.1:1", "nats://192.0.2.1:4222"}}}, errNoTLS},
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://db.example:4222"}}}, errNoTLS},
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://192.0.2.1:4222"}, Insecure: true}}, nil},
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"tls://192.0.2.1:4222"}, Fingerprint: strings.Repeat("ab", 32)}}, nil},
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://127.0.0.1:4222", "nats://[::1]:4222", "localhost:1"}}}, nil},
		{ServerInfo{}, model.ErrUsage},
		{ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://"}}}, model.ErrUsage},
	} {
		c.info.ServerKey = k.Public()
		if err := c.info.check(); !errors.Is(err, c.want) {
			t.Errorf("check(%+v) = %v, want %v", c.info, err, c.want)
		}
	}
}
