package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
