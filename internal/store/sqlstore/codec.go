package sqlstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
)

// Series are stored as two columns, each a packed blob of
//
//	form (1 byte), count (uvarint), count numbers
//
// Progress is published at a nearly fixed step and grows at a nearly fixed
// rate, so second differences are small: a point takes some three bytes
// instead of sixteen. Half of what a monitor reads does not change at all. The
// decoded numbers are those that were encoded, bit for bit.
const (
	// formDelta2 has integers: zigzag varints of second differences, with a byte
	// behind each zero that says how many more follow.
	formDelta2 = 1
	formXOR    = 2 // floats: uvarints of the XOR with the one before
)

var errSeries = errors.New("decoding a series")

// encodeInts writes integers. Differences may overflow: they wrap, and the
// decoder wraps them back.
func encodeInts(xs []int64) []byte {
	buf := make([]byte, 0, 16+3*len(xs))
	buf = append(buf, formDelta2)
	buf = binary.AppendUvarint(buf, uint64(len(xs)))
	var last, delta int64
	zero := -1 // where the count of the zeros at the end is
	for _, x := range xs {
		d := x - last
		switch dd := d - delta; {
		case dd != 0:
			buf, zero = binary.AppendVarint(buf, dd), -1
		case zero >= 0 && buf[zero] < math.MaxUint8:
			buf[zero]++
		default:
			zero = len(buf) + 1
			buf = append(buf, 0, 0)
		}
		last, delta = x, d
	}
	return buf
}

// encodeFloats writes floats as integers where all of them are (counters of
// operations and bytes), otherwise by XOR as in Gorilla (Pelkonen et al., VLDB
// 2015, section 4.1.2) with whole bytes instead of bits.
func encodeFloats(xs []float64) []byte {
	if ints, ok := asInts(xs); ok {
		return encodeInts(ints)
	}
	buf := make([]byte, 0, 16+9*len(xs))
	buf = append(buf, formXOR)
	buf = binary.AppendUvarint(buf, uint64(len(xs)))
	var last uint64
	for _, x := range xs {
		b := math.Float64bits(x)
		// Neighbours share sign, exponent and first digits: the XOR begins
		// with zeros, which a uvarint leaves out.
		buf = binary.AppendUvarint(buf, b^last)
		last = b
	}
	return buf
}

// asInts converts values that survive the way to int64 and back; −0 does not.
func asInts(xs []float64) ([]int64, bool) {
	out := make([]int64, len(xs))
	for i, x := range xs {
		if !(math.Abs(x) <= 1<<53) || math.Trunc(x) != x || (x == 0 && math.Signbit(x)) {
			return nil, false
		}
		out[i] = int64(x)
	}
	return out, true
}

func decodeInts(data []byte) ([]int64, error) {
	form, n, data, err := seriesHeader(data)
	if form == formXOR {
		err = fmt.Errorf("%w: integers have form %d", errSeries, form)
	}
	if err != nil {
		return nil, err
	}
	return decodeDelta2[int64](n, data)
}

func decodeFloats(data []byte) ([]float64, error) {
	form, n, data, err := seriesHeader(data)
	switch {
	case err != nil:
		return nil, err
	case form == formXOR:
		return decodeXOR(n, data)
	}
	return decodeDelta2[float64](n, data)
}

// seriesHeader returns the form, the count and the rest. Every number takes at
// least one byte, or two for a run of 256, which bounds the count, and so
// memory, by the data's length.
func seriesHeader(data []byte) (form byte, n int, rest []byte, err error) {
	if len(data) == 0 || data[0] < formDelta2 || data[0] > formXOR {
		return 0, 0, nil, fmt.Errorf("%w: no data of a known form", errSeries)
	}
	count, w := binary.Uvarint(data[1:])
	if w <= 0 {
		return 0, 0, nil, fmt.Errorf("%w: no count", errSeries)
	}
	form, rest = data[0], data[1+w:]
	most := uint64(len(rest))
	if form == formDelta2 {
		most *= 128
	}
	if count > most {
		return 0, 0, nil, fmt.Errorf("%w: %d numbers in %d bytes", errSeries, count, len(rest))
	}
	return form, int(count), rest, nil
}

func decodeDelta2[T int64 | float64](n int, data []byte) ([]T, error) {
	out := make([]T, n)
	var last, delta int64
	zeros := 0 // that are to come without being written
	for i := range out {
		if zeros > 0 {
			zeros--
		} else {
			dd, w := binary.Varint(data)
			if w <= 0 || dd == 0 && w == len(data) {
				return nil, fmt.Errorf("%w: ends at number %d of %d", errSeries, i, n)
			}
			data = data[w:]
			if dd == 0 {
				zeros, data = int(data[0]), data[1:]
			}
			delta += dd
		}
		last += delta
		out[i] = T(last)
	}
	return out, trailing(data, zeros)
}

func decodeXOR(n int, data []byte) ([]float64, error) {
	out := make([]float64, n)
	var last uint64
	for i := range out {
		x, w := binary.Uvarint(data)
		if w <= 0 {
			return nil, fmt.Errorf("%w: ends at number %d of %d", errSeries, i, n)
		}
		data = data[w:]
		last ^= x
		out[i] = math.Float64frombits(last)
	}
	return out, trailing(data, 0)
}

func trailing(data []byte, zeros int) error {
	if len(data) > 0 || zeros > 0 {
		return fmt.Errorf("%w: %d bytes and %d zeros too many", errSeries, len(data), zeros)
	}
	return nil
}

// Packed blobs begin with a byte that tells their form.
const (
	packRaw  = 0
	packZstd = 1
)

const (
	// packMin is the size in bytes below which compression does not pay.
	packMin = 128
	// packMax bounds what a blob may unpack to, in bytes, so that a damaged
	// one cannot take all memory. The store writes none that is larger.
	packMax = 1 << 30
)

// codec packs and unpacks blobs. It is safe for concurrent use.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("preparing compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(packMax))
	if err != nil {
		return nil, fmt.Errorf("preparing decompression: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

func (c *codec) close() {
	c.dec.Close()
	// Nothing was streamed through the encoder, so there is nothing to flush.
	_ = c.enc.Close()
}

// pack returns raw in its stored form: compressed where that is an eighth
// shorter, so that reading does not work for little.
func (c *codec) pack(raw []byte) ([]byte, error) {
	if len(raw) > packMax {
		return nil, fmt.Errorf("%d bytes are more than a blob may hold (%d)", len(raw), packMax)
	}
	if len(raw) >= packMin {
		if z := c.enc.EncodeAll(raw, []byte{packZstd}); len(z) <= len(raw)-len(raw)/8 {
			return z, nil
		}
	}
	return append([]byte{packRaw}, raw...), nil
}

// unpack returns what pack was given: part of blob, or appended to buf.
func (c *codec) unpack(blob, buf []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("unpacking a blob: it is empty")
	}
	switch blob[0] {
	case packRaw:
		return blob[1:], nil
	case packZstd:
		raw, err := c.dec.DecodeAll(blob[1:], buf)
		if err != nil {
			return nil, fmt.Errorf("unpacking a blob: %w", err)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("unpacking a blob: unknown form %d", blob[0])
}
