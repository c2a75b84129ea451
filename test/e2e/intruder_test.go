package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/queuetest"
)

// attack is a run on the user's own NATS server; an intruder has the same rights
// there as scalebench.
type attack struct {
	*installation
	t        *testing.T
	intruder *queuetest.Intruder
	// tasks, results and replies are what went over the wire.
	tasks, results, replies *queuetest.Tap
	ran                     string // a file: every execution appends a line
	gate                    string // a file: without it the commands wait
}

// attackedExperiment has one task at a time on two nodes; each reports that it
// ran and then waits for the gate.
const attackedExperiment = `
name: attacked
fleet: {agents: {count: 2}}
workloads:
  - kind: command
    command: 'echo ran >> %s; while [ ! -e %s ]; do sleep 0.05; done; echo 1'
    timeout: 30s
    metrics:
      - {name: rate, unit: op/s, better: higher, number: true}
trials: 1
`

func newAttack(t *testing.T) *attack {
	t.Helper()
	url := natsServer(t)
	a := &attack{installation: install(t), t: t, intruder: queuetest.Connect(t, url)}
	a.ran, a.gate = filepath.Join(a.Dir, "ran"), filepath.Join(a.Dir, "gate")
	a.tasks = a.intruder.Capture("sb.*.t.*")
	a.results = a.intruder.Capture("sb.*.a.*.result")
	a.replies = a.intruder.Capture("sb.*.i.*.intruder")
	a.Server = a.Start("server", "-v", "--nats", url)
	a.Server.Await(t, "serves on")
	for _, n := range []string{"n1", "n2"} {
		token := strings.TrimSpace(a.Run("token"))
		a.Agents[n] = a.Start("agent", "-v", "--node", n, "--state", a.AgentState(n), "--server", url, "--token", token)
	}
	return a
}

func (a *attack) experiment() string {
	return a.Write("attacked.yaml", fmt.Sprintf(attackedExperiment, a.ran, a.gate))
}

// open lets the commands end.
func (a *attack) open() { a.Write("gate", "") }

