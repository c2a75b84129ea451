package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
)

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
	program.NeedLab(t)
	w := install(t)
	_, stderr, err := w.Try("run", w.Write("lab.yaml", wholeLab+`
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
	d := w.Data("latest")
	program.CheckComplete(t, d)
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
	program.CheckNothing(t, program.LabName(t, stderr))
	program.AwaitNobody(t, w.Dir)
}

// startLabRun begins a run that would take long, and returns when its task is
// at work.
func (w *installation) startLabRun() (p *program.Process, id string) {
	w.T.Helper()
	mark := filepath.Join(w.Dir, "mark")
	p = w.Start("run", w.Write("lab.yaml", wholeLab+`
workloads: [{kind: command, command: "touch `+mark+`; sleep 600 & sleep 600"}]
evaluations: [parallel]
`))
	w.Poll("the task to begin", func() bool { _, err := os.Stat(mark); return err == nil })
	id = program.LabName(w.T, p.Log())
	for _, part := range []string{"/run/netns/", lab.DefaultStateDir, lab.DefaultVolumeDir, "/sys/fs/cgroup", "/sys/block/loop", "mountinfo"} {
		if found := strings.Join(program.Traces(w.T, id), "\n"); !strings.Contains(found, part) {
			w.T.Errorf("of lab %s, which is up, there is nothing in %s; the test sees only:\n%s", id, part, found)
		}
	}
	return p, id
}

// TestLabInterrupted: Ctrl-C removes everything before the command ends.
func TestLabInterrupted(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	p, id := w.startLabRun()
	if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	if code := p.Cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code = %d, want 130; log:\n%s", code, p.Log())
	}
	program.CheckNothing(t, id)
	program.AwaitNobody(t, w.Dir)
}

// TestLabKilled: after kill -9 of the server, or of everything at once, the
// next command that starts a server leaves nothing of the lab.
func TestLabKilled(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	for _, victim := range []string{"server", "everything"} {
		t.Run(victim, func(t *testing.T) {
			w := install(t)
			p, id := w.startLabRun()
			if victim == "everything" {
				w.KillAll(id, p)
			}
			p.Kill()
			if out := w.Run("lab", "list"); !strings.Contains(lineWith(out, id), "left over") {
				t.Errorf("lab list = %q, want %s left over", out, id)
			}
			// A run of anything at all; it is another one than the one cut off.
			w.Run("run", w.Write("local.yaml",
				"fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: echo}]\nevaluations: [serial]\n"))
			program.CheckNothing(t, id)
			program.AwaitNobody(t, w.Dir)
		})
	}
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
	program.NeedLab(t)
	w := install(t)
	down, on := filepath.Join(w.Dir, "down"), filepath.Join(w.Dir, "on")
	p := w.Start("run", w.Write("lab.yaml", `
fleet: {lab: {nodes: 1}}
workloads: [{kind: command, command: "touch `+down+`; while [ ! -e `+on+` ]; do sleep 0.1; done; cat /sys/class/net/eth0/operstate; ip -o link show eth0"}]
evaluations: [serial]
`))
	w.Poll("the task to begin", func() bool { _, err := os.Stat(down); return err == nil })
	standing, err := lab.Open(lab.DefaultStateDir, program.LabName(t, p.Log()))
	if err != nil {
		t.Fatal(err)
	}
	if err := program.SetLink(standing, "down"); err != nil {
		t.Fatal(err)
	}
	w.Write("on", "")
	<-p.Ended
	d := w.Data("latest")
	program.CheckComplete(t, d)
	if out := d.Results[0].Stdout.Text; !strings.Contains(out, "NO-CARRIER") {
		t.Errorf("the link was not down: %q", out)
	}
}

// TestLabServiceEnds: a run whose service dies ends at once and says why.
func TestLabServiceEnds(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	mark := filepath.Join(w.Dir, "mark")
	_, stderr, err := w.Try("run", w.Write("lab.yaml", `
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
	d := w.Data("latest")
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
	program.CheckNothing(t, program.LabName(t, stderr))
}

// TestLabServiceFails: a service that never comes up ends the run with its
// last words.
func TestLabServiceFails(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	_, stderr, err := w.Try("run", w.Write("lab.yaml", `
fleet: {lab: {nodes: 1}}
services: [{name: web, port: 80, command: "echo no configuration; exit 7"}]
workloads: [{kind: command, command: "true"}]
`))
	if err == nil || !strings.Contains(stderr, "exit status 7") || !strings.Contains(stderr, "no configuration") {
		t.Errorf("run = %v, %q, want the exit code and the last lines of the service", err, stderr)
	}
	program.CheckNothing(t, program.LabName(t, stderr))
}
