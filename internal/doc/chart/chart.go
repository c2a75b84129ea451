// Package chart declares charts: axes and layers of marks, in plain numbers.
//
//  1. A study fills a [Chart]: what stands on the two axes, and layers of
//     marks ([Line], [Step], [Band], [Point], [Raster], [Bar], [Box], [Cell],
//     [Rule], [Label]) over the same data columns.
//  2. What would be too much to travel is made small before: [Scatter] turns
//     any number of points into layers, by their density where there are many,
//     coloured by the levels of a factor ([LevelRoles]); [Summarize] turns any
//     number of values into one box.
//  3. [Draw] draws any charts for a page, [SVG] as a file of their own, and
//     [Text] those that a terminal can carry (rows of bars, intervals and box
//     plots, histograms, cells, lines as sparklines).
//
// A chart says nothing about colours or pixels: layers and points carry a
// [Role], and the style sheet of the page gives each role its look, in both
// themes and on paper.
package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Chart is one drawing. Every value that is not finite is left out: there is
// nothing true to draw.
type Chart struct {
	// Title says what is shown, for readers of the screen.
	Title string `json:"title"`
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`
	// Layers are drawn in their order, the first at the bottom.
	Layers []Layer `json:"layers"`
	// Height of the plot in pixels; 0 chooses one that suits the axes.
	Height float64 `json:"height,omitempty"`
	// Span is how many of its figure's columns the chart takes; 0 is 1.
	Span int `json:"span,omitempty"`
}

// AxisKind is how values become positions.
type AxisKind string

// Linear and Log axes carry numbers; Log refuses what is not above 0. Rows
// carry the categories of Axis.Rows, one below the other (Y) or side by side
// (X): values are indices into them, from 0. Time axes carry seconds since 1970
// (UTC), fractions allowed; they begin where the values do, and their ticks are
// round on the clock and in the calendar of Axis.Zone.
const (
	Linear AxisKind = "linear"
	Log    AxisKind = "log"
	Rows   AxisKind = "rows"
	Time   AxisKind = "time"
)

// Axis is one of the two directions of a chart.
type Axis struct {
	Kind AxisKind `json:"kind,omitempty"` // empty: Linear
	// Label says what the values are, for people; Unit is theirs as measured
	// ("op/s", "byte/s", "s", "%"). The renderer chooses the prefix, and ticks
	// that are round with it.
	Label string `json:"label,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Zone is the time zone of a Time axis by its name in the IANA database, such
	// as "Europe/Berlin"; empty or not known: UTC. The axis says which it is.
	Zone string `json:"zone,omitempty"`
	// Lo and Hi are values that the axis must reach; it reaches further where
	// values lie beyond. Without them a linear axis begins at 0, unless Tight.
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
	Tight bool     `json:"tight,omitempty"`
	// Min and Max are ends that the axis never passes. What lies beyond is cut
	// off; a bar or an interval ends in an arrow there.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Whole axes have ticks at whole numbers only. TickCount is about how many
	// there are; 0 chooses. Of one or two only the ends have labels, unless the
	// axis is Tight. Signed ticks are written with + and −.
	Whole     bool `json:"whole,omitempty"`
	TickCount int  `json:"tickCount,omitempty"`
	Signed    bool `json:"signed,omitempty"`
	// NoGrid: the ticks of this axis have no lines across the plot; those of
	// the other have.
	NoGrid bool `json:"noGrid,omitempty"`
	// Relative: where the medians of boxes are far apart, each row is drawn
	// around its own median, and the axis is the difference from that in
	// percent.
	Relative bool `json:"relative,omitempty"`
	// Ticks are labels at given values; they replace computed ones.
	Ticks []Tick `json:"ticks,omitempty"`
	Rows  []Row  `json:"rows,omitempty"`
	// Dense rows are thin and stand in one drawing, with their names cut short:
	// for as many as a fleet has nodes. Others are laid out by the page, with
	// all that a [Row] has.
	Dense bool `json:"dense,omitempty"`
	// Down: the rows of Y are in an order that is read from the top, as days of
	// the week. Where they stand side by side, the first is at the left;
	// otherwise the last.
	Down bool `json:"down,omitempty"`
	// Hidden axes have no line, ticks or labels.
	Hidden bool `json:"hidden,omitempty"`
}

