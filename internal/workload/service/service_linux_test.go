package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// The tests have no parallel ones: tasks wait for all children of their process.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// task is a task in this process.
type task struct {
	workloadtest.Record
	Params
	env  *workload.Env
	over chan struct{}
	out  safeBuffer
}

func newTask(t *testing.T, services ...Instance) *task {
	t.Helper()
	x := &task{Params: Params{Services: services, Hosts: make(map[string][]string), Ports: make(map[string]int), Ready: unit.Duration(10 * time.Second)}, over: make(chan struct{})}
	for i := range x.Services {
		s := &x.Services[i]
		s.Own = model.Check{Service: s.Name, Address: "127.0.0.1", Port: s.Port}
		x.Hosts[s.Name] = append(x.Hosts[s.Name], "127.0.0.1")
		x.Ports[s.Name] = s.Port
	}
	x.env = &workload.Env{
		Self: model.Host{Address: "127.0.0.1"}, Dir: t.TempDir(), Keep: filepath.Join(t.TempDir(), "keep"), KeepLimit: 1 << 10, Over: x.over,
		Environ: append(os.Environ(), "SCALEBENCH_TASK=test"), Stdout: &x.out, Stderr: &x.out, Report: &x.Record,
	}
	t.Cleanup(func() {
		if err := x.Cleanup(context.WithoutCancel(t.Context()), x.env); err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *task) prepare(t *testing.T) {
	t.Helper()
	if err := x.Prepare(t.Context(), x.env); err != nil {
		t.Fatalf("Prepare: %v; stages %q", err, x.Stages)
	}
}

// run begins to run, and returns how it ends.
func (x *task) run(t *testing.T) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- x.Run(t.Context(), x.env) }()
	return ended
}

// freePort is a port that nothing listens at.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	return l.Addr().(*net.TCPAddr).Port
}

// server is a service that answers HTTP.
func server(t *testing.T, name string, more string) Instance {
	port := freePort(t)
	return Instance{Name: name, Port: port, Command: more + " exec python3 -u -m http.server --bind ${self} " + strconv.Itoa(port)}
}

// stagesOf are the stages of a service that ended, in their order.
func (x *task) stagesOf(service string) (out []string) {
	for _, s := range x.Stages {
		name, ours := strings.CutPrefix(s, service+":")
		if name, state, _ := strings.Cut(name, " "); ours && state != model.StageBegun {
			state, _, _ = strings.Cut(state, ":")
			out = append(out, name+" "+state)
		}
	}
	return out
}

// TestLife: two services on one node, of which one needs the other, go through
// their stages; files are made, warm and kept; and nothing is left.
func TestLife(t *testing.T) {
	workloadtest.NeedTool(t, "python3")
	loaded := t.TempDir()
	for name, text := range map[string]string{"index.html": "loaded", "sub/x": "deep"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(loaded, name)), 0o755), os.WriteFile(filepath.Join(loaded, name), []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	db := server(t, "db", "cd data;")
	db.Reset = &Reset{From: loaded}
	web := server(t, "web", "echo hello; cat conf/up > seen.log;")
	web.Index = 3
	web.Files = []File{{Path: "conf/up", Template: "{{range .Service.db}}{{.Name}}{{.Index}} {{.Address}}:{{.Port}} {{end}}self {{.Self.Index}}\n"}}
	web.Await = []model.Check{{Service: "db", Address: "127.0.0.1", HTTP: fmt.Sprintf("http://127.0.0.1:%d/sub/x", db.Port)}}
	web.Healthy = &Healthy{HTTP: "http://${self}/"}
	web.Warm = &Warm{Command: "echo $SCALEBENCH_INDEX ${index} >> seen.log"}
	web.Keep = []string{"*.log", "nothing.*"}
	x := newTask(t, db, web)
	x.Services[1].Own.HTTP = fmt.Sprintf("http://127.0.0.1:%d/", web.Port)
	x.prepare(t)
	dir := x.running[1].dir
	ended := x.run(t)
	close(x.over)
	if err := <-ended; err != nil {
		t.Fatalf("Run: %v", err)
	}
	if got, want := fmt.Sprint(x.stagesOf("web")), "[set_up done await done start done healthy done warm done run done stop done collect done]"; got != want {
		t.Errorf("stages of web %s, want %s", got, want)
	}
	if got := x.stagesOf("db"); len(got) < 2 || got[1] != "reset done" {
		t.Errorf("stages of db %q, want a reset", got)
	}
	stops := slices.DeleteFunc(slices.Clone(x.Stages), func(s string) bool { return !strings.HasSuffix(s, ":stop begun") })
	if fmt.Sprint(stops) != "[web:stop begun db:stop begun]" {
		t.Errorf("they stop in the order %q, want the last first", stops)
	}
	kept, err := os.ReadFile(filepath.Join(x.env.Keep, "web-3-seen.log"))
	if want := fmt.Sprintf("db0 127.0.0.1:%d self 3\n3 3\n", db.Port); err != nil || string(kept) != want {
		t.Errorf("kept %q, %v; want %q", kept, err, want)
	}
	if !strings.Contains(x.out.String(), "web[0]| hello") {
		t.Errorf("printed %q, want the lines of web", x.out.String())
	}
	x.checkNothing(t, dir)
}

