package files

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

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
			out = append(out, c.moment(trim(text)))
		})
		return out, err
	}
}

// moment is the time that a cell holds.
func (c *clock) moment(cell []byte) moment {
	if missing(cell) {
		return moment{ns: noMoment}
	}
	ns, f, odd, ok := c.read(cell)
	return moment{ns: ns, form: f, odd: odd, bad: !ok}
}

// cells decodes texts, and days as dates alone.
func (l leaf) cells(v encoding.Values, n int, out []string) ([]string, error) {
	err := l.texts(v, n, func(text []byte) {
		if l.days() {
			text = text[:min(len(text), len(time.DateOnly))]
		}
		out = append(out, string(trim(text)))
	})
	return out, err
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
