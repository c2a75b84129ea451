package queue

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func TestMain(m *testing.M) {
	maybeServeForTest()
	goleak.VerifyTestMain(m)
}

const testRun = model.RunID("01J0000000000000000000TEST")

// testCtx ends before the test binary's own timeout would.
func testCtx(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testLog sends the log to the test's own, and stops when the test ends.
func testLog(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.stop)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type testWriter struct {
	mu sync.Mutex
	t  testing.TB
}

func (w *testWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

// world is a server with its master's side.
type world struct {
	dir    string
	key    *identity.Key
	auth   *identity.Authority
	server *Server
	conn   Conn
	hub    *Hub
	listen string
	opt    HubOptions
}

// newWorld starts an embedded server on loopback, and a hub that serves.
func newWorld(t testing.TB, hs Handlers) *world {
	return newWorldWith(t, hs, HubOptions{NodeAlive: func(model.NodeID) bool { return false }, patient: true})
}

func newWorldWith(t testing.TB, hs Handlers, opt HubOptions) *world {
	w := &world{dir: t.TempDir(), listen: "127.0.0.1:0", opt: opt}
	w.opt.Log = testLog(t)
	w.start(t, hs)
	t.Cleanup(w.stop)
	return w
}

// start opens everything on the world's data directory.
func (w *world) start(t testing.TB, hs Handlers) {
	t.Helper()
	w.key = must[*identity.Key](t)(identity.LoadOrCreate(filepath.Join(w.dir, "server.nk"), identity.RoleServer))
	w.auth = must[*identity.Authority](t)(identity.OpenAuthority(filepath.Join(w.dir, "admitted.json")))
	w.server = must[*Server](t)(StartServer(testCtx(t), ServerConfig{
		DataDir: w.dir, Listen: w.listen, Key: w.key, Authority: w.auth, Log: w.opt.Log,
	}))
	w.conn = w.server
	w.hub = must[*Hub](t)(NewHub(testCtx(t), w.conn, w.key, w.auth, w.opt))
	check(t, w.hub.Serve(complete(hs)))
}

// complete adds the handlers that a test does not use.
func complete(hs Handlers) Handlers {
	if hs.Hello == nil {
		hs.Hello = func(context.Context, wire.Hello) (wire.HelloReply, error) { return wire.HelloReply{}, nil }
	}
	if hs.Heartbeat == nil {
		hs.Heartbeat = func(wire.Heartbeat) {}
	}
	if hs.Ready == nil {
		hs.Ready = func(context.Context, wire.Ready) (wire.ReadyReply, error) { return wire.ReadyReply{}, nil }
	}
	if hs.Result == nil {
		hs.Result = func(context.Context, model.Result) wire.ResultReply { return wire.ResultReply{} }
	}
	if hs.Chunk == nil {
		hs.Chunk = func(context.Context, wire.Chunk) error { return nil }
	}
	if hs.Progress == nil {
		hs.Progress = func(wire.Progress) {}
	}
	if hs.Report == nil {
		hs.Report = func(wire.Report) {}
	}
	if hs.Missing == nil {
		hs.Missing = func(wire.Missing) {}
	}
	if hs.Readings == nil {
		hs.Readings = func(wire.Readings) {}
	}
	if hs.Goodbye == nil {
		hs.Goodbye = func(context.Context, wire.Goodbye) {}
	}
	if hs.API == nil {
		hs.API = func(context.Context, Caller, string, []byte) ([]byte, error) { return nil, nil }
	}
	return hs
}

func (w *world) stop() {
	if w.hub != nil {
		_ = w.hub.Close()
	}
	if w.server != nil {
		w.server.Shutdown()
	}
	w.hub, w.server = nil, nil
}

func newKey(t testing.TB, role identity.Role) *identity.Key {
	return must[*identity.Key](t)(identity.New(role))
}

// agent admits a node and connects it.
func (w *world) agent(t testing.TB, node model.NodeID) (*Link, *identity.Key) {
	t.Helper()
	k := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: k.Public(), Role: identity.RoleAgent, Node: node}))
	return w.dial(t, node, k), k
}

func (w *world) dial(t testing.TB, node model.NodeID, k *identity.Key) *Link {
	t.Helper()
	l := must[*Link](t)(DialAgent(testCtx(t), w.conn.Info(), k, node, DialOptions{Log: w.opt.Log}))
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (w *world) client(t testing.TB) *Client {
	t.Helper()
	k := newKey(t, identity.RoleClient)
	check(t, w.auth.Admit(identity.Grant{Key: k.Public(), Role: identity.RoleClient, Node: "cli"}))
	c := must[*Client](t)(DialClient(testCtx(t), w.conn.Info(), k, DialOptions{Log: w.opt.Log}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// assignment is a valid one for a node.
func assignment(node model.NodeID, key string, position, attempt int) wire.Assignment {
	step := model.NewStepID(testRun, 0)
	return wire.Assignment{
		Run: testRun, Step: step, Task: model.NewTaskID(step, position), Attempt: attempt,
		Node: node, NodeKey: key,
		Spec:    model.Spec{Workload: "w", Kind: "cpu", Timeout: time.Minute},
		Issued:  time.Now(),
		Expires: time.Now().Add(time.Hour),
	}
}

// URL is the first of the server's addresses.
func (s *Server) URL() string { return s.info.Servers[0] }
