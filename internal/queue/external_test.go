package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/queuetest"
	"github.com/scalebench/scalebench/test/servertest"
)

// natsServer is the path of the real nats-server. Without it tests are skipped
// on a developer's machine, and fail in CI.
func natsServer(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nats-server", "/usr/sbin/nats-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("nats-server is not installed: run scripts/deps.sh")
	}
	t.Skip("nats-server is not installed: run scripts/deps.sh")
	return ""
}

// freePort is a port without a listener now.
func freePort(t *testing.T) int {
	t.Helper()
	return must[*net.TCPAddr](t)(net.ResolveTCPAddr("tcp", servertest.FreeAddress(t))).Port
}

// foreign is one nats-server of the user's.
type foreign struct {
	url string // without credentials
	cmd *exec.Cmd
}

// withJetStream is a part of a configuration.
const withJetStream = "\njetstream { store_dir: $DIR }\n"

// startForeign runs nats-server with a configuration, in which $DIR is a folder.
func startForeign(t *testing.T, name, config string) *foreign {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	file := filepath.Join(dir, "nats.conf")
	config = fmt.Sprintf("server_name: %s\nlisten: 127.0.0.1:%d\n%s", name, port, strings.ReplaceAll(config, "$DIR", strconv.Quote(dir)))
	check(t, os.WriteFile(file, []byte(config), 0o600))
	log := must[*os.File](t)(os.Create(filepath.Join(dir, "log")))
	cmd := exec.Command(natsServer(t), "-c", file)
	cmd.Stdout, cmd.Stderr = log, log
	check(t, cmd.Start())
	f := &foreign{fmt.Sprintf("nats://127.0.0.1:%d", port), cmd}
	t.Cleanup(func() {
		f.kill()
		_ = log.Close() // only written for this
		if t.Failed() {
			text, _ := os.ReadFile(log.Name()) // best effort
			t.Logf("%s:\n%s", name, text)
		}
	})
	return f
}

func (f *foreign) kill() {
	_ = f.cmd.Process.Kill() // it may have ended
	_ = f.cmd.Wait()         // the signal is its error
}

func withUser(url, user string) string { return strings.Replace(url, "://", "://"+user+"@", 1) }

const users = `authorization { users: [ { user: "u", password: "p" } ] }`

// externalWorld is a master that uses a foreign server.
func externalWorld(t *testing.T, hs func(*Hub) Handlers, cfg ExternalConfig) *world {
	t.Helper()
	return externalWorldWith(t, hs, cfg, HubOptions{NodeAlive: func(model.NodeID) bool { return false }, patient: true})
}

func externalWorldWith(t *testing.T, hs func(*Hub) Handlers, cfg ExternalConfig, opt HubOptions) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), opt: opt}
	w.opt.Log = testLog(t)
	if w.key = cfg.Key; w.key == nil {
		w.key = newKey(t, identity.RoleServer)
	}
	w.auth = must[*identity.Authority](t)(identity.OpenAuthority(w.dir + "/admitted.json"))
	cfg.Key, cfg.Log = w.key, w.opt.Log
	e := must[*External](t)(ConnectExternal(testCtx(t), cfg))
	w.conn = e
	w.hub = must[*Hub](t)(NewHub(testCtx(t), e, w.key, w.auth, w.opt))
	t.Cleanup(w.stop)
	check(t, w.hub.Serve(complete(hs(w.hub))))
	return w
}

