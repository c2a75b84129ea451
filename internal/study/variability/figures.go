package variability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// mostDots is how many values are counted for the density of a figure; of more
// every so manyth.
const mostDots = 1_000_000

// plot is a figure of one chart for pages.
func plot(words string, c chart.Chart) doc.Block { return doc.Plot("", words, c).On(doc.Page) }

// colour is the fact by which the values are coloured: that which explains most,
// or else that which tells the bands. Repetitions and the like pass with the time,
// and are too many for colours.
func (m *Metric) colour() *explain.Fact {
	if f := m.x.Fact(explain.BestOf(m.Facts, func(e explain.Effect) bool { return !e.Passes() })); f != nil {
		return f
	}
	if m.Bands.By != nil && !explain.Passing(m.Bands.By.Fact) {
		return m.x.Fact(m.Bands.By.Fact)
	}
	return nil
}

// seriesFigure is the values against time, or their order, with the bands and the
// changes of the level.
func (m *Metric) seriesFigure() doc.Block {
	f, step := m.x.Frame, max(1, m.N/mostDots)
	c := chart.Chart{Title: "Values over time", Height: 240, X: m.timeAxis(), Y: chart.Axis{Unit: m.Unit, Label: m.Metric, Tight: true}}
	var d chart.Dots
	by := m.colour()
	if by != nil {
		d.Levels = by.Levels
	}
	for i := 0; i < m.N; i += step {
		d.X, d.Y = append(d.X, m.place(i)), append(d.Y, f.Values[i])
		if by != nil {
			d.Codes = append(d.Codes, by.Codes[i])
		}
	}
	roles := m.bandRoles()
	for i, b := range m.Bands.Bands {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: roles[i], Name: fmt.Sprintf("band %d", i+1), Y: chart.Values{b.From}, Y2: chart.Values{b.To}})
	}
	c.Layers = append(c.Layers, chart.Scatter(c.X, c.Y, d)...)
	if m.Course != nil && len(m.Course.Changes) > 0 {
		rules := chart.Layer{Mark: chart.Rule, Role: chart.Reference, Name: "change of the level"}
		levels := chart.Layer{Mark: chart.Step, Name: "mean between changes"}
		from := 0
		for _, p := range m.Course.Parts {
			levels.AddSpan(m.place(from), m.place(min(p.From+p.N, m.N-1)), p.Mean)
			from = p.From + p.N
		}
		for _, change := range m.Course.Changes {
			rules.X, rules.Text = append(rules.X, m.place(change.Row-1)), append(rules.Text, num.Signed(change.Relative))
		}
		c.Layers = append(c.Layers, levels, rules)
	}
	words := "each value when it was measured"
	if by != nil {
		words += ", coloured by " + m.nameOf(by.Name)
	}
	if len(m.Bands.Bands) > 1 {
		words += "; the strips are the bands"
	}
	return plot(words, c)
}

func (m *Metric) timeAxis() chart.Axis {
	if m.From == nil {
		return chart.Axis{Label: "value in the order of the rows", Tight: true, Whole: true}
	}
	return chart.Axis{Kind: chart.Time, Zone: m.Zone}
}

// place is where a row stands on the time axis.
func (m *Metric) place(row int) float64 {
	if m.From == nil {
		return float64(row + 1)
	}
	return float64(m.x.Frame.Times[row]) / float64(time.Second)
}

