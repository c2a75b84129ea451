package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
)

// TestAgentLeaves: SIGTERM in mid-task ends the task and everything it
// started, tells the server, and the exit code is 0. The attempt is lost, not
// failed; when the agent is back the step is repeated.
func TestAgentLeaves(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	w.StartAgent("n1")
	mark := filepath.Join(w.Dir, "mark")
	id := strings.TrimSpace(w.Run("run", "--detach", w.Write("e.yaml", `
fleet: {agents: {count: 1}}
workloads: [{kind: command, command: "if [ -e `+mark+` ]; then exit 0; fi; touch `+mark+`; sleep 600 & sleep 600"}]
evaluations: [serial]
`)))
	w.Poll("the task to begin", func() bool { _, err := os.Stat(mark); return err == nil })
	agent := w.Agents["n1"]
	_ = agent.Cmd.Process.Signal(syscall.SIGTERM)
	<-agent.Ended
	if code := agent.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the agent's exit code = %d, want 0; log:\n%s", code, agent.Log())
	}
	w.AwaitRun(id, "lost once", func(d model.RunData) bool {
		return len(d.Results) == 1 && d.Results[0].Outcome == model.OutcomeLost
	})
	if out := w.Run("nodes"); !strings.Contains(out, "left") {
		t.Errorf("nodes = %q, want n1 left", out)
	}
	w.StartAgent("n1")
	program.CheckComplete(t, w.AwaitRun(id, "over", program.IsOver))
}

// TestLeftStaysLeft: of two agents that are gone, the one that said goodbye has
// left, also for a server that started later and without any; the one that was
// killed is lost. An agent that is back has not left.
func TestLeftStaysLeft(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	w.StartAgent("leaver")
	w.StartAgent("victim")
	w.AwaitNodes(2)
	w.Agents["leaver"].Leave(t)
	w.Agents["victim"].Kill()
	check := func(when string, want map[string]model.NodeStatus) {
		t.Helper()
		var nodes []struct {
			ID     string           `json:"id"`
			Status model.NodeStatus `json:"status"`
		}
		if err := json.Unmarshal([]byte(w.Run("nodes", "--format", "json")), &nodes); err != nil {
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
	w.Server.Kill()
	check("without a server", gone)
	w.StartServer()
	check("after a restart", gone)
	w.StartAgent("leaver")
	w.AwaitNodes(1)
	w.Server.Kill()
	check("after it was back", map[string]model.NodeStatus{"leaver": model.NodeLost, "victim": model.NodeLost})
	w.StartServer()
}

// TestSecretsStaySecret looks for the secrets of tokens and keys in
// everything that is written for people or for analyses.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	w := install(t, "-v")
	w.StartServer()
	raw := strings.TrimSpace(w.Run("token"))
	tok, err := identity.ParseToken(raw)
	if err != nil {
		t.Fatal(err)
	}
	w.Agents["n1"] = w.Start("agent", "-v", "--node", "n1", "--state", w.AgentState("n1"), "--token", raw)
	w.AwaitNodes(1)
	w.Run("run", w.Write("e.yaml", `
fleet: {agents: {count: 1}}
workloads: [{kind: command, command: "env"}]
evaluations: [serial]
`))
	secrets := map[string][]byte{"the token": []byte(raw), "the token's secret": []byte(tok.Secret.Reveal())}
	for name, file := range map[string]string{"the server's key": filepath.Join(w.Dir, "server", "server.nk"),
		"the agent's key": filepath.Join(w.AgentState("n1"), "agent.nk")} {
		key, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = bytes.TrimSpace(key)
	}
	w.checkUnwritten(secrets)
}

// checkUnwritten looks for secrets in everything that a server, an agent and the
// latest run have written: every file of theirs but keys, and what the store
// packs.
func (w *installation) checkUnwritten(secrets map[string][]byte) {
	w.T.Helper()
	texts := map[string][]byte{
		"the server's log": []byte(w.Server.Log()), "the agent's log": []byte(w.Agents["n1"].Log()),
		"the logs": []byte(w.Run("logs", "latest")), "the export": []byte(w.Run("export", "latest")),
	}
	reports := 0
	err := filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".nk") {
			return err
		}
		if strings.HasSuffix(path, ".html") {
			reports++
		}
		texts[path], err = os.ReadFile(path)
		return err
	})
	if err != nil || reports == 0 {
		w.T.Fatalf("%d reports, %v", reports, err)
	}
	for where, text := range texts {
		for what, secret := range secrets {
			if len(secret) < 16 {
				w.T.Fatalf("%s is too short to look for: %q", what, secret)
			}
			if bytes.Contains(text, secret) {
				w.T.Errorf("%s is in %s", what, where)
			}
		}
	}
}

