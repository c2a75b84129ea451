package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// unified makes a control group of version 2 below the top of what is mounted, with a
// controller that it has. Where both versions are mounted, that is one of those which
// version 1 left.
func unified(t *testing.T) (dir, controller string) {
	t.Helper()
	_, mounted, err := Own()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounted {
		all := strings.Fields(Read(m.Top, "cgroup.controllers"))
		if len(all) == 0 || os.Geteuid() != 0 {
			continue
		}
		controller := all[len(all)-1]
		if len(Lacking(m.Top, controller)) > 0 {
			if err := Enable(m.Top, controller); err != nil {
				continue
			}
			t.Cleanup(func() { _ = Write(m.Top, subtreeControl, "-"+controller) }) // another test may use it now
		}
		dir := filepath.Join(m.Top, "scalebench-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeAll(t, dir) })
		return dir, controller
	}
	t.Skip("needs root, and control groups of version 2 with a controller")
	return "", ""
}

// removeAll removes a group with all that is in it and below it.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if left, err := Kill(dir); err == nil && len(left) == 0 && Remove(dir) == nil {
			return
		}
	}
	t.Errorf("control group %s is left", dir)
}

// startIn starts a process in a group of version 2.
func startIn(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err := Start([]string{dir}, cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestPassOn: with version 2 the agent's own processes move so that groups below can
// have limits, and a service begins in its group; the processes of others stay.
func TestPassOn(t *testing.T) {
	dir, controller := unified(t)
	mine := startIn(t, dir, "sleep", "300")
	if err := PassOn(dir, controller); err != nil {
		t.Fatal(err)
	}
	if got, err := Members(filepath.Join(dir, "scalebench-agent")); err != nil || !slices.Equal(got, []int{mine.Process.Pid}) {
		t.Errorf("%v are in the agent's group, %v, want %d", got, err, mine.Process.Pid)
	}
	if got := Read(dir, subtreeControl); got != controller {
		t.Errorf("%q is passed on, want %s", got, controller)
	}
	below := Group{V2: dir}.Below("scalebench-db").V2
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	service := startIn(t, below, "sleep", "300")
	if got, err := Members(below); err != nil || !slices.Equal(got, []int{service.Process.Pid}) {
		t.Errorf("%v are in the service's group, %v, want %d", got, err, service.Process.Pid)
	}
	removeAll(t, below)
	_, _ = mine.Process.Kill(), service.Wait()
	_ = mine.Wait()
}

// TestPassOnOthers: where others are in the group, none is moved.
func TestPassOnOthers(t *testing.T) {
	dir, controller := unified(t)
	mine := startIn(t, dir, "sleep", "300")
	// An orphan is no descendant of this process.
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	other, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, "cgroup.procs", strconv.Itoa(other)); err != nil {
		t.Fatal(err)
	}
	err = PassOn(dir, controller)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(other)+" (sleep)") || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Errorf("PassOn = %v, want process %d named, and what to do", err, other)
	}
	in, err := Members(dir)
	if err != nil || !slices.Contains(in, other) || !slices.Contains(in, mine.Process.Pid) {
		t.Errorf("%v are in the group, %v, want %d and %d to have stayed", in, err, other, mine.Process.Pid)
	}
	_ = mine.Process.Kill()
	_ = mine.Wait()
}

// TestPassOnLacking: a controller that the group does not have is told, with what to do.
func TestPassOnLacking(t *testing.T) {
	dir, _ := unified(t)
	err := PassOn(dir, "nothing")
	if err == nil || !strings.Contains(err.Error(), subtreeControl) {
		t.Errorf("PassOn = %v, want the controller refused", err)
	}
}

// TestKillBelow: what is in groups below a group is killed with it, and they go with it.
func TestKillBelow(t *testing.T) {
	dir, _ := unified(t)
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	deep := startIn(t, below, "sleep", "300")
	ended := make(chan struct{})
	go func() { _ = deep.Wait(); close(ended) }() // it is killed
	if found, err := Kill(dir); err != nil || !slices.Equal(found, []int{deep.Process.Pid}) {
		t.Errorf("Kill = %v, %v, want [%d]", found, err, deep.Process.Pid)
	}
	<-ended
	removeAll(t, dir)
	if left, err := Kill(dir); err != nil || len(left) > 0 || len(Tree(dir)) > 0 {
		t.Errorf("left are %v in %v, %v, want nothing", left, Tree(dir), err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil { // it is removed at the end
		t.Fatal(err)
	}
}

// TestMayNotWrite: a thread with another user for the file system may not do
// what root may.
func TestMayNotWrite(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test gives its rights away, and has none")
	}
	top := t.TempDir()
	for file, text := range map[string]string{"cgroup.controllers": "cpuset cpu io memory", subtreeControl: "", "cgroup.procs": ""} {
		if err := os.WriteFile(filepath.Join(top, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	asNobody := func() error {
		return procself.OnThread(func() error {
			if _, err := unix.SetfsuidRetUid(65534); err != nil {
				return err
			}
			return Usable(top, "cpu", "memory", "io")
		})
	}
	if err := errors.Join(os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := asNobody(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Usable, without rights to the directory = %v, want permission denied", err)
	}
	if err := os.Chmod(top, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := asNobody(); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), subtreeControl) {
		t.Errorf("Usable, without rights to switch controllers on = %v, want permission denied", err)
	}
	if err := os.Chmod(filepath.Join(top, subtreeControl), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := asNobody(); err != nil {
		t.Errorf("Usable, with all rights = %v", err)
	}
}

// TestFind: the group of a process is below the part of a hierarchy that is mounted, and
// where its path leads out of that, at its top.
func TestFind(t *testing.T) {
	top := t.TempDir()
	if err := os.MkdirAll(filepath.Join(top, "box", "own"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ root, path, want string }{
		{"/", "/box/own", "/box/own"}, {"/", "/", ""}, {"/outer", "/outer/box", "/box"}, {"/outer", "/outer", ""},
		{"/outer", "/other/box", ""}, {"/outer", "/outerbox", ""}, {"/", "/../..", ""}, {"/", "/gone", ""},
	} {
		_, v2 := Find("29 22 0:26 "+c.root+" "+top+" rw - cgroup2 cgroup2 rw\n", "0::"+c.path+"\n")
		if want := (Mounted{top, top + c.want}); len(v2) != 1 || v2[0] != want {
			t.Errorf("of %s with %s mounted Find has %v, want %v", c.path, c.root, v2, want)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add("usage_usec 7\nnr_periods 1\nnr_throttled 1\nthrottled_usec 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		if used, did := parseStat([]byte(text)); used < 0 && used != -1 || did.Periods < 0 || did.Throttled < 0 || did.Seconds < 0 {
			t.Errorf("parseStat(%q) = %v, %+v", text, used, did)
		}
	})
}
