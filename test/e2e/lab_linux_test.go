package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// traces lists everything on this machine that names a lab: what another lab
// that happens to be here made is not among it.
func traces(t testing.TB, id string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{
		"/run/netns/scalebench-" + id + "*", lab.DefaultStateDir + "/" + id + "*", lab.DefaultVolumeDir + "/" + id,
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	out = append(out, cgroupsOf(id)...)
	loops, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(loops, "/proc/self/mountinfo") {
		text, _ := os.ReadFile(file) // a device may go between listing and reading
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "/"+id+"/") {
				out = append(out, file+": "+strings.TrimSpace(line))
			}
		}
	}
	return out
}

// checkNothing fails if anything is left of a lab.
func checkNothing(t testing.TB, id string) {
	t.Helper()
	if left := traces(t, id); len(left) > 0 {
		t.Errorf("left of lab %s:\n%s", id, strings.Join(left, "\n"))
	}
}

var labNameRE = regexp.MustCompile(`lab ([a-z0-9]{6})\b`)

// labName finds the lab's name in what a command said.
func labName(t testing.TB, text string) string {
	t.Helper()
	m := labNameRE.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no lab is named in:\n%s", text)
	}
	return m[1]
}

// wholeLab has everything that must go again: groups, links, volumes of each
// type, and a service.
const wholeLab = `
fleet:
  lab:
    cpu: 1
    link: 100Mbit/s
    memory: 256MiB
    volumes:
      - {name: own, size: 32MiB, iops: 1000}
      - {name: all, size: 32MiB, shared: true}
      - {name: raw, type: raw, size: 16MiB}
      - {name: dir, type: folder}
    groups: [{name: a, nodes: 2, uplink: 50Mbit/s}, {name: b, nodes: 1}]
services:
  - {name: web, port: 7007, command: "exec python3 -m http.server --bind $SCALEBENCH_ADDRESS 7007"}
`

// TestLabRun: each node has its own address, the service and its volumes, and
// nothing is left when the run is over.
func TestLabRun(t *testing.T) {
	t.Parallel()
	needLab(t)
	w := newWorld(t)
	_, stderr, err := w.try("run", w.write("lab.yaml", wholeLab+`
workloads:
  - kind: command
    command: |
      ip -4 -o addr show dev eth0 | awk '{print $4}'
      python3 -c "import socket; socket.create_connection(('${service.web}', 7007)); print('reached')"
evaluations: [serial]
`))
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	d := w.data("latest")
	checkComplete(t, d)
	got := make(map[model.NodeID]string)
	for _, r := range d.Accepted() {
		got[r.Node] = r.Stdout.Text
	}
	want := map[model.NodeID]string{
		"lab-a-1": "10.213.1.1/16\nreached\n", "lab-a-2": "10.213.1.2/16\nreached\n", "lab-b-1": "10.213.2.1/16\nreached\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the nodes saw (-want +got):\n%s", diff)
	}
	for _, n := range d.Nodes {
		if n.Labels[model.LabelFleet] != model.FleetLab || !strings.HasPrefix(string(n.ID), "lab-"+n.Labels[model.LabelGroup]+"-") {
			t.Errorf("labels of %s = %v, want its fleet and group", n.ID, n.Labels)
		}
		if diff := cmp.Diff(strings.SplitN(want[n.ID], "/", 2)[:1], n.Facts.Addresses); diff != "" {
			t.Errorf("addresses of %s (-want +got):\n%s", n.ID, diff)
		}
	}
	checkNothing(t, labName(t, stderr))
	awaitNobody(t, w.dir)
}

// startLabRun begins a run that would take long, and returns when its task is
// at work.
func (w *world) startLabRun() (p *proc, id string) {
	w.t.Helper()
	mark := filepath.Join(w.dir, "mark")
	p = w.start("run", w.write("lab.yaml", wholeLab+`
workloads: [{kind: command, command: "touch `+mark+`; sleep 600 & sleep 600"}]
evaluations: [parallel]
`))
	w.poll("the task to begin", func() bool { _, err := os.Stat(mark); return err == nil })
	id = labName(w.t, p.log())
	for _, part := range []string{"/run/netns/", lab.DefaultStateDir, lab.DefaultVolumeDir, "/sys/fs/cgroup", "/sys/block/loop", "mountinfo"} {
		if found := strings.Join(traces(w.t, id), "\n"); !strings.Contains(found, part) {
			w.t.Errorf("of lab %s, which is up, there is nothing in %s; the test sees only:\n%s", id, part, found)
		}
	}
	return p, id
}

// TestLabInterrupted: Ctrl-C removes everything before the command ends.
func TestLabInterrupted(t *testing.T) {
	t.Parallel()
	needLab(t)
	w := newWorld(t)
	p, id := w.startLabRun()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code = %d, want 130; log:\n%s", code, p.log())
	}
	checkNothing(t, id)
	awaitNobody(t, w.dir)
}

// TestLabKilled: after kill -9 of the server, or of everything at once, the
// next command that starts a server leaves nothing of the lab.
func TestLabKilled(t *testing.T) {
	t.Parallel()
	needLab(t)
	for _, victim := range []string{"server", "everything"} {
		t.Run(victim, func(t *testing.T) {
			w := newWorld(t)
			p, id := w.startLabRun()
			if victim == "everything" {
				w.killAll(id, p)
			}
			p.kill()
			if out := w.run("lab", "list"); !strings.Contains(lineWith(out, id), "left over") {
				t.Errorf("lab list = %q, want %s left over", out, id)
			}
			// A run of anything at all; it is another one than the one cut off.
			w.run("run", w.write("local.yaml", "fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: echo}]\nevaluations: [serial]\n"))
			checkNothing(t, id)
			awaitNobody(t, w.dir)
		})
	}
}