// TestEnvironmentIsChosen: a command sees of the agent's environment what all
// may see and what the file names. The value of what it names is stored
// nowhere; what the agent lacks is an error that says so.
func TestEnvironmentIsChosen(t *testing.T) {
	t.Parallel()
	w := install(t, "-v")
	w.StartServer()
	named, other := rand.Text(), rand.Text()
	w.Extra = []string{"BENCH_KEY=" + named, "AWS_SECRET_ACCESS_KEY=" + other, "HTTPS_PROXY=http://user:" + other +
		"@proxy", "LC_TIME=C"}
	w.Agents["n1"] = w.Start("agent", "-v", "--node", "n1", "--state", w.AgentState("n1"), "--token",
		strings.TrimSpace(w.Run("token")))
	w.Extra = nil
	w.AwaitNodes(1)
	right := filepath.Join(t.TempDir(), "right") // beside what is looked through
	if err := os.WriteFile(right, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Run("run", w.Write("e.yaml", `
fleet: {agents: {count: 1}}
workloads:
  - {name: plain, kind: command, command: env}
  - {name: named, kind: command, command: 'test "$BENCH_KEY" = "$(cat `+right+`)"', pass_env: [BENCH_KEY]}
evaluations: [serial]
`))
	d := w.Data("latest")
	program.CheckComplete(t, d)
	seen := d.Results[0].Stdout.Text
	for name, want := range map[string]bool{"LC_TIME=C\n": true, "PATH=": true, "BENCH_KEY": false, "AWS_": false, "HTTPS_PROXY": false} {
		if strings.Contains(seen, name) != want {
			t.Errorf("a command sees %q: %v, want %v:\n%s", name, !want, want, seen)
		}
	}
	w.checkUnwritten(map[string][]byte{"what the file names": []byte(named), "what it does not name": []byte(other)})

	_, stderr, err := w.Try("run", w.Write("lacks.yaml", `
fleet: {agents: {count: 1}}
workloads: [{kind: command, command: "true", pass_env: [NO_SUCH_KEY]}]
evaluations: [serial]
`))
	if err == nil || !strings.Contains(stderr, "NO_SUCH_KEY") {
		t.Errorf("run with a variable that the agent lacks: %v\n%s", err, stderr)
	}
}

// TestStrangers: no client without credentials can list nodes, submit, or join.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	tok := strings.TrimSpace(w.Run("token"))
	stranger := filepath.Join(w.Dir, "stranger")
	try := func(args ...string) string {
		cmd := exec.Command(w.Bin, append(args, "--server", "nats://"+w.Listen, "--data", stranger)...)
		cmd.Env = w.Env()
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
	w.StartAgentWith("n1", tok)
	w.AwaitNodes(1)
	if out := try("agent", "--node", "n2", "--state", filepath.Join(w.Dir, "n2"), "--token", tok); !strings.Contains(out,
		"token") {
		t.Errorf("used token: %q, want the reason", out)
	}
	// A client's token makes a client, for good.
	client := strings.TrimSpace(w.Run("token", "--client"))
	for _, extra := range [][]string{{"--token", client}, nil} {
		cmd := exec.Command(w.Bin,
			append([]string{"nodes", "--server", "nats://" + w.Listen, "--data", stranger}, extra...)...)
		cmd.Env = w.Env()
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "n1") {
			t.Errorf("client %v: %v\n%s", extra, err, out)
		}
	}
}

// TestAnothersRun: a run that another server executes is neither cancelled nor
// deleted by who only shares the store.
func TestAnothersRun(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	id := strings.TrimSpace(w.Run("run", w.Write("e.yaml",
		"fleet: {local: {nodes: 1}}\nevaluations: [serial]\nworkloads: [{kind: command, command: sleep 600}]\n"), "--detach"))
	w.AwaitRun(id, "running", func(d model.RunData) bool { return !d.Run.Started.IsZero() })
	store := "sqlite://" + filepath.Join(w.Dir, "server", "scalebench.db")
	for _, command := range [][]string{{"cancel", id}, {"delete", id, "--yes"}} {
		_, stderr, err := w.Try(append(command, "--data", t.TempDir(), "--store", store)...)
		if err == nil || !strings.Contains(stderr, "is running on another server that shares this store") {
			t.Errorf("%s from elsewhere: %v, want a refusal:\n%s", command[0], err, stderr)
		}
	}
	w.Run("cancel", id)
	if d := w.Data(id); d.Run.State != model.RunCancelled {
		t.Errorf("the run is %s, want it cancelled by its own server", d.Run.State)
	}
	w.Run("delete", id, "--yes", "--data", t.TempDir(), "--store", store)
}