// checkNothing fails if something of the task is left.
func (x *task) checkNothing(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Errorf("%s is left", dir)
	}
	left, err := filepath.Glob("/sys/fs/cgroup/*/" + groupPrefix + x.place.owner + "*")
	if deeper, err := filepath.Glob("/sys/fs/cgroup/*/*/" + groupPrefix + x.place.owner + "*"); err == nil {
		left = append(left, deeper...)
	}
	if err != nil || len(left) > 0 {
		t.Errorf("control groups are left: %q", left)
	}
	for _, r := range x.running {
		if left := inGroup(t, r.cmd.Process.Pid); len(left) > 0 {
			t.Errorf("processes of %s are left: %v", r.Name, left)
		}
	}
}

// TestPortInUse: what listens at the port would pass for the service.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	port := l.Addr().(*net.TCPAddr).Port
	x := newTask(t, Instance{Name: "db", Port: port, Command: "exec sleep 60"})
	err = x.Prepare(t.Context(), x.env)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("service db[0]: port %d is in use", port)) {
		t.Errorf("Prepare = %v, want the port", err)
	}
	if got := fmt.Sprint(x.stagesOf("db")); got != "[set_up failed]" {
		t.Errorf("stages %s, want the failed one", got)
	}
}

// TestNeverHealthy: the message has what was looked at and what was printed last.
func TestNeverHealthy(t *testing.T) {
	port := freePort(t)
	x := newTask(t, Instance{Name: "db", Port: port, Command: "for i in 1 2 3; do echo line $i; done; exec sleep 60", Settings: Settings{Healthy: &Healthy{Within: unit.Duration(300 * time.Millisecond)}}})
	err := x.Prepare(t.Context(), x.env)
	for _, want := range []string{"service db[0] at 127.0.0.1 is not healthy after", fmt.Sprintf("does not accept connections on port %d", port), "it last printed: line 1 | line 2 | line 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Prepare = %v, want %q", err, want)
		}
	}
}

// TestHealthyAfterOthers: what a service waited for others is no longer there for its
// own health, and the message comes before whoever waits for it gives up.
func TestHealthyAfterOthers(t *testing.T) {
	x := newTask(t, Instance{Name: "app", Port: freePort(t), Command: "exec sleep 60", Await: []model.Check{{Service: "db", Address: "127.0.0.1", Command: "sleep 1"}}})
	x.Ready = unit.Duration(2500 * time.Millisecond) // of which 2 s are for all of this
	err := x.Prepare(t.Context(), x.env)
	if err == nil {
		t.Fatal("it is healthy")
	}
	_, after, _ := strings.Cut(err.Error(), "service app[0] at 127.0.0.1 is not healthy after ")
	text, _, _ := strings.Cut(after, ":")
	if within, bad := time.ParseDuration(text); bad != nil || within > time.Second {
		t.Errorf("Prepare = %v, want that it had the rest of 2 s after 1 s", err)
	}
}

