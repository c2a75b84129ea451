package evaluation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// trials is a run of these trials on three nodes without progress series;
// trial k has serial values 100·k² + {0, 1, 2} and keeps a half, or a little
// more or less, so that the mean tells which trials are in it.
func trials(count int) *builder {
	b := newBuilder(3)
	for trial := 1; trial <= count; trial++ {
		base := 100 * float64(trial*trial)
		for i := range 3 {
			b.Step(model.Serial, trial, b.Reported(i, 0, 10, base+float64(i)))
		}
		b.Step(model.Parallel, trial, b.Reported(0, 0, 10, base*.5), b.Reported(1, 0, 10, base*.51), b.Reported(2, 0, 10, base*.49))
	}
	b.Data.Run.State = model.RunDone
	return b
}

// at returns the step of a trial of trials: 0 to 2 serial, 3 parallel.
func at(b *builder, trial, step int) *model.Step { return &b.Data.Steps[4*(trial-1)+step] }

// TestUnfinishedTrials: only trials that are complete in both phases count;
// which were left out, and why, is said.
func TestUnfinishedTrials(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*builder)
		serial  float64 // mean of those that count
		verdict Verdict
		texts   []string
	}{
		{"all complete", func(*builder) {}, 1403 / 3., Degraded, nil},
		{"cancelled in the serial phase", func(b *builder) {
			b.Data.Run.State, b.Data.Run.Reason = model.RunCancelled, "by ana"
			at(b, 3, 2).State, at(b, 3, 3).State = model.StepPending, model.StepPending
		}, 251, Degraded, []string{
			"left out, because not complete in both phases: trial 3 (serial on n02 pending, parallel pending)",
			"the run is cancelled (by ana): the finding rests on what was measured so far",
		}},
		{"running, the parallel step to come", func(b *builder) {
			b.Data.Run.State = model.RunRunning
			at(b, 3, 3).State = model.StepRunning
		}, 251, Degraded, []string{"trial 3 (parallel running)", "the run is running: "}},
		{"a serial step in the middle lost", func(b *builder) {
			b.Data.Run.State = model.RunIncomplete
			at(b, 2, 1).State = model.StepInvalid
		}, 501, Degraded, []string{"trial 2 (serial on n01 invalid)", "the run is incomplete: "}},
		{"a serial value not usable", func(b *builder) { b.Data.Results[6].Samples[0].Value = 0 }, // of trial 2
			501, Degraded, []string{"trial 2 (no usable rate of node n00 alone)"}},
		{"a node never measured alone", func(b *builder) {
			for trial := 1; trial <= 3; trial++ {
				at(b, trial, 0).Tasks = nil
			}
		}, 1404.5 / 3, Unknown, []string{"verdict unknown: no trial is complete in both phases: trial 1 (no serial step on n00)"}}, // of the others
		{"none complete", func(b *builder) {
			b.Data.Run.State = model.RunInterrupted
			at(b, 1, 3).State, at(b, 2, 0).State, at(b, 3, 3).State = model.StepInvalid, model.StepInvalid, model.StepPending
		}, 0, Unknown, []string{
			"verdict unknown: no trial is complete in both phases: trial 1 (parallel invalid), trial 2 (serial on n00 invalid), trial 3 (parallel pending)",
			"the run is interrupted: ",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := trials(3)
			c.change(b)
			f := one(t, b.Data, quick)
			if c.serial > 0 {
				wantValue(t, "serial mean", f.Serial.Mean, c.serial, 1e-9)
			}
			if f.Verdict != c.verdict || f.CDI == nil {
				t.Errorf("verdict %s, CDI %v, want %s and a number", f.Verdict, f.CDI, c.verdict)
			}
			for _, text := range c.texts {
				wantWarning(t, f, text)
			}
			if c.texts == nil && (warned(f, "complete in both") || warned(f, "the run is")) {
				t.Errorf("warnings %q, want none about trials or the run", texts(f.Doubts))
			}
		})
	}
}

// TestNodeReplaced: another host under the same name in the midst of a
// campaign leaves no verdict; before or after it, or elsewhere, it may.
func TestNodeReplaced(t *testing.T) {
	const text = "CPU model was X, is Y"
	for _, c := range []struct {
		name    string
		node    model.NodeID
		kind    model.EventKind
		when    time.Duration
		verdict Verdict
		warning string
	}{
		{"between the phases", "n02", model.EventNodeChanged, 2*time.Hour + time.Minute, Unknown, "verdict unknown: node n02 changed between two measurements: " + text},
		{"before all", "n02", model.EventNodeChanged, -time.Second, Degraded, "node n02 changed during the run, but not between measurements of work: " + text},
		{"after all", "n02", model.EventNodeChanged, 9 * time.Hour, Degraded, "node n02 changed during the run"},
		{"a node without a task", "n77", model.EventNodeChanged, 3 * time.Hour, Degraded, ""},
		{"another event", "n02", model.EventNodeBack, 3 * time.Hour, Degraded, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := plain(6, .5)
			b.Data.Events = []model.Event{{Time: epoch.Add(c.when), Node: c.node, Kind: c.kind, Text: text}}
			f := one(t, b.Data, quick)
			if f.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s", f.Verdict, c.verdict)
			}
			if c.warning != "" {
				wantWarning(t, f, c.warning)
			} else if got := fmt.Sprint(texts(f.Doubts)); strings.Contains(got, text) {
				t.Errorf("warnings %s, want none of the event", got)
			}
		})
	}
}

// TestUnmeasuredIsNil: nothing measured in a phase is nothing, not zero.
func TestUnmeasuredIsNil(t *testing.T) {
	b := plain(3, .5)
	b.Data.Steps[3].State = model.StepInvalid
	f := one(t, b.Data, quick)
	if f.Parallel != (ParallelSpread{}) {
		t.Errorf("parallel = %+v, want all nil", f.Parallel)
	}
	wantValue(t, "serial mean", f.Serial.Mean, 101, 1e-9)
	wantValue(t, "least serial", f.Serial.Min, 100, 0)
}
