package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// randomNode draws a valid node id.
func randomNode(r *rand.Rand) model.NodeID {
	const first = "abcXYZ019"
	const all = first + "._:-_ducDUC"
	id := []byte{first[r.IntN(len(first))]}
	for range r.IntN(127) {
		id = append(id, all[r.IntN(len(all))])
	}
	return model.NodeID(id)
}

// nodeOf decodes a token; ok is false if token never makes it.
func nodeOf(tok string) (model.NodeID, bool) {
	node := model.NodeID(strings.NewReplacer("_u", "_", "_d", ".", "_c", ":").Replace(tok))
	return node, node.Validate() == nil && token(node) == tok
}

// The token of a node id names one node id and is one token of a subject.
func TestNodeTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	nodes := []model.NodeID{"a", "a.b", "a:b", "a_b", "a_d", "a_db", "a-b", "a_ub", "10.0.0.1:8080", "a._:_", "A", model.NodeID("a" + strings.Repeat("_", 127))}
	for range 5000 {
		nodes = append(nodes, randomNode(r))
	}
	seen := map[string]model.NodeID{}
	for _, node := range nodes {
		if err := node.Validate(); err != nil {
			t.Fatal(err)
		}
		tok := token(node)
		if other, ok := seen[tok]; ok && other != node {
			t.Errorf("%q and %q have the same token %q", node, other, tok)
		}
		seen[tok] = node
		if back, ok := nodeOf(tok); !ok || back != node {
			t.Errorf("nodeOf(token(%q)) = %q, %v", node, back, ok)
		}
		if strings.ContainsAny(tok, ".*> \t/\\:") || len(tok) > 255 {
			t.Errorf("token(%q) = %q is not one token of at most 255 characters", node, tok)
		}
	}
}

func FuzzNodeOf(f *testing.F) {
	f.Add("a_db")
	f.Add("a_u_d_c")
	f.Add("_")
	f.Fuzz(func(t *testing.T, tok string) {
		if node, ok := nodeOf(tok); ok && (token(node) != tok || node.Validate() != nil) {
			t.Errorf("nodeOf(%q) = %q", tok, node)
		}
	})
}

func TestTokenAt(t *testing.T) {
	for _, c := range []struct {
		subject string
		i       int
		want    string
	}{
		{"sb.id.a.node.hello", 3, "node"}, {"sb", 0, "sb"}, {"sb", 1, ""}, {"", 0, ""}, {"a.b", 5, ""}, {"a..b", 1, ""},
	} {
		if got := tokenAt(c.subject, c.i); got != c.want {
			t.Errorf("tokenAt(%q, %d) = %q, want %q", c.subject, c.i, got, c.want)
		}
	}
}

func TestPack(t *testing.T) {
	for _, body := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("abc"), 10_000), []byte(randomText(10_000))} {
		packed := pack(body)
		if len(packed) > len(body)+1 {
			t.Errorf("%d bytes packed to %d", len(body), len(packed))
		}
		if got, err := unpack(packed, maxReply); err != nil || !bytes.Equal(got, body) {
			t.Errorf("unpack(pack(%d bytes)) = %d bytes, %v", len(body), len(got), err)
		}
	}
}

// A small message that claims to unpack to more than memory holds is refused
// before memory is asked for.
func TestUnpackRefusesBombs(t *testing.T) {
	bomb := append([]byte{packedS2}, binary.AppendUvarint(nil, maxReply+1)...)
	if _, err := unpack(bomb, maxWhole); !errors.Is(err, errTooLarge) {
		t.Errorf("unpack = %v, want %v", err, errTooLarge)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add(pack([]byte("x")))
	f.Add(pack(bytes.Repeat([]byte("abc"), 1000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1 && data[0] == packedS2 {
			if n, err := s2.DecodedLen(data[1:]); err == nil && n > 1<<20 {
				return // legal, and too slow to fuzz
			}
		}
		body, err := unpack(data, 1<<20)
		if err != nil {
			return
		}
		if again, err := unpack(pack(body), 1<<20); err != nil || !bytes.Equal(again, body) {
			t.Errorf("%x became %x, %v", body, again, err)
		}
	})
}

func FuzzParseFrame(f *testing.F) {
	f.Add(bodyFrame([]byte("body")))
	f.Add(partsFrame(transferID{1}, 3))
	f.Add(errorFrame(model.ErrNotFound))
	f.Add(replayFrame(time.Unix(1, 2)))
	f.Fuzz(func(t *testing.T, data []byte) {
		fr, err := parseFrame(data)
		if err != nil {
			return
		}
		var again []byte
		switch fr.kind {
		case frameBody:
			again = bodyFrame(fr.body)
		case frameParts:
			again = partsFrame(fr.id, fr.parts)
		case frameError:
			again = append(errorFrame(fr.err)[:2], fr.err.Error()...)
			if int(data[1]) >= len(errorKinds()) {
				again[1] = data[1] // a kind that this version does not know
			}
		case frameReplay:
			again = replayFrame(fr.floor)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%x became %x", data, again)
		}
	})
}

func FuzzParsePart(f *testing.F) {
	f.Add(part{transferID{1}, 1, 2, []byte("x")}.encode())
	f.Add(make([]byte, partHeader))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parsePart(data); err == nil && (!bytes.Equal(p.encode(), data) || p.index >= p.count) {
			t.Errorf("%x became %+v", data, p)
		}
	})
}

