package program

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/slots"
)

// itemsExperiment is a queue of items that three agents drain. What each writes for an item
// is kept in a bucket.
const itemsExperiment = `
name: items
fleet: {agents: {count: 3}}
workloads:
  - kind: jobs
    items: %s
    slots: 4
    command: echo {item} > {out}; sleep 0.$(($(od -An -N1 -tu1 /dev/urandom) %% 4))
    put: {prefix: out%d, keep: true}
    lease: 2s
    tries: 1000
    endpoint: %s
    region: us-east-1
    bucket: bench
evaluations: [parallel]
trials: 1
timeouts: {node: 60s, ready: 30s, task: 10m}
retries: {lost: 100, failed: 100}
`

// ItemKills is a campaign that kills those who drain a queue of items, at random moments:
// tasks, agents, the server.
type ItemKills struct {
	*Installation
	rnd   *rand.Rand
	items int
	store string                  // URL of the object store
	read  func(key string) string // an object of it
	run   model.RunID
	kills map[string]int
	runs  int
	done  int // records of the run when it was seen last
}

// NewItemKills starts a server and three agents.
func NewItemKills(w *Installation, store string, read func(key string) string, seed uint64, items int) *ItemKills {
	k := &ItemKills{Installation: w, rnd: rand.New(rand.NewPCG(seed, 28)), items: items, store: store, read: read,
		kills: make(map[string]int)}
	w.T.Logf("seed %d", seed)
	w.StartServer()
	for i := range 3 {
		w.StartAgent(fmt.Sprintf("n%d", i+1))
	}
	w.AwaitNodes(3)
	return k
}

// Execute kills so many, and then lets the last queue be drained. After each kill the
// queue must get ahead.
func (k *ItemKills) Execute(kills int) {
	k.T.Helper()
	kill := func(processes ...*Process) bool {
		for _, p := range processes {
			p.Kill()
		}
		return true
	}
	faults := map[string]func() bool{ // false: there was none
		"a task":           func() bool { return k.signalTask(syscall.SIGKILL) > 0 },
		"a stopped task":   k.stopTask,
		"an agent":         func() bool { return kill(k.Agents[k.anyAgent()]) },
		"the server":       func() bool { return kill(k.Server) },
		"server and agent": func() bool { return kill(k.Server, k.Agents[k.anyAgent()]) },
	}
	names := slices.Sorted(maps.Keys(faults))
	for n := 0; n < kills; {
		k.goOn()
		time.Sleep(time.Duration(k.rnd.Int64N(int64(600 * time.Millisecond)))) //nolint:forbidigo // the random moment
		name := names[k.rnd.IntN(len(names))]
		if faults[name]() {
			n++
			k.kills[name]++
		}
		k.revive()
	}
	k.Poll("the end of the last queue", k.over)
	k.T.Logf("%v were killed; %d queues of %d items: none lost, none stored twice", k.kills, k.runs, k.items)
}

func (k *ItemKills) anyAgent() string { return fmt.Sprintf("n%d", 1+k.rnd.IntN(3)) }

// TaskOf returns the process of the task that an agent executes; 0: there is none.
func (w *Installation) TaskOf(agent string) int {
	parent := "\nPPid:\t" + strconv.Itoa(w.Agents[agent].Cmd.Process.Pid) + "\n"
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	return 0
}

// signalTask signals the task of any agent, and returns its process; 0: it has none.
func (k *ItemKills) signalTask(sig syscall.Signal) int {
	pid := k.TaskOf(k.anyAgent())
	if pid > 0 {
		_ = syscall.Kill(pid, sig)
	}
	return pid
}

// stopTask stops a task for longer than its leases.
func (k *ItemKills) stopTask() bool {
	pid := k.signalTask(syscall.SIGSTOP)
	if pid > 0 {
		time.Sleep(2500 * time.Millisecond) //nolint:forbidigo // longer than a lease
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	return pid > 0
}

// revive starts again what was killed.
func (k *ItemKills) revive() {
	ended := func(p *Process) bool {
		select {
		case <-p.Ended:
			return true
		default:
			return false
		}
	}
	if ended(k.Server) {
		k.StartServer()
	}
	for name, a := range k.Agents {
		if ended(a) {
			k.StartAgent(name)
		}
	}
}

// goOn sees to it that a run is under way, and waits until its queue gets ahead.
func (k *ItemKills) goOn() {
	k.T.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		if k.over() {
			k.begin()
		}
		if n := len(slots.Read(k.T, filepath.Join(k.Dir, "server"), k.run)); n > k.done {
			k.done = n
			return
		}
		if time.Now().After(deadline) {
			k.T.Fatalf("the queue does not get ahead: %d of %d items are over; server:\n%s", k.done, k.items, k.Server.Log())
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

func (k *ItemKills) begin() {
	k.T.Helper()
	items := fmt.Sprintf("{count: %d}", k.items)
	if k.runs%2 == 1 {
		names := make([]string, k.items)
		for i := range names {
			names[i] = fmt.Sprint("item-", i)
		}
		items = fmt.Sprintf("{list: [%s]}", strings.Join(names, ", "))
	}
	k.Write("items.yaml", fmt.Sprintf(itemsExperiment, items, k.runs, k.store))
	k.Run("run", filepath.Join(k.Dir, "items.yaml"), "--detach")
	d, ok := k.TryData("newest")
	if !ok {
		k.T.Fatal("there is no run")
	}
	k.run, k.done = d.Run.ID, 0
}

// over reports whether there is no run under way. One that was cut goes on; one that is
// done is checked.
func (k *ItemKills) over() bool {
	k.T.Helper()
	if k.run == "" {
		return true
	}
	d, ok := k.TryData(string(k.run))
	switch {
	case !ok:
		return false // the server is not there yet
	case d.Run.State == model.RunInterrupted, d.Run.State == model.RunCancelled:
		_, _, _ = k.Try("resume", string(d.Run.ID), "--detach")
		return false
	case !d.Run.State.Final():
		return false
	}
	CheckComplete(k.T, d)
	records := slots.Read(k.T, filepath.Join(k.Dir, "server"), k.run)
	slots.Check(k.T, records, k.items)
	for key, r := range records {
		text := k.read(r.Output)
		if folder := fmt.Sprintf("out%d/%s/", k.runs, key); text != r.Name+"\n" || !strings.HasPrefix(r.Output, folder) {
			k.T.Fatalf("the result of item %s is %q in %s", r.Name, text, r.Output)
		}
	}
	k.runs++
	k.run = ""
	return true
}
