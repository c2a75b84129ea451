package agentproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

func never(t *testing.T) Ended {
	return func(id model.NodeID, why string, _ bool) { t.Errorf("agent %s ended by itself: %s", id, why) }
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
	if err := s.Up(t.Context(), []Agent{node("a")}, func(id model.NodeID, _ string, _ bool) { gone <- id }); err != nil {
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
		if err := s.Up(t.Context(), []Agent{node("a")}, func(id model.NodeID, _ string, _ bool) { gone <- id }); err != nil {
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
		ends, dir := endsOf(t, "echo started; echo 'scalebench: no such thing' >&2; echo; exit 2", 0)
		if n := len(ends); n != maxRestarts+1 {
			t.Errorf("ended %d times, want %d", n, maxRestarts+1)
		}
		file := filepath.Join(dir, "a", LogFile)
		log, err := os.ReadFile(file)
		if n := strings.Count(string(log), "started"); err != nil || n != maxRestarts+1 {
			t.Errorf("log has %d starts, %v, want %d", n, err, maxRestarts+1)
		}
		for i, e := range ends {
			if want := "no such thing (log: " + file + ")"; e.why != want || e.again != (i < maxRestarts) {
				t.Errorf("end %d: %q, again %v, want %q, again %v", i+1, e.why, e.again, want, i < maxRestarts)
			}
		}
	})
}

// end is what is told of an agent that has ended.
type end struct {
	why   string
	again bool
}

// endsOf runs an agent until it is not started again, and returns how it ended
// each time.
func endsOf(t *testing.T, script string, patience time.Duration) ([]end, string) {
	t.Helper()
	s, dir := testSet(t, script, func(c *Config) { c.Patience = patience })
	s.firstPause = time.Millisecond
	var ends []end
	err := s.Up(t.Context(), []Agent{node("a")}, func(_ model.NodeID, why string, again bool) {
		ends = append(ends, end{why, again})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.wg.Wait() // the supervisor gives up
	return ends, dir
}

// TestHeld: an agent that finds its state directory held is started again until
// it is free, however often; without patience it is left alone at once.
func TestHeld(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	script := fmt.Sprintf("echo x >> %[1]s; test $(wc -l < %[1]s) -gt %[2]d && exit 1; exit %[3]d", starts, maxRestarts+3, ExitHeld)
	ends, _ := endsOf(t, script, time.Minute)
	// Then it ends for another reason, over and over.
	if got, want := len(ends), maxRestarts+3+maxRestarts+1; got != want {
		t.Errorf("ended %d times, want %d", got, want)
	}
	ends, _ = endsOf(t, fmt.Sprintf("exit %d", ExitHeld), 0)
	if len(ends) != 1 || ends[0].again || !strings.HasPrefix(ends[0].why, "exit status 75 (log: ") {
		t.Errorf("without patience: %v, want one end", ends)
	}
}

// TestRestarts: the pauses grow to a bound, and begin anew after an agent that
// lived for a while.
func TestRestarts(t *testing.T) {
	now := time.Now()
	r := restarts{patience: 10 * time.Second, first: firstPause}
	var got []time.Duration
	next := func(held bool, lived time.Duration, want bool) {
		t.Helper()
		pause, ok := r.next(held, lived, now)
		if got = append(got, pause); ok != want {
			t.Errorf("end %d: started again: %v, want %v", len(got), ok, want)
		}
		now = now.Add(time.Second)
	}
	for i := range 12 {
		next(true, 0, i < 10) // a second each
	}
	next(true, time.Minute, true)
	for i := range maxRestarts + 1 {
		next(false, 0, i < maxRestarts)
	}
	ms := time.Millisecond
	grow := []time.Duration{0, 250 * ms, 500 * ms, 1000 * ms, 1000 * ms, 1000 * ms, 1000 * ms}
	want := slices.Concat(grow, slices.Repeat([]time.Duration{1000 * ms}, 5), grow)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

// TestDownInPause: a set goes down at once while an agent waits to be started
// again.
func TestDownInPause(t *testing.T) {
	s, _ := testSet(t, fmt.Sprintf("exit %d", ExitHeld), func(c *Config) { c.Patience = time.Hour })
	s.firstPause = time.Hour
	ended := make(chan struct{}, 10)
	if err := s.Up(t.Context(), []Agent{node("a")}, func(model.NodeID, string, bool) { ended <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	<-ended
	<-ended // from now on it waits for an hour
	if err := down(t, s, 30*time.Second); err != nil {
		t.Errorf("Down() = %v, want nil", err)
	}
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
