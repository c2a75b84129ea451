package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/program"
)

// BenchmarkRealAgents runs parallel steps on 10 agent processes: how exactly
// they start together, and what they weigh. Run it on a quiet machine:
//
//	go test ./test/e2e -run '^$' -bench RealAgents -benchtime 20x
func BenchmarkRealAgents(b *testing.B) {
	// Sleeping leaves the cores free, so that the skew is the barrier's own;
	// computing takes them all at once, so that late starters wait for a core.
	b.Run("sleeping", func(b *testing.B) { benchReal(b, `{kind: command, command: "sleep 0.2"}`) })
	b.Run("computing", func(b *testing.B) { benchReal(b, `{kind: cpu, threads: 1, duration: 200ms}`) })
}

func benchReal(b *testing.B, workload string) {
	const agents = 10
	w := benchWorld(b)
	for i := range agents {
		w.StartAgent(fmt.Sprintf("n%02d", i))
	}
	file := w.Write("steps.yaml", fmt.Sprintf(`
name: steps
fleet: {agents: {count: %d}}
workloads: [%s]
evaluations: [parallel]
trials: %d
timeouts: {node: 1m}
`, agents, workload, b.N))
	b.ResetTimer()
	id := strings.TrimSpace(w.Run("run", file, "--detach"))
	d := w.awaitQuietly(id)
	b.StopTimer()
	reportSteps(b, d)
	b.ReportMetric(residentMB(b, w.Server.Cmd.Process.Pid, "VmRSS:"), "server-MB")
	var mem, own float64
	var pids []int
	for _, a := range w.Agents {
		mem = max(mem, residentMB(b, a.Cmd.Process.Pid, "VmRSS:"))
		own = max(own, residentMB(b, a.Cmd.Process.Pid, "RssAnon:"))
		pids = append(pids, a.Cmd.Process.Pid)
	}
	b.ReportMetric(mem, "agent-MB")
	b.ReportMetric(own, "agent-own-MB") // without the program file, which all share
	b.ReportMetric(idleShare(b, pids, 10*time.Second), "idle-agent-%core")
}

// BenchmarkSimulatedAgents dispatches one parallel step to many agents that
// do no work, in one process: what the server, the queue and the store can do.
func BenchmarkSimulatedAgents(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchSimulated(b, n) })
	}
}

func benchSimulated(b *testing.B, n int) {
	w := benchWorld(b)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	joinSimulated(ctx, b, w, n, &wg)
	file := w.Write("once.yaml", fmt.Sprintf(`
name: once
fleet: {agents: {count: %d}}
workloads: [{kind: cpu, threads: 1, duration: 1s}]
evaluations: [parallel]
trials: %d
timeouts: {node: 1m}
`, n, b.N))
	server, agents := []int{w.Server.Cmd.Process.Pid}, []int{os.Getpid()}
	before := [2]int{cpuTicks(b, server), cpuTicks(b, agents)}
	b.ResetTimer()
	id := strings.TrimSpace(w.Run("run", file, "--detach"))
	d := w.awaitQuietly(id)
	b.StopTimer()
	checkCounts(b, d, n*b.N)
	reportSteps(b, d)
	// Processor time, which neighbours on the machine change less than time.
	b.ReportMetric(float64(cpuTicks(b, server)-before[0])*1000/ticksPerSecond/float64(b.N), "server-cpu-ms/step")
	b.ReportMetric(float64(cpuTicks(b, agents)-before[1])*1000/ticksPerSecond/float64(b.N), "agents-cpu-ms/step")
	b.ReportMetric(residentMB(b, w.Server.Cmd.Process.Pid, "VmRSS:"), "server-MB")
}

func benchWorld(b *testing.B) *installation {
	b.Helper()
	w := install(b)
	w.StartServer()
	return w
}

