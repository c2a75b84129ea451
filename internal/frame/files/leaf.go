package files

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// leaf is a column of a Parquet file.
type leaf struct {
	name   string
	chunk  int // which one of a group of rows
	column *parquet.Column
	kind   kind                   // what its type says
	odd    string                 // why it cannot be read; empty: it can
	unit   time.Duration          // of a number that is a time; 0: it is none
	local  bool                   // the time is what a clock shows, in no zone
	scale  float64                // a number is divided by that
	number func(b []byte) float64 // reads a number that is bytes; nil: it is none
}

// leavesOf are the columns of a file.
func leavesOf(in *parquet.File) []leaf {
	var stored []format.SchemaElement // of leaves, in their order
	for _, e := range in.Metadata().Schema {
		if !e.NumChildren.Valid || e.NumChildren.V == 0 {
			stored = append(stored, e)
		}
	}
	var out []leaf
	for _, c := range in.Root().Columns() {
		l := leaf{name: c.Name(), column: c, scale: 1}
		if !c.Leaf() || c.Repeated() {
			l.odd = "is nested"
		} else {
			l.chunk = c.Index()
			l.understand(stored[l.chunk].LogicalType)
		}
		out = append(out, l)
	}
	return out
}

// understand says what the type of the column means. stored is the logical type as the
// file has it, for the library knows nothing of some.
func (l *leaf) understand(stored format.LogicalType) {
	kind := l.column.Type().Kind()
	l.kind = kindText
	switch kind {
	case parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		l.kind = kindNumber
	case parquet.Int96: // what Spark and Impala wrote: a time
		l.kind, l.unit = kindTime, 1
	}
	logical := &stored
	if stored.Value == nil { // a file of an old version
		if logical = l.column.Type().LogicalType(); logical == nil {
			return
		}
	}
	switch of := logical.Value.(type) {
	case *format.TimestampType:
		l.kind, l.unit, l.local = kindTime, of.Unit.Value.Duration(), !of.IsAdjustedToUTC
	case *format.DateType:
		l.kind, l.unit, l.local = kindTime, 24*time.Hour, true
	case *format.DecimalType:
		l.scale, l.kind = math.Pow10(int(of.Scale)), kindNumber
		if kind != parquet.Int32 && kind != parquet.Int64 {
			l.number = l.decimal
		}
	case *format.Float16Type:
		l.kind, l.number = kindNumber, half
	case *format.NullType:
		l.odd = "has no values"
	case *format.TimeType, *format.BsonType, *format.VariantType, *format.GeometryType, *format.GeographyType:
		l.odd = "has values of type " + logical.String()
	}
}

// text reports whether the column has texts.
func (l leaf) text() bool {
	k := l.column.Type().Kind()
	return l.number == nil && (k == parquet.ByteArray || k == parquet.FixedLenByteArray)
}

// days reports whether the column has dates by its type.
func (l leaf) days() bool { return l.unit == 24*time.Hour }

// refine is what a column holds, given what its first values seem to be: text
// may be times, but not numbers, and numbers may be times.
func (l leaf) refine(seen kind) kind {
	if l.text() && seen != kindTime || !l.text() && seen == kindEmpty {
		return l.kind
	}
	return seen
}

// enoughCells is how many cells say what a column of numbers holds that is not named as
// times are.
const enoughCells = 100

// errClear: what a column holds is clear.
var errClear = errors.New("the kind of the column is clear")

// look shows the cells to a column that is to be judged: those of all groups of rows,
// until no later one can make or unmake it a column of times. What is in a dictionary
// is shown once.
func (l leaf) look(ctx context.Context, in *parquet.File, c *column, by *clock) error {
	named := c.named(timeNames)
	clear := func() bool {
		if named {
			return false
		}
		return l.text() && c.seen[kindText]-c.clocks+c.numbers() > 0 ||
			!l.text() && c.numbers() >= enoughCells
	}
	decode := func(v encoding.Values, n int, out []struct{}) ([]struct{}, error) {
		err := l.texts(v, n, func(text []byte) {
			if !clear() {
				c.look(trim(text), by)
			}
		})
		if err == nil && clear() {
			err = errClear
		}
		return append(out, make([]struct{}, n)...), err
	}
	for _, g := range in.RowGroups() {
		_, err := readColumn(ctx, l, g.ColumnChunks()[l.chunk], int(g.NumRows()), decode, struct{}{})
		if errors.Is(err, errClear) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// readColumn reads a column of a group of rows; none stands for what is missing.
// What is in a dictionary is decoded once. decode appends n values.
func readColumn[T any](ctx context.Context, l leaf, chunk parquet.ColumnChunk, rows int, decode func(v encoding.Values, n int, out []T) ([]T, error), none T) ([]T, error) {
	out := make([]T, 0, rows)
	var dictionary parquet.Dictionary
	var words, some []T
	pages := chunk.Pages()
	defer func() { _ = pages.Close() }()
	for ctx.Err() == nil {
		page, err := pages.ReadPage()
		if err == io.EOF { //nolint:errorlint // as io.Reader has it
			if len(out) != rows {
				return nil, errRows
			}
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if d := page.Dictionary(); d != nil && d != dictionary {
			dictionary = d
			if words, err = decode(d.Page().Data(), d.Len(), words[:0]); err != nil {
				return nil, err
			}
		}
		levels, to := page.DefinitionLevels(), out
		if len(levels) > 0 {
			to = some[:0]
		}
		if page.Dictionary() == nil {
			to, err = decode(page.Data(), int(page.NumValues()-page.NumNulls()), to)
		} else {
			data := page.Data()
			for _, i := range data.Int32() {
				to = append(to, words[i])
			}
		}
		if err != nil {
			return nil, err
		}
		if len(levels) == 0 {
			out = to
		} else {
			some = to
			out = spread(out, some, levels, byte(l.column.MaxDefinitionLevel()), none)
		}
		parquet.Release(page)
	}
	return nil, ctx.Err()
}

// spread puts values where the levels say that there are some.
func spread[T any](out, values []T, levels []byte, there byte, none T) []T {
	i := 0
	for _, level := range levels {
		if level == there {
			out = append(out, values[i])
			i++
		} else {
			out = append(out, none)
		}
	}
	return out
}
