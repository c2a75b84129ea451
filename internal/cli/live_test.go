package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// plainView is the view of a run of two steps where nothing can be redrawn.
func plainView(out *bytes.Buffer) *liveView {
	return newLiveView(Env{Stderr: out}, model.RunData{Steps: make([]model.Step, 2)})
}

// Without a terminal a long step is not silent, and its rate is readable.
func TestPlainViewSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := plainView(&out)
		v.event(model.Event{Kind: model.EventStepStarted, Severity: model.Info, Text: "burn"})
		v.event(model.Event{Kind: model.EventProgress, Task: "a", Severity: model.Info,
			Progress: &model.Progress{Metric: "work", Unit: "op", Elapsed: 2 * time.Second, Value: 78_600}})
		for range 4 * 61 { // the ticks of a minute and a bit
			time.Sleep(liveTick) //nolint:forbidigo // the bubble's own time
			v.tick()
		}
		if got := strings.Count(out.String(), "[0/2] burn  39.3 kop/s\n"); got != 2 {
			t.Errorf("in a minute the view said %q; want its state twice", out.String())
		}
	})
}

// A failure is told once, whether or not it comes again.
func TestViewTellsAFailureOnce(t *testing.T) {
	for _, redraw := range []bool{false, true} {
		var out bytes.Buffer
		v := plainView(&out)
		v.redraw = redraw
		for _, ev := range []model.Event{
			{Kind: model.EventTaskEnded, Text: "node b: exit 3"},
			{Kind: model.EventTaskEnded, Text: "node a: exit 4"},
			{Kind: model.EventTaskEnded, Text: "node a: exit 4"},
			{Kind: model.EventStepEnded, Text: "burn: invalid: node b: exit 3"},
		} {
			ev.Severity = model.Warning
			v.event(ev)
		}
		for _, want := range []string{"node b: exit 3", "node a: exit 4", "burn: invalid\n"} {
			if got := strings.Count(out.String(), want); got != 1 {
				t.Errorf("redraw %v: %q %d times, want once: %q", redraw, want, got, out.String())
			}
		}
	}
}

// A search has no known end: its windows are counted, and what the server
// answered is told from what it was offered.
func TestSearchView(t *testing.T) {
	var out bytes.Buffer
	v := newLiveView(Env{Stderr: &out, Live: true, LiveWidth: 100}, model.RunData{})
	for _, ev := range []model.Event{
		{Kind: model.EventStepStarted, Text: "capacity, trial 1, 1 kop/s from 1 node"},
		{Kind: model.EventStepEnded, Text: "capacity, trial 1, 1 kop/s from 1 node: complete"},
		{Kind: model.EventLatest, Text: "1 kop/s: passed, p90 2ms"},
		{Kind: model.EventStepStarted, Text: "capacity, trial 1, 10 kop/s from 1 node"},
		{Kind: model.EventProgress, Task: "a", Progress: &model.Progress{
			Metric: load.MetricThroughput, Unit: "op", Elapsed: 2 * time.Second, Value: 15_600}},
	} {
		ev.Severity = model.Info
		v.event(ev)
	}
	v.tick()
	if got, want := strings.Count(out.String(), "complete"), 0; got != want {
		t.Errorf("a window that is over is told %d times beside its verdict: %q", got, out.String())
	}
	for _, want := range []string{" 1 kop/s: passed, p90 2ms\n", "step 2  0s  capacity, trial 1, 10 kop/s from 1 node, answered 7.8 kop/s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the view said %q, want %q in it", out.String(), want)
		}
	}
}

// What a run waits for is told once, whether it was stored before the view was
// made, comes as an event, or both.
func TestViewTellsWhatIsWaitedFor(t *testing.T) {
	const waits = "waiting for run 01A (a) to release node n1"
	var out bytes.Buffer
	v := newLiveView(Env{Stderr: &out}, model.RunData{Run: model.Run{State: model.RunPending, Reason: waits}, Steps: make([]model.Step, 2)})
	v.event(model.Event{Kind: model.EventWaiting, Severity: model.Info, Text: waits})
	if got := strings.Count(out.String(), waits+"\n"); got != 1 || v.stepText != waits {
		t.Errorf("the view said %q, and that it is at %q; want %q once", out.String(), v.stepText, waits)
	}
}
