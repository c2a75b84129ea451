package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// helperEnv makes the test binary one of the programs below instead.
const helperEnv = "SCALEBENCH_LAB_HELPER"

func TestMain(m *testing.M) {
	switch name := os.Getenv(helperEnv); name {
	case "":
		goleak.VerifyTestMain(m)
	case "spin":
		spin(2 * time.Second)
	case "write":
		exit(writeDirect(os.Args[1]))
	case "up":
		exit(upUntilKilled(os.Args[1], os.Args[2], os.Args[3]))
	case "check":
		err := Check()
		fmt.Println(errors.Is(err, model.ErrDenied), err)
	case "allocate":
		exit(allocate(128 << 20))
	default:
		exit(fmt.Errorf("no helper %q", name))
	}
}

// processesOf lists the processes in the groups of a lab.
func processesOf(m Manifest) (pids []int) {
	for _, dir := range cgroup.Tree(m.Cgroups...) {
		in, _ := cgroup.Members(dir) // a group that is gone has none
		pids = append(pids, in...)
	}
	return pids
}

// exit ends a helper.
func exit(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// helper is this binary as another program.
func helper(t *testing.T, name string, args ...string) Process {
	t.Helper()
	return Process{
		Args:    append([]string{"/proc/self/exe"}, args...),
		Environ: append(os.Environ(), helperEnv+"="+name),
	}
}

// spin keeps one processor busy for a time and prints the share of it that it
// got.
func spin(wall time.Duration) {
	used := func() time.Duration {
		var ru syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
		return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	began, before := time.Now(), used()
	for time.Since(began) < wall {
		for i := range 1000 {
			_ = strconv.Itoa(i)
		}
	}
	fmt.Print((used() - before).Seconds() / time.Since(began).Seconds())
}

// writeDirect writes pages to a file or device for two seconds and prints how
// many there were per second. The kernel lets through what is due for a tenth
// of a second at once and then makes the next write wait; so the seconds are
// counted from one that waited to another. The first half second is not
// counted: it has what the limit saved up.
func writeDirect(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|unix.O_DIRECT, 0o600)
	if err != nil {
		return err
	}
	page, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := layOutPages(f, page); err != nil {
		return err
	}
	const waited, warm, long, never = 40 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second
	began := time.Now()
	var from time.Time
	for n := 0; time.Since(began) < never; n++ {
		before := time.Now()
		if _, err := f.WriteAt(page, int64(n%pages)*pageSize); err != nil {
			return err
		}
		now := time.Now()
		switch slow := now.Sub(before) > waited; {
		case slow && from.IsZero() && now.Sub(began) > warm:
			from, n = now, 0
		case slow && !from.IsZero() && now.Sub(from) > long:
			fmt.Print(float64(n) / now.Sub(from).Seconds())
			return nil
		}
	}
	return fmt.Errorf("no write had to wait %v: there is no limit", waited)
}

const pages = 256

// layOutPages writes each page once, and to disk, with what the file system
// has to note about that.
func layOutPages(f *os.File, page []byte) error {
	for i := range int64(pages) {
		if _, err := f.WriteAt(page, i*pageSize); err != nil {
			return err
		}
	}
	return f.Sync()
}

// allocate uses memory.
func allocate(bytes int) error {
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < len(m); i += pageSize {
		m[i] = 1
	}
	return nil
}

// smallLab has one of everything.
func smallLab(id, dir string) Config {
	return Config{
		ID: id, StateDir: dir + "/state", VolumeDir: dir + "/volumes",
		Spec: Spec{
			Nodes:  1,
			Limits: Limits{Link: unit.Rate{Value: 1e8, Base: unit.Bits}, CPU: 0.5, Memory: 64 * unit.MiB},
			Uplink: unit.Rate{Value: 1e9, Base: unit.Bits},
			Volumes: []Volume{
				{Name: "data", Type: Ext4, Size: 16 * unit.MiB, IOPS: 300},
				{Name: "disk", Type: Raw, Size: 16 * unit.MiB, Shared: true},
				{Name: "plain", Type: Folder},
			},
		},
		// It writes slowly to its limited volume, and does not end by itself.
		Services: []Service{{Name: "busy", Command: "while :; do dd if=/dev/zero of=f bs=4k count=100 oflag=sync; done", Limits: Limits{Use: []string{"data"}}}},
	}
}

// upUntilKilled builds a lab and is killed, without a chance to do anything
// about it, as it logs its n-th message: a step was done then.
func upUntilKilled(id, dir, message string) error {
	n, err := strconv.Atoi(message)
	if err != nil {
		return err
	}
	cfg := smallLab(id, dir)
	cfg.Log = slog.New(&suicide{left: n})
	_, err = Up(context.Background(), cfg)
	return err
}

// suicide is a log that kills the process at a message.
type suicide struct{ left int }

func (s *suicide) Enabled(context.Context, slog.Level) bool { return true }
func (s *suicide) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s *suicide) WithGroup(string) slog.Handler            { return s }

func (s *suicide) Handle(context.Context, slog.Record) error {
	if s.left--; s.left <= 0 {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
	return nil
}

// needLab skips a test where no lab can be built, but never in CI.
func needLab(t *testing.T) {
	t.Helper()
	err := Check()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// up builds a lab that is removed with the test, and shows that nothing is
// left of it then.
func up(t *testing.T, cfg Config) *Lab {
	t.Helper()
	needLab(t)
	if cfg.StateDir == "" {
		cfg.StateDir, cfg.VolumeDir = t.TempDir(), t.TempDir()
	}
	t.Cleanup(func() { checkGone(t, cfg) })
	l, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// output runs a program on a host and returns what it printed.
func output(t *testing.T, l *Lab, host model.NodeID, p Process) string {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = out, out
	cmd, err := l.Start(t.Context(), host, p)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	text, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Fatalf("%v on %s: %v\n%s", p.Args, host, err, text)
	}
	return string(text)
}

// asNobody runs a helper without any rights.
func asNobody(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperEnv+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
