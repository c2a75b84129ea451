package doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

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
	// OneLine: on a terminal each row stays on one line. Where that is too narrow,
	// spare columns are left out and texts that may be broken are cut.
	OneLine bool `json:"one_line,omitempty"`
}

// Column describes one column.
type Column struct {
	Key  string `json:"key"`            // for programs: CSV header, JSON key; unique in the table
	Head string `json:"head,omitempty"` // for people; lines are separated by "\n", as those of cells
	Tip  string `json:"tip,omitempty"`  // what an abbreviated head means
	// Right columns hold numbers, so that their digits line up.
	Right bool `json:"right,omitempty"`
	For   Who  `json:"for,omitempty"`
	// Interval: cells have Lo and Hi, which programs get as columns.
	Interval bool `json:"interval,omitempty"`
	// Wrap lets long texts be broken where a line is too long otherwise, at so
	// many columns or, where there is more room, later; 0: never.
	Wrap int `json:"wrap,omitempty"`
	// Spare columns of a table of one line a row are left out where there is no room,
	// 1 first; 0: never.
	Spare int `json:"spare,omitempty"`
}

// ForPrograms are columns with these keys that people do not see.
func ForPrograms(keys ...string) []Column {
	out := make([]Column, len(keys))
	for i, key := range keys {
		out[i] = Column{Key: key, For: Programs}
	}
	return out
}

// Values makes a cell of each value, for programs: see [Of].
func Values(values ...any) []Cell {
	out := make([]Cell, len(values))
	for i, v := range values {
		out[i] = Of(v)
	}
	return out
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

// Say makes a cell of a text: people and programs read the same. The text may
// come from outside.
func Say(s string) Cell { return Cell{Lines: []string{s}, Value: s} }

// Of makes a cell of a value and the text that a person reads for it. A nil
// pointer, a number that is not finite and a zero time are no value; other
// times become RFC 3339 in UTC.
func Of(value any, lines ...string) Cell { return Cell{Lines: lines, Value: plain(value)} }

// Optional makes a cell of a value that may be missing.
func Optional(v *float64, print func(float64) string) Cell { return Of(v, num.Optional(v, print)) }

// Ranged makes a cell of a value that cannot be below 0, with its interval; either may
// be missing.
func Ranged(v *float64, ci *stats.Interval, print func(float64) string) Cell {
	if v == nil || ci == nil {
		return Optional(v, print)
	}
	return Of(*v, fmt.Sprintf("%s [%s .. %s]", print(*v), print(max(0, ci.Lo)), print(ci.Hi))).Within(ci.Lo, ci.Hi)
}

// Int makes a cell of a whole number.
func Int(n int) Cell { return Of(n, num.Grouped(int64(n))) }

// plain turns a value into one of those that a cell holds.
func plain(value any) any {
	if at, ok := value.(time.Time); ok {
		if at.IsZero() {
			return nil
		}
		return at.UTC().Format(time.RFC3339Nano)
	}
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid(), v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		return plain(v.Elem().Interface())
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return int(v.Int())
	case v.CanUint() && v.Uint() <= math.MaxInt:
		return int(v.Uint())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return finite(v.Float())
	}
	return fmt.Sprint(value)
}

func finite(x float64) any {
	if !num.Finite(x) {
		return nil
	}
	return x
}

// MarshalJSON keeps whole float64 apart from int by their ".0", so that a
// decoded cell has the type that it was made with.
func (c Cell) MarshalJSON() ([]byte, error) {
	type bare Cell
	b := bare(c)
	b.Value = plain(c.Value)
	if x, ok := b.Value.(float64); ok {
		text := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		b.Value = json.RawMessage(text)
	}
	return json.Marshal(b)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cell) UnmarshalJSON(data []byte) error {
	type bare Cell
	*c = Cell{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode((*bare)(c)); err != nil {
		return fmt.Errorf("decoding a cell: %w", err)
	}
	number, ok := c.Value.(json.Number)
	if !ok {
		return nil
	}
	if i, err := strconv.Atoi(string(number)); err == nil {
		c.Value = i
		return nil
	}
	x, err := number.Float64()
	if err != nil {
		return fmt.Errorf("decoding a cell: %w", err)
	}
	c.Value = x
	return nil
}

// As returns the cell in this tone.
func (c Cell) As(t Tone) Cell {
	c.Tone = t
	return c
}

// Within returns the cell with an interval; an end that is not finite is missing.
func (c Cell) Within(lo, hi float64) Cell {
	c.Lo, c.Hi = nil, nil
	if finite(lo) != nil {
		c.Lo = &lo
	}
	if finite(hi) != nil {
		c.Hi = &hi
	}
	return c
}

// To returns the cell as a link to a part of the document: "#" and its ID.
func (c Cell) To(href string) Cell {
	c.Href = href
	return c
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// AddMore appends a row that says more about the row above.
func (t *Table) AddMore(cells ...Cell) { t.Rows = append(t.Rows, Row{Cells: cells, More: true}) }
