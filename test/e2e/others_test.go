package e2e_test

import (
	"strings"
	"testing"
	"time"
)

// TestTwoCommands: a command that another one began to use as its server does
// not end before the other's run does.
func TestTwoCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := newWorld(t)
	file := func(name, seconds string) string {
		return w.write(name, "fleet: {local: {nodes: 1}}\nevaluations: [serial]\nworkloads: [{kind: command, command: sleep "+seconds+"}]\n")
	}
	first := w.start("run", file("first.yaml", "2"))
	first.await(t, "run ")
	second := w.start("run", file("second.yaml", "1"))
	for _, p := range []*proc{first, second} {
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			t.Fatalf("%v does not end:\n%s", p.cmd.Args, p.log())
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%v: exit code %d:\n%s", p.cmd.Args, code, p.log())
		}
	}
	if !strings.Contains(first.log(), "of another command") || strings.Contains(second.log(), "the server does not answer") {
		t.Errorf("the first said\n%s\nand the second\n%s", first.log(), second.log())
	}
}