// Tick is a labelled value of an axis.
type Tick struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// Row is one category of an axis of kind Rows, with what stands beside its
// marks. All but Name may be empty.
type Row struct {
	Name string `json:"name"`           // "network"
	Sub  string `json:"sub,omitempty"`  // second part of the name: "throughput"
	Href string `json:"href,omitempty"` // where the name leads: "#f0"
	// Value and Note stand behind the marks: "62.4 %", "[60.1, 64.8]"; Tag is
	// a word with a role: the verdict.
	Value string `json:"value,omitempty"`
	Note  string `json:"note,omitempty"`
	Tag   string `json:"tag,omitempty"`
	Role  Role   `json:"role,omitempty"`
	// More are sentences below the row.
	More []string `json:"more,omitempty"`
}

// Mark is the shape of a layer.
type Mark string

// The marks, and the columns that each reads. A column of one value serves all
// marks of its layer.
const (
	// Line goes through X, Y, with a gap at a missing value.
	Line Mark = "line"
	// Step holds Y from its X to its X2, or to the next X.
	Step Mark = "step"
	// Band is an area between Y and Y2, through all X. With X2 it is one of
	// steps, or of single rectangles where Roles or Tips tell them apart.
	// Without X it goes over the whole width, without Y over the whole height.
	// On an axis of rows it covers the rows from Y to Y2 whole.
	Band Mark = "band"
	// Point is a mark at X, Y, which the role gives its shape. In rows without
	// X it is counted beside its row in text.
	Point Mark = "point"
	// Raster fills cells of a Grid, in runs: from column X up to before column X2
	// of row Y. Value is how many points each cell of the run holds, about; it
	// gives the opacity, by its logarithm. See [Scatter].
	Raster Mark = "raster"
	// Bar lies in row Y from X to X2; a missing X2 is 0. Where Y is not an axis of
	// rows it is one of a histogram: from X to X2, Y high, without a gap. A bar of
	// role Unknown from X to X2 means that there is no value; text leaves it out.
	Bar Mark = "bar"
	// Box summarizes the values X of each row Y: median, quartiles, and whiskers to
	// the farthest values no farther than 1.5 times the box from it; of fewer than 5
	// values the median alone. With Boxes it draws those. The axis begins at 0
	// unless all values are close together.
	Box Mark = "box"
	// Cell fills row Y of column X. Value gives the colour, see Shading; Text
	// stands in it.
	Cell Mark = "cell"
	// Rule is a vertical line at X, or a horizontal one at Y; a stretch from X
	// to X2 at Y, or from Y to Y2 at X. Text stands at a whole line's end, unless
	// there are too many beside each other. A stretch of role Interval has ends.
	Rule Mark = "rule"
	// Label is Text at the left of X, Y, or in the middle of a row.
	Label Mark = "label"
)

// Place is where a text stands: at which end of its rule, or below the rule.
type Place string

// Auto puts names of horizontal rules at the right end above the line, where there
// is room.
const (
	Auto  Place = ""
	Left  Place = "left"
	Right Place = "right"
	Above Place = "above" // a band without Y, in a strip above the plot
	Below Place = "below"
)

// Role is what a mark means; the style sheet gives it colour, shape and dashes.
type Role string

// Roles. Series1 to Series8 tell apart what has no meaning of its own.
const (
	Plain     Role = ""
	Serial    Role = "serial"
	Parallel  Role = "parallel"
	Good      Role = "good"    // kept, as intended
	Bad       Role = "bad"     // missed, degraded
	Better    Role = "better"  // a gain
	Unknown   Role = "unknown" // unusable, no verdict
	Faint     Role = "faint"   // may be overlooked
	Reference Role = "reference"
	Limit     Role = "limit" // what must not be exceeded, a capacity
	Interval  Role = "interval"
	Window    Role = "window" // time in which all were at work
	Estimate  Role = "estimate"
	Series1   Role = "s1"
	Series2   Role = "s2"
	Series3   Role = "s3"
	Series4   Role = "s4"
	Series5   Role = "s5"
	Series6   Role = "s6"
	Series7   Role = "s7"
	Series8   Role = "s8"
	Alarm     Role = "alarm" // what must not happen at all: stolen time
)

