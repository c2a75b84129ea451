package e2e_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
)

// TestLabCutOff: a node's link is taken down in mid-trial. That trial is
// invalid and not averaged in; the run goes on, and the other trial stands.
func TestLabCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	needLab(t)
	w := newWorld(t)
	p := w.start("run", w.write("lab.yaml", `
fleet: {lab: {nodes: 4, link: 50Mbit/s}}
workloads: [{kind: network, duration: 2s, warm_up: 300ms, stall: 3s}]
trials: 2
`))
	w.server = p
	defer func() { w.server = nil }()
	together := func(d model.RunData, trial int) *model.Step {
		for i, s := range d.Steps {
			if s.Phase == model.Parallel && s.Trial == trial {
				return &d.Steps[i]
			}
		}
		return nil
	}
	w.awaitRun("newest", "in the middle of its first parallel trial", func(d model.RunData) bool {
		s := together(d, 1)
		return s != nil && !s.StartAt.IsZero() && time.Since(s.StartAt) > time.Second
	})
	standing, err := lab.Open(lab.DefaultStateDir, labName(t, p.log()))
	if err != nil {
		t.Fatal(err)
	}
	if err := setLink(standing, "down"); err != nil {
		t.Fatal(err)
	}
	// The link returns before the next step can miss it.
	w.awaitRun("newest", "told of the failure", func(d model.RunData) bool {
		return slices.ContainsFunc(d.Results, func(r model.Result) bool {
			return r.Step == together(d, 1).ID && r.Outcome == model.OutcomeFailed
		})
	})
	if err := setLink(standing, "up"); err != nil {
		t.Fatal(err)
	}
	d := w.awaitRun("newest", "over", isOver)
	<-p.ended
	if d.Run.State != model.RunIncomplete || p.cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("the run is %s and the exit code %d, want incomplete and 4", d.Run.State, p.cmd.ProcessState.ExitCode())
	}
	cut := together(d, 1)
	if cut.State != model.StepInvalid || !strings.Contains(cut.Reason, "lab-") {
		t.Errorf("the trial that was cut is %s (%s), want invalid, with the node", cut.State, cut.Reason)
	}
	for _, s := range d.Steps {
		if s.ID != cut.ID && s.State != model.StepComplete {
			t.Errorf("step %s, trial %d, is %s: %s", s.Phase, s.Trial, s.State, s.Reason)
		}
	}
	f := w.findings("latest")[0]
	if warned := fmt.Sprint(f.Warnings); !strings.Contains(warned, "trial 1") {
		t.Errorf("no warning says that trial 1 was left out: %q", f.Warnings)
	}
	if f.CDI == nil || math.Abs(*f.CDI) > 10 || len(f.CDITrials) != 1 {
		t.Errorf("CDI %v over trials %v, want about 0 of trial 2 alone", f.CDI, f.CDITrials)
	}
}
