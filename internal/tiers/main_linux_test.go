package tiers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/recording"
	"github.com/scalebench/scalebench/test/servers"
)

// helperEnv makes the test binary a helper process in namespaces of its own.
const helperEnv = "TIERS_TEST_HELPER"

func TestMain(m *testing.M) {
	if role := os.Getenv(helperEnv); role != "" {
		if err := help(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// seen is what a helper tells: what a watch read, and what is true.
type seen struct {
	Series   []model.HostSeries
	Failures []string
	Truth    map[string]float64
}

func help(role string) error {
	roles := map[string]func() (seen, error){"queues": fillQueues, "accept": fillAccept, "lost": sendToDeaf, "peers": sendToPeers, "crowd": sendToCrowd}
	s, err := roles[role]()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// inNamespace runs a helper in a network namespace of its own, with loopback up.
func inNamespace(t *testing.T, role string) (s seen) {
	t.Helper()
	needRoot(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stderr = &said
	runtime.LockOSThread() // Pdeathsig is sent when the thread that started it ends
	defer runtime.UnlockOSThread()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the helper: %v: %s", err, said.String())
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("the helper said %q: %v", out, err)
	}
	return s
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		servers.Missing(t, errors.New("root is needed"))
	}
	servers.Program(t, "ip")
}

// command starts a program, in a control group if there is one, and kills it at
// the end, with all that it started.
func command(t testing.TB, g *controlGroup, name string, args ...string) (in io.Writer, out *bufio.Reader, pid int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if g != nil {
		// The shell joins the group and becomes the program.
		script := ""
		for _, d := range g.dirs {
			script += "echo $$ > " + filepath.Join(d, "cgroup.procs") + " && "
		}
		cmd = exec.Command("/bin/sh", append([]string{"-c", script + `exec "$@"`, "sh", name}, args...)...)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, write, err := os.Pipe() // a pipe of the command's would be closed when it ends
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	p, err := servers.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // it is the leader of its group
		<-p.Done()
		_ = stdin.Close()
		_ = write.Close()
		_ = stdout.Close()
	})
	return stdin, bufio.NewReader(stdout), p.PID()
}

// controlGroup is one that a test has made.
type controlGroup struct{ dirs []string }

// makeGroup makes a control group that is removed at the end.
func makeGroup(t testing.TB) *controlGroup {
	t.Helper()
	needRoot(t)
	name := fmt.Sprintf("tiers-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	roots := []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		roots = []string{"/sys/fs/cgroup"}
		if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu"), 0); err != nil {
			t.Fatal(err)
		}
	}
	g := &controlGroup{}
	for _, root := range roots {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) { // cpu and cpuacct may be one
			t.Fatal(err)
		}
		g.dirs = append(g.dirs, dir)
		t.Cleanup(func() { g.remove(t, dir) })
	}
	return g
}

// remove removes a group as soon as its last process, which was killed, is gone.
func (g *controlGroup) remove(t testing.TB, dir string) {
	end := time.After(10 * time.Second)
	for {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-end:
			t.Error(err)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// limit sets the quota in cores, and the largest weight, so that what else the
// machine does leaves the group its quota.
func (g *controlGroup) limit(t testing.TB, cores float64) {
	t.Helper()
	const period = 100_000
	files := map[string]string{"cpu.max": fmt.Sprintf("%.0f %d", cores*period, period), "cpu.weight": "10000"}
	if _, err := os.Stat(filepath.Join(g.dirs[0], "cpu.max")); err != nil {
		files = map[string]string{"cpu.cfs_quota_us": fmt.Sprintf("%.0f", cores*period), "cpu.shares": "262144"}
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(g.dirs[0], file), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// of returns a signal's series.
func of(t testing.TB, list []model.HostSeries, signal string) model.HostSeries {
	t.Helper()
	for _, s := range list {
		if s.Metric == "svc:"+signal {
			return s
		}
	}
	t.Fatalf("no series svc:%s", signal)
	return model.HostSeries{}
}

// gained is by how much a counter grew, and in how many seconds.
func gained(t testing.TB, list []model.HostSeries, signal string) (by, seconds float64) {
	t.Helper()
	s := of(t, list, signal)
	n := len(s.Values) - 1
	if !s.Counter || s.Values[0] != 0 {
		t.Errorf("%s is no counter that begins at 0", signal)
	}
	return s.Values[n] - s.Values[0], float64(s.Offsets[n]-s.Offsets[0]) / 1e9
}

// rate is a counter's growth a second.
func rate(t testing.TB, list []model.HostSeries, signal string) float64 {
	t.Helper()
	by, seconds := gained(t, list, signal)
	return by / seconds
}

// last is a signal's last value.
func last(t testing.TB, list []model.HostSeries, signal string) float64 {
	t.Helper()
	s := of(t, list, signal)
	return s.Values[len(s.Values)-1]
}

// near fails the test if a value is further from the truth than a share of it.
func near(t testing.TB, what string, got, want, share float64) {
	t.Helper()
	t.Logf("%s = %.5g, truth %.5g", what, got, want)
	if d := got - want; d > share*want || -d > share*want || got != got {
		t.Errorf("%s = %v, want %v within %v %%", what, got, want, 100*share)
	}
}

// sound fails the test if a series breaks what model.HostSeries promises, or has
// a name that is not listed.
func sound(t testing.TB, list []model.HostSeries) {
	t.Helper()
	for _, s := range list {
		name := strings.TrimPrefix(s.Metric, "svc:")
		listed := slices.ContainsFunc(Signals(), func(m recording.Metric) bool { return m.Name == probe.Pattern(name) })
		if m := signal(name); !listed || m.Unit != s.Unit || m.Counter != s.Counter {
			t.Errorf("%s in %s, counter %v: listed is %+v", s.Metric, s.Unit, s.Counter, m)
		}
		if s.OfHost() {
			t.Errorf("%s looks like one of the monitor's", s.Metric)
		}
		for i, v := range s.Values {
			if v < 0 || v != v || i > 0 && (s.Offsets[i] < s.Offsets[i-1] || s.Counter && v < s.Values[i-1]) {
				t.Errorf("%s has %v after %v at point %d", s.Metric, v, s.Values[max(i-1, 0)], i)
			}
		}
	}
}

// until waits until a condition holds.
func until(what string, holds func() bool) error {
	for end := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(end) {
			return fmt.Errorf("after 10 s not: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
	return nil
}
