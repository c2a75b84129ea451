package master

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/cdi"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/command"
)

// house is a master with a store of its own and agents in the same process,
// that are at work on a task until the test ends it.
type house struct {
	noQueue
	t     *testing.T
	m     *Master
	store store.Store
	stop  func() // ends Serve, in order
	begun chan wire.Assignment
	// interrupted are the runs that the master found when it began.
	interrupted []model.Run

	atOnce atomic.Bool // tasks that are begun from now on end at once

	mu    sync.Mutex
	tasks map[wire.Attempt]chan model.Outcome
	work  sync.WaitGroup // tasks under way
}

func newHouse(t *testing.T, st store.Store) *house {
	t.Helper()
	h := &house{t: t, store: st, begun: make(chan wire.Assignment, 100), tasks: make(map[wire.Attempt]chan model.Outcome)}
	h.m = New(Config{
		Store: st, Queue: h, Log: slog.New(slog.DiscardHandler), Host: "here",
		Kinds: experiment.Kinds{Workloads: workload.NewRegistry(command.Kind()), Studies: study.Registry{cdi.Kind()}},
	})
	var err error
	if h.interrupted, err = h.m.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.m.Serve(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		h.work.Wait()
	})
	t.Cleanup(h.stop)
	// Nodes a and b are alone on their hosts, c and d share one.
	for node, host := range map[model.NodeID]string{"a": "h1", "b": "h2", "c": "h3", "d": "h3"} {
		labels := map[string]string{"node": string(node), "pair": map[bool]string{true: "ab", false: "cd"}[node < "c"]}
		hello := wire.Hello{Session: "s", Node: model.Node{ID: node, Labels: labels, Facts: model.Facts{Hostname: host}}}
		if _, err := h.m.Hello(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func testStore(t *testing.T) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// Dispatch gives a task to its agent, which takes each attempt once.
func (h *house) Dispatch(as wire.Assignment) error {
	at := wire.Attempt{Task: as.Task, Attempt: as.Attempt}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks[at] != nil {
		return nil
	}
	end := make(chan model.Outcome, 1)
	if h.atOnce.Load() {
		end <- model.OutcomeOK
	}
	h.tasks[at] = end
	h.work.Go(func() {
		started := time.Now()
		if _, err := h.m.Ready(context.Background(), wire.Ready{Node: as.Node, Attempt: at}); err != nil {
			h.t.Errorf("Ready of %s: %v", at, err)
		}
		h.begun <- as
		r := model.Result{Run: as.Run, Step: as.Step, Task: as.Task, Attempt: as.Attempt, Node: as.Node, Started: started}
		r.Outcome = <-end
		r.Ended = time.Now()
		if reply := h.m.Result(context.Background(), r); !reply.Stored {
			h.t.Errorf("result of %s: %+v, want it stored", at, reply)
		}
	})
	return nil
}

// Order ends the tasks that are called off.
func (h *house) Order(_ context.Context, o wire.Order, _ []model.NodeID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, end := range h.tasks {
		if o.Kind == wire.OrderCancel && at.Attempt == o.Attempt && strings.HasPrefix(string(at.Task), string(o.Step)+"/") {
			select {
			case end <- model.OutcomeCancelled:
			default: // it has ended
			}
		}
	}
	return nil
}

// submit submits a run on the nodes with a label, such as "node: a".
func (h *house) submit(name, label string, more ...string) (id model.RunID, live <-chan model.Event) {
	h.t.Helper()
	id = model.RunID(ulid.MustNew(ulid.Now(), rand.Reader).String())
	live, stop, err := h.m.Watch(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(stop)
	text := fmt.Sprintf("name: %s\nfleet: {agents: {labels: {%s}}}\nworkloads: [{kind: command, command: \"true\"}]\nevaluations: [parallel]\n%s",
		name, label, strings.Join(more, "\n"))
	if _, err := h.m.Submit(h.t.Context(), control.Source{ID: id, Name: "e.yaml", Text: text, Kind: model.KindExperiment}); err != nil {
		h.t.Fatal(err)
	}
	return id, live
}

// aJob is a run that a master takes when it has room.
func aJob() control.Source {
	return control.Source{
		ID: model.RunID(ulid.MustNew(ulid.Now(), rand.Reader).String()), Name: "e.yaml", Kind: model.KindExperiment,
		Text: "fleet: {agents: {labels: {node: b}}}\nworkloads: [{kind: command, command: \"true\"}]\n",
	}
}

// patience bounds what must come.
const patience = 30 * time.Second

// awaitTasks waits until so many tasks have begun, and returns their nodes.
func (h *house) awaitTasks(n int) (nodes []model.NodeID) {
	h.t.Helper()
	for range n {
		select {
		case as := <-h.begun:
			nodes = append(nodes, as.Node)
		case <-time.After(patience):
			h.t.Fatalf("%d of %d tasks have begun", len(nodes), n)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// endTasks ends the tasks of a run well.
func (h *house) endTasks(run model.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, end := range h.tasks {
		if at.Task.Run() == run {
			select {
			case end <- model.OutcomeOK:
			default:
			}
		}
	}
}

// awaitState waits until the run's state has a reason that begins so.
func (h *house) awaitState(run model.RunID, reason string) {
	h.t.Helper()
	for until := time.Now().Add(patience); !strings.HasPrefix(h.run(run).Reason, reason); {
		if time.Now().After(until) {
			h.t.Fatalf("run %s: %q, want %q", run, h.run(run).Reason, reason)
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the store is asked again
	}
}

// end ends the tasks of a run well, and waits for its end.
func (h *house) end(run model.RunID) {
	h.t.Helper()
	h.endTasks(run)
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	h.m.mu.Lock()
	done, going := h.m.finished[run]
	h.m.mu.Unlock()
	if !going {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
		h.t.Fatalf("run %s does not end: %v", run, ctx.Err())
	}
}

func (h *house) run(id model.RunID) model.Run {
	h.t.Helper()
	r, err := h.store.Run(h.t.Context(), string(id))
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// checkDone fails unless the run is done and each task has one result that
// counts.
func (h *house) checkDone(id model.RunID) model.RunData {
	h.t.Helper()
	d, err := h.store.Data(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	tasks := 0
	for _, s := range d.Steps {
		tasks += len(s.Tasks)
	}
	if got := len(d.Accepted()); d.Run.State != model.RunDone || d.Run.Reason != "" || got != tasks {
		h.t.Errorf("run %s is %s (%s) with %d results that count, want done with %d", d.Run.Name, d.Run.State, d.Run.Reason, got, tasks)
	}
	return d
}

func (h *house) awaitWaiting(live <-chan model.Event, want string) {
	h.t.Helper()
	for {
		select {
		case ev := <-live:
			if ev.Kind != model.EventWaiting {
				continue
			}
			if ev.Text != want {
				h.t.Errorf("it says %q, want %q", ev.Text, want)
			}
			return
		case <-time.After(patience):
			h.t.Fatalf("it does not say %q", want)
		}
	}
}

// TestRunsShareAServer: runs on disjoint nodes are at work at the same time;
// what waits says for what, goes on in order, and can be cancelled.
func TestRunsShareAServer(t *testing.T) {
	h := newHouse(t, testStore(t))
	a, _ := h.submit("A", "node: a")
	b, _ := h.submit("B", "node: b")
	if got := h.awaitTasks(2); !slices.Equal(got, []model.NodeID{"a", "b"}) {
		t.Errorf("at work at the same time: %v, want a and b", got)
	}
	ab, liveAB := h.submit("AB", "pair: ab")
	h.awaitWaiting(liveAB, fmt.Sprintf("waiting for run %s (A) to release node a; run %s (B) to release node b", a, b))
	a2, liveA2 := h.submit("A2", "node: a")
	h.awaitWaiting(liveA2, fmt.Sprintf("waiting for run %s (AB) to release node a", ab))
	c, _ := h.submit("C", "node: c")
	h.awaitTasks(1) // it needs nothing that those who wait need
	d, liveD := h.submit("D", "node: d")
	h.awaitWaiting(liveD, fmt.Sprintf("waiting for run %s (C) to release host h3", c))
	if r := h.run(ab); r.State != model.RunPending || !strings.Contains(r.Reason, "waiting for run") {
		t.Errorf("the store has %s (%s), want what the run waits for", r.State, r.Reason)
	}
	if err := h.m.Cancel(t.Context(), ab); err != nil {
		t.Fatal(err)
	}
	if r := h.run(ab); r.State != model.RunCancelled {
		t.Errorf("the run that was cancelled in line is %s", r.State)
	}
	h.awaitWaiting(liveA2, fmt.Sprintf("waiting for run %s (A) to release node a", a))
	h.end(a)
	if got := h.awaitTasks(1); got[0] != "a" {
		t.Errorf("after A, node %s is at work, want a", got)
	}
	h.end(c)
	h.awaitTasks(1)
	for _, run := range []model.RunID{d, b, a2} {
		h.end(run)
	}
	h.stop() // stores the last events
	var waits []string
	for _, run := range []model.RunID{a, b, c, d, a2} {
		for _, ev := range h.checkDone(run).Events {
			if ev.Kind == model.EventWaiting {
				waits = append(waits, h.run(run).Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"D", "A2", "A2"}, waits); diff != "" {
		t.Errorf("stored events of waiting, by run (-want +got):\n%s", diff)
	}
}

// TestSharedHosts: with the word of both, two runs are at work on one host.
func TestSharedHosts(t *testing.T) {
	h := newHouse(t, testStore(t))
	c, _ := h.submit("C", "node: c", "shared: true")
	d, _ := h.submit("D", "node: d", "shared: true")
	h.awaitTasks(2)
	_, live := h.submit("D2", "node: d", "shared: true")
	h.awaitWaiting(live, fmt.Sprintf("waiting for run %s (D) to release node d", d))
	h.end(c)
	h.end(d)
	h.awaitTasks(1)
}

// TestFreeAgentsFirst: of more agents than it needs a run takes free ones.
func TestFreeAgentsFirst(t *testing.T) {
	h := newHouse(t, testStore(t))
	h.submit("A", "node: a")
	h.awaitTasks(1)
	id := model.RunID(ulid.Make().String())
	text := "fleet: {agents: {count: 2}}\nworkloads: [{kind: command, command: \"true\"}]\nevaluations: [parallel]\n"
	if _, err := h.m.Submit(t.Context(), control.Source{ID: id, Name: "e.yaml", Text: text, Kind: model.KindExperiment}); err != nil {
		t.Fatal(err)
	}
	if got := h.awaitTasks(2); !slices.Equal(got, []model.NodeID{"b", "c"}) {
		t.Errorf("a run of any two agents is at work on %v, want b and c", got)
	}
}

// TestStopAndResume: a server that stops ends all runs in order, those at work
// and those in line; the next one goes on with all of them.
func TestStopAndResume(t *testing.T) {
	st := testStore(t)
	h := newHouse(t, st)
	a, _ := h.submit("A", "node: a", "trials: 2")
	b, _ := h.submit("B", "node: b", "trials: 2")
	a2, live := h.submit("A2", "node: a")
	h.awaitTasks(2)
	h.awaitWaiting(live, fmt.Sprintf("waiting for run %s (A) to release node a", a))
	h.stop()
	for run, reason := range map[model.RunID]string{
		a: "cut short: the scalebench server was stopped", b: "cut short: the scalebench server was stopped",
		a2: "not begun: the scalebench server was stopped while the run waited",
	} {
		if r := h.run(run); r.State != model.RunInterrupted || r.Reason != reason {
			t.Errorf("run %s is %s (%s), want interrupted (%s)", r.Name, r.State, r.Reason, reason)
		}
	}
	h = newHouse(t, st)
	if n := len(h.interrupted); n != 3 {
		t.Errorf("the next server finds %d interrupted runs, want 3", n)
	}
	for _, run := range []model.RunID{a2, a, b} {
		if err := h.m.Resume(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.m.Resume(t.Context(), a); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a second resume: %v, want bad usage", err)
	}
	h.awaitTasks(2) // A2 is before A this time
	h.atOnce.Store(true)
	for _, run := range []model.RunID{a2, b, a} {
		h.end(run)
	}
	h.stop()
	for _, run := range []model.RunID{a, b, a2} {
		h.checkDone(run)
	}
}

// TestRecover: what a killed server left becomes interrupted, whether or not it
// had begun, and can be resumed like what had been before; what is over cannot.
func TestRecover(t *testing.T) {
	st := testStore(t)
	var want []string
	tests := []struct {
		name         string
		states       []model.RunState
		state        model.RunState
		reason, mine string
	}{
		{"waiting", []model.RunState{model.RunPending}, model.RunInterrupted, "the scalebench server stopped before the run began", ""},
		{"at work", []model.RunState{model.RunRunning}, model.RunInterrupted, "the scalebench server stopped during the run", ""},
		{"resumed", []model.RunState{model.RunRunning, model.RunPending}, model.RunInterrupted, "the scalebench server stopped during the run", ""},
		{"interrupted", []model.RunState{model.RunInterrupted}, model.RunInterrupted, "", ""},
		{"done", []model.RunState{model.RunDone}, model.RunDone, "", ""},
		{"another's", []model.RunState{model.RunPending}, model.RunPending, "", "another"},
	}
	ids := make([]model.RunID, len(tests))
	for i, tt := range tests {
		ids[i] = model.RunID(ulid.MustNew(ulid.Now(), rand.Reader).String())
		run := model.Run{ID: ids[i], Kind: model.KindExperiment,
			Name: tt.name, State: model.RunPending, Server: tt.mine, Created: time.Now()}
		if err := st.CreateRun(t.Context(), run, nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, state := range tt.states {
			if err := st.SetRunState(t.Context(), run.ID, state, "", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if tt.state == model.RunInterrupted {
			want = append(want, tt.name)
		}
	}
	var got []string
	for _, r := range newHouse(t, st).interrupted {
		got = append(got, r.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Recover() (-want +got):\n%s", diff)
	}
	for i, tt := range tests {
		if r, err := st.Run(t.Context(), string(ids[i])); err != nil || r.State != tt.state || r.Reason != tt.reason {
			t.Errorf("%s: it is %s (%s), %v, want %s (%s)", tt.name, r.State, r.Reason, err, tt.state, tt.reason)
		}
	}
}

// TestSubmitErrors: what the nodes do not suit has its place in the file also
// where a server finds it.
func TestSubmitErrors(t *testing.T) {
	h := newHouse(t, testStore(t))
	text := "fleet: {agents: {labels: {pair: ab}}}\nworkloads: [{kind: command, command: \"true\"}]\nsizes: [3]\n"
	_, err := h.m.Submit(t.Context(), control.Source{ID: model.RunID(ulid.Make().String()), Name: "e.yaml", Text: text, Kind: model.KindExperiment})
	if !errors.Is(err, model.ErrUsage) || err.Error() != "e.yaml:3:9: sizes.0: 3 cannot be active at once: there are only 2; workload command allows at most 2" {
		t.Errorf("Submit: %v, want the place of the size", err)
	}
}

// TestEvery: a trial that is known beforehand waits for its time.
func TestEvery(t *testing.T) {
	h := newHouse(t, testStore(t))
	h.atOnce.Store(true)
	run, _ := h.submit("spaced", "node: a", "trials: 2", "every: 1s")
	h.awaitTasks(2)
	h.end(run)
	data, err := h.store.Data(t.Context(), run)
	if err != nil || len(data.Results) != 2 {
		t.Fatal(len(data.Results), err)
	}
	if first, second := data.Results[0].Started, data.Results[1].Started; second.Sub(data.Run.Started) < time.Second || first.Sub(data.Run.Started) > time.Second {
		t.Errorf("the run began at %s, its trials at %s and %s; want the second a second after the run", data.Run.Started, first, second)
	}
}

// TestUnreachableWork: a node that was lost at work may still be at it. Runs on
// its host say so, others do not.
func TestUnreachableWork(t *testing.T) {
	h := newHouse(t, testStore(t))
	h.m.reg.mu.Lock()
	h.m.reg.nodes["d"].status, h.m.reg.nodes["d"].running = model.NodeLost, &wire.Attempt{Task: "OLD/0/0", Attempt: 1}
	h.m.reg.mu.Unlock()
	for node, want := range map[string]int{"a": 0, "c": 1} {
		id, _ := h.submit("run-"+node, "node: "+node)
		h.awaitTasks(1)
		h.end(id)
		got := observe.Of(h.checkDone(id)).Disturbances()
		if len(got) != want || want == 1 && !strings.Contains(got[0].Event,
			"node d is on a host of this run and was lost while it worked on OLD/0/0") {
			t.Errorf("a run on node %s: %+v, want %d disturbances", node, got, want)
		}
	}
	// What another run has leased is at its work: sharing the host was agreed.
	h.m.leases.request((&claim{run: "OTHER", nodes: []model.NodeID{"d"}, shared: true}).again())
	id, _ := h.submit("sharing", "node: c", "shared: true")
	h.awaitTasks(1)
	h.end(id)
	if got := observe.Of(h.checkDone(id)).Disturbances(); len(got) > 0 {
		t.Errorf("a run that shares its host with the run of the lost node: %+v, want no disturbance", got)
	}
}
