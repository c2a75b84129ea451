package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/queuetest"
)

// streamAPI are subjects with which JetStream is administered and read; STREAM
// stands for a stream's name.
var streamAPI = []string{
	"$JS.API.INFO", "$JS.API.ACCOUNT.PURGE.X", "$JS.API.META.LEADER.STEPDOWN",
	"$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.STREAM",
	"$JS.API.STREAM.CREATE.STREAM", "$JS.API.STREAM.UPDATE.STREAM", "$JS.API.STREAM.DELETE.STREAM",
	"$JS.API.STREAM.PURGE.STREAM", "$JS.API.STREAM.MSG.GET.STREAM", "$JS.API.STREAM.MSG.DELETE.STREAM",
	"$JS.API.DIRECT.GET.STREAM", "$JS.API.CONSUMER.CREATE.STREAM", "$JS.API.CONSUMER.DURABLE.CREATE.STREAM.mine",
	"$JS.API.CONSUMER.LIST.STREAM", "$JS.API.CONSUMER.INFO.STREAM.mine", "$JS.API.CONSUMER.DELETE.STREAM.mine",
	"$JS.API.CONSUMER.MSG.NEXT.STREAM.mine", "$JS.ACK.STREAM.mine.1.1.1.1.1", "$JS.FC.STREAM.mine.x", "$JSC.R.x",
}

// attacker holds the key of the admitted agent "mine", and attacks the agent
// "yours" and the master.
type attacker struct {
	*world
	nc          *nats.Conn
	own         *Link // of "mine"
	key, victim *identity.Key
	stamp       issuer
}

// hostile are reply subjects on which the server must not write for an agent:
// the server's own, the victim's, the queue server's, and invalid subjects.
func (a *attacker) hostile() []string {
	n := a.hub.names
	out := []string{
		n.agent("mine", kindGoodbye), n.agent("yours", kindGoodbye), n.agent("yours", kindResult),
		n.client(a.victim.Public(), kindCall), n.join(), n.event(testRun), n.event(""),
		n.task("mine"), n.task("yours"), n.order("mine"), n.order("yours"),
		n.inbox(a.victim.Public()) + ".x", n.inbox(a.hub.key.Public()) + ".x",
		n.inbox(a.key.Public()), n.inbox(a.key.Public()) + ".*", n.inbox(a.key.Public()) + ".>", n.inbox(a.key.Public()) + "x.y",
		"$SYS.REQ.SERVER.PING", "users.subject",
	}
	for _, s := range streamAPI {
		out = append(out, strings.ReplaceAll(s, "STREAM", "SB_"+n.id))
	}
	return out
}

// requests are proper requests of the attacker's own, by subject.
func (a *attacker) requests(t *testing.T) map[string][]byte {
	t.Helper()
	n := a.hub.names
	seal := func(kind string, m any) []byte {
		return must[[]byte](t)(sealFor(a.key, a.hub.key.Public(), fromAgent+kind, bodyFrame([]byte(toJSON(t, m))), a.stamp.next()))
	}
	question := must[[]byte](t)(a.key.Encrypt(a.hub.key.Public(), append([]byte{clockQuestion}, random(t, clockNonceSize)...)))
	return map[string][]byte{
		n.agent("mine", kindHello):    seal(kindHello, wire.Hello{Node: model.Node{ID: "mine"}, Session: "s"}),
		n.agent("mine", kindReady):    seal(kindReady, wire.Ready{Node: "mine", Attempt: attempt()}),
		n.agent("mine", kindResult):   seal(kindResult, someResult("mine")),
		n.agent("mine", kindGoodbye):  seal(kindGoodbye, wire.Goodbye{Node: "mine", Session: "s"}),
		n.agent("mine", kindFetch):    seal(kindFetch, "x"),
		n.agent("mine", kindClock):    append([]byte(a.key.Public()), question...),
		n.agent("mine", kindMissing):  seal(kindMissing, wire.Missing{Node: "yours", Inquiry: "i"}),
		n.agent("mine", kindReadings): seal(kindReadings, wire.Readings{Node: "yours", Began: time.Unix(7, 0)}),
		// What is refused must not be answered there either.
		n.agent("mine", kindReport):  []byte("no envelope"),
		n.agent("yours", kindResult): seal(kindResult, someResult("yours")),
		n.agent("yours", kindReady):  seal(kindReady, wire.Ready{Node: "yours", Attempt: attempt()}),
		n.join():                     seal("join", "x"),
	}
}

