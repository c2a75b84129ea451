// Package chart declares charts: axes and layers of marks, in plain numbers.
//
//  1. A study fills a [Chart]: what stands on the two axes, and layers of
//     marks ([Line], [Step], [Band], [Point], [Bar], [Box], [Cell], [Rule],
//     [Label]) over the same data columns.
//  2. [SVG] draws any chart for a page, [Text] those that a terminal can carry
//     (rows of bars, intervals and box plots).
//
// A chart says nothing about colours or pixels: layers and points carry a
// [Role], and the style sheet of the page gives each role its look, in both
// themes and on paper.
package chart

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
}

// AxisKind is how values become positions.
type AxisKind string

// Linear and Log axes carry numbers; Log refuses what is not above 0. Rows
// carry the categories of Axis.Rows, one below the other (Y) or side by side
// (X): values are indices into them, from 0.
const (
	Linear AxisKind = "linear"
	Log    AxisKind = "log"
	Rows   AxisKind = "rows"
)

// Axis is one of the two directions of a chart.
type Axis struct {
	Kind AxisKind `json:"kind,omitempty"` // empty: Linear
	// Label says what the values are, for people; Unit is theirs as measured
	// ("op/s", "byte/s", "s", "%"). The renderer chooses the prefix, and ticks
	// that are round with it.
	Label string `json:"label,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Lo and Hi are values that the axis must reach; it reaches further where
	// values lie beyond. Without them a linear axis begins at 0, unless Tight.
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
	Tight bool     `json:"tight,omitempty"`
	// Whole axes have ticks at whole numbers only.
	Whole bool `json:"whole,omitempty"`
	// Ticks are labels at given values, in place of computed ones.
	Ticks []Tick `json:"ticks,omitempty"`
	Rows  []Row  `json:"rows,omitempty"`
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

// The marks, and the columns that each reads.
const (
	Line  Mark = "line"  // X, Y: a line through the points; a gap at a missing value
	Step  Mark = "step"  // X, Y: Y holds from its X to the next one
	Band  Mark = "band"  // X, Y to Y2: an area; on an axis of rows a range X to X2 in row Y
	Point Mark = "point" // X, Y: one mark each; Hollow ones are drawn open
	Bar   Mark = "bar"   // from X to X2 in row Y (lying), or from Y to Y2 at X (standing); a missing other end is 0
	Box   Mark = "box"   // X: the values of row Y; median, quartiles, whiskers (1.5 IQR), drawn from 5 values on
	Cell  Mark = "cell"  // X, Y: indices of rows; Value gives the colour, Text what stands in it
	Rule  Mark = "rule"  // X alone: a vertical line; Y alone: a horizontal one; X to X2 at Y: a stretch, a whisker
	Label Mark = "label" // X, Y: Text
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
	Estimate  Role = "estimate"
	Series1   Role = "s1"
	Series2   Role = "s2"
	Series3   Role = "s3"
	Series4   Role = "s4"
	Series5   Role = "s5"
	Series6   Role = "s6"
	Series7   Role = "s7"
	Series8   Role = "s8"
)

// Series returns the role of the i-th series (from 0); they repeat after eight.
func Series(i int) Role { return Role('s') + Role(rune('1'+i%8)) }

// Layer is one mark over columns of data. All columns that a mark reads have
// the same length.
type Layer struct {
	Mark Mark   `json:"mark"`
	Name string `json:"name,omitempty"` // in the legend; empty: not there
	Role Role   `json:"role,omitempty"`
	X    Values `json:"x,omitempty"`
	Y    Values `json:"y,omitempty"`
	X2   Values `json:"x2,omitempty"`
	Y2   Values `json:"y2,omitempty"`
	// Value colours cells.
	Value Values `json:"value,omitempty"`
	// Text is one string a mark: what labels and cells say; of other marks,
	// what is shown to who points at it.
	Text []string `json:"text,omitempty"`
	// Roles are those of single marks, in place of Role; Hollow marks are
	// drawn open.
	Roles  []Role `json:"roles,omitempty"`
	Hollow []bool `json:"hollow,omitempty"`
}
