package chart

// Drawing is a chart as a page takes it. All of it is markup that is escaped
// already, except for Unit, XLabel and the names of keys.
//
// A drawing is as wide as its place: positions along x are shares of that,
// those along y pixels. It takes its colours from [Style].
type Drawing struct {
	// Y is the y axis, which stands left of Area at a fixed width; empty where
	// it is hidden.
	Y    string
	Area string
	// Rows are the drawings of single rows, for a chart on an axis of rows that
	// the page lays out: Area is then the axis below them.
	Rows []string
	// Unit stands above the y axis, XLabel below the plot; both may be empty.
	Unit   string
	XLabel string
	// Room is the class of the element around Area that keeps cells wide enough
	// for their numbers; around that, the page scrolls. Tall is the same chart
	// for narrow screens, with its axes swapped; nil for all charts but those
	// of cells. Scale is the axis of the colours of cells.
	Room  string
	Tall  *Drawing
	Scale string
}

// Key is an entry of a legend: Swatch is markup, Name is plain text.
type Key struct {
	Name   string
	Swatch string
}

// Draw draws the panels of one figure, a Drawing each. Panels with y axes of the same kind,
// label and unit share their scale.
func Draw(panels ...Chart) []Drawing { return make([]Drawing, len(panels)) }

// Legend has the named layers of the panels, each name once.
func Legend(panels ...Chart) []Key { return nil }

// File is what a drawing in a file of its own shows besides its panels.
type File struct {
	Title  string
	Words  string   // below the title
	Titles []string // of the panels; may be empty
	Note   string   // below everything
	Panels []Chart
	// Columns is how many panels stand side by side; 0: one below the other.
	Columns int
	Width   float64 // pixels; 0 is 960
}

// SVG is a complete file, with legend and style sheet for both themes.
func SVG(f File) string { return "" }

// Style is the style sheet of drawings. It takes its colours from custom
// properties (--ink, --card, --serial …), which [Palette] defines.
func Style() string { return "" }

// Palette is the style sheet that defines the colours of [Style] and of pages,
// for both themes: dark where the system asks for it or the root element has
// data-theme="dark".
func Palette() string { return "" }

// Hatch is a drawing without extent that every page has once before its
// figures: it defines the pattern of what is unknown.
const Hatch = `<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0" class="defs" aria-hidden="true"><defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="7" height="7"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="7"/></pattern></defs></svg>`

// NamesFit reports whether the names of rows side by side fit below a plot;
// otherwise they are numbered from 1.
func NamesFit(rows []Row) bool { return false }

// Steps are the lines of several nodes over common bins: edges has one more
// than every line. Up to eight have a line and a name in the legend each; of
// more the median is drawn, and a band from the least to the greatest.
func Steps(edges []float64, names []string, lines [][]float64) []Layer { return nil }

// TextOptions are what a terminal can do.
type TextOptions struct {
	Width int // columns; 0 is 80
	ASCII bool
	Color bool
}

// Text draws a chart as lines for a terminal; nil when a terminal cannot carry
// it. Rows of bars, intervals and boxes are drawn row by row, with what stands
// beside them; lines and steps as one sparkline each.
func Text(c Chart, o TextOptions) []string { return nil }
