package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// plainView is the view of a run of two steps where nothing can be redrawn.
func plainView(out *bytes.Buffer) *liveView {
	return newLiveView(Env{Stderr: out}, model.RunData{Steps: make([]model.Step, 2)})
}

// TestLiveStages: what services go through is shown while it lasts; what a limit
// became is a line of its own.
func TestLiveStages(t *testing.T) {
	var out bytes.Buffer
	v := newLiveView(Env{Stderr: &out, Live: true, LiveWidth: 200}, model.RunData{})
	change := func(task model.TaskID, service, name, state, reason string) {
		s := model.StageChange{Name: name, Service: service, State: state, Reason: reason}
		v.event(model.Event{Kind: model.EventStage, Task: task, Severity: model.Info, Text: s.Text(), Stage: &s})
	}
	for _, c := range []struct{ task, service, name, state, reason, want string }{
		{"a", "db", "set_up", model.StageBegun, "", "; db set up"},
		{"b", "web", "await", model.StageBegun, "", "; db set up, web await"},
		{"c", "web", "await", model.StageBegun, "", "; db set up, web await (2)"},
		{"a", "db", "set_up", model.StageDone, "", "; web await (2)"},
		{"b", "web", "await", model.StageFailed, "why", "; web await"},
		{"a", "db", "run", model.StageBegun, "", "; web await"},
		{"u", "", "ramp_up", model.StageBegun, "40 users", "; web await, ramp up 40 users"},
		{"a", "db", "limit", model.StageDone, "cpu 0.4 cores", "; web await, ramp up 40 users"},
	} {
		if change(model.TaskID(c.task), c.service, c.name, c.state, c.reason); v.stages.String() != c.want {
			t.Errorf("after %s:%s %s it shows %q, want %q", c.service, c.name, c.state, v.stages, c.want)
		}
	}
	v.event(model.Event{Kind: model.EventTaskEnded, Task: "u", Severity: model.Info})
	if v.stages.String() != "; web await" {
		t.Errorf("after a task has ended it shows %q", v.stages)
	}
	if !strings.Contains(out.String(), "db: limit done: cpu 0.4 cores\n") {
		t.Errorf("printed %q, want a line of the limit", out.String())
	}
	v.event(model.Event{Kind: model.EventStepStarted, Text: "next"})
	if v.stages.String() != "" {
		t.Errorf("the next step begins with %q", v.stages)
	}
}

// TestLiveValuesEnd: what is told of now counts until its task ends, or for some
// seconds; what comes late of another step does not.
func TestLiveValuesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := newLiveView(Env{Stderr: &out, Live: true}, model.RunData{})
		v.event(model.Event{Kind: model.EventStepStarted, Step: "2", Severity: model.Info, Text: "trial 2"})
		event := func(step model.StepID, task model.TaskID, users float64) {
			v.event(model.Event{Kind: model.EventValues, Step: step, Task: task, Values: map[string]float64{model.LiveUsers: users}})
		}
		want := func(when string, want float64) {
			t.Helper()
			v.tick()
			if got, _ := v.now.sum(model.LiveUsers); got != want {
				t.Errorf("%s there are %v users, want %v", when, got, want)
			}
		}
		event("1", "old", 100)
		event("2", "a", 1)
		event("2", "b", 2)
		event("2", "c", 4)
		want("at first", 7)
		v.event(model.Event{Kind: model.EventTaskEnded, Step: "2", Task: "a", Severity: model.Info})
		want("after a task has ended", 6)
		time.Sleep(4 * time.Second) //nolint:forbidigo // the bubble's own time
		event("2", "c", 8)
		want("after 4 s", 10)
		time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's own time
		want("when one has been silent for 6 s", 8)
	})
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