// Series returns the role of the i-th series (from 0); they repeat after eight.
func Series(i int) Role { return Role('s') + Role(rune('1'+i%8)) }

// Shading is how the values of cells become colours.
type Shading string

// ByLog is for values over several orders of magnitude. Even is for those of
// small spread: colours in proportion from the least to the greatest.
const (
	ByLog Shading = ""
	Even  Shading = "even"
)

// Layer is one mark over columns of data. All columns that a mark reads have
// the same length, or one value.
type Layer struct {
	Mark Mark   `json:"mark"`
	Name string `json:"name,omitempty"` // in the legend; empty: not there
	Role Role   `json:"role,omitempty"`
	X    Values `json:"x,omitempty"`
	Y    Values `json:"y,omitempty"`
	X2   Values `json:"x2,omitempty"`
	Y2   Values `json:"y2,omitempty"`
	// Value colours cells; Unit is its unit.
	Value Values `json:"value,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Shading is how cells are coloured.
	Shading Shading `json:"shading,omitempty"`
	// Boxes are boxes that were computed before; Y is the row of each.
	Boxes []Summary `json:"boxes,omitempty"`
	Grid  *Grid     `json:"grid,omitempty"` // of a raster
	// Text is one string a mark: what labels, cells and rules say. Tips are shown
	// to who points at a mark.
	Text []string `json:"text,omitempty"`
	Tips []string `json:"tips,omitempty"`
	// Place is where the text of rules stands.
	Place Place `json:"place,omitempty"`
	// Roles are those of single marks and replace Role; Hollow marks are
	// drawn open.
	Roles  []Role `json:"roles,omitempty"`
	Hollow []bool `json:"hollow,omitempty"`
	// Stack: bands stand on the stacked layers before them.
	// Points with the same X stand on each other, away from 0 towards Y.
	Stack bool `json:"stack,omitempty"`
}

// Add adds a mark at a place.
func (l *Layer) Add(x, y float64) { l.X, l.Y = append(l.X, x), append(l.Y, y) }

// AddRange adds a mark at x, from one y to another.
func (l *Layer) AddRange(x, y, y2 float64) {
	l.Add(x, y)
	l.Y2 = append(l.Y2, y2)
}

// AddSpan adds a mark from one x to another, at y.
func (l *Layer) AddSpan(x, x2, y float64) {
	l.Add(x, y)
	l.X2 = append(l.X2, x2)
}

// mostSteps is how many steps the line of a distribution has.
const mostSteps = 300

// AddShares adds a distribution in percent: the shares of values, from 0 to 1, at or below
// each x.
func (l *Layer) AddShares(x, shares []float64) {
	for i, last := 0, len(x)-1; i <= last; i++ {
		if i == last || i%(1+len(x)/mostSteps) == 0 {
			l.Add(x[i], 100*shares[i])
		}
	}
}

// MostLines is how many series get a line, and a name in the legend, each.
const MostLines = 8

// Steps are the lines of several nodes over common bins: edges has one more
// than every line. Up to eight have a line and a name in the legend each; of
// more the median is drawn, and a band from the least to the greatest.
func Steps(edges []float64, names []string, lines [][]float64) []Layer {
	if len(edges) < 2 {
		return nil
	}
	from, to := edges[:len(edges)-1], edges[1:]
	if len(lines) <= MostLines {
		var out []Layer
		for i, line := range lines {
			name, _ := pick(names, i)
			out = append(out, Layer{Mark: Step, Role: Series(i), Name: name, X: from, X2: to, Y: line})
		}
		return out
	}
	var low, mid, high Values
	for i := range from {
		var values []float64
		for _, line := range lines {
			if v := at(line, i); finite(v) {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			values = []float64{math.NaN()}
		}
		low, mid, high = append(low, slices.Min(values)), append(mid, stats.Median(values)), append(high, slices.Max(values))
	}
	return []Layer{
		{Mark: Band, Role: Parallel, Name: fmt.Sprintf("from the least to the greatest of %d nodes", len(lines)), X: from, X2: to, Y: low, Y2: high},
		{Mark: Step, Name: "median of the nodes", X: from, X2: to, Y: mid},
	}
}