// exercise lets everything travel once through a queue with small messages.
func exercise(t *testing.T, w *world) {
	t.Helper()
	ctx := testCtx(t)
	k := newKey(t, identity.RoleAgent)
	tok := w.token(t, identity.TokenSpec{Role: identity.RoleAgent})
	info := must[ServerInfo](t)(Join(ctx, tok, k, "node.1"))
	l := must[*Link](t)(DialAgent(ctx, info, k, "node.1", DialOptions{Log: w.opt.Log}))
	defer func() { _ = l.Close() }()
	must[wire.HelloReply](t)(l.Hello(ctx, wire.Hello{Node: model.Node{ID: "node.1"}, Session: "s"}))
	a := assignment("node.1", k.Public(), 0, 1)
	check(t, w.hub.Dispatch(a))
	d := must[Delivery](t)(l.Next(ctx))
	if d.Refused != nil || d.Assignment.Task != a.Task {
		t.Fatalf("got %s, refused: %v", d.Assignment.Task, d.Refused)
	}
	check(t, w.hub.Order(ctx, wire.Order{Kind: wire.OrderStart, Run: testRun, Step: a.Step, Attempt: 1, At: time.Now()}, []model.NodeID{"node.1"}))
	if o := <-l.Orders(); o.Step != a.Step {
		t.Errorf("order %+v", o)
	}
	offset, bound, err := l.Clock(ctx)
	if err != nil || offset.Abs() > bound {
		t.Errorf("Clock = %v ± %v, %v", offset, bound, err)
	}
	r := someResult("node.1")
	r.Stdout.Text = randomText(300_000)
	if reply, err := l.Result(ctx, r); err != nil || !reply.Stored {
		t.Errorf("Result = %+v, %v", reply, err)
	}
	check(t, l.Chunk(ctx, wire.Chunk{Attempt: attempt(), Node: "node.1", Name: "stdout", Data: []byte(randomText(wire.MaxChunk))}))
	exerciseClient(t, w)
}

func exerciseClient(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithCancel(testCtx(t))
	defer cancel()
	c := w.client(t)
	body := []byte(randomText(400_000))
	if got, err := c.Call(ctx, "echo", body); err != nil || !bytes.Equal(got, body) {
		t.Errorf("echo: %d bytes, %v", len(got), err)
	}
	events := must[<-chan model.Event](t)(c.Events(ctx, testRun))
	check(t, w.hub.PublishEvent(model.Event{Run: testRun, Text: "event"}))
	if e := <-events; e.Text != "event" {
		t.Errorf("event %+v", e)
	}
}

func randomText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + rand.IntN(64))
	}
	return string(b)
}

// exerciseHandlers answer what exercise sends.
func exerciseHandlers(*Hub) Handlers {
	return Handlers{
		Hello: func(context.Context, wire.Hello) (wire.HelloReply, error) { return wire.HelloReply{}, nil },
		Result: func(_ context.Context, r model.Result) wire.ResultReply {
			return wire.ResultReply{Stored: len(r.Stdout.Text) == 300_000}
		},
		Chunk: func(context.Context, wire.Chunk) error { return nil },
		API: func(_ context.Context, _ Caller, _ string, body []byte) ([]byte, error) {
			return body, nil
		},
	}
}

// A cluster that has JetStream is as good as one that has none.
func TestExternalServerWithJetStream(t *testing.T) {
	f := startForeign(t, "one", users+withJetStream)
	exercise(t, externalWorld(t, exerciseHandlers, ExternalConfig{URLs: []string{withUser(f.url, "u:p")}}))
}

func TestExternalServerWithSmallMessages(t *testing.T) {
	f := startForeign(t, "one", users+"\nmax_payload: 65536")
	w := externalWorld(t, exerciseHandlers, ExternalConfig{URLs: []string{withUser(f.url, "u:p")}})
	exercise(t, w)
	if s := fmt.Sprint(w.conn.Info()); strings.Contains(s, "u:p") {
		t.Errorf("the server's description shows the password: %s", s)
	}
}

// On a cluster that takes large messages, too, none is larger than what may wait
// of one sender beside what waits already.
func TestExternalServerWithLargeMessages(t *testing.T) {
	f := startForeign(t, "one", users+"\nmax_payload: 8388608")
	w := externalWorld(t, exerciseHandlers, ExternalConfig{URLs: []string{withUser(f.url, "u:p")}})
	c := w.client(t)
	check(t, w.hub.guard.enter(w.hub.names.sender(c.subject(kindCall)), minChargeClient))
	body := random(t, 7<<19)
	if reply := must[[]byte](t)(c.Call(testCtx(t), "echo", body)); !bytes.Equal(reply, body) {
		t.Errorf("%d bytes came back of %d", len(reply), len(body))
	}
}

