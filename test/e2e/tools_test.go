package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/skip"
)

// TestMissingTools: what the workloads need is looked for on every node before
// the first step, when the run begins and in the environment of its tasks. A run
// that lacks something fails before anything is measured, and says once what is
// missing where. What an earlier command may install is not looked for.
func TestMissingTools(t *testing.T) {
	skip.IfShort(t)
	t.Parallel()
	w := install(t)
	w.StartServer()
	bin := filepath.Join(w.Dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	install := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho 1\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	w.StartAgent("n1") // has sysbench
	w.Extra = []string{"PATH=" + bin, "BENCH_KEY=value"}
	token := strings.TrimSpace(w.Run("token"))
	w.StartAgentWith("n2", token)
	w.Extra = nil
	w.AwaitNodes(2)
	refuses := func(workloads string, want ...string) {
		t.Helper()
		stdout, stderr, err := w.Try("run",
			w.Write("tools.yaml", "fleet: {agents: {}}\nevaluations: [parallel]\nworkloads:\n"+workloads))
		d := w.Data("latest")
		if err == nil || d.Run.State != model.RunFailed || len(d.Results) > 0 || d.Steps[0].Attempt != 0 {
			t.Errorf("%s: %v, the run is %s with %d results, want it failed before its first step", workloads, err, d.Run.State, len(d.Results))
		}
		for _, text := range want {
			if strings.Count(stdout+stderr, text) != 1 || !strings.Contains(d.Run.Reason, text) {
				t.Errorf("%s: the reason is %q, want once %q; printed:\n%s%s", workloads, d.Run.Reason, text, stdout, stderr)
			}
		}
	}
	install("scalebench-only-n2")
	refuses(`
  - {kind: command, command: "iperf3 --version 2>&1 | head -n 1"}
  - {kind: sysbench}
  - {kind: command, name: own, command: scalebench-only-n2 --fast, pass_env: [BENCH_KEY]}
  - {kind: command, name: later, command: scalebench-no-such}
`, "iperf3, sysbench are missing on n2 (1 of 2 nodes); install them there: ",
		"scalebench-only-n2 is missing on n1 (1 of 2 nodes); install it there",
		"BENCH_KEY is not set in the environment of the agents on n1 (1 of 2 nodes)")
	if d := w.Data("latest"); strings.Contains(d.Run.Reason, "scalebench-no-such") {
		t.Errorf("the reason is %q, though an earlier command may install that", d.Run.Reason)
	}
	refuses(`  - {kind: unixbench, dir: /no/such, timeout: 2h}`, "/no/such/Run is missing on all 2 nodes; get UnixBench from ")

	const both = `  - {kind: command, command: scalebench-both, path: `
	refuses(both+bin+"}", "scalebench-both (on the PATH "+bin+") is missing on all 2 nodes; install it there")
	install("scalebench-both")
	w.Run("run", w.Write("tools.yaml", "fleet: {agents: {}}\nevaluations: [parallel]\nworkloads:\n"+both+bin+"}"))
	program.CheckComplete(t, w.Data("latest"))
}
