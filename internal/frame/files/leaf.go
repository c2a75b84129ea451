package files

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"github.com/scalebench/scalebench/internal/frame"
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
	named := slices.Contains(timeNames, frame.Plain(c.name))
	clear := func() bool {
		if named {
			return false
		}
		return l.text() && c.seen[kindText]+c.seen[kindNumber]+c.seen[kindUnix] > 0 ||
			!l.text() && c.seen[kindNumber]+c.seen[kindUnix] >= enoughCells
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

func (l leaf) unexpected(v encoding.Values) error {
	return fmt.Errorf("values of type %s are not understood", v.Kind())
}

// floats decodes numbers.
func (l leaf) floats(v encoding.Values, _ int, out []float64) ([]float64, error) {
	switch v.Kind() {
	case encoding.ByteArray, encoding.FixedLenByteArray:
		eachBytes(v, func(b []byte) { out = append(out, l.number(b)) })
	case encoding.Double:
		return append(out, v.Double()...), nil
	case encoding.Float:
		for _, x := range v.Float() {
			out = append(out, float64(x))
		}
	case encoding.Int32, encoding.Int64:
		whole, err := l.integers(v, 0, nil)
		for _, x := range whole {
			if l.unsigned64() {
				out = append(out, float64(uint64(x)))
				continue
			}
			out = append(out, float64(x)/l.scale)
		}
		return out, err
	default:
		return nil, l.unexpected(v)
	}
	return out, nil
}

// integers decodes whole numbers.
func (l leaf) integers(v encoding.Values, _ int, out []int64) ([]int64, error) {
	switch v.Kind() {
	case encoding.Int64:
		return append(out, v.Int64()...), nil
	case encoding.Int32:
		for _, x := range v.Int32() {
			if l.unsigned() {
				out = append(out, int64(uint32(x)))
				continue
			}
			out = append(out, int64(x))
		}
		return out, nil
	}
	return nil, l.unexpected(v)
}

func (l leaf) unsigned() bool {
	logical := l.column.Type().LogicalType()
	if logical == nil {
		return false
	}
	of, ok := logical.Value.(*format.IntType)
	return ok && !of.IsSigned
}

func (l leaf) unsigned64() bool { return l.unsigned() && l.column.Type().Kind() == parquet.Int64 }

// ticks decodes times that the file says are times: nanoseconds since 1970, or farMoment.
func (l leaf) ticks(v encoding.Values, _ int, out []int64) ([]int64, error) {
	if v.Kind() == encoding.Int96 {
		const julian1970 = 2440588
		for _, x := range v.Int96() {
			day, ofDay := int64(x[2])-julian1970, int64(uint64(x[1])<<32|uint64(x[0]))
			ns := inYears(day, 24*time.Hour)
			if ns != farMoment && ofDay >= 0 && ofDay <= int64(24*time.Hour) {
				ns += ofDay
			} else {
				ns = farMoment
			}
			out = append(out, ns)
		}
		return out, nil
	}
	from := len(out)
	out, err := l.integers(v, 0, out)
	for i, x := range out[from:] {
		out[from+i] = inYears(x, l.unit)
	}
	return out, err
}

// The first and the last moment of the years that are read, in nanoseconds since 1970.
var (
	firstMoment = time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	lastMoment  = time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() - 1
)

// inYears is a time of so many units since 1970 in nanoseconds; farMoment where it is
// outside the years that are read.
func inYears(x int64, unit time.Duration) int64 {
	if x > lastMoment/int64(unit) || x < firstMoment/int64(unit) {
		return farMoment
	}
	return x * int64(unit)
}

// moment is a time that was read from a text or number.
type moment struct {
	ns   int64
	form form
	odd  shift
	bad  bool
}

// moments decodes times that the file does not say are times.
func (l leaf) moments(c *clock) func(v encoding.Values, n int, out []moment) ([]moment, error) {
	return func(v encoding.Values, n int, out []moment) ([]moment, error) {
		err := l.texts(v, n, func(text []byte) {
			ns, f, odd, ok := c.read(trim(text))
			m := moment{ns: ns, form: f, odd: odd, bad: !ok}
			if missing(text) {
				m = moment{ns: noMoment}
			}
			out = append(out, m)
		})
		return out, err
	}
}

// codes decodes a fact.
func (l leaf) codes(known *levels) func(v encoding.Values, n int, out []uint16) ([]uint16, error) {
	return func(v encoding.Values, n int, out []uint16) ([]uint16, error) {
		err := l.texts(v, n, func(text []byte) {
			code, _ := known.of(trim(text))
			out = append(out, code)
		})
		return out, err
	}
}

// texts hands over values as text.
func (l leaf) texts(v encoding.Values, n int, each func(text []byte)) error {
	var text []byte
	if l.number != nil {
		eachBytes(v, func(b []byte) { each(strconv.AppendFloat(text[:0], l.number(b), 'f', -1, 64)) })
		return nil
	}
	switch v.Kind() {
	case encoding.ByteArray:
		eachBytes(v, func(b []byte) { each(readable(b)) })
	case encoding.FixedLenByteArray:
		eachBytes(v, func(b []byte) { each(fmt.Appendf(text[:0], "%x", b)) })
	case encoding.Boolean:
		for i, packed := 0, v.Boolean(); i < n; i++ { // a bit each
			each(strconv.AppendBool(text[:0], packed[i/8]>>(i%8)&1 == 1))
		}
	case encoding.Double, encoding.Float:
		numbers, err := l.floats(v, 0, nil)
		for _, x := range numbers {
			each(strconv.AppendFloat(text[:0], x, 'f', -1, 64))
		}
		return err
	default:
		return l.integerTexts(v, each)
	}
	return nil
}

// eachBytes hands over values that are bytes.
func eachBytes(v encoding.Values, each func(b []byte)) {
	if v.Kind() == encoding.ByteArray {
		data, offsets := v.ByteArray()
		for i := 1; i < len(offsets); i++ {
			each(data[offsets[i-1]:offsets[i]])
		}
		return
	}
	data, size := v.FixedLenByteArray()
	for ; len(data) >= size && size > 0; data = data[size:] {
		each(data[:size])
	}
}

// decimal is a number that is the bytes of a whole one in two's complement, the
// highest first, divided by the scale.
func (l leaf) decimal(b []byte) float64 {
	whole := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	v, _ := new(big.Float).SetInt(whole).Float64()
	return v / l.scale
}

// half is a number of 16 bits: IEEE 754 binary16, the lowest byte first.
func half(b []byte) float64 {
	bits := binary.LittleEndian.Uint16(b)
	fraction, exponent := float64(bits&0x3ff), int(bits>>10&0x1f)
	v := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent == 0x1f && fraction != 0:
		return math.NaN()
	case exponent == 0x1f:
		v = math.Inf(1)
	}
	if bits>>15 == 1 {
		return -v
	}
	return v
}

func (l leaf) integerTexts(v encoding.Values, each func(text []byte)) error {
	decode, print := l.integers, func(x int64) string { return strconv.FormatInt(x, 10) }
	switch {
	case l.unit > 0:
		decode, print = l.ticks, func(x int64) string {
			if x == farMoment {
				return fmt.Sprintf("before %d or after %d", firstYear, lastYear)
			}
			return time.Unix(0, x).UTC().Format(time.RFC3339Nano)
		}
	case l.scale != 1:
		print = func(x int64) string { return strconv.FormatFloat(float64(x)/l.scale, 'f', -1, 64) }
	case l.unsigned64():
		print = func(x int64) string { return strconv.FormatUint(uint64(x), 10) }
	}
	whole, err := decode(v, 0, nil)
	for _, x := range whole {
		each([]byte(print(x)))
	}
	return err
}

// readable is a text as it is, and other bytes in hexadecimal digits.
func readable(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return fmt.Appendf(nil, "%x", text)
}
