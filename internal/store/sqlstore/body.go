package sqlstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// The packed body of a result holds all of it that is neither an index column,
// nor text that was printed, nor points. A field that is added to the model
// goes to the end of its layout, under `if version >= 2`.
//
// Version 2 has stages and kept files; a result without them is written as of
// version 1, which older programs read.
const bodyVersion = 2

var errPacked = errors.New("decoding a packed record")

// wire writes the fields of a packed record one after the other, or reads them
// in the same order: one function describes a layout for both ways.
type wire struct {
	buf     []byte // what was written, or what is left to read
	reading bool
	err     error             // of reading; what follows it is not read
	known   map[string]string // texts that were read: most come again
	scratch []byte            // what records are unpacked to
}

func (w *wire) fail(format string, args ...any) {
	w.err, w.buf = fmt.Errorf("%w: %s", errPacked, fmt.Sprintf(format, args...)), nil
}

func (w *wire) uint(x *uint64) {
	if !w.reading {
		w.buf = binary.AppendUvarint(w.buf, *x)
		return
	}
	v, n := binary.Uvarint(w.buf)
	if n <= 0 {
		w.fail("it ends too early")
		return
	}
	*x, w.buf = v, w.buf[n:]
}

// integer is a zigzag varint: numbers near zero are short, of either sign.
func integer[T ~int | ~int64](w *wire, x *T) {
	u := uint64(*x)<<1 ^ uint64(int64(*x)>>63)
	w.uint(&u)
	*x = T(int64(u>>1) ^ -int64(u&1))
}

func (w *wire) bool(x *bool) {
	var u uint64
	if *x {
		u = 1
	}
	w.uint(&u)
	*x = u != 0
}

func (w *wire) float(x *float64) {
	if !w.reading {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(*x))
		return
	}
	if len(w.buf) < 8 {
		w.fail("it ends too early")
		return
	}
	*x, w.buf = math.Float64frombits(binary.LittleEndian.Uint64(w.buf)), w.buf[8:]
}

// bytes are those of the record itself when they are read, not a copy.
func (w *wire) bytes(x *[]byte) {
	n := uint64(len(*x))
	w.uint(&n)
	if !w.reading {
		w.buf = append(w.buf, *x...)
		return
	}
	if n > uint64(len(w.buf)) {
		w.fail("it ends too early")
		return
	}
	*x, w.buf = w.buf[:n], w.buf[n:]
}

func letters[T ~string](w *wire, x *T) {
	raw := []byte(*x)
	w.bytes(&raw)
	if !w.reading {
		return
	}
	s, ok := w.known[string(raw)]
	if !ok {
		s = string(raw)
		if w.known == nil {
			w.known = make(map[string]string)
		}
		if len(s) <= maxKey {
			w.known[s] = s
		}
	}
	*x = T(s)
}

// list bounds the count by the bytes that are left: every element takes one.
func list[T any](w *wire, xs *[]T, each func(*wire, *T)) {
	n := uint64(len(*xs))
	w.uint(&n)
	if w.reading && n > uint64(len(w.buf)) {
		w.fail("%d elements in %d bytes", n, len(w.buf))
		return
	}
	if w.reading && n > 0 {
		*xs = make([]T, n)
	}
	for i := range *xs {
		each(w, &(*xs)[i])
	}
}

func labels(w *wire, m *map[string]string) {
	keys := slices.Sorted(maps.Keys(*m))
	list(w, &keys, letters[string])
	if w.reading && len(keys) > 0 {
		*m = make(map[string]string, len(keys))
	}
	for _, k := range keys {
		v := (*m)[k]
		letters(w, &v)
		(*m)[k] = v
	}
}

func layoutBody(w *wire, r *model.Result) {
	version := uint64(bodyVersion)
	w.uint(&version)
	if version != bodyVersion {
		w.fail("its version is %d, and this program knows %d", version, bodyVersion)
		return
	}
	letters(w, &r.Error)
	integer(w, &r.ClockOffset)
	integer(w, &r.ClockError)
	exited, code := r.ExitCode != nil, 0
	if exited {
		code = *r.ExitCode
	}
	if w.bool(&exited); exited {
		integer(w, &code)
		r.ExitCode = &code
	}
	layoutOutput(w, &r.Stdout)
	layoutOutput(w, &r.Stderr)
	list(w, &r.Samples, func(w *wire, x *model.Sample) {
		letters(w, &x.Metric)
		letters(w, &x.Unit)
		w.float(&x.Value)
		letters(w, &x.Better)
		labels(w, &x.Labels)
		letters(w, &x.Resource)
		w.bool(&x.Info)
	})
	list(w, &r.Stages, func(w *wire, x *model.Stage) {
		letters(w, &x.Name)
		letters(w, &x.Service)
		integer(w, &x.Started)
		integer(w, &x.Ended)
		letters(w, &x.Note)
		letters(w, &x.Error)
	})
	list(w, &r.Kept, func(w *wire, x *model.KeptFile) {
		letters(w, &x.Name)
		integer(w, &x.Size)
		w.bool(&x.Cut)
	})
}

// layoutOutput leaves out the text, which has a column of its own.
func layoutOutput(w *wire, o *model.Output) {
	integer(w, &o.Total)
	w.bool(&o.Truncated)
	letters(w, &o.Artifact)
	w.bool(&o.ArtifactCut)
}

// layoutTexts is what the column output holds.
func layoutTexts(w *wire, r *model.Result) {
	letters(w, &r.Stdout.Text)
	letters(w, &r.Stderr.Text)
}

// packRecord returns the packed form of what layout describes.
func packRecord[T any](c *codec, x *T, layout func(*wire, *T)) ([]byte, error) {
	w := wire{}
	layout(&w, x)
	return c.pack(w.buf)
}

// readRecord fills x from the packed form. Bytes in it are valid until the
// next reading with the same wire.
func readRecord[T any](c *codec, w *wire, blob []byte, x *T, layout func(*wire, *T)) error {
	raw, err := c.unpack(blob, w.scratch[:0])
	if err != nil {
		return err
	}
	if blob[0] == packZstd {
		w.scratch = raw
	}
	w.buf, w.reading, w.err = raw, true, nil
	layout(w, x)
	if w.err == nil && len(w.buf) > 0 {
		w.fail("%d bytes too many", len(w.buf))
	}
	return w.err
}