func FuzzParseCall(f *testing.F) {
	f.Add([]byte("\x04echobody"))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		verb, body, err := parseCall(data)
		if err != nil {
			return
		}
		if again, err := encodeCall(verb, body); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%x became %x, %v", data, again, err)
		}
	})
}

// fuzzKeys are new in every process of a fuzzing run.
func fuzzKeys(f *testing.F) (server, agent *identity.Key) {
	return newKey(f, identity.RoleServer), newKey(f, identity.RoleAgent)
}

// Only what the server sealed is ever runnable.
func FuzzOpenTask(f *testing.F) {
	server, agent := fuzzKeys(f)
	f.Add([]byte(toJSON(f, assignment("n", agent.Public(), 0, 1))))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := openTask(agent, server.Public(), "n", body, time.Now()); err == nil {
			t.Error("an unsigned task is runnable")
		}
		// And what the server sealed, but is nonsense, does no harm.
		data, err := sealFor(server, agent.Public(), purposeTask, body, time.Now())
		check(t, err)
		if a, err := openTask(agent, server.Public(), "n", data, time.Now()); err == nil && (wire.Check(a) != nil || a.Node != "n" || a.NodeKey != agent.Public()) {
			t.Errorf("runnable: %+v", a)
		}
	})
}

func FuzzOpenOrder(f *testing.F) {
	server, _ := fuzzKeys(f)
	f.Add([]byte(toJSON(f, wire.Order{Kind: wire.OrderCancel, Run: testRun, Step: "s"})))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := openOrder(body, server.Public()); err == nil {
			t.Error("an unsigned order is obeyed")
		}
		data, err := identity.Seal(server, purposeOrder, body, time.Now())
		check(t, err)
		if o, err := openOrder(data, server.Public()); err == nil && wire.Check(o) != nil {
			t.Errorf("obeyed: %+v", o)
		}
	})
}

func FuzzOpenEvent(f *testing.F) {
	var keys eventKey // a new one in every process
	key := keys.get(time.Now())
	sealed := sealEvent([]byte(`{"text":"x"}`), &key)
	f.Add(sealed)
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, ok := openEvent(data, &key); ok && !bytes.Equal(data, sealed) {
			t.Error("an event opens that was never sealed")
		}
	})
}

func FuzzClock(f *testing.F) {
	server, agent := fuzzKeys(f)
	box, err := agent.Encrypt(server.Public(), append([]byte{clockQuestion}, make([]byte, clockNonceSize)...))
	check(f, err)
	f.Add(append([]byte(agent.Public()), box...))
	f.Add([]byte(agent.Public()))
	f.Fuzz(func(t *testing.T, data []byte) {
		admitted := func(key string) bool { return key == agent.Public() }
		reply, err := answerClock(server, admitted, data, time.Unix(1, 0))
		if err == nil {
			if at, err := readClock(agent, server.Public(), make([]byte, clockNonceSize), reply); err == nil && !at.Equal(time.Unix(1, 0)) {
				t.Errorf("the clock says %v", at)
			}
		}
		if _, err := readClock(agent, server.Public(), make([]byte, clockNonceSize), data); err == nil {
			t.Error("a reply that the server never made is read")
		}
	})
}

