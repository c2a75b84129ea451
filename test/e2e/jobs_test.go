package e2e_test

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
)

// paperNodes are the nodes that the job files of the paper name.
var paperNodes = []string{"172.31.0.20", "172.31.0.21", "172.31.0.22"}

func paperWorld(t *testing.T) *installation {
	t.Helper()
	w := install(t)
	w.StartServer()
	for _, n := range paperNodes {
		w.StartAgent(n)
	}
	w.AwaitNodes(len(paperNodes))
	return w
}

// TestPaperJobs submits the files of Fig. 2 and Fig. 3 as they are printed.
// Their commands may not be installed here; that they were run, in order and
// each on its node, is what counts.
func TestPaperJobs(t *testing.T) {
	t.Parallel()
	w := paperWorld(t)

	_, _, _ = w.Try("submit", program.ExampleFile("paper-fig2.json")) // fails without ifconfig
	d := w.Data("latest")
	ran := make(map[model.NodeID][]string)
	for _, s := range d.Steps {
		for _, task := range s.Tasks {
			ran[task.Node] = append(ran[task.Node], task.Spec.Params["command"].(string))
		}
	}
	for _, n := range paperNodes {
		want := "df -h"
		if n == "172.31.0.20" {
			want = "df -h|ifconfig"
		}
		if got := strings.Join(ran[model.NodeID(n)], "|"); got != want {
			t.Errorf("node %s ran %q, want %q", n, got, want)
		}
	}
	for _, r := range d.Accepted() {
		if r.ExitCode == nil {
			t.Errorf("task %s on %s: no exit code (%s %s)", r.Task, r.Node, r.Outcome, r.Error)
		}
	}
	if n := len(d.Accepted()); n != 4 {
		t.Errorf("%d results, want 4", n)
	}

	_, stderr, err := w.Try("submit", program.ExampleFile("paper-fig3.json")) // nettest.sh is nowhere
	for _, want := range []string{"2 jobs failed", "scalebench logs 0"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr = %q, want %q in it", stderr, want)
		}
	}
	d = w.Data("latest")
	if got := len(d.Accepted()); got != 2 || err == nil {
		t.Errorf("fig. 3: %d results, error %v; want 2 failed jobs", got, err)
	}
	for _, r := range d.Accepted() {
		if r.Outcome != model.OutcomeFailed || !strings.Contains(r.Stderr.Text, "nettest.sh") {
			t.Errorf("fig. 3 on %s: %s, stderr %q; want failed, and why", r.Node, r.Outcome, r.Stderr.Text)
		}
	}
}

// TestJobsUseAShell: cd, ~ and * work, jobs run in order, and PATH is path.
func TestJobsUseAShell(t *testing.T) {
	t.Parallel()
	w := paperWorld(t)
	w.Run("submit", w.Write("jobs.json", `{"testName": "shell", "jobs": [
		{"node": "172.31.0.21", "path": "/usr/bin:/bin",
		 "command": "d=`+w.Dir+`/made; mkdir $d && cd $d && touch a1 a2 && echo $PATH"},
		{"node": "172.31.0.21", "path": "/usr/bin:/bin", "command": "cd `+w.Dir+`/made && echo * ~"}]}`))
	got := w.Run("logs", "latest")
	for _, want := range []string{"shell, job 2 (cd ", "/usr/bin:/bin\n", "a1 a2 /"} {
		if !strings.Contains(got, want) {
			t.Errorf("logs = %q, want %q in them", got, want)
		}
	}
}

// TestJobForNobody: a node that does not exist is an error at submit time that
// names the nodes that do; nothing is run.
func TestJobForNobody(t *testing.T) {
	t.Parallel()
	w := paperWorld(t)
	file := w.Write("jobs.json", `{"jobName": "x", "jobs": [{"node": "172.31.0.99", "path": "/bin", "command": "true"}]}`)
	_, stderr, err := w.Try("submit", file)
	if err == nil {
		t.Fatal("submit succeeded")
	}
	for _, want := range append([]string{"jobs.json:1:", "172.31.0.99"}, paperNodes...) {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr = %q, want %q in it", stderr, want)
		}
	}
	if runs := w.Run("runs"); !strings.Contains(runs, "No runs yet") {
		t.Errorf("runs = %q, want none", runs)
	}
}
