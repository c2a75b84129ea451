package peers

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/loadserver"
)

var (
	contestUsers = flag.String("bench-users", "", "numbers of users, with commas between them: compare the workload `users` with k6, as `make bench-users` does")
	think        = flag.Duration("think", 7*time.Second, "the mean think time of users")
)

// visit is what many users who think are asked for.
type visit struct {
	url         string
	users       int
	ramp, lasts time.Duration
}

// rampUsers is the time in which users come.
const rampUsers = 10 * time.Second

// TestUsers prints a table; `make bench-users` runs it. Both generators ask for
// the same page; ours reads it and follows one of its links, k6 throws it away.
func TestUsers(t *testing.T) {
	if *contestUsers == "" {
		t.Skip("takes minutes and a quiet machine; `make bench-users` runs it")
	}
	if runtime.NumCPU() <= max(serverCore, generatorCore) {
		t.Fatal("the server gets one processor and the generators another; this machine has one only")
	}
	need(t, "nginx", "scalebench", "k6", "taskset", "time")
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Fatal(err)
	}
	server := loadserver.StartNginx(t, path)
	pin(t, server.PID())
	page := strings.Repeat("<p>"+strings.Repeat("lorem ipsum ", 16)+"</p><a href=\"/home.html?id=1&amp;page=2\">on</a>\n", 80)
	if err := os.WriteFile(filepath.Join(server.Dir, "home.html"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("| users | generator | requests/s | X(R+Z)/N | p50 | p99 | lag p99 | processor | memory |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, text := range strings.Split(*contestUsers, ",") {
		users, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		v := visit{url: strings.TrimSuffix(server.URL(), "/"), users: users, ramp: rampUsers, lasts: *window}
		ours, theirs := v.ours(t), v.k6(t)
		fmt.Print(v.row("scalebench", ours), v.row("k6", theirs))
		fmt.Printf("| %d | ratio | %.2f | | %.2f | %.2f | | %.1f | %.1f |\n", users, theirs.rate()/ours.rate(), theirs.latencies[0]/ours.latencies[0],
			theirs.latencies[1]/ours.latencies[1], theirs.cpu.Seconds()/ours.cpu.Seconds(), float64(theirs.memory)/float64(ours.memory))
	}
}

// row is one of the table. Processor time is of the whole process, ramp and
// start included.
func (v visit) row(name string, o outcome) string {
	law := o.rate() * (o.latencies[0] + think.Seconds()) / float64(v.users) // R hardly counts
	lag := "–"
	if !math.IsNaN(o.lag) {
		lag = fmt.Sprintf("%.3f ms", o.lag*1e3)
	}
	return fmt.Sprintf("| %d | %s | %.0f | %.3f | %.3f ms | %.3f ms | %s | %.1f s | %.0f MB |\n",
		v.users, name, o.rate(), law, o.latencies[0]*1e3, o.latencies[1]*1e3, lag, o.cpu.Seconds(), float64(o.memory)/1e6)
}

// ours is the task that an agent starts for the workload `users`.
func (v visit) ours(t *testing.T) outcome {
	t.Helper()
	b := newBox(t)
	ended := execute(t, b, "users", map[string]any{
		"url": v.url, "users": v.users, "think": think.String(), "ramp_up": v.ramp.String(), "run": v.lasts.String(), "ramp_down": "0s", "loops": 1,
		"site": []map[string]any{{"name": "home", "path": "/home.html"}}, "transitions": "home\t.9\nEnd of Session\t.1\n",
	})
	came, err := session.Sum([]model.Result{ended.Result})
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, s := range ended.Samples {
		values[s.Key()] = s.Value
	}
	if values[session.MetricOK] != values[session.MetricDue]-values[session.MetricUnfinished] {
		t.Fatalf("not all went well: %v\n%s", values, ended.Stderr.Text)
	}
	o := unknown()
	o.took, o.cpu, o.memory = time.Duration(values[session.MetricScored]*1e9), ended.CPU, b.memory(t)
	o.answered = came.Throughput * o.took.Seconds()
	o.latencies[0], o.latencies[1], o.lag = seconds(came.Latencies.ValueAtPercentile(50)),
		seconds(came.Latencies.ValueAtPercentile(99)), values[session.MetricLag]/1e3
	for _, s := range ended.Samples {
		if s.Metric == load.MetricBusy {
			fmt.Fprintf(os.Stderr, "%d users: the loop was busy for %.3f of the time\n", v.users, s.Value)
		}
	}
	return o
}

// k6UsersScript lets users come as ours do, one after the other, and counts what
// they ask for when all are there.
const k6UsersScript = `import http from 'k6/http';
import exec from 'k6/execution';
import { sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';
const users = +__ENV.USERS, think = +__ENV.THINK, ramp = +__ENV.RAMP, lasts = +__ENV.LASTS;
const scored = new Counter('scored'), took = new Trend('took', true);
export const options = {
  discardResponseBodies: true,
  summaryTrendStats: ['p(50)', 'p(99)', 'p(99.9)'],
  scenarios: { load: { executor: 'constant-vus', vus: users, duration: (ramp + lasts) + 's', gracefulStop: '0s' } },
};
const wait = () => sleep(-think * Math.log(1 - Math.random()));
export default function () {
  if (__ITER === 0) {
    sleep(ramp * (exec.vu.idInTest - 1) / users);
    wait();
  }
  const r = http.get(__ENV.URL);
  if (exec.instance.currentTestRunDuration >= ramp * 1000) { scored.add(r.status === 200 ? 1 : 0); took.add(r.timings.duration); }
  wait();
}
export function handleSummary(data) { return { stdout: JSON.stringify(data) }; }
`

// k6 is the same with k6.
func (v visit) k6(t *testing.T) outcome {
	t.Helper()
	script := filepath.Join(t.TempDir(), "users.js")
	if err := os.WriteFile(script, []byte(k6UsersScript), 0o644); err != nil {
		t.Fatal(err)
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	x := tool{"k6", always, func(*testing.T, job) []string {
		return []string{"k6", "run", "--quiet", "--no-usage-report", "--env", "URL=" + v.url + "/home.html?id=1", "--env", "USERS=" + strconv.Itoa(v.users),
			"--env", "THINK=" + number(think.Seconds()), "--env", "RAMP=" + number(v.ramp.Seconds()), "--env", "LASTS=" + number(v.lasts.Seconds()), script}
	}, readK6Users}
	return x.run(t, job{window: v.lasts})
}
