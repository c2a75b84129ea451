package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/test/servers"
)

// wait bounds everything that a test waits for.
const wait = 30 * time.Second

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

// world is a server process with an honest agent, "honest".
type world struct {
	t        *testing.T
	dir      string
	listen   string
	external string // URL of the user's own NATS server; "" for the embedded queue
	server   *proc
	key      string // the server's public key
}

// proc is a running scalebench process.
type proc struct {
	*servers.Process

	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write keeps what the process prints to standard error.
func (p *proc) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *proc) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// await waits for a text in the log.
func (p *proc) await(t testing.TB, text string) {
	t.Helper()
	err := p.Await(func() error {
		if !strings.Contains(p.log(), text) {
			return fmt.Errorf("no %q in its log", text)
		}
		return nil
	}, wait)
	if err != nil {
		t.Fatalf("%v:\n%.20000s", err, p.log())
	}
}

// newWorld starts a server with these flags; with a URL on that NATS server.
func newWorld(t *testing.T, external string, flags ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), listen: servers.FreeAddress(t), external: external}
	args := []string{"server", "--listen", w.listen}
	if external != "" {
		args = []string{"server", "--nats", external}
	}
	w.server = w.start(append(args, flags...)...)
	w.server.await(t, "serves on")
	info := must[queue.ServerInfo](t)(queue.ReadServerInfo(filepath.Join(w.dir, "data", "server.json")))
	w.key = info.ServerKey
	w.start("agent", "--node", "honest", "--state", filepath.Join(w.dir, "honest"), "--token", w.token()).await(t, "joined")
	return w
}

// start runs scalebench in the background until the test ends.
func (w *world) start(args ...string) *proc {
	w.t.Helper()
	p := &proc{}
	cmd := w.command(args...)
	cmd.Stderr = p
	p.Process = must[*servers.Process](w.t)(servers.Start(cmd, syscall.SIGKILL))
	w.t.Cleanup(func() {
		if err := p.End(syscall.SIGTERM, wait); err != nil {
			w.t.Error(err)
		}
		if log := p.log(); w.t.Failed() || strings.Contains(log, "panic:") || strings.Contains(log, "DATA RACE") {
			w.t.Errorf("%v:\n%.20000s", args, log)
		}
	})
	return p
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command("scalebench", args...)
	cmd.Env = append(os.Environ(), "SCALEBENCH_DATA="+filepath.Join(w.dir, "data"), "SCALEBENCH_TOKEN=")
	return cmd
}

// run runs a command to its end and returns its standard output.
func (w *world) run(args ...string) string {
	w.t.Helper()
	cmd := w.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("scalebench %v: %v\n%s", args, err, errs.Bytes())
	}
	return string(out)
}

func (w *world) token(flags ...string) string {
	w.t.Helper()
	return strings.TrimSpace(w.run(append([]string{"token"}, flags...)...))
}

// works fails unless a run on the honest agent ends well.
func (w *world) works() model.RunData {
	w.t.Helper()
	file := filepath.Join(w.dir, "honest.yaml")
	check(w.t, os.WriteFile(file, []byte(`
name: honest
fleet: {agents: {count: 1}}
workloads:
  - {kind: command, command: 'echo 1', timeout: 20s, metrics: [{name: rate, unit: op/s, better: higher, number: true}]}
trials: 1
`), 0o600))
	w.run("run", file)
	var d model.RunData
	check(w.t, json.Unmarshal([]byte(w.run("export", "latest")), &d))
	if d.Run.State != model.RunDone {
		w.t.Fatalf("the run is %s (%s), want done", d.Run.State, d.Run.Reason)
	}
	return d
}

// natsServer starts a NATS server of the user's, with a password and JetStream,
// and returns its URL.
func natsServer(t *testing.T) string {
	t.Helper()
	bin := servers.Program(t, "nats-server")
	s := servers.New(t, "")
	s.Listen(func(port string) *exec.Cmd {
		conf := filepath.Join(s.Dir, "nats.conf")
		check(t, os.WriteFile(conf, fmt.Appendf(nil, "listen: \"127.0.0.1:%s\"\njetstream { store_dir: %q }\nauthorization { users: [ {user: u, password: p} ] }\n", port, s.Dir), 0o600))
		return s.Command(bin, "-c", conf)
	}, func() error {
		conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	return "nats://u:p@" + s.Addr
}

// poll waits until the server has done something.
func (w *world) poll(what string, done func() bool) {
	w.t.Helper()
	err := w.server.Await(func() error {
		if !done() {
			return errors.New("waited for " + what)
		}
		return nil
	}, wait)
	check(w.t, err)
}

// joined has a new key admitted as the agent of a node, or as a client.
func (w *world) joined(name string, role identity.Role) *holder {
	w.t.Helper()
	var flags []string
	if role == identity.RoleClient {
		flags = []string{"--client"}
	}
	tok := must[identity.Token](w.t)(identity.ParseToken(w.token(flags...)))
	k := must[*identity.Key](w.t)(identity.New(role))
	must[queue.ServerInfo](w.t)(queue.Join(w.t.Context(), tok, k, model.NodeID(name)))
	return w.holder(name, role, k)
}
