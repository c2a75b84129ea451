package files

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// leaf is a column of a Parquet file.
type leaf struct {
	name   string
	chunk  int // which one of a group of rows
	column *parquet.Column
	kind   kind          // what its type says
	odd    string        // why it cannot be read; empty: it can
	unit   time.Duration // of a number that is a time; 0: it is none
	local  bool          // the time is what a clock shows, in no zone
	scale  float64       // a number is divided by that
	binary bool          // a number is the bytes of a whole one, the highest first
}

// leavesOf are the columns of a file.
func leavesOf(root *parquet.Column) []leaf {
	var out []leaf
	for _, c := range root.Columns() {
		l := leaf{name: c.Name(), column: c, scale: 1}
		if !c.Leaf() || c.Repeated() {
			l.odd = "is nested"
		} else {
			l.chunk = c.Index()
			l.understand()
		}
		out = append(out, l)
	}
	return out
}

// understand says what the type of the column means.
func (l *leaf) understand() {
	kind := l.column.Type().Kind()
	l.kind = kindText
	switch kind {
	case parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		l.kind = kindNumber
	case parquet.Int96: // what Spark and Impala wrote: a time
		l.kind, l.unit = kindTime, 1
	}
	logical := l.column.Type().LogicalType()
	if logical == nil {
		return
	}
	switch of := logical.Value.(type) {
	case *format.TimestampType:
		l.kind, l.unit, l.local = kindTime, of.Unit.Value.Duration(), !of.IsAdjustedToUTC
	case *format.DateType:
		l.kind, l.unit, l.local = kindTime, 24*time.Hour, true
	case *format.DecimalType:
		l.scale, l.kind = math.Pow10(int(of.Scale)), kindNumber
		l.binary = kind != parquet.Int32 && kind != parquet.Int64
	case *format.TimeType, *format.Float16Type, *format.BsonType, *format.VariantType, *format.GeometryType, *format.GeographyType:
		l.odd = "has values of type " + logical.String()
	}
}

// text reports whether the column has texts.
func (l leaf) text() bool {
	k := l.column.Type().Kind()
	return !l.binary && (k == parquet.ByteArray || k == parquet.FixedLenByteArray)
}

// refine is what a column holds, given what its first values seem to be: text
// may be times, but not numbers, and numbers may be times.
func (l leaf) refine(seen kind) kind {
	if l.text() && seen != kindTime || !l.text() && seen == kindEmpty {
		return l.kind
	}
	return seen
}

// first are the first values, as text.
func (l leaf) first(in *parquet.File) (texts []string) {
	pages := in.RowGroups()[0].ColumnChunks()[l.chunk].Pages()
	defer func() { _ = pages.Close() }()
	page, err := pages.ReadPage()
	if err != nil {
		return nil // comes again when the column is read
	}
	values := make([]parquet.Value, 100)
	n, _ := page.Values().ReadValues(values) // likewise
	for _, v := range values[:n] {
		if !v.IsNull() {
			texts = append(texts, v.String())
		}
	}
	return texts
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
		eachBytes(v, func(b []byte) { out = append(out, l.decimal(b)) })
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

// ticks decodes times that the file says are times: nanoseconds since 1970.
func (l leaf) ticks(v encoding.Values, _ int, out []int64) ([]int64, error) {
	if v.Kind() == encoding.Int96 {
		const julian1970 = 2440588
		for _, x := range v.Int96() {
			day := int64(x[2]) - julian1970
			out = append(out, day*int64(24*time.Hour)+int64(uint64(x[1])<<32|uint64(x[0])))
		}
		return out, nil
	}
	from := len(out)
	out, err := l.integers(v, 0, out)
	most := math.MaxInt64 / int64(l.unit)
	for i, x := range out[from:] {
		if x > most || x < -most {
			return nil, fmt.Errorf("a time is before the year %d or after %d", firstYear, lastYear)
		}
		out[from+i] = x * int64(l.unit)
	}
	return out, err
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
	if l.binary {
		eachBytes(v, func(b []byte) { each(strconv.AppendFloat(text[:0], l.decimal(b), 'f', -1, 64)) })
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

func (l leaf) integerTexts(v encoding.Values, each func(text []byte)) error {
	decode, print := l.integers, func(x int64) string { return strconv.FormatInt(x, 10) }
	switch {
	case l.unit > 0:
		decode, print = l.ticks, func(x int64) string { return time.Unix(0, x).UTC().Format(time.RFC3339Nano) }
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
