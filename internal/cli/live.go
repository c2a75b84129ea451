package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

const liveTick = 250 * time.Millisecond

// plainTick is how long a run is silent where nothing can be redrawn, such as
// the log of a CI job: people take longer silence for a hang.
const plainTick = 30 * time.Second

// liveView shows a run in progress on standard error: one line that is
// redrawn on a terminal, with one for users and each tier below it, and plain lines
// elsewhere. Warnings are always lines.
type liveView struct {
	out    io.Writer
	raw    io.Writer // for what redraws a line
	redraw bool
	ascii  bool
	width  int
	began  time.Time
	total  int // steps of the run
	// open: nobody knows how many there will be; a search plans each step from
	// what the last one has shown.
	open     bool
	done     int
	stepText string
	step     model.StepID // that is going on; empty: not known
	rates    map[model.TaskID]model.Progress
	stages   stages
	now      values
	drawn    int       // lines of the block
	said     time.Time // when a line was printed last
	told     []string  // remarks of this step, in order
	// left is what the run will still take since this step began; nil: not known.
	left     *model.Left
	leftFrom time.Time
	leftSaid time.Time // when a line that stays said so last
	// held are remarks of a step that failed while it was prepared, and cause is
	// why. If the run ends by it, that is why the command ends, and is told then.
	held  []model.Event
	cause string
}

func newLiveView(env Env, data model.RunData) *liveView {
	v := &liveView{out: env.Stderr, raw: cmp.Or(env.rawErr, env.Stderr), redraw: env.Live, ascii: env.ASCII, width: env.LiveWidth, began: time.Now(), said: time.Now(), total: len(data.Steps)}
	if v.width <= 0 {
		v.width = 80
	}
	v.open = v.total == 0
	for _, s := range data.Steps {
		v.open = v.open || s.Phase == model.Search
		if s.State == model.StepComplete {
			v.done++
		}
	}
	v.stepText = "waiting for the nodes"
	if !data.Run.State.Final() && data.Run.Reason != "" {
		v.event(model.Event{Kind: model.EventWaiting, Severity: model.Info, Text: data.Run.Reason})
	}
	return v
}

func (v *liveView) event(ev model.Event) {
	if ev.Live() && v.step != "" && ev.Step != v.step {
		return // it came late
	}
	switch ev.Kind {
	case model.EventProgress:
		if ev.Progress != nil && v.rates != nil {
			v.rates[ev.Task] = *ev.Progress
		}
		return
	case model.EventStage:
		v.stage(ev)
		return
	case model.EventValues:
		if v.now != nil {
			v.now[ev.Task] = told{time.Now(), ev.Values}
		}
		return
	case model.EventTaskEnded:
		v.taskEnded(ev)
	case model.EventStepStarted:
		v.step, v.stages, v.now = ev.Step, nil, make(values)
		v.stepText, v.rates, v.told = ev.Text, make(map[model.TaskID]model.Progress), nil
		v.left, v.leftFrom = ev.Left, time.Now()
	case model.EventWaiting:
		v.stepText, v.rates, v.left, v.stages, v.now = ev.Text, nil, nil, nil, nil
	case model.EventStepEnded:
		v.done++
		v.now = nil
		if ev.Severity == model.Info && !v.redraw && !v.open {
			v.line(v.steps() + " " + ev.Text + v.nowAndThen(v.leftText(true)))
		}
	}
	if v.holds(ev) {
		return
	}
	switch ev.Kind {
	case model.EventStoreBack, model.EventRoom, model.EventFleetUp, model.EventLatest, model.EventWaiting:
		v.remark(ev)
	default:
		if ev.Severity != model.Info {
			v.remark(ev)
		}
	}
}

// taskEnded leaves out what the task said of now. Its mean rate stands beside
// those of tasks that go on, unless it failed.
func (v *liveView) taskEnded(ev model.Event) {
	delete(v.now, ev.Task)
	if ev.Severity != model.Info {
		delete(v.rates, ev.Task)
	}
	v.stages = v.stages.without(ev.Task)
}

// causeOf is why a node could not prepare a task, of a text that says so.
func causeOf(text string) (cause string, ok bool) {
	_, cause, ok = strings.Cut(text, ": failed: preparing: ")
	return cause, ok
}

// holds keeps back what the command says itself when the run is over; it goes on
// if another step begins.
func (v *liveView) holds(ev model.Event) bool {
	cause, prepared := causeOf(ev.Text)
	switch {
	case ev.Kind == model.EventRunState && ev.Severity == model.Problem:
		if !strings.Contains(ev.Text, v.cause) {
			v.release()
		}
		return true
	case ev.Kind == model.EventTaskEnded && prepared:
		v.cause = cause
		v.held = append(v.held, ev)
		return true
	case ev.Kind == model.EventStepEnded && v.cause != "" && prepared:
		v.held = append(v.held, ev)
		return true
	case ev.Kind == model.EventStepStarted || ev.Severity != model.Info:
		v.release()
	}
	return false
}

// release prints what was held back.
func (v *liveView) release() {
	held := v.held
	v.held, v.cause = nil, ""
	for _, ev := range held {
		v.remark(ev)
	}
}