// The permissions that docs/security.md recommends are enough. Here one user
// has those of agents and clients together, the other the server's.
func TestExternalServerWithTheDocumentedPermissions(t *testing.T) {
	key := newKey(t, identity.RoleServer)
	id := key.Public()[2:18] // as the documentation says it
	config := strings.ReplaceAll(`authorization { users: [
		{ user: "server", password: "p", permissions: {
			publish: ["sb.ID.>"], subscribe: ["sb.ID.>"] } },
		{ user: "others", password: "p", permissions: {
			publish: ["sb.ID.a.>", "sb.ID.c.>", "sb.ID.j"],
			subscribe: ["sb.ID.t.>", "sb.ID.o.>", "sb.ID.e.>", "sb.ID.i.>"] } },
	] }`, "ID", id)
	f := startForeign(t, "one", config)
	w := externalWorld(t, exerciseHandlers, ExternalConfig{URLs: []string{withUser(f.url, "server:p")}, Key: key})
	e := w.conn.(*External)
	e.info.Servers = []string{withUser(f.url, "others:p")}
	w.hub.info = e.info
	exercise(t, w)
}

func TestExternalServerWithNkeyFile(t *testing.T) {
	kp := must[nkeys.KeyPair](t)(nkeys.CreateUser())
	public := must[string](t)(kp.PublicKey())
	seed := must[[]byte](t)(kp.Seed())
	file := filepath.Join(t.TempDir(), "user.nk")
	check(t, os.WriteFile(file, seed, 0o600))
	f := startForeign(t, "one", fmt.Sprintf("authorization { users: [ { nkey: %s } ] }", public))
	w := externalWorld(t, exerciseHandlers, ExternalConfig{URLs: []string{f.url}, NKeyFile: file})
	k := newKey(t, identity.RoleAgent)
	opt := DialOptions{NKeyFile: file}
	info := must[ServerInfo](t)(Join(testCtx(t), w.token(t, identity.TokenSpec{Role: identity.RoleAgent}), k, "n", opt))
	l := must[*Link](t)(DialAgent(testCtx(t), info, k, "n", opt))
	defer func() { _ = l.Close() }()
	_, _, err := l.Clock(testCtx(t))
	check(t, err)
}

