//go:build proof

package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

// fleetTruth is what exactServer takes, in requests per second.
const fleetTruth = 1000

// startSkewAtMost is how far apart generators of one machine may begin. They
// begin within some ms; a busy machine may keep one from its processor.
const startSkewAtMost = 250 * time.Millisecond

// startFleet starts a server and so many agents.
func startFleet(t *testing.T, agents int, serverArgs ...string) *installation {
	t.Helper()
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := install(t, serverArgs...)
	w.StartServer()
	for i := 1; i <= agents; i++ {
		w.StartAgent(fmt.Sprintf("g%d", i))
	}
	w.AwaitNodes(agents)
	return w
}

// TestCapacityFleet: several agents offer the load of a search, and the test
// kills one in mid-search. Each window is the sum of its parts, which start
// close together; the search goes on with the other agents, and finds the
// capacity of the server.
func TestCapacityFleet(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	server := loadserver.Start(t, program.ExactServer)
	program.Calmly(t, func() error {
		w := startFleet(t, 3, "--lease", "3s")
		r, err := w.searchWithLoss(server.URL(), "g2")
		w.stopAll()
		if err != nil {
			return err
		}
		if err := checkParts(t, r); err != nil {
			return err
		}
		if err := checkLoss(r, "g2"); err != nil {
			return err
		}
		return checkFleetAnswer(t, r, .04)
	})
}

// stopAll ends server and agents before the test does.
func (w *installation) stopAll() {
	w.Stop()
	w.Agents, w.Server = make(map[string]*program.Process), nil
}

// searchWithLoss runs a search over all agents of the server, and kills one
// of them while a window is measured.
func (w *installation) searchWithLoss(url, victim string) (r capacity.Record, err error) {
	w.T.Helper()
	file := w.Write("fleet.yaml", fmt.Sprintf(`
fleet: {agents: {}}
evaluations: [search]
timeouts: {node: 1s}
workloads:
  - {kind: load, target: %q, sla: p90=15ms, duration: 1s, warm_up: 0s, start: 600op/s, max: 2000op/s}
`, url))
	p := w.startCapturing("run", file, "--format", "json")
	w.AwaitRun("newest", "in its third window", func(d model.RunData) bool {
		return program.IsOver(d) || len(d.Steps) >= 3 && !d.Steps[2].StartAt.IsZero()
	})
	w.Agents[victim].Kill()
	delete(w.Agents, victim)
	return p.record(0)
}

// checkLoss: the result says who was lost, and later windows are of the others.
func checkLoss(r capacity.Record, victim string) error {
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "generator "+victim+" did not come back") {
		return fmt.Errorf("no warning names %s: %q", victim, r.Warnings)
	}
	first, last := r.Windows[0].Parts, r.Windows[len(r.Windows)-1].Parts
	if len(first) != 3 || len(last) != 2 {
		return fmt.Errorf("%d generators in the first window, %d in the last, want 3 and 2", len(first), len(last))
	}
	for _, p := range last {
		if string(p.Node) == victim {
			return fmt.Errorf("%s was killed and took part in the last window", victim)
		}
	}
	return nil
}

// checkFleetAnswer: the estimate is within a share of the truth.
func checkFleetAnswer(t *testing.T, r capacity.Record, within float64) error {
	t.Helper()
	if r.Limit != capacity.LimitTarget || r.Estimate == nil {
		return fmt.Errorf("limit %s, estimate %v, warnings %q", r.Limit, r.Estimate, r.Warnings)
	}
	t.Logf("%d generators: passed %.1f, failed %.1f, estimate %.1f %v, %d windows", len(r.Windows[0].Parts), *r.Passed, *r.Failed, *r.Estimate, *r.CI, len(r.Windows))
	if math.Abs(*r.Estimate-fleetTruth) > within*fleetTruth {
		return fmt.Errorf("estimate %.1f, want %d within %g %%", *r.Estimate, fleetTruth, 100*within)
	}
	return nil
}

// checkParts: windows are the sums of what their generators did: operations
// due, answers, rates, and what the merged histogram holds. It says how far
// apart the generators began.
func checkParts(t *testing.T, r capacity.Record) error {
	t.Helper()
	worst := 0.0
	for i, w := range r.Windows {
		var due, ok, answered int64
		rate := 0.0
		for _, p := range w.Parts {
			due, ok, answered, rate = due+p.Due, ok+p.OK, answered+p.Answered, rate+p.Achieved
		}
		if due != w.Due || ok != w.OK || answered != w.Answered || w.Answered != w.OK || math.Abs(rate-w.Achieved) > 1e-6*rate {
			t.Errorf("window %d: due %d, ok %d, in the histogram %d, rate %g; its parts have %d, %d, %d, %g",
				i+1, w.Due, w.OK, w.Answered, w.Achieved, due, ok, answered, rate)
		}
		if want := w.Load * w.Scored; math.Abs(float64(w.Due)-want) > float64(len(w.Parts)) {
			t.Errorf("window %d: %d due, want %.1f", i+1, w.Due, want)
		}
		worst = max(worst, w.StartSkew)
	}
	t.Logf("start skew at most %.2f ms", worst)
	if worst <= 0 || worst > float64(startSkewAtMost.Milliseconds()) {
		return fmt.Errorf("generators began %.2f ms apart, want more than nothing and at most %v", worst, startSkewAtMost)
	}
	return nil
}

// TestCapacityFleetSame: one command, with one, two and four agents: the same
// answer within 3 %.
func TestCapacityFleetSame(t *testing.T) {
	parts.Begin(t)
	server := loadserver.Start(t, program.ExactServer)
	var estimates []float64
	for _, agents := range []int{1, 2, 4} {
		w := startFleet(t, agents)
		program.Calmly(t, func() error {
			r, err := w.Capacity(0, server.URL(), append([]string{"--agents", "all"}, shortWindows...)...)
			if err != nil {
				return err
			}
			if agents > 1 {
				err = checkParts(t, r)
			}
			if err == nil {
				err = checkFleetAnswer(t, r, .03)
			}
			if err == nil {
				estimates = append(estimates, *r.Estimate)
			}
			return err
		})
		w.stopAll()
	}
	for _, e := range estimates {
		if math.Abs(e-estimates[0]) > .03*estimates[0] {
			t.Errorf("estimates %.1f, want them within 3 %% of each other", estimates)
		}
	}
}

// capturing is a process with its standard output kept.
type capturing struct {
	*program.Process
	out *bytes.Buffer
}

// startCapturing is start that keeps the output.
func (w *installation) startCapturing(args ...string) capturing {
	w.T.Helper()
	p := &program.Process{Cmd: exec.Command(w.Bin, args...), Ended: make(chan struct{}), Lines: make(chan string, 1000)}
	out := &bytes.Buffer{}
	p.Cmd.Stdout = out
	w.Launch(p)
	return capturing{p, out}
}

// record waits for the end, with this exit code, and returns the search that was
// printed.
func (c capturing) record(code int) (r capacity.Record, err error) {
	<-c.Ended
	if got := c.Cmd.ProcessState.ExitCode(); got != code {
		return r, fmt.Errorf("%v: exit code %d, want %d\n%s", c.Cmd.Args, got, code, c.Log())
	}
	return r, json.Unmarshal(c.out.Bytes(), &r)
}
