package e2e_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/servers/pgtest"
)

var (
	chaosFaults = flag.Int("chaos", 0, "how many faults a campaign injects into each store")
	chaosSeed   = flag.Uint64("chaos-seed", 0, "of the faults; 0 draws one")
)

// faultsExperiment has tasks that leave a mark each time they are executed,
// and tell it as their output.
const faultsExperiment = `
name: campaign
fleet: {agents: {count: 3}}
workloads:
  - name: mark
    kind: command
    command: 'echo $SCALEBENCH_ATTEMPT >> %s; echo $SCALEBENCH_ATTEMPT; sleep 0.3'
trials: 3
timeouts: {node: 60s, ready: 30s, task: 60s}
retries: {lost: 100, failed: 100}
`

// TestChaos injects faults at random moments into a server, its store and
// queue, three agents and their tasks, one after another, while runs go on. None
// of their tasks is lost, none is executed twice for one attempt, nothing is left
// behind, and after no fault does a run stand still for 30 s.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test does a part, make chaos all")
	}
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			parts.Begin(t, *chaosFaults, *chaosSeed)
			newChaos(t, store).execute()
		})
	}
}

type chaos struct {
	*installation
	rnd    *rand.Rand
	faults map[string]func()
	names  []string
	proxy  *proxy
	pg     *pgtest.Server // nil with SQLite
	marks  string
	runs   int // that are over
	tasks  int // of these
}

func newChaos(t *testing.T, store string) *chaos {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	c := &chaos{installation: install(t), rnd: rand.New(rand.NewPCG(seed, uint64(len(store))))}
	disk := smallDisk(t, c.installation)
	c.marks = filepath.Join(c.Dir, "marks")
	c.proxy = newProxy(t, c.Listen)
	c.Args = []string{"--advertise", c.proxy.address}
	c.faults = map[string]func(){
		"an agent is killed":          func() { c.Agents[c.anyAgent()].Kill() },
		"an agent is told to stop":    func() { c.Agents[c.anyAgent()].Leave(t) },
		"an agent stands still":       func() { c.pause(c.Agents[c.anyAgent()]) },
		"the server is killed":        func() { c.Server.Kill() },
		"the server is told to stop":  func() { c.Server.Leave(t) },
		"the server stands still":     func() { c.pause(c.Server) },
		"server and agent are killed": func() { c.Server.Kill(); c.Agents[c.anyAgent()].Kill() },
		"a command is killed":         c.killCommand,
		"a task's process is killed":  c.killTask,
		"connections are cut":         c.proxy.cut,
		"nothing passes for a while":  func() { c.proxy.hold(c.moment(3 * time.Second)) },
		"the server's disk is full":   func() { c.fill(disk) },
		"the agents' disk is full":    func() { c.fill(filepath.Join(c.Dir, "agents")) },
		"the run is cancelled":        func() { _, _, _ = c.Try("cancel", "latest") },
		"another one reads everything": func() {
			_, _,
				_ = c.Try("report", "latest", "-o", filepath.Join(c.Dir, "page.html"))
		},
	}
	if store == "postgres" {
		c.pg = pgtest.Start(t)
		c.Args = append(c.Args, "--store", c.pg.Database())
		c.faults["the database is killed"] = func() { c.pg.Kill(); c.rest(2 * time.Second); c.pg.Restart() }
	}
	c.names = slices.Sorted(maps.Keys(c.faults))
	agents := filepath.Join(c.Dir, "agents")
	if err := os.Mkdir(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, agents)
	c.StartServer()
	for i := range 3 {
		c.StartAgent(fmt.Sprintf("n%d", i+1))
	}
	c.Write("campaign.yaml", fmt.Sprintf(faultsExperiment, c.marks))
	return c
}

// execute injects the faults, and checks what is left at the end.
func (c *chaos) execute() {
	faults := *chaosFaults
	if faults == 0 {
		faults = 6
	}
	count := make(map[string]int)
	for n := range faults {
		c.goOn("begin")
		c.rest(1500 * time.Millisecond)
		name := c.names[c.rnd.IntN(len(c.names))]
		count[name]++
		c.faults[name]()
		c.revive()
		c.goOn(fmt.Sprintf("fault %d: %s", n, name))
		if c.T.Failed() {
			return
		}
	}
	c.AwaitRun("newest", "over", func(d model.RunData) bool { return c.over(d) })
	for _, name := range c.names {
		c.T.Logf("%4d times %s", count[name], name)
	}
	c.T.Logf("%d runs with %d tasks: none lost, none twice", c.runs, c.tasks)
	c.checkLeftovers()
}