// killAll kills every process of a lab, and its server, at once as a power cut would. It
// returns the folders of the services that ran.
func (w *world) killAll(id string, server *proc) []string {
	w.t.Helper()
	groups := cgroupsOf(id)
	if len(groups) == 0 {
		w.t.Fatalf("lab %s has no cgroups", id)
	}
	var all []int // agents, their tasks, and services in groups of their own below
	for _, g := range groups {
		_ = filepath.WalkDir(g, func(path string, d fs.DirEntry, err error) error {
			pids, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")) // agents may be gone by themselves, and v1 groups with them
			for _, pid := range strings.Fields(string(pids)) {
				if n, err := strconv.Atoi(pid); err == nil {
					all = append(all, n)
				}
			}
			return nil
		})
	}
	slices.Sort(all)
	all = slices.Compact(all)
	// All stand still before the first one dies: one that sees another end removes what
	// that one has, and so does an agent when its task ends.
	signal := func(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) } // it may be gone by itself
	signal(server.cmd.Process.Pid, syscall.SIGSTOP)
	for _, pid := range all {
		signal(pid, syscall.SIGSTOP)
	}
	left := foldersOf(w.t, all)
	signal(server.cmd.Process.Pid, syscall.SIGKILL)
	for _, pid := range all {
		signal(pid, syscall.SIGKILL)
	}
	if len(all) == 0 {
		w.t.Error("no process was killed; the test proves nothing")
	}
	for _, pid := range all {
		w.poll(fmt.Sprintf("process %d to end", pid), func() bool { p, err := procself.ReadProcess(pid); return err != nil || p.Zombie })
	}
	return left
}

// cgroupsOf lists the cgroups of a lab, one in each hierarchy.
func cgroupsOf(id string) []string {
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == id {
			out = append(out, path)
		}
		return nil // other groups come and go
	})
	return out
}

// lineWith returns the line that holds a word.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}

// TestLabControl: heartbeats and results do not travel over the lab's links.
// With the link of a node down, its task still ends well.
func TestLabControl(t *testing.T) {
	t.Parallel()
	needLab(t)
	w := newWorld(t)
	down, on := filepath.Join(w.dir, "down"), filepath.Join(w.dir, "on")
	p := w.start("run", w.write("lab.yaml", `
fleet: {lab: {nodes: 1}}
workloads: [{kind: command, command: "touch `+down+`; while [ ! -e `+on+` ]; do sleep 0.1; done; cat /sys/class/net/eth0/operstate; ip -o link show eth0"}]
evaluations: [serial]
`))
	w.poll("the task to begin", func() bool { _, err := os.Stat(down); return err == nil })
	standing, err := lab.Open(lab.DefaultStateDir, labName(t, p.log()))
	if err != nil {
		t.Fatal(err)
	}
	if err := setLink(standing, "down"); err != nil {
		t.Fatal(err)
	}
	w.write("on", "")
	<-p.ended
	d := w.data("latest")
	checkComplete(t, d)
	if out := d.Results[0].Stdout.Text; !strings.Contains(out, "NO-CARRIER") {
		t.Errorf("the link was not down: %q", out)
	}
}

// TestLabServiceEnds: a run whose service dies ends at once and says why.
func TestLabServiceEnds(t *testing.T) {
	t.Parallel()
	needLab(t)
	w := newWorld(t)
	mark := filepath.Join(w.dir, "mark")
	_, stderr, err := w.try("run", w.write("lab.yaml", `
fleet: {lab: {nodes: 1}}
services: [{name: web, command: "while [ ! -e `+mark+` ]; do sleep 0.1; done; echo out of cheese; exit 3"}]
workloads: [{kind: command, command: "touch `+mark+`; sleep 600"}]
evaluations: [serial]
`))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("run = %v, want exit code 1", err)
	}
	for _, want := range []string{"service web ended", "exit status 3", "out of cheese"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr = %q, want %q in it", stderr, want)
		}
	}
	d := w.data("latest")
	if d.Run.State != model.RunFailed || !strings.Contains(d.Run.Reason, "out of cheese") {
		t.Errorf("run is %s: %s, want failed and the last lines of the service", d.Run.State, d.Run.Reason)
	}
	found := false
	for _, e := range d.Events {
		found = found || e.Kind == model.EventServiceEnded && e.Severity == model.Problem
	}
	if !found {
		t.Errorf("events = %v, want one of kind %s", d.Events, model.EventServiceEnded)
	}
	checkNothing(t, labName(t, stderr))
}

// TestLabServiceFails: a service that never comes up ends the run with its
// last words.
func TestLabServiceFails(t *testing.T) {
	t.Parallel()
	needLab(t)
	w := newWorld(t)
	_, stderr, err := w.try("run", w.write("lab.yaml", `
fleet: {lab: {nodes: 1}}
services: [{name: web, port: 80, command: "echo no configuration; exit 7"}]
workloads: [{kind: command, command: "true"}]
`))
	if err == nil || !strings.Contains(stderr, "exit status 7") || !strings.Contains(stderr, "no configuration") {
		t.Errorf("run = %v, %q, want the exit code and the last lines of the service", err, stderr)
	}
	checkNothing(t, labName(t, stderr))
}
