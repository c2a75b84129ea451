package queue

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

func (w *world) token(t *testing.T, spec identity.TokenSpec) identity.Token {
	t.Helper()
	tok := must[identity.Token](t)(w.hub.NewToken(spec))
	return must[identity.Token](t)(identity.ParseToken(tok.Encode())) // as a person carries it
}

func TestJoinThenDial(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	k := newKey(t, identity.RoleAgent)
	tok := w.token(t, identity.TokenSpec{Role: identity.RoleAgent})
	info := must[ServerInfo](t)(Join(ctx, tok, k, "n"))
	l := must[*Link](t)(DialAgent(ctx, info, k, "n", DialOptions{}))
	defer func() { _ = l.Close() }()
	_, _, err := l.Clock(ctx)
	check(t, err)
	// Again with the same key: its first answer may have been lost.
	must[ServerInfo](t)(Join(ctx, tok, k, "n"))
}

func TestJoinAsClient(t *testing.T) {
	w := newWorld(t, Handlers{})
	k := newKey(t, identity.RoleClient)
	info := must[ServerInfo](t)(Join(testCtx(t), w.token(t, identity.TokenSpec{Role: identity.RoleClient}), k, "laptop"))
	c := must[*Client](t)(DialClient(testCtx(t), info, k, DialOptions{}))
	defer func() { _ = c.Close() }()
	if _, err := c.Events(testCtx(t), ""); err != nil {
		t.Error(err)
	}
}

func TestJoinRefused(t *testing.T) {
	w := newWorld(t, Handlers{})
	w.opt.NodeAlive = nil
	ctx := testCtx(t)
	join := func(tok identity.Token, node model.NodeID) error {
		_, err := Join(ctx, tok, newKey(t, identity.RoleAgent), node)
		return err
	}
	used := w.token(t, identity.TokenSpec{Role: identity.RoleAgent})
	check(t, join(used, "first"))
	expired := w.token(t, identity.TokenSpec{Role: identity.RoleAgent, TTL: time.Nanosecond})
	otherServer := must[*identity.Authority](t)(identity.OpenAuthority(t.TempDir() + "/a.json"))
	foreign := must[identity.Token](t)(otherServer.NewToken(identity.TokenSpec{Role: identity.RoleAgent}, w.conn.Info().Endpoint))
	for _, c := range []struct {
		name string
		tok  identity.Token
		want error
	}{
		{"used up", used, identity.ErrTokenUsed},
		{"expired", expired, identity.ErrTokenExpired},
		{"made by another server", foreign, identity.ErrTokenUnknown},
	} {
		err := join(c.tok, "second")
		if !errors.Is(err, model.ErrDenied) || !strings.Contains(err.Error(), c.want.Error()) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if strings.Contains(err.Error(), c.tok.Secret.Reveal()) {
			t.Errorf("%s: the error shows the secret", c.name)
		}
	}
}

func TestNodeIDInUse(t *testing.T) {
	w := newWorld(t, Handlers{})
	var alive atomic.Bool
	w.hub.opt.NodeAlive = func(model.NodeID) bool { return alive.Load() }
	ctx := testCtx(t)
	tok := w.token(t, identity.TokenSpec{Role: identity.RoleAgent, Uses: 3})
	first, second := newKey(t, identity.RoleAgent), newKey(t, identity.RoleAgent)
	info := must[ServerInfo](t)(Join(ctx, tok, first, "n"))
	l := must[*Link](t)(DialAgent(ctx, info, first, "n", DialOptions{}))
	defer func() { _ = l.Close() }()
	alive.Store(true)
	if _, err := Join(ctx, tok, second, "n"); err == nil || !strings.Contains(err.Error(), identity.ErrNodeTaken.Error()) {
		t.Errorf("a live node's id: %v, want %v", err, identity.ErrNodeTaken)
	}
	alive.Store(false)
	must[ServerInfo](t)(Join(ctx, tok, second, "n"))
	<-l.done // the first agent is out
	if g, ok := w.auth.Admitted(second.Public()); !ok || g.Node != "n" {
		t.Errorf("node n belongs to %+v", g)
	}
	if g, ok := w.auth.Admitted(first.Public()); ok {
		t.Errorf("the first agent is still admitted: %+v", g)
	}
}

