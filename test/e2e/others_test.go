package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
)

// TestTwoCommands: a command that another one began to use as its server does
// not end before the other's run does.
func TestTwoCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := install(t)
	file := func(name, seconds string) string {
		return w.Write(name,
			"fleet: {local: {nodes: 1}}\nevaluations: [serial]\nworkloads: [{kind: command, command: sleep "+seconds+"}]\n")
	}
	first := w.Start("run", file("first.yaml", "2"))
	first.Await(t, "run ")
	second := w.Start("run", file("second.yaml", "1"))
	for _, p := range []*program.Process{first, second} {
		select {
		case <-p.Ended:
		case <-time.After(time.Minute):
			t.Fatalf("%v does not end:\n%s", p.Cmd.Args, p.Log())
		}
		if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%v: exit code %d:\n%s", p.Cmd.Args, code, p.Log())
		}
	}
	if !strings.Contains(first.Log(), "of another command") ||
		strings.Contains(second.Log(), "the server does not answer") {
		t.Errorf("the first said\n%s\nand the second\n%s", first.Log(), second.Log())
	}
}
