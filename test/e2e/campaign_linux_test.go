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
	"github.com/scalebench/scalebench/test/pgtest"
	"github.com/scalebench/scalebench/test/servertest"
)

var (
	chaosFaults = flag.Int("chaos", 0, "how many faults a campaign injects into each store's world")
	chaosSeed   = flag.Uint64("chaos-seed", 0, "of the faults; 0 draws one")
)

// campaignExperiment has tasks that leave a mark each time they are executed,
// and tell it as their output.
const campaignExperiment = `
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

// TestCampaign injects faults at random moments into a server, its store and
// queue, three agents and their tasks, one after another, while runs go on. None
// of their tasks is lost, none is executed twice for one attempt, nothing is left
// behind, and after no fault does a run stand still for 30 s.
func TestCampaign(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test does a part, make chaos all")
	}
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			newCampaign(t, store).execute()
		})
	}
}

type campaign struct {
	*world
	rnd    *rand.Rand
	faults map[string]func()
	names  []string
	proxy  *proxy
	pg     *pgtest.Server // nil with SQLite
	marks  string
	runs   int // that are over
	tasks  int // of these
}

func newCampaign(t *testing.T, store string) *campaign {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	c := &campaign{world: newWorld(t), rnd: rand.New(rand.NewPCG(seed, uint64(len(store))))}
	disk := smallDisk(t, c.world)
	c.marks = filepath.Join(c.dir, "marks")
	c.proxy = newProxy(t, c.listen)
	c.args = []string{"--advertise", c.proxy.address}
	c.faults = map[string]func(){
		"an agent is killed":           func() { c.agents[c.anyAgent()].kill() },
		"an agent is told to stop":     func() { c.agents[c.anyAgent()].leave(t) },
		"an agent stands still":        func() { c.pause(c.agents[c.anyAgent()]) },
		"the server is killed":         func() { c.server.kill() },
		"the server is told to stop":   func() { c.server.leave(t) },
		"the server stands still":      func() { c.pause(c.server) },
		"server and agent are killed":  func() { c.server.kill(); c.agents[c.anyAgent()].kill() },
		"a command is killed":          c.killCommand,
		"a task's process is killed":   c.killTask,
		"connections are cut":          c.proxy.cut,
		"nothing passes for a while":   func() { c.proxy.hold(c.moment(3 * time.Second)) },
		"the server's disk is full":    func() { c.fill(disk) },
		"the agents' disk is full":     func() { c.fill(filepath.Join(c.dir, "agents")) },
		"the run is cancelled":         func() { _, _, _ = c.try("cancel", "latest") },
		"another one reads everything": func() { _, _, _ = c.try("report", "latest", "-o", filepath.Join(c.dir, "page.html")) },
	}
	if store == "postgres" {
		c.pg = pgtest.Start(t)
		c.args = append(c.args, "--store", c.pg.Database())
		c.faults["the database is killed"] = func() { c.pg.Kill(); c.rest(2 * time.Second); c.pg.Restart() }
	}
	c.names = slices.Sorted(maps.Keys(c.faults))
	agents := filepath.Join(c.dir, "agents")
	if err := os.Mkdir(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, agents)
	c.startServer()
	for i := range 3 {
		c.startAgent(fmt.Sprintf("n%d", i+1))
	}
	c.write("campaign.yaml", fmt.Sprintf(campaignExperiment, c.marks))
	return c
}

// execute injects the faults, and checks what is left at the end.
func (c *campaign) execute() {
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
		if c.t.Failed() {
			return
		}
	}
	c.awaitRun("newest", "over", func(d model.RunData) bool { return c.over(d) })
	for _, name := range c.names {
		c.t.Logf("%4d times %s", count[name], name)
	}
	c.t.Logf("%d runs with %d tasks: none lost, none twice", c.runs, c.tasks)
	c.checkLeftovers()
}

// goOn makes sure that a run is under way, and that it gets ahead.
func (c *campaign) goOn(after string) {
	c.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	var first *int
	for {
		d, ok := c.tryData("newest")
		if !ok || c.over(d) {
			out, stderr, err := c.try("run", filepath.Join(c.dir, "campaign.yaml"), "--detach")
			if err == nil {
				return
			}
			c.t.Logf("%s: a new run: %v %s%s", after, err, out, stderr)
		}
		if first == nil {
			first = new(len(d.Results))
		} else if ok && len(d.Results) > *first {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: the run does not get ahead for 30 s: %s %s, %d results\nserver:\n%s", after, d.Run.State, d.Run.Reason, len(d.Results), c.server.log())
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

// over reports whether a run is over; the first time it is checked and deleted.
// One that was cut goes on.
func (c *campaign) over(d model.RunData) bool {
	switch {
	case d.Run.State == model.RunInterrupted, d.Run.State == model.RunCancelled:
		_, _, _ = c.try("resume", string(d.Run.ID), "--detach")
		return false
	case !d.Run.State.Final():
		return false
	}
	checkComplete(c.t, d)
	c.checkMarks(d)
	c.runs++
	c.tasks += len(d.Accepted())
	if _, stderr, err := c.try("delete", string(d.Run.ID), "--yes"); err != nil {
		c.t.Errorf("deleting run %s: %v\n%s", d.Run.ID, err, stderr)
	}
	return true
}

// checkMarks fails if an attempt was executed twice, or if a result that counts
// is not of its own execution.
func (c *campaign) checkMarks(d model.RunData) {
	c.t.Helper()
	text, err := os.ReadFile(c.marks)
	if err != nil {
		c.t.Fatal(err)
	}
	executed := make(map[string]int)
	for _, attempt := range strings.Fields(string(text)) {
		if executed[attempt]++; executed[attempt] > 1 {
			c.t.Errorf("attempt %s was executed %d times", attempt, executed[attempt])
		}
	}
	for _, r := range d.Accepted() {
		attempt := fmt.Sprintf("%s#%d", r.Task, r.Attempt)
		if said := strings.TrimSpace(r.Stdout.Text); said != attempt || executed[attempt] == 0 {
			c.t.Errorf("the result of %s says that it is of %q, and it was executed %d times", attempt, said, executed[attempt])
		}
	}
	if err := os.Remove(c.marks); err != nil {
		c.t.Fatal(err)
	}
}

// checkLeftovers ends everything and looks for what is left of it.
func (c *campaign) checkLeftovers() {
	c.stop()
	c.agents, c.server = nil, nil
	awaitNobody(c.t, c.dir)
	for _, kind := range []string{"tasks", "artifacts", "scratch"} {
		left, err := filepath.Glob(filepath.Join(c.dir, "agents", "*", kind, "*"))
		if err != nil || len(left) > 0 {
			c.t.Errorf("left of the agents' work: %v, %v", left, err)
		}
	}
}

// revive starts again what a fault has ended.
func (c *campaign) revive() {
	if ended(c.server) {
		c.startServer()
	}
	for name, a := range c.agents {
		if ended(a) {
			c.startAgent(name)
		}
	}
}

func ended(p *proc) bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (c *campaign) moment(most time.Duration) time.Duration {
	return time.Duration(c.rnd.Int64N(int64(most)))
}

// rest lets what is under way go on for a random time.
func (c *campaign) rest(most time.Duration) {
	time.Sleep(c.moment(most)) //nolint:forbidigo // the random moment
}

func (c *campaign) anyAgent() string { return fmt.Sprintf("n%d", 1+c.rnd.IntN(3)) }

func (c *campaign) pause(p *proc) {
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	c.rest(3 * time.Second)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
}

// fill leaves no room on a disk for a while.
func (c *campaign) fill(disk string) {
	filler := filepath.Join(disk, "filler")
	fill(c.t, filler)
	c.rest(3 * time.Second)
	if err := os.Remove(filler); err != nil {
		c.t.Error(err)
	}
}

// killCommand kills a command in the middle of what it does.
func (c *campaign) killCommand() {
	commands := [][]string{{"resume", "latest"}, {"export", "latest"}, {"show", "latest"}, {"nodes"}}
	p := c.start(commands[c.rnd.IntN(len(commands))]...)
	c.rest(time.Second)
	p.kill()
}

// killTask kills a shell that executes a task, if there is one at this moment.
func (c *campaign) killTask() {
	for _, line := range processesWith(c.t, c.marks) {
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
	l, err := net.Listen("tcp", servertest.FreeAddress(t))
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
