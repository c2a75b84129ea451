package evaluation

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// Count is what the finding compares: "4 nodes", "1 pair".
func (f Finding) Count() string { return num.Count(f.Nodes, string(f.Of)) }

// Worth says how many nodes, or pairs, without degradation would do the same
// work: n·(1 − CDI/100); num.Missing if there is no CDI.
func (f Finding) Worth() string {
	if f.CDI == nil {
		return num.Missing
	}
	worth := float64(f.Nodes) * (1 - *f.CDI/100)
	digits := "%.1f"
	if worth >= 99.95 {
		digits = "%.0f"
	}
	if s := fmt.Sprintf(digits, worth); s != "1.0" {
		return s + " " + string(f.Of) + "s"
	}
	return "1.0 " + string(f.Of)
}

// Work says what all do together: "4 nodes do the work of 1.5 nodes"; empty
// if there is no CDI.
func (f Finding) Work() string {
	if f.CDI == nil {
		return ""
	}
	return num.Do(f.Nodes, string(f.Of)) + " the work of " + f.Worth()
}

// MostLost is the largest loss that is not excluded, in points: the upper end of
// the interval, or of what disturbances leave possible. Of a finding without an
// interval it is everything.
func (f Finding) MostLost() float64 {
	if f.CI == nil {
		return 100
	}
	most := f.CI[1]
	if f.Possible != nil {
		most = max(most, f.Possible[1])
	}
	return min(max(most, 0), 100)
}

// MostLostText says which loss is not excluded: the upper end of the interval, and
// what is possible with what disturbed the nodes, if that is more.
func (f Finding) MostLostText() string {
	if f.CI == nil {
		return num.Percent(100)
	}
	upper := max(f.CI[1], 0)
	text := num.Percent(upper)
	if most := f.MostLost(); num.Percent(most) != text && most > upper {
		text += fmt.Sprintf(" (%s with what disturbed the nodes)", num.Percent(most))
	}
	return text
}

// CDIText prints the index: "62.4 %".
func (f Finding) CDIText() string { return num.Optional(f.CDI, num.Percent) }

// IntervalText prints the interval of the index: "[60.1, 64.8]"; empty if
// there is none.
func (f Finding) IntervalText() string {
	if i := f.CI; i != nil {
		return num.PercentInterval(i[0], i[1])
	}
	return ""
}

// SuchText prints the interval for others of their kind, "(50.2, 74.7)", where
// IntervalText is that for these; else it is empty.
func (f Finding) SuchText() string {
	if f.CIFleet == nil || f.CINodes == nil {
		return ""
	}
	text := num.PercentInterval(f.CINodes[0], f.CINodes[1])
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}

// Scale chooses one unit for all capacities of the finding, the total apart.
func (f Finding) Scale() num.Scale {
	var values []float64
	for _, v := range []*float64{f.Serial.Mean, f.Serial.Max, f.Parallel.Mean, f.Parallel.Max} {
		if v != nil {
			values = append(values, *v)
		}
	}
	return ScaleOf(f.Resource, f.Unit, values...)
}

// ScaleOf is num.For, in bits for networks: "300 Mbit/s" is what a provider's
// page says.
func ScaleOf(resource, unit string, values ...float64) num.Scale {
	shown, factor := DrawnIn(resource, unit)
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = factor * v
	}
	scale := num.For(shown, scaled...)
	return num.Scale{Factor: scale.Factor / factor, Unit: scale.Unit}
}

// DrawnIn is the unit in which amounts of a resource are shown, and what values
// are multiplied by for it.
func DrawnIn(resource, unit string) (shown string, factor float64) {
	base, rate := strings.CutSuffix(unit, "/s")
	if strings.HasPrefix(resource, "network.") && rate && (base == "byte" || base == "B") {
		return "bit/s", 8
	}
	return unit, 1
}

// looks is how verdicts look in text and in charts.
var looks = map[Verdict]struct {
	tone doc.Tone
	role chart.Role
}{
	None: {doc.Plain, chart.Faint}, Unclear: {doc.Doubt, chart.Faint}, Degraded: {doc.Bad, chart.Bad}, Gain: {doc.Gain, chart.Better}, Unknown: {doc.Doubt, chart.Unknown},
}

