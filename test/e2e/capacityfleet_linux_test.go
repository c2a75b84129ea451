package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/skip"
)

// fleetTruth is what exactServer takes, in requests per second.
const fleetTruth = 1000

// startSkewAtMost is how far apart generators of one machine may begin. They
// begin within some ms; a busy machine may keep one from its processor.
const startSkewAtMost = 250 * time.Millisecond

// startFleet starts a server and so many agents.
func startFleet(t *testing.T, agents int, serverArgs ...string) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t, serverArgs...)
	w.startServer()
	for i := 1; i <= agents; i++ {
		w.startAgent(fmt.Sprintf("g%d", i))
	}
	w.awaitNodes(agents)
	return w
}

// TestCapacityFleet: several agents offer the load of a search, and the test
// kills one in mid-search. Each window is the sum of its parts, which start
// close together; the search goes on with the other agents, and finds the
// capacity of the server.
func TestCapacityFleet(t *testing.T) {
	skip.UnlessLong(t)
	server := loadserver.Start(t, exactServer)
	calmly(t, func() error {
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
func (w *world) stopAll() {
	w.stop()
	w.agents, w.server = make(map[string]*proc), nil
}

// searchWithLoss runs a search over all agents of the server, and kills one
// of them while a window is measured.
func (w *world) searchWithLoss(url, victim string) (r capacity.Record, err error) {
	w.t.Helper()
	file := w.write("fleet.yaml", fmt.Sprintf(`
fleet: {agents: {}}
evaluations: [search]
timeouts: {node: 1s}
workloads:
  - {kind: load, target: %q, sla: p90=15ms, duration: 1s, warm_up: 0s, start: 600op/s, max: 2000op/s}
`, url))
	p := w.startCapturing("run", file, "--format", "json")
	w.awaitRun("newest", "in its third window", func(d model.RunData) bool {
		return isOver(d) || len(d.Steps) >= 3 && !d.Steps[2].StartAt.IsZero()
	})
	w.agents[victim].kill()
	delete(w.agents, victim)
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
	if !*loadProof {
		t.Skip("takes three minutes; `make load-proof` runs it")
	}
	server := loadserver.Start(t, exactServer)
	var estimates []float64
	for _, agents := range []int{1, 2, 4} {
		w := startFleet(t, agents)
		calmly(t, func() error {
			r, err := w.capacity(0, server.URL(), append([]string{"--agents", "all"}, shortWindows...)...)
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

// searchFile runs a search of an experiment file; another exit code than this
// is an error.
func (w *world) searchFile(code int, text string) (r capacity.Record, stderr string, err error) {
	w.t.Helper()
	out, stderr, err := w.try("run", w.write("search.yaml", text), "--format", "json")
	got, exit := 0, (*exec.ExitError)(nil)
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		return r, stderr, fmt.Errorf("run: exit code %d, want %d: %w\n%s%s", got, code, err, out, stderr)
	}
	return r, stderr, json.Unmarshal([]byte(out), &r)
}

// capturing is a process with its standard output kept.
type capturing struct {
	*proc
	out *bytes.Buffer
}

// startCapturing is start that keeps the output.
func (w *world) startCapturing(args ...string) capturing {
	w.t.Helper()
	p := &proc{cmd: exec.Command(w.bin, args...), ended: make(chan struct{}), lines: make(chan string, 1000)}
	out := &bytes.Buffer{}
	p.cmd.Stdout = out
	w.launch(p)
	return capturing{p, out}
}

// record waits for the end, with this exit code, and returns the search that was
// printed.
func (c capturing) record(code int) (r capacity.Record, err error) {
	<-c.ended
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		return r, fmt.Errorf("%v: exit code %d, want %d\n%s", c.cmd.Args, got, code, c.log())
	}
	return r, json.Unmarshal(c.out.Bytes(), &r)
}
