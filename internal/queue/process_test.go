package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// The test binary can be started as a server of its own, so that a test can
// kill it. It reads assignments, one JSON object a line, and dispatches them.
const (
	serveDirEnv    = "SCALEBENCH_TEST_QUEUE_DIR"
	serveListenEnv = "SCALEBENCH_TEST_QUEUE_LISTEN"
)

// maybeServeForTest serves and never returns if this process was started as
// the server.
func maybeServeForTest() {
	dir := os.Getenv(serveDirEnv)
	if dir == "" {
		return
	}
	if err := serve(dir, os.Getenv(serveListenEnv), os.Stdin, os.Stdout); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(dir, listen string, in io.Reader, out io.Writer) error {
	ctx := context.Background()
	key, err := identity.LoadOrCreate(dir+"/server.nk", identity.RoleServer)
	if err != nil {
		return err
	}
	auth, err := identity.OpenAuthority(dir + "/admitted.json")
	if err != nil {
		return err
	}
	srv, err := StartServer(ctx, ServerConfig{DataDir: dir, Listen: listen, Key: key, Authority: auth})
	if err != nil {
		return err
	}
	hub, err := NewHub(ctx, srv, key, auth, HubOptions{})
	if err != nil {
		return err
	}
	if err := hub.Serve(complete(Handlers{})); err != nil {
		return err
	}
	info, err := json.Marshal(srv.Info())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, string(info)); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var a wire.Assignment
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "dispatched:", hub.Dispatch(a)); err != nil {
			return err
		}
	}
	return nil
}

// process is a server in a process of its own.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	info ServerInfo
}

func startProcess(t *testing.T, dir, listen string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveDirEnv+"="+dir, serveListenEnv+"="+listen)
	cmd.Stderr = os.Stderr
	p := &process{cmd: cmd}
	p.in = must[io.WriteCloser](t)(cmd.StdinPipe())
	p.out = bufio.NewScanner(must[io.ReadCloser](t)(cmd.StdoutPipe()))
	check(t, cmd.Start())
	t.Cleanup(p.kill)
	if !p.out.Scan() {
		t.Fatal("the server process ended")
	}
	if err := json.Unmarshal(p.out.Bytes(), &p.info); err != nil {
		t.Fatalf("the server process says %q", p.out.Text())
	}
	return p
}

// kill ends the process at once, as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()         // the signal is its error
}

func (p *process) dispatch(t *testing.T, a wire.Assignment) {
	t.Helper()
	_, err := fmt.Fprintln(p.in, toJSON(t, a))
	check(t, err)
	if !p.out.Scan() || p.out.Text() != "dispatched: <nil>" {
		t.Fatalf("dispatch: %q", p.out.Text())
	}
}

// The server is killed again and again, at once after it sent a task, and
// started on the same directory and port. The agent finds it, and gets what is
// dispatched after its Hello, and nothing twice that was dispatched once.
func TestServerKilled(t *testing.T) {
	dir := t.TempDir()
	k := newKey(t, identity.RoleAgent)
	auth := must[*identity.Authority](t)(identity.OpenAuthority(dir + "/admitted.json"))
	check(t, auth.Admit(identity.Grant{Key: k.Public(), Role: identity.RoleAgent, Node: "n"}))
	ctx := testCtx(t)
	p := startProcess(t, dir, "127.0.0.1:0")
	listen, err := listenOf(p.info)
	check(t, err)
	l := must[*Link](t)(DialAgent(ctx, p.info, k, "n", DialOptions{Log: testLog(t)}))
	defer func() { _ = l.Close() }()
	got := map[model.TaskID]int{}
	for round := range 3 {
		must[wire.HelloReply](t)(l.Hello(ctx, wire.Hello{Node: model.Node{ID: "n"}, Session: "s"}))
		first, second := assignment("n", k.Public(), 2*round, 1), assignment("n", k.Public(), 2*round+1, 1)
		p.dispatch(t, first)
		for got[first.Task] == 0 {
			d := must[Delivery](t)(l.Next(ctx))
			check(t, d.Refused)
			got[d.Assignment.Task]++
		}
		p.dispatch(t, second) // which may get lost
		p.kill()
		p = startProcess(t, dir, listen)
		select {
		case <-l.Reconnected():
		case <-ctx.Done():
			t.Fatal("not reconnected")
		}
	}
	for task, n := range got {
		if n != 1 {
			t.Errorf("%s came %d times", task, n)
		}
	}
}

func listenOf(info ServerInfo) (string, error) {
	_, hostPort, ok := strings.Cut(info.Servers[0], "://")
	if !ok {
		return "", fmt.Errorf("no scheme in %q", info.Servers[0])
	}
	return hostPort, nil
}
