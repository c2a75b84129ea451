package measured_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
)

// TestClosedLoop: users who think for exponential times, two generators having
// half of them each, in an experiment file. By the interactive response time
// law (Denning and Buzen, The Operational Analysis of Queueing Network Models,
// ACM Computing Surveys 10(3), 1978) the throughput is N/(Z+R): with a server
// that is never busy, R is its service time; with one that is, the throughput
// is its capacity, and R what the law leaves.
func TestClosedLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	idle := loadserver.Start(t, loadserver.Behaviour{Service: program.ExactServer.Service})
	busy := loadserver.Start(t,
		loadserver.Behaviour{Workers: program.ExactServer.Workers, Service: program.ExactServer.Service})
	program.Calmly(t, func() error {
		w := program.Install(t)
		w.Run("run", w.Write("closed.yaml", fmt.Sprintf(`
fleet: {local: {nodes: 2}}
evaluations: [parallel]
workloads:
  - {kind: load, name: idle, target: %q, users: %d, think: 200ms, duration: 3s, warm_up: 1s}
  - {kind: load, name: busy, target: %q, users: %d, think: 200ms, duration: 3s, warm_up: 1s}
`, idle.URL(), closedUsers, busy.URL(), closedUsers)))
		d := w.Data("latest")
		program.CheckComplete(t, d)
		service, capacity := program.ExactServer.Service.Seconds(), program.ExactServer.Capacity()
		if err := checkLoop(t, d, "idle", closedUsers/(closedThink+service), service); err != nil {
			return err
		}
		return checkLoop(t, d, "busy", capacity, closedUsers/capacity-closedThink)
	})
}

// The closed loop of the test: users, and the mean time, in seconds, that they
// think. In three seconds they come round about 3,000 times at least, so that
// the mean of their thinking is known to 2 %.
const (
	closedUsers = 400
	closedThink = .2
)

// checkLoop compares throughput and mean response time of a workload, of all
// generators together, with the arithmetic, and both with the law.
func checkLoop(t *testing.T, d model.RunData, workload string, rate, response float64) error {
	t.Helper()
	gotRate, gotResponse, generators := closedLoop(t, d, workload)
	users := gotRate * (closedThink + gotResponse)
	t.Logf("%s: %.0f/s and %.1f ms from %d generators; by arithmetic %.0f/s and %.1f ms; by the law these are %.0f users of %d",
		workload, gotRate, 1000*gotResponse, generators, rate, 1000*response, users, closedUsers)
	switch {
	case generators != 2:
		return fmt.Errorf("%s: %d generators took part, want 2", workload, generators)
	case math.Abs(gotRate-rate) > .05*rate:
		return fmt.Errorf("%s: throughput %.0f/s, want %.0f/s within 5 %%", workload, gotRate, rate)
	case math.Abs(gotResponse-response) > .1*response+.001:
		return fmt.Errorf("%s: mean response %.1f ms, want %.1f ms within 10 %%", workload, 1000*gotResponse, 1000*response)
	case math.Abs(users-closedUsers) > .05*closedUsers:
		return fmt.Errorf("%s: X·(Z+R) = %.0f, want %d users within 5 %%", workload, users, closedUsers)
	}
	return nil
}

// closedLoop adds up what the generators of a workload measured: operations per
// second, and the mean time in seconds that one took.
func closedLoop(t *testing.T, d model.RunData, workload string) (rate, response float64, generators int) {
	t.Helper()
	steps := make(map[model.StepID]bool)
	for _, s := range d.Steps {
		steps[s.ID] = s.Workload == workload
	}
	var count, sum float64
	for _, r := range d.Accepted() {
		if !steps[r.Step] {
			continue
		}
		s, err := load.ReadSummary(r)
		if err != nil {
			t.Fatal(err)
		}
		total, err := s.Total()
		if err != nil {
			t.Fatal(err)
		}
		if total.OK != total.Due || total.OK == 0 {
			t.Errorf("%s on %s: %d of %d operations were answered", workload, r.Node, total.OK, total.Due)
		}
		generators++
		rate += float64(total.OK) / s.Scored.Seconds()
		count += float64(total.Latency.TotalCount())
		sum += total.Latency.Mean() / 1e9 * float64(total.Latency.TotalCount())
	}
	return rate, sum / max(count, 1), generators
}
