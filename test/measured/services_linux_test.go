package measured_test

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestServiceSteps: a limit that changes in mid-run changes what the service does:
// by arithmetic, half as fast with half of the processor.
func TestServiceSteps(t *testing.T) {
	program.NeedLab(t)
	workloadtest.NeedTool(t, "python3")
	w := program.Install(t)
	_, stderr, err := w.Try("run", w.Write("steps.yaml", `
fleet: {lab: {groups: [{name: users, nodes: 1}, {name: app, nodes: 1, cpu: 0.5}]}}
services:
  - name: app
    on: {group: app}
    limits: {cpu: 0.2}
    steps: [{at: 3s, cpu: 0.4}]
    command: |
      exec python3 -u -c '
      import time
      while True:
          t = time.process_time()
          while time.process_time() - t < 0.01: pass
          print(time.time(), flush=True)
      '
workloads: [{kind: command, on: {group: users}, command: sleep 5}]
evaluations: [parallel]
`))
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	d := w.Data("latest")
	app := program.ResultOn(t, d, "lab-app-1")
	var units []float64 // when each was done, in seconds after the start
	for line := range strings.Lines(app.Stdout.Text) {
		if at, ok := printedAt(line); ok {
			units = append(units, at.Sub(app.Started.Add(-app.ClockOffset)).Seconds())
		}
	}
	// Units of 10 ms: 0.2 cores do 20 a second, 0.4 cores 40. Python itself starts with
	// the processor of its service, and so takes a while: the rate is that between two
	// units, not that of a stretch of time.
	before, after := rateBetween(units, 0.5, 2.9), rateBetween(units, 3.4, 4.9)
	others := slices.IndexFunc(app.Samples, func(s model.Sample) bool { return s.Metric == model.MetricOtherCPU })
	busy := others >= 0 && app.Samples[others].Value > 0.8*float64(runtime.NumCPU())
	if !(before <= 23 && after <= 44) || !busy && (before < 15 || after < 32) { // with others on the machine it may get less
		t.Errorf("%.1f units a second with 0.2 cores, %.1f with 0.4; want 20 and 40", before, after)
	}
	i := slices.IndexFunc(app.Host, func(h model.HostSeries) bool { return h.Metric == "app:quota" })
	if i < 0 || app.Host[i].Values[0] != 0.2 || app.Host[i].Values[len(app.Host[i].Values)-1] != 0.4 {
		t.Errorf("the recorded limits are no 0.2 and then 0.4 cores")
	}
	i = slices.IndexFunc(app.Stages, func(s model.Stage) bool { return s.Name == "limit" })
	if i < 0 || app.Stages[i].Note != "cpu 0.4 cores" || (time.Duration(app.Stages[i].Started)-3*time.Second).Abs() > 300*time.Millisecond {
		t.Errorf("stages %+v, want the change of the limit after 3 s", app.Stages)
	}
}

// rateBetween is how many of these times follow one another in a second, between from
// and to; NaN for fewer than two.
func rateBetween(times []float64, from, to float64) float64 {
	first, _ := slices.BinarySearch(times, from)
	last, _ := slices.BinarySearch(times, to)
	if last-first < 2 {
		return math.NaN()
	}
	return float64(last-1-first) / (times[last-1] - times[first])
}

// printedAt reads a line of a service with a time of the wall clock.
func printedAt(line string) (time.Time, bool) {
	_, text, _ := strings.Cut(line, "| ")
	d, err := time.ParseDuration(strings.TrimSpace(text) + "s")
	return time.Unix(0, int64(d)), err == nil
}
