package pressure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Moment is the pressure of a limit as it is now.
type Moment struct {
	Time    time.Time `json:"time"` // the end of the period
	Node    string    `json:"node"`
	Service string    `json:"service"`
	Quality string    `json:"quality"`
	SLP     float64   `json:"slp"`
	// Critical is for how long the pressure has been above the critical one.
	Critical float64 `json:"critical_s"`
	series   Series
}

// Now is the pressure of each limit at the end of what was recorded.
func (p *Params) Now(recordings []telemetry.Recording) ([]Moment, error) {
	recordings, _ = rented(recordings, p.Models)
	lines, without, err := p.lines(recordings)
	switch {
	case err != nil:
		return nil, err
	case len(recordings) > 0 && len(lines) == 0:
		return nil, noneFits(without)
	}
	var out []Moment
	for i := range lines {
		l := &lines[i]
		if l.load.Absent != "" {
			return nil, model.Usagef("%s", Caveats.Reason(l.absent()))
		}
		if len(l.series) == 0 {
			continue
		}
		last := l.series[len(l.series)-1]
		m := Moment{Time: time.UnixMilli(int64(1e3 * last.End)).UTC(), Node: l.node, Service: l.service,
			Quality: l.level.Name(), SLP: last.Mean, series: l.series}
		m.Critical = m.Above(p.sampling()).Seconds()
		out = append(out, m)
	}
	return out, nil
}

// Above is for how long the pressure has been critical, up to now.
func (m Moment) Above(o Sampling) time.Duration {
	i := len(m.series)
	half := m.series.Step() / 2
	for i > 0 && o.critical(m.series[i-1].Mean) && (i == len(m.series) || m.series[i].Begin-m.series[i-1].End <= half) {
		i--
	}
	if i == len(m.series) {
		return 0
	}
	return time.Duration((m.series[len(m.series)-1].End - m.series[i].Begin) * 1e9)
}

// Name is what it is about, for people.
func (m Moment) Name() string { return m.Service + " " + limitWords(m.Quality) }

// Line is a line of a terminal: the course of the last width periods, and the value.
func (m Moment) Line(width int, ascii bool) string {
	glyphs := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		glyphs = []rune("_.-=*#")
	}
	var b strings.Builder
	recent := m.series[max(0, len(m.series)-width):]
	b.WriteString(strings.Repeat(" ", width-len(recent)))
	for _, p := range recent {
		share := min(max(p.Mean, 0), 1)
		b.WriteRune(glyphs[int(math.Round(share*float64(len(glyphs)-1)))])
	}
	text := fmt.Sprintf("%-24s %s %8s", m.Name(), b.String(), num.Percent(100*m.SLP))
	if m.Critical > 0 {
		text += "  critical for " + num.Seconds(m.Critical)
	}
	return text
}

// Plain is a line of a log.
func (m Moment) Plain() string {
	text := fmt.Sprintf("%s %s %s", m.Time.Format(time.TimeOnly), m.Name(), num.Percent(100*m.SLP))
	if m.Critical > 0 {
		text += ", critical for " + num.Seconds(m.Critical)
	}
	return text
}

// CSV is a row: time, node, service, quality, slp, critical_s.
func (m Moment) CSV() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return strings.Join([]string{m.Time.Format(time.RFC3339Nano), m.Node, m.Service, m.Quality, number(m.SLP),
		number(m.Critical)}, ",")
}

// Environ says it to a command.
func (m Moment) Environ() map[string]string {
	return map[string]string{"SCALEBENCH_SERVICE": m.Service, "SCALEBENCH_LIMIT": m.Quality,
		"SCALEBENCH_PRESSURE": strconv.FormatFloat(m.SLP, 'g', -1, 64)}
}