// TestNoTime: what takes longer than all of the preparation may is named, with what to do.
func TestNoTime(t *testing.T) {
	for want, settings := range map[string]Settings{
		"reset was not over in time: all of the preparation may take 1ns; give timeouts.ready more":        {Reset: &Reset{From: t.TempDir()}},
		"warming it was not over in time: all of the preparation may take 500ms; give timeouts.ready more": {Warm: &Warm{Command: "exec sleep 60"}},
	} {
		x := newTask(t, Instance{Name: "db", Command: "exec sleep 60", Settings: settings})
		x.Ready = unit.Duration(500 * time.Millisecond)
		if settings.Reset != nil {
			x.Ready = 1
		}
		if err := x.Prepare(t.Context(), x.env); err == nil || !strings.Contains(err.Error(), "service db[0]: "+want) {
			t.Errorf("Prepare = %v, want %q", err, want)
		}
	}
}

// TestDiesEarly: a service that ends while its health is awaited is not waited
// for.
func TestDiesEarly(t *testing.T) {
	x := newTask(t, Instance{Name: "db", Port: freePort(t), Command: "echo no licence; exit 3"})
	began := time.Now()
	err := x.Prepare(t.Context(), x.env)
	if err == nil || !strings.Contains(err.Error(), "it ended before it was healthy: exit status 3; it last printed: no licence") {
		t.Errorf("Prepare = %v, want how it ended", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to see that", took)
	}
}

// TestDiesInRun: the task fails with the reason, and the other service is stopped.
func TestDiesInRun(t *testing.T) {
	workloadtest.NeedTool(t, "python3")
	trigger := filepath.Join(t.TempDir(), "die")
	dying := Instance{Name: "app", Command: "while [ ! -e " + trigger + " ]; do sleep 0.05; done; echo out of luck; kill -9 $$"}
	x := newTask(t, server(t, "db", ""), dying)
	x.prepare(t)
	ended := x.run(t)
	if err := os.WriteFile(trigger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "service app[0] ended in mid-run: signal: killed; it last printed: out of luck") {
		t.Errorf("Run = %v, want the reason", err)
	}
	if got := x.stagesOf("db"); !slices.Contains(got, "run failed") || !slices.Contains(got, "stop done") {
		t.Errorf("stages of db: %q", got)
	}
	x.checkNothing(t, x.running[0].dir)
}

// TestIgnoresTheEnd: what does not end when it is told to is killed, with what it
// has left in the background.
func TestIgnoresTheEnd(t *testing.T) {
	x := newTask(t, Instance{Name: "db", Command: "trap '' TERM; setsid sleep 300 & touch up; while :; do sleep 0.1; done", Settings: Settings{Healthy: &Healthy{Command: "test -e up"}, StopTimeout: unit.Duration(200 * time.Millisecond)}})
	x.Services[0].Own.Command = "test -e $SCALEBENCH_DIR/up"
	x.prepare(t)
	ended := x.run(t)
	close(x.over)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.Stages); !strings.Contains(got, "db:stop done: killed: it had not ended after 200ms") {
		t.Errorf("stages %s, want that it was killed", got)
	}
	x.checkNothing(t, x.running[0].dir)
}

// slowWatch takes a while to stop.
type slowWatch struct{ watched Watched }

const watchStop = 300 * time.Millisecond

