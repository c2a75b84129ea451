package e2e_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
)

// watched is a line of `servicelevel watch --format json`.
type watched struct {
	Event, Node, Service string
	SLP                  float64
	Time                 time.Time
}

// TestWatchAgents: watch shows the agents of a server; when the run that it shows ends, so does
// it; and where one falls silent it says so, and goes on with the others.
func TestWatchAgents(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	w.StartAgent("n1")
	w.StartAgent("n2")
	w.AwaitNodes(2)
	file := w.Write("network.yaml", "model: line\nservice: network\nlimits:\n- {of: bytes, ways: [read, write], "+
		"rate: 1GiB}\n")

	id := strings.TrimSpace(w.Run("run", "--detach", w.Write("e.yaml",
		"fleet: {agents: {count: 1}}\nworkloads: [{kind: command, command: sleep 4}]\nevaluations: [serial]\n")))
	text, stderr, err := w.Try("servicelevel", "watch", id, "--model", file)
	if err != nil || !strings.Contains(text, " network bytes ") || !strings.Contains(stderr, "run "+id+" is done") {
		t.Errorf("watch %s: %v, %q and %q, want pressures until it is done", id, err, text, stderr)
	}
	_, stderr, err = w.Try("servicelevel", "watch", id, "--model", file)
	program.CheckExit(t, "watch a run that is over", err, 2)
	if !strings.Contains(stderr, "`scalebench servicelevel pressure "+id) {
		t.Errorf("watch a run that is over: %q, want what shows it", stderr)
	}
	watchOneFallSilent(t, w, file)
}

// watchOneFallSilent watches n1 and n2, and kills n2 when both are seen.
func watchOneFallSilent(t *testing.T, w *installation, file string) {
	t.Helper()
	cmd := exec.Command(w.Bin, "servicelevel", "watch", "--node", "n?", "--model", file, "--format", "json")
	cmd.Env, cmd.Stderr = w.Env(), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	killed := false
	for lines := bufio.NewScanner(out); seen["after"] < 2 && lines.Scan(); {
		var line watched
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		switch {
		case line.Event == "silent" && line.Node == "n2" && line.Service == "network":
			seen["silent"]++
		case line.Event != "" || line.Service != "network" || time.Since(line.Time).Abs() > time.Minute:
			t.Fatalf("unexpected: %s", lines.Text())
		case seen["silent"] > 0:
			seen["after"]++
		}
		seen[line.Node]++
		if seen["n1"] > 1 && seen["n2"] > 1 && !killed {
			w.Agents["n2"].Kill()
			killed = true
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	program.CheckExit(t, "watch and Ctrl-C", cmd.Wait(), 130)
	if !killed || seen["silent"] != 1 || seen["after"] < 2 {
		t.Errorf("seen %v, want both nodes, that n2 is silent once, and n1 after that", seen)
	}
}
