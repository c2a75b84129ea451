package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// TestAgentLeaves: SIGTERM in mid-task ends the task and everything it
// started, tells the server, and the exit code is 0. The attempt is lost, not
// failed; when the agent is back the step is repeated.
func TestAgentLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startServer()
	w.startAgent("n1")
	mark := filepath.Join(w.dir, "mark")
	id := strings.TrimSpace(w.run("run", "--detach", w.write("e.yaml", `
fleet: {agents: {count: 1}}
workloads: [{kind: command, command: "if [ -e `+mark+` ]; then exit 0; fi; touch `+mark+`; sleep 600 & sleep 600"}]
evaluations: [serial]
`)))
	w.poll("the task to begin", func() bool { _, err := os.Stat(mark); return err == nil })
	agent := w.agents["n1"]
	_ = agent.cmd.Process.Signal(syscall.SIGTERM)
	<-agent.ended
	if code := agent.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the agent's exit code = %d, want 0; log:\n%s", code, agent.log())
	}
	w.awaitRun(id, "lost once", func(d model.RunData) bool {
		return len(d.Results) == 1 && d.Results[0].Outcome == model.OutcomeLost
	})
	if out := w.run("nodes"); !strings.Contains(out, "left") {
		t.Errorf("nodes = %q, want n1 left", out)
	}
	w.startAgent("n1")
	checkComplete(t, w.awaitRun(id, "over", isOver))
}

// TestLeftStaysLeft: of two agents that are gone, the one that said goodbye has
// left, also for a server that started later and without any; the one that was
// killed is lost. An agent that is back has not left.
func TestLeftStaysLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startServer()
	w.startAgent("leaver")
	w.startAgent("victim")
	w.awaitNodes(2)
	w.agents["leaver"].leave(t)
	w.agents["victim"].kill()
	check := func(when string, want map[string]model.NodeStatus) {
		t.Helper()
		var nodes []struct {
			ID     string           `json:"id"`
			Status model.NodeStatus `json:"status"`
		}
		if err := json.Unmarshal([]byte(w.run("nodes", "--format", "json")), &nodes); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]model.NodeStatus)
		for _, n := range nodes {
			got[n.ID] = n.Status
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", when, diff)
		}
	}
	gone := map[string]model.NodeStatus{"leaver": model.NodeLeft, "victim": model.NodeLost}
	w.server.kill()
	check("without a server", gone)
	w.startServer()
	check("after a restart", gone)
	w.startAgent("leaver")
	w.awaitNodes(1)
	w.server.kill()
	check("after it was back", map[string]model.NodeStatus{"leaver": model.NodeLost, "victim": model.NodeLost})
	w.startServer()
}

// TestSecretsStaySecret looks for the secrets of tokens and keys in
// everything that is written for people or for analyses.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "-v")
	w.startServer()
	raw := strings.TrimSpace(w.run("token"))
	tok, err := identity.ParseToken(raw)
	if err != nil {
		t.Fatal(err)
	}
	w.agents["n1"] = w.start("agent", "-v", "--node", "n1", "--state", w.agentState("n1"), "--token", raw)
	w.awaitNodes(1)
	w.run("run", w.write("e.yaml", `
fleet: {agents: {count: 1}}
workloads: [{kind: command, command: "env"}]
evaluations: [serial]
`))
	secrets := map[string][]byte{"the token": []byte(raw), "the token's secret": []byte(tok.Secret.Reveal())}
	for name, file := range map[string]string{"the server's key": "server/server.nk", "the agent's key": "agent-n1/agent.nk"} {
		key, err := os.ReadFile(filepath.Join(w.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = bytes.TrimSpace(key)
	}
	texts := map[string][]byte{
		"the server's log": []byte(w.server.log()), "the agent's log": []byte(w.agents["n1"].log()),
		"the logs": []byte(w.run("logs", "latest")), "the export": []byte(w.run("export", "latest")),
	}
	files, err := filepath.Glob(filepath.Join(w.dir, "server", "*"))
	if err != nil {
		t.Fatal(err)
	}
	reports, err := filepath.Glob(filepath.Join(w.dir, "server", "reports", "*"))
	if err != nil || len(reports) == 0 {
		t.Fatalf("reports %v, %v", reports, err)
	}
	for _, f := range append(files, reports...) {
		if data, err := os.ReadFile(f); err == nil && !strings.HasSuffix(f, ".nk") {
			texts[f] = data
		}
	}
	for where, text := range texts {
		for what, secret := range secrets {
			if len(secret) < 16 {
				t.Fatalf("%s is too short to look for: %q", what, secret)
			}
			if bytes.Contains(text, secret) {
				t.Errorf("%s is in %s", what, where)
			}
		}
	}
}

// TestStrangers: no client without credentials can list nodes, submit, or join.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startServer()
	tok := strings.TrimSpace(w.run("token"))
	stranger := filepath.Join(w.dir, "stranger")
	try := func(args ...string) string {
		cmd := exec.Command(w.bin, append(args, "--server", "nats://"+w.listen, "--data", stranger)...)
		cmd.Env = w.env()
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%v succeeded: %s", args, out)
		}
		return string(out)
	}
	if out := try("nodes"); !strings.Contains(out, "scalebench token --client") {
		t.Errorf("nodes without a token: %q, want how to get one", out)
	}
	// An agent's token does not make a client.
	try("nodes", "--token", tok)
	// A token is good once.
	w.startAgentWith("n1", tok)
	w.awaitNodes(1)
	if out := try("agent", "--node", "n2", "--state", filepath.Join(w.dir, "n2"), "--token", tok); !strings.Contains(out, "token") {
		t.Errorf("used token: %q, want the reason", out)
	}
	// A client's token makes a client, for good.
	client := strings.TrimSpace(w.run("token", "--client"))
	for _, extra := range [][]string{{"--token", client}, nil} {
		cmd := exec.Command(w.bin, append([]string{"nodes", "--server", "nats://" + w.listen, "--data", stranger}, extra...)...)
		cmd.Env = w.env()
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "n1") {
			t.Errorf("client %v: %v\n%s", extra, err, out)
		}
	}
}