// histogramFigure is how often each value was measured, with its density and the
// bands.
func (m *Metric) histogramFigure() doc.Block {
	edges, counts := m.histogram()
	if len(counts) == 0 {
		return doc.Block{}
	}
	c := chart.Chart{Title: "How often each value was measured", Height: 200, X: chart.Axis{Unit: m.Unit, Label: m.Metric, Tight: true}, Y: chart.Axis{Label: "values"}}
	bars := chart.Layer{Mark: chart.Bar, Role: chart.Series1}
	s, roles := m.scale(), m.bandRoles()
	for i, n := range counts {
		bars.AddSpan(edges[i], edges[i+1], float64(n))
		bars.Tips = append(bars.Tips, fmt.Sprintf("%s to %s: %s", s.Number(edges[i], 0), s.Value(edges[i+1], 0),
			num.Count(n, "value")))
		k := slices.IndexFunc(m.Bands.Bands, func(b explain.Band) bool { return (edges[i]+edges[i+1])/2 <= b.To })
		bars.Roles = append(bars.Roles, roles[max(0, k)])
	}
	c.Layers = append(c.Layers, bars)
	if len(edges) > 2 {
		if xs, ys, err := stats.Density(m.x.Sorted, 200); err == nil {
			line := chart.Layer{Mark: chart.Line, Name: "density", X: xs}
			for _, y := range ys {
				line.Y = append(line.Y, y*float64(m.N)*(edges[1]-edges[0]))
			}
			c.Layers = append(c.Layers, line)
		}
	}
	for i, b := range m.Bands.Bands {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: roles[i], Name: fmt.Sprintf("band %d: %s of the values", i+1, num.Fraction(b.Share)), X: chart.Values{b.From}, X2: chart.Values{b.To}})
	}
	for _, cut := range m.Cutoffs {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: chart.Limit, X: chart.Values{cut.At}, Text: []string{"cutoff " + s.Value(cut.At, 0)}})
	}
	return plot("A bar is how many values lie in its range, the line their density", c)
}

// histogram has bins as wide as the narrowest of the bands needs, where there are
// some, and never fewer than show a form that the density shows: the width by
// quartiles knows nothing of several modes.
func (m *Metric) histogram() (edges []float64, counts []int) {
	edges, counts = stats.Histogram(m.x.Sorted, mostBins)
	need, at := len(counts), 0
	for _, b := range m.Bands.Bands {
		if e, c := stats.Histogram(m.x.Sorted[at:at+b.N], mostBins); len(c) > 1 {
			need = max(need, int(math.Ceil(m.Range/(e[1]-e[0]))))
		}
		at += b.N
	}
	need = min(mostBins, max(need, min(leastBins, m.N/2)))
	if need > len(counts) && len(counts) > 0 {
		edges, counts = bins(m.x.Sorted, need)
	}
	return edges, counts
}

// mostBins is how many bars a histogram has; among fewer than leastBins not even
// three modes are seen.
const mostBins, leastBins = 60, 20

// bins counts ascending values in so many equally wide bins from the least to the
// greatest.
func bins(sorted []float64, n int) (edges []float64, counts []int) {
	lo, hi := sorted[0], sorted[len(sorted)-1]
	edges, counts = make([]float64, n+1), make([]int, n)
	from := 0
	edges[0] = lo
	for i := range counts {
		edges[i+1] = lo + (hi-lo)*float64(i+1)/float64(n)
		to := len(sorted)
		if i < n-1 {
			to, _ = slices.BinarySearch(sorted, edges[i+1])
		}
		counts[i], from = to-from, to
	}
	return edges, counts
}

// bandRoles are the colours of the bands: those of the levels that most of each has,
// where the values are coloured by that fact.
func (m *Metric) bandRoles() []chart.Role {
	out := make([]chart.Role, max(1, len(m.Bands.Bands)))
	for i := range out {
		out[i] = chart.Series(i)
	}
	if by := m.Bands.By; by != nil {
		role := m.levelRoles(by.Fact)
		for i := range min(len(out), len(by.Levels)) {
			out[i] = cmp.Or(role[by.Levels[i].Level], out[i])
		}
	}
	return out
}

// levelRoles are the colours of the levels of a fact, where the values are coloured by
// that fact.
func (m *Metric) levelRoles(fact string) map[string]chart.Role {
	out := make(map[string]chart.Role)
	if f := m.colour(); f != nil && f.Name == fact {
		for i, role := range chart.LevelRoles(f.Levels, f.Codes) {
			if f.Levels[i] != "" {
				out[f.Levels[i]] = role
			}
		}
	}
	return out
}

// mostBoxes is how many groups have a box.
const mostBoxes = 24

