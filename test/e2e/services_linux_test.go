package e2e_test

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// stageNames are the stages of a service in a result, those that failed with "!".
func stageNames(r model.Result, service string) (out []string) {
	for _, s := range r.Stages {
		if s.Service == service {
			name := s.Name
			if s.Error != "" {
				name += "!"
			}
			out = append(out, name)
		}
	}
	return out
}

// TestServices: tiers on the nodes of a lab, two of them on one node, are started
// in order for each trial, find each other, and are gone afterwards.
func TestServices(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	workloadtest.NeedTool(t, "python3")
	w := install(t)
	if err := os.Mkdir(filepath.Join(w.Dir, "loaded"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.Write("loaded/row", "42\n")
	_, stderr, err := w.Try("run", w.Write("tiers.yaml", `
fleet: {lab: {groups: [{name: users, nodes: 1}, {name: web, nodes: 2}, {name: db, nodes: 1, cpu: 1, link: 100Mbit/s}]}}
services:
  - name: web
    on: {group: web}
    count: 2
    after: [db]
    port: 8080
    files: [{path: www/db, template: "{{range .Service.db}}{{.Address}}:{{.Port}} {{end}}{{.Self.Index}} of {{len .Service.web}}"}]
    command: cd www && exec python3 -u -m http.server --bind ${self} 8080
    healthy: {http: "http://${self}:8080/db"}
    warm: {command: "python3 -c \"import urllib.request as u; open('row','wb').write(u.urlopen('http://${service.db}:7000/row').read())\""}
    keep: [row]
  - {name: side, on: {group: web}, command: "exec sleep 600"}
  - name: db
    on: {group: db}
    port: 7000
    reset: {from: `+w.Dir+`/loaded}
    command: cd data && exec python3 -u -m http.server --bind $SCALEBENCH_ADDRESS 7000
    limits: {cpu: 0.5, memory: 256MiB}
workloads:
  - kind: command
    on: {group: users}
    command: |
      python3 -c "
      import urllib.request as u
      for a in '${service.web[*]}'.split(','): print(u.urlopen('http://'+a+':8080/db').read().decode())"
evaluations: [parallel]
trials: 2
`))
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	d := w.Data("latest")
	program.CheckComplete(t, d)
	if len(d.Steps) != 2 {
		t.Fatalf("%d steps, want one a trial", len(d.Steps))
	}
	nodes := make(map[string][]model.NodeID)
	for name, s := range d.Steps[0].Services {
		nodes[name] = s.Nodes
	}
	want := map[string][]model.NodeID{"web": {"lab-web-1", "lab-web-2"}, "side": {"lab-web-1"}, "db": {"lab-db-1"}}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("services ran on (-want +got):\n%s", diff)
	}
	if got := resultOn(t, d,
		"lab-users-1").Stdout.Text; got != "10.213.3.1:7000 0 of 2\n10.213.3.1:7000 1 of 2\n" {
		t.Errorf("what the tiers know of each other: %q", got)
	}
	if diff := cmp.Diff(map[model.NodeID]model.Link{"lab-db-1": {Out: 12.5e6, In: 12.5e6}}, d.Steps[0].Links); diff != "" {
		t.Errorf("links of the step (-want +got):\n%s", diff)
	}
	for _, signal := range []string{"db:link", "db:link_in"} { // as the kernel has them
		i := slices.IndexFunc(resultOn(t, d, "lab-db-1").Host,
			func(h model.HostSeries) bool { return h.Metric == signal })
		if i < 0 || slices.Max(resultOn(t, d, "lab-db-1").Host[i].Values) != 12.5e6 {
			t.Errorf("%s is not 12.5 MB/s", signal)
		}
	}
	web := resultOn(t, d, "lab-web-1")
	if got := strings.Join(stageNames(web, "web"), " "); got != "set_up await start healthy warm run collect stop collect" {
		t.Errorf("stages of web: %s", got)
	}
	if got := strings.Join(stageNames(web, "side"), " "); got != "set_up start healthy run collect stop" {
		t.Errorf("stages of side: %s", got)
	}
	for _, s := range web.Stages {
		if s.Ended < s.Started || (s.Name == "warm") != (s.Ended < 0 && s.Name == "warm") {
			t.Errorf("stage %+v has no time before the start of what is measured", s)
		}
	}
	if out := w.Run("logs", "latest", "--files", filepath.Join(w.Dir, "kept")); strings.Count(out, "\n") != 4 {
		t.Errorf("kept files %q, want one of each instance and trial", out)
	}
	if kept, _ := filepath.Glob(filepath.Join(w.Dir, "kept", "*", "web-1-row")); len(kept) != 2 {
		t.Errorf("kept %q", kept)
	} else if text, _ := os.ReadFile(kept[0]); string(text) != "42\n" {
		t.Errorf("%s holds %q, want what came from db", kept[0], text)
	}
	if out := w.Run("show", "latest"); !strings.Contains(out, "Stages") || !strings.Contains(out, "set up") ||
		!strings.Contains(out, "analyse") {
		t.Errorf("show has no stages, or not all:\n%s", out)
	}
	program.CheckNothing(t, program.LabName(t, stderr))
	program.AwaitNobody(t, w.Dir)
}

// TestServiceDies: what ends in mid-run calls its step off, says why, and what was
// measured is kept.
func TestServiceDies(t *testing.T) {
	t.Parallel()
	w := install(t)
	_, stderr, err := w.Try("run", w.Write("dies.yaml", `
fleet: {local: {nodes: 2}}
services: [{name: db, on: {fleet: local},
  command: "while [ ! -e `+w.Dir+`/die ]; do sleep 0.05; done; echo out of cheese; exit 3"}]
workloads:
  - kind: command
    command: "for i in 1 2 3 4 5 6 7 8; do echo done $i; sleep 0.25; done; touch `+w.Dir+`/die; sleep 60"
    progress: {unit: op, regex: 'done (\d+)', metric: n}
    metrics: [{name: n, regex: 'done (\d+)'}]
evaluations: [parallel]
`))
	const why = "service db[0] ended in mid-run: exit status 3; it last printed: out of cheese"
	if err == nil || !strings.Contains(stderr, why) {
		t.Errorf("run = %v, stderr %q, want why", err, stderr)
	}
	d := w.Data("latest")
	if d.Run.State != model.RunIncomplete || !strings.Contains(d.Run.Reason, why) {
		t.Errorf("run is %s: %s", d.Run.State, d.Run.Reason)
	}
	db, users := resultOn(t, d, "local-1"), resultOn(t, d, "local-2")
	if got := strings.Join(stageNames(db, "db"), " "); db.Outcome != model.OutcomeFailed || got != "set_up start healthy run! collect stop" {
		t.Errorf("the service's task: %s, stages %s; want run to have failed", db.Outcome, got)
	}
	if users.Outcome != model.OutcomeCancelled || len(users.Series) != 1 || len(users.Series[0].Values) < 5 {
		t.Errorf("what was measured: %s, %v; want what was until then", users.Outcome, users.Series)
	}
	program.AwaitNobody(t, w.Dir)
}

// TestServicesAfterKill: a server that is killed in mid-trial goes on, on agents
// that were there before; nothing of the first trial is left.
func TestServicesAfterKill(t *testing.T) {
	t.Parallel()
	workloadtest.NeedTool(t, "python3")
	w := install(t)
	w.StartServer()
	token := func() string { return strings.TrimSpace(w.Run("token")) }
	for _, role := range []string{"users", "db"} {
		w.Agents[role] = w.Start("agent", "--node", role, "--state", w.AgentState(role), "--token", token(), "--label",
			"role="+role, "--label", "address=127.0.0.1")
	}
	mark := filepath.Join(w.Dir, "mark")
	file := w.Write("kill.yaml", `
fleet: {agents: {count: 2}}
services:
  - {name: db, on: {role: db}, port: 7431,
     command: "pwd >> `+w.Dir+`/homes; echo $$ >> `+w.Dir+`/pids; exec python3 -u -m http.server --bind ${self} 7431"}
workloads: [{kind: command, command: "touch `+mark+`; while [ ! -e `+mark+`.go ]; do sleep 0.05; done"}]
evaluations: [parallel]
retries: {lost: 3}
`)
	id := strings.TrimSpace(w.Run("run", file, "--detach"))
	w.Poll("the trial to begin", func() bool { _, err := os.Stat(mark); return err == nil })
	home, err := os.ReadFile(filepath.Join(w.Dir, "homes"))
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Dir(strings.TrimSpace(string(home)))
	if len(program.TierGroups(t, first)) == 0 {
		t.Errorf("the service of task %s has no control group", first)
	}
	w.Server.Kill()
	w.StartServer()
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	w.Run("resume", id, "--detach")
	w.Poll("the trial to begin again", func() bool { _, err := os.Stat(mark); return err == nil })
	w.Write("mark.go", "")
	d := w.AwaitRun(id, "over", program.IsOver)
	program.CheckComplete(t, d)
	if got := resultOn(t, model.RunData{Results: d.Accepted()}, "db"); got.Attempt < 2 || len(got.Stages) == 0 {
		t.Errorf("the result that counts is of attempt %d with stages %v", got.Attempt, got.Stages)
	}
	pids, err := os.ReadFile(filepath.Join(w.Dir, "pids"))
	if started := strings.Fields(string(pids)); err != nil || len(started) != 2 {
		t.Errorf("servers were started as %q, %v; want two", started, err)
	} else {
		for _, pid := range started {
			if text, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.Contains(string(text), "7431") {
				t.Errorf("server %s is left", pid)
			}
		}
	}
	w.Poll("the first task's control groups to go", func() bool { return len(program.TierGroups(t, first)) == 0 })
}

// TestServiceTaskKilled: of a task that was killed, as when memory runs out, the agent
// removes the folder and the control groups at once.
func TestServiceTaskKilled(t *testing.T) {
	t.Parallel()
	w := install(t)
	owner := filepath.Join(w.Dir, "owner")
	_, stderr, err := w.Try("run", w.Write("killed.yaml", `
fleet: {local: {nodes: 2}}
services: [{name: db, on: {fleet: local},
  command: "pwd > `+owner+`; while [ ! -e `+w.Dir+`/kill ]; do sleep 0.05; done; kill -9 $PPID; sleep 600"}]
workloads: [{kind: command, command: "sleep 0.5; touch `+w.Dir+`/kill; sleep 60"}]
evaluations: [parallel]
`))
	if err == nil || !strings.Contains(stderr, "ended early") {
		t.Errorf("run = %v, stderr %q, want that the process of the task ended", err, stderr)
	}
	dir, err := os.ReadFile(owner)
	if err != nil {
		t.Fatal(err)
	}
	task := filepath.Dir(strings.TrimSpace(string(dir)))
	if _, err := os.Stat(task); err == nil {
		t.Errorf("folder %s is left", task)
	}
	if left := program.TierGroups(t, task); len(left) > 0 {
		t.Errorf("control groups are left: %q", left)
	}
	program.AwaitNobody(t, w.Dir)
}

// TestServiceDiskFull: a tier that finds no room on its volume in mid-run is named with
// its stage and what it said, and what was measured until then is kept.
func TestServiceDiskFull(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	_, stderr, err := w.Try("run", w.Write("full.yaml", `
fleet: {lab: {volumes: [{name: small, size: 16MiB}], groups: [{name: users, nodes: 1}, {name: db, nodes: 1}]}}
services: [{name: db, on: {group: db}, volume: small,
  command: "while [ ! -e `+w.Dir+`/fill ]; do sleep 0.05; done; exec dd if=/dev/zero of=rows bs=1M count=64"}]
workloads:
  - kind: command
    on: {group: users}
    command: "for i in 1 2 3 4 5; do echo done $i; sleep 0.25; done; touch `+w.Dir+`/fill; sleep 60"
    progress: {unit: op, regex: 'done (\d+)', metric: n}
    metrics: [{name: n, regex: 'done (\d+)'}]
evaluations: [parallel]
`))
	if err == nil || !strings.Contains(stderr, "service db[0] ended in mid-run: exit status 1") || !strings.Contains(stderr, "No space left on device") {
		t.Errorf("run = %v, stderr %q, want the tier and its full disk", err, stderr)
	}
	d := w.Data("latest")
	db, users := resultOn(t, d, "lab-db-1"), resultOn(t, d, "lab-users-1")
	if got := strings.Join(stageNames(db, "db"), " "); db.Outcome != model.OutcomeFailed || got != "set_up start healthy run! collect stop" {
		t.Errorf("the service's task: %s, stages %s; want run to have failed", db.Outcome, got)
	}
	if len(users.Series) != 1 || len(users.Series[0].Values) < 4 {
		t.Errorf("what was measured: %s, %v; want what was until then", users.Outcome, users.Series)
	}
	program.CheckNothing(t, program.LabName(t, stderr))
	program.AwaitNobody(t, w.Dir)
}

// TestServicesLabKilled: after kill -9 of everything, resume makes a new lab, and
// nothing of the old one is left.
func TestServicesLabKilled(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	mark, home := filepath.Join(w.Dir, "mark"), filepath.Join(w.Dir, "home")
	p := w.Start("run", w.Write("lab.yaml", `
fleet: {lab: {groups: [{name: users, nodes: 1}, {name: db, nodes: 1, cpu: 1}]}}
services: [{name: db, on: {group: db}, limits: {cpu: 0.5}, command: "pwd > `+home+`; trap '' TERM; setsid sleep 600 & while :; do sleep 1; done", stop_timeout: 100ms}]
workloads: [{kind: command, on: {group: users}, command: "touch `+mark+`; while [ ! -e `+mark+`.go ]; do sleep 0.05; done"}]
evaluations: [parallel]
`))
	w.Poll("the trial to begin", func() bool { _, err := os.Stat(mark); return err == nil })
	id := program.LabName(t, p.Log())
	left, err := os.ReadFile(home)
	if err != nil {
		t.Fatal(err)
	}
	task := filepath.Dir(strings.TrimSpace(string(left)))
	if found := strings.Join(program.TierGroups(t, task), "\n"); !strings.Contains(found, id+"/lab-db-1/scalebench-") {
		t.Errorf("the service has no control group below its node's; there are\n%s", found)
	}
	w.KillAll(id, p)
	p.Kill()
	run := string(w.Data("latest").Run.ID)
	// The agents of any run remove them, not just those of a run with services.
	w.Run("run", w.Write("local.yaml",
		"fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: echo}]\nevaluations: [serial]\n"))
	program.CheckGone(t, []string{task})
	w.Write("mark.go", "")
	w.Run("resume", run)
	program.CheckComplete(t, w.Data(run))
	program.CheckNothing(t, id)
	program.AwaitNobody(t, w.Dir)
}

// TestServiceSteps: a limit that changes in mid-run changes what the service does:
// by arithmetic, half as fast with half of the processor.
func TestServiceSteps(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	workloadtest.NeedTool(t, "python3")
	w := install(t)
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
	app := resultOn(t, d, "lab-app-1")
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

// resultOn is the result of a node that counts.
func resultOn(t testing.TB, d model.RunData, node model.NodeID) model.Result {
	t.Helper()
	i := slices.IndexFunc(d.Results, func(r model.Result) bool { return r.Node == node })
	if i < 0 {
		t.Fatalf("node %s has no result", node)
	}
	return d.Results[i]
}
