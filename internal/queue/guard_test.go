package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/queuetest"
)

// strict is a world that cuts senders, with a clock that can be set ahead.
type strict struct {
	*world
	ahead atomic.Int64
	cut   chan string // who was cut
	beats chan string // sessions of heartbeats that were heard
}

func (s *strict) options() HubOptions {
	return HubOptions{Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }}
}

func (s *strict) handlers() Handlers {
	return complete(Handlers{
		Heartbeat: func(h wire.Heartbeat) { s.beats <- h.Session },
		Result: func(_ context.Context, r model.Result) wire.ResultReply {
			return wire.ResultReply{Stored: true, Reason: string(r.Outcome) + " " + r.Error}
		},
		Cut: func(g identity.Grant, text string) { s.cut <- fmt.Sprintf("%s %s: %s", g.Role, g.Node, text) },
	})
}

// sum is how much waits of all senders.
func (g *guard) sum() int {
	g.Lock()
	defer g.Unlock()
	return g.waiting
}

func newStrict(t *testing.T) *strict {
	s := &strict{cut: make(chan string, 100), beats: make(chan string, 100)}
	s.world = newWorldWith(t, s.handlers(), s.options())
	return s
}

// broken sends a message of a kind that nobody's scalebench would.
func broken(t *testing.T, s *session, kind string) []byte {
	t.Helper()
	secret := must[[]byte](t)(s.key.Encrypt(s.server, []byte{packedS2, 0xff, 0xff, 0xff, 0xff, 1}))
	data := must[[]byte](t)(identity.Seal(s.key, s.from+kind, secret, s.stamp.next()))
	check(t, s.nc.Publish(s.subject(kind), data))
	check(t, s.nc.Flush())
	return data
}

// beat reports whether a node's heartbeat is heard, or dropped. A request of
// its neighbour, which comes after it, is answered when it was sorted.
func (s *strict) beat(t *testing.T, l, neighbour *Link) (heard bool) {
	t.Helper()
	check(t, l.Heartbeat(wire.Heartbeat{Node: l.node, Session: "own"}))
	check(t, l.nc.Flush())
	must[wire.ReadyReply](t)(neighbour.Ready(testCtx(t), wire.Ready{Node: neighbour.node, Attempt: attempt()}))
	s.drain(t)
	select {
	case <-s.beats:
		return true
	default:
		return false
	}
}

// drain returns when the queues of all nodes are empty.
func (s *strict) drain(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { //nolint:forbidigo // there is no event for nothing to do
		switch {
		case s.hub.guard.sum() == 0:
			return
		case time.Now().After(end):
			t.Fatal("messages wait for ever")
		}
	}
}

// Who breaks the form three times is told, and then cut: its connections end,
// one event names it, and what it sends in the next minute is dropped. Nobody
// else notices.
func TestWhoBreaksTheFormIsCut(t *testing.T) {
	s := newStrict(t)
	l, k := s.agent(t, "n")
	neighbour, _ := s.agent(t, "m")
	for range maxBroken {
		broken(t, l.session, kindHello)
	}
	<-l.Reconnected()
	if got := <-s.cut; !strings.HasPrefix(got, "agent n: agent n is cut off for 1m0s") {
		t.Errorf("cut: %s", got)
	}
	if s.beat(t, l, neighbour) {
		t.Error("a heartbeat of who was cut was heard")
	}
	for range 50 {
		broken(t, l.session, kindResult)
	}
	must[wire.ReadyReply](t)(neighbour.Ready(testCtx(t), wire.Ready{Node: "m", Attempt: attempt()}))
	s.ahead.Store(int64(barredFor + time.Second))
	l = s.dial(t, "n", k)
	if !s.beat(t, l, neighbour) {
		t.Error("it is not heard after its minute is over")
	}
	if len(s.cut) > 0 {
		t.Errorf("cut again: %s", <-s.cut)
	}
}

// A client is cut as well, and so is who sends what is no message at all, on a
// queue that lets each send on its own subjects only.
func TestClientsAndNonsenseAreCut(t *testing.T) {
	s := newStrict(t)
	c := s.client(t)
	for range maxBroken {
		broken(t, c.session, kindCall)
	}
	<-c.Reconnected()
	if got := <-s.cut; !strings.HasPrefix(got, "client cli: ") {
		t.Errorf("cut: %s", got)
	}
	l, _ := s.agent(t, "n")
	for range maxBroken { // it may be cut off before all of them are sent
		_ = l.nc.Publish(s.hub.names.agent("n", kindClock), []byte("what time is it?"))
		_ = l.nc.Publish(s.hub.names.agent("n", kindReady), []byte("nonsense"))
	}
	if got := <-s.cut; !strings.HasPrefix(got, "agent n: ") {
		t.Errorf("cut: %s", got)
	}
}