// A box does not say in which direction it went: neither half of a clock
// reading may serve as the other.
func TestClockDirections(t *testing.T) {
	server, agent := newKey(t, identity.RoleServer), newKey(t, identity.RoleAgent)
	nonce := make([]byte, clockNonceSize)
	question := must[[]byte](t)(agent.Encrypt(server.Public(), append([]byte{clockQuestion}, nonce...)))
	request := append([]byte(agent.Public()), question...)
	all := func(string) bool { return true }
	reply := must[[]byte](t)(answerClock(server, all, request, time.Unix(9, 0)))
	if at := must[time.Time](t)(readClock(agent, server.Public(), nonce, reply)); !at.Equal(time.Unix(9, 0)) {
		t.Errorf("the clock says %v", at)
	}
	if _, err := readClock(agent, server.Public(), nonce, question); err == nil {
		t.Error("a question is read as a reply")
	}
	if _, err := answerClock(server, all, append([]byte(agent.Public()), reply...), time.Now()); err == nil {
		t.Error("a reply is answered as a question")
	}
	if _, err := readClock(agent, server.Public(), append([]byte{1}, nonce[1:]...), reply); err == nil {
		t.Error("a reply to another question is read")
	}
	if _, err := answerClock(server, func(string) bool { return false }, request, time.Now()); !errors.Is(err, model.ErrDenied) {
		t.Errorf("a stranger's question: %v, want %v", err, model.ErrDenied)
	}
}

func TestIssuerOnlyGoesForward(t *testing.T) {
	clock := time.Unix(100, 0)
	i := issuer{now: func() time.Time { return clock }}
	last := i.next()
	for _, set := range []time.Time{clock, clock.Add(-time.Hour), clock.Add(time.Second), clock} {
		clock = set
		if next := i.next(); !next.After(last) {
			t.Errorf("%v after %v", next, last)
		} else {
			last = next
		}
	}
	floor := last.Add(time.Hour)
	i.raise(floor)
	if next := i.next(); !next.After(floor) {
		t.Errorf("%v after the floor %v", next, floor)
	}
}

func TestTransfersAreBounded(t *testing.T) {
	clock := time.Unix(0, 0)
	spare := int64(1000)
	x := newTransfers(HubOptions{Dir: t.TempDir(), Now: func() time.Time { return clock }, Spare: func() int64 { return spare }})
	t.Cleanup(x.close)
	id := func(i int) transferID { return transferID{byte(i)} }
	for i := range maxTransfers {
		check(t, x.put("a", part{id(i), 0, 2, []byte("data")}))
	}
	if err := x.put("a", part{id(99), 0, 2, nil}); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("one too many: %v, want %v", err, model.ErrUnavailable)
	}
	check(t, x.put("b", part{id(0), 0, 1, []byte("another sender")}))
	if err := x.put("a", part{id(0), 0, 3, nil}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a part of another whole: %v, want %v", err, model.ErrUsage)
	}
	if _, err := x.take("a", id(0)); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("incomplete: %v, want %v", err, model.ErrUnavailable)
	}
	if _, err := x.take("b", id(1)); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("of another node: %v, want %v", err, model.ErrUnavailable)
	}
	check(t, x.put("a", part{id(0), 1, 2, []byte("!")}))
	check(t, x.put("a", part{id(0), 1, 2, []byte("?")})) // again: changes nothing
	if body := must[[]byte](t)(x.take("a", id(0))); string(body) != "data!" {
		t.Errorf("put together: %q", body)
	}
	clock = clock.Add(transferIdle + 1)
	check(t, x.put("c", part{id(0), 0, 1, nil}))
	if len(x.all) != 1 || x.held != 0 {
		t.Errorf("%d bodies with %d bytes kept without any use", len(x.all), x.held)
	}
	spare = 3
	if err := x.put("a", part{id(0), 0, 1, []byte("data")}); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("a part for which the disk has no room: %v, want %v", err, model.ErrUnavailable)
	}
	if err := x.offer("a", id(1), []byte("data"), 2); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("a reply for which the disk has no room: %v, want %v", err, model.ErrUnavailable)
	}
	if len(x.all) != 1 || x.held != 0 {
		t.Errorf("%d bodies with %d bytes kept without room", len(x.all), x.held)
	}
}