func TestOneUseUnderConcurrency(t *testing.T) {
	w := newWorld(t, Handlers{})
	ctx := testCtx(t)
	tok := w.token(t, identity.TokenSpec{Role: identity.RoleAgent})
	var admitted atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		k := newKey(t, identity.RoleAgent)
		wg.Go(func() {
			if _, err := Join(ctx, tok, k, model.NodeID(fmt.Sprintf("n%d", i))); err == nil {
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 1 {
		t.Errorf("%d joined with a token for one", n)
	}
}

// tlsWorld listens on all addresses, so that TLS is on; tests only go there by
// loopback.
func tlsWorld(t *testing.T, insecure bool) *world {
	w := &world{dir: t.TempDir(), opt: HubOptions{Log: testLog(t)}}
	w.key = newKey(t, identity.RoleServer)
	w.auth = must[*identity.Authority](t)(identity.OpenAuthority(w.dir + "/admitted.json"))
	w.server = must[*Server](t)(StartServer(testCtx(t), ServerConfig{
		DataDir: w.dir, Listen: "0.0.0.0:0", Insecure: insecure, Key: w.key, Authority: w.auth, Log: w.opt.Log,
	}))
	// Of the advertised addresses only the last may be used here.
	urls := w.server.info.Servers
	w.server.info.Servers = urls[len(urls)-1:]
	w.conn = w.server
	w.hub = must[*Hub](t)(NewHub(testCtx(t), w.server, w.key, w.auth, w.opt))
	check(t, w.hub.Serve(complete(Handlers{})))
	t.Cleanup(w.stop)
	return w
}

func TestTLSWithPinnedCertificate(t *testing.T) {
	w := tlsWorld(t, false)
	ctx := testCtx(t)
	if !strings.HasPrefix(w.server.URL(), "tls://127.0.0.1:") || w.server.info.Fingerprint == "" {
		t.Fatalf("the server is at %s, fingerprint %q", w.server.URL(), w.server.info.Fingerprint)
	}
	k := newKey(t, identity.RoleAgent)
	tok := w.token(t, identity.TokenSpec{Role: identity.RoleAgent})
	info := must[ServerInfo](t)(Join(ctx, tok, k, "n"))
	l := must[*Link](t)(DialAgent(ctx, info, k, "n", DialOptions{}))
	defer func() { _ = l.Close() }()
	if s, err := l.nc.TLSConnectionState(); err != nil || s.Version != 0x0304 {
		t.Errorf("TLS version %#x, %v; want 1.3", s.Version, err)
	}

	wrong := info
	wrong.Fingerprint = strings.Repeat("0", 64)
	_, err := DialAgent(ctx, wrong, k, "n", DialOptions{})
	if !errors.Is(err, identity.ErrFingerprint) || !errors.Is(err, model.ErrDenied) {
		t.Errorf("another fingerprint: %v, want %v", err, identity.ErrFingerprint)
	}
	tok.Fingerprint = wrong.Fingerprint
	if _, err := Join(ctx, tok, newKey(t, identity.RoleAgent), "m"); !errors.Is(err, identity.ErrFingerprint) {
		t.Errorf("join with another fingerprint: %v, want %v", err, identity.ErrFingerprint)
	}
	plain := strings.Replace(w.server.URL(), "tls://", "nats://", 1)
	nc, err := nats.Connect(plain, nats.Nkey(k.Public(), k.Sign), nats.Timeout(time.Second))
	if err == nil {
		nc.Close()
		t.Error("the server takes a connection without TLS")
	}
}

func TestInsecureOffLoopbackIsPlain(t *testing.T) {
	w := tlsWorld(t, true)
	if w.server.info.Fingerprint != "" || !w.server.info.Insecure {
		t.Fatalf("info %+v, want no fingerprint, insecure", w.server.info)
	}
	k := newKey(t, identity.RoleAgent)
	info := must[ServerInfo](t)(Join(testCtx(t), w.token(t, identity.TokenSpec{Role: identity.RoleAgent}), k, "n"))
	if !info.Insecure {
		t.Error("the token does not say that the server is insecure")
	}
}
