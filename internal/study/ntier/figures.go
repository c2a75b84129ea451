package ntier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/timeline"
)

var (
	// with more the last one, the largest load, has no room
	usersAxis      = chart.Axis{Label: "users", Whole: true, TickCount: 7}
	throughputAxis = chart.Axis{Label: "throughput", Unit: "op/s"}
)

// span adds from where to where something was at a number of users.
func span(l *chart.Layer, users int, lo, hi float64) {
	l.X, l.Y, l.Y2 = append(l.X, float64(users)), append(l.Y, lo), append(l.Y2, hi)
}

// throughputFigure is throughput against users with the knee, the bounds and the
// model.
func (f *Finding) throughputFigure() doc.Block {
	c := chart.Chart{Title: "Throughput of " + f.Configuration + " against users", Height: 240, X: usersAxis,
		Y: throughputAxis}
	if k := f.Knee; k != nil {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: chart.Window, Name: "knee, 95 %: " + k.Range(), X: chart.Values{k.CI.Lo}, X2: chart.Values{k.CI.Hi}})
	}
	if f.Laws != nil && len(f.Laws.Points) > 0 {
		bounds, model := chart.Layer{Mark: chart.Band, Role: chart.Interval, Name: "bounds by the demands"}, chart.Curve{}
		for _, p := range f.Laws.Points {
			if from := f.Laws.ExceededFrom; from == 0 || p.Users < from {
				span(&bounds, p.Users, p.Lo, p.Hi)
			}
			model.Add(float64(p.Users), p.Model)
		}
		c.Layers = append(c.Layers, bounds, chart.Layer{Mark: chart.Line, Role: chart.Estimate, Name: "model of the queues",
			X: model.X, Y: model.Y})
	}
	points, whiskers := chart.Layer{Mark: chart.Point, Role: chart.Parallel, Name: "measured"}, chart.Layer{Mark: chart.Rule, Role: chart.Interval}
	for _, l := range f.Loads {
		points.X, points.Y, points.Hollow = append(points.X, float64(l.Users)), append(points.Y, l.Throughput), append(points.Hollow, l.Refused != "")
		points.Tips = append(points.Tips, fmt.Sprintf("%d users: %s", l.Users, rate(l.Throughput)))
		if l.CI != nil {
			span(&whiskers, l.Users, max(0, l.CI.Lo), l.CI.Hi)
		}
	}
	if len(whiskers.X) > 0 {
		c.Layers = append(c.Layers, whiskers)
	}
	c.Layers = append(c.Layers, points)
	words := ""
	if slices.Contains(points.Hollow, true) {
		words = "hollow: the generator was the limit"
	}
	return doc.Plot("Throughput of "+f.Configuration, words, c).On(doc.Page)
}

// responseFigure is the response time that users saw, beside that of the first tier
// (the paper's fig. 4b); nothing where neither is known.
func (f *Finding) responseFigure(first string) doc.Block {
	seen := chart.Curve{Name: "users"}
	for _, x := range f.Loads {
		seen.Add(float64(x.Users), x.Response)
	}
	tier := f.curve(first+" tier", first, shownSignals[0])
	return plot("Mean response time of "+f.Configuration, chart.Axis{Label: "response time", Unit: "s"}, []chart.Curve{seen, tier})
}