// attack sends every request with a reply subject, as often as the queue server
// lets it pass, and returns when the master has handled them.
func (a *attacker) attack(t *testing.T, reply string) {
	t.Helper()
	for subject, data := range a.requests(t) {
		check(t, a.nc.PublishRequest(subject, reply, data))
	}
	check(t, a.nc.Flush())
	// Later requests in the same queues are answered after these.
	ctx := testCtx(t)
	must[wire.HelloReply](t)(a.own.Hello(ctx, wire.Hello{Node: model.Node{ID: "mine"}, Session: "s"}))
	must[wire.ReadyReply](t)(a.own.Ready(ctx, wire.Ready{Node: "mine", Attempt: attempt()}))
	must[wire.ResultReply](t)(a.own.Result(ctx, someResult("mine")))
	_, _, err := a.own.measure(ctx, 1, 1)
	check(t, err)
}

// stillWorks lets a task and its result travel between the master and the
// victim.
func (a *attacker) stillWorks(t *testing.T, l *Link) {
	t.Helper()
	ctx := testCtx(t)
	check(t, a.hub.Dispatch(assignment("yours", a.victim.Public(), 0, 1)))
	d := must[Delivery](t)(l.Next(ctx))
	check(t, d.Refused)
	if r, err := l.Result(ctx, someResult("yours")); err != nil || !r.Stored {
		t.Errorf("the victim's result: %+v, %v", r, err)
	}
}

// expected are the subjects of the attack's own requests, and of what
// stillWorks lets travel: messages there are no answers of the master's.
func (a *attacker) expected(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{a.hub.names.task("yours"): true}
	for subject := range a.requests(t) {
		out[subject] = true
	}
	return out
}

func attackHandlers(*Hub) Handlers {
	return Handlers{
		Hello:   func(context.Context, wire.Hello) (wire.HelloReply, error) { return wire.HelloReply{}, nil },
		Ready:   func(context.Context, wire.Ready) (wire.ReadyReply, error) { return wire.ReadyReply{}, nil },
		Result:  func(context.Context, model.Result) wire.ResultReply { return wire.ResultReply{Stored: true} },
		Chunk:   func(context.Context, wire.Chunk) error { return nil },
		Goodbye: func(context.Context, wire.Goodbye) {},
	}
}

// With an agent's key nothing but the agent's own subjects is reached on the
// embedded server, be it directly or as a reply subject.
func TestAgentsKeyReachesItsOwnOnly(t *testing.T) {
	w := newWorld(t, attackHandlers(nil))
	mine := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: mine.Public(), Role: identity.RoleAgent, Node: "mine"}))
	l, yours := w.agent(t, "yours")
	a := &attacker{world: w, nc: w.raw(t, mine), own: w.dial(t, "mine", mine), key: mine, victim: yours, stamp: issuer{now: time.Now}}
	seen := must[*nats.Subscription](t)(w.hub.nc.SubscribeSync(w.hub.names.root() + ".>"))
	for _, subject := range a.hostile() {
		if subject == w.hub.names.agent("mine", kindGoodbye) {
			continue // its own
		}
		check(t, a.nc.PublishRequest(subject, w.hub.names.agent("yours", kindGoodbye), []byte("x")))
		if !forbidden(t, a.nc, "Publish", subject) {
			t.Errorf("the agent may publish on %s", subject)
		}
	}
	hostile := map[string]bool{}
	for _, reply := range a.hostile() {
		hostile[reply] = true
		a.attack(t, reply)
		// The case of old: the stream's own answer, sent to where the stream ends.
		check(t, a.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.SB_"+w.hub.names.id+".mine", reply, nil))
	}
	a.stillWorks(t, l)
	check(t, w.hub.nc.Flush())
	expected := a.expected(t)
	for pending, _, _ := seen.Pending(); pending > 0; pending-- {
		m := must[*nats.Msg](t)(seen.NextMsg(time.Second))
		if hostile[m.Subject] && !expected[m.Subject] {
			t.Errorf("the master wrote on %s", m.Subject)
		}
	}
	if err := w.hub.nc.LastError(); err != nil {
		t.Errorf("the master tried to write where it may not: %v", err)
	}
}