func (m *Metric) boxFigure(g explain.Grouping) doc.Block {
	if m.bounded() {
		return doc.Block{}
	}
	s := m.scale()
	boxes := chart.Layer{Mark: chart.Box, Role: chart.Series1}
	c := chart.Chart{Title: "Distribution by " + m.nameOf(g.Fact), X: chart.Axis{Unit: m.Unit, Label: m.Metric}, Y: chart.Axis{Kind: chart.Rows, Down: true}}
	role := m.levelRoles(g.Fact)
	for i, x := range g.Groups[:min(len(g.Groups), mostBoxes)] {
		boxes.Y = append(boxes.Y, float64(i))
		boxes.Boxes = append(boxes.Boxes, chart.Summary{Five: chart.Values{x.P01, x.P25, x.Mean, x.P75, x.P99}, N: x.N, Style: chart.Percentiles})
		boxes.Roles = append(boxes.Roles, cmp.Or(role[x.Level], chart.Series1))
		c.Y.Rows = append(c.Y.Rows, chart.Row{Name: x.Level, Value: s.Value(x.Mean, 0), Note: "n = " + num.Grouped(int64(x.N))})
	}
	if len(boxes.Y) == 0 {
		return doc.Block{}
	}
	c.Layers = []chart.Layer{boxes}
	return doc.Plot("", "Line: mean; box: the middle half of the values; whiskers: 98 of 100", c)
}

// heatFigure is the mean of each hour of each weekday; nothing where fewer than
// three weekdays were measured.
func (m *Metric) heatFigure() doc.Block {
	hour, day := m.x.Calendar(explain.FactHour), m.x.Calendar(explain.FactWeekday)
	if hour == nil || day == nil {
		return doc.Block{}
	}
	const days, hours = 7, 24
	var n, sum [days][hours]float64
	used := make(map[uint16]bool)
	for i, v := range m.x.Frame.Values {
		d, h := day.Codes[i], hour.Codes[i]
		n[d-1][h-1]++
		sum[d-1][h-1] += v
		used[d] = true
	}
	if len(used) < 3 {
		return doc.Block{}
	}
	s := m.scale()
	c := chart.Chart{Title: "Mean of each hour of each weekday", X: chart.Axis{Kind: chart.Rows, Label: "hour of the day, " + m.Zone}, Y: chart.Axis{Kind: chart.Rows, Down: true}}
	l := chart.Layer{Mark: chart.Cell, Unit: m.Unit, Shading: chart.Even}
	for h := range hours {
		c.X.Rows = append(c.X.Rows, chart.Row{Name: strconv.Itoa(h)})
	}
	for d := range days {
		c.Y.Rows = append(c.Y.Rows, chart.Row{Name: day.Levels[d+1][:3]})
		for h := range hours {
			mean, text, tip := math.NaN(), "", "not measured"
			if n[d][h] > 0 {
				mean = sum[d][h] / n[d][h]
				text = s.Number(mean, 0)
				tip = fmt.Sprintf("mean %s of %s", s.Value(mean, 0), num.Count(int(n[d][h]), "value"))
			}
			l.Add(float64(h), float64(d))
			l.Value, l.Text = append(l.Value, mean), append(l.Text, text)
			l.Tips = append(l.Tips, fmt.Sprintf("%s, %d h: %s", day.Levels[d+1], h, tip))
		}
	}
	c.Layers = []chart.Layer{l}
	return plot("Mean by weekday and hour; a row or a column of one shade is an effect of the day or the hour", c)
}