// What a command says itself at its end is not told before; where the run goes on
// it is.
func TestViewHoldsWhatEndsARun(t *testing.T) {
	failed := []model.Event{
		{Kind: model.EventTaskEnded, Severity: model.Warning, Text: "node a: failed: preparing: refused"},
		{Kind: model.EventTaskEnded, Severity: model.Info, Text: "node b: cancelled"},
		{Kind: model.EventStepEnded, Severity: model.Warning, Text: "window: invalid: node a: failed: preparing: refused"},
	}
	for _, c := range []struct {
		next model.Event
		told int
	}{
		{model.Event{Kind: model.EventRunState, Severity: model.Problem, Text: "incomplete: refused"}, 0},
		{model.Event{Kind: model.EventRunState, Severity: model.Problem, Text: "failed: the fleet is gone"}, 1},
		{model.Event{Kind: model.EventStepStarted, Severity: model.Info, Text: "the next target"}, 1},
		{model.Event{Kind: model.EventRetry, Severity: model.Warning, Text: "retrying"}, 1},
	} {
		var out bytes.Buffer
		v := newLiveView(Env{Stderr: &out}, model.RunData{})
		for _, ev := range append(slices.Clone(failed), c.next) {
			v.event(ev)
		}
		if got := strings.Count(out.String(), "refused"); got != c.told || strings.Contains(out.String(), "incomplete") {
			t.Errorf("%s %q: the view told the cause %d times, want %d: %q", c.next.Kind, c.next.Text, got, c.told, out.String())
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

// The time that is left counts down within a step, never takes from the steps
// behind one that overruns, and is not said where it is not known.
func TestViewSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := newLiveView(Env{Stderr: &out, Live: true, Width: 200}, model.RunData{Steps: make([]model.Step, 4)})
		after := func(wait time.Duration, want string) {
			t.Helper()
			time.Sleep(wait) //nolint:forbidigo // the bubble's own time
			if got := v.leftText(false); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		}
		start := func(left *model.Left) {
			v.event(model.Event{Kind: model.EventStepStarted, Severity: model.Info, Text: "burn", Left: left})
		}
		after(0, "")
		start(nil)
		after(time.Minute, "")
		start(&model.Left{Time: 150 * time.Second, Step: 50 * time.Second})
		after(0, ", about 3 min left")
		after(40*time.Second, ", about 2 min left")
		after(time.Hour, ", about 2 min left")
		v.event(model.Event{Kind: model.EventWaiting, Severity: model.Info, Text: "waiting for node n1"})
		after(0, "")
		start(&model.Left{Time: 50 * time.Second, Step: 50 * time.Second})
		after(3*time.Second, ", about 50 s left")
		after(time.Minute, "") // the last step takes longer than it was to
		start(&model.Left{Time: 3*time.Hour + time.Minute, Step: time.Minute, AtMost: true})
		after(0, ", at most 3 h 10 min left")
		v.tick()
		if !strings.Contains(out.String(), "/4  1h2m43s, at most 3 h 10 min left  burn") {
			t.Errorf("the line is %q", out.String())
		}
	})
}

// Plain lines say it too, and not with every short step.
func TestPlainViewSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := newLiveView(Env{Stderr: &out}, model.RunData{Steps: make([]model.Step, 100)})
		for i := range 100 {
			left := time.Duration(100-i) * time.Second
			v.event(model.Event{Kind: model.EventStepStarted, Severity: model.Info, Text: "burn", Left: &model.Left{Time: left, Step: time.Second}})
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's own time
			v.event(model.Event{Kind: model.EventStepEnded, Severity: model.Info, Text: "burn: complete"})
		}
		if got := strings.Count(out.String(), "left\n"); got != 4 || !strings.Contains(out.String(), "[1/100] burn: complete, about 2 min left\n") {
			t.Errorf("%d lines say what is left: %q", got, out.String())
		}
	})
}

// TestLiveTiers: users and tiers are a block below the line of the step, which is
// redrawn whole, and no line is wider than the terminal.
func TestLiveTiers(t *testing.T) {
	var out bytes.Buffer
	v := newLiveView(Env{Stderr: &out, Live: true, LiveWidth: 60}, model.RunData{})
	event := func(task model.TaskID, values map[string]float64) {
		v.event(model.Event{Kind: model.EventValues, Step: "s", Task: task, Severity: model.Info, Values: values})
	}
	event("u", map[string]float64{model.LiveUsers: 7}) // of a step that is not known
	v.event(model.Event{Kind: model.EventStepStarted, Step: "s", Severity: model.Info, Text: "trial 1"})
	event("u1", map[string]float64{model.LiveUsers: 40, model.LiveRate: 19, model.LiveErrors: 0})
	event("u2", map[string]float64{model.LiveUsers: 40, model.LiveRate: 18, model.LiveErrors: 1})
	event("w", map[string]float64{"a very long name of a tier:used": .34})
	event("a1", map[string]float64{"app:used": .92, "\x1b[2Jx:used": .1})
	event("a2", map[string]float64{"app:used": 1})
	v.tick()
	text := out.String()
	for _, want := range []string{
		"\n  80 users, 37 op/s, 1 errors/s\n",
		"\n  a very long name of…  [#######             ]  34 % of",
		"\n  app                   [################### ]  96 % of",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the view is\n%s\nwant %q in it", text, want)
		}
	}
	if strings.Contains(text, "\x1b[2J") {
		t.Errorf("a name steers the terminal: %q", text)
	}
	for line := range strings.Lines(text) {
		if w := term.Width(strings.TrimRight(line, "\n")); w >= 60 {
			t.Errorf("line %q is %d wide, want less than 60", line, w)
		}
	}
	out.Reset()
	v.tick()
	if got, want := strings.Count(out.String(), "\x1b[1A"), strings.Count(text, "\n"); got != want {
		t.Errorf("the cursor goes up %d lines, want %d", got, want)
	}
	for i := range 9 {
		event(model.TaskID(rune('A'+i)), map[string]float64{fmt.Sprintf("tier%d:used", i): float64(i) / 10})
	}
	if lines := v.now.lines(""); len(lines) != 2+maxTiers || !strings.HasPrefix(lines[len(lines)-1], "  and 6 more, at most 80 % of tier8") {
		t.Errorf("of many tiers it shows %q", lines)
	}
	v.event(model.Event{Kind: model.EventStepEnded, Severity: model.Info, Text: "trial 1: complete"})
	if lines := v.now.lines(""); len(lines) > 0 {
		t.Errorf("after the step it shows %q", lines)
	}
}