func TestExternalServerRefused(t *testing.T) {
	closed := startForeign(t, "closed", users)
	open := startForeign(t, "open", "")
	key := newKey(t, identity.RoleServer)
	for _, c := range []struct {
		name   string
		cfg    ExternalConfig
		remote bool
		want   error
	}{
		{"right password", ExternalConfig{URLs: []string{withUser(closed.url, "u:p")}}, true, nil},
		{"wrong password", ExternalConfig{URLs: []string{withUser(closed.url, "u:x")}}, true, model.ErrDenied},
		{"no password", ExternalConfig{URLs: []string{closed.url}}, true, model.ErrDenied},
		{"open, on loopback", ExternalConfig{URLs: []string{open.url}}, false, nil},
		{"open, off loopback", ExternalConfig{URLs: []string{open.url}}, true, errOpen},
		{"open, off loopback, with a needless password", ExternalConfig{URLs: []string{withUser(open.url, "u:p")}}, true, errOpen},
		{"open, off loopback, allowed", ExternalConfig{URLs: []string{open.url}, AllowOpen: true}, true, nil},
		{"no server", ExternalConfig{}, true, model.ErrUsage},
		{"a CA file that is none", ExternalConfig{URLs: []string{closed.url}, CAFile: os.Args[0]}, true, model.ErrUsage},
		{"an nkey file that is none", ExternalConfig{URLs: []string{closed.url}, NKeyFile: "/dev/null/missing"},
			true, model.ErrUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Key = key
			_, err := connectExternal(startupCtx(t, open), c.cfg, c.remote)
			if !errors.Is(err, c.want) {
				t.Errorf("ConnectExternal = %v, want %v", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "u:") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// startupCtx waits until a server answers.
func startupCtx(t *testing.T, f *foreign) context.Context {
	t.Helper()
	ctx := testCtx(t)
	nc, err := connect(ctx, ServerInfo{Endpoint: identity.Endpoint{Servers: []string{f.url}}}, nil, testLog(t))
	check(t, err)
	nc.Close()
	return ctx
}

// An intruder who may write anywhere on the user's cluster can still not run a
// command, forge a result or read either.
func TestForeignClusterWithAnIntruder(t *testing.T) {
	f := startForeign(t, "one", users)
	results := make(chan model.Result, 10)
	w := externalWorld(t, func(*Hub) Handlers {
		return Handlers{Result: func(_ context.Context, r model.Result) wire.ResultReply {
			results <- r
			return wire.ResultReply{Stored: true}
		}}
	}, ExternalConfig{URLs: []string{withUser(f.url, "u:p")}})
	ctx := testCtx(t)
	l, k := w.agent(t, "n")
	intruder := queuetest.Connect(t, withUser(f.url, "u:p"))
	all := intruder.Capture(">")
	ik := newKey(t, identity.RoleServer)

	a := assignment("n", k.Public(), 0, 1)
	sealed := func(by *identity.Key) []byte {
		return must[[]byte](t)(queuetest.Seal(by, k.Public(), queuetest.PurposeTask, []byte(toJSON(t, a)), time.Now()))
	}
	bad := append(queuetest.Altered(sealed(w.key)), sealed(ik))
	for i, data := range bad {
		intruder.Publish(w.hub.names.task("n"), "", data)
		if d := must[Delivery](t)(l.Next(ctx)); !errors.Is(d.Refused, ErrForged) {
			t.Errorf("forged task %d: refused %v, want %v", i, d.Refused, ErrForged)
		}
	}
	// The same by the right key is accepted: it was refused for its signature.
	intruder.Publish(w.hub.names.task("n"), "", sealed(w.key))
	real := must[Delivery](t)(l.Next(ctx))
	check(t, real.Refused)
	a.Spec.Params = map[string]any{"command": "topsecretcommand"}
	check(t, w.hub.Dispatch(a))
	d := must[Delivery](t)(l.Next(ctx))
	check(t, d.Refused)

	user := newKey(t, identity.RoleAgent)
	forged := must[[]byte](t)(sealFor(user, w.key.Public(), fromAgent+kindResult, bodyFrame([]byte(toJSON(t, someResult("n")))), time.Now()))
	intruder.Publish(w.hub.names.agent("n", kindResult), "", forged)
	r := someResult("n")
	r.Stdout.Text = "topsecretoutput"
	must[wire.ResultReply](t)(l.Result(ctx, r))
	if got := <-results; got.Stdout.Text != r.Stdout.Text {
		t.Errorf("a forged result was accepted: %+v", got)
	}
	// What is seen last is sent last.
	const end = "sb.end"
	intruder.Publish(end, "", nil)
	for n := 1; ; n++ {
		m := all.Await(n)[n-1]
		if m.Subject == end {
			break
		}
		if bytes.Contains(m.Data, []byte("topsecret")) {
			t.Errorf("readable on %s", m.Subject)
		}
	}
}

func TestClusterOfThree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	var routes []string
	var ports []int
	for range 3 {
		ports = append(ports, freePort(t))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[len(ports)-1]))
	}
	var servers []*foreign
	var urls []string
	for i, port := range ports {
		list, err := json.Marshal(routes)
		check(t, err)
		f := startForeign(t, fmt.Sprintf("s%d", i), fmt.Sprintf("%s\ncluster { name: c, listen: \"127.0.0.1:%d\", routes: %s }", users, port, list))
		servers = append(servers, f)
		urls = append(urls, withUser(f.url, "u:p"))
	}
	w := externalWorld(t, exerciseHandlers, ExternalConfig{URLs: urls})
	exercise(t, w)

	// One server dies, and then another: the agent finds a third, and tasks.
	// What is lost on the way is sent again, as the master does.
	ctx := testCtx(t)
	l, k := w.agent(t, "survivor")
	for i, f := range servers[:2] {
		f.kill()
		a := assignment("survivor", k.Public(), i, 1)
		got := make(chan Delivery, 1)
		go func() {
			for {
				d, err := l.Next(ctx)
				if err != nil || d.Assignment.Task == a.Task {
					got <- d
					return
				}
			}
		}()
		for waiting := true; waiting; {
			if err := w.hub.Dispatch(a); err != nil && !errors.Is(err, model.ErrUnavailable) {
				t.Fatal(err)
			}
			select {
			case d := <-got:
				waiting = false
				if check(t, d.Refused); d.Assignment.Task != a.Task {
					t.Errorf("got %s, want %s", d.Assignment.Task, a.Task)
				}
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}