// remark prints an event that a person must see. The same words twice in a
// row tell nothing new.
func (v *liveView) remark(ev model.Event) {
	if n := len(v.told); n > 0 && ev.Text == v.told[n-1] {
		return
	}
	text := ev.Text
	if ev.Kind == model.EventStepEnded {
		text = v.withoutTold(text)
	}
	v.told = append(v.told, ev.Text)
	mark := map[model.Severity]string{model.Warning: "! ", model.Problem: "!! ", model.Info: ""}[ev.Severity]
	if ev.Kind == model.EventStepEnded && !v.redraw {
		mark += v.steps() + " "
	}
	v.line(mark + text)
}

// withoutTold cuts the reason off the end of a step when a task has told it
// already.
func (v *liveView) withoutTold(text string) string {
	for _, t := range v.told {
		if cut, ok := strings.CutSuffix(text, ": "+t); ok {
			return cut
		}
	}
	return text
}

func (v *liveView) steps() string {
	if v.open {
		return fmt.Sprintf("[%d]", v.done)
	}
	return fmt.Sprintf("[%d/%d]", v.done, v.total)
}

func (v *liveView) line(text string) {
	v.erase()
	v.said = time.Now()
	_, _ = fmt.Fprintf(v.out, "%s %s\n", v.said.Format("15:04:05"), printable(text)) // nobody to tell
	v.tick()
}

// tick redraws the status line. Where nothing can be redrawn, a plain line
// says from time to time that the run goes on.
func (v *liveView) tick() {
	v.now.forget(time.Now())
	if !v.redraw {
		if time.Since(v.said) >= plainTick {
			v.line(fmt.Sprintf("%s %s%s%s%s%s", v.steps(), v.stepText, v.stages, v.rateText(), v.now.text(), v.leftText(false)))
			v.leftSaid = v.said
		}
		return
	}
	text := fmt.Sprintf("%s  %s%s  %s%s", v.bar(), time.Since(v.began).Round(time.Second), v.leftText(false), printable(v.stepText), v.rateText())
	v.draw(append([]string{text}, v.now.lines(printable(v.stages.String()))...)...)
}

// draw draws the block anew: lines that are cut to the terminal's width, or it could
// not be erased.
func (v *liveView) draw(lines ...string) {
	v.erase()
	for i := range lines {
		if v.ascii {
			lines[i] = term.ASCII(lines[i])
		}
		lines[i] = term.Cut(lines[i], v.width-1)
	}
	_, _ = io.WriteString(v.out, strings.Join(lines, "\n"))
	v.drawn = len(lines)
}

// leftText says how long the run will still take; nothing where that is not
// known. A step that takes longer than it was expected to does not take the time
// of the others; after one that has ended only theirs is left.
func (v *liveView) leftText(ended bool) string {
	if v.left == nil {
		return ""
	}
	gone := min(time.Since(v.leftFrom), v.left.Step)
	if ended {
		gone = v.left.Step
	}
	left := v.left.Time - gone
	switch {
	case left <= 0:
		return ""
	case v.left.AtMost:
		return ", at most " + roughly(left) + " left"
	}
	return ", about " + roughly(left) + " left"
}

// nowAndThen keeps lines that come often from saying the same.
func (v *liveView) nowAndThen(text string) string {
	if text == "" || time.Since(v.leftSaid) < plainTick {
		return ""
	}
	v.leftSaid = time.Now()
	return text
}

// roughly rounds a time up, to what is to be relied on.
func roughly(d time.Duration) string {
	up := func(to time.Duration) time.Duration { return (d + to - 1).Truncate(to) }
	switch {
	case d <= 55*time.Second:
		return fmt.Sprintf("%d s", up(5*time.Second)/time.Second)
	case d <= 59*time.Minute:
		return fmt.Sprintf("%d min", up(time.Minute)/time.Minute)
	}
	h := up(10 * time.Minute)
	return fmt.Sprintf("%d h %02d min", h/time.Hour, h%time.Hour/time.Minute)
}

// bar shows how much is done, where anybody knows.
func (v *liveView) bar() string {
	const width = 20
	if v.open {
		return fmt.Sprintf("step %d", v.done+1)
	}
	filled := min(width, v.done*width/max(v.total, 1))
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("=", filled), strings.Repeat(" ", width-filled), v.done, v.total)
}

// rateText is the sum of the tasks' rates since their starts.
func (v *liveView) rateText() string {
	var sum float64
	per, metric := "", ""
	for _, p := range v.rates {
		if p.Elapsed <= 0 || metric != "" && p.Metric != metric {
			continue
		}
		metric, per = p.Metric, p.Unit
		sum += p.Value / p.Elapsed.Seconds()
	}
	if _, told := v.now.sum(model.LiveRate); per == "" || told {
		return ""
	}
	what := "  "
	if metric == load.MetricThroughput {
		what = ", answered " // the step names another rate, the one that is offered
	}
	return what + printable(num.Human(sum, per+"/s"))
}

func (v *liveView) erase() {
	for i := range v.drawn {
		if i > 0 {
			_, _ = io.WriteString(v.raw, "\x1b[1A")
		}
		_, _ = io.WriteString(v.raw, "\r\x1b[K")
	}
	v.drawn = 0
}

func (v *liveView) drain(live <-chan model.Event) {
	for {
		select {
		case ev, ok := <-live:
			if !ok {
				return
			}
			v.event(ev)
		default:
			return
		}
	}
}

func (v *liveView) close() { v.erase() }

// printable keeps text that came from elsewhere from steering the terminal, and
// on one line.
func printable(s string) string { return term.Clean(onOneLine.Replace(s)) }

var onOneLine = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")
