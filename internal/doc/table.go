package doc

// Table serves people and programs alike: a cell carries what a person reads
// and the value that a program reads. On a terminal and a page its columns are
// those whose For is not Programs; in CSV and JSON those whose For is not
// People, where a column with Interval becomes three: key, key_lo and key_hi.
type Table struct {
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Stack lists groups of column keys that may be put into one column, below
	// each other, where the table is too wide otherwise; the first group first.
	Stack [][]string `json:"stack,omitempty"`
}

// Column describes one column.
type Column struct {
	Key  string `json:"key"`            // for programs: CSV header, JSON key; unique in the table
	Head string `json:"head,omitempty"` // for people; lines are separated by "\n"
	Tip  string `json:"tip,omitempty"`  // what an abbreviated head means
	// Right columns hold numbers, so that their digits line up.
	Right bool `json:"right,omitempty"`
	For   Who  `json:"for,omitempty"`
	// Interval: cells have Lo and Hi, which programs get as columns.
	Interval bool `json:"interval,omitempty"`
	// Drop says which columns go first where a line is too long: the highest
	// first; 0 never goes.
	Drop int `json:"drop,omitempty"`
	// Wrap breaks long texts at so many columns of a terminal; 0: never.
	Wrap int `json:"wrap,omitempty"`
}

// Who reads a column.
type Who string

// Both is the default.
const (
	Both     Who = ""
	People   Who = "people"
	Programs Who = "programs"
)

// Row has one cell for each column. More rows say more about the row above,
// stay with it, and are for people only.
type Row struct {
	Cells []Cell `json:"cells"`
	More  bool   `json:"more,omitempty"`
}

// Cell is one value.
type Cell struct {
	// Lines is what a person reads: usually one line, several where parts may
	// be stacked. Empty means that there is nothing to show.
	Lines []string `json:"lines,omitempty"`
	// Value is what a program reads: string, float64, int, bool, or nil, which
	// is an empty field in CSV and null in JSON. Times are strings (RFC 3339).
	Value any `json:"value,omitempty"`
	// Lo and Hi are the interval of a column that has one.
	Lo   *float64 `json:"lo,omitempty"`
	Hi   *float64 `json:"hi,omitempty"`
	Tone Tone     `json:"tone,omitempty"`
	Href string   `json:"href,omitempty"` // where the cell leads
}

// Say makes a cell of a text: people and programs read the same.
func Say(s string) Cell { return Cell{Lines: []string{s}, Value: s} }

// Of makes a cell of a value and the text that a person reads for it. A nil
// pointer to a number is no value.
func Of(value any, lines ...string) Cell {
	if p, ok := value.(*float64); ok {
		value = nil
		if p != nil {
			value = *p
		}
	}
	return Cell{Lines: lines, Value: value}
}

// As returns the cell in this tone.
func (c Cell) As(t Tone) Cell {
	c.Tone = t
	return c
}

// Within returns the cell with an interval.
func (c Cell) Within(lo, hi float64) Cell {
	c.Lo, c.Hi = &lo, &hi
	return c
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// AddMore appends a row that says more about the row above.
func (t *Table) AddMore(cells ...Cell) { t.Rows = append(t.Rows, Row{Cells: cells, More: true}) }