// awaitQuietly waits for a run's end without asking for its data over and
// over, which would load the server that is being measured.
func (w *installation) awaitQuietly(run string) model.RunData {
	w.T.Helper()
	for {
		if !strings.Contains(w.Run("runs", "--limit", "1", "--format", "csv"), ",running,") {
			return w.AwaitRun(run, "over", program.IsOver)
		}
		time.Sleep(500 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

func checkCounts(b *testing.B, d model.RunData, want int) {
	b.Helper()
	if got := len(d.Accepted()); d.Run.State != model.RunDone || got != want {
		b.Fatalf("run is %s (%s) with %d results, want done with %d", d.Run.State, d.Run.Reason, got, want)
	}
}

// joinSimulated makes n agents that answer like real ones but do nothing.
func joinSimulated(ctx context.Context, b *testing.B, w *installation, n int, wg *sync.WaitGroup) {
	b.Helper()
	raw := strings.TrimSpace(w.Run("token", "--uses", strconv.Itoa(n)))
	tok, err := identity.ParseToken(raw)
	if err != nil {
		b.Fatal(err)
	}
	joined := make(chan error, n)
	limit := make(chan struct{}, 32)
	for i := range n {
		wg.Go(func() {
			limit <- struct{}{}
			s, err := newSimulated(ctx, tok, model.NodeID(fmt.Sprintf("sim-%04d", i)))
			<-limit
			joined <- err
			if err == nil {
				s.serve(ctx)
			}
		})
	}
	for range n {
		if err := <-joined; err != nil {
			b.Fatal(err)
		}
	}
}

// simulated is an agent without a journal and without work.
type simulated struct {
	node    model.NodeID
	link    *queue.Link
	running atomic.Pointer[wire.Attempt]
}

func newSimulated(ctx context.Context, tok identity.Token, node model.NodeID) (*simulated, error) {
	key, err := identity.New(identity.RoleAgent)
	if err != nil {
		return nil, err
	}
	info, err := queue.Join(ctx, tok, key, node)
	if err != nil {
		return nil, err
	}
	link, err := queue.DialAgent(ctx, info, key, node, queue.DialOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	s := &simulated{node: node, link: link}
	_, err = link.Hello(ctx, wire.Hello{Session: "s", Node: model.Node{ID: node, PublicKey: key.Public()}})
	return s, err
}

func (s *simulated) serve(ctx context.Context) {
	defer s.link.Close() //nolint:errcheck // the benchmark is over
	go s.beat(ctx)
	done := make(map[wire.Attempt]bool) // as an agent's journal
	for {
		d, err := s.link.Next(ctx)
		if err != nil {
			return
		}
		at := wire.Attempt{Task: d.Assignment.Task, Attempt: d.Assignment.Attempt}
		if done[at] {
			continue
		}
		done[at] = true
		s.running.Store(&at)
		if err := s.perform(ctx, d.Assignment); err != nil && !errors.Is(err, context.Canceled) {
			slog.Error("simulated agent", "node", s.node, "err", err)
		}
		s.running.Store(nil)
	}
}

func (s *simulated) beat(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = s.link.Heartbeat(wire.Heartbeat{Node: s.node, Session: "s", Running: s.running.Load()})
		}
	}
}

func (s *simulated) perform(ctx context.Context, as wire.Assignment) error {
	offset, bound, err := s.link.Clock(ctx)
	if err != nil {
		return err
	}
	at := wire.Attempt{Task: as.Task, Attempt: as.Attempt}
	reply, err := s.link.Ready(ctx, wire.Ready{Node: s.node, Attempt: at, ClockOffset: offset, ClockError: bound})
	if err != nil {
		return err
	}
	start := reply.At
	for start.IsZero() {
		select {
		case o := <-s.link.Orders():
			if o.Step == as.Step && o.Attempt == as.Attempt {
				start = o.At
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	time.Sleep(time.Until(start.Add(-offset))) //nolint:forbidigo // the agreed start
	now := time.Now().Add(offset).UTC()
	r := model.Result{Run: as.Run, Step: as.Step, Task: as.Task, Attempt: as.Attempt, Node: s.node,
		Outcome: model.OutcomeOK, Started: now, Ended: now, ClockOffset: offset, ClockError: bound,
		Samples: []model.Sample{{Metric: "cpu_rate", Unit: "op/s", Value: 1, Better: model.Higher}}}
	_, err = s.link.Result(ctx, r)
	return err
}

// reportSteps reports the medians over the run's steps. Times of the master
// come from its events, those of the tasks from the results.
func reportSteps(b *testing.B, d model.RunData) {
	b.Helper()
	starts := make(map[model.StepID][]time.Time)
	for _, r := range d.Accepted() {
		starts[r.Step] = append(starts[r.Step], r.Started)
	}
	began, last := stepTimes(d)
	var skew, toStart, toStored []float64
	for _, s := range d.Steps {
		first, latest := slices.MinFunc(starts[s.ID], time.Time.Compare), slices.MaxFunc(starts[s.ID], time.Time.Compare)
		skew = append(skew, ms(latest.Sub(first)))
		toStart = append(toStart, ms(first.Sub(began[s.ID])))
		toStored = append(toStored, ms(last[s.ID].Sub(began[s.ID])))
	}
	b.ReportMetric(median(skew), "skew-ms")
	b.ReportMetric(median(toStart), "submit-to-start-ms")
	b.ReportMetric(median(toStored), "submit-to-stored-ms")
}

// stepTimes is when each step was begun and when it ended: all its results
// stored.
func stepTimes(d model.RunData) (began, ended map[model.StepID]time.Time) {
	began, ended = make(map[model.StepID]time.Time), make(map[model.StepID]time.Time)
	for _, ev := range d.Events {
		switch ev.Kind {
		case model.EventStepStarted:
			began[ev.Step] = ev.Time
		case model.EventStepEnded:
			ended[ev.Step] = ev.Time
		}
	}
	return began, ended
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// residentMB is a line of a process's memory statistics, in 10^6 bytes.
func residentMB(b *testing.B, pid int, field string) float64 {
	b.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb * 1024 / 1e6
		}
	}
	b.Fatalf("no %s for %d", field, pid)
	return 0
}

// idleShare is the mean share of one core that these processes use while they
// have nothing to do, in percent.
func idleShare(b *testing.B, pids []int, over time.Duration) float64 {
	b.Helper()
	before := cpuTicks(b, pids)
	time.Sleep(over) //nolint:forbidigo // the time over which idleness is measured
	used := float64(cpuTicks(b, pids)-before) / ticksPerSecond
	return 100 * used / over.Seconds() / float64(len(pids))
}

// ticksPerSecond is the unit of processor time in /proc, on all of Linux.
const ticksPerSecond = 100

func cpuTicks(b *testing.B, pids []int) int {
	b.Helper()
	sum := 0
	for _, pid := range pids {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			b.Fatal(err)
		}
		// Fields 14 and 15, counted after the command's name in parentheses.
		f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
		for _, i := range []int{11, 12} {
			n, err := strconv.Atoi(f[i])
			if err != nil {
				b.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