// heatMap is how full each resource was at each load.
func (f *Finding) heatMap(tiers []string) doc.Block {
	const title = "Utilisation by tier and users"
	c := chart.Chart{Title: title, X: chart.Axis{Kind: chart.Rows, Label: "users"},
		Y: chart.Axis{Kind: chart.Rows, Down: true}}
	l := chart.Layer{Mark: chart.Cell, Unit: "%", Shading: chart.Even}
	var of []bottleneck.Resource
	for _, tier := range tiers {
		for _, load := range f.Loads {
			for _, u := range load.Usage {
				if u.Of(tier) && load.Counts(u) && !slices.Contains(of, u.Resource) {
					of = append(of, u.Resource)
					c.Y.Rows = append(c.Y.Rows, chart.Row{Name: cmp.Or(string(u.Node), u.Tier) + " " + strings.ReplaceAll(string(u.Kind), "_", " ")}) // pages cut longer names
				}
			}
		}
	}
	if len(of) == 0 {
		return doc.Block{}
	}
	for x, load := range f.Loads {
		c.X.Rows = append(c.X.Rows, chart.Row{Name: fmt.Sprint(load.Users)})
		for y, r := range of {
			value, text, tip := math.NaN(), "", "not known"
			if i := slices.IndexFunc(load.Usage, func(u bottleneck.Usage) bool { return u.Resource == r }); i >= 0 {
				u := load.Usage[i]
				value, text = 100*u.Mean, fmt.Sprintf("%.0f", 100*u.Mean)
				tip = fmt.Sprintf("%s with %d users: %s used, full in %s of the seconds", r, load.Users, num.Fraction(u.Mean), num.Fraction(u.Share))
			}
			l.X, l.Y, l.Value = append(l.X, float64(x)), append(l.Y, float64(y)), append(l.Value, value)
			l.Text, l.Tips = append(l.Text, text), append(l.Tips, tip)
		}
	}
	c.Layers = []chart.Layer{l}
	return doc.Plot(title, "percent, on average over the seconds of the run", c)
}

// timelineFigure is one trial through its stages, with users and all tiers aligned.
func timelineFigure(t timeline.Timeline, users int) doc.Block {
	figure := &doc.Figure{Title: "One trial through its stages", Words: fmt.Sprintf("%d users; the strip is what is scored; what had not ended when the users left counts as an error behind it", users)}
	run := chart.Layer{Mark: chart.Band, Role: chart.Window, X: chart.Values{t.Run[0]}, X2: chart.Values{t.Run[1]}}
	x := chart.Axis{Label: "seconds", Hi: &t.End}
	if len(t.Stages) > 0 {
		figure.Panels = append(figure.Panels, stagesPanel(t.Stages, x))
	}
	for _, l := range t.Lines {
		line := chart.Layer{Mark: chart.Line, Role: chart.Parallel, Y: l.Y}
		for i := range l.Y {
			line.X = append(line.X, (float64(i)+.5)*l.Step)
		}
		title := l.Name
		if l.Step < 1 {
			title += ", each " + num.Seconds(l.Step)
		}
		c := chart.Chart{Title: title, Height: 70, X: x, Y: chart.Axis{Unit: l.Unit}, Layers: []chart.Layer{run, line}}
		figure.Panels = append(figure.Panels, doc.Panel{Title: title, Chart: c})
	}
	if len(figure.Panels) == 0 {
		return doc.Block{}
	}
	return doc.Block{Figure: figure}.On(doc.Page)
}

// stagesPanel is a row for each service with its stages.
func stagesPanel(stages []timeline.Stage, x chart.Axis) doc.Panel {
	c := chart.Chart{Title: "Stages", X: x, Y: chart.Axis{Kind: chart.Rows, Dense: true, Down: true}}
	bars := chart.Layer{Mark: chart.Bar}
	for _, s := range stages {
		name := cmp.Or(s.Service, "users")
		row := slices.IndexFunc(c.Y.Rows, func(r chart.Row) bool { return r.Name == name })
		if row < 0 {
			row, c.Y.Rows = len(c.Y.Rows), append(c.Y.Rows, chart.Row{Name: name})
		}
		bars.X, bars.X2, bars.Y = append(bars.X, s.From), append(bars.X2, s.To), append(bars.Y, float64(row))
		bars.Roles = append(bars.Roles, chart.Series(stageColours[s.Name]))
		bars.Tips = append(bars.Tips, fmt.Sprintf("%s: %s, %s", name, strings.ReplaceAll(s.Name, "_", " "), num.Seconds(s.To-s.From)))
	}
	c.Layers = []chart.Layer{bars}
	return doc.Panel{Title: "Stages", Chart: c}
}

// stageColours give each stage the same colour in all rows. There are eight: stages that
// follow each other, or lie in each other, have different ones.
var stageColours = map[string]int{
	"set_up": 0, "reset": 1, "await": 7, "start": 2, "healthy": 3, "warm": 4, model.StageTables: 2, "ramp_up": 5, timeline.StageRun: 6,
	"limit": 3, "ramp_down": 7, "collect": 1, "signals": 4, "stop": 5,
}