// On a cluster where others can send in a node's name, only what the node has
// signed counts against it, and each message once.
func TestNobodyElseCanHaveANodeCut(t *testing.T) {
	f := startForeign(t, "one", users)
	s := &strict{cut: make(chan string, 100), beats: make(chan string, 100)}
	s.world = externalWorldWith(t, func(*Hub) Handlers { return s.handlers() }, ExternalConfig{URLs: []string{withUser(f.url, "u:p")}}, s.options())
	l, _ := s.agent(t, "n")
	neighbour, _ := s.agent(t, "m")
	intruder := queuetest.Connect(t, withUser(f.url, "u:p"))
	once := broken(t, l.session, kindResult)
	subject := s.hub.names.agent("n", kindResult)
	for range 10 * maxBroken {
		intruder.Publish(subject, "", once)
		intruder.Publish(subject, "", []byte("nonsense"))
		check(t, l.nc.Flush())
		s.drain(t)
	}
	if !s.beat(t, l, neighbour) || len(s.cut) > 0 {
		t.Errorf("the node is cut for what others sent: %d", len(s.cut))
	}
	for range maxBroken {
		broken(t, l.session, kindResult)
	}
	if got := <-s.cut; !strings.HasPrefix(got, "agent n: ") {
		t.Errorf("cut: %s", got)
	}
	if s.beat(t, l, neighbour) {
		t.Error("a heartbeat of who was cut was heard")
	}
}

// An honest agent that has too much to say is told, its result becomes a failed
// one, and it is not cut: its own side does not send what would be refused.
func TestAnHonestAgentIsNotCut(t *testing.T) {
	s := newStrict(t)
	l, _ := s.agent(t, "n")
	large := someResult("n")
	large.Stdout.Text = strings.Repeat("x", maxResult)
	for range 2 * maxBroken {
		reply, err := l.Result(testCtx(t), large)
		if err != nil || !strings.HasPrefix(reply.Reason, "failed its result cannot be used: it has 251") {
			t.Fatalf("a result that is too large: %+v, %v", reply, err)
		}
		name := strings.Repeat("x", 1000)
		if err := l.Progress(wire.Progress{Attempt: attempt(), Node: "n", Progress: model.Progress{Metric: name}}); err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("progress with a long name: %v", err)
		}
		check(t, l.Report(wire.Report{Node: "n", Event: model.Event{Text: strings.Repeat("ü", 10000)}}))
		labels := map[string]string{"a": name}
		if _, err := l.Hello(testCtx(t), wire.Hello{Node: model.Node{ID: "n", Labels: labels}, Session: "s"}); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "label") {
			t.Errorf("a hello with a long label: %v, want %v that names it", err, model.ErrUsage)
		}
	}
	if len(s.cut) > 0 || !s.beat(t, l, l) {
		t.Error("it was cut")
	}
}

func TestGuardBoundsWhatWaits(t *testing.T) {
	now := time.Unix(0, 0)
	g := newGuard(func() time.Time { return now })
	enter := func(sender string, size int, want error) {
		t.Helper()
		if err := g.enter(sender, size); !errors.Is(err, want) {
			t.Fatalf("%s with %d bytes: %v, want %v", sender, size, err, want)
		}
	}
	enter("a.0", maxWaitingOne+1, errTooMany)
	enter("a.0", maxWaitingOne, nil)
	enter("a.0", 1, errTooMany)
	n := 1
	for ; (n+1)*maxWaitingOne <= maxWaiting-keptForSmall; n++ {
		enter(fmt.Sprintf("a.%d", n), maxWaitingOne, nil)
	}
	enter("a.new", maxWaitingOne, errBusy)
	enter("a.new", maxSmall, nil)
	g.leave("a.new", maxSmall)
	g.leave("a.0", maxWaitingOne)
	enter("a.new", maxWaitingOne, nil)
	g.leave("a.new", maxWaitingOne)
	for i := 1; i < n; i++ {
		g.leave(fmt.Sprintf("a.%d", i), maxWaitingOne)
	}
	if g.waiting != 0 || len(g.senders) != 0 {
		t.Errorf("%d bytes of %d senders are remembered after all have left", g.waiting, len(g.senders))
	}
	for range maxBroken {
		now = now.Add(brokenFor/2 + 1)
		if g.broke("a.slow", time.Time{}) {
			t.Error("cut for what it sent over a long time")
		}
	}
}

// A key is held to its pace, and forgotten when it has its whole burst again.
func TestPaceForgetsWhoIsQuiet(t *testing.T) {
	now := time.Unix(0, 0)
	p := pace{perSecond: 0.1, burst: 2, limits: make(map[string]*rate.Limiter)}
	due := func(key string, want bool) {
		t.Helper()
		if got := p.due(key, now); got != want {
			t.Errorf("%s after %v: due is %v, want %v", key, now.Sub(time.Unix(0, 0)), got, want)
		}
	}
	due("a", true)
	due("a", true)
	due("a", false)
	now = now.Add(10 * time.Second)
	due("b", true)
	due("a", true)
	due("a", false)
	now = now.Add(15 * time.Second)
	due("c", true)
	if len(p.limits) != 2 || p.limits["a"] == nil {
		t.Errorf("%d keys are remembered, want a and c", len(p.limits))
	}
}

