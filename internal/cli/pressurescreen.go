package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/pressure"
)

// pressureScreen shows pressures: on a terminal in place, and elsewhere as lines.
type pressureScreen struct {
	c      *common
	view   *liveView
	height int
	silent map[string]bool // services of which it was said that they have no readings
	headed bool
}

func (c *common) newPressureScreen() *pressureScreen {
	view := newLiveView(c.env, model.RunData{})
	view.out, view.raw = c.env.Stdout, c.env.rawOut
	view.redraw = c.env.Terminal && !c.env.Dumb && c.formatFlag == string(render.FormatText)
	view.width = c.env.Width
	return &pressureScreen{c: c, view: view, silent: make(map[string]bool)}
}

// show shows the limits with new periods, and on a terminal all.
func (s *pressureScreen) show(now time.Time, news, all []*pressure.Moment) error {
	if s.view.redraw && len(all) > 0 && (len(news) > 0 || time.Since(s.view.said) >= time.Second) {
		s.measure()
		s.view.draw(pressure.Lines(all, now, s.view.width, max(s.height-1, 0), s.c.env.ASCII)...)
		s.view.said = time.Now()
	}
	if s.view.redraw {
		return nil
	}
	for _, m := range news {
		if err := s.line(m); err != nil {
			return err
		}
	}
	return s.sayDumb(now, all)
}

// measure asks the terminal for its size. What was drawn on one of another width cannot be
// erased line by line.
func (s *pressureScreen) measure() {
	if s.c.env.Size == nil {
		return
	}
	width, height := s.c.env.Size()
	if width <= 0 {
		return
	}
	if s.view.drawn > 0 && (width != s.view.width || height != s.height) {
		_, _ = io.WriteString(s.view.raw, "\x1b[H\x1b[2J")
		s.view.drawn = 0
	}
	s.view.width, s.height = width, height
}

func (s *pressureScreen) line(m *pressure.Moment) error {
	switch s.c.formatFlag {
	case string(render.FormatJSON):
		return s.json(m)
	case string(render.FormatCSV):
		if !s.headed {
			s.headed = true
			if err := s.c.out(pressure.CSVHeader); err != nil {
				return err
			}
		}
		return s.c.out(m.CSV())
	}
	return s.c.out(m.Plain())
}

func (s *pressureScreen) json(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a pressure: %w", err)
	}
	return s.c.out(string(b))
}

// Events are lines of JSON beside pressures.
const (
	eventAlert  = "alert"
	eventSilent = "silent"
)

// silentLine says that a service has no readings any more.
type silentLine struct {
	Event   string    `json:"event"`
	Time    time.Time `json:"time"` // of the latest reading
	Node    string    `json:"node"`
	Service string    `json:"service"`
}

// sayDumb says once of each service that it has no readings any more.
func (s *pressureScreen) sayDumb(now time.Time, all []*pressure.Moment) error {
	for _, m := range all {
		key, silent := m.Subject(), m.Silent(now)
		said := s.silent[key]
		if s.silent[key] = silent > 0; silent == 0 || said {
			continue
		}
		if s.c.formatFlag == string(render.FormatJSON) {
			if err := s.json(silentLine{eventSilent, m.Time, m.Node, m.Service}); err != nil {
				return err
			}
			continue
		}
		s.say("%s has had no reading for %s: the device or the node is gone, or does not answer", key,
			num.Seconds(silent.Round(time.Second).Seconds()))
	}
	return nil
}

// say prints a line on standard error, where the block does not stand in its way.
func (s *pressureScreen) say(format string, args ...any) {
	s.view.erase()
	s.c.say(format, args...)
}

// close leaves what was drawn last.
func (s *pressureScreen) close() {
	if s.view.drawn > 0 {
		_, _ = io.WriteString(s.view.raw, "\n")
	}
}