func TestSerialQueues(t *testing.T) {
	q := newSerialQueues()
	block, started := make(chan struct{}), make(chan struct{})
	q.add("a", maxControl, func() { close(started); <-block })
	<-started
	for range maxControl {
		if !q.add("a", maxControl, func() {}) {
			t.Fatal("refused before the queue was full")
		}
	}
	if q.add("a", maxControl, func() {}) {
		t.Error("accepted by a full queue")
	}
	ran := make(chan struct{})
	if !q.add("b", maxControl, func() { close(ran) }) {
		t.Error("another queue is full, too")
	}
	<-ran
	close(block)
	q.close()
	if q.add("c", maxControl, func() {}) {
		t.Error("accepted after close")
	}
}

// Results that break the contract arrive as failed ones that say so.
func TestUnusableResults(t *testing.T) {
	got := make(chan model.Result, 1)
	w := newWorld(t, Handlers{Result: func(_ context.Context, r model.Result) wire.ResultReply {
		got <- r
		return wire.ResultReply{Stored: true}
	}})
	ctx := testCtx(t)
	l, _ := w.agent(t, "n")
	for name, change := range map[string]func(*model.Result){
		"not a number":                func(r *model.Result) { r.Samples = []model.Sample{{Value: math.NaN()}} },
		"infinite":                    func(r *model.Result) { r.Samples = []model.Sample{{Value: math.Inf(1)}} },
		"series of different lengths": func(r *model.Result) { r.Series = []model.Series{{Offsets: []int64{1}}} },
		"unknown outcome":             func(r *model.Result) { r.Outcome = "odd" },
	} {
		r := someResult("n")
		change(&r)
		reply, err := l.Result(ctx, r)
		if err != nil || !reply.Stored {
			t.Fatalf("%s: %+v, %v", name, reply, err)
		}
		if g := <-got; g.Outcome != model.OutcomeFailed || !strings.Contains(g.Error, "cannot be used") || g.Task != r.Task {
			t.Errorf("%s: arrived as %+v", name, g)
		}
	}
	if _, err := l.Result(ctx, model.Result{Node: "n"}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a result of nothing: %v, want %v", err, model.ErrUsage)
	}
}

func TestReportsAreAboutTheirSender(t *testing.T) {
	got := make(chan wire.Report, 1)
	w := newWorld(t, Handlers{Report: func(r wire.Report) { got <- r }})
	l, _ := w.agent(t, "n")
	check(t, l.Report(wire.Report{Node: "n", Event: model.Event{Node: "another"}}))
	if r := <-got; r.Event.Node != "n" {
		t.Errorf("the event is about %q", r.Event.Node)
	}
}

func TestDispatchOfTooMuch(t *testing.T) {
	w := newWorld(t, Handlers{})
	_, k := w.agent(t, "n")
	a := assignment("n", k.Public(), 0, 1)
	a.Spec.Params = map[string]any{"command": randomText(2 * embeddedPayload)}
	err := w.hub.Dispatch(a)
	if !errors.Is(err, model.ErrUsage) || !strings.Contains(fmt.Sprint(err), string(a.Task)) {
		t.Errorf("Dispatch = %v, want %v that names the task", err, model.ErrUsage)
	}
}

// Only what the server sealed for this very request is a reply; nonsense that it
// sealed does no harm.
func FuzzOpenReply(f *testing.F) {
	server, agent := fuzzKeys(f)
	f.Add([]byte("request"), bodyFrame([]byte("body")))
	f.Fuzz(func(t *testing.T, request, plain []byte) {
		if _, err := openReply(agent, server.Public(), request, plain); err == nil {
			t.Error("an unsigned reply is read")
		}
		data, err := sealFor(server, agent.Public(), replyPurpose(request), plain, time.Now())
		check(t, err)
		if fr, err := openReply(agent, server.Public(), request, data); err == nil && fr.kind != plain[0] {
			t.Errorf("%x became %+v", plain, fr)
		}
	})
}

// A result that cannot be used arrives as a failed one, or is refused; what
// arrives is always valid.
func FuzzDecodeResult(f *testing.F) {
	f.Add([]byte(toJSON(f, someResult("n"))))
	f.Add([]byte(`{"task":"t","attempt":1,"node":"n","outcome":"odd"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := decodeResult(data); err == nil && wire.Check(r) != nil {
			t.Errorf("%s became %+v", data, r)
		}
	})
}