// executions is how often the command was run.
func (a *attack) executions() int {
	a.t.Helper()
	text, err := os.ReadFile(a.ran)
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// done lets the run end and returns its data.
func (a *attack) done(id string) model.RunData {
	a.t.Helper()
	a.open()
	d := a.AwaitRun(id, "over, with its last event", func(d model.RunData) bool { // which is stored after the state
		return program.IsOver(d) && slices.ContainsFunc(d.Events, func(e model.Event) bool {
			return e.Kind == model.EventRunState && e.Text == string(d.Run.State)
		})
	})
	program.CheckComplete(a.t, d)
	if got, want := a.executions(), tasksOf(d); got != want {
		a.t.Errorf("the command ran %d times, want %d: once for each task", got, want)
	}
	return d
}

func tasksOf(d model.RunData) (n int) {
	for _, s := range d.Steps {
		n += len(s.Tasks)
	}
	return n
}

// unchanged fails if the run is not as it was, or if anything was run.
func (a *attack) unchanged(before model.RunData, what string) {
	a.t.Helper()
	after := a.Data(string(before.Run.ID))
	if diff := cmp.Diff(asJSON(a.t, before), asJSON(a.t, after)); diff != "" {
		a.t.Errorf("%s changed the run (-before +after):\n%s", what, diff)
	}
	if got, want := a.executions(), tasksOf(before); got != want {
		a.t.Errorf("after %s the command ran %d times, want %d", what, got, want)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// nodeOf is the node in the subject of a message: sb.<id>.t.<node>.
func nodeOf(m queuetest.Message) string { return strings.Split(m.Subject, ".")[3] }

// TestReplayedTasks replays every task of a run after its end, to agents that
// executed them, and to the same agents after a restart.
func TestReplayedTasks(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	a.open()
	a.Run("run", a.experiment())
	before := a.done("latest")
	captured := a.tasks.Messages()
	if got, want := len(captured), tasksOf(before); got != want {
		t.Fatalf("captured %d tasks, want %d", got, want)
	}
	replay := func(what string) {
		for _, m := range captured {
			a.intruder.Publish(m.Subject, "", m.Data)
		}
		for _, m := range captured {
			a.Agents[nodeOf(m)].Await(t, "attempt skipped")
		}
		a.unchanged(before, what)
	}
	replay("replaying tasks")
	for _, n := range []string{"n1", "n2"} {
		a.Agents[n].Leave(t)
		a.Agents[n] = a.Start("agent", "-v", "--node", n, "--state", a.AgentState(n))
		a.Agents[n].Await(t, "joined")
	}
	replay("replaying tasks to restarted agents")
}

// TestForgedTasks puts altered, forged and misdirected tasks into the queue
// while a run is under way. None is run, each is reported as an event of the
// run, and the run ends as if nothing had happened. After its end, when a
// refusal belongs to no run, the server's log shows it.
func TestForgedTasks(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	id := strings.TrimSpace(a.Run("run", a.experiment(), "--detach"))
	genuine := a.tasks.Await(1)[0]
	a.Poll("the first task to run", func() bool { return a.executions() > 0 })
	node := nodeOf(genuine)
	bad := a.badTasks(id, genuine)
	for _, m := range bad {
		a.intruder.Publish(m.Subject, "", m.Data)
	}
	d := a.done(id)
	refused := 0
	for _, e := range d.Events {
		if e.Kind == model.EventTaskRefused && e.Severity == model.Problem && strings.Contains(e.Text, "not signed by the server") {
			refused++
		}
	}
	if refused != len(bad) {
		t.Errorf("the run tells of %d refused tasks, want %d", refused, len(bad))
	}
	if n := strings.Count(a.Agents[node].Log(), "refused a task"); n == 0 {
		t.Errorf("the log of agent %s does not tell of a refused task", node)
	}
	if out := a.Run("show", id); !strings.Contains(out, "refused") {
		t.Errorf("scalebench show does not tell of a refused task:\n%s", out)
	}
	text := "node " + node + " refused a task"
	told := strings.Count(a.Server.Log(), text)
	a.intruder.Publish(genuine.Subject, "", []byte("run this"))
	a.Poll("the server to log the refusal", func() bool { return strings.Count(a.Server.Log(), text) > told })
	a.unchanged(d, "a task that cannot be read")
}

// badTasks are tasks that must not run: a genuine one with a bit changed, one
// for an agent under the other's name, and new ones that a stranger made.
func (a *attack) badTasks(id string, genuine queuetest.Message) []queuetest.Message {
	a.t.Helper()
	var bad []queuetest.Message
	for _, data := range queuetest.Altered(genuine.Data) {
		bad = append(bad, queuetest.Message{Subject: genuine.Subject, Data: data})
	}
	node := nodeOf(genuine)
	other := map[string]string{"n1": "n2", "n2": "n1"}[node]
	subject := strings.TrimSuffix(genuine.Subject, node) + other
	bad = append(bad, queuetest.Message{Subject: subject, Data: genuine.Data})
	return append(bad, queuetest.Message{Subject: genuine.Subject, Data: a.forge(id, node)})
}

// forge makes a task that differs from a real one of the run in its attempt
// and in who signed it.
func (a *attack) forge(id, node string) []byte {
	a.t.Helper()
	d := a.Data(id)
	step := d.Steps[0]
	key := keyOf(a.t, d, node)
	data, err := json.Marshal(wire.Assignment{
		Run: d.Run.ID, Step: step.ID, Task: step.Tasks[0].ID, Attempt: 7, Node: model.NodeID(node), NodeKey: key,
		Spec: step.Tasks[0].Spec, Issued: time.Now(), Expires: time.Now().Add(time.Hour),
	})
	if err != nil {
		a.t.Fatal(err)
	}
	stranger, err := identity.New(identity.RoleServer)
	if err != nil {
		a.t.Fatal(err)
	}
	forged, err := queuetest.Seal(stranger, key, queuetest.PurposeTask, data, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	return forged
}

// keyOf is the public key of a node's agent.
func keyOf(t *testing.T, d model.RunData, node string) string {
	t.Helper()
	for _, n := range d.Nodes {
		if string(n.ID) == node {
			return n.PublicKey
		}
	}
	t.Fatalf("the run has no node %s", node)
	return ""
}

// TestReplayedAndAlteredResults gives the server every result of a run again,
// and altered copies of it. Nothing in the store changes.
func TestReplayedAndAlteredResults(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	a.open()
	a.Run("run", a.experiment())
	before := a.done("latest")
	captured := a.results.Messages()
	if len(captured) < tasksOf(before) {
		t.Fatalf("captured %d results, want at least %d", len(captured), tasksOf(before))
	}
	for i, m := range captured {
		for _, data := range queuetest.Altered(m.Data) {
			a.intruder.Publish(m.Subject, "", data)
		}
		// The server answers a replay, into the inbox of the original agent,
		// after it has seen what came before on the same subject.
		id := strings.Split(m.Subject, ".")[1]
		inbox := "sb." + id + ".i." + keyOf(t, before, nodeOf(m)) + ".intruder"
		a.intruder.Publish(m.Subject, inbox, m.Data)
		a.replies.Await(i + 1)
	}
	a.unchanged(before, "replayed and altered results")
	if !strings.Contains(a.Server.Log(), "message refused") {
		t.Error("the server's log does not tell of the altered results")
	}
}

// TestWithoutCredentials shows that a stranger gets nowhere: not the embedded
// queue, not the API with a key that was never admitted, and not the user's
// own queue without the password.
func TestWithoutCredentials(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	if nc, err := queuetest.Dial("nats://" + w.Listen); err == nil {
		nc.Close()
		t.Error("the embedded queue takes a connection without a key")
	}
	stranger := *w
	stranger.Dir = t.TempDir() // a data directory with a key of its own
	out, stderr, err := stranger.Try("nodes", "--server", w.Listen)
	if err == nil || out != "" {
		t.Errorf("a client without a token: %v, printed %q", err, out)
	}
	if !strings.Contains(stderr, "token") {
		t.Errorf("a client without a token is not told what to do: %s", stderr)
	}
	url := strings.Replace(natsServer(t), "sb:"+natsPassword+"@", "", 1)
	if nc, err := queuetest.Dial(url); err == nil {
		nc.Close()
		t.Error("the user's queue takes a connection without a password; the other tests show nothing then")
	}
}