// neededFigure is the interval of the mean so far against the number of values, and
// that of the median by subsets (CONFIRM).
func (m *Metric) neededFigure() doc.Block {
	// On the same nodes more values narrow it no further than these nodes allow.
	if m.N < 10 || !(m.Mean > 0) || m.SD == nil || m.Dependence.OfNodes() {
		return doc.Block{}
	}
	inflation := float64(m.N) / m.Dependence.EffectiveN
	line, band := chart.Layer{Mark: chart.Line, Name: "mean so far"}, chart.Layer{Mark: chart.Band, Role: chart.Interval, Name: "its interval"}
	sum, squares, next := 0.0, 0.0, 5.0
	for i, v := range m.x.Frame.Values {
		d := v - m.Median
		sum, squares = sum+d, squares+d*d
		k := float64(i + 1)
		if k < next && i+1 < m.N {
			continue
		}
		next = max(k+1, k*1.06)
		worth := k / inflation
		t, err := stats.TQuantile((1+m.x.Level)/2, max(1, worth-1))
		if err != nil || worth < 2 {
			continue
		}
		mean := m.Median + sum/k
		half := t * math.Sqrt(max(0, squares-sum*sum/k)/(k-1)/worth)
		line.Add(k, mean)
		band.AddRange(k, mean-half, mean+half)
	}
	if len(line.X) < 3 {
		return doc.Block{}
	}
	reach := 4 * max(0.05*m.Mean, band.Y2[len(band.Y2)-1]-line.Y[len(line.Y)-1])
	lo, hi := m.Mean-reach, m.Mean+reach
	c := chart.Chart{Title: "Mean and its interval against values", Height: 220, X: chart.Axis{Kind: chart.Log, Label: "values", Tight: true}, Y: chart.Axis{Unit: m.Unit, Tight: true, Min: &lo, Max: &hi}}
	c.Layers = []chart.Layer{{Mark: chart.Band, Role: chart.Window, Name: "within ±5 % of the mean of all", Y: chart.Values{0.95 * m.Mean}, Y2: chart.Values{1.05 * m.Mean}}, band, line}
	if len(m.x.curve) > 1 {
		median := chart.Layer{Mark: chart.Line, Role: chart.Series2, Name: "interval of the median"}
		other := median
		other.Name = ""
		for _, p := range m.x.curve {
			at := float64(p.Size) * inflation
			median.Add(at, p.Lo)
			other.Add(at, p.Hi)
		}
		c.Layers = append(c.Layers, median, other)
	}
	return plot("How the interval narrows with the number of values: enough were measured where it lies within the strip", c)
}

// clusterFigure is the COV of cluster means by size, and the means against the
// share that explains them best.
func (m *Metric) clusterFigure() doc.Block {
	k := m.Clusters
	if k == nil {
		return doc.Block{}
	}
	size := chart.Chart{Title: "COV of the means of clusters by size", Height: 220, X: chart.Axis{Label: "nodes in a cluster", Whole: true}, Y: chart.Axis{Unit: "%"}}
	seen, free := chart.Layer{Mark: chart.Line, Role: chart.Series1, Name: "as measured"}, chart.Layer{Mark: chart.Line, Role: chart.Reference, Name: "if nodes were independent"}
	for _, s := range k.Sizes {
		seen.Add(float64(s.Size), 100*s.COV)
		free.Add(float64(s.Size), 100*s.Independent)
	}
	size.Layers = []chart.Layer{free, seen}
	f := &doc.Figure{Columns: 2, Note: "Where the measured line lies above the other, nodes of a cluster are alike, and larger clusters even out less.", Panels: []doc.Panel{{Title: "COV of the means by size", Chart: size}}}
	if len(k.Mixes) > 0 {
		x := k.Mixes[0]
		mix := chart.Chart{Title: "Mean of a cluster against its mix", Height: 220, X: chart.Axis{Unit: "%", Label: "share of " + frame.InWords(x.Fact) + " " + x.Level}, Y: chart.Axis{Unit: m.Unit, Tight: true}}
		dots := chart.Dots{Y: x.Means}
		for _, share := range x.Shares {
			dots.X = append(dots.X, 100*share)
		}
		mix.Layers = chart.Scatter(mix.X, mix.Y, dots)
		f.Panels = append(f.Panels, doc.Panel{Title: fmt.Sprintf("Means against the share of %s %s", frame.InWords(x.Fact), x.Level), Chart: mix})
	}
	return doc.Block{Show: doc.Page, Figure: f}
}