// With a client's key, or a token's, it is the same: what they may not write
// themselves the master does not write for them, as the answer to any request.
func TestClientsAndTokensKeysReachTheirOwnOnly(t *testing.T) {
	w := newWorld(t, attackHandlers(nil))
	client := newKey(t, identity.RoleClient)
	check(t, w.auth.Admit(identity.Grant{Key: client.Public(), Role: identity.RoleClient, Node: "mine"}))
	tok := w.token(t, identity.TokenSpec{Role: identity.RoleClient, Uses: 1000})
	tokenKey := must[*identity.Key](t)(tok.Key())
	_, yours := w.agent(t, "yours")
	own := must[*Client](t)(DialClient(testCtx(t), w.conn.Info(), client, DialOptions{Log: w.opt.Log}))
	defer func() { _ = own.Close() }()
	seen := must[*nats.Subscription](t)(w.hub.nc.SubscribeSync(w.hub.names.root() + ".>"))
	part := part{id: transferID{1}, count: 1, data: []byte("x")}.encode()
	bodies := map[string][]byte{kindCall: must[[]byte](t)(encodeCall("runs", nil)), kindPart: part, kindFetch: part, kindWatch: nil}
	hostile := map[string]bool{}
	for _, k := range []*identity.Key{client, tokenKey} {
		a := &attacker{world: w, nc: w.raw(t, k), key: k, victim: yours, stamp: issuer{now: time.Now}}
		for _, subject := range a.hostile() {
			hostile[subject] = true
			if subject == w.hub.names.join() && k == tokenKey {
				continue // its own
			}
			check(t, a.nc.PublishRequest(subject, w.hub.names.agent("yours", kindGoodbye), []byte("x")))
			if !forbidden(t, a.nc, "Publish", subject) {
				t.Errorf("the key may publish on %s", subject)
			}
		}
		for reply := range hostile {
			if k == tokenKey {
				data := must[[]byte](t)(identity.SealJoin(tok, newKey(t, identity.RoleClient), "x", a.stamp.next()))
				check(t, a.nc.PublishRequest(w.hub.names.join(), reply, data))
				continue
			}
			for kind, body := range bodies {
				data := must[[]byte](t)(sealFor(k, w.key.Public(), fromClient+kind, bodyFrame(body), a.stamp.next()))
				check(t, a.nc.PublishRequest(w.hub.names.client(k.Public(), kind), reply, data))
			}
		}
		check(t, a.nc.Flush())
	}
	must[ServerInfo](t)(Join(testCtx(t), tok, newKey(t, identity.RoleClient), "last")) // joins come in order
	_, err := own.Call(testCtx(t), "runs", nil)
	check(t, err)
	for w.hub.guard.sum() > 0 { // calls are handled at the same time
		_, err := own.Call(testCtx(t), "runs", nil)
		check(t, err)
	}
	check(t, w.hub.nc.Flush())
	delete(hostile, w.hub.names.join()) // requests stand there
	for pending, _, _ := seen.Pending(); pending > 0; pending-- {
		if m := must[*nats.Msg](t)(seen.NextMsg(time.Second)); hostile[m.Subject] {
			t.Errorf("the master wrote on %s", m.Subject)
		}
	}
	if err := w.hub.nc.LastError(); err != nil {
		t.Errorf("the master tried to write where it may not: %v", err)
	}
	for _, g := range w.auth.Grants() {
		if g.Node == "x" {
			t.Error("a request to join that wants its answer elsewhere was granted")
		}
	}
}

