package pressure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Live follows pressures while they are recorded. Each period is taken once. Of each limit
// it keeps what it shows, however long it follows it.
type Live struct {
	params Params
	alert  Sampling
	ended  map[string]float64 // when the latest period of a service ended, Unix s
	limits map[LimitOf]*Moment
	order  []*Moment // by node and service
	nodes  *int      // how many are seen
}

// Live begins to follow pressures. alert is the pressure above which [Moment.Above] counts.
func (p *Params) Live(alert float64) *Live {
	return &Live{params: *p, alert: Sampling{Above: alert, Inclusive: p.OrEqual}, ended: make(map[string]float64),
		limits: make(map[LimitOf]*Moment), nodes: new(int)}
}

// Moment is the pressure of a limit as it is now.
type Moment struct {
	Time time.Time `json:"time"` // the end of the period
	LimitOf
	SLP float64 `json:"slp"`
	// Most is what the pressure can be at most, where the balance of a bucket is not known;
	// 0: it is SLP.
	Most float64 `json:"slp_most,omitempty"`
	// Critical is for how long the pressure has been above the critical one.
	Critical float64 `json:"critical_s"`

	recent          Series // the latest of it
	critical, above run
	heard           time.Time // when the latest period came
	nodes           *int      // how many there are beside it, and itself
}

// run is a time without an end: a pressure is above another.
type run struct{ begin, end float64 }

// add takes the next period. A gap ends the run.
func (r *run) add(p Period, above bool) {
	switch {
	case !above:
		*r = run{}
		return
	case r.end == 0 || math.Abs(p.Begin-r.end) > p.seconds()/2:
		r.begin = p.Begin
	}
	r.end = p.End
}

// clockSet is how far the times of a node go back, in seconds, if its clock was set between two
// recordings. What was taken before does not come again so late.
const clockSet = 30

// widest is how many periods a line shows at most.
const widest = 40

// Look takes what was recorded since the last look, which may have parts that were taken
// before. It returns the limits with new periods. at is the time of the look. The first
// look with periods checks that the models and inputs fit the services.
func (l *Live) Look(at time.Time, recordings []telemetry.Recording) ([]*Moment, error) {
	kept, _ := rented(recordings, l.params.Models)
	var news []telemetry.Recording
	for _, r := range kept {
		key, n := r.Node+"/"+r.Service, len(r.End)
		if n > 0 && r.End[n-1] < l.ended[key]-clockSet {
			l.ended[key] = 0
		}
		// A clock's adjustment of some milliseconds makes no period a new one.
		if from, _ := slices.BinarySearch(r.End, l.ended[key]+.1); from < n {
			news = append(news, cutBefore(r, from))
			l.ended[key] = r.End[n-1]
		}
	}
	if len(news) == 0 {
		return nil, nil
	}
	var err error
	if l.params.parsed, err = l.params.parse(); err != nil {
		return nil, err
	}
	lines, without, err := l.params.lines(news)
	if err != nil {
		return nil, err
	}
	if first := l.params.live == nil; first {
		l.params.live = make(map[LimitOf]*Credit)
		if len(lines) == 0 {
			return nil, noneFits(without)
		}
		for i := range lines {
			if lines[i].load.Absent != "" {
				return nil, model.Usagef("%s", Caveats.Reason(lines[i].absent()))
			}
		}
	}
	var out []*Moment
	for i := range lines {
		if len(lines[i].series) > 0 {
			out = append(out, l.take(&lines[i], at))
		}
	}
	return out, nil
}

// cutBefore is the recording from one of its periods on.
func cutBefore(r telemetry.Recording, from int) telemetry.Recording {
	rates := make(map[telemetry.Measure]telemetry.Numbers, len(r.Rates))
	for m, x := range r.Rates {
		rates[m] = x[from:]
	}
	r.Begin, r.End, r.Rates = r.Begin[from:], r.End[from:], rates
	return r
}

// take adds the new periods of a limit.
func (l *Live) take(x *line, at time.Time) *Moment {
	m := l.limits[x.limit()]
	if m == nil {
		if !slices.ContainsFunc(l.order, func(other *Moment) bool { return other.Node == x.node }) {
			*l.nodes++
		}
		m = &Moment{LimitOf: x.limit(), nodes: l.nodes}
		l.limits[x.limit()], l.order = m, append(l.order, m)
		slices.SortStableFunc(l.order, func(a, b *Moment) int {
			return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Service, b.Service))
		})
	}
	for _, p := range x.series {
		m.critical.add(p, l.params.sampling().critical(p.Mean))
		m.above.add(p, l.alert.Above > 0 && l.alert.critical(p.Mean))
	}
	m.recent = append(m.recent, x.series...)
	m.recent = slices.Delete(m.recent, 0, max(0, len(m.recent)-widest))
	last := x.series[len(x.series)-1]
	m.Time, m.SLP, m.Most, m.heard = time.UnixMilli(int64(1e3*last.End)).UTC(), last.Mean, 0, at
	if n := len(x.most); n > 0 && x.most[n-1].Mean > last.Mean*(1+same) {
		m.Most = x.most[n-1].Mean
	}
	m.Critical = m.critical.end - m.critical.begin
	if x.credits != nil {
		l.params.live[x.limit()] = &x.credits.Periods[len(x.credits.Periods)-1]
	}
	return m
}

// Limits are all that were seen, by node and service.
func (l *Live) Limits() []*Moment { return l.order }

