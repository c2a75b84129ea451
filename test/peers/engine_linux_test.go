package peers

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/runner"
)

// engine is our own generator: the task that an agent starts for the workload
// `load`, with the handshakes that it makes beside the load.
type engine struct{ spin bool }

func (e engine) title() string {
	if e.spin {
		return "scalebench-spin"
	}
	return "scalebench"
}

func (e engine) offers(float64) bool { return true }

func (e engine) run(t *testing.T, j job) outcome {
	t.Helper()
	o, _ := e.runTask(t, j)
	return o
}

// runTask returns the summary besides.
func (e engine) runTask(t *testing.T, j job) (outcome, load.Summary) {
	t.Helper()
	b := newBox(t)
	ended := execute(t, b, "load", e.params(j))
	s, err := load.ReadSummary(ended.Result)
	if err != nil {
		t.Fatal(err)
	}
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	if total.OK == 0 {
		t.Fatalf("no answer: %+v\n%s", total.Counts, ended.Stderr.Text)
	}
	o := unknown()
	o.answered, o.took, o.cpu, o.memory = float64(total.OK), s.Scored, ended.CPU, b.memory(t)
	for i, p := range percentiles {
		o.latencies[i] = seconds(total.Latency.ValueAtPercentile(p))
	}
	if j.rate > 0 { // otherwise nothing is due before there is a connection for it
		o.lag = seconds(s.Lag.ValueAtPercentile(99.9))
	}
	return o, s
}

// seconds is what a histogram has in ns.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// execute runs the task as an agent does.
func execute(t *testing.T, b box, kind string, params map[string]any) runner.Outcome {
	t.Helper()
	binary, err := exec.LookPath("scalebench")
	if err != nil {
		t.Fatal(err)
	}
	p, err := runner.Start(t.Context(), runner.Config{
		Command: b.command(binary, "run-workload"),
		Task:    "bench-load", Node: "generator",
		Spec: model.Spec{Workload: kind, Kind: kind, Params: params, Timeout: 10 * time.Minute, Parts: 1},
		Dir:  t.TempDir(), Environ: os.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-p.Ready(); err != nil {
		p.Wait()
		t.Fatal(err)
	}
	if err := p.Begin(time.Now()); err != nil {
		p.Wait()
		t.Fatal(err)
	}
	o := p.Wait()
	if o.Outcome != model.OutcomeOK {
		t.Fatalf("the task ended as %s: %s\n%s", o.Outcome, o.Error, o.Stderr.Text)
	}
	return o
}

// params have the warming up of the job: none beside the others, who have none.
func (e engine) params(j job) map[string]any {
	p := map[string]any{"spin": e.spin, "target": j.url, "duration": j.window.String(), "warm_up": j.warmUp.String(), "connections": connections}
	if j.rate == 0 {
		p["users"] = connections
	} else {
		p["rate"] = fmt.Sprintf("%gop/s", j.rate)
	}
	return p
}
