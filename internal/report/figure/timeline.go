package figure

import (
	"html/template"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Span is when one node was at work in a parallel trial, in seconds since the
// first start of that trial.
type Span struct {
	Name       string
	Start, End float64
	ClockError float64 // how wrong Start and End can be, in seconds
	OK         bool    // false: the task did not end as intended
}

// Timeline is a Gantt chart in four columns that share their rows: names, the
// start of each node enlarged, the whole trial, and the end enlarged. Skews of
// a millisecond are invisible at the scale of a trial of seconds.
type Timeline struct {
	Names, Starts, Spans, Ends template.HTML
}

const nameWidth = 92 // pixels for names at the left of a timeline

// Window returns the time in which all tasks were running, and false when there
// is no such time.
func Window(spans []Span) (from, to float64, ok bool) {
	for i, s := range spans {
		if i == 0 || s.Start > from {
			from = s.Start
		}
		if i == 0 || s.End < to {
			to = s.End
		}
	}
	return from, to, len(spans) > 0 && to > from
}

// NewTimeline draws one parallel trial.
func NewTimeline(title string, spans []Span) Timeline {
	row := rowHeight(len(spans))
	last := 0.0
	for _, s := range spans {
		last = max(last, s.End)
	}
	return Timeline{
		Names:  names(spans, row),
		Starts: offsets(title+", starts", spans, row, func(s Span) float64 { return s.Start }),
		Spans:  bars(title, spans, row, last),
		Ends:   offsets(title+", ends", spans, row, func(s Span) float64 { return last - s.End }),
	}
}

// rowHeight shares about 340 pixels among the nodes, within reason.
func rowHeight(n int) float64 { return clamp(340/float64(max(n, 1)), 3, 20) }

// chartHeight is the height of a column: rows and the axis below.
func chartHeight(n int, row float64) float64 { return float64(n)*row + marginBottom }

func names(spans []Span, row float64) template.HTML {
	d := svg.NewFixed("yaxis", "", nameWidth, chartHeight(len(spans), row))
	every := svg.Thin(len(spans), int(float64(len(spans))*row/14))
	for i, s := range spans {
		if i%every == 0 {
			y := float64(i)*row + row/2 + 4
			d.Text("tick", svg.End, svg.Px(nameWidth-8), svg.Px(y), shorten(s.Name, 12))
		}
	}
	return d.HTML()
}

func bars(title string, spans []Span, row, last float64) template.HTML {
	n := len(spans)
	d := svg.New("area", title, chartHeight(n, row))
	a := svg.TightAxis(0, last, 2)
	shadeWindow(d, a, spans, 0, float64(n)*row)
	thick := max(row*0.62, 1.5)
	for i, s := range spans {
		class := "span"
		if !s.OK {
			class = "span bad"
		}
		tip := s.Name + ": " + num.Seconds(s.End-s.Start) + ", started " + num.Seconds(s.Start) + " after the first"
		y := float64(i)*row + (row-thick)/2
		d.Rect(class, a.Pct(s.Start), svg.Px(y), svg.Pct(100*(a.Share(s.End)-a.Share(s.Start))), svg.Px(thick), tip)
	}
	d.Line("zero", svg.Px(0), svg.Px(float64(n)*row), svg.Pct(100), svg.Px(float64(n)*row))
	timeTicks(d, a, float64(n)*row+16)
	return d.HTML()
}

// shadeWindow shades the common window behind what is drawn after it.
func shadeWindow(d *svg.Drawing, a svg.Axis, spans []Span, top, height float64) {
	from, to, ok := Window(spans)
	if !ok {
		return
	}
	tip := num.Seconds(to-from) + " in which all tasks were running"
	d.Rect("window", a.Pct(from), svg.Px(top), svg.Pct(100*(a.Share(to)-a.Share(from))), svg.Px(height), tip)
}

// offsets draws one value of each node as a dot with the clock's error, on an
// axis of its own from 0 to the largest.
func offsets(title string, spans []Span, row float64, of func(Span) float64) template.HTML {
	n := len(spans)
	bottom := float64(n) * row
	d := svg.New("area", title, chartHeight(n, row))
	top := 0.0
	for _, s := range spans {
		top = max(top, of(s)+s.ClockError)
	}
	a := svg.NewAxis(0, top, 2)
	if top == 0 {
		a = svg.NewAxis(0, 1e-3, 2)
	}
	d.Line("grid", svg.Px(0), svg.Px(0), svg.Px(0), svg.Px(bottom))
	for i, s := range spans {
		y := svg.Px(float64(i)*row + row/2)
		v := of(s)
		if s.ClockError > 0 {
			d.Line("clock", a.Pct(max(v-s.ClockError, 0)), y, a.Pct(v+s.ClockError), y)
		}
		d.Mark(svg.Dot, "value parallel", a.Pct(v), y, clamp(row*0.3, 1.2, 3.5), s.Name+": "+num.Seconds(v))
	}
	d.Line("zero", svg.Px(0), svg.Px(bottom), svg.Pct(100), svg.Px(bottom))
	d.Text("tick", svg.Start, svg.Px(0), svg.Px(bottom+16), "0")
	d.Text("tick", svg.End, svg.Pct(100), svg.Px(bottom+16), num.Seconds(a.Hi))
	return d.HTML()
}
