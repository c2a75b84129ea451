package monitor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/recording"
)

// These tests compare what the monitor reads with what is known to have been
// done. They make control groups, devices and namespaces, so they need root.

func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	missing := ""
	if os.Geteuid() != 0 {
		missing = "root"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = tool
		}
	}
	if missing == "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is needed", missing)
	}
	t.Skipf("%s is needed", missing)
}

// child is a helper process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout bytes.Buffer
	stderr *bufio.Reader
}

// spawn starts a helper, which waits; flags are namespaces to make for it.
func spawn(t *testing.T, role string, flags uintptr) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	c := &child{cmd: exec.CommandContext(ctx, os.Args[0])}
	c.cmd.Env = append(os.Environ(), helperEnv+"="+role)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	c.cmd.Stdout = &c.stdout
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stderr = bufio.NewReader(stderr)
	// Pdeathsig is sent when the thread that started it ends.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.cmd.Wait() // in the good case it has been waited for
	})
	return c
}

// tell gives the helper its argument.
func (c *child) tell(t *testing.T, arg string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.stdin, arg); err != nil {
		t.Fatal(err)
	}
}

// observed waits for the helper's end.
func (c *child) observed(t *testing.T) (o observed) {
	t.Helper()
	said, _ := io.ReadAll(c.stderr) // only for the message
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("the helper: %v: %s", err, said)
	}
	if err := json.Unmarshal(c.stdout.Bytes(), &o); err != nil {
		t.Fatalf("the helper said %q: %v", c.stdout.String(), err)
	}
	return o
}

// grown is by how much a counter grew; missing series fail the test.
func grown(t *testing.T, list []model.HostSeries, metric string) float64 {
	t.Helper()
	for _, s := range list {
		if s.Metric == metric && s.Counter && s.Values[0] == 0 {
			return s.Values[len(s.Values)-1]
		}
	}
	t.Fatalf("no counter %s that begins at 0", metric)
	return 0
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	t.Logf("%s = %.6g, truth %.6g", what, got, want)
	if math.Abs(got-want) > share*want {
		t.Errorf("%s = %v, want %v within %v %%", what, got, want, 100*share)
	}
}

// TestTruthCPU: a process in a control group of its own uses two seconds of
// processor time. The group shows just that, the machine at least that, and
// the kinds of the machine's time add up to its processors.
func TestTruthCPU(t *testing.T) {
	needRoot(t)
	group := makeGroup(t)
	c := spawn(t, "burn", 0)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, c.cmd.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	c.tell(t, "")
	o := c.observed(t)
	within(t, "cgroup.cpu", grown(t, o.Series, "cgroup.cpu"), o.CPU.Seconds(), 0.02)

	var busy, all float64
	for _, kind := range cpuKinds {
		v := grown(t, o.Series, kind)
		if all += v; busyKinds[kind] {
			busy += v
		}
	}
	t.Logf("busy %.3f s of %.3f s, others %.3f s", busy, all, o.Others)
	if busy < 0.97*o.CPU.Seconds() {
		t.Errorf("the machine was busy for %v s, and one process alone for %v", busy, o.CPU)
	}
	within(t, "cpu.*", all, o.Real.Seconds()*float64(online(t)), 0.1)
	if d := busy - o.CPU.Seconds(); math.Abs(o.Others-d) > 0.06 {
		t.Errorf("Others = %v, want %v", o.Others, d)
	}
}

// makeGroup makes a control group that counts processor time, and removes it.
func makeGroup(t *testing.T) string {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(mount, "cgroup.procs")); err != nil {
			continue
		}
		dir := filepath.Join(mount, fmt.Sprintf("monitor-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Fatal("no control groups are mounted")
	return ""
}

func online(t *testing.T) int {
	t.Helper()
	n := 0
	parseStat([]byte(procself.ReadText("/proc/stat")), func(metric string, v float64) {
		if metric == "cpu.cores" {
			n = int(v)
		}
	})
	return n
}

// TestTruthDisk writes to a loop device past the page cache: it shows as the
// volume that it is, to the byte.
func TestTruthDisk(t *testing.T) {
	needRoot(t, "losetup")
	device := makeLoop(t, 64<<20)
	r := New(Config{Volumes: map[string]string{"data": device, "folder": t.TempDir(), "gone": "/nowhere"}}).Start(t.Context())
	const blocks, block = 64, 256 << 10
	writeDirect(t, device, blocks, block)
	r.Stop()
	list := r.Series(time.Now())
	if got := grown(t, list, "volume.data.write_bytes"); got != blocks*block {
		t.Errorf("volume.data.write_bytes = %v, want %d", got, blocks*block)
	}
	if got := grown(t, list, "volume.data.writes"); got < blocks {
		t.Errorf("volume.data.writes = %v, want at least %d", got, blocks)
	}
	if got := grown(t, list, "volume.data.read_bytes"); got != 0 {
		t.Errorf("volume.data.read_bytes = %v, want 0", got)
	}
	for _, s := range list {
		if strings.HasPrefix(s.Metric, "volume.gone.") || strings.HasPrefix(s.Metric, "disk.loop") {
			t.Errorf("there is a series %s", s.Metric)
		}
	}
}

func makeLoop(t *testing.T, size int) (device string) {
	t.Helper()
	backing := filepath.Join(t.TempDir(), "backing")
	if err := os.WriteFile(backing, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", backing).CombinedOutput()
	if err != nil {
		t.Fatalf("losetup: %v: %s", err, out)
	}
	device = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup: %v: %s", err, out)
		}
	})
	return device
}