// Above is for how long the pressure has been above that of the alert, up to the latest
// period.
func (m *Moment) Above() time.Duration { return time.Duration((m.above.end - m.above.begin) * 1e9) }

// silentAfter is how long a limit may be without a new period before that is said.
const silentAfter = 3 * time.Second

// Silent is for how long there has been no reading, where that is longer than usual: a device
// or a node is gone. Otherwise it is 0.
func (m *Moment) Silent(at time.Time) time.Duration {
	if d := at.Sub(m.heard); d > silentAfter {
		return d
	}
	return 0
}

// Subject is the service, or all volumes; with the node, if there are several.
func (m *Moment) Subject() string {
	if m.Node == "" || *m.nodes < 2 {
		return m.service()
	}
	return m.Node + " " + m.service()
}

// Name is what it is about, for people.
func (m *Moment) Name() string { return m.Subject() + " " + m.words() }

// value is the pressure for people.
func (m *Moment) value() string {
	if m.Most > 0 {
		return num.Percent(100*m.SLP) + " to " + num.Percent(100*m.Most)
	}
	return num.Percent(100 * m.SLP)
}

// Lines are a table for a terminal of so many columns and rows, 0: any number. Each line has
// the course of the latest periods and the value, and how long it is critical. If there are
// too many, those with the highest pressures stay.
func Lines(moments []*Moment, at time.Time, width, height int, ascii bool) []string {
	shown, left := highest(moments, height)
	long := width == 0 || width >= 96
	names, values, notes := 0, 0, 10
	for _, m := range shown {
		names, values = max(names, term.Width(m.Name())), max(values, term.Width(m.value()))
		notes = max(notes, term.Width(m.note(at, long)))
	}
	course := widest
	if width > 0 {
		course = min(max(width-names-values-notes-5, leastCourse), widest)
		names = min(names, max(width-course-values-notes-5, 8))
	}
	out := make([]string, len(shown), len(shown)+1)
	for i, m := range shown {
		name := term.Cut(m.Name(), names)
		out[i] = fmt.Sprintf("%s%s %s %*s  %s", name, strings.Repeat(" ", names-term.Width(name)), m.course(course, ascii),
			values, m.value(), m.note(at, long))
		out[i] = strings.TrimRight(out[i], " ")
	}
	if len(left) > 0 {
		most := 0.0
		for _, m := range left {
			most = max(most, m.SLP, m.Most)
		}
		out = append(out, fmt.Sprintf("%s more, at most %s", num.Count(len(left), "limit"), num.Percent(100*most)))
	}
	return out
}

// leastCourse is how many periods a narrow terminal shows.
const leastCourse = 6

// highest are so many moments with the highest pressures, in their order, less one if others
// are left: for these there is a line. 0: all of them.
func highest(moments []*Moment, most int) (shown, left []*Moment) {
	if most == 0 || len(moments) <= most {
		return moments, nil
	}
	ranked := slices.SortedStableFunc(slices.Values(moments), func(a, b *Moment) int {
		return cmp.Compare(max(b.SLP, b.Most), max(a.SLP, a.Most))
	})
	left = ranked[max(most-1, 0):]
	for _, m := range moments {
		if !slices.Contains(left, m) {
			shown = append(shown, m)
		}
	}
	return shown, left
}

// course is a line of the latest periods, the last one on the right.
func (m *Moment) course(width int, ascii bool) string {
	glyphs := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		glyphs = []rune("_.-=*#")
	}
	recent := m.recent[max(0, len(m.recent)-width):]
	line := []rune(strings.Repeat(" ", width-len(recent)))
	for _, p := range recent {
		line = append(line, glyphs[int(math.Round(min(max(p.Mean, 0), 1)*float64(len(glyphs)-1)))])
	}
	return string(line)
}

// note says what matters beside the pressure.
func (m *Moment) note(at time.Time, long bool) string {
	switch silent := m.Silent(at); {
	case silent > 0 && long:
		return "no reading for " + num.Seconds(math.Floor(silent.Seconds()))
	case silent > 0:
		return "no reading"
	case m.Critical > 0 && long:
		return "critical for " + num.Seconds(m.Critical)
	case m.Critical > 0:
		return "! " + num.Seconds(m.Critical)
	}
	return ""
}

// Plain is a line of a log.
func (m *Moment) Plain() string {
	text := fmt.Sprintf("%s %s %s", m.Time.Format(time.TimeOnly), m.Name(), m.value())
	if m.Critical > 0 {
		text += ", critical for " + num.Seconds(m.Critical)
	}
	return text
}

// CSVHeader names the columns of [Moment.CSV].
const CSVHeader = "time,node,service,quality,slp,critical_s,slp_most"

// CSV is a row.
func (m *Moment) CSV() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return strings.Join([]string{m.Time.Format(time.RFC3339Nano), m.Node, m.Service, m.Quality, number(m.SLP),
		number(m.Critical), number(cmp.Or(m.Most, m.SLP))}, ",")
}

// Environ says it to a command.
func (m *Moment) Environ() map[string]string {
	return map[string]string{"SCALEBENCH_NODE": m.Node, "SCALEBENCH_SERVICE": m.Service, "SCALEBENCH_LIMIT": m.Quality,
		"SCALEBENCH_PRESSURE": strconv.FormatFloat(m.SLP, 'g', -1, 64)}
}
