package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// liveTick is how often the status line is redrawn.
const liveTick = 250 * time.Millisecond

// liveView shows a run in progress on standard error: one line that is
// redrawn on a terminal, plain lines elsewhere. Warnings are always lines.
type liveView struct {
	out      io.Writer
	redraw   bool
	width    int
	began    time.Time
	total    int // steps of the run
	done     int
	stepText string
	rates    map[model.TaskID]model.Progress
	drawn    bool
}

func newLiveView(env Env, data model.RunData) *liveView {
	v := &liveView{out: env.Stderr, redraw: env.Live, width: env.Width, began: time.Now(), total: len(data.Steps)}
	if v.width <= 0 {
		v.width = 80
	}
	for _, s := range data.Steps {
		if s.State == model.StepComplete {
			v.done++
		}
	}
	v.stepText = "waiting for the nodes"
	return v
}

// event takes in what happened.
func (v *liveView) event(ev model.Event) {
	switch ev.Kind {
	case model.EventProgress:
		if ev.Progress != nil && v.rates != nil {
			v.rates[ev.Task] = *ev.Progress
		}
		return
	case model.EventStepStarted:
		v.stepText, v.rates = ev.Text, make(map[model.TaskID]model.Progress)
	case model.EventStepEnded:
		v.done++
		if !v.redraw {
			v.line(fmt.Sprintf("[%d/%d] %s", v.done, v.total, ev.Text))
		}
	}
	if ev.Severity != model.Info || ev.Kind == model.EventStoreBack {
		mark := map[model.Severity]string{model.Warning: "! ", model.Problem: "!! ", model.Info: ""}[ev.Severity]
		v.line(mark + ev.Text)
	}
}

// line prints a line above the status line.
func (v *liveView) line(text string) {
	v.erase()
	_, _ = fmt.Fprintf(v.out, "%s %s\n", time.Now().Format("15:04:05"), printable(text)) // nobody to tell
	v.tick()
}

// tick redraws the status line.
func (v *liveView) tick() {
	if !v.redraw {
		return
	}
	const barWidth = 20
	filled := 0
	if v.total > 0 {
		filled = min(barWidth, v.done*barWidth/v.total)
	}
	text := fmt.Sprintf("[%s%s] %d/%d  %s  %s%s", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled),
		v.done, v.total, time.Since(v.began).Round(time.Second), printable(v.stepText), v.rateText())
	if r := []rune(text); len(r) >= v.width {
		text = string(r[:v.width-1])
	}
	v.erase()
	_, _ = io.WriteString(v.out, text)
	v.drawn = true
}

// rateText is the sum of the tasks' rates since their starts.
func (v *liveView) rateText() string {
	var sum float64
	unit, metric := "", ""
	for _, p := range v.rates {
		if p.Elapsed <= 0 || metric != "" && p.Metric != metric {
			continue
		}
		metric, unit = p.Metric, p.Unit
		sum += p.Value / p.Elapsed.Seconds()
	}
	if unit == "" {
		return ""
	}
	return fmt.Sprintf("  %.3g %s/s", sum, printable(unit))
}

func (v *liveView) erase() {
	if v.drawn {
		_, _ = io.WriteString(v.out, "\r\x1b[K")
		v.drawn = false
	}
}

// drain takes in the events that are there already.
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

// printable keeps text that came from elsewhere from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