// Tone is how a verdict looks in text.
func (v Verdict) Tone() doc.Tone { return looks[v].tone }

// Tag is the verdict behind a title.
func (v Verdict) Tag() doc.Tag { return doc.Tag{Word: string(v), Tone: v.Tone()} }

// Chart draws the CDI of findings as bars (ScaleBench, Fig. 8) with whiskers
// for the intervals. row names and links each of them. The axis always reaches
// from 0 to 100 %, so that a small degradation looks small, and never below
// -100, so that one gain does not squeeze the rest.
func Chart(title string, findings []Finding, row func(i int, f Finding) chart.Row) chart.Chart {
	lo, hi, floor := 0.0, 100.0, -100.0
	c := chart.Chart{Title: title, X: chart.Axis{Unit: "%", Lo: &lo, Hi: &hi, Min: &floor, Tight: true}, Y: chart.Axis{Kind: chart.Rows}}
	bars := chart.Layer{Mark: chart.Bar}
	unknown := chart.Layer{Mark: chart.Bar, Role: chart.Unknown, X2: chart.Values{hi}}
	label := chart.Layer{Mark: chart.Label, Text: []string{"unknown"}}
	whiskers := chart.Layer{Mark: chart.Rule, Role: chart.Interval, Name: "95 % interval"}
	trials := chart.Layer{Mark: chart.Point, Role: chart.Interval, Name: "single trials", Hollow: []bool{true}}
	for i, f := range findings {
		r, y := row(i, f), float64(i)
		r.Value, r.Note, r.Tag, r.Role = f.CDIText(), f.IntervalText(), string(f.Verdict), looks[f.Verdict].role
		c.Y.Rows = append(c.Y.Rows, r)
		if f.CDI == nil {
			unknown.X, unknown.Y = append(unknown.X, 0), append(unknown.Y, y)
			label.X, label.Y = append(label.X, (lo+hi)/2), append(label.Y, y)
			continue
		}
		bars.X, bars.Y, bars.Roles = append(bars.X, *f.CDI), append(bars.Y, y), append(bars.Roles, r.Role)
		bars.Tips = append(bars.Tips, tip(f))
		if i := f.CI; i != nil {
			whiskers.X, whiskers.X2, whiskers.Y = append(whiskers.X, i[0]), append(whiskers.X2, i[1]), append(whiskers.Y, y)
		}
		if len(f.CDITrials) > 1 {
			for k, v := range f.CDITrials {
				trials.X, trials.Y = append(trials.X, v), append(trials.Y, y)
				trials.Tips = append(trials.Tips, fmt.Sprintf("trial %d alone: %s", k+1, num.Percent(v)))
			}
		}
	}
	for _, l := range []chart.Layer{bars, unknown, label, whiskers, trials} {
		if len(l.X) > 0 {
			c.Layers = append(c.Layers, l)
		}
	}
	return c
}

// tip says what the bar of a finding shows.
func tip(f Finding) string {
	s := "CDI " + f.CDIText()
	if i := f.IntervalText(); i != "" {
		s += ", 95 % interval " + i
	}
	return s + ", verdict " + string(f.Verdict)
}

// Warnings says each caveat of findings and scalings once, in order of first
// appearance, with links to the findings that carry it, or to all of them, and to
// the scalings. href leads to a finding, or to all of them for -1; growth to a
// scaling.
func Warnings(findings []Finding, scalings []Scaling, href, growth func(i int) string) []doc.Warning {
	var parts []doc.Noting
	for i, f := range findings {
		parts = append(parts, doc.Noting{Link: doc.Link{Href: href(i), Text: f.Name()}, Caveats: f.Doubts})
	}
	n, ofFindings := len(findings), doc.LinkedCaveats(parts)
	for i, s := range scalings {
		parts = append(parts, doc.Noting{Link: doc.Link{Href: growth(i), Text: s.Name()}, Caveats: s.Doubts})
	}
	out := doc.LinkedCaveats(parts)
	for i, w := range ofFindings {
		if n > 2 && len(w.Links) == n {
			out[i].Links = append([]doc.Link{{Href: href(-1), Text: "all findings"}}, out[i].Links[n:]...)
		}
	}
	return out
}