func (*slowWatch) Start(context.Context) {}
func (*slowWatch) Stop()                 { <-time.After(watchStop) }
func (*slowWatch) Used() (float64, bool) { return 0, false }
func (*slowWatch) Failures() []string    { return nil }
func (*slowWatch) Notes() []string       { return nil }
func (w *slowWatch) Series(time.Time) []model.HostSeries {
	return []model.HostSeries{{Metric: w.watched.Service + ":seen"}}
}

// TestCalledOff: of a task that is called off, and then has three seconds, each
// service's recordings and files are there, however many do not end when they are told.
func TestCalledOff(t *testing.T) {
	var all []Instance
	for i := range 6 {
		all = append(all, Instance{Name: fmt.Sprintf("s%d", i), Command: "trap '' TERM; touch up x.log; while :; do sleep 0.1; done", Settings: Settings{Keep: []string{"*.log"}}})
	}
	x := newTask(t, all...)
	x.watcher = func(w Watched) Watch { return &slowWatch{w} }
	for i := range x.Services {
		x.Services[i].Own.Command = "test -e $SCALEBENCH_DIR/up"
	}
	x.prepare(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := x.Run(ctx, x.env); err == nil {
		t.Error("Run succeeds")
	}
	if took := time.Since(began); took > 5*quickStop {
		t.Errorf("it took %v to end 6 services, want them to end at once", took)
	}
	if len(x.Recordings) != len(all) {
		t.Errorf("%d recordings, want %d", len(x.Recordings), len(all))
	}
	if kept, err := os.ReadDir(x.env.Keep); err != nil || len(kept) != len(all) {
		t.Errorf("kept %v, %v; want %d files", kept, err, len(all))
	}
	if got, want := fmt.Sprint(x.stagesOf("s0")), "[set_up done start done healthy done run failed collect begun collect done stop done collect done]"; got != want {
		t.Errorf("stages of s0 %s, want %s: signals while it runs, and files afterwards", got, want)
	}
	x.checkNothing(t, x.running[0].dir)
}

// TestLeaderEnds: what a service that has ended left in its group ends with it, and no
// signal is sent to the group's number after that.
func TestLeaderEnds(t *testing.T) {
	x := newTask(t, Instance{Name: "db", Command: "sleep 300 & touch up; until [ -e go ]; do sleep 0.02; done"})
	x.Services[0].Own.Command = "test -e $SCALEBENCH_DIR/up"
	x.prepare(t)
	r := x.running[0]
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-r.dead
	for _, pid := range inGroup(t, r.cmd.Process.Pid) {
		if procself.AwaitEnd(pid, killTime); alive(pid) {
			t.Errorf("%d is left in its group", pid)
		}
	}
	// The number is another group's now.
	other := exec.CommandContext(t.Context(), "sleep", "300")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	r.cmd.Process.Pid = other.Process.Pid
	r.signal(syscall.SIGKILL)
	if !alive(other.Process.Pid) {
		t.Error("another group got the signal")
	}
	_, _ = other.Process.Kill(), other.Wait()
}

// TestDiskFull: a reset that does not fit says so, and leaves nothing.
func TestDiskFull(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=1m"); err != nil {
		workloadtest.Need(t, fmt.Errorf("mounting a small file system: %w", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	loaded := t.TempDir()
	if err := os.WriteFile(filepath.Join(loaded, "big"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	x := newTask(t, Instance{Name: "db", Command: "exec sleep 60", Settings: Settings{Volume: "data", Reset: &Reset{From: loaded}}})
	x.env.Volumes = map[string]string{"data": small}
	err := x.Prepare(t.Context(), x.env)
	if err == nil || !strings.Contains(err.Error(), "the disk is full: "+loaded+" does not fit") {
		t.Errorf("Prepare = %v, want that the disk is full", err)
	}
	if left, err := os.ReadDir(small); err != nil || len(left) > 0 {
		t.Errorf("on the volume is left %v, %v", left, err)
	}
}

// needGroups skips where services cannot have limits.
func needGroups(t *testing.T) {
	t.Helper()
	err := apart()
	var g *group
	if err == nil {
		g, err = newGroup("test-" + strconv.Itoa(os.Getpid()))
	}
	if err == nil {
		err = g.control(true)
		g.remove()
	}
	workloadtest.Need(t, err)
}

// apart gives this process a group of version 2 of its own where that version has
// the controllers: the one in which it is has others, such as go test. It stays until
// the machine restarts.
func apart() error {
	own, err := agentGroup()
	if err != nil || own.V2 == "" || strings.Contains(own.V2, "scalebench-tests-") {
		return err
	}
	dir := fmt.Sprintf("/sys/fs/cgroup/scalebench-tests-%d", os.Getpid())
	return errors.Join(os.Mkdir(dir, 0o755), cgroup.Write(dir, "cgroup.procs", strconv.Itoa(os.Getpid())))
}

// TestLimits: the processor time that a service gets follows its limit, also
// where that changes in mid-run.
func TestLimits(t *testing.T) {
	skip.IfShort(t)
	needGroups(t)
	x := newTask(t, Instance{Name: "spin", Command: "while :; do :; done", Settings: Settings{
		Bounds: &Bounds{CPU: 0.2, Memory: 64 * unit.MiB}, Steps: []Step{{At: unit.Duration(1500 * time.Millisecond), CPU: 0.4}},
	}})
	x.prepare(t)
	g, pid := x.running[0].group, x.running[0].cmd.Process.Pid
	before := g.usage(t, pid)
	ended := x.run(t)
	before.bounded(t, g.follow(t, pid, before, 0.2, 30*time.Second), 0.2)
	after := g.usage(t, pid)
	last := g.follow(t, pid, after, 0.4, 1500*time.Millisecond)
	after.bounded(t, last, 0.4)
	// Where others take the machine it gets less, but not because of its limit: in each
	// period in which that held it back it had all of 0.04 s.
	if held := float64(last.held - after.held); last.used-after.used < 0.75*0.04*(held-1) {
		t.Errorf("it used %.3f s with 0.4 cores and was held back in %v periods", last.used-after.used, held)
	}
	if has := g.quota(); has != 0.4 {
		t.Errorf("after the step the kernel's limit is %v cores, want 0.4", has)
	}
	close(x.over)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(x.Stages, "spin:limit done: cpu 0.4 cores") {
		t.Errorf("stages %q, want the change of the limit", x.Stages)
	}
}

// TestKeepBounded: no more is copied than is kept with the result, and what is not
// is named.
func TestKeepBounded(t *testing.T) {
	x := newTask(t, Instance{Name: "db", Command: "i=10; while [ $i -lt 80 ]; do : > $i.log; i=$((i+1)); done; head -c 5000 /dev/zero > a.big; mkdir a; : > a-big; : > a/big; touch up; exec sleep 60",
		Settings: Settings{Keep: []string{"a.big", "a-big", "a/big", "a-*", "*.log"}}})
	x.Services[0].Own.Command = "test -e $SCALEBENCH_DIR/up"
	x.prepare(t)
	x.end(x.env, true)
	kept, err := os.ReadDir(x.env.Keep)
	if err != nil || len(kept) != model.MaxKept {
		t.Errorf("%d files are kept, %v; want %d", len(kept), err, model.MaxKept)
	}
	if info, err := os.Stat(filepath.Join(x.env.Keep, "db-0-a.big")); err != nil || info.Size() != x.env.KeepLimit+1 {
		t.Errorf("a.big is %v, %v; want it cut", info, err)
	}
	want := "db:collect done: cut to 1.00 KiB (output.artifact): a.big; left out, because a task keeps at most 64 files, each of another name: a/big, 72.log, 73.log"
	if got := x.Stages[len(x.Stages)-1]; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestKeepLinks: what a service links to outside of its folder is not kept, whichever part
// of the path is the link; what is no file is not waited for.
func TestKeepLinks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.log")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf(
		"mkdir log real; ln -s %[1]s log/a.log; ln -s %[2]s out; ln -s ../../../../../../../..%[1]s log/b.log; mkfifo log/p.log; "+
			"echo mine > real/c.log; ln -s ../real/c.log log/d.log; ln -s /dev/zero log/z.log; touch up; exec sleep 60",
		secret, filepath.Dir(secret))
	x := newTask(t, Instance{Name: "db", Command: command,
		Settings: Settings{Keep: []string{"log/*.log", "out/*.log", "real/*.log"}}})
	x.Services[0].Own.Command = "test -e $SCALEBENCH_DIR/up"
	x.prepare(t)
	x.end(x.env, true)
	kept, err := os.ReadDir(x.env.Keep)
	if err != nil || len(kept) != 1 || kept[0].Name() != "db-0-real-c.log" {
		t.Errorf("kept %v, %v; want the service's own file alone", kept, err)
	}
}

// TestOpenFileSwapped: a file that becomes a link while it is looked at is not opened.
func TestOpenFileSwapped(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	name := filepath.Join(dir, "a")
	root, err := os.OpenRoot(dir)
	if err := errors.Join(err, os.WriteFile(secret, []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(dir, "b"), []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := os.Link(secret, filepath.Join(dir, "hard")); err == nil { // of one file system
		if f, err := openFile(root, "hard"); err == nil {
			t.Error("a hard link to another's file is opened")
			_ = f.Close()
		}
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Remove(name) // whichever it is
			switch i % 3 {
			case 0:
				_ = os.WriteFile(name, []byte("mine"), 0o600)
			case 1:
				_ = os.Symlink(secret, name)
			case 2:
				_ = os.Symlink("b", name)
			}
		}
	})
	for range 2000 {
		f, err := openFile(root, "a")
		if err != nil {
			continue
		}
		if text, _ := io.ReadAll(f); len(text) > 0 && string(text) != "mine" {
			t.Errorf("read %q", text)
		}
		_ = f.Close()
	}
	close(stop)
	swapping.Wait()
}

// TestMoreThanTheNode: a limit above that of the node would not hold.
func TestMoreThanTheNode(t *testing.T) {
	needGroups(t)
	g, err := newGroup("test-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer g.remove()
	if err := errors.Join(g.control(true), g.LimitCPU(0.3), g.LimitMemory(64<<20)); err != nil {
		t.Fatal(err)
	}
	below := below(g.Group, "x")
	if err := below.allows(0.3, 64<<20); err != nil {
		t.Errorf("as much as the node has: %v", err)
	}
	if err := below.allows(0.31, 0); err == nil || !strings.Contains(err.Error(), "its node has 0.3") {
		t.Errorf("more than the node has: %v", err)
	}
	if err := below.allows(0, 65<<20); err == nil || !strings.Contains(err.Error(), "65MiB of memory, and its node has 64.0 MiB") {
		t.Errorf("more memory than the node has: %v", err)
	}
	if err := g.allows(float64(runtime.NumCPU())+0.5, 0); err == nil || !strings.Contains(err.Error(), "its node has") {
		t.Errorf("more than the machine has: %v", err)
	}
}

// TestMoreThanTheContainer: in a container the control groups begin where they are
// mounted, with the limits of the container.
func TestMoreThanTheContainer(t *testing.T) {
	mount := fmt.Sprintf("/tmp/%d", os.Getpid()) // as short as /sys/fs/cgroup
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(mount) //nolint:errcheck // below /tmp
	if err := os.WriteFile(mount+"/cpu.max", []byte("50000 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := below(cgroup.Group{V2: mount}, "x").allows(1, 0); err == nil || !strings.Contains(err.Error(), "its node has 0.5") {
		t.Errorf("1 core in a container of 0.5: %v", err)
	}
}

// TestLimitsOfTheNode: where a service has no group of its own, that of its node says
// what it may use.
func TestLimitsOfTheNode(t *testing.T) {
	x := newTask(t, Instance{Name: "db", Command: "exec sleep 60"})
	x.prepare(t)
	r := x.running[0]
	if w := r.watched(); len(w.Group) > 0 && len(w.Above) > 0 {
		t.Errorf("with a group of its own %v it is watched with that of the node %v", w.Group, w.Above)
	}
	alone := &running{Instance: r.Instance, env: r.env, cmd: r.cmd, group: &group{}}
	if w := alone.watched(); len(w.Group) > 0 || !slices.Equal(w.Above, nodeGroup()) || len(w.Above) == 0 &&
		len(r.group.Dirs()) > 0 {
		t.Errorf("without a group of its own it is watched with %v and %v, want that of the node, %v", w.Group, w.Above, nodeGroup())
	}
}

// TestMemory: a service that is killed for its limit says so.
func TestMemory(t *testing.T) {
	needGroups(t)
	workloadtest.NeedTool(t, "python3")
	trigger := filepath.Join(t.TempDir(), "grow")
	x := newTask(t, Instance{Name: "db", Command: "exec python3 -c '\nimport os,time\nwhile not os.path.exists(\"" + trigger + "\"): time.sleep(0.05)\nx=b\"x\"*(200<<20)\n'", Settings: Settings{Bounds: &Bounds{Memory: 32 * unit.MiB}}})
	x.prepare(t)
	ended := x.run(t)
	if err := os.WriteFile(trigger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "its memory is limited to 32MiB") {
		t.Errorf("Run = %v, want the limit of memory", err)
	}
}

// TestSweep: what a task has left that was killed goes with the next one.
func TestSweep(t *testing.T) {
	needGroups(t)
	dead := exec.CommandContext(t.Context(), "true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	self, err := selfOwner()
	if err != nil {
		t.Fatal(err)
	}
	self.PID, self.Start = dead.Process.Pid, 1
	owner := self.String()
	g, err := newGroup(owner + "-db")
	if err != nil {
		t.Fatal(err)
	}
	left := exec.CommandContext(t.Context(), "sleep", "300")
	left.SysProcAttr = &syscall.SysProcAttr{}
	if err := g.start(left); err != nil {
		t.Fatal(err)
	}
	x := newTask(t, Instance{Name: "db", Command: "exec sleep 60"})
	base := fmt.Sprintf("/var/tmp/scalebench-services-%d", os.Geteuid())
	if err := os.MkdirAll(filepath.Join(base, owner, "db"), 0o711); err != nil {
		t.Fatal(err)
	}
	x.prepare(t)
	_ = left.Wait() // it was killed
	for _, dir := range append(g.Dirs(), filepath.Join(base, owner)) {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

// TestCopyTree: a copy has what the original has, and shares nothing with it.
func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "a", "b")
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	err := errors.Join(
		os.Mkdir(filepath.Join(from, "d"), 0o750), os.WriteFile(filepath.Join(from, "d", "f"), []byte("abc"), 0o604),
		os.Symlink("d/f", filepath.Join(from, "l")), syscall.Mkfifo(filepath.Join(from, "p"), 0o600), os.Chtimes(filepath.Join(from, "d"), stamp, stamp))
	if err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "d", "f"), []byte("changed"), 0); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(from, "d", "f")); string(text) != "abc" {
		t.Errorf("the original is %q", text)
	}
	f, err1 := os.Stat(filepath.Join(to, "d", "f"))
	d, err2 := os.Stat(filepath.Join(to, "d"))
	l, err3 := os.Readlink(filepath.Join(to, "l"))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if f.Mode() != 0o604 || d.Mode().Perm() != 0o750 || !d.ModTime().Equal(stamp) || l != "d/f" {
		t.Errorf("the copy has modes %v and %v, time %v, link %q", f.Mode(), d.Mode(), d.ModTime(), l)
	}
	if _, err := os.Lstat(filepath.Join(to, "p")); err == nil {
		t.Error("the pipe was copied")
	}
}
