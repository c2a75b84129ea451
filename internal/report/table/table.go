package table

// Align is the side on which the text of a column stands.
type Align int

// Numbers stand right, so that their digits line up.
const (
	Left Align = iota
	Right
)

// Style is what a cell means to the eye; how it looks is up to the renderer.
type Style int

// Plain is the default. Good, Bad and Note carry a verdict, Strong the main
// value, Faint what may be overlooked.
const (
	Plain Style = iota
	Strong
	Faint
	Good
	Bad
	Note
)

// Column describes one column.
type Column struct {
	Key   string // for programs: CSV header, JSON key; unique in the table
	Head  string // for people
	Align Align
	Tip   string // what an abbreviated head means, for who points at it
}

// Cell is one value.
type Cell struct {
	// Lines is what a person reads: usually one line, several where parts may
	// be stacked. Empty means that there is nothing to show.
	Lines []string
	// Value is what a program reads: string, number, bool, time.Time or nil.
	Value any
	Style Style
}

// Text makes a cell of a string from outside.
func Text(s string) Cell { return Cell{Lines: []string{Clean(s)}, Value: s} }

// Of makes a cell of a value and the text that a person reads for it.
func Of(value any, lines ...string) Cell { return Cell{Lines: lines, Value: value} }

// As returns the cell in this style.
func (c Cell) As(s Style) Cell {
	c.Style = s
	return c
}

// Table is columns and rows. Every row has one cell for each column.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	// continued holds the indices of rows that say more about the row above.
	continued map[int]bool
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// AddMore appends a row that says more about the row above and stays with it.
func (t *Table) AddMore(cells ...Cell) {
	if t.continued == nil {
		t.continued = make(map[int]bool)
	}
	t.continued[len(t.Rows)] = true
	t.Add(cells...)
}
