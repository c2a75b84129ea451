package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/test/program"
)

// TestTaskIsSentUntilItIsHeld: a task that got lost on the way is sent again by
// itself, and at once to an agent that says Hello without it. The same attempt
// comes, and its result completes the run.
func TestTaskIsSentUntilItIsHeld(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tok, err := identity.ParseToken(strings.TrimSpace(w.Run("token")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulated(ctx, tok, "sim")
	if err != nil {
		t.Fatal(err)
	}
	defer s.link.Close() //nolint:errcheck // the test is over
	live, leave := context.WithCancel(ctx)
	defer leave()
	go s.beat(live)
	id := strings.TrimSpace(w.Run("run", w.Write("one.yaml", `
name: one
fleet: {agents: {count: 1}}
workloads: [{kind: cpu, threads: 1, duration: 1s}]
evaluations: [parallel]
trials: 1
`), "--detach"))

	var first wire.Assignment
	for delivery, why := range []string{"sent", "lost on the way", "lost with the agent"} {
		d, err := s.link.Next(ctx)
		if err != nil || d.Refused != nil {
			t.Fatalf("%s: %v, %v", why, err, d.Refused)
		}
		as := d.Assignment
		if delivery == 0 {
			first = as
		}
		if as.Task != first.Task || as.Attempt != first.Attempt {
			t.Fatalf("%s: got %s#%d, want %s#%d again", why, as.Task, as.Attempt, first.Task, first.Attempt)
		}
		if delivery == 1 { // the agent had it, and is a new one now
			at := wire.Attempt{Task: as.Task, Attempt: as.Attempt}
			if err := s.link.Heartbeat(wire.Heartbeat{Node: "sim", Session: "s", Running: &at}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.link.Hello(ctx, wire.Hello{Session: "s", Node: model.Node{ID: "sim"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.perform(ctx, first); err != nil {
		t.Fatal(err)
	}
	d := w.AwaitRun(id, "over", program.IsOver)
	if d.Run.State != model.RunDone || len(d.Results) != 1 {
		t.Errorf("run is %s with %d results, want done with 1", d.Run.State, len(d.Results))
	}
}