// On a cluster of the user's that has JetStream, where the queue server itself
// lets an agent write anywhere, the master still writes nowhere for it.
func TestAgentsKeyOnAForeignCluster(t *testing.T) {
	f := startForeign(t, "one", users+withJetStream)
	w := externalWorld(t, attackHandlers, ExternalConfig{URLs: []string{withUser(f.url, "u:p")}})
	mine := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: mine.Public(), Role: identity.RoleAgent, Node: "mine"}))
	l, yours := w.agent(t, "yours")
	nc := must[*nats.Conn](t)(nats.Connect(withUser(f.url, "u:p")))
	defer nc.Close()
	a := &attacker{world: w, nc: nc, own: w.dial(t, "mine", mine), key: mine, victim: yours, stamp: issuer{now: time.Now}}
	js := must[jetstream.JetStream](t)(jetstream.New(nc))
	name := "SB_" + w.hub.names.id
	must[jetstream.Stream](t)(js.CreateStream(testCtx(t), jetstream.StreamConfig{Name: name, Subjects: []string{"users.>"}}))
	must[*jetstream.PubAck](t)(js.Publish(testCtx(t), "users.data", []byte("x")))

	all := queuetest.Connect(t, withUser(f.url, "u:p")).Capture(">")
	for _, reply := range a.hostile() {
		a.attack(t, reply)
	}
	a.stillWorks(t, l)
	end := w.hub.names.root() + ".end" // what the master sends last is seen last
	check(t, w.hub.nc.Publish(end, nil))
	messages := all.Messages()
	for n := 1; len(messages) == 0 || messages[len(messages)-1].Subject != end; n++ {
		messages = all.Await(n)
	}
	hostile, expected := a.hostile(), a.expected(t)
	for _, m := range messages {
		if slices.Contains(hostile, m.Subject) && !expected[m.Subject] {
			t.Errorf("the master wrote on %s", m.Subject)
		}
	}
	s := must[jetstream.Stream](t)(js.Stream(testCtx(t), name))
	if n := s.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("the user's stream holds %d messages, want 1", n)
	}
}

// A few bytes that unpack to hundreds of megabytes are refused before any are
// allocated, and the sender is told; so is a message larger than its kind.
func TestMessagesAreBoundedBeforeTheyAreUnpacked(t *testing.T) {
	handled := make(chan string, 100)
	w := newWorld(t, Handlers{
		Result: func(context.Context, model.Result) wire.ResultReply {
			handled <- "result"
			return wire.ResultReply{Stored: true}
		},
		Heartbeat: func(wire.Heartbeat) { handled <- "heartbeat" },
	})
	l, k := w.agent(t, "n")
	ask := func(kind string, packed []byte) error {
		secret := must[[]byte](t)(k.Encrypt(w.key.Public(), packed))
		data := must[[]byte](t)(identity.Seal(k, fromAgent+kind, secret, l.stamp.next()))
		m, err := l.nc.Request(w.hub.names.agent("n", kind), data, 10*time.Second)
		check(t, err)
		f := must[frame](t)(openReply(k, w.key.Public(), data, m.Data))
		return f.err
	}
	bomb := append([]byte{packedS2}, binary.AppendUvarint(nil, maxReply-1)...)
	bomb = append(bomb, bytes.Repeat([]byte{0xfe, 0xff, 0xff}, 60)...)
	for _, kind := range []string{kindHello, kindHeartbeat, kindReady, kindResult, kindChunk, kindProgress,
		kindReport, kindMissing, kindReadings, kindGoodbye, kindPart, kindFetch} {
		whole, _ := limits(kind)
		large := pack(bodyFrame(make([]byte, whole+2*margin)))
		for name, packed := range map[string][]byte{
			"a bomb":           bomb,
			"a size too large": append([]byte{packedS2}, s2.Encode(nil, make([]byte, whole+2*margin))...),
			"too large":        large,
		} {
			if err := ask(kind, packed); !errors.Is(err, model.ErrUsage) {
				t.Errorf("%s of %s: %v, want %v", kind, name, err, model.ErrUsage)
			}
		}
	}
	raw := append([]byte{packedRaw}, bodyFrame([]byte(randomText(maxSmall+2*margin)))...)
	if err := ask(kindHeartbeat, raw); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a large heartbeat: %v, want %v", err, model.ErrUsage)
	}
	if len(handled) > 0 {
		t.Errorf("handled: %s", <-handled)
	}
	if r := must[wire.ResultReply](t)(l.Result(testCtx(t), someResult("n"))); !r.Stored {
		t.Errorf("the result after that: %+v", r)
	}
}