// goOn makes sure that a run is under way, and that it gets ahead.
func (c *chaos) goOn(after string) {
	c.T.Helper()
	deadline := time.Now().Add(30 * time.Second)
	var first *int
	for {
		d, ok := c.TryData("newest")
		if !ok || c.over(d) {
			out, stderr, err := c.Try("run", filepath.Join(c.Dir, "campaign.yaml"), "--detach")
			if err == nil {
				return
			}
			c.T.Logf("%s: a new run: %v %s%s", after, err, out, stderr)
		}
		if first == nil {
			first = new(len(d.Results))
		} else if ok && len(d.Results) > *first {
			return
		}
		if time.Now().After(deadline) {
			c.T.Fatalf("%s: the run does not get ahead for 30 s: %s %s, %d results\nserver:\n%s", after, d.Run.State,
				d.Run.Reason, len(d.Results), c.Server.Log())
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

// over reports whether a run is over; the first time it is checked and deleted.
// One that was cut goes on.
func (c *chaos) over(d model.RunData) bool {
	switch {
	case d.Run.State == model.RunInterrupted, d.Run.State == model.RunCancelled:
		_, _, _ = c.Try("resume", string(d.Run.ID), "--detach")
		return false
	case !d.Run.State.Final():
		return false
	}
	program.CheckComplete(c.T, d)
	c.checkMarks(d)
	c.runs++
	c.tasks += len(d.Accepted())
	if _, stderr, err := c.Try("delete", string(d.Run.ID), "--yes"); err != nil {
		c.T.Errorf("deleting run %s: %v\n%s", d.Run.ID, err, stderr)
	}
	return true
}

// checkMarks fails if an attempt was executed twice, or if a result that counts
// is not of its own execution.
func (c *chaos) checkMarks(d model.RunData) {
	c.T.Helper()
	text, err := os.ReadFile(c.marks)
	if err != nil {
		c.T.Fatal(err)
	}
	executed := make(map[string]int)
	for _, attempt := range strings.Fields(string(text)) {
		if executed[attempt]++; executed[attempt] > 1 {
			c.T.Errorf("attempt %s was executed %d times", attempt, executed[attempt])
		}
	}
	for _, r := range d.Accepted() {
		attempt := fmt.Sprintf("%s#%d", r.Task, r.Attempt)
		if said := strings.TrimSpace(r.Stdout.Text); said != attempt || executed[attempt] == 0 {
			c.T.Errorf("the result of %s says that it is of %q, and it was executed %d times", attempt, said, executed[attempt])
		}
	}
	if err := os.Remove(c.marks); err != nil {
		c.T.Fatal(err)
	}
}

// checkLeftovers ends everything and looks for what is left of it.
func (c *chaos) checkLeftovers() {
	c.Stop()
	c.Agents, c.Server = nil, nil
	program.AwaitNobody(c.T, c.Dir)
	for _, kind := range []string{"tasks", "artifacts", "scratch"} {
		left, err := filepath.Glob(filepath.Join(c.Dir, "agents", "*", kind, "*"))
		if err != nil || len(left) > 0 {
			c.T.Errorf("left of the agents' work: %v, %v", left, err)
		}
	}
}

// revive starts again what a fault has ended.
func (c *chaos) revive() {
	if ended(c.Server) {
		c.StartServer()
	}
	for name, a := range c.Agents {
		if ended(a) {
			c.StartAgent(name)
		}
	}
}

func ended(p *program.Process) bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

func (c *chaos) moment(most time.Duration) time.Duration {
	return time.Duration(c.rnd.Int64N(int64(most)))
}

// rest lets what is under way go on for a random time.
func (c *chaos) rest(most time.Duration) {
	time.Sleep(c.moment(most)) //nolint:forbidigo // the random moment
}

func (c *chaos) anyAgent() string { return fmt.Sprintf("n%d", 1+c.rnd.IntN(3)) }

func (c *chaos) pause(p *program.Process) {
	_ = p.Cmd.Process.Signal(syscall.SIGSTOP)
	c.rest(3 * time.Second)
	_ = p.Cmd.Process.Signal(syscall.SIGCONT)
}

// fill leaves no room on a disk for a while.
func (c *chaos) fill(disk string) {
	filler := filepath.Join(disk, "filler")
	fill(c.T, filler)
	c.rest(3 * time.Second)
	if err := os.Remove(filler); err != nil {
		c.T.Error(err)
	}
}

// killCommand kills a command in the middle of what it does.
func (c *chaos) killCommand() {
	commands := [][]string{{"resume", "latest"}, {"export", "latest"}, {"show", "latest"}, {"nodes"}}
	p := c.Start(commands[c.rnd.IntN(len(commands))]...)
	c.rest(time.Second)
	p.Kill()
}

// killTask kills a shell that executes a task, if there is one at this moment.
func (c *chaos) killTask() {
	for _, line := range program.ProcessesWith(c.T, c.marks) {
		pid, command, _ := strings.Cut(line, " ")
		if !strings.Contains(command, "SCALEBENCH_ATTEMPT") {
			continue
		}
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
			return
		}
	}
}

// proxy is the way of agents to their server, which faults cut.
type proxy struct {
	address, target string

	mu    sync.Mutex
	conns map[net.Conn]bool
	gate  sync.RWMutex // held while nothing passes
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", servers.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), target: target, conns: make(map[net.Conn]bool)}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(in)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	return p
}

func (p *proxy) serve(in net.Conn) {
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = in.Close()
		return
	}
	p.mu.Lock()
	p.conns[in], p.conns[out] = true, true
	p.mu.Unlock()
	pass := func(to, from net.Conn) {
		defer func() { _ = to.Close(); _ = from.Close() }()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			p.gate.RLock()
			p.gate.RUnlock() //nolint:staticcheck // waits while nothing passes
			if n > 0 {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go pass(in, out)
	pass(out, in)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, in)
	delete(p.conns, out)
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// hold lets nothing pass for a while.
func (p *proxy) hold(d time.Duration) {
	p.gate.Lock()
	defer p.gate.Unlock()
	time.Sleep(d) //nolint:forbidigo // that long nothing passes
}