func writeDirect(t *testing.T, device string, blocks, size int) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, size+4096)
	aligned := raw[4096-int(uintptr(unsafe.Pointer(&raw[0]))%4096):][:size]
	for range blocks {
		if _, err := f.Write(aligned); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTruthNetwork sends between two network namespaces: both ends show the
// bytes, with some percent for headers, and neither shows anything else.
func TestTruthNetwork(t *testing.T) {
	needRoot(t, "ip", "nsenter")
	server, client := spawn(t, "receive", syscall.CLONE_NEWNET), spawn(t, "send", syscall.CLONE_NEWNET)
	join(t, server.cmd.Process.Pid, client.cmd.Process.Pid)
	server.tell(t, "")
	if line, err := server.stderr.ReadString('\n'); err != nil || line != "listening\n" {
		t.Fatalf("the server said %q, %v", line, err)
	}
	client.tell(t, "10.99.0.1")
	sent, received := client.observed(t), server.observed(t)
	if sent.Bytes != sendBytes || received.Bytes != sendBytes {
		t.Fatalf("sent %d and received %d bytes, want %d", sent.Bytes, received.Bytes, sendBytes)
	}
	about := func(list []model.HostSeries, metric string) {
		t.Helper()
		got := grown(t, list, metric)
		t.Logf("%s = %.0f for %d", metric, got, sendBytes)
		if got < sendBytes || got > 1.1*sendBytes {
			t.Errorf("%s = %v, want from %d to 1.1 times that", metric, got, sendBytes)
		}
	}
	about(sent.Series, "net.tx_bytes")
	about(received.Series, "net.rx_bytes")
	if got := grown(t, sent.Series, "net.rx_bytes"); got > sendBytes/10 {
		t.Errorf("the sender's net.rx_bytes = %v, want only acknowledgements", got)
	}
	if got := grown(t, sent.Series, "tcp.segments_out"); got < 10 {
		t.Errorf("the sender's tcp.segments_out = %v, want some", got)
	}
}

// join connects the namespaces of two processes: 10.99.0.1 and 10.99.0.2.
func join(t *testing.T, server, client int) {
	t.Helper()
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
		}
	}
	inside := func(pid int, args ...string) {
		t.Helper()
		run("nsenter", append([]string{"--net=/proc/" + fmt.Sprint(pid) + "/ns/net", "ip"}, args...)...)
	}
	// Made inside one namespace, the pair never shows in the test's own.
	inside(server, "link", "add", "va", "type", "veth", "peer", "name", "vb", "netns", fmt.Sprint(client))
	for _, end := range []struct {
		pid           int
		name, address string
	}{{server, "va", "10.99.0.1/24"}, {client, "vb", "10.99.0.2/24"}} {
		inside(end.pid, "address", "add", end.address, "dev", end.name)
		inside(end.pid, "link", "set", end.name, "up")
	}
}

// TestTruthQueues: all that was written and not read is in the queues.
func TestTruthQueues(t *testing.T) {
	needRoot(t, "ip")
	c := spawn(t, "queue", syscall.CLONE_NEWNET)
	c.tell(t, "")
	o := c.observed(t)
	if o.Bytes == 0 || o.Queues[0]+o.Queues[1] != uint64(o.Bytes) {
		t.Errorf("send and receive queues hold %d bytes, want %d together", o.Queues, o.Bytes)
	}
	if o.Queues[0] == 0 || o.Queues[1] == 0 {
		t.Errorf("send and receive queues hold %d bytes, want some in each", o.Queues)
	}
}

// TestThisMachine: a machine with this kernel has what every machine has, and
// nothing that is not listed; values are plausible.
func TestThisMachine(t *testing.T) {
	r := New(Config{Step: 50 * time.Millisecond}).Start(t.Context())
	waitRows(t, r, 4)
	r.Stop()
	list := r.Series(time.Now())
	defs := map[string]Metric{}
	for _, m := range Metrics() {
		defs[m.Name] = m
	}
	have := map[string]bool{}
	for _, s := range list {
		have[s.Metric] = true
		if m, ok := defs[pattern(s.Metric)]; !ok || m.Unit != s.Unit || m.Counter != s.Counter {
			t.Errorf("%s has unit %q, counter %v; listed is %+v", s.Metric, s.Unit, s.Counter, m)
		}
		checkSeries(t, s)
	}
	for _, name := range []string{"cpu.user", "cpu.idle", "cpu.cores", "sched.switches", "memory.available",
		"memory.major_faults", "net.rx_bytes", "tcp.established", "tcp.send_queue", "tcp.retransmits"} {
		if !have[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// waitRows returns when there are so many readings.
func waitRows(t *testing.T, r *recording.Recording, n int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); ; {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("there are not %d readings after 10 s", n)
		}
		longest := 0
		for _, s := range r.Series(time.Now()) {
			longest = max(longest, len(s.Values))
		}
		if longest >= n {
			return
		}
	}
}

func checkSeries(t *testing.T, s model.HostSeries) {
	t.Helper()
	if len(s.Offsets) != len(s.Values) || len(s.Values) == 0 {
		t.Fatalf("%s has %d offsets and %d values", s.Metric, len(s.Offsets), len(s.Values))
	}
	for i, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Errorf("%s is %v at point %d", s.Metric, v, i)
		}
		if i > 0 && (s.Offsets[i] <= s.Offsets[i-1] || (s.Counter && v < s.Values[i-1])) {
			t.Errorf("%s goes back at point %d", s.Metric, i)
		}
	}
	if s.Counter && s.Values[0] != 0 {
		t.Errorf("%s begins at %v, want 0", s.Metric, s.Values[0])
	}
}
