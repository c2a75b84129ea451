package agentproc

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here is the address of a server.
type here struct{}

func (here) Save(file string) error { return os.WriteFile(file, []byte("here"), 0o600) }

// testSet is a set with shell scripts as agents; $0 to $9 are the flags.
func testSet(t *testing.T, script string, set func(*Config)) (*Set, string) {
	t.Helper()
	cfg := Config{
		Dir: t.TempDir(), Command: []string{"/bin/sh", "-c", script}, Environ: os.Environ(),
		Server: here{}, Log: slog.New(slog.DiscardHandler),
		Admit: func(model.NodeID, string) error { return nil },
	}
	if set != nil {
		set(&cfg)
	}
	s := New(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Down(ctx) // most tests have called it
	})
	return s, cfg.Dir
}

// pidsOf returns the process ids of the running agents, by node.
func pidsOf(s *Set) map[model.NodeID]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[model.NodeID]int)
	for _, p := range s.agents {
		if p.cmd != nil {
			out[p.id] = p.cmd.Process.Pid
		}
	}
	return out
}

func node(id string) Agent {
	return Agent{Node: model.Node{ID: model.NodeID(id), Labels: map[string]string{"fleet": "x"}}}
}

func down(t *testing.T, s *Set, wait time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return s.Down(ctx)
}

func never(t *testing.T) func(model.NodeID) {
	return func(id model.NodeID) { t.Errorf("agent %s ended by itself", id) }
}

// TestUpAndDown: every node has a process with its own folder, key and
// address of the server, and leaves when it is told to.
func TestUpAndDown(t *testing.T) {
	admitted := make(map[model.NodeID]string)
	s, dir := testSet(t, "trap 'exit 0' TERM; while :; do sleep 0.05; done", func(c *Config) {
		c.Admit = func(id model.NodeID, key string) error { admitted[id] = key; return nil }
	})
	if err := s.Up(t.Context(), []Agent{node("a"), node("b")}, never(t)); err != nil {
		t.Fatal(err)
	}
	pids := pidsOf(s)
	if len(pids) != 2 || pids["a"] == pids["b"] {
		t.Errorf("processes %v, want two processes", pids)
	}
	if len(admitted) != 2 || admitted["a"] == admitted["b"] {
		t.Errorf("admitted keys = %v, want one for each node", admitted)
	}
	data, err := os.ReadFile(filepath.Join(dir, "a", ServerFile))
	if err != nil || string(data) != "here" {
		t.Errorf("%s = %s, %v, want the server", ServerFile, data, err)
	}
	if err := down(t, s, 30*time.Second); err != nil {
		t.Errorf("Down() = %v, want nil", err)
	}
	if left := pidsOf(s); len(left) != 0 {
		t.Errorf("after Down: processes %v", left)
	}
}

// TestServerGone: the end of the server, which closes the pipe, reaches the
// agent's standard input.
func TestServerGone(t *testing.T) {
	gone := make(chan model.NodeID, 1)
	s, _ := testSet(t, "cat > /dev/null", nil)
	if err := s.Up(t.Context(), []Agent{node("a")}, func(id model.NodeID) { gone <- id }); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	in := s.agents[0].in
	s.mu.Unlock()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if id := <-gone; id != "a" {
		t.Errorf("ended: %s, want a", id)
	}
}

// TestRestart: an agent that was killed is reported and started again; one
// that ends over and over is left alone.
func TestRestart(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		gone := make(chan model.NodeID, 1)
		s, _ := testSet(t, "cat > /dev/null", nil)
		if err := s.Up(t.Context(), []Agent{node("a")}, func(id model.NodeID) { gone <- id }); err != nil {
			t.Fatal(err)
		}
		first := pidsOf(s)["a"]
		if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-gone
		// It is started again right after it was reported.
		for pidsOf(s)["a"] == 0 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		if again := pidsOf(s)["a"]; again == first {
			t.Errorf("pid after the restart = %d, want another", again)
		}
	})
	t.Run("over and over", func(t *testing.T) {
		count := make(chan model.NodeID, 100)
		s, dir := testSet(t, "echo started", nil)
		if err := s.Up(t.Context(), []Agent{node("a")}, func(id model.NodeID) { count <- id }); err != nil {
			t.Fatal(err)
		}
		s.wg.Wait() // the supervisor gives up
		if n := len(count); n != maxRestarts+1 {
			t.Errorf("ended %d times, want %d", n, maxRestarts+1)
		}
		log, err := os.ReadFile(filepath.Join(dir, "a", LogFile))
		if n := strings.Count(string(log), "started"); err != nil || n != maxRestarts+1 {
			t.Errorf("log has %d starts, %v, want %d", n, err, maxRestarts+1)
		}
	})
}

// TestStubborn: who does not leave in time is killed, and Down says so.
func TestStubborn(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := testSet(t, "trap '' TERM; echo ready > "+ready+"; while :; do sleep 0.05; done", nil)
	if err := s.Up(t.Context(), []Agent{node("a")}, never(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(ready); err != nil { // opening waits for the writer
		t.Fatal(err)
	}
	if err := down(t, s, 50*time.Millisecond); err == nil {
		t.Error("Down() = nil, want that it had to kill")
	}
	if left := pidsOf(s); len(left) != 0 {
		t.Errorf("after Down: processes %v", left)
	}
}

// TestUpFails: an error names the node, and what was started before is ended.
func TestUpFails(t *testing.T) {
	denied := errors.New("denied")
	s, _ := testSet(t, "cat > /dev/null", func(c *Config) {
		c.Admit = func(id model.NodeID, _ string) error {
			if id == "b" {
				return denied
			}
			return nil
		}
	})
	err := s.Up(t.Context(), []Agent{node("a"), node("b")}, never(t))
	if !errors.Is(err, denied) || !strings.Contains(err.Error(), "node b") {
		t.Errorf("Up() = %v, want the reason and the node", err)
	}
	if err := down(t, s, 30*time.Second); err != nil {
		t.Errorf("Down() = %v, want nil", err)
	}
	if err := s.Up(t.Context(), []Agent{node("a")}, never(t)); err == nil {
		t.Error("Up after Down = nil, want an error")
	}
}

func TestArguments(t *testing.T) {
	got := arguments([]string{"sb", "agent"}, "/state", Agent{
		Node:    model.Node{ID: "n", Labels: map[string]string{"group": "g", "fleet": "lab"}},
		Volumes: map[string]string{"logs": "/l", "data": "/d"},
	})
	want := []string{"sb", "agent", "--node", "n", "--state", "/state", "--exit-with-stdin",
		"--label", "fleet=lab", "--label", "group=g", "--volume", "data=/d", "--volume", "logs=/l"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments() (-want +got):\n%s", diff)
	}
}
