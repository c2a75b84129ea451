package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
)

// smallDisk mounts a small file system where an installation has its data.
func smallDisk(t *testing.T, w *installation) string {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must run this test as root: it mounts a small file system")
		}
		t.Skip("mounting a small file system needs root")
	}
	disk := filepath.Join(w.Dir, "server")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, disk)
	t.Cleanup(func() {
		w.Stop()
		w.Agents, w.Server = nil, nil
	})
	return disk
}

func mountSmall(t *testing.T, folder string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
}

// fullDiskExperiment has enough steps for a disk to fill and empty between.
const fullDiskExperiment = `
name: full
fleet: {local: {nodes: 2}}
workloads:
  - {kind: cpu, threads: 1, duration: 300ms}
trials: 3
`

// TestDiskFull fills the disk under a server, its store and the agents of its
// fleet in mid-run. People are told once, no node is blamed, and the run goes on
// when there is room, without another attempt at anything.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := install(t)
	disk := smallDisk(t, w)
	p := w.Start("run", w.Write("full.yaml", fullDiskExperiment))
	p.Await(t, "[2/9]")
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	p.Await(t, "the disk is nearly full")
	// What is under way now meets a disk that is full.
	time.Sleep(3 * time.Second) //nolint:forbidigo // nothing may happen in it
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the run ended with %d:\n%s", code, p.Log())
	}
	d := w.Data("latest")
	program.CheckComplete(t, d)
	for _, s := range d.Steps {
		if s.Attempt != 1 {
			t.Errorf("step %s took %d attempts, want 1", s.ID, s.Attempt)
		}
	}
	problems := 0
	for _, line := range strings.Split(p.Log(), "\n") {
		// Where agents see the full disk before the run pauses, each says so once.
		if (strings.Contains(line, "! ") || strings.Contains(line, "level=")) && !strings.Contains(line, "waits: its disk is full") {
			problems++
		}
	}
	if problems != 1 || !strings.Contains(p.Log(), "there is room again") {
		t.Errorf("%d lines tell of problems, want one, and that there is room again:\n%s", problems, p.Log())
	}
}

// TestStopOnFullDisk: what is told to stop does, in time, also where the disk is
// full and a task ignores it; and the run can be resumed.
func TestStopOnFullDisk(t *testing.T) {
	t.Parallel()
	w := install(t)
	disk := smallDisk(t, w)
	begun, goOn := filepath.Join(w.Dir, "begun"), filepath.Join(w.Dir, "go")
	stubborn := fmt.Sprintf("fleet: {local: {nodes: 2}}\nevaluations: [parallel]\nworkloads: [{kind: command, command: %q}]\n",
		"touch "+begun+"; trap '' TERM; while [ ! -e "+goOn+" ]; do sleep 0.1; done")
	p := w.Start("run", w.Write("stubborn.yaml", stubborn))
	w.Poll("the task", func() bool { _, err := os.Stat(begun); return err == nil })
	fill(t, filepath.Join(disk, "filler"))
	p.Await(t, "the disk is nearly full")
	told := time.Now()
	p.Leave(t)
	if took := time.Since(told); took > 10*time.Second { // five, and what a busy machine adds
		t.Errorf("it took %v to stop", took)
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(p.Log(), "continues the run") {
		t.Errorf("it ended with %d, want 130, and how to go on:\n%s", code, p.Log())
	}
	program.AwaitNobody(t, w.Dir)
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	w.Write("go", "")
	w.Run("resume", "latest")
	program.CheckComplete(t, w.Data("latest"))
}

// TestReadOnlyData: what was measured can be read where nothing can be written.
func TestReadOnlyData(t *testing.T) {
	t.Parallel()
	w := install(t)
	disk := smallDisk(t, w)
	w.Run("run", w.Write("e.yaml",
		"name: kept\nfleet: {local: {nodes: 1}}\nevaluations: [serial]\nworkloads: [{kind: command, command: echo 7}]\n"))
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(w.Dir, "page.html")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"runs"}, "kept"},
		{[]string{"show", "latest"}, "done"},
		{[]string{"logs", "latest"}, "7"},
		{[]string{"report", "latest", "-o", page}, page},
	} {
		if out := w.Run(c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%v: no %q in\n%s", c.args, c.want, out)
		}
	}
	_, stderr, err := w.Try("run", filepath.Join(w.Dir, "e.yaml"))
	if err == nil || !strings.Contains(stderr, "read-only") {
		t.Errorf("run: %v, want that nothing can be written:\n%s", err, stderr)
	}
}

// fill writes until there is no space left.
func fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the disk is full on purpose
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		block := []byte(strings.Repeat("x", size))
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
	}
}

// TestReadFullDisk: what was measured can be read where not a byte can be
// written.
func TestReadFullDisk(t *testing.T) {
	t.Parallel()
	w := install(t)
	disk := smallDisk(t, w)
	w.Run("run", w.Write("e.yaml",
		"name: kept\nfleet: {local: {nodes: 1}}\nevaluations: [serial]\nworkloads: [{kind: command, command: echo 7}]\n"))
	fill(t, filepath.Join(disk, "filler"))
	if out := w.Run("runs"); !strings.Contains(out, "kept") {
		t.Errorf("runs: no %q in\n%s", "kept", out)
	}
	_, stderr, err := w.Try("run", filepath.Join(w.Dir, "e.yaml"))
	if err == nil || !strings.Contains(stderr, "full") && !strings.Contains(stderr, "no space left") {
		t.Errorf("run: %v, want that the disk is full:\n%s", err, stderr)
	}
}

// TestStopWithAResultAndNoRoom: an agent that is told to stop while its disk has
// no room for the result that it has delivers that, and its task is not lost.
func TestStopWithAResultAndNoRoom(t *testing.T) {
	t.Parallel()
	w := install(t)
	smallDisk(t, w)
	agents, begun := filepath.Join(w.Dir, "agents"), filepath.Join(w.Dir, "begun")
	if err := os.Mkdir(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, agents)
	w.StartServer()
	w.StartAgent("n1")
	p := w.Start("run", w.Write("e.yaml",
		fmt.Sprintf("fleet: {agents: {count: 1}}\nevaluations: [serial]\nretries: {lost: 0}\n"+
			"workloads: [{kind: command, command: %q}]\n",
			"touch "+begun+"; while [ ! -e "+begun+".go ]; do sleep 0.1; done; echo 7")))
	w.Poll("the task", func() bool { _, err := os.Stat(begun); return err == nil })
	fill(t, filepath.Join(agents, "filler"))
	w.Write("begun.go", "")
	p.Await(t, "node n1 waits: its disk is full")
	w.Agents["n1"].Leave(t)
	<-p.Ended
	d := w.Data("latest")
	program.CheckComplete(t, d)
	if len(d.Results) != 1 || d.Results[0].Attempt != 1 {
		t.Errorf("%d results, want that of the first attempt", len(d.Results))
	}
}