// While large messages take all the room and all the memory that there is for
// them, the heartbeats of others are heard, and what finds no room holds up
// nothing.
func TestLargeMessagesDelayNoHeartbeats(t *testing.T) {
	s := newStrict(t)
	large, _ := s.agent(t, "large")
	l, _ := s.agent(t, "n")
	check(t, s.hub.work.Acquire(t.Context(), maxWork))
	defer s.hub.work.Release(maxWork)
	for n := 0; s.hub.guard.enter(fmt.Sprintf("a.%d", n), 1<<20) == nil; n++ {
	}
	chunk := must[[]byte](t)(wire.EncodeChunk(wire.Chunk{Attempt: attempt(), Node: "large", Name: "stdout", Data: random(t, 200<<10)}))
	check(t, large.nc.Publish(large.subject(kindChunk), must[[]byte](t)(sealFor(large.key, large.server, fromAgent+kindChunk, bodyFrame(chunk), large.stamp.next()))))
	check(t, large.nc.Flush())
	check(t, l.Heartbeat(wire.Heartbeat{Node: "n", Session: "own"}))
	select {
	case <-s.beats:
	case <-time.After(10 * time.Second):
		t.Error("the heartbeat is not heard")
	}
}

// A key can have so many connections, and each so many subscriptions.
func TestConnectionsOfAKeyAreBounded(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, k := w.agent(t, "n")
	ended := make(chan struct{})
	first := must[*nats.Conn](t)(nats.Connect(w.server.URL(), nats.Nkey(k.Public(), k.Sign), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(ended) })))
	defer first.Close()
	for range maxConns {
		w.raw(t, k)
	}
	select {
	case <-ended:
	case <-testCtx(t).Done():
		t.Error("the oldest connection was not ended")
	}
	c := w.raw(t, k)
	for range embeddedSubs + 1 {
		must[*nats.Subscription](t)(c.SubscribeSync(w.hub.names.inbox(k.Public()) + ".x"))
	}
	check(t, c.Flush())
	if err := c.LastError(); !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("%d subscriptions: %v, want %v", embeddedSubs+1, err, nats.ErrMaxSubscriptionsExceeded)
	}
}

// documentedLimit is a row of docs/security.md: kinds, largest message, in parts.
var documentedLimit = regexp.MustCompile("(?m)^\\| (`[a-z`, ]+`) \\| (\\d+) KiB \\| (?:(\\d+) KiB|–) \\|$")

// The limits that docs/security.md names are the code's.
func TestDocumentedLimits(t *testing.T) {
	text := string(must[[]byte](t)(os.ReadFile("../../docs/security.md")))
	documented := make(map[string]string)
	for _, row := range documentedLimit.FindAllStringSubmatch(text, -1) {
		for kind := range strings.SplitSeq(row[1], ", ") {
			documented[strings.Trim(kind, "`")] = row[2] + " " + row[3]
		}
	}
	for _, kind := range []string{kindHello, kindHeartbeat, kindReady, kindResult, kindChunk, kindProgress, kindReport,
		kindGoodbye, kindMissing, kindReadings, kindPart, kindFetch, kindCall, kindWatch} {
		whole, total := limits(kind)
		want := fmt.Sprintf("%d ", whole>>10)
		if total != whole {
			want += fmt.Sprint(total >> 10)
		}
		if documented[kind] != want {
			t.Errorf("docs/security.md says of %s %q, the code %q", kind, documented[kind], want)
		}
		delete(documented, kind)
	}
	if len(documented) > 0 {
		t.Errorf("docs/security.md names kinds that there are not: %v", documented)
	}
	for name, value := range map[string]string{
		"broken messages":    fmt.Sprintf("%d messages that break the form within %v", maxBroken, brokenFor),
		"connections":        fmt.Sprintf("%d connections", maxConns),
		"subscriptions":      fmt.Sprintf("%d subscriptions", embeddedSubs),
		"replies":            fmt.Sprintf("%d MiB", maxReply>>20),
		"waiting, of one":    fmt.Sprintf("%d MiB of one sender", maxWaitingOne>>20),
		"waiting, of all":    fmt.Sprintf("%d MiB of all", maxWaiting>>20),
		"left to small ones": fmt.Sprintf("%d MiB are left to messages of at most %d KiB", keptForSmall>>20, maxSmall>>10),
		"largest sent":       fmt.Sprintf("nothing above %d MiB in one message", embeddedPayload>>20),
		"unpacked at a time": fmt.Sprintf("%d MiB are unpacked at a time", maxWork>>20),
		"joins":              fmt.Sprintf("join: %d KiB", maxJoin>>10),
		"clock questions":    fmt.Sprintf("clock question: %d bytes", maxQuestion),
	} {
		if !strings.Contains(text, value) {
			t.Errorf("docs/security.md does not say of %s: %q", name, value)
		}
	}
}
